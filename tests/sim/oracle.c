/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the committed log and of calls, checked as they happen: what one transaction shows
 * is compared with everything that was committed before it. */
#include "oracle.h"

#include "slu/base/memory.h"
#include "slu/model/shard_record.h"
#include "world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUTO_JSON SLU_AUTO(drop_json)

static void
drop_json(json_t **json)
{
    json_decref(*json);
}

void
sim_oracle_done(struct sim_oracle *oracle)
{
    for (int key = 0; key < SIM_KEYS_MAX; key++)
        free(oracle->subjects[key].causes);
}

int
sim_key_index(const struct sim_world *world, const char *key, size_t size)
{
    const struct sim_wishes *wishes = &world->wishes;
    for (int i = 0; i < wishes->key_count; i++) {
        if (strlen(wishes->keys[i]) == size && memcmp(wishes->keys[i], key, size) == 0)
            return i;
    }
    return -1;
}

static const char *
header(const struct slu_output *output, const char *name)
{
    for (size_t i = 0; i < output->header_count; i++) {
        if (strcmp(output->headers[i].name, name) == 0)
            return output->headers[i].value;
    }
    return "";
}

static json_t *
parse(const struct slu_output *output)
{
    json_error_t where;
    return json_loadb(output->value, output->value_size, JSON_REJECT_DUPLICATES, &where);
}

static int64_t
number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void
text(const json_t *object, const char *name, char *ret_text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, name));
    (void) snprintf(ret_text, size, "%s", value ? value : "");
}

/* "3/8841" and whatever follows: a place in the log. False: no such text. */
static bool
read_place(const char *text, int *ret_partition, long long *ret_offset)
{
    char *end;
    *ret_partition = (int) strtol(text, &end, 10);
    if (end == text || *end != '/')
        return false;
    text = end + 1;
    *ret_offset = strtoll(text, &end, 10);
    return end != text;
}

/* --- status ------------------------------------------------------------------------------------
 */

static void
read_pending(const json_t *document, struct sim_status *status)
{
    size_t i;
    const json_t *member;
    json_array_foreach(json_object_get(document, "pending"), i, member)
    {
        if (status->pending_count == SIM_PENDING_MAX)
            return;
        const char *action = json_string_value(json_object_get(member, "action"));
        const int index = slu_name_index(slu_action_names, SLU_ACTION_COUNT, action ? action : "");
        status->pending[status->pending_count].action = (enum slu_action) index;
        status->pending[status->pending_count++].call = number(member, "call");
    }
}

static void
read_status(const json_t *document, struct sim_status *ret_status)
{
    *ret_status = (struct sim_status){.exists = true};
    const json_t *detail = json_object_get(document, "detail");
    text(document, "uid", ret_status->uid, sizeof(ret_status->uid));
    text(document, "phase", ret_status->phase, sizeof(ret_status->phase));
    text(json_object_get(document, "spec"), "state", ret_status->state, sizeof(ret_status->state));
    text(json_object_get(detail, "instance"), "externalId", ret_status->external_id,
         sizeof(ret_status->external_id));
    ret_status->generation = number(document, "observedGeneration");
    ret_status->incarnation = number(document, "incarnation");
    ret_status->transition = number(document, "transition");
    ret_status->call = number(document, "call");
    ret_status->epoch = number(json_object_get(document, "fence"), "epoch");
    ret_status->idle = json_is_true(json_object_get(detail, "idle"));
    ret_status->init_completed =
        json_object_get(json_object_get(detail, "init"), "completedAtMs") != NULL;
    read_pending(document, ret_status);
}

