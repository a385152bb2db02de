/* SPDX-License-Identifier: Apache-2.0 */
/* Desired records, in log order: forwarded when they landed wrong, dead letters when they are no
 * documents, and otherwise judged once, with one event each (design.md §4). */
#include "judge.h"

#include "slu/base/memory.h"
#include "slu/plan/admit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
copy_header(const struct slu_record *record, const char *name, char *ret_text, size_t size)
{
    const struct slu_header *header = slu_record_header(record, name);
    ret_text[0] = 0;
    if (!header || header->size >= size || memchr(header->value, 0, header->size))
        return;
    memcpy(ret_text, header->value, header->size);
    ret_text[header->size] = 0;
}

/* slu-origin: partition/offset/timestamp, written by the leader that forwarded. Anyone may write a
 * header: numbers with which no time could be reckoned are no origin. */
static bool
read_origin(const char *text, struct slu_cause *cause)
{
    char *end = NULL;
    const long partition = strtol(text, &end, 10);
    if (end == text || *end != '/')
        return false;
    const long long offset = strtoll(end + 1, &end, 10);
    if (*end != '/')
        return false;
    cause->partition = (int) partition;
    cause->offset = offset;
    cause->append_ms = strtoll(end + 1, &end, 10);
    const int64_t number_max = ((int64_t) 1 << 53) - 1;
    return *end == 0 && partition >= 0 && partition <= INT32_MAX && offset >= 0 &&
           cause->append_ms >= 0 && cause->append_ms <= number_max;
}

static void
read_cause(const struct slu_record *record, struct slu_cause *cause)
{
    const struct slu_cause here = {.partition = record->partition,
                                   .offset = record->offset,
                                   .append_ms = record->timestamp_ms};
    char origin[80];
    *cause = here;
    copy_header(record, "slu-origin", origin, sizeof origin);
    cause->forwarded = origin[0] && read_origin(origin, cause);
    if (!cause->forwarded)
        *cause = here;
    copy_header(record, "traceparent", cause->traceparent, sizeof cause->traceparent);
}

static bool
is_batch_empty(const struct slu_engine *engine)
{
    return engine->batch->count == 0 && engine->dirty_count == 0;
}

static void
move_position(struct slu_engine *engine, const struct slu_record *record)
{
    slu_shard_record_advance(&engine->shard, record->partition, record->offset + 1);
    engine->shard.claims = 0;
    engine->shard.trying[0] = 0;
    engine->shard.tries = 0;
    engine->trying_told = engine->trying_taken = engine->trying_committed = false;
    engine->shard_moved = true;
    engine->counters.facts++;
}

static void
name_record(const struct slu_record *record, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%d/%lld", record->partition, (long long) record->offset);
}

/* After three claims without progress the next record is admitted alone, after the log says that
 * this leader tries it: should it stop three more leaders at that very point, a claim knows which
 * record to put aside. (One such leader is no proof: leaders also stop for reasons of their own,
 * and an innocent record would be lost; tests/sim seed 58.) */
static bool
may_try(struct slu_engine *engine, const struct slu_record *record)
{
    enum {
        CLAIMS_UNTIL_CAREFUL = 3
    };

    if (engine->shard.claims < CLAIMS_UNTIL_CAREFUL)
        return true;
    char name[sizeof engine->shard.trying];
    name_record(record, name, sizeof name);
    const bool same = strcmp(engine->shard.trying, name) == 0;
    if (same && engine->trying_told)
        return engine->trying_committed;
    /* Of two partitions read in turn, the record that was offered first is settled first. */
    if (engine->trying_told && strtol(engine->shard.trying, NULL, 10) != record->partition)
        return false;
    snprintf(engine->shard.trying, sizeof engine->shard.trying, "%s", name);
    engine->shard.tries = same ? engine->shard.tries + 1 : 1;
    engine->trying_told = true;
    engine->trying_taken = engine->trying_committed = false;
    engine->shard_moved = true;
    return false;
}

static bool
is_poison(struct slu_engine *engine, const struct slu_record *record)
{
    char name[sizeof engine->poison];
    name_record(record, name, sizeof name);
    if (strcmp(engine->poison, name) != 0)
        return false;
    engine->poison[0] = 0;
    return true;
}

static bool
fits_when_forwarded(const struct slu_record *record)
{
    enum {
        ORIGIN_HEADER_SIZE = 128
    };

    size_t size = record->key_size + record->value_size + ORIGIN_HEADER_SIZE;
    for (size_t i = 0; i < record->header_count; i++)
        size += strlen(record->headers[i].name) + record->headers[i].size;
    return size < 1024 * 1024 - 1024 && record->header_count + 1 < SLU_RECORD_HEADERS_MAX;
}

