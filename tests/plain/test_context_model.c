/*
 * Contexts at random, against a model that knows blocks as lists of tokens.
 *
 * The model has no queue, no keys and no hash: a free block carries the time when it became free, a
 * findable one all tokens from the start of its sequence to its own end, and every answer is a
 * search through all blocks.
 */
#include "kernel/rng.h"
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    MAX_BLOCKS = 40,
    MAX_TOKENS = 32, /* of one request, generated ones included */
    REQUESTS = 6,
};

static sli_pool make_pool(int64_t block_count, int64_t block_tokens, bool caches_generated) {
    const sli_pool_config config = {.block_count = block_count,
                                    .block_tokens = block_tokens,
                                    .has_index = true,
                                    .caches_generated = caches_generated};
    sli_pool pool;
    assert_int_equal(sli_pool_init(&pool, &config), SL_OK);
    return pool;
}

static void assert_sound(const sli_pool *pool, const sli_context contexts[REQUESTS]) {
    const sli_context *pointers[REQUESTS];
    for (int i = 0; i < REQUESTS; i++) {
        pointers[i] = &contexts[i];
    }
    const char *fault = sli_pool_audit(pool, pointers, REQUESTS);
    if (fault != NULL) {
        fail_msg("audit: %s", fault);
    }
}

/* ---- The model ---- */

typedef struct model_block {
    int holders;
    int64_t freed_at; /* the order of eviction; what was put back is older than all */
    int64_t published_at;
    bool is_findable;
    int64_t length; /* tokens from the start of the sequence to the end of the block */
    uint64_t tokens[MAX_TOKENS];
} model_block;

typedef struct model_context {
    uint32_t blocks[MAX_BLOCKS];
    int64_t count;
    int64_t reserved;
    int64_t published;
    int64_t tokens;
} model_context;

typedef struct model_request {
    uint64_t ids[MAX_TOKENS];
    uint64_t tokens[MAX_TOKENS]; /* what each token is, generated ones included */
    int64_t final_tokens;
    int64_t known_tokens;
    sli_content_view view;
} model_request;