static void
check_forward_only(struct sim_world *world,
                   const char *key,
                   const struct sim_status *before,
                   const struct sim_status *after)
{
    const bool same_life = strcmp(before->uid, after->uid) == 0;
    const bool back = after->generation < before->generation ||
                      after->incarnation < before->incarnation || after->epoch < before->epoch ||
                      (same_life && after->transition < before->transition) ||
                      (same_life && after->call < before->call);
    if (before->exists && back) {
        sim_violate(world, SIM_STATUS_NEVER_GOES_BACK,
                    "%s: uid %s generation %lld incarnation %lld transition %lld call %lld epoch "
                    "%lld after uid %s %lld %lld %lld %lld %lld",
                    key, after->uid, (long long) after->generation, (long long) after->incarnation,
                    (long long) after->transition, (long long) after->call,
                    (long long) after->epoch, before->uid, (long long) before->generation,
                    (long long) before->incarnation, (long long) before->transition,
                    (long long) before->call, (long long) before->epoch);
    }
}

static bool
is_wanted(const struct sim_status *status)
{
    static const char *const unwanted[] = {"stopping", "stopped", "expired", "deleting", "deleted"};
    for (size_t i = 0; i < SLU_COUNT(unwanted); i++) {
        if (strcmp(status->phase, unwanted[i]) == 0)
            return false;
    }
    return strcmp(status->state, "stopped") != 0 && strcmp(status->state, "deleted") != 0;
}

static void
remember_causes(struct sim_subject *subject, const struct sim_status *status)
{
    for (int i = 0; i < status->pending_count; i++) {
        if (subject->cause_count == subject->cause_capacity) {
            subject->cause_capacity = subject->cause_capacity ? subject->cause_capacity * 2 : 32;
            subject->causes =
                slu_realloc(subject->causes, subject->cause_capacity * sizeof(*subject->causes));
        }
        struct sim_cause *cause = &subject->causes[subject->cause_count++];
        *cause = (struct sim_cause){.action = status->pending[i].action,
                                    .call = status->pending[i].call,
                                    .incarnation = status->incarnation,
                                    .wanted = is_wanted(status)};
        (void) snprintf(cause->uid, sizeof(cause->uid), "%s", status->uid);
        (void) snprintf(cause->external_id, sizeof(cause->external_id), "%s", status->external_id);
    }
}

/* Unread records of this key that stood in its own partition before `deadline_ms`. */
static const struct sim_wish *
overlooked(struct sim_world *world, int key, int64_t deadline_ms)
{
    for (int64_t i = 0; i < world->wishes.count; i++) {
        const struct sim_wish *wish = &world->wishes.wishes[i];
        if (wish->key != key || wish->kind > SIM_WISH_ACTIVITY || wish->judgements > 0 ||
            wish->aborted || wish->partition != world->wishes.shard[key] ||
            wish->timestamp_ms >= deadline_ms)
            continue;
        const struct sim_entry *entry =
            sim_log_entry(&world->log, SLU_TOPIC_DESIRED, wish->partition, wish->offset);
        if (entry && entry->output)
            return wish;
    }
    return NULL;
}

static void
check_idle(struct sim_world *world, int key)
{
    const struct sim_admitted *admitted = &world->oracle.subjects[key].admitted;
    /* A leader writes activity down every few seconds only; the next one knows no more than that.
     */
    const bool handed_over =
        admitted->active_epoch != world->oracle.leaders[world->wishes.shard[key]].epoch;
    const int64_t slack_ms = handed_over ? SIM_ACTIVITY_WRITE_MS : 0;
    const int64_t whole_ms = sim_admitted_idle_ms(admitted);
    const int64_t idle_ms = whole_ms == INT64_MAX ? whole_ms : whole_ms - slack_ms;
    const struct sim_wish *wish = overlooked(world, key, idle_ms == INT64_MAX ? 0 : idle_ms);
    if (sim_broker_ms(world) < idle_ms) {
        sim_violate(world, SIM_IDLE_NEVER_PAUSES_THE_ACTIVE, "%s is called idle %lld ms too early",
                    world->wishes.keys[key],
                    idle_ms == INT64_MAX ? -1LL : (long long) (idle_ms - sim_broker_ms(world)));
    }
    if (wish) {
        sim_violate(world, SIM_IDLE_NEVER_PAUSES_THE_ACTIVE,
                    "%s is called idle; record %d/%lld, in time, was not read",
                    world->wishes.keys[key], wish->partition, (long long) wish->offset);
    }
}

