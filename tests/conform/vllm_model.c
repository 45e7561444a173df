#include "vllm_model.h"

#include "base/check.h"

#include <string.h>

enum { BLOCKS = 64, NOBODY = -1 };

/* A block of the pool. What it holds is said by example: the first `end` tokens of a request. */
typedef struct block {
    int holders;
    int like_request; /* NOBODY: its contents cannot be found */
    int64_t like_end;
    int64_t found_since; /* stamps, to order by */
    int64_t free_since;
} block;

typedef struct sequence {
    int64_t known; /* tokens: prompt and output so far */
    int64_t computed;
    int64_t scheduled; /* in the step that is planned or runs */
    int64_t output;
    int64_t output_wanted;
    int blocks[BLOCKS];
    int block_count;
    int hashed_count; /* its first blocks, which were made findable or found */
} sequence;

typedef struct list {
    int items[SLI_SMALL_REQUESTS];
    int count;
} list;

typedef struct model {
    const sli_small_world *world;
    const sli_vllm_options *options;
    int64_t now;
    int64_t stamp;
    block blocks[BLOCKS];
    sequence sequences[SLI_SMALL_REQUESTS];
    list running;
    list waiting;
    int64_t due[SLI_SMALL_REQUESTS]; /* times of arrivals to come */
    int due_count;
    int released_count;
    int arrived_count;
    bool is_stepping;
    int64_t step_end;
    sl_transition *log;
    size_t log_count;
} model;

static void list_insert(list *it, int place, int item) {
    for (int i = it->count++; i > place; i--) {
        it->items[i] = it->items[i - 1];
    }
    it->items[place] = item;
}

static void list_remove(list *it, int place) {
    it->count--;
    for (int i = place; i < it->count; i++) {
        it->items[i] = it->items[i + 1];
    }
}

static int list_find(const list *it, int item) {
    int i = 0;
    while (it->items[i] != item) {
        i++;
    }
    return i;
}

static void report(model *it, int r, sl_transition_kind kind, uint32_t replica, int64_t tokens) {
    SL_ASSERT(it->log_count < SLI_VLLM_LOG);
    it->log[it->log_count++] = (sl_transition){
        it->now, (uint32_t)kind, replica, (uint64_t)r, tokens, it->sequences[r].block_count};
}

