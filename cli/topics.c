/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice topics`: makes and checks the topics. */
#include "slu/adapter/topics.h"

#include "cli.h"
#include "output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct slu_topics_settings
topics_settings(const struct cli *cli)
{
    return (struct slu_topics_settings){.brokers = cli->settings.kafka_brokers,
                                        .topic_prefix = cli->settings.topic_prefix,
                                        .client_id = "sluice",
                                        .properties = cli->kafka_properties};
}

static int
create(const struct cli *cli)
{
    char cluster[SLU_CLUSTER_SIZE];
    struct slu_error error;
    const struct slu_topics_settings settings = topics_settings(cli);
    if (slu_topics_create(&settings, (int) cli->options.partitions, cluster, &error)) {
        complain("%s", error.message);
        return CLI_FAILED;
    }
    if (cli->options.json) {
        printf("{\"cluster\":\"%s\",\"partitions\":%" PRId64 "}\n", cluster,
               cli->options.partitions);
    } else {
        printf("The topics %s* are there: %" PRId64 " shards, cluster %s.\n",
               cli->settings.topic_prefix, cli->options.partitions, cluster);
    }
    return CLI_OK;
}

static int
check(const struct cli *cli)
{
    struct slu_buffer words = {0};
    struct slu_error error = {0};
    const struct slu_topics_settings settings = topics_settings(cli);
    const enum slu_status status = slu_topics_check(&settings, &words, &error);
    if (words.size > 0)
        printf("%s%s", words.data, words.data[words.size - 1] == '\n' ? "" : "\n");
    if (status && status != SLU_INVALID)
        complain("%s", error.message);
    else if (status)
        hint("`sluice topics create` makes what is missing; it changes nothing that is there");
    else if (!cli->options.json)
        printf("The topics are as they should be.\n");
    slu_buffer_done(&words);
    return !status ? CLI_OK : status == SLU_INVALID ? CLI_UNHEALTHY : CLI_FAILED;
}

int
cli_topics(struct cli *cli)
{
    if (strcmp(cli->argv[0], "create") == 0)
        return create(cli);
    if (strcmp(cli->argv[0], "check") == 0)
        return check(cli);
    complain("topics: '%s' is neither create nor check", cli->argv[0]);
    return CLI_USAGE;
}
