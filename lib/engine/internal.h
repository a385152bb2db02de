/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of lib/engine share: the engine's memory, and the few ways to change it.
 *
 * engine.c turns, batches, notes     claim.c   restore and take over
 * judge.c  desired records           decide.c  plans and calls
 * absorb.c answers                   change.c  transitions, events, status writes */
#ifndef SLU_ENGINE_INTERNAL_H
#define SLU_ENGINE_INTERNAL_H

#include "entity.h"
#include "slu/base/random.h"
#include "slu/engine/engine.h"
#include "slu/model/document.h"
#include "status_text.h"
#include "table.h"

/* A call decided and not yet handed out. */
struct slu_held_call {
    struct slu_call *call;
    int64_t after_seq; /* Leaves once this batch has committed; 0: at once. */
};

/* Calls handed out or held, by id: whose they are. */
struct slu_open_call {
    uint64_t id;
    struct slu_entity *entity;
    enum slu_action action;
    bool surplus;          /* Deletes an instance that is not the bound one. */
    int64_t uid_offset;    /* Of the life that decided it. */
    uint32_t incarnation;  /* The instance it is about. */
    int32_t lease_seconds; /* That it asks for. */
    uint64_t init_hash;    /* INIT: of the list whose command it runs, */
    uint16_t init_index;   /* … and which command. */
};

/* Losses at one provider instance within a minute. */
struct slu_loss {
    int64_t since_ms;
    int64_t count;
    int64_t slow_until_ms; /* Replacement waits until then; 0: never slowed down. */
};

struct slu_queue { /* Of fixed-size items; takes from the front. */
    char *items;
    size_t item_size, first, count, capacity;
};

struct slu_engine {
    struct slu_engine_config config;
    char cluster[SLU_CLUSTER_SIZE];
    char event_source[SLU_CLUSTER_SIZE + 32]; /* ce_source of every event: cluster and shard. */
    char owner_url[SLU_OWNER_MAX + 1];
    struct slu_status_frame frame;
    struct slu_random random;

    struct slu_table table;
    struct slu_due due;
    struct slu_scope **scopes;
    size_t scope_count, scope_capacity;

    struct slu_shard_record shard; /* As the next batch will write it. */
    bool claimed;
    int64_t claimed_at_ms; /* Shard time of the first commit; 0 before it. */
    int64_t now_ms;
    int64_t read_through_ms;
    bool wants_read_through;
    struct slu_queue awaiting; /* char *: keys of entities whose deadline awaits reading. */

    struct slu_batch *batch;   /* Being collected: events, forwards, dead letters. */
    struct slu_entity **dirty; /* Whose status the batch will hold. */
    size_t dirty_count, dirty_capacity;
    bool shard_moved; /* The shard record itself must be written. */
    bool alone;       /* The batch holds a record that travels alone. */
    bool trying_told; /* shard.trying names what this leader tries; in a batch taken; committed. */
    bool trying_taken, trying_committed;
    char poison[48]; /* "partition/offset": it stopped its leaders, dead-letter it. */
    bool in_flight;
    int64_t committed_seq;

    uint64_t next_call_id;
    struct slu_queue ready;     /* struct slu_held_call: may leave now. */
    struct slu_queue held;      /* struct slu_held_call: in order of after_seq. */
    struct slu_open_call *open; /* Open addressing by id; id 0: free. */
    size_t open_count, open_capacity;

    struct slu_loss *losses;       /* One per configured instance. */
    struct slu_queue notes;        /* struct slu_kept_note */
    struct slu_queue observations; /* char *: keys; NULL-safe */
    struct slu_buffer lent;        /* Text of the note or observation handed out last. */
    struct slu_engine_counters counters;
};

/* What is written down about a record being judged. */
struct slu_cause {
    int partition;
    int64_t offset;
    int64_t append_ms; /* At its first writing. */
    bool forwarded;
    const struct slu_actor *actor; /* NULL: none. */
    char ce_id[256];
    char traceparent[64];
};

/* --- queue.c ------------------------------------------------------------------------------------
 */
void slu_queue_push(struct slu_queue *queue, const void *item, size_t item_size);
bool slu_queue_take(struct slu_queue *queue, void *ret_item);
void *slu_queue_peek(const struct slu_queue *queue);
void slu_queue_done(struct slu_queue *queue);

