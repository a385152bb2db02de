/* SPDX-License-Identifier: Apache-2.0 */
/* What is owed once the faults are over: everything judged, every wish carried out, nothing left
 * behind, and then silence. */
#include "oracle.h"
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct debt {
    enum sim_property owed;
    char *why;
    size_t size;
};

static bool SLU_PRINTF(3, 4)
    owe(struct debt *debt, enum sim_property property, const char *format, ...)
{
    debt->owed = property;
    va_list arguments;
    va_start(arguments, format);
    (void) vsnprintf(debt->why, debt->size, format, arguments);
    va_end(arguments);
    return false;
}

/* Its forward stood in the log, and a newer record of the key replaced it before it was read. */
static bool
was_cleaned(const struct sim_world *world, const struct sim_wish *wish)
{
    return wish->forwards > 0 &&
           !sim_log_entry(&world->log, SLU_TOPIC_DESIRED, wish->forwarded_to, wish->forwarded_at)
                ->output;
}

static bool
everything_is_judged(struct sim_world *world, struct debt *debt)
{
    for (int64_t i = 0; i < world->wishes.count; i++) {
        const struct sim_wish *wish = &world->wishes.wishes[i];
        const struct sim_entry *entry =
            sim_log_entry(&world->log, SLU_TOPIC_DESIRED, wish->partition, wish->offset);
        if (!wish->aborted && wish->judgements == 0 && entry->output && !was_cleaned(world, wish)) {
            return owe(debt, SIM_EVERY_RECORD_IS_JUDGED, "record %d/%lld of %s was never judged",
                       wish->partition, (long long) wish->offset, world->wishes.keys[wish->key]);
        }
    }
    return true;
}

/* Live instances of a key, and the last one found. An instance that came back after its delete is
 * the sweep's, unless a life that goes on is bound to it. */
static int
live_instances(struct sim_world *world, int key, const struct sim_instance **ret_instance)
{
    const struct sim_admitted *admitted = &world->oracle.subjects[key].admitted;
    const bool goes_on =
        admitted->kept && !admitted->deleted && !admitted->stopped && !admitted->expired;
    int count = 0;
    const struct sim_status *status = &world->oracle.subjects[key].status;
    for (size_t i = 0; i < world->provider.instance_count; i++) {
        struct sim_instance *instance = &world->provider.instances[i];
        sim_instance_settle(world, instance);
        const bool bound = strcmp(instance->external_id, status->external_id) == 0;
        if (!sim_instance_lives(instance) || strcmp(instance->key, world->wishes.keys[key]) != 0 ||
            (instance->resurrected && !(bound && goes_on)))
            continue;
        *ret_instance = instance;
        count++;
    }
    return count;
}

static bool
is_phase(const struct sim_subject *subject, const char *phase)
{
    return strcmp(subject->status.phase, phase) == 0;
}

static bool
deletion_is_whole(struct sim_world *world, int key, struct debt *debt)
{
    const struct sim_subject *subject = &world->oracle.subjects[key];
    const struct sim_instance *instance = NULL;
    if (live_instances(world, key, &instance) > 0) {
        return owe(debt, SIM_DELETED_LEAVES_NOTHING, "%s is deleted, and %s lives",
                   world->wishes.keys[key], instance->external_id);
    }
    if (subject->status.exists && !is_phase(subject, "deleted")) {
        return owe(debt, SIM_CONVERGES, "%s is deleted, and its phase is %s",
                   world->wishes.keys[key], subject->status.phase);
    }
    if (subject->status.exists) {
        return owe(debt, SIM_TOMBSTONED_AFTER_RETENTION, "%s was deleted %lld ms ago",
                   world->wishes.keys[key], (long long) (world->now_ms - subject->gone_at_ms));
    }
    return true;
}

static bool
end_is_final(struct sim_world *world, int key, struct debt *debt)
{
    const struct sim_subject *subject = &world->oracle.subjects[key];
    const struct sim_instance *instance = NULL;
    if (live_instances(world, key, &instance) > 0) {
        return owe(debt, SIM_DELETED_LEAVES_NOTHING, "%s is at its end, and %s lives",
                   world->wishes.keys[key], instance->external_id);
    }
    if (!is_phase(subject, "stopped") && !is_phase(subject, "expired")) {
        return owe(debt, SIM_CONVERGES, "%s is at its end, and its phase is %s",
                   world->wishes.keys[key], subject->status.phase);
    }
    return true;
}

