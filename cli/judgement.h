/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing documents and learning what became of them: the leader answers each record it judges
 * with one event, whose cause is the record's partition and offset (design.md §4). */
#ifndef SLU_CLI_JUDGEMENT_H
#define SLU_CLI_JUDGEMENT_H

#include "cli.h"
#include "kafka.h"
#include "slu/model/key.h"

/* Fills what a record for `key` needs but its value; `shards` is the number of partitions. */
void judgement_address(const struct slu_key *key, int shards, struct kafka_message *ret);

/* Publishes, waits as the options say, prints one line for each. Returns the exit status. */
int judgement_publish(const struct cli *cli, struct kafka_message *messages, size_t count);

#endif