static void
forget_life(struct sim_subject *subject)
{
    subject->admitted = (struct sim_admitted){0};
    subject->status = (struct sim_status){0};
    subject->gone_at_ms = 0;
    subject->ever_bound = false;
}

static bool
same_for_users(const struct sim_status *a, const struct sim_status *b)
{
    return strcmp(a->uid, b->uid) == 0 && strcmp(a->phase, b->phase) == 0 &&
           a->generation == b->generation && a->transition == b->transition &&
           a->incarnation == b->incarnation;
}

static void
take_status(struct sim_world *world, const struct slu_output *output)
{
    const int key = sim_key_index(world, output->key, output->key_size);
    if (key < 0)
        return;
    struct sim_subject *subject = &world->oracle.subjects[key];
    world->oracle.statuses++;
    if (!output->value) {
        forget_life(subject);
        return;
    }
    AUTO_JSON json_t *document = parse(output);
    struct sim_status status;
    read_status(document, &status);
    check_forward_only(world, world->wishes.keys[key], &subject->status, &status);
    if (same_for_users(&status, &subject->status))
        world->oracle.quiet_statuses++;
    if (strcmp(status.phase, "deleted") == 0 && !subject->gone_at_ms)
        subject->gone_at_ms = world->now_ms;
    if (strcmp(status.phase, "deleted") != 0)
        subject->gone_at_ms = 0;
    if (strcmp(status.uid, subject->status.uid) != 0)
        subject->ever_bound = false;
    /* A new life may still show the instance of the one before, which it deletes first. */
    const struct sim_instance *bound = sim_instance_find(world, status.external_id);
    subject->ever_bound |= bound && strcmp(bound->uid, status.uid) == 0;
    subject->status = status;
    remember_causes(subject, &status);
}

/* --- events ------------------------------------------------------------------------------------
 */

static struct sim_wish *
wish_at(struct sim_world *world, int partition, int64_t offset)
{
    const struct sim_entry *entry =
        sim_log_entry(&world->log, SLU_TOPIC_DESIRED, partition, offset);
    return entry && entry->wish >= 0 ? &world->wishes.wishes[entry->wish] : NULL;
}

static void
take_judgement(struct sim_world *world,
               const struct slu_output *output,
               int shard,
               bool accepted,
               const json_t *data)
{
    int partition = -1;
    long long offset = -1;
    struct sim_wish *wish = read_place(header(output, "ce_id"), &partition, &offset)
                                ? wish_at(world, partition, offset)
                                : NULL;
    if (!wish) {
        sim_violate(world, SIM_JUDGED_ONCE, "a judgement of %d/%lld, which nobody wrote", partition,
                    offset);
        return;
    }
    const char *message = json_string_value(json_object_get(data, "message"));
    sim_say(world, "history: %s %s %d/%lld %s", world->wishes.keys[wish->key],
            accepted ? "accepted" : "refused", partition, offset, message ? message : "");
    if (wish->judgements++ > 0)
        sim_violate(world, SIM_JUDGED_ONCE, "record %d/%lld was judged twice", partition, offset);
    const bool forwarded = partition != shard;
    if (accepted) {
        sim_admission_accepted(world, wish, forwarded, number(data, "generation"),
                               json_is_true(json_object_get(data, "repeated")));
    } else {
        sim_admission_refused(world, wish, forwarded,
                              json_string_value(json_object_get(data, "code")));
    }
}

