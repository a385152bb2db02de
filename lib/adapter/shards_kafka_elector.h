/* SPDX-License-Identifier: Apache-2.0 */
/* The elector: a member of a consumer group that reads nothing. Being assigned shards[p] makes this
 * process the candidate for shard p; confirm tells whether that still holds. Never claims. */
#ifndef SLU_ADAPTER_SHARDS_KAFKA_ELECTOR_H
#define SLU_ADAPTER_SHARDS_KAFKA_ELECTOR_H

#include "shards_kafka_client.h"
#include "shards_kafka_events.h"
#include "shards_kafka_reaper.h"

struct slu_elector;

struct slu_elector_settings {
    const struct slu_kafka *kafka; /* Lent for the elector's life. */
    const char *group;
    int64_t session_timeout_ms;
    int64_t away_ms; /* How long a stuck claim keeps this replica out of the group. */
    int shard_count;
    struct slu_events *events;
    struct slu_reaper *reaper;

    /* The library says that no broker answers. Elector's thread. */
    void (*suspect)(void *context, const char *why);

    /* A shard whose claim has made no progress for so long that the group should give it to someone
     * else; −1: none. Elector's thread. */
    int (*stuck)(void *context);
    void *context;
};

struct slu_elector *slu_elector_new(const struct slu_elector_settings *settings);
void slu_elector_elect(struct slu_elector *elector);
void slu_elector_tick(struct slu_elector *elector);

/* Leaves the group: unsubscribe, drain, close. From here on confirm answers NOT_YET. False: it
 * hangs and was left behind; do not free then. */
bool slu_elector_stop(struct slu_elector *elector, int64_t patience_ms);

/* After everybody who may ask for a confirmation has ended. */
void slu_elector_free(struct slu_elector *elector);

enum slu_confirmed {
    SLU_CONFIRMED_NOT_YET, /* No answer, or a rebalance goes on: ask again. */
    SLU_CONFIRMED_YES,     /* The group gives us the shard, now. */
    SLU_CONFIRMED_NO,      /* The group says: it is not ours. */
};

/* Blocks the caller until the elector's thread has an answer (at most about 6 s). With `tell`, NO
 * also puts the event NOT_CANDIDATE, in order with the elector's other events. */
enum slu_confirmed
slu_elector_confirm(struct slu_elector *elector, int shard, bool tell, struct slu_error *reterr);

#endif
