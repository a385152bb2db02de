/* SPDX-License-Identifier: Apache-2.0 */
/* slu_sim: runs seeds, one after another, and says of the first that fails how to run it again. */
#include "slu/base/macros.h"
#include "world.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SAME_AGAIN_EVERY = 50
}; /* Every so many seeds one is run twice: the same trace? */

struct arguments {
    uint64_t first;
    uint64_t count;
    int64_t steps;
    bool trace;
    bool twice;
    bool all;
    const char *kept;
    enum sim_break broken;
};

static const char usage[] =
    "slu_sim [--seeds N] [--seed S] [--steps N] [--trace] [--twice] [--all] [--kept FILE]\n"
    "        [--break RULE]\n"
    "\n"
    "  --seeds N     run N seeds (default 200)\n"
    "  --seed S      begin with seed S (default 1); alone: run this one only\n"
    "  --steps N     end the storm after N occurrences\n"
    "  --trace       print everything that happens\n"
    "  --twice       run every seed twice and compare the traces\n"
    "  --all         go on after a violation, one line for each seed that fails\n"
    "  --kept FILE   run the seeds of this file: one a line, # begins a remark\n"
    "  --break RULE  switch a rule of the pretend world off; a violation is expected then\n"
    "  --list        print the properties and the rules that can be broken\n"
    "\n"
    "Exit status: 0 all hold, 1 one was violated, 2 wrong arguments.\n";

static void
print_names(void)
{
    (void) puts("properties:");
    for (int i = 1; i < SIM_PROPERTY_COUNT; i++)
        (void) printf("  %s\n", sim_property_names[i]);
    (void) puts("rules to break:");
    for (int i = 1; i < SIM_BREAK_COUNT; i++)
        (void) printf("  %s\n", sim_break_names[i]);
}

static bool
read_number(const char *text, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    *ret_number = strtoull(text, &end, 10);
    return !errno && *text && !*end;
}

static bool
read_rule(const char *text, enum sim_break *ret_rule)
{
    const int index = slu_name_index(sim_break_names, SIM_BREAK_COUNT, text);
    *ret_rule = (enum sim_break) index;
    return index > 0;
}

/* --- running -----------------------------------------------------------------------------------
 */

static bool
same_again(const struct sim_options *options, const struct sim_outcome *first)
{
    struct sim_outcome second;
    sim_run(options, &second);
    if (second.trace_hash == first->trace_hash)
        return true;
    (void) fprintf(stderr, "seed %llu: two runs differ: trace %016llx and %016llx\n",
                   (unsigned long long) options->seed, (unsigned long long) first->trace_hash,
                   (unsigned long long) second.trace_hash);
    return false;
}

static bool
run_seed(const struct arguments *arguments, uint64_t seed, struct sim_outcome *ret_outcome)
{
    const struct sim_options options = {.seed = seed,
                                        .print_trace = arguments->trace,
                                        .steps = arguments->steps,
                                        .no_tail = arguments->all,
                                        .broken = arguments->broken};
    sim_run(&options, ret_outcome);
    if (ret_outcome->violated && arguments->all) {
        (void) printf("%llu %s %s: %s\n", (unsigned long long) seed, ret_outcome->weather,
                      sim_property_names[ret_outcome->violated], ret_outcome->violation);
        return false;
    }
    if (ret_outcome->violated) {
        (void) fprintf(stderr, "\nseed %llu (%s) violates %s:\n  %s\nagain:  slu_sim --seed %llu",
                       (unsigned long long) seed, ret_outcome->weather,
                       sim_property_names[ret_outcome->violated], ret_outcome->violation,
                       (unsigned long long) seed);
        if (arguments->steps)
            (void) fprintf(stderr, " --steps %lld", (long long) arguments->steps);
        if (arguments->broken)
            (void) fprintf(stderr, " --break %s", sim_break_names[arguments->broken]);
        (void) fputs(" --trace\n", stderr);
        return false;
    }
    return (!arguments->twice && seed % SAME_AGAIN_EVERY != 0) || same_again(&options, ret_outcome);
}

static int64_t
elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    (void) clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