/* One life after another: an earlier one has no more events once the next has begun. */
static void
check_number(struct sim_world *world, struct sim_life_events *life, const char *ce_id)
{
    const char *slash = strrchr(ce_id, '/');
    const long long transition = slash ? strtoll(slash + 1, NULL, 10) : 0;
    char uid[SLU_UID_SIZE];
    (void) snprintf(uid, sizeof(uid), "%.*s", slash ? (int) (slash - ce_id) : 0, ce_id);
    const bool next_life = strcmp(life->uid, uid) != 0;
    if (transition != (next_life ? 1 : life->last + 1)) {
        sim_violate(world, SIM_EVENTS_WITHOUT_GAPS, "event %s after number %lld of %s", ce_id,
                    (long long) life->last, life->uid);
    }
    life->last = transition;
    (void) snprintf(life->uid, sizeof(life->uid), "%s", uid);
}

static void
check_expired(struct sim_world *world, int key)
{
    struct sim_admitted *admitted = &world->oracle.subjects[key].admitted;
    const int64_t deadline_ms = sim_admitted_deadline_ms(admitted);
    if (sim_broker_ms(world) < deadline_ms) {
        sim_violate(world, SIM_EXPIRY_IS_NOT_EARLY, "%s expired %lld ms before its deadline",
                    world->wishes.keys[key], (long long) (deadline_ms - sim_broker_ms(world)));
    }
    const struct sim_wish *wish = overlooked(world, key, deadline_ms);
    if (wish) {
        sim_violate(world, SIM_RENEWAL_BEATS_EXPIRY,
                    "%s expired; record %d/%lld, in time, was not read", world->wishes.keys[key],
                    wish->partition, (long long) wish->offset);
    }
    admitted->expired = true;
}

static void
check_lost(struct sim_world *world, int key, const json_t *data)
{
    char external_id[24];
    text(data, "lostExternalId", external_id, sizeof(external_id));
    const struct sim_instance *instance = sim_instance_find(world, external_id);
    if (instance && sim_instance_lives(instance) && !instance->resurrected) {
        sim_violate(world, SIM_LOST_ONLY_WHEN_GONE, "%s: %s is called lost and is %s",
                    world->wishes.keys[key], external_id, slu_life_names[instance->life]);
    }
}

static void
take_transition(struct sim_world *world,
                const struct slu_output *output,
                const char *verb,
                const json_t *data)
{
    const int key = sim_key_index(world, output->key, output->key_size);
    if (key < 0)
        return;
    sim_say(world, "history: %s %s", world->wishes.keys[key], header(output, "ce_type"));
    check_number(world, &world->oracle.subjects[key].life, header(output, "ce_id"));
    char reason[32];
    text(data, "reason", reason, sizeof(reason));
    const struct sim_admitted *admitted = &world->oracle.subjects[key].admitted;
    const bool by_deadline = strcmp(reason, "Expired") == 0;
    if (by_deadline && !admitted->expired)
        check_expired(world, key);
    if (strcmp(reason, "Idle") == 0 && strcmp(verb, "pausing") == 0)
        check_idle(world, key);
    if (strcmp(verb, "lost") == 0)
        check_lost(world, key, data);
}

static void
take_event(struct sim_world *world, const struct slu_output *output, int shard)
{
    world->oracle.events++;
    const char *type = header(output, "ce_type");
    const char *verb = strrchr(type, '.');
    verb = verb ? verb + 1 : type;
    AUTO_JSON json_t *data = parse(output);
    const bool accepted = strcmp(verb, "accepted") == 0;
    if (accepted || strcmp(verb, "refused") == 0) {
        take_judgement(world, output, shard, accepted, data);
    } else {
        take_transition(world, output, verb, data);
    }
}

/* --- the rest of a transaction -----------------------------------------------------------------
 */

