/* SPDX-License-Identifier: Apache-2.0 */
/* What upstream systems do to the log: change wishes, repeat themselves, race each other, delete
 * and make again, write to the wrong partition, and write what is no document at all. */
#include "wishes.h"

#include "slu/base/buffer.h"
#include "slu/base/hash.h"
#include "slu/base/memory.h"
#include "world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sim_shape plain = {
    .tenant = 1, .ttl_ms = 3600000, .auto_start = true, .idle_after_s = 180, .lease_s = 1200};

void
sim_wishes_init(struct sim_world *world)
{
    struct sim_wishes *wishes = &world->wishes;
    wishes->open_txn = SIM_NO_TXN;
    wishes->key_count = (int) sim_between(world, 1, SIM_KEYS_MAX);
    wishes->every_ms = sim_between(world, 200, 4000);
    for (int key = 0; key < wishes->key_count; key++) {
        char *text = wishes->keys[key];
        const int size = snprintf(text, sizeof(wishes->keys[key]), "sandbox/s%llx-%d",
                                  (unsigned long long) (world->seed % 4096), key);
        wishes->shard[key] =
            (int) (slu_murmur2(text, (size_t) size) % (uint32_t) world->shard_count);
        wishes->newest[key] = plain;
    }
}

void
sim_wishes_done(struct sim_wishes *wishes)
{
    free(wishes->wishes);
}

bool
sim_shape_equal(const struct sim_shape *a, const struct sim_shape *b)
{
    const bool one = a->tenant == b->tenant && a->session == b->session && a->state == b->state &&
                     a->expires_at_ms == b->expires_at_ms &&
                     (a->expires_at_ms || a->ttl_ms == b->ttl_ms) && a->alias == b->alias &&
                     a->lease_s == b->lease_s && a->resume_on_use == b->resume_on_use &&
                     a->manual_recovery == b->manual_recovery;
    const bool two =
        !a->session || (a->auto_start == b->auto_start && a->idle_pause == b->idle_pause &&
                        a->idle_after_s == b->idle_after_s && a->init == b->init);
    return one && two;
}

/* --- writing down ------------------------------------------------------------------------------
 */

/* A member that has its default may be left out: the content is the same. */
static bool
left_out(struct sim_world *world, bool is_default)
{
    return is_default && sim_chance(world, 500);
}

static void
write_session(struct sim_world *world, const struct sim_shape *shape, struct slu_buffer *out)
{
    slu_buffer_printf(out, ",\"session\":{\"sessionId\":\"ses-%d\"", shape->session);
    if (!left_out(world, shape->auto_start))
        slu_buffer_printf(out, ",\"autoStart\":%s", shape->auto_start ? "true" : "false");
    if (!left_out(world, shape->idle_pause))
        slu_buffer_printf(out, ",\"idlePauseEnabled\":%s", shape->idle_pause ? "true" : "false");
    if (!left_out(world, shape->idle_after_s == plain.idle_after_s))
        slu_buffer_printf(out, ",\"idlePauseAfterSeconds\":%d", shape->idle_after_s);
    if (shape->init > 0) {
        slu_buffer_puts(out, ",\"init\":{\"commands\":[");
        for (int i = 0; i < shape->init; i++)
            slu_buffer_printf(out, "%s\"make part%d of %d\"", i ? "," : "", i, shape->init);
        slu_buffer_puts(out, "]}");
    }
    slu_buffer_putc(out, '}');
}

static void
write_spec(struct sim_world *world, const struct sim_shape *shape, struct slu_buffer *out)
{
    slu_buffer_puts(out, "{\"placement\":{\"provider_pool\":\"default\"}");
    if (!left_out(world, false))
        slu_buffer_puts(out, ",\"provider\":\"local\"");
    if (!left_out(world, shape->state == SLU_WISH_RUNNING))
        slu_buffer_printf(out, ",\"state\":\"%s\"", slu_wish_names[shape->state]);
    if (shape->expires_at_ms) {
        slu_buffer_printf(out, ",\"expiresAtMs\":%lld", (long long) shape->expires_at_ms);
    } else {
        slu_buffer_printf(out, ",\"ttlMs\":%lld", (long long) shape->ttl_ms);
    }
    if (shape->alias)
        slu_buffer_printf(out, ",\"alias\":\"a%d\"", shape->alias);
    if (!left_out(world, !shape->resume_on_use))
        slu_buffer_printf(out, ",\"resumeOnUse\":%s", shape->resume_on_use ? "true" : "false");
    if (shape->manual_recovery)
        slu_buffer_puts(out, ",\"recovery\":\"manual\"");
    if (!left_out(world, shape->lease_s == plain.lease_s))
        slu_buffer_printf(out, ",\"providerLeaseSeconds\":%d", shape->lease_s);
    if (shape->session)
        write_session(world, shape, out);
    slu_buffer_putc(out, '}');
}