static void
forward(struct slu_engine *engine, const struct slu_record *record, int to)
{
    struct slu_output *output = slu_batch_add(engine->batch, SLU_TOPIC_DESIRED, to);
    output->key = slu_memdup(record->key, record->key_size);
    output->key_size = record->key_size;
    if (record->value) {
        output->value = slu_memdup(record->value, record->value_size);
        output->value_size = record->value_size;
    }
    for (size_t i = 0; i < record->header_count; i++) {
        const struct slu_header *header = &record->headers[i];
        if (strlen(header->name) < sizeof output->headers[0].name)
            slu_output_header(output, header->name, "%.*s", (int) header->size,
                              (const char *) header->value);
    }
    slu_output_header(output, "slu-origin", "%d/%lld/%lld", record->partition,
                      (long long) record->offset, (long long) record->timestamp_ms);
    engine->batch->bytes += slu_output_size(output);
    engine->alone = true;
    engine->counters.forwarded++;
    slu_note_add(engine, &(struct slu_note){.event = "forwarded",
                                            .key = "",
                                            .partition = record->partition,
                                            .offset = record->offset,
                                            .converged_after_ms = -1});
}

static struct slu_entity *
find_sandbox(struct slu_engine *engine, const struct slu_judging *judging)
{
    const struct slu_key key = {.kind = SLU_KIND_SANDBOX};
    struct slu_key root = key;
    snprintf(root.root_id, sizeof root.root_id, "%s", judging->key.root_id);
    snprintf(root.id, sizeof root.id, "%s", judging->key.root_id);
    char text[SLU_KEY_MAX + 1];
    const size_t size = slu_key_write(&root, text, sizeof text);
    struct slu_entity *sandbox = slu_table_find(&engine->table, text, size);
    return sandbox && sandbox->wish != SLU_WISH_DELETED ? sandbox : NULL;
}

static void
refuse(struct slu_engine *engine,
       const struct slu_judging *judging,
       const struct slu_refusal *refusal)
{
    slu_emit_refused(engine, judging->key_text, judging->key.kind, refusal, &judging->cause);
}

static void
accepted_of(const struct slu_entity *entity, char hex[65], struct slu_accepted *ret)
{
    *ret = (struct slu_accepted){
        .tenant = "", .project = "", .created_ce_id = "", .created_sha256 = "", .spec = ""};
    if (!entity)
        return;
    slu_entity_created_hex(entity, hex);
    *ret = (struct slu_accepted){
        .kept = true,
        .deleted = entity->wish == SLU_WISH_DELETED,
        .final = entity->wish == SLU_WISH_STOPPED || entity->expired,
        .generation = entity->generation,
        .last_append_ms = entity->origin_ms,
        .tenant = entity->scope->tenant,
        .project = entity->scope->project,
        .spec = slu_entity_text(entity, SLU_TEXT_SPEC),
        .spec_size = slu_entity_text_size(entity, SLU_TEXT_SPEC),
        .created_ce_id = slu_entity_text(entity, SLU_TEXT_CE_ID),
        .created_sha256 = hex,
    };
}

static bool
admit_kind(struct slu_engine *engine,
           const struct slu_judging *judging,
           const struct slu_document *document,
           const struct slu_entity *before,
           struct slu_refusal *refusal)
{
    json_t *spec = NULL;
    if (before) {
        const struct slu_slice text = slu_entity_spec(before);
        spec = slu_spec_tree(text.text, text.size);
    }
    struct slu_admission admission = {
        .before = spec,
        .final = before && (before->wish == SLU_WISH_STOPPED || before->expired),
        .append_ms = judging->cause.append_ms,
        .instances = engine->config.instances,
        .instance_count = engine->config.instance_count,
    };
    bool admitted = false;
    if (judging->key.kind == SLU_KIND_SANDBOX) {
        admitted = slu_admit_sandbox(document, &admission, refusal);
    } else if (judging->key.kind == SLU_KIND_CHECKPOINT) {
        const struct slu_entity *sandbox = find_sandbox(engine, judging);
        admission.sandbox_tenant = sandbox ? sandbox->scope->tenant : NULL;
        admission.sandbox_project = sandbox ? sandbox->scope->project : NULL;
        admitted = slu_admit_checkpoint(document, &admission, refusal);
    } else {
        admitted = slu_admit_snapshot(document, &admission, refusal);
    }
    json_decref(spec);
    return admitted;
}

