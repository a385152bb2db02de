/* SPDX-License-Identifier: Apache-2.0 */
/* The pretend provider: requests travel, are carried out when they arrive, and answers travel back;
 * each leg may be slow or lost. A request is carried out within its time-out or never: what lands
 * later is a zombie's, and comes in by the stopped replica that sends it. */
#include "provider_model.h"

#include "slu/base/memory.h"
#include "world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const capabilities[] = {
    "exec", "exec_stream", "fences", "files", "idempotent_create", "pause", "resume_same_id", NULL};

static const char *const capabilities_without_keys[] = {"exec",  "exec_stream",    "files",
                                                        "pause", "resume_same_id", NULL};

static char pool[] = "default";

void
sim_provider_init(struct sim_world *world)
{
    struct slu_provider_instance *settings = &world->provider.settings;
    (void) snprintf(settings->name, sizeof(settings->name), "local");
    (void) snprintf(settings->type, sizeof(settings->type), "local");
    (void) snprintf(settings->default_template, sizeof(settings->default_template), "base");
    settings->pools[0] = pool;
    settings->pool_count = 1;
    settings->concurrent = 50;
    settings->per_second = 1000;
    settings->resync_ms = 10000;
    settings->capabilities = world->weather.honours_keys ? capabilities : capabilities_without_keys;
    for (int action = 0; action < SLU_ACTION_COUNT; action++)
        settings->timeout_ms[action] = 4000;
    settings->timeout_ms[SLU_ACTION_INSPECT] = 1500;
}

void
sim_provider_done(struct sim_provider *provider)
{
    for (size_t i = 0; i < provider->flight_count; i++) {
        slu_call_free(provider->flights[i].call);
        free(provider->flights[i].facts);
    }
    free(provider->flights);
    free(provider->instances);
}

bool
sim_instance_lives(const struct sim_instance *instance)
{
    return instance->life != SLU_LIFE_GONE;
}

static void
end_instance(struct sim_world *world, struct sim_instance *instance)
{
    instance->life = SLU_LIFE_GONE;
    instance->becomes_at_ms = 0;
    instance->gone_at_ms = world->now_ms;
}

void
sim_instance_settle(struct sim_world *world, struct sim_instance *instance)
{
    if (instance->becomes_at_ms && instance->becomes_at_ms <= world->now_ms) {
        instance->life = instance->becomes;
        instance->becomes_at_ms = 0;
    }
    if (instance->life != SLU_LIFE_RUNNING || instance->lease_until_ms > world->now_ms)
        return;

    instance->harmed = true;
    sim_say(world, "provider: the lease of %s ran out", instance->external_id);
    if (world->weather.auto_pause)
        instance->life = SLU_LIFE_PAUSED;
    else
        end_instance(world, instance);
}

struct sim_instance *
sim_instance_find(struct sim_world *world, const char *external_id)
{
    for (size_t i = 0; i < world->provider.instance_count; i++) {
        if (strcmp(world->provider.instances[i].external_id, external_id) == 0) {
            sim_instance_settle(world, &world->provider.instances[i]);
            return &world->provider.instances[i];
        }
    }
    return NULL;
}

/* --- on the way --------------------------------------------------------------------------------
 */

static void
put_flight(struct sim_world *world, int64_t after_ms, enum sim_occasion what, int64_t flight)
{
    const struct sim_flight *waiting = &world->provider.flights[flight];
    sim_put(world, after_ms,
            (struct sim_occurrence){.what = what,
                                    .replica = what == SIM_OCCASION_EXECUTE ? SIM_NOBODY
                                                                            : waiting->replica,
                                    .life = waiting->life,
                                    .number = flight});
}

static void
come_back(struct sim_world *world, int64_t flight, const struct slu_facts *facts, int64_t after_ms)
{
    world->provider.flights[flight].facts = slu_memdup(facts, sizeof(*facts));
    put_flight(world, after_ms, SIM_OCCASION_ANSWER, flight);
}