static void
write_envelope(struct sim_world *world, const struct sim_wish *wish, struct slu_buffer *out)
{
    const char *id = world->wishes.keys[wish->key] + strlen("sandbox/");
    const bool activity = wish->kind == SIM_WISH_ACTIVITY;
    slu_buffer_printf(out,
                      "{\"kind\":\"%s\",\"id\":\"%s\",\"scope\":{\"tenantId\":\"t%d\","
                      "\"projectId\":\"p1\"}",
                      activity ? "Activity" : "Sandbox", activity ? "ses-1" : id,
                      wish->shape.tenant);
    if (wish->generation)
        slu_buffer_printf(out, ",\"generation\":%lld", (long long) wish->generation);
    if (wish->if_generation >= 0)
        slu_buffer_printf(out, ",\"ifGeneration\":%lld", (long long) wish->if_generation);
    slu_buffer_puts(out, ",\"spec\":");
    if (activity) {
        slu_buffer_printf(out, "{\"sandboxId\":\"%s\",\"active\":%s,\"ttlMs\":%lld}", id,
                          wish->active ? "true" : "false", (long long) wish->active_ttl_ms);
    } else {
        write_spec(world, &wish->shape, out);
    }
    slu_buffer_putc(out, '}');
}

static void
write_bad(struct sim_world *world, const struct sim_wish *wish, struct slu_buffer *out)
{
    /* Its id is not the one of its key. */
    static const char another[] =
        "{\"kind\":\"Sandbox\",\"id\":\"another\",\"scope\":{\"tenantId\":\"t1\",\"projectId\":"
        "\"p1\"},\"spec\":{\"placement\":{\"provider_pool\":\"default\"},\"ttlMs\":60000}}";
    static const char *const defects[] = {
        "{\"kind\":\"Sandbox\",", /* Cut short. */
        "not json",
        "[]",
        another,
        "{\"kind\":\"Sandbox\",\"kind\":\"Sandbox\"}", /* A member twice. */
        "\xff\xfe",                                    /* No UTF-8. */
        "{\"kind\":\"Spaceship\",\"id\":\"x\"}",
    };
    if ((size_t) wish->bad < SLU_COUNT(defects)) {
        slu_buffer_puts(out, defects[wish->bad]);
        return;
    }
    /* A right document with a member that nobody knows. */
    write_envelope(world, wish, out);
    out->data[--out->size] = 0;
    slu_buffer_puts(out, ",\"colour\":\"red\"}");
}

enum {
    SIM_DEFECTS = 8
};

static int
partition_for(struct sim_world *world, const struct sim_wish *wish)
{
    if (wish->kind != SIM_WISH_NO_KEY && !sim_fault(world, world->weather.wrong_partition))
        return world->wishes.shard[wish->key];
    return (int) sim_between(world, 0, world->log.desired_count - 1);
}

static void
key_of(struct sim_world *world, const struct sim_wish *wish, struct slu_output *output)
{
    struct slu_buffer key = {0};
    const char *text = world->wishes.keys[wish->key];
    if (wish->kind == SIM_WISH_ACTIVITY) {
        slu_buffer_printf(&key, "activity/%s/ses-1", text + strlen("sandbox/"));
    } else if (wish->kind == SIM_WISH_NO_KEY) {
        slu_buffer_puts(&key, sim_chance(world, 500) ? "nonsense" : "sandbox/a/b/c");
    } else {
        slu_buffer_puts(&key, text);
    }
    output->key_size = key.size;
    output->key = slu_buffer_take(&key);
}

static struct sim_wish *
keep_wish(struct sim_wishes *wishes, struct sim_wish wish)
{
    if (wishes->count == wishes->capacity) {
        wishes->capacity = wishes->capacity ? wishes->capacity * 2 : 128;
        wishes->wishes =
            slu_realloc(wishes->wishes, (size_t) wishes->capacity * sizeof(*wishes->wishes));
    }
    wish.judgements = wish.forwards = 0; /* An echo is a record of its own. */
    wish.aborted = false;
    wishes->wishes[wishes->count] = wish;
    return &wishes->wishes[wishes->count++];
}

static void
drop_text(struct slu_output *output)
{
    free(output->key);
    free(output->value);
    for (size_t i = 0; i < output->header_count; i++)
        free(output->headers[i].value);
}