static struct slu_entity *
add_entity(struct slu_engine *engine, const struct slu_judging *judging)
{
    struct slu_entity *entity = slu_entity_new(judging->key_text, judging->key_size);
    entity->kind = (uint8_t) judging->key.kind;
    slu_table_add(&engine->table, entity);
    struct slu_entity *parent =
        entity->kind == SLU_KIND_CHECKPOINT ? find_sandbox(engine, judging) : NULL;
    if (parent) {
        entity->parent = parent;
        entity->next_sibling = parent->first_child;
        parent->first_child = entity;
    }
    return entity;
}

static void
carry_out(struct slu_engine *engine,
          const struct slu_judging *judging,
          const struct slu_document *document,
          const struct slu_proposal *proposal,
          struct slu_verdict *verdict)
{
    struct slu_entity *entity = judging->entity;
    const bool changes = verdict->kind == SLU_VERDICT_ACCEPTED && !verdict->ends_life;
    if (changes && !admit_kind(engine, judging, document, verdict->begins_life ? NULL : entity,
                               &verdict->refusal)) {
        refuse(engine, judging, &verdict->refusal);
        return;
    }
    slu_emit_accepted(engine, judging->key_text, judging->key.kind, verdict->generation,
                      verdict->kind == SLU_VERDICT_REPEATED, &judging->cause);
    if (verdict->kind == SLU_VERDICT_ACCEPTED && verdict->ends_life) {
        slu_apply_delete(engine, entity, verdict->generation);
    } else if (changes) {
        if (!entity)
            entity = add_entity(engine, judging);
        slu_apply_document(engine, entity, judging, proposal, verdict);
    }
    if (entity && verdict->kind != SLU_VERDICT_NOTHING) {
        entity->fence_offset = judging->record->offset;
        if (verdict->kind == SLU_VERDICT_ACCEPTED)
            entity->origin_ms = judging->cause.append_ms;
    }
    if (entity && judging->redrive)
        slu_apply_redrive(engine, entity);
}

static void
judge_proposal(struct slu_engine *engine,
               const struct slu_judging *judging,
               const struct slu_document *document)
{
    struct slu_proposal proposal = {.document = document,
                                    .spec = "",
                                    .ce_id = judging->cause.ce_id,
                                    .sha256 = "",
                                    .append_ms = judging->cause.append_ms,
                                    .forwarded = judging->cause.forwarded};
    SLU_AUTO_FREE char *spec = NULL;
    char created[65] = "";
    struct slu_accepted accepted;
    accepted_of(judging->entity, created, &accepted);
    char sha256[65] = "";
    if (document) {
        spec = slu_spec_text(document->spec, &proposal.spec_size);
        proposal.spec = spec;
        /* Only what creates is compared by its hash, now or when it comes again. */
        if (!accepted.kept || accepted.deleted || proposal.ce_id[0])
            slu_content_sha256(document, spec, proposal.spec_size, sha256);
        proposal.sha256 = sha256;
    }

    struct slu_verdict verdict;
    slu_admit(&accepted, &proposal, &verdict);
    if (verdict.kind == SLU_VERDICT_REFUSED)
        refuse(engine, judging, &verdict.refusal);
    else
        carry_out(engine, judging, document, &proposal, &verdict);
}

static void
judge_activity(struct slu_engine *engine,
               const struct slu_judging *judging,
               const struct slu_document *document)
{
    struct slu_entity *sandbox = find_sandbox(engine, judging);
    struct slu_refusal refusal;
    const bool same_scope = sandbox && document &&
                            strcmp(sandbox->scope->tenant, document->tenant) == 0 &&
                            strcmp(sandbox->scope->project, document->project) == 0;
    if (!sandbox || (document && !same_scope)) {
        (void) slu_refuse(&refusal, SLU_CODE_NOT_FOUND, "spec.sandboxId",
                          "no sandbox '%s' in this scope", judging->key.root_id);
        refuse(engine, judging, &refusal);
        return;
    }
    slu_emit_accepted(engine, judging->key_text, SLU_KIND_ACTIVITY, sandbox->generation, false,
                      &judging->cause);
    slu_apply_activity(engine, sandbox, document ? document->spec : NULL, judging->cause.append_ms);
}

/* The same bytes as the record accepted last, from a producer that gave no condition: nothing to
 * parse (reliability.md §6.2). */
static bool
is_plain_repeat(const struct slu_judging *judging)
{
    const struct slu_record *record = judging->record;
    const struct slu_entity *entity = judging->entity;
    return entity && record->value && entity->raw_is_plain && entity->wish != SLU_WISH_DELETED &&
           !judging->redrive && !judging->cause.forwarded &&
           slu_hash128_equal(entity->raw_hash, slu_hash128(record->value, record->value_size));
}

