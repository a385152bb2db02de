/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap by (moment, order of arrival). */
#include "agenda.h"

#include "slu/base/memory.h"

#include <stdlib.h>

static bool
comes_before(const struct sim_occurrence *a, const struct sim_occurrence *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void
swap(struct sim_occurrence *a, struct sim_occurrence *b)
{
    const struct sim_occurrence kept = *a;
    *a = *b;
    *b = kept;
}

void
sim_agenda_put(struct sim_agenda *agenda, struct sim_occurrence occurrence)
{
    if (agenda->count == agenda->capacity) {
        agenda->capacity = agenda->capacity ? agenda->capacity * 2 : 256;
        agenda->heap = slu_realloc(agenda->heap, agenda->capacity * sizeof(*agenda->heap));
    }

    occurrence.order = ++agenda->order;
    size_t at = agenda->count++;
    agenda->heap[at] = occurrence;
    while (at > 0 && comes_before(&agenda->heap[at], &agenda->heap[(at - 1) / 2])) {
        swap(&agenda->heap[at], &agenda->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

bool
sim_agenda_take(struct sim_agenda *agenda, struct sim_occurrence *ret_occurrence)
{
    if (agenda->count == 0)
        return false;

    *ret_occurrence = agenda->heap[0];
    agenda->heap[0] = agenda->heap[--agenda->count];
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < agenda->count && comes_before(&agenda->heap[child], &agenda->heap[least]))
                least = child;
        }
        if (least == at)
            return true;
        swap(&agenda->heap[at], &agenda->heap[least]);
        at = least;
    }
}

void
sim_agenda_done(struct sim_agenda *agenda)
{
    free(agenda->heap);
    *agenda = (struct sim_agenda){0};
}