static int
run_range(const struct arguments *arguments)
{
    struct timespec start;
    (void) clock_gettime(CLOCK_MONOTONIC, &start);
    uint64_t failed = 0;
    int64_t virtual_ms = 0;
    int64_t occurrences = 0;
    for (uint64_t i = 0; i < arguments->count; i++) {
        struct sim_outcome outcome;
        const bool holds = run_seed(arguments, arguments->first + i, &outcome);
        failed += !holds;
        if (!holds && !arguments->all)
            return 1;
        virtual_ms += outcome.virtual_ms;
        occurrences += outcome.occurrences;
        if (arguments->count == 1)
            (void) printf("seed %llu (%s): trace %016llx\n", (unsigned long long) arguments->first,
                          outcome.weather, (unsigned long long) outcome.trace_hash);
    }
    (void) printf("%llu of %llu seeds hold: %lld h of virtual time, %lld occurrences, in %lld ms\n",
                  (unsigned long long) (arguments->count - failed),
                  (unsigned long long) arguments->count, (long long) (virtual_ms / 3600000),
                  (long long) occurrences, (long long) elapsed_ms(&start));
    return failed > 0;
}

static int
run_kept(const struct arguments *arguments)
{
    FILE *file = fopen(arguments->kept, "re");
    if (!file) {
        (void) fprintf(stderr, "slu_sim: %s: %m\n", arguments->kept);
        return 2;
    }
    char line[256];
    int count = 0;
    bool holds = true;
    while (holds && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "# \t\n")] = 0;
        struct sim_outcome outcome;
        uint64_t seed;
        if (!read_number(line, &seed))
            continue;
        holds = run_seed(arguments, seed, &outcome);
        count++;
    }
    (void) fclose(file);
    if (holds)
        (void) printf("%d kept seeds hold\n", count);
    return holds ? 0 : 1;
}

enum argument {
    OPTION_SEEDS = 1,
    OPTION_SEED,
    OPTION_STEPS,
    OPTION_TRACE,
    OPTION_TWICE,
    OPTION_KEPT,
    OPTION_BREAK,
    OPTION_LIST,
    OPTION_HELP,
    OPTION_ALL
};

static const struct option options[] = {
    {"seeds", required_argument, NULL, OPTION_SEEDS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"steps", required_argument, NULL, OPTION_STEPS},
    {"trace", no_argument, NULL, OPTION_TRACE},
    {"twice", no_argument, NULL, OPTION_TWICE},
    {"all", no_argument, NULL, OPTION_ALL},
    {"kept", required_argument, NULL, OPTION_KEPT},
    {"break", required_argument, NULL, OPTION_BREAK},
    {"list", no_argument, NULL, OPTION_LIST},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static bool
take_option(int option, const char *value, struct arguments *arguments)
{
    uint64_t steps = 0;
    bool taken = true;
    if (option == OPTION_SEEDS)
        taken = read_number(value, &arguments->count);
    else if (option == OPTION_SEED)
        taken = read_number(value, &arguments->first);
    else if (option == OPTION_STEPS)
        taken = read_number(value, &steps);
    else if (option == OPTION_BREAK)
        taken = read_rule(value, &arguments->broken);
    else if (option == OPTION_KEPT)
        arguments->kept = value;
    else if (option == OPTION_TRACE)
        arguments->trace = true;
    else if (option == OPTION_TWICE)
        arguments->twice = true;
    else if (option == OPTION_ALL)
        arguments->all = true;
    else
        taken = false;
    if (option == OPTION_STEPS)
        arguments->steps = (int64_t) steps;
    return taken;
}

/* What main returns when it is not to run anything; −1: run. */
static int
read_arguments(int argc, char **argv, struct arguments *ret_arguments)
{
    int option;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread. */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == OPTION_LIST) {
            print_names();
            return 0;
        }
        if (!take_option(option, optarg, ret_arguments)) {
            (void) fputs(usage, option == OPTION_HELP ? stdout : stderr);
            return option == OPTION_HELP ? 0 : 2;
        }
    }
    if (!ret_arguments->count)
        ret_arguments->count = ret_arguments->first ? 1 : 200;
    if (!ret_arguments->first)
        ret_arguments->first = 1;
    return -1;
}

int
main(int argc, char **argv)
{
    struct arguments arguments = {0};
    const int status = read_arguments(argc, argv, &arguments);
    if (status >= 0)
        return status;
    return arguments.kept ? run_kept(&arguments) : run_range(&arguments);
}