static void
take_deadletter(struct sim_world *world, const struct slu_output *output)
{
    world->oracle.deadletters++;
    int partition = -1;
    long long offset = -1;
    struct sim_wish *wish = read_place(header(output, "slu-origin"), &partition, &offset)
                                ? wish_at(world, partition, offset)
                                : NULL;
    sim_say(world, "history: dead letter %d/%lld: %s", partition, offset,
            header(output, "slu-reason"));
    if (!wish)
        return; /* A forward that came to the wrong place: its first writing is no wish of ours. */
    /* What seems to have stopped three leaders is put aside without a judgement (design.md §7). */
    const bool alone = wish->kind == SIM_WISH_NO_KEY ||
                       strstr(header(output, "slu-reason"), "three leaders in a row") != NULL;
    wish->judgements += alone;
    if (alone ? wish->judgements > 1 : wish->kind != SIM_WISH_BAD) {
        sim_violate(world, SIM_JUDGED_ONCE, "record %d/%lld became a dead letter%s", partition,
                    offset, wish->judgements > 1 ? " twice" : "");
    }
}

/* A forward stands for its first writing: the entry gets its wish, and nothing gets two. */
static void
take_forward(struct sim_world *world,
             const struct sim_place *place,
             const struct slu_output *output)
{
    int partition = -1;
    long long offset = -1;
    struct sim_wish *wish = read_place(header(output, "slu-origin"), &partition, &offset)
                                ? wish_at(world, partition, offset)
                                : NULL;
    sim_say(world, "log: %d/%lld is forwarded to %d/%lld", partition, offset, place->partition,
            (long long) place->offset);
    if (wish) {
        wish->forwarded_to = place->partition;
        wish->forwarded_at = place->offset;
    }
    if (!wish || wish->forwards++ > 0) {
        sim_violate(world, SIM_FORWARDED_ONCE, "record %d/%lld was forwarded %s", partition, offset,
                    wish ? "twice" : "and nobody wrote it");
    }
}

static void
take_shard_record(struct sim_world *world,
                  const struct sim_txn *txn,
                  const struct slu_output *output)
{
    struct sim_leader *leader = &world->oracle.leaders[txn->shard];
    struct slu_shard_record record;
    struct slu_error error;
    if (slu_shard_record_read(output->value, output->value_size, &record, &error)) {
        sim_violate(world, SIM_EPOCHS_ARE_OF_ONE_LEADER, "shard record: %s", error.message);
        return;
    }
    const bool next = record.seq == leader->seq + 1;
    const bool same = record.epoch == leader->epoch && strcmp(record.owner, leader->owner) == 0;
    const bool claim = record.epoch == leader->epoch + 1;
    if (!next || (!same && !claim)) {
        sim_violate(world, SIM_EPOCHS_ARE_OF_ONE_LEADER,
                    "shard %d: epoch %lld seq %lld of %s after epoch %lld seq %lld of %s",
                    txn->shard, (long long) record.epoch, (long long) record.seq, record.owner,
                    (long long) leader->epoch, (long long) leader->seq, leader->owner);
    }
    leader->epoch = record.epoch;
    leader->seq = record.seq;
    leader->began_ms[txn->replica] = txn->opened_at_ms;
    (void) snprintf(leader->owner, sizeof(leader->owner), "%s", record.owner);
    slu_shard_record_done(&record);
}

void
sim_oracle_committed(struct sim_world *world, const struct sim_txn *txn)
{
    if (txn->shard < 0)
        return;
    for (size_t i = 0; i < txn->count; i++) {
        const struct sim_place *place = &txn->places[i];
        const struct slu_output *output =
            sim_log_entry(&world->log, place->topic, place->partition, place->offset)->output;
        if (output->value)
            sim_trace_bytes(&world->trace, output->value, output->value_size);
        if (place->topic == SLU_TOPIC_EVENTS) {
            take_event(world, output, txn->shard);
        } else if (place->topic == SLU_TOPIC_DEADLETTER) {
            take_deadletter(world, output);
        } else if (place->topic == SLU_TOPIC_DESIRED) {
            take_forward(world, place, output);
        } else if (place->topic == SLU_TOPIC_SHARDS) {
            take_shard_record(world, txn, output);
        } else if (place->topic == SLU_TOPIC_STATUS && !output->value) {
            take_status(world, output);
        }
    }
    /* Status last: it says what holds after all the events beside it. A life that was buried was so
     * before the next one began. */
    for (size_t i = 0; i < txn->count; i++) {
        const struct sim_place *place = &txn->places[i];
        const struct slu_output *output =
            sim_log_entry(&world->log, place->topic, place->partition, place->offset)->output;
        if (place->topic == SLU_TOPIC_STATUS && output->value)
            take_status(world, output);
    }
}

