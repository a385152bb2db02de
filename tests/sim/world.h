/* SPDX-License-Identifier: Apache-2.0 */
/* The whole cluster in one process: replicas around real engines, a pretend Kafka, a pretend
 * provider, upstream systems, and the properties that must hold whatever happens to them.
 * Everything follows from one seed: no wall clock, no threads, no address ever decides anything. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "agenda.h"
#include "group_model.h"
#include "log_model.h"
#include "oracle.h"
#include "property.h"
#include "provider_model.h"
#include "replica.h"
#include "slu/base/random.h"
#include "trace.h"
#include "wishes.h"

#include <stdbool.h>
#include <stdint.h>

/* The broker's wall clock at the start; boot times start at 0. */
#define SIM_BROKER_START_MS INT64_C(1796000000000)

/* How often things go wrong, per thousand occasions. Zero: never. */
struct sim_weather {
    const char *name;
    /* Kafka. */
    int commit_aborted, commit_unclear, broker_slow, upstream_txn;
    /* Replicas. */
    int effect_crash, crash, stop, flap, claim_fails;
    int64_t crash_at_effect; /* Exactly one crash, after this many effects; 0: none. */
    /* Provider. */
    int request_lost, answer_lost, answer_slow, refused_429, error_5xx, busy, never_sent;
    int list_cut, list_repeats, false_gone, fence_late;
    int dies, pauses_itself, resumes_itself, resurrects, outage, init_fails, transitional;
    int64_t list_lag_ms;
    bool honours_keys, fences, auto_pause;
    /* Upstream. */
    int wrong_partition, duplicate, bad_input;
    bool compact_desired;
};

/* Rules that can be switched off inside the pretend world, to prove that a property notices. */
enum sim_break {
    SIM_BREAK_NOTHING,
    SIM_BREAK_LOG_FENCES_NOBODY,
    SIM_BREAK_UNCLEAR_IS_COMMITTED,
    SIM_BREAK_ABORTED_IS_COMMITTED,
    SIM_BREAK_UNCLEAR_IS_SENT_AGAIN,
    SIM_BREAK_NO_PROOF,
    SIM_BREAK_CLAIM_READS_HALF,
    SIM_BREAK_READ_THROUGH_WITHOUT_READING,
    SIM_BREAK_PROVIDER_LIES_TWICE,
    SIM_BREAK_PROVIDER_IGNORES_KEYS,
    SIM_BREAK_RECORD_SKIPPED,
    SIM_BREAK_ANSWERS_NEVER_COME,
    SIM_BREAK_COUNT,
};

extern const char *const sim_break_names[SIM_BREAK_COUNT];

struct sim_world {
    uint64_t seed;
    struct slu_random random;
    int64_t now_ms;
    struct sim_weather weather;
    enum sim_break broken;
    bool calm;   /* Faults are over: liveness is owed. */
    bool silent; /* … and nobody wishes anything any more. */
    int64_t occurrences;
    int64_t effects; /* Steps after which a process may have died. */
    int64_t chaos_until_ms;
    int shard_count, replica_count;

    struct sim_agenda agenda;
    struct sim_trace trace;
    struct sim_log log;
    struct sim_group group;
    struct sim_provider provider;
    struct sim_wishes wishes;
    struct sim_oracle oracle;
    struct sim_replica replicas[SIM_REPLICAS_MAX];

    enum sim_property violated; /* SIM_HOLDS: none. The run ends at the first. */
    char violation[512];
};

struct sim_options {
    uint64_t seed;
    bool print_trace;
    bool no_tail;  /* Of the trace, after a violation. */
    int64_t steps; /* Occurrences of the chaos phase at most; 0: as long as the seed says. */
    enum sim_break broken;
};

struct sim_outcome {
    enum sim_property violated;
    char violation[512];
    uint64_t trace_hash;
    const char *weather;
    int64_t virtual_ms;
    int64_t occurrences;
};

/* Runs one seed. On a violation the trace's tail goes to standard error. */
void sim_run(const struct sim_options *options, struct sim_outcome *ret_outcome);

/* Draws the weather of this seed (weather.c). */
void sim_weather_choose(struct sim_world *world);

int64_t sim_broker_ms(const struct sim_world *world);
bool sim_chance(struct sim_world *world, int per_thousand);
bool sim_fault(struct sim_world *world, int per_thousand); /* Never in the calm. */
int64_t sim_between(struct sim_world *world, int64_t least, int64_t most);
bool sim_broken(const struct sim_world *world, enum sim_break rule);

/* Puts an occurrence `after_ms` from now. */
void sim_put(struct sim_world *world, int64_t after_ms, struct sim_occurrence occurrence);

void sim_violate(struct sim_world *world, enum sim_property property, const char *format, ...)
    SLU_PRINTF(3, 4);

#define sim_say(world, ...) sim_trace_line(&(world)->trace, (world)->now_ms, __VA_ARGS__)

#endif
