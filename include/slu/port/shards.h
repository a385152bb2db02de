/* SPDX-License-Identifier: Apache-2.0 */
/* The log as the shell needs it: candidacy, claims, transactions, input. lib/adapter/shards_kafka.c
 * talks to Kafka; tests/support/fake_shards.c is the fake. One contract suite runs on both
 * (tests/contract/shards_contract.c).
 *
 * Blocking work happens on the adapter's own threads; everything it has to say comes back as
 * events, taken by the loop's thread with slu_shards_next. `wake` is called from any thread when
 * the event queue goes from empty to non-empty. */
#ifndef SLU_PORT_SHARDS_H
#define SLU_PORT_SHARDS_H

#include "slu/base/status.h"
#include "slu/model/record.h"
#include "slu/model/shard_record.h"

#include <stdbool.h>
#include <stdint.h>

struct slu_shards;

struct slu_shards_settings {
    const char *brokers;
    const char *topic_prefix; /* "sluice." */
    const char *group;        /* Of the electors. */
    const char *client_id;
    const char *properties; /* "name=value;…": further librdkafka properties (TLS, SASL); or "". */
    int64_t session_timeout_ms; /* 6,000. */
    int64_t claim_patience_ms;  /* A candidate that cannot claim for so long leaves the group for as
                                   long again, with an ALARM; 0: 60,000. */
    void (*wake)(void *context);
    void *wake_context;
};

enum slu_shard_event_kind {
    SLU_SHARD_CANDIDATE,     /* The group gave us this shard. */
    SLU_SHARD_NOT_CANDIDATE, /* A confirmed assignment lacks it, or our claim was refused for good.
                              */
    SLU_SHARD_CLAIM_READ,    /* Claim: `shard_record` is the newest; every status record went to the
                              sink before this. The engine may claim now; commit its first batch. */
    SLU_SHARD_CLAIM_FAILED,  /* Not claimed; `error` tells why; still candidate: ask again later. */
    SLU_SHARD_COMMITTED,     /* The batch of slu_shards_commit. */
    SLU_SHARD_LOST,          /* Someone else leads, or what became of a batch cannot be continued:
                              forget this shard's memory. Ask slu_shards_claim again if still a
                              candidate. */
    SLU_SHARD_RECORDS,       /* Input of one shard, in order per partition. */
    SLU_SHARD_READ_THROUGH, /* Answer of slu_shards_ask_end: everything up to the end seen after the
                             ask has been handed over in RECORDS before this. */
    SLU_SHARD_OUT_OF_RANGE, /* The admitted position is outside the log: the shard must stop. */
    SLU_SHARD_DOWN, /* No broker answers; `error` tells. Once per outage. `shard` is −1. */
    SLU_SHARD_UP,
    SLU_SHARD_ALARM, /* A person should look; `error` tells; `shard` is −1 when none is meant. */
};

struct slu_shard_event {
    enum slu_shard_event_kind kind;
    int shard;
    struct slu_shard_record *shard_record; /* CLAIM_READ; owned by the event. */
    int64_t seq;                           /* COMMITTED. */
    int64_t append_ms; /* COMMITTED: append time of the shard record, at the broker. */
    int64_t
        began_boottime_ms;    /* COMMITTED: CLOCK_BOOTTIME when the transaction began: the proof. */
    int64_t done_boottime_ms; /* COMMITTED: when the delivery report came: goes with append_ms. */
    struct slu_record *records; /* RECORDS; owned by the event, with all they point to. */
    size_t record_count;
    int64_t token; /* READ_THROUGH: of the ask. */
    struct slu_error error;
    void *private; /* The adapter's. */
};

enum slu_status slu_shards_open(const struct slu_shards_settings *settings,
                                struct slu_shards **ret_shards,
                                struct slu_error *reterr);

/* Waits at most `patience_ms` for open transactions, leaves the group, frees. Every event that was
 * taken has been ended before. */
void slu_shards_close(struct slu_shards *shards, int64_t patience_ms);

/* Number of shards (partitions of sluice.shards), learnt at open. */
int slu_shards_count(const struct slu_shards *shards);

/* Partitions of sluice.desired, as seen last: at least the count. Shard p reads p, p + count, … */
int slu_shards_inputs(const struct slu_shards *shards);

/* Takes the oldest event. False when there is none. The caller ends it with slu_shard_event_done.
 */
bool slu_shards_next(struct slu_shards *shards, struct slu_shard_event *ret_event);
void slu_shard_event_done(struct slu_shard_event *event);

/* Starts electing: events CANDIDATE follow. The elector polls only while slu_shards_tick was called
 * within the last 3 s. */
void slu_shards_elect(struct slu_shards *shards);
void slu_shards_tick(struct slu_shards *shards);

/* Receives status records during a claim, on the adapter's thread, in log order. */
struct slu_shards_sink {
    enum slu_status (*status)(void *context,
                              const struct slu_record *record,
                              struct slu_error *reterr);
    void *context;
};

/* confirm → init_transactions → read shards[p] to its end, then status[p] to an end asked for after
 * that: only in this order does an unmoved (epoch, seq) prove that the status read is whole.
 * Ends in CLAIM_READ, CLAIM_FAILED or NOT_CANDIDATE. `sink` stays valid until then. */
void slu_shards_claim(struct slu_shards *shards, int shard, const struct slu_shards_sink *sink);

/* One transaction; takes the batch. Ends in COMMITTED or LOST. At most one in flight per shard. The
 * adapter rolls forward by itself: the same bytes until it knows. */
void slu_shards_commit(struct slu_shards *shards, int shard, struct slu_batch *batch);

/* Hands the shard over: finish what is in flight, forget the producer, stop its input. */
void slu_shards_release(struct slu_shards *shards, int shard);

/* Input: read desired partition `partition` for `shard` from `offset`. Never rebalances. */
void slu_shards_read(struct slu_shards *shards, int shard, int partition, int64_t offset);
void slu_shards_pause(struct slu_shards *shards, int shard, bool paused);

/* Asks for the end of all partitions the shard reads; READ_THROUGH comes when they are reached. */
void slu_shards_ask_end(struct slu_shards *shards, int shard, int64_t token);

#endif
