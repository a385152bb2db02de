/* SPDX-License-Identifier: Apache-2.0 */
/* Two kinds of work per shard: jobs (a committed batch each) and at most one rewrite. While a
 * rewrite runs, jobs wait behind it: they follow on the state it writes, and sent at once they
 * would meet the old view and be one more gap. */
#include "store_redis_view.h"

#include "slu/base/memory.h"
#include "store_redis_lua.h"
#include "store_redis_records.h"

#include <hiredis/hiredis.h>

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHARDS_MAX = 4096,
    WINDOW_BYTES = 2 * 1024 * 1024,   /* Of one rewrite, sent and unanswered. */
    WAITING_BYTES = 64 * 1024 * 1024, /* Of jobs behind one rewrite. */
    BACKLOG_BYTES = 64 * 1024 * 1024, /* Of the connection; Redis is not keeping up. */
    EXTRA_MAX = 6,
    NUMBER_SIZE = 24,
};

/* A view head of our own: the caller's is lent. */
struct head {
    int shard;
    char *cluster;
    char *url;
    int64_t epoch;
    int64_t seq;
};

struct job {
    STAILQ_ENTRY(job) next;
    struct slu_later_call later;
    struct shard *shard;
    struct head head;
    bool claim;
    struct slu_redis_records records;
    size_t bytes;
    int unanswered;
    enum slu_view_result result; /* The first that was not APPLIED. */
    slu_view_done_fn *done;
    void *context;
};

struct rewrite {
    struct slu_later_call later;
    struct shard *shard;
    struct head head;
    char view[64];
    struct slu_redis_records records;
    size_t unanswered_bytes;
    int unanswered;
    bool abandoned; /* A later one took its place; only its answers are waited for. */
    bool finishing; /* slu_store_rewrite_finish was called. */
    bool switched;  /* The pointer's switch was sent. */
    bool ending;    /* end_rewrite is under way. */
    enum slu_view_result result;
    slu_view_done_fn *done;
    void *context;
};

struct shard {
    struct slu_redis_views *views;
    int number;
    struct rewrite *rewrite;
    STAILQ_HEAD(job_list, job) waiting;
    size_t waiting_bytes;
    int64_t named_epoch, named_seq; /* Of the last view begun, and how many had that name. */
    int named_times;
};

struct slu_redis_views {
    struct slu_redis_link *link;
    struct slu_later *later;
    char *prefix;
    struct shard *shards[SHARDS_MAX];
    int unanswered; /* Jobs and rewrites that hiredis or the loop still know. */
};

static void start_job(struct job *job);
static void feed(struct rewrite *rewrite);

static struct head
copy_head(const struct slu_view_head *head)
{
    return (struct head){.shard = head->shard,
                         .cluster = slu_strdup(head->cluster),
                         .url = slu_strdup(head->url ? head->url : ""),
                         .epoch = head->epoch,
                         .seq = head->seq};
}

static void
free_head(struct head *head)
{
    free(head->cluster);
    free(head->url);
}

static struct shard *
shard_of(struct slu_redis_views *views, int number)
{
    assert(number >= 0 && number < SHARDS_MAX);
    struct shard *shard = views->shards[number];
    if (!shard) {
        shard = views->shards[number] = slu_alloc(sizeof(*shard));
        shard->views = views;
        shard->number = number;
        STAILQ_INIT(&shard->waiting);
    }
    return shard;
}

/* Anything that is no word of ours (out of memory, read-only, loading) counts as away: nothing is
 * known to be stored, and the next write finds out. */
