/* SPDX-License-Identifier: Apache-2.0 */
/* One replica: everything the program owns, on one loop. Structs only; each module has its own
 * header with what it does. Everything here is touched by the loop's thread alone, but for the
 * engine of a shard that is being restored (the log's thread fills it). */
#ifndef SLU_RECONCILER_REPLICA_H
#define SLU_RECONCILER_REPLICA_H

#include "metrics.h"
#include "settings.h"
#include "shard_clock.h"
#include "slu/engine/engine.h"
#include "slu/port/http_client.h"
#include "slu/port/shards.h"
#include "slu/port/store.h"
#include "slu/provider/provider.h"

#include <uv.h>

#include <stdatomic.h>

enum {
    SLU_PROVIDERS_MAX = 32,
    SLU_PROOF_MS = 3000,       /* A changing call needs a proof of leadership younger than this. */
    SLU_IDLE_COMMIT_MS = 2000, /* A shard at rest commits its record this often. */
    SLU_TROUBLE_MAX = 256,
};

struct slu_replica;

/* A configured provider instance at run time. */
struct slu_provider_slot {
    struct slu_replica *replica;
    const struct slu_provider_instance *instance;
    const struct slu_provider *provider;
    struct slu_http_queue *queue;
    bool answers; /* Its last exchange was answered. */
    bool asked;   /* A probe is under way. */
    char trouble[SLU_TROUBLE_MAX];
};

enum slu_shard_state {
    SLU_SHARD_IS_IDLE,     /* Not ours. */
    SLU_SHARD_IS_WAITING,  /* Ours to claim, later: the last try failed. */
    SLU_SHARD_IS_CLAIMING, /* Its status is being read into the engine. */
    SLU_SHARD_IS_TAKING,   /* The first transaction is under way. */
    SLU_SHARD_IS_ACTIVE,
    SLU_SHARD_IS_STOPPED, /* Its position is outside the log: a person must act. */
};

/* Whether this epoch of ours was shown to a provider that keeps fences (design.md §7). */
enum slu_fence {
    SLU_FENCE_UNKNOWN,
    SLU_FENCE_ASKED,
    SLU_FENCE_SHOWN
};

struct slu_input_node; /* shard_input.c */
struct slu_flight;     /* calls.c */

struct slu_shard {
    struct slu_replica *replica;
    int number;
    enum slu_shard_state state;
    bool candidate;
    uint64_t life; /* Counts claims: what belongs to an earlier one is dropped. */
    struct slu_engine *engine;
    atomic_llong restored; /* Status records read in this claim, by the log's thread. */
    struct slu_shard_clock clock;
    int64_t proof_boottime_ms; /* When the last committed transaction began; 0: none. */
    bool wants_proof;          /* Someone waits for a younger one. */
    bool dirty;                /* A turn is due at once. */
    int64_t claim_began_ms, commit_began_ms; /* BOOTTIME. */
    int claim_failures;
    struct slu_batch *view_batch; /* Status outputs of the batch in flight. */
    bool wants_view;              /* The store's view is damaged: write it anew after a commit. */
    bool rewriting_view;

    struct slu_input_node *input_first, *input_last;
    size_t input_records;
    bool input_paused;
    bool asked_end;

    struct slu_flight *waiting; /* Calls that need a proof or a fence first. */
    int flying;                 /* Calls handed to the HTTP client. */
    enum slu_fence fences[SLU_PROVIDERS_MAX];
    uv_timer_t timer; /* Next turn, next idle commit, next claim. */
};

enum slu_stage {
    SLU_STAGE_RUNNING,
    SLU_STAGE_DRAINING,
    SLU_STAGE_LEAVING
};

struct slu_http_server;
struct slu_watchdog;

struct slu_replica {
    struct slu_settings settings;
    uv_loop_t loop;
    enum slu_stage stage;
    int exit_status;
    char url[256]; /* As others reach it. */

    struct slu_shards *log; /* NULL until Kafka has answered once. */
    bool log_opening;
    int64_t log_wait_ms; /* Before the next try to open it. */
    bool kafka_up;
    bool was_candidate;             /* The group has named it for some shard. */
    int64_t log_opened_boottime_ms; /* 0: not yet. */
    char kafka_trouble[SLU_TROUBLE_MAX];
    uv_async_t log_wake;
    uv_timer_t log_timer;

    struct slu_store *store;
    bool store_was_up;
    struct slu_http_client *http;
    struct slu_provider_slot providers[SLU_PROVIDERS_MAX];
    int provider_count;

    struct slu_shard *shards; /* `shard_count`; NULL before the log is open. */
    int shard_count;
    uv_idle_t busy; /* Runs while some shard is dirty. */
    uv_timer_t tick;
    int64_t ticks;

    struct slu_metrics metrics;
    struct slu_http_server *server;
    struct slu_watchdog *watchdog;
    uv_signal_t on_term, on_int;
    uv_timer_t drain_timer;
    int64_t drain_began_ms;
};

#endif