void
sim_provider_send(
    struct sim_world *world, int replica, int shard, uint64_t engine, struct slu_call *call)
{
    struct sim_provider *provider = &world->provider;
    if (provider->flight_count == provider->flight_capacity) {
        provider->flight_capacity = provider->flight_capacity ? provider->flight_capacity * 2 : 256;
        provider->flights =
            slu_realloc(provider->flights, provider->flight_capacity * sizeof(*provider->flights));
    }
    const int64_t flight = (int64_t) provider->flight_count++;
    provider->flights[flight] = (struct sim_flight){.call = call,
                                                    .replica = replica,
                                                    .life = world->replicas[replica].life,
                                                    .shard = shard,
                                                    .engine = engine,
                                                    .sent_at_ms = world->now_ms};

    const struct slu_facts never_sent = {.outcome = SLU_OUTCOME_NEVER_SENT};
    if (sim_fault(world, world->weather.never_sent)) {
        come_back(world, flight, &never_sent, 1);
        return;
    }
    put_flight(world, call->timeout_ms, SIM_OCCASION_TIME_OUT, flight);
    if (sim_fault(world, world->weather.request_lost))
        return;
    const bool slow = sim_fault(world, world->weather.answer_slow);
    const int64_t delay_ms = sim_between(world, 2, slow ? call->timeout_ms - 1 : 60);
    put_flight(world, delay_ms, SIM_OCCASION_EXECUTE, flight);
}

/* --- carrying out ------------------------------------------------------------------------------
 */

static void
show(struct sim_world *world, struct sim_instance *instance, struct slu_facts *facts)
{
    if (facts->seen_count == SLU_SEEN_MAX) {
        facts->incomplete = true;
        return;
    }
    struct slu_seen *seen = &facts->seen[facts->seen_count++];
    *seen = (struct slu_seen){.life = instance->life,
                              .incarnation = instance->incarnation,
                              .lease_expires_at_ms =
                                  sim_broker_ms(world) + instance->lease_until_ms - world->now_ms};
    (void) snprintf(seen->external_id, sizeof(seen->external_id), "%s", instance->external_id);
    (void) snprintf(seen->key, sizeof(seen->key), "%s", instance->key);
    (void) snprintf(seen->uid, sizeof(seen->uid), "%s", instance->uid);
    (void) snprintf(facts->workspace_path, sizeof(facts->workspace_path), "/home/user");
}

static struct sim_instance *
new_instance(struct sim_world *world, const struct slu_call *call)
{
    struct sim_provider *provider = &world->provider;
    if (provider->instance_count == provider->instance_capacity) {
        provider->instance_capacity =
            provider->instance_capacity ? provider->instance_capacity * 2 : 32;
        provider->instances = slu_realloc(provider->instances, provider->instance_capacity *
                                                                   sizeof(*provider->instances));
    }
    struct sim_instance *instance = &provider->instances[provider->instance_count++];
    *instance = (struct sim_instance){.life = SLU_LIFE_RUNNING,
                                      .incarnation = call->incarnation,
                                      .created_at_ms = world->now_ms,
                                      .lease_until_ms =
                                          world->now_ms + (int64_t) call->lease_seconds * 1000};
    (void) snprintf(instance->external_id, sizeof(instance->external_id), "i-%zu",
                    provider->instance_count);
    (void) snprintf(instance->key, sizeof(instance->key), "%s", call->key);
    (void) snprintf(instance->uid, sizeof(instance->uid), "%s", call->uid);
    (void) snprintf(instance->idempotency_key, sizeof(instance->idempotency_key), "%s",
                    call->idempotency_key);
    return instance;
}

static void
travel(struct sim_world *world,
       struct sim_instance *instance,
       enum slu_life meanwhile,
       enum slu_life then)
{
    instance->life = then;
    if (!sim_fault(world, world->weather.transitional))
        return;
    instance->life = meanwhile;
    instance->becomes = then;
    instance->becomes_at_ms = world->now_ms + sim_between(world, 50, 3000);
}