/* How many commands of a list ended well; with `once`, each in one run. */
static bool
ended_well(const struct sim_init *init, int commands, bool once)
{
    for (int i = 0; i < commands; i++) {
        if (!init->exited[i] || init->exit_code[i] != 0 || (once && init->runs[i] > 1))
            return false;
    }
    return true;
}

static bool
init_is_complete(struct sim_world *world,
                 int key,
                 const struct sim_instance *instance,
                 struct debt *debt)
{
    const struct sim_subject *subject = &world->oracle.subjects[key];
    const int commands = subject->admitted.shape.session ? subject->admitted.shape.init : 0;
    const bool fair = strcmp(world->weather.name, "fair") == 0;
    bool complete = commands == 0;
    for (int i = 0; i < instance->init_count; i++)
        complete |= ended_well(&instance->inits[i], commands, fair);
    if (!complete) {
        return owe(
            debt, SIM_INIT_COMPLETES, "%s: of %d init commands not all have ended well on %s%s",
            world->wishes.keys[key], commands, instance->external_id, fair ? ", once each" : "");
    }
    if (commands > 0 && !subject->status.init_completed)
        return owe(debt, SIM_INIT_COMPLETES, "%s: status does not say that init is complete",
                   world->wishes.keys[key]);
    return true;
}

static bool
instance_is(struct sim_world *world, int key, const char *life, struct debt *debt)
{
    const struct sim_subject *subject = &world->oracle.subjects[key];
    const struct sim_instance *instance = NULL;
    const char *name = world->wishes.keys[key];
    const int count = live_instances(world, key, &instance);
    if (count != 1) {
        return owe(debt, count > 1 ? SIM_ONE_LIVE_INSTANCE : SIM_CONVERGES,
                   "%s is wanted %s and has %d live instances, phase %s", name, life, count,
                   subject->status.phase);
    }
    if (strcmp(instance->external_id, subject->status.external_id) != 0 ||
        strcmp(instance->uid, subject->status.uid) != 0) {
        return owe(debt, SIM_CONVERGES, "%s: %s of %s lives, and status says %s of %s", name,
                   instance->external_id, instance->uid, subject->status.external_id,
                   subject->status.uid);
    }
    if (strcmp(slu_life_names[instance->life], life) != 0 || !is_phase(subject, life)) {
        return owe(debt, SIM_CONVERGES, "%s is wanted %s, is %s, and its phase is %s", name, life,
                   slu_life_names[instance->life], subject->status.phase);
    }
    return strcmp(life, "running") != 0 || init_is_complete(world, key, instance, debt);
}

/* Never made, for nobody wanted it running yet; or lost, and wanted running no more or by hand
 * only. Idleness alone makes no difference to what was never made. */
static bool
is_at_rest_without_instance(struct sim_world *world, int key, bool paused_or_lazy, bool idle)
{
    const struct sim_subject *subject = &world->oracle.subjects[key];
    const struct sim_instance *instance = NULL;
    if (live_instances(world, key, &instance) > 0)
        return false;
    const bool never = is_phase(subject, "pending") && !subject->ever_bound && paused_or_lazy;
    const bool lost = is_phase(subject, "lost") &&
                      (paused_or_lazy || idle || subject->admitted.shape.manual_recovery);
    return never || lost;
}

static bool
wish_is_carried_out(struct sim_world *world, int key, struct debt *debt)
{
    const struct sim_admitted *admitted = &world->oracle.subjects[key].admitted;
    const struct sim_shape *shape = &admitted->shape;
    const int64_t now_ms = sim_broker_ms(world);
    const bool started = !shape->session || shape->auto_start || admitted->started ||
                         world->oracle.subjects[key].ever_bound;
    const bool idle = sim_admitted_idle_ms(admitted) <= now_ms;
    const bool used = shape->resume_on_use && admitted->active_until_ms > now_ms;
    const bool paused_or_lazy = (shape->state == SLU_WISH_PAUSED && !used) || !started;

    if (is_at_rest_without_instance(world, key, paused_or_lazy, idle))
        return true;
    return instance_is(world, key, paused_or_lazy || idle ? "paused" : "running", debt);
}

