# SPDX-License-Identifier: Apache-2.0
# Completion of sluice for bash: made by `sluice completion bash`.
_sluice() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words
    case $before in
    -f | --file | --config | --*-file)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --to) words='beginning end' ;;
    esac
    if [[ -z ${words:-} ]]; then
        if ((COMP_CWORD == 1)); then command=''; fi
        case $command in
        '' | help) words='apply get describe events pause resume stop delete redrive shards topics providers version completion help' ;;
        apply) words=' --file --no-wait --timeout-seconds --json --help' ;;
        get) words='sandbox checkpoint activity snapshot --watch --tenant --project --json --help' ;;
        describe) words=' --last --json --help' ;;
        events) words=' --follow --last --json --help' ;;
        pause) words=' --no-wait --timeout-seconds --json --help' ;;
        resume) words=' --no-wait --timeout-seconds --json --help' ;;
        stop) words=' --no-wait --timeout-seconds --json --help' ;;
        delete) words=' --no-wait --timeout-seconds --json --help' ;;
        redrive) words=' --no-wait --timeout-seconds --json --help' ;;
        shards) words='reset --watch --to --yes --json --help' ;;
        topics) words='create check --partitions --json --help' ;;
        providers) words=' --json --help' ;;
        version) words=' --help' ;;
        completion) words='bash zsh --help' ;;
        esac
        if [[ $word == --* ]]; then words+=' --config --kafka-brokers --kafka-properties-file --topic-prefix --redis-url --redis-password-file --redis-key-prefix'; fi
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _sluice sluice
