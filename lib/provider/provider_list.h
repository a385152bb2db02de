/* SPDX-License-Identifier: Apache-2.0 */
/* The provider types that are built in, for the registry. A new type adds one line here and one in
 * registry.c. */
#ifndef SLU_LIB_PROVIDER_PROVIDER_LIST_H
#define SLU_LIB_PROVIDER_PROVIDER_LIST_H

#include "slu/provider/provider.h"

extern const struct slu_provider slu_provider_e2b;
extern const struct slu_provider slu_provider_local;

#endif
