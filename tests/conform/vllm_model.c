#include "vllm_model.h"

#include "base/check.h"
#include "vllm_blocks.h"

#include <string.h>

enum { NOBODY = SLI_VLLM_NOBODY };

typedef struct sequence {
    int64_t known; /* tokens: prompt and output so far */
    int64_t computed;
    int64_t scheduled; /* in the step that is planned or runs */
    int64_t output;
    int64_t output_wanted;
} sequence;

typedef struct list {
    int items[SLI_SMALL_REQUESTS];
    int count;
} list;

typedef struct model {
    const sli_small_world *world;
    const sli_vllm_options *options;
    int64_t now;
    sli_vllm_blocks blocks;
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
        it->now, (uint32_t)kind, replica, (uint64_t)r, tokens, sli_vllm_held_pages(&it->blocks, r)};
}

static int64_t at_most(int64_t a, int64_t b) {
    return a < b ? a : b;
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
    sli_vllm_uncache(&it->blocks, r, at->computed);
    sli_vllm_free(&it->blocks, r);
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

/* The size of the blocks at whose ends states are saved; 0 = there are none. */
static int64_t state_block_size(const model *it) {
    const sli_layout *layout = &it->blocks.layout;
    for (int g = 0; g < layout->group_count; g++) {
        if (layout->groups[g].kind == SLI_GROUP_STATE && it->world->engine.pool.has_index) {
            return layout->groups[g].block_tokens;
        }
    }
    return 0;
}

/*
 * A chunk of a prompt ends with a block as long as there is a full one ahead of it, and the last
 * full block ends one: _mamba_block_aligned_split. If it does not reach the end of a block it stays
 * as it is: there vLLM would not schedule the request at all.
 */
static int64_t align_chunk(const model *it, const sequence *at, int64_t computed, int64_t tokens) {
    int64_t size = state_block_size(it);
    if (size == 0 || at->known - computed == 1) {
        return tokens;
    }
    int64_t last_cached = at->known / size * size;
    int64_t end = computed + tokens;
    if (end > last_cached) {
        return computed < last_cached ? last_cached - computed : tokens;
    }
    int64_t aligned_end = end / size * size;
    return aligned_end > computed ? aligned_end - computed : tokens;
}

/* Pass A, the running requests; false when somebody was preempted. */
static bool schedule_running(model *it, int64_t *budget) {
    bool has_preempted = false;
    for (int i = 0; i<it->running.count && * budget> 0; i++) {
        int r = it->running.items[i];
        sequence *at = &it->sequences[r];
        int64_t tokens = at_most(chunk_of(it, at->known - at->computed), *budget);
        tokens = align_chunk(it, at, at->computed, tokens);
        while (!sli_vllm_allocate_running(&it->blocks, r, at->computed + tokens)) {
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
        /* At least one token is left to compute. */
        int64_t hit_tokens = sli_vllm_find_hit(&it->blocks, r, at->known - 1);
        int64_t tokens = chunk_of(it, at->known - hit_tokens);
        if (!it->options->chunks_prefill && tokens > *budget) {
            return;
        }
        tokens = at_most(tokens, *budget);
        if (it->options->chunks_prefill) {
            tokens = align_chunk(it, at, hit_tokens, tokens);
        }
        const sli_vllm_wish wish = {
            .hit_tokens = hit_tokens,
            .end_tokens = hit_tokens + tokens,
            .fit_tokens = it->options->reserves_full_prompt ? at->known : 0,
            .headroom_pages = it->running.count > 0 ? it->world->engine.watermark_blocks : 0,
        };
        if (!sli_vllm_allocate_waiting(&it->blocks, r, &wish)) {
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

/* Windows give back first what others can find, in running order, then all the rest. */
static void compute(model *it) {
    for (int i = 0; i < it->running.count; i++) {
        sequence *at = &it->sequences[it->running.items[i]];
        at->computed += at->scheduled;
        sli_vllm_skip(&it->blocks, it->running.items[i], at->computed, true);
    }
    for (int i = 0; i < it->running.count; i++) {
        int r = it->running.items[i];
        sli_vllm_skip(&it->blocks, r, it->sequences[r].computed, false);
    }
}

static void emit(model *it, int r) {
    sequence *at = &it->sequences[r];
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
        sli_vllm_free(&it->blocks, r);
        end_request(it);
    }
}

static void end_step(model *it) {
    it->is_stepping = false;
    compute(it);
    list before = it->running;
    for (int i = 0; i < before.count; i++) {
        if (it->sequences[before.items[i]].scheduled > 0) {
            emit(it, before.items[i]);
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
    SL_ASSERT(world->replica_count == 1);
    model it = {.world = world, .options = options, .log = log};
    sli_vllm_blocks_init(&it.blocks, world);
    int at_once = world->concurrency > 0 ? world->concurrency : world->request_count;
    for (int i = 0; i < at_once; i++) {
        release(&it);
    }
    while (next_instant(&it)) {
    }
    return it.log_count;
}