/* Appends `output` as a wish of its own, inside the upstream transaction when one is open. */
static void
append_wish(struct sim_world *world, struct slu_output *output, struct sim_wish wish)
{
    struct sim_wishes *wishes = &world->wishes;
    struct sim_wish *kept = keep_wish(wishes, wish);
    const int64_t number = wishes->count - 1;
    output->partition = kept->partition;
    if (wishes->open_txn == SIM_NO_TXN) {
        kept->offset = sim_log_append(world, output, number);
    } else {
        int64_t timestamp_ms;
        (void) sim_log_append_in(world, wishes->open_txn, output, number, &timestamp_ms);
        kept->offset =
            (int64_t) world->log.partitions[SLU_TOPIC_DESIRED][kept->partition].count - 1;
    }
    kept->timestamp_ms = sim_broker_ms(world);
    sim_trace_bytes(&world->trace, output->value ? output->value : "", output->value_size);
    sim_say(world, "upstream: %d/%lld %.*s %s kind %d gen %lld if %lld alias %d ttl %lld ce %lld",
            kept->partition, (long long) kept->offset, (int) output->key_size, output->key,
            kept->kind == SIM_WISH_SANDBOX ? slu_wish_names[kept->shape.state] : "",
            (int) kept->kind, (long long) kept->generation, (long long) kept->if_generation,
            kept->shape.alias, (long long) kept->shape.ttl_ms, (long long) kept->ce_id);
}

static void
write_wish(struct sim_world *world, struct sim_wish wish)
{
    struct slu_output output = {.topic = SLU_TOPIC_DESIRED};
    key_of(world, &wish, &output);
    if (wish.kind != SIM_WISH_TOMBSTONE) {
        struct slu_buffer value = {0};
        if (wish.kind == SIM_WISH_BAD) {
            write_bad(world, &wish, &value);
        } else {
            write_envelope(world, &wish, &value);
        }
        output.value_size = value.size;
        output.value = slu_buffer_take(&value);
    }
    if (wish.ce_id)
        slu_output_header(&output, "ce_id", "c-%lld", (long long) wish.ce_id);
    wish.partition = partition_for(world, &wish);
    append_wish(world, &output, wish);

    /* A producer that heard no answer writes the same bytes again. */
    while (sim_fault(world, world->weather.duplicate)) {
        if (sim_chance(world, 300))
            wish.partition = partition_for(world, &wish);
        append_wish(world, &output, wish);
    }
    drop_text(&output);
}

/* --- wishing -----------------------------------------------------------------------------------
 */

static enum slu_wish
any_state(struct sim_world *world)
{
    static const enum slu_wish states[] = {SLU_WISH_RUNNING, SLU_WISH_RUNNING, SLU_WISH_RUNNING,
                                           SLU_WISH_PAUSED,  SLU_WISH_PAUSED,  SLU_WISH_RUNNING,
                                           SLU_WISH_STOPPED, SLU_WISH_DELETED};

    return states[sim_between(world, 0, sim_chance(world, 700) ? 5 : 7)];
}

static void
change_session(struct sim_world *world, struct sim_shape *shape)
{
    shape->auto_start = sim_chance(world, 800);
    shape->idle_pause = sim_chance(world, 500);
    shape->idle_after_s = (int) sim_between(world, 1, 20);
    shape->init = (int) sim_between(world, 0, 3);
}

/* One or two members get other values. */
static void
change_shape(struct sim_world *world, struct sim_shape *shape)
{
    switch (sim_between(world, 0, 9)) {
    case 0:
        shape->ttl_ms = sim_between(world, 1, 40) * 1000;
        shape->expires_at_ms = 0;
        break;
    case 1:
        shape->ttl_ms = 3600000;
        shape->expires_at_ms = 0;
        break;
    case 2:
        shape->alias++;
        break;
    case 3:
        shape->resume_on_use = !shape->resume_on_use;
        break;
    case 4:
        shape->lease_s = sim_chance(world, 500) ? 1200 : (int) sim_between(world, 60, 90);
        break;
    case 5:
        if (shape->session)
            change_session(world, shape);
        break;
    case 6:
        shape->expires_at_ms = sim_broker_ms(world) + sim_between(world, -2, 60) * 1000;
        break;
    default:
        shape->state = any_state(world);
        break;
    }
}

static void
fresh_shape(struct sim_world *world, struct sim_shape *shape)
{
    *shape = plain;
    shape->tenant = sim_chance(world, 900) ? 1 : 2;
    shape->session = sim_chance(world, 600) ? 1 : 0;
    if (shape->session)
        change_session(world, shape);
    shape->manual_recovery = sim_chance(world, 50);
    if (sim_chance(world, 100))
        shape->state = any_state(world);
}