static int64_t at_most(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Contents, token by token ---- */

typedef struct token {
    uint64_t who; /* the scope of shared contents; else who is alone in having it */
    uint64_t id;
    int64_t position;
    bool is_shared;
} token;

static token token_of(const model *it, int r, int64_t position) {
    const sli_small_request *request = &it->world->requests[r];
    const sl_content *content = &request->desc.content;
    if (position < request->desc.prompt_tokens && content->id_count > 0 &&
        position / content->id_tokens < content->id_count) {
        return (token){content->scope, request->ids[position / content->id_tokens], position, true};
    }
    return (token){(uint64_t)r, 0, position, false};
}

static bool is_same_start(const model *it, int a, int b, int64_t end) {
    for (int64_t i = 0; i < end; i++) {
        token x = token_of(it, a, i);
        token y = token_of(it, b, i);
        if (x.who != y.who || x.id != y.id || x.is_shared != y.is_shared) {
            return false;
        }
    }
    return true;
}

/* ---- Blocks ---- */

static int64_t block_size(const model *it) {
    return it->world->engine.pool.block_tokens;
}

static int64_t blocks_for(const model *it, int64_t tokens) {
    return (tokens + block_size(it) - 1) / block_size(it);
}

static int64_t count_free(const model *it) {
    int64_t count = 0;
    for (int i = 0; i < it->world->engine.pool.block_count; i++) {
        count += it->blocks[i].holders == 0;
    }
    return count;
}

/* The one that has been free longest; its contents are forgotten only now. */
static int take_block(model *it) {
    int best = NOBODY;
    for (int i = 0; i < it->world->engine.pool.block_count; i++) {
        if (it->blocks[i].holders == 0 &&
            (best == NOBODY || it->blocks[i].free_since < it->blocks[best].free_since)) {
            best = i;
        }
    }
    SL_ASSERT(best != NOBODY);
    it->blocks[best] = (block){.holders = 1, .like_request = NOBODY};
    return best;
}

/* The block that holds the tokens of request r up to `end`: the one known longest. */
static int find_block(const model *it, int r, int64_t end) {
    int best = NOBODY;
    for (int i = 0; i < it->world->engine.pool.block_count; i++) {
        const block *at = &it->blocks[i];
        if (at->like_request != NOBODY && at->like_end == end &&
            is_same_start(it, at->like_request, r, end) &&
            (best == NOBODY || at->found_since < it->blocks[best].found_since)) {
            best = i;
        }
    }
    return best;
}

/* Of a waiting request, in blocks: at least one token is left to compute. */
static int find_hits(const model *it, int r, int hits[BLOCKS]) {
    int count = 0;
    while (it->world->engine.pool.has_index &&
           (count + 1) * block_size(it) <= it->sequences[r].known - 1) {
        hits[count] = find_block(it, r, (count + 1) * block_size(it));
        if (hits[count] == NOBODY) {
            break;
        }
        count++;
    }
    return count;
}

/* Full blocks are findable as soon as their tokens are scheduled. */
static void cache_blocks(model *it, int r, int64_t end) {
    sequence *at = &it->sequences[r];
    const sli_pool_config *pool = &it->world->engine.pool;
    if (!pool->caches_generated) {
        end = at_most(end, it->world->requests[r].desc.prompt_tokens);
    }
    while (pool->has_index && (at->hashed_count + 1) * block_size(it) <= end) {
        block *full = &it->blocks[at->blocks[at->hashed_count++]];
        full->like_request = r;
        full->like_end = at->hashed_count * block_size(it);
        full->found_since = ++it->stamp;
    }
}

/* The last block goes first, so that the start of a prompt survives longest. */
static void free_blocks(model *it, int r) {
    sequence *at = &it->sequences[r];
    while (at->block_count > 0) {
        block *last = &it->blocks[at->blocks[--at->block_count]];
        if (--last->holders == 0) {
            last->free_since = ++it->stamp;
        }
    }
    at->hashed_count = 0;
}

static bool allocate_running(model *it, int r, int64_t tokens) {
    sequence *at = &it->sequences[r];
    int64_t need = blocks_for(it, at->computed + tokens) - at->block_count;
    if (need > count_free(it)) {
        return false;
    }
    for (; need > 0; need--) {
        at->blocks[at->block_count++] = take_block(it);
    }
    cache_blocks(it, r, at->computed + tokens);
    return true;
}

static bool allocate_waiting(model *it, int r, const int *hits, int hit_count, int64_t tokens) {
    sequence *at = &it->sequences[r];
    int64_t hit_tokens = hit_count * block_size(it);
    int64_t headroom = it->running.count > 0 ? it->world->engine.watermark_blocks : 0;
    int64_t free_hits = 0;
    for (int i = 0; i < hit_count; i++) {
        free_hits += it->blocks[hits[i]].holders == 0;
    }
    int64_t need = blocks_for(it, hit_tokens + tokens) - hit_count;
    int64_t need_in_full = blocks_for(it, at->known) - hit_count;
    if (it->options->reserves_full_prompt && need_in_full + free_hits + headroom > count_free(it)) {
        return false;
    }
    if (need + free_hits + headroom > count_free(it)) {
        return false;
    }
    for (int i = 0; i < hit_count; i++) {
        it->blocks[hits[i]].holders++;
        at->blocks[at->block_count++] = hits[i];
    }
    at->hashed_count = hit_count;
    for (; need > 0; need--) {
        at->blocks[at->block_count++] = take_block(it);
    }
    cache_blocks(it, r, hit_tokens + tokens);
    return true;
}

/* ---- Queues ---- */

static bool is_before(const model *it, int a, int b) {
    int32_t priority_a = it->world->requests[a].desc.priority;
    int32_t priority_b = it->world->requests[b].desc.priority;
    return priority_a != priority_b ? priority_a < priority_b : a < b;
}

/* The place of the next waiting request. */
static int peek_waiting(const model *it) {
    int best = 0;
    for (int i = 1; it->world->engine.order == SLI_ORDER_PRIORITY && i < it->waiting.count; i++) {
        best = is_before(it, it->waiting.items[i], it->waiting.items[best]) ? i : best;
    }
    return best;
}

static int choose_victim(const model *it) {
    int place = it->running.count - 1;
    for (int i = 0; it->world->engine.victim == SLI_VICTIM_WORST && i < it->running.count; i++) {
        place = is_before(it, it->running.items[place], it->running.items[i]) ? i : place;
    }
    return it->running.items[place];
}

static void preempt(model *it, int r) {
    sequence *at = &it->sequences[r];
    report(it, r, SL_PREEMPT, 0, at->computed);
    for (int i = (int)(at->computed / block_size(it)); i < at->hashed_count; i++) {
        it->blocks[at->blocks[i]].like_request = NOBODY; /* was never computed */
    }
    free_blocks(it, r);
    at->computed = 0;
    at->scheduled = 0;
    list_remove(&it->running, list_find(&it->running, r));
    list_insert(&it->waiting, 0, r);
}

/* ---- schedule() ---- */

static int64_t chunk_of(const model *it, int64_t tokens) {
    int64_t threshold = it->options->long_prefill_tokens;
    return threshold > 0 && threshold < tokens ? threshold : tokens;
}

/* Pass A, the running requests; false when somebody was preempted. */
static bool schedule_running(model *it, int64_t *budget) {
    bool has_preempted = false;
    for (int i = 0; i<it->running.count && * budget> 0; i++) {
        int r = it->running.items[i];
        sequence *at = &it->sequences[r];
        int64_t tokens = at_most(chunk_of(it, at->known - at->computed), *budget);
        while (!allocate_running(it, r, tokens)) {
            int victim = choose_victim(it);
            *budget += it->sequences[victim].scheduled;
            i -= list_find(&it->running, victim) < i;
            preempt(it, victim);
            has_preempted = true;
            if (victim == r) {
                return false;
            }
        }
        at->scheduled = tokens;
        *budget -= tokens;
    }
    return !has_preempted;
}

/* Pass B, the waiting requests, until one does not fit. */
static void schedule_waiting(model *it, int64_t *budget) {
    while (it->waiting.count > 0 && *budget > 0 && it->running.count < it->world->engine.max_seqs) {
        int place = peek_waiting(it);
        int r = it->waiting.items[place];
        sequence *at = &it->sequences[r];
        int hits[BLOCKS];
        int hit_count = find_hits(it, r, hits);
        int64_t hit_tokens = hit_count * block_size(it);
        int64_t tokens = chunk_of(it, at->known - hit_tokens);
        if (!it->options->chunks_prefill && tokens > *budget) {
            return;
        }
        tokens = at_most(tokens, *budget);
        if (!allocate_waiting(it, r, hits, hit_count, tokens)) {
            return;
        }
        list_remove(&it->waiting, place);
        list_insert(&it->running, it->running.count, r);
        at->computed = hit_tokens;
        at->scheduled = tokens;
        *budget -= tokens;
        report(it, r, SL_ADMIT, 0, hit_tokens);
    }
}

static void begin_step(model *it) {
    int64_t budget;
    bool has_preempted;
    do {
        budget = it->world->engine.max_batched_tokens;
        has_preempted = !schedule_running(it, &budget);
        if (!has_preempted) {
            schedule_waiting(it, &budget);
        }
    } while (has_preempted && budget == it->world->engine.max_batched_tokens);
    int64_t tokens = it->world->engine.max_batched_tokens - budget;
    int64_t sequences = 0;
    for (int i = 0; i < it->running.count; i++) {
        sequences += it->sequences[it->running.items[i]].scheduled > 0;
    }
    const sli_fixed_config *cost = &it->world->cost;
    int64_t time = cost->step_ns + cost->token_ns * tokens + cost->sequence_ns * sequences;
    it->is_stepping = tokens > 0;
    it->step_end = it->now + (time > 0 ? time : 1);
}

/* ---- Time ---- */

static void release(model *it) {
    if (it->released_count < it->world->request_count) {
        it->due[it->due_count++] = it->now + it->world->requests[it->released_count++].delay_ns;
    }
}

static void end_request(model *it) {
    if (it->world->concurrency > 0) {
        release(it);
    }
}

static void advance(model *it, int r) {
    sequence *at = &it->sequences[r];
    at->computed += at->scheduled;
    at->scheduled = 0;
    if (at->computed < at->known) {
        return;
    }
    at->known++;
    at->output++;
    if (at->output == 1) {
        report(it, r, SL_FIRST, 0, 1);
    }
    if (at->output == at->output_wanted) {
        report(it, r, SL_FINISH, 0, at->output);
        list_remove(&it->running, list_find(&it->running, r));
        free_blocks(it, r);
        end_request(it);
    }
}

static void end_step(model *it) {
    it->is_stepping = false;
    list before = it->running;
    for (int i = 0; i < before.count; i++) {
        if (it->sequences[before.items[i]].scheduled > 0) {
            advance(it, before.items[i]);
        }
    }
}

static void arrive(model *it) {
    int r = it->arrived_count++;
    const sl_request_desc *desc = &it->world->requests[r].desc;
    int64_t output_wanted = sli_small_served_tokens(it->world, desc);
    bool is_shared = strcmp(it->world->route, "shared") == 0;
    it->sequences[r] = (sequence){.known = desc->prompt_tokens, .output_wanted = output_wanted};
    if (output_wanted == 0) {
        report(it, r, SL_ARRIVE, SL_NO_REPLICA, desc->prompt_tokens);
        report(it, r, SL_REJECT, SL_NO_REPLICA, desc->prompt_tokens);
        end_request(it);
        return;
    }
    report(it, r, SL_ARRIVE, is_shared ? SL_NO_REPLICA : 0, desc->prompt_tokens);
    list_insert(&it->waiting, it->waiting.count, r);
}

/* The place of the next arrival; NOBODY if none is due. */
static int next_due(const model *it) {
    int best = NOBODY;
    for (int i = 0; i < it->due_count; i++) {
        best = best == NOBODY || it->due[i] < it->due[best] ? i : best;
    }
    return best;
}

/* At one instant: the end of the step, then arrivals, then the next step. False at the end. */
static bool next_instant(model *it) {
    int due = next_due(it);
    if (due == NOBODY && !it->is_stepping) {
        return false;
    }
    bool is_step = it->is_stepping && (due == NOBODY || it->step_end <= it->due[due]);
    it->now = is_step ? it->step_end : it->due[due];
    if (is_step) {
        end_step(it);
    }
    for (due = next_due(it); due != NOBODY && it->due[due] == it->now; due = next_due(it)) {
        it->due[due] = it->due[--it->due_count];
        arrive(it);
    }
    if (!it->is_stepping) {
        begin_step(it);
    }
    return true;
}

size_t sli_vllm_model_run(const sli_small_world *world, const sli_vllm_options *options,
                          sl_transition log[SLI_VLLM_LOG]) {
    SL_ASSERT(world->replica_count == 1 && world->engine.pool.block_count <= BLOCKS);
    model it = {.world = world, .options = options, .log = log};
    for (int i = 0; i < BLOCKS; i++) {
        it.blocks[i] = (block){.like_request = NOBODY, .free_since = ++it.stamp};
    }
    int at_once = world->concurrency > 0 ? world->concurrency : world->request_count;
    for (int i = 0; i < at_once; i++) {
        release(&it);
    }
    while (next_instant(&it)) {
    }
    return it.log_count;
}