static void
create(struct sim_world *world, const struct slu_call *call, struct slu_facts *facts)
{
    struct sim_provider *provider = &world->provider;
    const bool honoured =
        world->weather.honours_keys && !sim_broken(world, SIM_BREAK_PROVIDER_IGNORES_KEYS);
    for (size_t i = 0; honoured && i < provider->instance_count; i++) {
        if (strcmp(provider->instances[i].idempotency_key, call->idempotency_key) == 0) {
            show(world, &provider->instances[i], facts);
            facts->seen[0].life = SLU_LIFE_RUNNING; /* The first answer, word for word. */
            return;
        }
    }

    struct sim_instance *instance = new_instance(world, call);
    travel(world, instance, SLU_LIFE_STARTING, SLU_LIFE_RUNNING);
    show(world, instance, facts);
    sim_oracle_created(world, instance);
}

static bool
moving(const struct sim_instance *instance)
{
    return instance->becomes_at_ms != 0;
}

/* Lists lag: what is younger than this is not in them. */
static bool
is_listed(const struct sim_world *world, const struct sim_instance *instance)
{
    const int64_t lag_ms = world->calm ? 0 : world->weather.list_lag_ms;
    return instance->created_at_ms + lag_ms <= world->now_ms;
}

/* An error about an instance that lists do not show yet would be a second wrong answer. */
static void
look_by_id(struct sim_world *world, struct sim_instance *instance, struct slu_facts *facts)
{
    const bool twice = sim_broken(world, SIM_BREAK_PROVIDER_LIES_TWICE);
    if (!instance || !sim_instance_lives(instance)) {
        facts->outcome = SLU_OUTCOME_GONE;
    } else if ((twice || !instance->lied) && is_listed(world, instance) &&
               sim_fault(world, world->weather.false_gone)) {
        facts->outcome = SLU_OUTCOME_GONE;
        instance->lied = true;
        sim_say(world, "provider: says %s is gone, which is not so", instance->external_id);
    } else {
        instance->lied = false;
        show(world, instance, facts);
    }
}

static void
look_by_label(struct sim_world *world, const struct slu_call *call, struct slu_facts *facts)
{
    struct sim_provider *provider = &world->provider;
    const bool cut = sim_fault(world, world->weather.list_cut);
    const bool blind = sim_broken(world, SIM_BREAK_PROVIDER_LIES_TWICE) && !world->calm;
    for (size_t i = 0; i < provider->instance_count; i++) {
        struct sim_instance *instance = &provider->instances[i];
        sim_instance_settle(world, instance);
        if (strcmp(instance->key, call->key) != 0 || !sim_instance_lives(instance) || blind)
            continue;
        if (!is_listed(world, instance))
            continue;
        if (cut && sim_chance(world, 500)) {
            facts->incomplete = true;
            continue;
        }
        show(world, instance, facts);
        if (sim_fault(world, world->weather.list_repeats))
            show(world, instance, facts);
    }
    facts->incomplete |= cut;
}

static struct sim_init *
init_folder(struct sim_instance *instance, const char *hash)
{
    for (int i = 0; i < instance->init_count; i++) {
        if (strcmp(instance->inits[i].hash, hash) == 0)
            return &instance->inits[i];
    }
    if (instance->init_count == SIM_INIT_LISTS_MAX) {
        instance->init_count--;
        for (int i = 0; i < instance->init_count; i++)
            instance->inits[i] = instance->inits[i + 1];
    }
    struct sim_init *folder = &instance->inits[instance->init_count++];
    *folder = (struct sim_init){0};
    (void) snprintf(folder->hash, sizeof(folder->hash), "%s", hash);
    return folder;
}

/* The wrapper of init commands: a command that ended well is not run again; one that is to be
 * repeated is, from its beginning. */
