/* SPDX-License-Identifier: Apache-2.0 */
/* Writing down how a call ended. Texts from outside are cut at a character's end, and control
 * characters never get through to a log or a status document. */
#ifndef SLU_LIB_PROVIDER_FACTS_H
#define SLU_LIB_PROVIDER_FACTS_H

#include "slu/model/call.h"

void slu_facts_end(struct slu_facts *facts, enum slu_outcome outcome, const char *format, ...)
    SLU_PRINTF(3, 4);

#endif