/* --- change.c -----------------------------------------------------------------------------------
 */

/* Nothing more goes into the batch being collected before it is taken. */
bool slu_batch_is_full(const struct slu_engine *engine);

/* Of which cluster the shard is, from here on. */
void slu_set_cluster(struct slu_engine *engine, const char *cluster);

/* Its status goes into the batch. */
void slu_mark_dirty(struct slu_engine *engine, struct slu_entity *entity);

/* Moves to `phase`, with one transition event of `verb` ("running" → created, resumed …). */
void slu_set_phase(struct slu_engine *engine,
                   struct slu_entity *entity,
                   enum slu_phase phase,
                   const char *verb,
                   const char *reason);

/* A transition event without a change of phase: lost ids, init, warnings, parking. */
void slu_emit(struct slu_engine *engine,
              struct slu_entity *entity,
              const char *verb,
              const char *reason,
              const char *message);

/* The judgement event of a record. `entity` may be NULL. */
void slu_emit_accepted(struct slu_engine *engine,
                       const char *key,
                       enum slu_kind kind,
                       int64_t generation,
                       bool repeated,
                       const struct slu_cause *cause);
void slu_emit_refused(struct slu_engine *engine,
                      const char *key,
                      enum slu_kind kind,
                      const struct slu_refusal *refusal,
                      const struct slu_cause *cause);

void
slu_dead_letter(struct slu_engine *engine, const struct slu_record *record, const char *reason);

/* Ends the transition under way's troubles: the next turn tries at once. */
void slu_unpark(struct slu_entity *entity);

void slu_plan_soon(struct slu_engine *engine, struct slu_entity *entity);
void slu_forget_entity(struct slu_engine *engine, struct slu_entity *entity);
void slu_observe(struct slu_engine *engine, const struct slu_entity *entity);

/* Ends the motion when nothing is left of it. */
void slu_rest(struct slu_entity *entity);

/* --- decide.c -----------------------------------------------------------------------------------
 */
void slu_decide(struct slu_engine *engine, struct slu_entity *entity);

/* Due at the next moment at which time alone changes something, at `look_again_at_ms` at the
 * latest. */
void slu_schedule(struct slu_engine *engine, struct slu_entity *entity, int64_t look_again_at_ms);

/* An instance proven surplus by what is committed: deletes it. */
void slu_delete_surplus(struct slu_engine *engine,
                        struct slu_entity *entity,
                        const struct slu_seen *seen);
const struct slu_provider_instance *slu_instance_of(const struct slu_engine *engine,
                                                    const struct slu_entity *entity);
int64_t slu_timeout_ms(const struct slu_engine *engine,
                       const struct slu_entity *entity,
                       enum slu_action action);
enum slu_goal slu_goal_now(const struct slu_engine *engine, const struct slu_entity *entity);

/* --- loss.c -------------------------------------------------------------------------------------
 */
void slu_loss_count(struct slu_engine *engine, const struct slu_entity *entity);

/* Until when the replacement of a lost one waits, 0: not at all. */
int64_t slu_loss_retry_ms(const struct slu_engine *engine, const struct slu_entity *entity);

/* --- calls.c ------------------------------------------------------------------------------------
 */
/* Hands out a call, after the batch being collected has committed when `after_commit` is set.
 * Returns its id. */
void slu_release_calls(struct slu_engine *engine);
struct slu_open_call *slu_open_find(const struct slu_engine *engine, uint64_t id);
void slu_open_remove(struct slu_engine *engine, uint64_t id);
uint64_t slu_call_out(struct slu_engine *engine,
                      struct slu_entity *entity,
                      enum slu_action action,
                      bool by_label,
                      bool low_lane,
                      bool after_commit);
/* SHA-256 of what a CREATE of this entity would say: it is frozen for the incarnation. */
void slu_create_body_sha256(const struct slu_entity *entity, char ret_hex[65]);

/* --- notes --------------------------------------------------------------------------------------
 */
struct slu_kept_note {
    struct slu_note note; /* Its texts are copies when `owned` says so. */
    char *key;
    char *message;
};

/* `note->key` and `note->message` are copied; every other text is a literal. */
void slu_note_add(struct slu_engine *engine, const struct slu_note *note);

/* `context` is the engine (slu_intern_fn). */
const struct slu_scope *slu_intern_scope(void *context, const char *tenant, const char *project);

#endif
