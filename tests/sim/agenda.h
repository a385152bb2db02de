/* SPDX-License-Identifier: Apache-2.0 */
/* What will happen, in the order of virtual time. Occurrences of one moment come in the order they
 * were put in, so that a seed always gives the same run. */
#ifndef SIM_AGENDA_H
#define SIM_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_occasion {
    SIM_OCCASION_TICK,      /* One turn of a replica's loop. */
    SIM_OCCASION_ADAPTER,   /* The next step of a shard's Kafka thread. */
    SIM_OCCASION_LEARN,     /* A replica's elector hears of an assignment. */
    SIM_OCCASION_SESSION,   /* The group gives a silent member up. */
    SIM_OCCASION_START,     /* A dead replica starts again. */
    SIM_OCCASION_CONTINUE,  /* A stopped replica goes on. */
    SIM_OCCASION_EXECUTE,   /* A request reaches the provider. */
    SIM_OCCASION_ANSWER,    /* Its answer reaches the replica. */
    SIM_OCCASION_TIME_OUT,  /* The replica waits for it no longer. */
    SIM_OCCASION_PRODUCE,   /* An upstream system writes. */
    SIM_OCCASION_FAULT,     /* Something breaks. */
    SIM_OCCASION_TXN_LATE,  /* The end of a transaction, long on its way, reaches the broker. */
    SIM_OCCASION_TXN_OLD,   /* The broker ends a transaction left open. */
    SIM_OCCASION_RESURRECT, /* A deleted instance comes back. */
    SIM_OCCASION_COMPACT,   /* The broker cleans the compacted topics. */
    SIM_OCCASION_COUNT,
};

struct sim_occurrence {
    int64_t at_ms;
    uint64_t order;
    enum sim_occasion what;
    int replica;
    uint32_t life;   /* Of the replica: what a dead process waited for never comes. */
    int64_t number;  /* Shard, call, transaction or instance. */
    uint64_t ticket; /* Of the shard's Kafka thread. */
};

struct sim_agenda {
    struct sim_occurrence *heap;
    size_t count, capacity;
    uint64_t order;
};

void sim_agenda_put(struct sim_agenda *agenda, struct sim_occurrence occurrence);
bool sim_agenda_take(struct sim_agenda *agenda, struct sim_occurrence *ret_occurrence);
void sim_agenda_done(struct sim_agenda *agenda);

#endif