static bool
key_is_done(struct sim_world *world, int key, struct debt *debt)
{
    const struct sim_admitted *admitted = &world->oracle.subjects[key].admitted;
    if (!admitted->kept || admitted->deleted)
        return deletion_is_whole(world, key, debt);
    const bool due = sim_admitted_deadline_ms(admitted) <= sim_broker_ms(world);
    if (admitted->stopped || admitted->expired || due)
        return end_is_final(world, key, debt);
    return wish_is_carried_out(world, key, debt);
}

/* A deadline that is still to come would break the silence. */
static bool
nothing_is_due(struct sim_world *world, int key, struct debt *debt)
{
    enum {
        NEVER_MS = 600000
    };
    const struct sim_admitted *admitted = &world->oracle.subjects[key].admitted;
    if (!admitted->kept || admitted->deleted || admitted->stopped || admitted->expired)
        return true;
    const int64_t now_ms = sim_broker_ms(world);
    const int64_t left_ms = sim_admitted_deadline_ms(admitted) - now_ms;
    const int64_t active_ms = admitted->active_until_ms - now_ms;
    const int64_t idle_ms = sim_admitted_idle_ms(admitted) - now_ms;
    const bool soon =
        (left_ms > 0 && left_ms < NEVER_MS) || active_ms > 0 || (idle_ms > 0 && idle_ms < NEVER_MS);
    return !soon || owe(debt, SIM_CONVERGES, "%s still has a deadline", world->wishes.keys[key]);
}

bool
sim_oracle_is_done(struct sim_world *world,
                   enum sim_property *ret_owed,
                   char *ret_why, /* NOLINT(readability-non-const-parameter): filled by owe(). */
                   size_t size)
{
    struct debt debt = {.owed = SIM_HOLDS, .why = ret_why, .size = size};
    bool done = everything_is_judged(world, &debt);
    for (int key = 0; done && key < world->wishes.key_count; key++)
        done = nothing_is_due(world, key, &debt) && key_is_done(world, key, &debt);
    *ret_owed = debt.owed;
    return done;
}

/* --- silence -----------------------------------------------------------------------------------
 */

static void
count_plans(const struct sim_world *world, int64_t *ret_plans, int64_t *ret_facts)
{
    *ret_plans = *ret_facts = 0;
    for (int i = 0; i < world->replica_count; i++) {
        for (int shard = 0; shard < world->shard_count; shard++) {
            struct slu_engine_counters counters;
            if (!world->replicas[i].seats[shard].engine)
                continue;
            slu_engine_counters(world->replicas[i].seats[shard].engine, &counters);
            *ret_plans += counters.plans;
            *ret_facts += counters.facts;
        }
    }
}

void
sim_oracle_silence_begins(struct sim_world *world)
{
    struct sim_oracle *oracle = &world->oracle;
    oracle->events = oracle->statuses = oracle->quiet_statuses = 0;
    world->provider.changes_executed[SLU_ACTION_EXTEND] = 0;
    count_plans(world, &oracle->plans_before, &oracle->facts_before);
}

void
sim_oracle_silence_ends(struct sim_world *world)
{
    const struct sim_oracle *oracle = &world->oracle;
    const int64_t extended = world->provider.changes_executed[SLU_ACTION_EXTEND];
    if (oracle->events > 0 || oracle->statuses > oracle->quiet_statuses ||
        oracle->statuses > 2 * extended + 2) {
        sim_violate(world, SIM_SILENT_WHEN_DONE,
                    "after everything was done: %lld events, %lld statuses (%lld quiet), %lld "
                    "leases extended",
                    (long long) oracle->events, (long long) oracle->statuses,
                    (long long) oracle->quiet_statuses, (long long) extended);
    }

    /* Two plans for one fact would be a loop that works for nothing; a few may coincide. */
    int64_t plans;
    int64_t facts;
    count_plans(world, &plans, &facts);
    plans -= oracle->plans_before;
    facts -= oracle->facts_before;
    if (plans * 10 > facts * 12 + 50)
        sim_violate(world, SIM_FEW_PLANS_PER_FACT, "%lld plans for %lld facts", (long long) plans,
                    (long long) facts);
}