static void
set_conditions(struct sim_world *world, struct sim_wish *wish)
{
    const int64_t newest = world->wishes.newest_generation[wish->key];
    if (sim_chance(world, 250))
        wish->generation = newest + sim_between(world, -1, 2);
    if (wish->generation < 0)
        wish->generation = 0;
    if (sim_chance(world, 150))
        wish->if_generation = sim_chance(world, 300) ? 0 : newest + sim_between(world, -1, 1);
    if (wish->if_generation < -1)
        wish->if_generation = -1;
}

static struct sim_wish
sandbox_wish(struct sim_world *world, int key)
{
    struct sim_wishes *wishes = &world->wishes;
    struct sim_shape *shape = &wishes->newest[key];
    if (wishes->newest_generation[key] == 0 || shape->state == SLU_WISH_DELETED) {
        fresh_shape(world, shape);
    } else {
        change_shape(world, shape);
    }

    struct sim_wish wish = {.kind = SIM_WISH_SANDBOX, .key = key, .if_generation = -1};
    wish.shape = *shape;
    if (sim_chance(world, 300))
        wish.ce_id = ++wishes->ce_count;
    set_conditions(world, &wish);
    wishes->newest_generation[key]++;
    return wish;
}

/* An earlier record of this key, word for word, or its ce_id under other words. */
static struct sim_wish
echo_wish(struct sim_world *world, int key)
{
    const struct sim_wishes *wishes = &world->wishes;
    struct sim_wish wish = wishes->wishes[sim_between(world, 0, wishes->count - 1)];
    if (wish.kind != SIM_WISH_SANDBOX || wish.key != key)
        return sandbox_wish(world, key);
    if (wish.ce_id && sim_chance(world, 200))
        wish.shape.alias += 100;
    return wish;
}

static struct sim_wish
any_wish(struct sim_world *world)
{
    struct sim_wishes *wishes = &world->wishes;
    const int key = (int) sim_between(world, 0, wishes->key_count - 1);
    const struct sim_wish base = {.key = key, .if_generation = -1, .shape = wishes->newest[key]};
    const int64_t roll = sim_between(world, 0, 999);
    struct sim_wish wish = base;

    if (sim_fault(world, world->weather.bad_input)) {
        wish.kind = sim_chance(world, 800) ? SIM_WISH_BAD : SIM_WISH_NO_KEY;
        wish.bad = (int) sim_between(world, 0, SIM_DEFECTS - 1);
    } else if (roll < 60) {
        wish.kind = SIM_WISH_TOMBSTONE;
        wishes->newest[key].state = SLU_WISH_DELETED;
    } else if (roll < 200) {
        wish.kind = SIM_WISH_ACTIVITY;
        wish.active = sim_chance(world, 600);
        wish.active_ttl_ms = sim_between(world, 1, 15) * 1000;
    } else if (roll < 300 && wishes->count > 0) {
        wish = echo_wish(world, key);
    } else {
        wish = sandbox_wish(world, key);
    }
    return wish;
}

/* --- upstream transactions ---------------------------------------------------------------------
 */

void
sim_wishes_end_txn(struct sim_world *world, bool commit)
{
    struct sim_wishes *wishes = &world->wishes;
    if (wishes->open_txn == SIM_NO_TXN)
        return;
    const int64_t txn = wishes->open_txn;
    wishes->open_txn = SIM_NO_TXN;
    if (!sim_log_end(world, txn, commit))
        commit = false;
    for (int64_t i = wishes->open_from; !commit && i < wishes->count; i++)
        wishes->wishes[i].aborted = true;
}

void
sim_wishes_produce(struct sim_world *world)
{
    struct sim_wishes *wishes = &world->wishes;
    if (wishes->open_txn != SIM_NO_TXN && sim_chance(world, 400)) {
        sim_wishes_end_txn(world, sim_chance(world, 700));
    } else if (wishes->open_txn == SIM_NO_TXN && sim_fault(world, world->weather.upstream_txn)) {
        wishes->open_txn = sim_log_begin(world, -1, 0, SIM_NOBODY);
        wishes->open_from = wishes->count;
    }
    const int64_t burst = sim_chance(world, 100) ? sim_between(world, 2, 6) : 1;
    for (int64_t i = 0; i < burst; i++)
        write_wish(world, any_wish(world));
    if (!world->silent) {
        sim_put(world, sim_between(world, 1, wishes->every_ms),
                (struct sim_occurrence){.what = SIM_OCCASION_PRODUCE, .replica = SIM_NOBODY});
    }
}

void
sim_wishes_calm(struct sim_world *world)
{
    sim_wishes_end_txn(world, true);
}
