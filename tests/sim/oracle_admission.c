/* SPDX-License-Identifier: Apache-2.0 */
/* Admission re-told from design.md §4 alone, over the plain numbers that the upstream systems kept:
 * what log order says of each record, compared with the judgement that was committed for it. */
#include "oracle.h"
#include "world.h"

#include <stdio.h>
#include <string.h>

enum verdict {
    ACCEPTED,
    REPEATED,
    NOTHING,
    REFUSED
};

struct opinion {
    enum verdict verdict;
    int64_t generation;
    bool begins_life, ends_life;
    const char *codes[3]; /* Any of these, when refused. */
};

static const char *const verdict_names[] = {"accepted", "repeated", "nothing to do", "refused"};

int64_t
sim_admitted_deadline_ms(const struct sim_admitted *admitted)
{
    return admitted->shape.expires_at_ms ? admitted->shape.expires_at_ms
                                         : admitted->created_ms + admitted->shape.ttl_ms;
}

int64_t
sim_admitted_idle_ms(const struct sim_admitted *admitted)
{
    if (!admitted->kept || !admitted->shape.session || !admitted->shape.idle_pause)
        return INT64_MAX;
    const int64_t from_ms = admitted->active_until_ms > admitted->last_active_ms
                                ? admitted->active_until_ms
                                : admitted->last_active_ms;
    return from_ms + (int64_t) admitted->shape.idle_after_s * 1000;
}

static void
add_code(struct opinion *opinion, const char *code)
{
    opinion->verdict = REFUSED;
    for (size_t i = 0; i < SLU_COUNT(opinion->codes); i++) {
        if (!opinion->codes[i]) {
            opinion->codes[i] = code;
            return;
        }
    }
}

static bool
lives(const struct sim_admitted *admitted)
{
    return admitted->kept && !admitted->deleted;
}

static void
accept(struct opinion *opinion, const struct sim_admitted *admitted, const struct sim_wish *wish)
{
    opinion->verdict = ACCEPTED;
    opinion->generation =
        wish->generation ? wish->generation : (admitted->kept ? admitted->generation : 0) + 1;
}

static void
judge_delete(const struct sim_admitted *admitted,
             const struct sim_wish *wish,
             struct opinion *opinion)
{
    if (!lives(admitted)) {
        opinion->verdict = NOTHING;
    } else if (wish->generation && wish->generation <= admitted->generation) {
        add_code(opinion, "REVISION_CONFLICT");
    } else {
        accept(opinion, admitted, wish);
        opinion->ends_life = true;
    }
}

static void
judge_new_life(const struct sim_admitted *admitted,
               const struct sim_wish *wish,
               struct opinion *opinion)
{
    if (admitted->kept && wish->generation && wish->generation <= admitted->generation)
        add_code(opinion, "REVISION_CONFLICT");
    if (wish->shape.expires_at_ms && wish->shape.expires_at_ms <= wish->timestamp_ms)
        add_code(opinion, "INVALID");
    if (opinion->verdict == REFUSED)
        return;
    accept(opinion, admitted, wish);
    opinion->begins_life = true;
}

static void
judge_change(const struct sim_admitted *admitted,
             const struct sim_wish *wish,
             struct opinion *opinion)
{
    const bool equal = sim_shape_equal(&admitted->shape, &wish->shape);
    if (equal && (!wish->generation || wish->generation == admitted->generation)) {
        opinion->verdict = REPEATED;
        return;
    }
    const bool final = admitted->stopped || admitted->expired;
    if (wish->generation && wish->generation <= admitted->generation)
        add_code(opinion, "REVISION_CONFLICT");
    if (wish->shape.session != admitted->shape.session)
        add_code(opinion, "INVALID");
    if (final && wish->shape.state != SLU_WISH_STOPPED)
        add_code(opinion, "INVALID_STATE");
    if (wish->shape.expires_at_ms && wish->shape.expires_at_ms != admitted->shape.expires_at_ms &&
        wish->shape.expires_at_ms <= wish->timestamp_ms)
        add_code(opinion, "INVALID");
    if (opinion->verdict != REFUSED)
        accept(opinion, admitted, wish);
}

static bool
is_overtaken(const struct sim_admitted *admitted, const struct sim_wish *wish, bool forwarded)
{
    return forwarded && !wish->generation && admitted->kept &&
           wish->timestamp_ms < admitted->last_origin_ms;
}

static void
judge_conditions(const struct sim_admitted *admitted,
                 const struct sim_wish *wish,
                 struct opinion *opinion)
{
    const int64_t present = lives(admitted) ? admitted->generation : 0;
    if (lives(admitted) && wish->shape.tenant != admitted->shape.tenant)
        add_code(opinion, "INVALID");
    if (wish->if_generation >= 0 && wish->if_generation != present)
        add_code(opinion, wish->if_generation == 0 ? "CONFLICT" : "REVISION_CONFLICT");
}

static void
judge_sandbox(const struct sim_admitted *admitted,
              const struct sim_wish *wish,
              bool forwarded,
              struct opinion *opinion)
{
    const bool tombstone = wish->kind == SIM_WISH_TOMBSTONE;
    if (!tombstone && wish->ce_id && admitted->kept && wish->ce_id == admitted->created_ce) {
        opinion->verdict = REPEATED;
        if (!sim_shape_equal(&wish->shape, &admitted->created_shape))
            add_code(opinion, "CONFLICT");
        return;
    }
    if (!tombstone)
        judge_conditions(admitted, wish, opinion);
    if (is_overtaken(admitted, wish, forwarded))
        add_code(opinion, "REVISION_CONFLICT");
    if (opinion->verdict == REFUSED)
        return;
    if (tombstone || wish->shape.state == SLU_WISH_DELETED)
        judge_delete(admitted, wish, opinion);
    else if (!lives(admitted))
        judge_new_life(admitted, wish, opinion);
    else
        judge_change(admitted, wish, opinion);
}