/* What the document says of itself beside its spec: its event id in structured mode, and whether a
 * deployment's own default provider (contract-map §3.1) may take the contract's place. */
static void
take_frame(const struct slu_engine *engine,
           const struct slu_document *document,
           struct slu_cause *cause)
{
    if (!cause->ce_id[0])
        memcpy(cause->ce_id, document->event_id, sizeof document->event_id);
    if (!document->names_provider && json_object_get(document->spec, "provider")) {
        (void) json_object_set_new(document->spec, "provider",
                                   json_string(engine->config.default_provider));
    }
}

static void
judge(struct slu_engine *engine, struct slu_judging *judging)
{
    const struct slu_record *record = judging->record;
    judging->entity = slu_table_find(&engine->table, judging->key_text, judging->key_size);
    if (is_plain_repeat(judging)) {
        slu_emit_accepted(engine, judging->key_text, judging->key.kind, judging->entity->generation,
                          true, &judging->cause);
        return;
    }
    struct slu_document document = {0};
    struct slu_refusal refusal = {0};
    if (record->value && !slu_document_parse(&judging->key, record->value, record->value_size,
                                             &document, &refusal)) {
        refuse(engine, judging, &refusal);
        if (!refusal.path[0]) /* No document at all: somebody may want its bytes. */
            slu_dead_letter(engine, record, refusal.message);
        return;
    }
    if (record->value)
        take_frame(engine, &document, &judging->cause);
    const struct slu_document *given = record->value ? &document : NULL;
    if (judging->key.kind == SLU_KIND_ACTIVITY)
        judge_activity(engine, judging, given);
    else
        judge_proposal(engine, judging, given);
    if (given)
        slu_document_done(&document);
}

static void
place_wrong(struct slu_engine *engine, const struct slu_judging *judging, int to)
{
    const struct slu_record *record = judging->record;
    if (judging->cause.forwarded)
        slu_dead_letter(engine, record, "forwarded already, and in the wrong partition again");
    else if (!fits_when_forwarded(record))
        slu_dead_letter(engine, record, "in the wrong partition, and too large to be forwarded");
    else
        forward(engine, record, to);
}

static void
put_aside(struct slu_engine *engine, const struct slu_judging *judging, bool keyed)
{
    static const char why[] = "three leaders in a row stopped just when they admitted it alone";
    struct slu_refusal refusal;
    (void) slu_refuse(&refusal, SLU_CODE_INVALID, NULL, "%s; its bytes are a dead letter", why);
    if (keyed)
        refuse(engine, judging, &refusal);
    slu_dead_letter(engine, judging->record, why);
}

/* What is no resource of this shard goes elsewhere; the rest is judged. */
static void
dispose(struct slu_engine *engine, struct slu_judging *judging, int shard, const char *bad_key)
{
    const struct slu_record *record = judging->record;
    if (is_poison(engine, record)) {
        put_aside(engine, judging, !bad_key);
    } else if (bad_key) {
        slu_dead_letter(engine, record, bad_key);
    } else if (shard != engine->config.shard || record->partition != engine->config.shard) {
        place_wrong(engine, judging, shard);
    } else {
        copy_header(record, "ce_id", judging->cause.ce_id, sizeof judging->cause.ce_id);
        judging->redrive = slu_record_header(record, "slu-redrive") != NULL;
        judge(engine, judging);
    }
}

bool
slu_engine_record(struct slu_engine *engine, const struct slu_record *record, int64_t now_ms)
{
    if (now_ms > engine->now_ms)
        engine->now_ms = now_ms;
    if (record->offset < slu_shard_record_admitted(&engine->shard, record->partition))
        return true;
    if (slu_batch_is_full(engine) || !may_try(engine, record))
        return false;

    struct slu_judging judging = {.record = record};
    struct slu_refusal refusal = {.message = "key: missing; it names the resource"};
    const bool keyed =
        record->key && slu_key_parse(record->key, record->key_size, &judging.key, &refusal);
    read_cause(record, &judging.cause);
    const int shard = keyed ? slu_key_shard(&judging.key, engine->config.shard_count) : 0;
    const bool misplaced =
        keyed && (shard != engine->config.shard || record->partition != engine->config.shard);
    if (misplaced && !is_batch_empty(engine))
        return false;

    move_position(engine, record);
    judging.key_size =
        keyed ? slu_key_write(&judging.key, judging.key_text, sizeof judging.key_text) : 0;
    dispose(engine, &judging, shard, keyed ? NULL : refusal.message);
    return true;
}