/* --- calls -------------------------------------------------------------------------------------
 */

static const struct sim_cause *
cause_of(const struct sim_subject *subject, const struct slu_call *call)
{
    for (size_t i = subject->cause_count; i-- > 0;) {
        const struct sim_cause *cause = &subject->causes[i];
        if (cause->action == call->action && cause->call == call->call)
            return cause;
    }
    return NULL;
}

/* A surplus instance is deleted for what committed status says of another one (design.md §6). */
static bool
is_proven_surplus(const struct sim_status *status, const struct slu_call *call)
{
    if (call->action != SLU_ACTION_DELETE || !status->exists || !call->external_id[0])
        return false;
    const bool other =
        status->external_id[0] && strcmp(status->external_id, call->external_id) != 0;
    return other || strcmp(status->uid, call->uid) != 0;
}

static void
check_cause(struct sim_world *world, const struct slu_call *call, const char *when)
{
    const int key = sim_key_index(world, call->key, strlen(call->key));
    const struct sim_subject *subject = key < 0 ? NULL : &world->oracle.subjects[key];
    if (!subject || (!cause_of(subject, call) && !is_proven_surplus(&subject->status, call))) {
        sim_violate(world, SIM_COMMITTED_BEFORE_CALLED,
                    "%s %s call %lld of %s %s, and no committed status says so",
                    slu_action_names[call->action], call->key, (long long) call->call, call->uid,
                    when);
    }
}

void
sim_oracle_leaves(struct sim_world *world, int replica, int shard, const struct slu_call *call)
{
    if (!call->changes)
        return;
    check_cause(world, call, "leaves");
    const int64_t age_ms = world->now_ms - world->oracle.leaders[shard].began_ms[replica];
    if (age_ms >= SIM_PROOF_MS) {
        sim_violate(world, SIM_PROOF_BEFORE_CALLED,
                    "r%d sends %s %s %lld ms after its last committed transaction began", replica,
                    slu_action_names[call->action], call->key, (long long) age_ms);
    }
}

void
sim_oracle_executes(struct sim_world *world,
                    const struct sim_flight *flight,
                    const struct sim_instance *instance)
{
    const struct slu_call *call = flight->call;
    check_cause(world, call, "is carried out");
    world->provider.changes_executed[call->action]++;
    const int key = sim_key_index(world, call->key, strlen(call->key));
    if (key < 0 || call->action != SLU_ACTION_DELETE || !instance || !sim_instance_lives(instance))
        return;
    const struct sim_cause *cause = cause_of(&world->oracle.subjects[key], call);
    if (cause && cause->wanted && strcmp(cause->external_id, instance->external_id) == 0 &&
        strcmp(cause->uid, instance->uid) == 0 && instance->incarnation >= cause->incarnation) {
        sim_violate(world, SIM_WANTED_IS_NEVER_DELETED, "%s: %s is wanted, bound, and deleted",
                    call->key, instance->external_id);
    }
}

void
sim_oracle_created(struct sim_world *world, const struct sim_instance *instance)
{
    const struct sim_provider *provider = &world->provider;
    for (size_t i = 0; world->weather.honours_keys && i < provider->instance_count; i++) {
        const struct sim_instance *other = &provider->instances[i];
        if (other != instance && other->incarnation == instance->incarnation &&
            strcmp(other->uid, instance->uid) == 0) {
            sim_violate(world, SIM_ONE_CREATE_PER_INCARNATION,
                        "%s: %s and %s were both created for uid %s incarnation %lld",
                        instance->key, other->external_id, instance->external_id, instance->uid,
                        (long long) instance->incarnation);
        }
    }
}