typedef struct world {
    sli_rng rng;
    sli_pool pool;
    sli_context contexts[REQUESTS];
    model_block blocks[MAX_BLOCKS];
    model_context models[REQUESTS];
    model_request requests[REQUESTS];
    uint64_t next_request;
    uint64_t evicted;
    int64_t now;
    int64_t hit_tokens;  /* ever, to see that the worlds are not dull */
    int64_t refusals;    /* likewise */
    int64_t roll_backs;  /* likewise */
    int64_t retractions; /* likewise */
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/*
 * A shared token is its unit and its place in it; a private one belongs to its request. An id
 * spells the path to its unit, one bit a choice, and how far the last one is filled.
 */
static void draw_request(world *it, model_request *drawn) {
    int64_t unit_tokens = draw(it, 1, 6);
    int64_t prompt_tokens = draw(it, 1, 24);
    int64_t unit_count = draw(it, 0, (prompt_tokens + unit_tokens - 1) / unit_tokens);
    uint64_t request = it->next_request++;
    uint64_t path = 8 + (uint64_t)unit_tokens; /* units of other lengths are other units */
    drawn->final_tokens = draw(it, prompt_tokens, prompt_tokens + 8);
    drawn->known_tokens = prompt_tokens;
    drawn->view = (sli_content_view){
        {drawn->ids, unit_count, unit_tokens, 1 + request % 2}, request, prompt_tokens};
    for (int64_t i = 0; i < unit_count; i++) {
        bool is_partial = (i + 1) * unit_tokens > prompt_tokens;
        path = path * 2 + (uint64_t)(draw(it, 0, 5) == 0);
        drawn->ids[i] = path * 8 + (uint64_t)(is_partial ? prompt_tokens % unit_tokens : 0);
    }
    for (int64_t t = 0; t < drawn->final_tokens; t++) {
        bool is_shared = t < prompt_tokens && t < unit_count * unit_tokens;
        uint64_t place = (uint64_t)(is_shared ? t % unit_tokens : t);
        uint64_t owner = is_shared ? drawn->ids[t / unit_tokens] : request;
        drawn->tokens[t] = owner * 1000 + place * 10 + (is_shared ? drawn->view.content.scope : 0);
    }
}

static uint32_t oldest_free(const world *it, int64_t not_before) {
    uint32_t oldest = SLI_NO_BLOCK;
    for (uint32_t block = 0; block < it->pool.config.block_count; block++) {
        const model_block *candidate = &it->blocks[block];
        if (candidate->holders == 0 && candidate->freed_at >= not_before &&
            (oldest == SLI_NO_BLOCK || candidate->freed_at < it->blocks[oldest].freed_at)) {
            oldest = block;
        }
    }
    return oldest;
}

static uint32_t oldest_copy(const world *it, const model_request *request, int64_t length) {
    uint32_t oldest = SLI_NO_BLOCK;
    for (uint32_t block = 0; block < it->pool.config.block_count; block++) {
        const model_block *candidate = &it->blocks[block];
        if (candidate->is_findable && candidate->length == length &&
            memcmp(candidate->tokens, request->tokens, (size_t)length * sizeof(uint64_t)) == 0 &&
            (oldest == SLI_NO_BLOCK || candidate->published_at < it->blocks[oldest].published_at)) {
            oldest = block;
        }
    }
    return oldest;
}

static int64_t lookup(const world *it, const model_request *request, int64_t max_tokens) {
    int64_t block_tokens = it->pool.config.block_tokens;
    int64_t length = 0;
    while (length + block_tokens <= max_tokens &&
           oldest_copy(it, request, length + block_tokens) != SLI_NO_BLOCK) {
        length += block_tokens;
    }
    return length;
}

static int64_t blocks_for(const world *it, int64_t tokens) {
    int64_t count = 0;
    while (count * it->pool.config.block_tokens < tokens) {
        count++;
    }
    return count;
}

static int64_t count_free(const world *it) {
    int64_t count = 0;
    for (uint32_t block = 0; block < it->pool.config.block_count; block++) {
        count += it->blocks[block].holders == 0;
    }
    return count;
}

static void assert_agrees(const world *it) {
    uint32_t in_queue = it->pool.blocks[it->pool.config.block_count].next;
    int64_t cached_blocks = 0;
    int64_t not_before = INT64_MIN;
    for (uint32_t block = oldest_free(it, not_before); block != SLI_NO_BLOCK;
         block = oldest_free(it, not_before)) {
        assert_int_equal(in_queue, block);
        in_queue = it->pool.blocks[in_queue].next;
        cached_blocks += it->blocks[block].is_findable;
        not_before = it->blocks[block].freed_at + 1;
    }
    assert_int_equal(in_queue, it->pool.config.block_count);
    assert_int_equal(it->pool.free_blocks, count_free(it));
    assert_int_equal(it->pool.cached_blocks, cached_blocks);
    assert_int_equal(it->pool.evicted_blocks, it->evicted);
    for (int i = 0; i < REQUESTS; i++) {
        const model_context *model = &it->models[i];
        assert_int_equal(it->contexts[i].block_count, model->count);
        assert_int_equal(it->contexts[i].tokens, model->tokens);
        assert_int_equal(it->contexts[i].published_blocks, model->published);
        assert_int_equal(it->contexts[i].reserved_blocks, model->reserved);
        for (int64_t j = 0; j < model->count; j++) {
            assert_int_equal(it->contexts[i].blocks[j], model->blocks[j]);
        }
        const model_request *request = &it->requests[i];
        assert_int_equal(sli_context_lookup(&it->pool, &request->view, request->final_tokens),
                         lookup(it, request, request->final_tokens));
    }
    assert_sound(&it->pool, it->contexts);
}

static void model_take(world *it, model_context *model) {
    uint32_t block = oldest_free(it, INT64_MIN);
    it->evicted += it->blocks[block].is_findable;
    it->blocks[block].is_findable = false;
    it->blocks[block].holders = 1;
    model->blocks[model->count++] = block;
}

static void acquire(world *it, int i) {
    model_context *model = &it->models[i];
    const model_request *request = &it->requests[i];
    int64_t hit_tokens = lookup(it, request, request->known_tokens - 1);
    int64_t hits = hit_tokens / it->pool.config.block_tokens;
    sli_acquisition want = {
        .hit_tokens = hit_tokens,
        .tokens = draw(it, hit_tokens + 1, request->known_tokens),
        .reserve_tokens = draw(it, 0, 3) == 0 ? draw(it, 0, request->final_tokens) : 0,
        .fit_tokens = draw(it, 0, 1) == 0 ? request->known_tokens : 0,
        .keep_free_blocks = draw(it, 0, 2),
        .final_tokens = request->final_tokens,
    };
    int64_t free_hits = 0;
    for (int64_t j = 0; j < hits; j++) {
        uint32_t block = oldest_copy(it, request, (j + 1) * it->pool.config.block_tokens);
        free_hits += it->blocks[block].holders == 0;
    }
    int64_t take_to = blocks_for(it, max_of(want.tokens, want.reserve_tokens));
    int64_t must_fit = max_of(take_to, blocks_for(it, want.fit_tokens));
    int64_t expected_missing = max_of(0, must_fit - hits + free_hits + want.keep_free_blocks -
                                             count_free(it));
    int64_t missing_blocks = -1;
    assert_int_equal(
        sli_context_acquire(&it->contexts[i], &it->pool, &request->view, &want, &missing_blocks),
        SL_OK);
    assert_int_equal(missing_blocks, expected_missing);
    if (missing_blocks > 0) {
        it->refusals++;
        return;
    }
    for (int64_t j = 0; j < hits; j++) {
        uint32_t block = oldest_copy(it, request, (j + 1) * it->pool.config.block_tokens);
        it->blocks[block].holders++;
        model->blocks[model->count++] = block;
    }
    while (model->count < take_to) {
        model_take(it, model);
    }
    model->reserved = blocks_for(it, want.reserve_tokens);
    model->published = hits;
    model->tokens = want.tokens;
    it->hit_tokens += hit_tokens;
}

static void extend(world *it, int i) {
    model_context *model = &it->models[i];
    model_request *request = &it->requests[i];
    int64_t tokens = draw(it, model->tokens, request->final_tokens);
    int64_t need = max_of(0, blocks_for(it, tokens) - model->count);
    assert_int_equal(sli_context_need(&it->contexts[i], &it->pool, tokens), need);
    if (need > count_free(it)) {
        return;
    }
    assert_int_equal(sli_context_extend(&it->contexts[i], &it->pool, tokens), SL_OK);
    while (need-- > 0) {
        model_take(it, model);
    }
    model->tokens = tokens;
    request->known_tokens = max_of(request->known_tokens, tokens);
}

static void publish(world *it, int i) {
    model_context *model = &it->models[i];
    const model_request *request = &it->requests[i];
    int64_t tokens = draw(it, 0, model->tokens);
    sli_context_publish(&it->contexts[i], &it->pool, &request->view, tokens);
    for (int64_t length = (model->published + 1) * it->pool.config.block_tokens; length <= tokens;
         length += it->pool.config.block_tokens) {
        if (length > request->view.prompt_tokens && !it->pool.config.caches_generated) {
            break;
        }
        model_block *block = &it->blocks[model->blocks[model->published++]];
        block->is_findable = true;
        block->published_at = it->now++;
        block->length = length;
        memcpy(block->tokens, request->tokens, (size_t)length * sizeof(uint64_t));
    }
}

static void retract(world *it, int i) {
    model_context *model = &it->models[i];
    int64_t keep = model->published;
    while (keep > 0 && it->blocks[model->blocks[keep - 1]].holders == 1 && draw(it, 0, 3) > 0) {
        keep--;
    }
    int64_t tokens = keep * it->pool.config.block_tokens +
                     draw(it, 0, it->pool.config.block_tokens - 1);
    sli_context_retract(&it->contexts[i], &it->pool, tokens);
    while (model->published > keep) {
        it->blocks[model->blocks[--model->published]].is_findable = false;
        it->retractions++;
    }
}

static void roll_back(world *it, int i) {
    model_context *model = &it->models[i];
    int64_t tokens = draw(it, model->published * it->pool.config.block_tokens, model->tokens);
    sli_context_roll_back(&it->contexts[i], &it->pool, tokens);
    while (model->count > max_of(blocks_for(it, tokens), model->reserved)) {
        model_block *block = &it->blocks[model->blocks[--model->count]];
        block->holders = 0;
        block->freed_at = -it->now++;
        it->roll_backs++;
    }
    model->tokens = tokens;
}

/* Preempted, to come back with all it knows, or gone for good. */
static void release(world *it, int i) {
    model_context *model = &it->models[i];
    sli_context_release(&it->contexts[i], &it->pool);
    while (model->count > 0) {
        model_block *block = &it->blocks[model->blocks[--model->count]];
        block->holders--;
        block->freed_at = it->now++;
    }
    *model = (model_context){0};
    if (draw(it, 0, 1) == 0) {
        draw_request(it, &it->requests[i]);
    }
}

static void act_at_random(world *it) {
    static void (*const actions[])(world *, int) = {extend,  publish,   publish,
                                                    retract, roll_back, release};
    int i = (int)draw(it, 0, REQUESTS - 1);
    it->now++;
    if (it->models[i].count == 0) {
        acquire(it, i);
    } else {
        actions[draw(it, 0, 5)](it, i);
    }
}

static void world_init(world *it, int64_t block_count, int64_t block_tokens) {
    *it = (world){.pool = make_pool(block_count, block_tokens, block_count % 4 != 0)};
    sli_rng_init(&it->rng, 1, "test-contexts", (uint64_t)block_count, (uint64_t)block_tokens);
    for (int64_t block = 0; block < block_count; block++) {
        it->blocks[block].freed_at = it->now++;
    }
    for (int i = 0; i < REQUESTS; i++) {
        draw_request(it, &it->requests[i]);
    }
}

static void world_fini(world *it) {
    for (int i = 0; i < REQUESTS; i++) {
        sli_context_fini(&it->contexts[i], &it->pool);
    }
    assert_int_equal(it->pool.free_blocks, it->pool.config.block_count);
    sli_pool_fini(&it->pool);
}

static void agrees_with_a_model_that_compares_tokens(void **state) {
    (void)state;
    static world it;
    world sum = {0};
    for (int64_t block_count = 1; block_count <= MAX_BLOCKS; block_count++) {
        for (int64_t block_tokens = 1; block_tokens <= 8; block_tokens++) {
            world_init(&it, block_count, block_tokens);
            for (int action = 0; action < 150; action++) {
                act_at_random(&it);
                assert_agrees(&it);
            }
            sum.evicted += it.evicted;
            sum.hit_tokens += it.hit_tokens;
            sum.refusals += it.refusals;
            sum.roll_backs += it.roll_backs;
            sum.retractions += it.retractions;
            world_fini(&it);
        }
    }
    /* The worlds were full of what is to be tested. */
    assert_true(sum.evicted > 1000 && sum.hit_tokens > 1000 && sum.refusals > 1000);
    assert_true(sum.roll_backs > 1000 && sum.retractions > 1000);
}

/* ---- Laws ---- */

/* What two pools in the same state have in common. */
typedef struct snapshot {
    uint32_t queue[MAX_BLOCKS];
    uint32_t holders[MAX_BLOCKS];
    sli_prefix_entry entries[MAX_BLOCKS]; /* of findable blocks, else zero */
    int64_t free_blocks;
    int64_t cached_blocks;
} snapshot;

static void take_snapshot(const sli_pool *pool, snapshot *taken) {
    memset(taken, 0, sizeof *taken);
    taken->free_blocks = pool->free_blocks;
    taken->cached_blocks = pool->cached_blocks;
    uint32_t block = (uint32_t)pool->config.block_count;
    for (int64_t i = 0; i < pool->free_blocks; i++) {
        block = pool->blocks[block].next;
        taken->queue[i] = block;
    }
    for (block = 0; block < pool->config.block_count; block++) {
        taken->holders[block] = pool->blocks[block].reference_count;
        const sli_prefix_entry *entry = &pool->prefix.entries[block];
        if (entry->is_findable) {
            taken->entries[block].key = entry->key;
            taken->entries[block].next = entry->next;
            taken->entries[block].is_findable = true;
        }
    }
}

static void assert_same_state(const snapshot *a, const snapshot *b) {
    assert_memory_equal(a, b, sizeof *a);
}

/* Extends as far as blocks last, publishes if asked to, undoes both, and compares. */
static bool undo_and_compare(world *it, int i, bool publishes) {
    sli_context *context = &it->contexts[i];
    const model_request *request = &it->requests[i];
    int64_t tokens = context->tokens;
    int64_t published_tokens = context->published_blocks * it->pool.config.block_tokens;
    if (sli_context_need(context, &it->pool, request->final_tokens) > it->pool.free_blocks) {
        return false;
    }
    snapshot before;
    snapshot after;
    take_snapshot(&it->pool, &before);
    uint64_t evicted = it->pool.evicted_blocks;
    assert_int_equal(sli_context_extend(context, &it->pool, request->final_tokens), SL_OK);
    if (publishes) {
        sli_context_publish(context, &it->pool, &request->view, request->final_tokens);
        sli_context_retract(context, &it->pool, published_tokens);
    }
    sli_context_roll_back(context, &it->pool, tokens);
    take_snapshot(&it->pool, &after);
    assert_int_equal(context->tokens, tokens);
    assert_int_equal(context->published_blocks * it->pool.config.block_tokens, published_tokens);
    assert_int_equal(context->block_count, it->models[i].count);
    assert_int_equal(after.free_blocks, before.free_blocks);
    assert_memory_equal(after.queue, before.queue, sizeof before.queue);
    assert_memory_equal(after.holders, before.holders, sizeof before.holders);
    assert_sound(&it->pool, it->contexts);
    bool was_undone = it->pool.evicted_blocks == evicted; /* else contents are lost for good */
    if (was_undone) {
        assert_same_state(&before, &after);
    }
    return was_undone;
}

static void check_undoing(bool publishes) {
    static world it;
    int undone_count = 0;
    for (int64_t block_count = 4; block_count <= MAX_BLOCKS; block_count++) {
        for (int64_t block_tokens = 1; block_tokens <= 8; block_tokens++) {
            world_init(&it, block_count, block_tokens);
            for (int action = 0; action < 40; action++) {
                act_at_random(&it);
            }
            for (int i = 0; i < REQUESTS; i++) {
                if (it.models[i].count > 0) {
                    undone_count += undo_and_compare(&it, i, publishes);
                }
            }
            world_fini(&it);
        }
    }
    assert_true(undone_count > 200);
}

static void extended_and_rolled_back_is_as_never_extended(void **state) {
    (void)state;
    check_undoing(false);
}

static void retracting_undoes_publishing(void **state) {
    (void)state;
    check_undoing(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_model_that_compares_tokens),
        cmocka_unit_test(extended_and_rolled_back_is_as_never_extended),
        cmocka_unit_test(retracting_undoes_publishing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