static struct opinion
judge(const struct sim_admitted *admitted, const struct sim_wish *wish, bool forwarded)
{
    struct opinion opinion = {.verdict = ACCEPTED, .generation = admitted->generation};
    if (wish->kind == SIM_WISH_BAD)
        add_code(&opinion, "INVALID");
    else if (wish->kind == SIM_WISH_ACTIVITY) {
        if (!lives(admitted) || wish->shape.tenant != admitted->shape.tenant)
            add_code(&opinion, "NOT_FOUND");
    } else {
        judge_sandbox(admitted, wish, forwarded, &opinion);
    }
    return opinion;
}

/* --- what an accepted record leaves ------------------------------------------------------------
 */

static void
count_use(struct sim_admitted *admitted, const struct sim_wish *wish)
{
    if (wish->timestamp_ms > admitted->last_active_ms)
        admitted->last_active_ms = wish->timestamp_ms;
}

static void
be_active(struct sim_admitted *admitted, const struct sim_wish *wish)
{
    count_use(admitted, wish);
    admitted->active_until_ms = wish->active ? wish->timestamp_ms + wish->active_ttl_ms : 0;
    admitted->started |= wish->active && !admitted->shape.auto_start;
}

static void
apply(struct sim_admitted *admitted, const struct sim_wish *wish, const struct opinion *opinion)
{
    if (wish->kind == SIM_WISH_ACTIVITY) {
        be_active(admitted, wish);
        return;
    }
    admitted->generation = opinion->generation;
    admitted->last_origin_ms = wish->timestamp_ms;
    if (opinion->ends_life) {
        admitted->deleted = true;
        return;
    }
    if (opinion->begins_life) {
        *admitted = (struct sim_admitted){.kept = true,
                                          .generation = opinion->generation,
                                          .created_shape = wish->shape,
                                          .created_ce = wish->ce_id,
                                          .created_ms = wish->timestamp_ms,
                                          .last_origin_ms = wish->timestamp_ms};
    }
    count_use(admitted, wish);
    admitted->shape = wish->shape;
    admitted->stopped = wish->shape.state == SLU_WISH_STOPPED;
}

static void
complain(struct sim_world *world,
         const struct sim_wish *wish,
         const struct opinion *opinion,
         const char *judged,
         int64_t generation)
{
    const struct sim_admitted *admitted = &world->oracle.subjects[wish->key].admitted;
    sim_violate(world, SIM_JUDGED_AS_LOG_ORDER_SAYS,
                "record %d/%lld of %s (kind %d, %s, generation %lld, ifGeneration %lld) was judged "
                "%s (generation %lld); log order says %s%s%s, generation %lld after %lld%s%s%s",
                wish->partition, (long long) wish->offset, world->wishes.keys[wish->key],
                (int) wish->kind, slu_wish_names[wish->shape.state], (long long) wish->generation,
                (long long) wish->if_generation, judged, (long long) generation,
                verdict_names[opinion->verdict], opinion->codes[0] ? " " : "",
                opinion->codes[0] ? opinion->codes[0] : "", (long long) opinion->generation,
                (long long) admitted->generation, admitted->kept ? "" : ", unknown",
                admitted->deleted ? ", deleted" : "", admitted->expired ? ", expired" : "");
}

static bool
agrees(const struct opinion *opinion,
       const struct sim_wish *wish,
       int64_t generation,
       bool repeated)
{
    if (opinion->verdict == REFUSED || (opinion->verdict == REPEATED) != repeated)
        return false;
    return wish->kind == SIM_WISH_ACTIVITY || opinion->verdict == NOTHING ||
           generation == opinion->generation;
}

void
sim_admission_accepted(struct sim_world *world,
                       struct sim_wish *wish,
                       bool forwarded,
                       int64_t generation,
                       bool repeated)
{
    struct sim_admitted *admitted = &world->oracle.subjects[wish->key].admitted;
    const struct opinion opinion = judge(admitted, wish, forwarded);
    if (!agrees(&opinion, wish, generation, repeated))
        complain(world, wish, &opinion, repeated ? "repeated" : "accepted", generation);
    if (opinion.verdict == ACCEPTED)
        apply(admitted, wish, &opinion);
    if (wish->kind == SIM_WISH_ACTIVITY)
        admitted->active_epoch = world->oracle.leaders[world->wishes.shard[wish->key]].epoch;
}

void
sim_admission_refused(struct sim_world *world,
                      struct sim_wish *wish,
                      bool forwarded,
                      const char *code)
{
    const struct sim_admitted *admitted = &world->oracle.subjects[wish->key].admitted;
    const struct opinion opinion = judge(admitted, wish, forwarded);
    bool among = opinion.verdict == REFUSED && wish->kind == SIM_WISH_BAD;
    for (size_t i = 0; opinion.verdict == REFUSED && i < SLU_COUNT(opinion.codes); i++)
        among |= opinion.codes[i] && code && strcmp(opinion.codes[i], code) == 0;
    if (!among)
        complain(world, wish, &opinion, code ? code : "refused", 0);
}