static enum slu_view_result
read_word(const struct redisReply *reply, bool *ret_sweep)
{
    static const struct {
        const char *word;
        enum slu_view_result result;
        bool sweep;
    } words[] = {
        {"applied", SLU_VIEW_APPLIED, false},
        {"applied-sweep", SLU_VIEW_APPLIED, true},
        {"gap", SLU_VIEW_GAP, false},
        {"stale", SLU_VIEW_STALE, false},
        {"other", SLU_VIEW_OTHER_CLUSTER, false},
    };

    *ret_sweep = false;
    if (!reply || reply->type != REDIS_REPLY_STRING)
        return SLU_VIEW_DOWN;
    for (size_t i = 0; i < SLU_COUNT(words); i++) {
        if (strcmp(reply->str, words[i].word) == 0) {
            *ret_sweep = words[i].sweep;
            return words[i].result;
        }
    }
    return SLU_VIEW_DOWN;
}

/* --- sending --------------------------------------------------------------------------------- */

struct script_call {
    enum slu_redis_script script;
    const struct head *head;
    const char *extra[EXTRA_MAX]; /* After the epoch. */
    int extra_count;
    const struct slu_redis_portion *portion; /* NULL: none. */
    slu_redis_reply_fn *answered;
    void *context;
};

struct arguments {
    const char *argv[16 + SLU_REDIS_PORTION_RECORDS * SLU_REDIS_RECORD_ARGS];
    size_t sizes[16 + SLU_REDIS_PORTION_RECORDS * SLU_REDIS_RECORD_ARGS];
    int count;
};

static void
add_argument(struct arguments *arguments, const char *text, size_t size)
{
    arguments->argv[arguments->count] = text;
    arguments->sizes[arguments->count++] = size;
}

static void
add_portion(struct arguments *arguments, const struct slu_redis_portion *portion)
{
    size_t start = 0;
    for (int i = 0; i < portion->count * SLU_REDIS_RECORD_ARGS; i++) {
        add_argument(arguments, portion->bytes.data + start, portion->ends[i] - start);
        start = portion->ends[i];
    }
}

static bool
call_script(struct slu_redis_views *views, const struct script_call *call)
{
    char base[160], owner[176], names[176], epoch[NUMBER_SIZE];
    snprintf(base, sizeof(base), "%s{%d}:", views->prefix, call->head->shard);
    snprintf(owner, sizeof(owner), "%sowner", base);
    snprintf(names, sizeof(names), "%sviews", base);
    snprintf(epoch, sizeof(epoch), "%" PRId64, call->head->epoch);
    const char *script = slu_redis_scripts[call->script];
    const char *const first[] = {"EVAL", script, "2", owner, names, base, call->head->cluster,
                                 epoch};

    struct arguments arguments;
    arguments.count = 0;
    for (size_t i = 0; i < SLU_COUNT(first); i++)
        add_argument(&arguments, first[i], strlen(first[i]));
    for (int i = 0; i < call->extra_count; i++)
        add_argument(&arguments, call->extra[i], strlen(call->extra[i]));
    if (call->portion)
        add_portion(&arguments, call->portion);
    return slu_redis_link_send(views->link, &(struct slu_redis_command){.argv = arguments.argv,
                                                                        .sizes = arguments.sizes,
                                                                        .argc = arguments.count,
                                                                        .answered = call->answered,
                                                                        .context = call->context});
}