static void
init(struct sim_world *world,
     const struct slu_call *call,
     struct sim_instance *instance,
     struct slu_facts *facts)
{
    const int index = call->init_index;
    if (instance->life != SLU_LIFE_RUNNING || index < 0 || index >= SIM_INIT_MAX) {
        facts->outcome = SLU_OUTCOME_BUSY;
        return;
    }
    struct sim_init *kept = init_folder(instance, call->init_hash);
    if (index > 0 && !(kept->exited[index - 1] && kept->exit_code[index - 1] == 0)) {
        sim_violate(world, SIM_INIT_IN_ORDER,
                    "%s: init command %d ran on %s before command %d had ended well", call->key,
                    index, instance->external_id, index - 1);
    }
    if (!kept->exited[index] || kept->exit_code[index] != 0) {
        kept->runs[index]++;
        kept->exited[index] = true;
        kept->exit_code[index] = sim_fault(world, world->weather.init_fails) ? 3 : 0;
    }
    facts->has_exit = true;
    facts->exit_code = kept->exit_code[index];
}

static void
resume(struct sim_world *world,
       const struct slu_call *call,
       struct sim_instance *instance,
       struct slu_facts *facts)
{
    if (instance->life == SLU_LIFE_PAUSED)
        travel(world, instance, SLU_LIFE_RESUMING, SLU_LIFE_RUNNING);
    instance->lease_until_ms = world->now_ms + (int64_t) call->lease_seconds * 1000;
    show(world, instance, facts);
}

static void
remove_instance(struct sim_world *world, struct sim_instance *instance)
{
    end_instance(world, instance);
    if (sim_fault(world, world->weather.resurrects)) {
        const struct sim_occurrence back = {.what = SIM_OCCASION_RESURRECT,
                                            .replica = SIM_NOBODY,
                                            .number = instance - world->provider.instances};
        sim_put(world, sim_between(world, 500, 20000), back);
    }
}

static void
change(struct sim_world *world,
       const struct slu_call *call,
       struct sim_instance *instance,
       struct slu_facts *facts)
{
    switch (call->action) {
    case SLU_ACTION_RESUME:
        resume(world, call, instance, facts);
        break;
    case SLU_ACTION_PAUSE:
        if (instance->life == SLU_LIFE_RUNNING)
            travel(world, instance, SLU_LIFE_PAUSING, SLU_LIFE_PAUSED);
        break;
    case SLU_ACTION_DELETE:
        remove_instance(world, instance);
        break;
    case SLU_ACTION_INIT:
        init(world, call, instance, facts);
        break;
    case SLU_ACTION_EXTEND:
        if (instance->life == SLU_LIFE_RUNNING)
            instance->lease_until_ms = world->now_ms + (int64_t) call->lease_seconds * 1000;
        break;
    case SLU_ACTION_NONE:
    case SLU_ACTION_INSPECT:
    case SLU_ACTION_CREATE:
    case SLU_ACTION_CHECKPOINT:
    case SLU_ACTION_REWIND:
    case SLU_ACTION_RESTORE:
    case SLU_ACTION_COUNT:
        facts->outcome = SLU_OUTCOME_PERMANENT;
        break;
    }
}

static void
carry_out(struct sim_world *world, const struct sim_flight *flight, struct slu_facts *facts)
{
    const struct slu_call *call = flight->call;
    struct sim_instance *instance = sim_instance_find(world, call->external_id);

    facts->outcome = SLU_OUTCOME_DONE;
    if (call->changes)
        sim_oracle_executes(world, flight, instance);
    if (call->action == SLU_ACTION_CREATE)
        create(world, call, facts);
    else if (call->action == SLU_ACTION_INSPECT && call->by_label)
        look_by_label(world, call, facts);
    else if (call->action == SLU_ACTION_INSPECT)
        look_by_id(world, instance, facts);
    else if (!instance || !sim_instance_lives(instance))
        facts->outcome = SLU_OUTCOME_GONE;
    else if (moving(instance) && call->action != SLU_ACTION_DELETE)
        facts->outcome = SLU_OUTCOME_BUSY;
    else
        change(world, call, instance, facts);
}

