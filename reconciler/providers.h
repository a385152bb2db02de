/* SPDX-License-Identifier: Apache-2.0 */
/* The configured provider instances at run time: a queue each, and whether they answer. */
#ifndef SLU_RECONCILER_PROVIDERS_H
#define SLU_RECONCILER_PROVIDERS_H

#include "replica.h"

enum slu_status slu_providers_open(struct slu_replica *replica, struct slu_error *reterr);

/* Index of an instance by name, or −1. */
int slu_providers_find(const struct slu_replica *replica, const char *name);

/* Learns from any exchange whether the instance answers. */
void slu_providers_heard(struct slu_replica *replica,
                         struct slu_provider_slot *slot,
                         const struct slu_http_response *response);

/* Asks those that do not answer whether they do again; called every few seconds. */
void slu_providers_probe(struct slu_replica *replica);

#endif