static void
sweep(struct slu_redis_views *views, const struct head *head)
{
    (void) call_script(views, &(struct script_call){.script = SLU_REDIS_SWEEP, .head = head});
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void
end_job(void *context)
{
    struct job *job = context;
    struct slu_redis_views *views = job->shard->views;
    views->unanswered--;
    job->done(job->context, job->head.shard, job->result);
    slu_redis_records_done(&job->records);
    free_head(&job->head);
    free(job);
}

static void
end_job_later(struct job *job, enum slu_view_result result)
{
    job->result = result;
    slu_later_add(job->shard->views->later, &job->later, end_job, job);
}

static void
take_job_answer(void *context, const struct redisReply *reply)
{
    struct job *job = context;
    bool old_views;
    const enum slu_view_result result = read_word(reply, &old_views);
    if (job->result == SLU_VIEW_APPLIED)
        job->result = result;
    if (--job->unanswered > 0)
        return;
    if (job->result == SLU_VIEW_APPLIED && old_views)
        sweep(job->shard->views, &job->head);
    end_job(job);
}

static bool
send_job_part(struct job *job, const struct slu_redis_portion *portion, int part, int parts)
{
    char seq[NUMBER_SIZE], part_text[NUMBER_SIZE], parts_text[NUMBER_SIZE];
    snprintf(seq, sizeof(seq), "%" PRId64, job->head.seq);
    snprintf(part_text, sizeof(part_text), "%d", part);
    snprintf(parts_text, sizeof(parts_text), "%d", parts);
    const struct script_call call = {
        .script = SLU_REDIS_APPLY,
        .head = &job->head,
        .extra = {seq, job->head.url, job->claim ? "1" : "0", part_text, parts_text},
        .extra_count = 5,
        .portion = portion,
        .answered = take_job_answer,
        .context = job,
    };
    if (!call_script(job->shard->views, &call))
        return false;
    job->unanswered++;
    return true;
}

/* All parts leave at once: the first that is refused makes the script refuse the rest. */
static void
start_job(struct job *job)
{
    const int parts = job->records.portion_count ? job->records.portion_count : 1;
    bool sent = slu_redis_link_backlog(job->shard->views->link) < BACKLOG_BYTES;
    for (int part = 1; sent && part <= parts; part++) {
        struct slu_redis_portion *portion = slu_redis_records_take(&job->records);
        sent = send_job_part(job, portion, part, parts);
        slu_redis_portion_free(portion);
    }
    if (!sent && job->unanswered == 0)
        end_job_later(job, SLU_VIEW_DOWN);
    else if (!sent)
        job->result = SLU_VIEW_DOWN;
}

void
slu_redis_views_apply(struct slu_redis_views *views,
                      const struct slu_view_head *head,
                      const struct slu_batch *batch,
                      slu_view_done_fn *done,
                      void *context)
{
    struct shard *shard = shard_of(views, head->shard);
    struct job *job = slu_alloc(sizeof(*job));
    *job = (struct job){.shard = shard,
                        .head = copy_head(head),
                        .claim = batch->claim,
                        .result = SLU_VIEW_APPLIED,
                        .done = done,
                        .context = context};
    slu_redis_records_init(&job->records);
    for (size_t i = 0; i < batch->count; i++) {
        const struct slu_output *output = &batch->outputs[i];
        if (output->topic != SLU_TOPIC_STATUS)
            continue;
        slu_redis_records_add(&job->records, output->key, output->key_size, output->value,
                              output->value_size);
        job->bytes += output->key_size + output->value_size;
    }
    views->unanswered++;
    if (!shard->rewrite) {
        start_job(job);
    } else if (shard->waiting_bytes + job->bytes > WAITING_BYTES) {
        end_job_later(job, SLU_VIEW_GAP); /* Not stored: what a lost write is. */
    } else {
        STAILQ_INSERT_TAIL(&shard->waiting, job, next);
        shard->waiting_bytes += job->bytes;
    }
}

/* Jobs that waited behind a rewrite. What the rewritten view already contains is applied; the
 * others follow on it. Behind a failed one, they failed as it did. */
static void
release_waiting(struct shard *shard, const struct rewrite *rewrite)
{
    struct job_list jobs = STAILQ_HEAD_INITIALIZER(jobs);
    STAILQ_CONCAT(&jobs, &shard->waiting);
    shard->waiting_bytes = 0;
    struct job *job;
    while ((job = STAILQ_FIRST(&jobs))) {
        STAILQ_REMOVE_HEAD(&jobs, next);
        const bool contained =
            job->head.epoch == rewrite->head.epoch && job->head.seq <= rewrite->head.seq;
        if (rewrite->result == SLU_VIEW_APPLIED && !contained) {
            start_job(job);
            continue;
        }
        job->result = rewrite->result;
        end_job(job);
    }
}

/* --- rewrites -------------------------------------------------------------------------------- */

static void
free_rewrite(struct rewrite *rewrite)
{
    rewrite->shard->views->unanswered--;
    slu_redis_records_done(&rewrite->records);
    free_head(&rewrite->head);
    free(rewrite);
}

static void
end_rewrite(void *context)
{
    struct rewrite *rewrite = context;
    struct shard *shard = rewrite->shard;
    if (!rewrite->abandoned) {
        shard->rewrite = NULL;
        release_waiting(shard, rewrite);
    }
    if (rewrite->done)
        rewrite->done(rewrite->context, shard->number, rewrite->result);
    free_rewrite(rewrite);
}

/* Over when nothing is on its way and nothing more will be sent. Its end is told in a later turn:
 * this may be inside slu_store_rewrite_finish. */
static void
end_if_over(struct rewrite *rewrite)
{
    const bool failed = rewrite->result != SLU_VIEW_APPLIED;
    const bool over = rewrite->abandoned || (rewrite->finishing && (failed || rewrite->switched));
    if (rewrite->unanswered > 0 || !over || rewrite->ending)
        return;
    rewrite->ending = true;
    slu_later_add(rewrite->shard->views->later, &rewrite->later, end_rewrite, rewrite);
}

static void
fail_rewrite(struct rewrite *rewrite, enum slu_view_result result)
{
    if (rewrite->result == SLU_VIEW_APPLIED)
        rewrite->result = result;
    slu_redis_records_done(&rewrite->records);
}

static void
take_rewrite_answer(void *context, const struct redisReply *reply)
{
    struct rewrite *rewrite = context;
    bool old_views;
    const enum slu_view_result result = read_word(reply, &old_views);
    if (result != SLU_VIEW_APPLIED)
        fail_rewrite(rewrite, result);
    /* Answers do not say which portion they are about; the mean serves. */
    rewrite->unanswered_bytes -= rewrite->unanswered_bytes / (size_t) rewrite->unanswered;
    rewrite->unanswered--;
    feed(rewrite);
}

static void
send_step(struct rewrite *rewrite, struct script_call call)
{
    call.head = &rewrite->head;
    call.answered = take_rewrite_answer;
    call.context = rewrite;
    if (call_script(rewrite->shard->views, &call))
        rewrite->unanswered++;
    else
        fail_rewrite(rewrite, SLU_VIEW_DOWN);
}

static void
send_portion(struct rewrite *rewrite)
{
    struct slu_redis_portion *portion = slu_redis_records_take(&rewrite->records);
    rewrite->unanswered_bytes += portion->bytes.size;
    send_step(rewrite, (struct script_call){.script = SLU_REDIS_PUT,
                                            .extra = {rewrite->view},
                                            .extra_count = 1,
                                            .portion = portion});
    slu_redis_portion_free(portion);
}

/* Sends what may leave now. The last portion waits for the end, because it may still grow. */
static void
feed(struct rewrite *rewrite)
{
    const int kept = rewrite->finishing ? 0 : 1;
    while (rewrite->result == SLU_VIEW_APPLIED && !rewrite->abandoned &&
           rewrite->records.portion_count > kept && rewrite->unanswered_bytes < WINDOW_BYTES)
        send_portion(rewrite);

    if (rewrite->result == SLU_VIEW_APPLIED && !rewrite->abandoned && rewrite->finishing &&
        rewrite->records.portion_count == 0 && !rewrite->switched) {
        char seq[NUMBER_SIZE];
        snprintf(seq, sizeof(seq), "%" PRId64, rewrite->head.seq);
        rewrite->switched = true;
        send_step(rewrite, (struct script_call){.script = SLU_REDIS_FINISH,
                                                .extra = {seq, rewrite->head.url, rewrite->view},
                                                .extra_count = 3});
    }
    end_if_over(rewrite);
}

static void
abandon(struct rewrite *rewrite)
{
    rewrite->abandoned = true;
    if (!rewrite->ending)
        fail_rewrite(rewrite, SLU_VIEW_GAP);
    end_if_over(rewrite);
}

/* "g12.8841"; a second attempt at the same state gets a name of its own, since a pointer may stand
 * on the first and an answer to it have been lost. */
static void
name_view(struct shard *shard, struct rewrite *rewrite)
{
    const bool again =
        shard->named_epoch == rewrite->head.epoch && shard->named_seq == rewrite->head.seq;
    shard->named_times = again ? shard->named_times + 1 : 0;
    shard->named_epoch = rewrite->head.epoch;
    shard->named_seq = rewrite->head.seq;
    char attempt[NUMBER_SIZE] = "";
    if (again)
        snprintf(attempt, sizeof(attempt), ".%d", shard->named_times);
    snprintf(rewrite->view, sizeof(rewrite->view), "g%" PRId64 ".%" PRId64 "%s",
             rewrite->head.epoch, rewrite->head.seq, attempt);
}

void
slu_redis_views_begin(struct slu_redis_views *views, const struct slu_view_head *head)
{
    struct shard *shard = shard_of(views, head->shard);
    if (shard->rewrite)
        abandon(shard->rewrite);

    struct rewrite *rewrite = shard->rewrite = slu_alloc(sizeof(*rewrite));
    *rewrite =
        (struct rewrite){.shard = shard, .head = copy_head(head), .result = SLU_VIEW_APPLIED};
    slu_redis_records_init(&rewrite->records);
    views->unanswered++;
    name_view(shard, rewrite);
    send_step(rewrite, (struct script_call){
                           .script = SLU_REDIS_BEGIN, .extra = {rewrite->view}, .extra_count = 1});
}

void
slu_redis_views_put(struct slu_redis_views *views,
                    int shard,
                    const char *key,
                    const char *status,
                    size_t status_size)
{
    struct rewrite *rewrite = shard_of(views, shard)->rewrite;
    assert(rewrite && !rewrite->finishing);
    if (rewrite->result != SLU_VIEW_APPLIED)
        return;
    slu_redis_records_add(&rewrite->records, key, strlen(key), status, status_size);
    if (rewrite->records.portion_count > 1)
        feed(rewrite);
}

void
slu_redis_views_finish(struct slu_redis_views *views,
                       int shard,
                       slu_view_done_fn *done,
                       void *context)
{
    struct rewrite *rewrite = shard_of(views, shard)->rewrite;
    assert(rewrite && !rewrite->finishing);
    rewrite->finishing = true;
    rewrite->done = done;
    rewrite->context = context;
    feed(rewrite);
}

/* --- life ------------------------------------------------------------------------------------ */

struct slu_redis_views *
slu_redis_views_new(struct slu_redis_link *link, struct slu_later *later, const char *key_prefix)
{
    struct slu_redis_views *views = slu_alloc(sizeof(*views));
    views->link = link;
    views->later = later;
    views->prefix = slu_strdup(key_prefix);
    return views;
}

/* The link is closed, so nothing is on its way: what is left waits behind rewrites. */
void
slu_redis_views_end(struct slu_redis_views *views)
{
    for (int i = 0; i < SHARDS_MAX; i++) {
        struct shard *shard = views->shards[i];
        if (!shard || !shard->rewrite || shard->rewrite->ending)
            continue;
        fail_rewrite(shard->rewrite, SLU_VIEW_DOWN);
        shard->rewrite->ending = true;
        end_rewrite(shard->rewrite);
    }
}

void
slu_redis_views_free(struct slu_redis_views *views)
{
    assert(views->unanswered == 0);
    for (int i = 0; i < SHARDS_MAX; i++)
        free(views->shards[i]);
    free(views->prefix);
    free(views);
}