/* Refusals that come before anything is done. */
static bool
turned_away(struct sim_world *world, const struct slu_call *call, struct slu_facts *facts)
{
    const struct sim_weather *weather = &world->weather;
    int64_t *highest = &world->provider.highest_epoch[call->shard];
    if (weather->fences && call->epoch < *highest) {
        facts->outcome = SLU_OUTCOME_REJECTED;
        return true;
    }
    if (call->epoch > *highest)
        *highest = call->epoch;
    if (sim_fault(world, weather->refused_429)) {
        facts->outcome = SLU_OUTCOME_CAPACITY;
        facts->retry_after_ms = sim_chance(world, 500) ? sim_between(world, 100, 3000) : 0;
        return true;
    }
    if (sim_fault(world, weather->busy)) {
        facts->outcome = SLU_OUTCOME_BUSY;
        return true;
    }
    return false;
}

void
sim_provider_execute(struct sim_world *world, int64_t number)
{
    struct sim_flight *flight = &world->provider.flights[number];
    const struct slu_call *call = flight->call;
    struct slu_facts facts = {0};

    const bool outage = world->provider.outage_until_ms > world->now_ms;
    if (outage || sim_fault(world, world->weather.error_5xx)) {
        facts.outcome = SLU_OUTCOME_AMBIGUOUS;
        const bool done_after_all = !outage && sim_chance(world, 500);
        if (done_after_all) {
            struct slu_facts unseen = {0};
            carry_out(world, flight, &unseen);
        }
    } else if (!turned_away(world, call, &facts)) {
        carry_out(world, flight, &facts);
        flight->executed = true;
    }
    sim_say(world, "provider: %s %s %s call %lld epoch %lld -> %s", slu_action_names[call->action],
            call->key, call->external_id, (long long) call->call, (long long) call->epoch,
            slu_outcome_names[facts.outcome]);

    if (sim_fault(world, world->weather.answer_lost) ||
        sim_broken(world, SIM_BREAK_ANSWERS_NEVER_COME))
        return;
    const bool slow = sim_fault(world, world->weather.answer_slow);
    come_back(world, number, &facts, sim_between(world, 1, slow ? 6000 : 20));
}

void
sim_provider_resurrect(struct sim_world *world, int64_t number)
{
    struct sim_instance *instance = &world->provider.instances[number];
    if (sim_instance_lives(instance) || world->calm)
        return;
    instance->life = SLU_LIFE_RUNNING;
    instance->lease_until_ms = world->now_ms + 30000;
    instance->resurrected = true;
    instance->harmed = true;
    sim_say(world, "provider: %s of %s comes back", instance->external_id, instance->key);
}

void
sim_provider_harm(struct sim_world *world)
{
    struct sim_provider *provider = &world->provider;
    if (provider->instance_count == 0)
        return;
    const int64_t newest = (int64_t) provider->instance_count - 1;
    struct sim_instance *instance = &provider->instances[sim_between(world, 0, newest)];
    sim_instance_settle(world, instance);
    if (!sim_instance_lives(instance) || moving(instance))
        return;

    const struct sim_weather *weather = &world->weather;
    const enum slu_life before = instance->life;
    if (sim_fault(world, weather->dies))
        end_instance(world, instance);
    else if (instance->life == SLU_LIFE_RUNNING && sim_fault(world, weather->pauses_itself))
        instance->life = SLU_LIFE_PAUSED;
    else if (instance->life == SLU_LIFE_PAUSED && sim_fault(world, weather->resumes_itself))
        instance->life = SLU_LIFE_RUNNING;
    if (instance->life == before)
        return;
    instance->harmed = true;
    sim_say(world, "provider: %s is %s now", instance->external_id, slu_life_names[instance->life]);
}
