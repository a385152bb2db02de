/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts that run inside Redis, and what they keep there. All keys of shard p begin with
 * `slu:{p}:`, so that they live on one node of a cluster:
 *
 *   owner                  hash: cluster, epoch, seq, part, view, url: the pointer readers follow
 *   views                  hash: name of a view → number of its statuses; also half-written ones
 *   obs                    hash: key → "<seen_at_ms> <life> <external id>"
 *   g<epoch>.<seq>:status  hash: key → status JSON
 *   g<epoch>.<seq>:ids     hash: "<kind>:<id>" → key; keys parted by blanks where a child's id is
 *                          not unique in the shard, with a `*` for more than are listed
 *   g<epoch>.<seq>:idx:<tenant>/<project>/<kind>   set of keys
 *   g<epoch>.<seq>:kinds   set of "<tenant>/<project>/<kind>": the indexes there are
 *   g<epoch>.<seq>:at      hash: key → its index
 *
 * A view whose number of statuses is not the number noted in `views` was damaged: a gap. A
 * transaction of many records arrives in several calls; `part` counts them, and `seq` moves with
 * the last. EVAL with the whole text is always sent: 3 KB a call, and no script cache to lose. */
#ifndef SLU_ADAPTER_STORE_REDIS_LUA_H
#define SLU_ADAPTER_STORE_REDIS_LUA_H

enum slu_redis_script {
    SLU_REDIS_APPLY,  /* epoch, seq, url, claim 0|1, part (from 1), of how many, records. */
    SLU_REDIS_BEGIN,  /* epoch, view. */
    SLU_REDIS_PUT,    /* epoch, view, records. */
    SLU_REDIS_FINISH, /* epoch, seq, url, view. */
    SLU_REDIS_SWEEP,  /* epoch. Removes views that no pointer names. */
    SLU_REDIS_SCRIPT_COUNT,
};

/* KEYS: owner, views. ARGV: "slu:{p}:", cluster, then as above. A record is four arguments: key,
 * "<kind>:<id>", index, status ("" removes). Every script answers with one of the words below. */
extern const char *const slu_redis_scripts[SLU_REDIS_SCRIPT_COUNT];

/* "applied", "applied-sweep" (applied, and old views lie about), "gap", "stale", "other". */

#endif
