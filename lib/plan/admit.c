/* SPDX-License-Identifier: Apache-2.0 */
#include "slu/plan/admit.h"

#include "slu/base/buffer.h"
#include "slu/base/hash.h"

#include <string.h>

static void
refuse(struct slu_verdict *verdict, enum slu_code code, const char *path, const char *message)
{
    verdict->kind = SLU_VERDICT_REFUSED;
    (void) slu_refuse(&verdict->refusal, code, path, "%s", message);
}

static bool
is_delete(const struct slu_proposal *proposal)
{
    if (!proposal->document)
        return true;
    const char *state = json_string_value(json_object_get(proposal->document->spec, "state"));
    return state && strcmp(state, "deleted") == 0;
}

static bool
has_equal_content(const struct slu_accepted *accepted, const struct slu_proposal *proposal)
{
    return accepted->spec_size == proposal->spec_size &&
           memcmp(accepted->spec, proposal->spec, proposal->spec_size) == 0;
}

/* A repeat of the record that created the life is recognised whatever its generation fields, also
 * while `deleted` is kept: otherwise a producer's retry would make a new life (design.md §4). */
static bool
is_repeat_of_creation(const struct slu_accepted *accepted, const struct slu_proposal *proposal)
{
    return accepted->kept && proposal->document && proposal->ce_id[0] &&
           strcmp(accepted->created_ce_id, proposal->ce_id) == 0;
}

static void
judge_repeat_of_creation(const struct slu_accepted *accepted,
                         const struct slu_proposal *proposal,
                         struct slu_verdict *verdict)
{
    if (strcmp(accepted->created_sha256, proposal->sha256) == 0) {
        verdict->kind = SLU_VERDICT_REPEATED;
        return;
    }
    verdict->kind = SLU_VERDICT_REFUSED;
    (void) slu_refuse(&verdict->refusal, SLU_CODE_CONFLICT, "ce_id",
                      "'%.64s' already created this resource with other content; send a new "
                      "ce_id for a new wish",
                      proposal->ce_id);
}

/* ifGeneration: 0 means "no life now" (design.md §4). */
static bool
holds_condition(const struct slu_accepted *accepted,
                int64_t if_generation,
                struct slu_verdict *verdict)
{
    const bool lives = accepted->kept && !accepted->deleted;
    const int64_t now = lives ? accepted->generation : 0;
    if (if_generation < 0 || if_generation == now)
        return true;
    verdict->kind = SLU_VERDICT_REFUSED;
    if (if_generation == 0) {
        return slu_refuse(&verdict->refusal, SLU_CODE_CONFLICT, "ifGeneration",
                          "0 asks that nothing has this id, but generation %lld lives",
                          (long long) now);
    }
    return slu_refuse(&verdict->refusal, SLU_CODE_REVISION_CONFLICT, "ifGeneration",
                      "%lld does not hold, the accepted generation is %lld%s",
                      (long long) if_generation, (long long) now,
                      lives ? "" : " (nothing lives under this id)");
}

static void
accept(const struct slu_accepted *accepted, int64_t asked, struct slu_verdict *verdict)
{
    verdict->kind = SLU_VERDICT_ACCEPTED;
    verdict->generation = asked ? asked : accepted->generation + 1;
}

static void
refuse_generation(const struct slu_accepted *accepted, int64_t asked, struct slu_verdict *verdict)
{
    verdict->kind = SLU_VERDICT_REFUSED;
    (void) slu_refuse(&verdict->refusal, SLU_CODE_REVISION_CONFLICT, "generation",
                      "%lld is not greater than the accepted generation %lld%s", (long long) asked,
                      (long long) accepted->generation,
                      asked == accepted->generation ? ", and the content differs" : "");
}

static void
judge_delete(const struct slu_accepted *accepted, int64_t asked, struct slu_verdict *verdict)
{
    if (!accepted->kept || accepted->deleted) {
        verdict->kind = SLU_VERDICT_NOTHING;
        return;
    }
    if (asked && asked <= accepted->generation) {
        refuse_generation(accepted, asked, verdict);
        return;
    }
    accept(accepted, asked, verdict);
    verdict->ends_life = true;
}

static void
judge_document(const struct slu_accepted *accepted,
               const struct slu_proposal *proposal,
               struct slu_verdict *verdict)
{
    const int64_t asked = proposal->document->generation;
    if (!accepted->kept || accepted->deleted) {
        if (accepted->kept && asked && asked <= accepted->generation) {
            refuse_generation(accepted, asked, verdict);
            return;
        }
        accept(accepted, asked, verdict);
        verdict->begins_life = true;
        return;
    }
    const bool equal = has_equal_content(accepted, proposal);
    if (equal && (!asked || asked == accepted->generation)) {
        verdict->kind = SLU_VERDICT_REPEATED;
        return;
    }
    if (asked && asked <= accepted->generation) {
        refuse_generation(accepted, asked, verdict);
        return;
    }
    accept(accepted, asked, verdict);
}

static bool
has_scope_of(const struct slu_accepted *accepted, const struct slu_document *document)
{
    return strcmp(accepted->tenant, document->tenant) == 0 &&
           strcmp(accepted->project, document->project) == 0;
}

void
slu_admit(const struct slu_accepted *accepted,
          const struct slu_proposal *proposal,
          struct slu_verdict *ret_verdict)
{
    *ret_verdict = (struct slu_verdict){.generation = accepted->generation};
    const struct slu_document *document = proposal->document;

    if (is_repeat_of_creation(accepted, proposal)) {
        judge_repeat_of_creation(accepted, proposal, ret_verdict);
        return;
    }
    if (document && accepted->kept && !accepted->deleted && !has_scope_of(accepted, document)) {
        refuse(ret_verdict, SLU_CODE_INVALID, "scope",
               "a resource stays in the scope it was made in");
        return;
    }
    if (document && !holds_condition(accepted, document->if_generation, ret_verdict))
        return;
    if (proposal->forwarded && (!document || !document->generation) && accepted->kept &&
        proposal->append_ms < accepted->last_append_ms) {
        refuse(ret_verdict, SLU_CODE_REVISION_CONFLICT, "generation",
               "absent, and a newer record was accepted while this one was forwarded "
               "(overtaken); send it again");
        return;
    }
    if (is_delete(proposal))
        judge_delete(accepted, document ? document->generation : 0, ret_verdict);
    else
        judge_document(accepted, proposal, ret_verdict);
}

void
slu_content_sha256(const struct slu_document *document,
                   const char *spec,
                   size_t spec_size,
                   char ret_hex[65])
{
    SLU_AUTO_BUFFER struct slu_buffer text = {0};
    slu_buffer_printf(&text, "%s\n%s\n%s\n%s\n%s\n", slu_kinds[document->key.kind].key_word,
                      document->key.root_id, document->key.id, document->tenant, document->project);
    slu_buffer_append(&text, spec, spec_size);
    slu_sha256_hex(text.data, text.size, ret_hex);
}
