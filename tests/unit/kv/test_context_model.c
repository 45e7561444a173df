/*
 * Contexts at random in two pools, against a model that knows blocks one by one.
 *
 * A context may return to the pool that it was preempted in or to the other one, so that private
 * contents lie parked in both. After every action everything that can be seen from outside is
 * compared: counts, lookups, and the queue from end to end, block by block.
 */
#include "block_model.h"
#include "kv/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { POOLS = 2, BLOCKS = 40, CONTEXTS = 6, ACTIONS = 200, SEQUENCES = CONTEXTS + ACTIONS };

/* How often what is to be tested came up. */
typedef struct census {
    int64_t hits;
    int64_t parked_hits; /* of private contents, by their own context */
    int64_t moves;       /* admitted to one pool with contents parked in the other */
    int64_t duplicates;  /* published although they could be found already */
    int64_t refusals;
    int64_t roll_backs;
    int64_t retractions;
} census;

typedef struct tenant {
    sli_context context;
    sli_block_table table;
    int pool; /* the one that it is in, or was in last */
    const sli_sequence *sequence;
    int64_t known_tokens;
} tenant;

typedef struct world {
    sli_rng rng;
    sli_pool pools[POOLS];
    sli_block_model models[POOLS];
    tenant tenants[CONTEXTS];
    sli_sequence sequences[SEQUENCES]; /* all that were ever drawn, as the index points at ids */
    int sequence_count;
    census census;
} world;

static int64_t draw(world *it, int64_t low, int64_t high) {
    return low + (int64_t)sli_rng_below(&it->rng, (uint64_t)(high - low + 1));
}

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t min_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Comparing ---- */

/* The block at a place of the queue has the contents that block number `depth` of a span has. */
static void assert_entry(const world *it, int p, const sli_span *span, int64_t depth, int place) {
    const sli_block_model *model = &it->models[p];
    const sli_model_page *block = &model->pages[model->queue[place]];
    if (span->kind == SLI_SPAN_BLANK) {
        assert_null(block->contents);
        return;
    }
    assert_non_null(block->contents);
    if (span->kind == SLI_SPAN_PARKED) {
        const tenant *parker = (const tenant *)span->parker; /* the context is its first member */
        int64_t first = parker->sequence->shared_tokens / model->block_tokens;
        assert_ptr_equal(block->contents, parker->sequence);
        assert_int_equal(block->length, (first + depth + 1) * model->block_tokens);
        return;
    }
    assert_int_equal(block->length, (span->run->start_block + depth + 1) * model->block_tokens);
    for (int64_t t = 0; t < block->length; t++) {
        assert_int_equal(block->contents->tokens[t], sli_model_token(&span->run->content, t));
    }
}

static void assert_queue(const world *it, int p) {
    const sli_pool *pool = &it->pools[p];
    int place = 0;
    for (const sli_span *span = pool->queue.after; span != &pool->queue; span = span->after) {
        int64_t blocks = span->kind == SLI_SPAN_COPY ? span->run->end_block - span->run->start_block
                                                     : span->blocks;
        while (blocks > 0 && place < it->models[p].free_pages) {
            assert_entry(it, p, span, --blocks, place++);
        }
        assert_int_equal(blocks, 0);
    }
    assert_int_equal(place, it->models[p].free_pages);
}

static void assert_hit(sli_hit hit, sli_hit expected) {
    assert_int_equal(hit.blocks, expected.blocks);
    assert_int_equal(hit.free_blocks, expected.free_blocks);
}

/* What anybody finds of a sequence, and what its own context finds where it holds nothing. */
static void assert_lookups(world *it, int p, const tenant *who) {
    static const sli_context stranger;
    int64_t max_tokens = draw(it, 0, who->known_tokens);
    int64_t shared_tokens = min_of(max_tokens, who->sequence->shared_tokens);
    assert_hit(sli_context_lookup(&stranger, &it->pools[p], &who->sequence->view, shared_tokens),
               sli_model_lookup(&it->models[p], who->sequence, shared_tokens));
    if (who->table.count == 0 || who->pool != p) {
        assert_hit(
            sli_context_lookup(&who->context, &it->pools[p], &who->sequence->view, max_tokens),
            sli_model_lookup(&it->models[p], who->sequence, max_tokens));
    }
}

static void assert_pool(world *it, int p) {
    const sli_pool *pool = &it->pools[p];
    const sli_block_model *model = &it->models[p];
    const sli_context *contexts[CONTEXTS];
    size_t count = 0;
    for (int i = 0; i < CONTEXTS; i++) {
        assert_lookups(it, p, &it->tenants[i]);
        if (it->tenants[i].pool == p) {
            contexts[count++] = &it->tenants[i].context;
        }
    }
    assert_int_equal(pool->free_blocks, model->free_pages);
    assert_int_equal(sli_pool_held_blocks(pool), model->page_count - model->free_pages);
    assert_int_equal(pool->cached_blocks, sli_model_cached(model));
    assert_queue(it, p);
    assert_false(pool->is_out_of_memory);
    const char *fault = sli_pool_audit(pool, contexts, count);
    if (fault != NULL) {
        fail_msg("audit: %s", fault);
    }
}

static void assert_agrees(world *it) {
    for (int p = 0; p < POOLS; p++) {
        assert_pool(it, p);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        const sli_context *context = &it->tenants[i].context;
        const sli_block_table *table = &it->tenants[i].table;
        assert_int_equal(context->block_count, table->count);
        assert_int_equal(context->tokens, table->tokens);
        assert_int_equal(context->published_blocks, table->published);
        assert_int_equal(context->reserved_blocks, table->reserved);
    }
}

/* ---- Actions ---- */

static void move_in(world *it, tenant *who) {
    sli_sequence *sequence = &it->sequences[it->sequence_count++];
    sli_sequence_draw(&it->rng, (uint64_t)it->sequence_count, sequence);
    who->sequence = sequence;
    who->known_tokens = sequence->prompt_tokens;
}

static void move_out(world *it, tenant *who) {
    sli_context_forget(&who->context);
    for (int p = 0; p < POOLS; p++) {
        sli_model_forget(&it->models[p], who->sequence);
    }
    assert_null(who->context.parked);
    move_in(it, who);
}

/* Slots at least for one token more than what was found. */
static sli_acquisition draw_acquisition(world *it, const tenant *who, sli_hit hit) {
    int64_t hit_tokens = hit.blocks * it->models[who->pool].block_tokens;
    return (sli_acquisition){
        .hit = hit,
        .tokens = draw(it, hit_tokens + 1, who->known_tokens),
        .reserve_tokens = draw(it, 0, 5) == 0 ? draw(it, 0, SLI_MODEL_TOKENS) : 0,
        .fit_tokens = draw(it, 0, 2) == 0 ? who->known_tokens : 0,
        .keep_free_blocks = draw(it, 0, 2),
    };
}

static void model_acquire(world *it, tenant *who, const sli_acquisition *want, int64_t take_to) {
    sli_block_model *model = &it->models[who->pool];
    sli_block_table *table = &who->table;
    for (int64_t hit = 1; hit <= want->hit.blocks; hit++) {
        int found = sli_model_find(model, who->sequence, 0, hit * model->block_tokens);
        sli_model_share(model, table, found);
        it->census.hits++;
        it->census.parked_hits += hit * model->block_tokens > who->sequence->shared_tokens;
    }
    sli_model_forget(model, who->sequence);
    while (table->count < take_to) {
        sli_model_take(model, 0, table);
    }
    table->hits = want->hit.blocks;
    table->published = want->hit.blocks;
    table->reserved = sli_model_blocks_for(model, want->reserve_tokens);
    table->tokens = want->tokens;
}

/* All but the last token; now and then fewer, which leaves more to be computed a second time. */
static int64_t draw_most_hit_tokens(world *it, const tenant *who) {
    return draw(it, 0, 3) == 0 ? draw(it, 0, who->known_tokens - 1) : who->known_tokens - 1;
}

static void acquire(world *it, tenant *who) {
    who->pool = (int)draw(it, 0, POOLS - 1);
    const sli_block_model *model = &it->models[who->pool];
    sli_hit hit = sli_model_lookup(model, who->sequence, draw_most_hit_tokens(it, who));
    sli_acquisition want = draw_acquisition(it, who, hit);
    int64_t take_to = sli_model_blocks_for(model, max_of(want.tokens, want.reserve_tokens));
    int64_t must_fit = max_of(take_to, sli_model_blocks_for(model, want.fit_tokens));
    int64_t need = must_fit - (hit.blocks - hit.free_blocks) + want.keep_free_blocks;
    int64_t missing = sli_context_acquire(&who->context, &it->pools[who->pool],
                                          &who->sequence->view, &want);
    assert_int_equal(missing, max_of(0, need - model->free_pages));
    if (missing > 0) {
        it->census.refusals++;
        return;
    }
    it->census.moves += sli_pool_parked(&it->pools[1 - who->pool], &who->context, 0) != NULL;
    model_acquire(it, who, &want, take_to);
}

/* By itself, or by blocks that somebody else takes for it. */
static void extend(world *it, tenant *who) {
    sli_pool *pool = &it->pools[who->pool];
    sli_block_model *model = &it->models[who->pool];
    int64_t tokens = min_of(SLI_MODEL_TOKENS, who->table.tokens + draw(it, 0, 8));
    int64_t need = max_of(0, sli_model_blocks_for(model, tokens) - who->table.count);
    assert_int_equal(sli_context_need(&who->context, pool, tokens), need);
    if (need > model->free_pages) {
        return;
    }
    if (draw(it, 0, 1) == 0) {
        sli_context_extend(&who->context, pool, tokens);
    } else {
        sli_pool_take(pool, need);
        sli_context_grow(&who->context, pool, tokens);
    }
    while (need-- > 0) {
        sli_model_take(model, 0, &who->table);
    }
    who->table.tokens = tokens;
    who->known_tokens = max_of(who->known_tokens, tokens);
}

static void publish(world *it, tenant *who) {
    sli_block_model *model = &it->models[who->pool];
    int64_t tokens = who->table.tokens;
    tokens = draw(it, 0, 2) > 0 ? tokens : draw(it, 0, tokens);
    sli_context_publish(&who->context, &it->pools[who->pool], &who->sequence->view, tokens);
    bool is_duplicate;
    do {
        int64_t length = (who->table.published + 1) * model->block_tokens;
        is_duplicate = length <= who->sequence->shared_tokens &&
                       sli_model_find(model, who->sequence, 0, length) >= 0;
        is_duplicate = is_duplicate && length <= tokens;
        it->census.duplicates += is_duplicate && model->has_index;
    } while (sli_model_publish_next(model, &who->table, who->sequence, tokens));
}

/* Only what nobody has found since. */
static void retract(world *it, tenant *who) {
    sli_block_model *model = &it->models[who->pool];
    sli_block_table *table = &who->table;
    int64_t keep = table->published;
    while (keep > table->hits && model->pages[table->blocks[keep - 1]].shares == 0 &&
           draw(it, 0, 3) > 0) {
        keep--;
    }
    int64_t tokens = keep * model->block_tokens + draw(it, 0, model->block_tokens - 1);
    sli_context_retract(&who->context, &it->pools[who->pool], tokens);
    while (table->published > keep) {
        model->pages[table->blocks[--table->published]].contents = NULL;
        it->census.retractions++;
    }
}

static void roll_back(world *it, tenant *who) {
    sli_block_model *model = &it->models[who->pool];
    sli_block_table *table = &who->table;
    int64_t tokens = draw(it, table->published * model->block_tokens, table->tokens);
    sli_context_roll_back(&who->context, &it->pools[who->pool], tokens);
    while (table->count > max_of(sli_model_blocks_for(model, tokens), table->reserved)) {
        sli_model_give_last(model, table, true);
        it->census.roll_backs++;
    }
    table->tokens = tokens;
}

/* Preempted, to come back with all it knows and one token more, or gone for good. */
static void release(world *it, tenant *who) {
    bool will_be_back = who->table.tokens < SLI_MODEL_TOKENS && draw(it, 0, 2) > 0;
    who->known_tokens = max_of(who->known_tokens, who->table.tokens + 1);
    sli_context_release(&who->context, &it->pools[who->pool], &who->sequence->view, will_be_back);
    while (who->table.count > 0) {
        sli_model_give_last(&it->models[who->pool], &who->table, false);
    }
    who->table = (sli_block_table){0};
    if (!will_be_back) {
        move_out(it, who);
    }
}

static void act_at_random(world *it) {
    static void (*const actions[])(world *, tenant *) = {
        extend, extend, publish, publish, publish, publish, retract, roll_back, release, release};
    tenant *who = &it->tenants[draw(it, 0, CONTEXTS - 1)];
    if (who->table.count > 0) {
        actions[draw(it, 0, 9)](it, who);
    } else if (draw(it, 0, 19) == 0) {
        move_out(it, who); /* its client went away while it waited */
    } else {
        acquire(it, who);
    }
}

/* ---- Worlds ---- */

static void world_init(world *it, int64_t block_count, int64_t block_tokens) {
    *it = (world){0};
    sli_rng_init(&it->rng, 1, "test-contexts", (uint64_t)block_count, (uint64_t)block_tokens);
    for (int p = 0; p < POOLS; p++) {
        const sli_pool_config config = {
            .block_count = p == 0 ? block_count : 1 + block_count / 2,
            .block_tokens = block_tokens,
            .has_index = block_count % 10 != 0,
            .caches_generated = block_count % 4 != 0,
        };
        assert_int_equal(sli_pool_init(&it->pools[p], &config), SL_OK);
        sli_model_init(&it->models[p], &config);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        move_in(it, &it->tenants[i]);
    }
}

static void world_fini(world *it) {
    for (int i = 0; i < CONTEXTS; i++) {
        tenant *who = &it->tenants[i];
        sli_context_release(&who->context, &it->pools[who->pool], &who->sequence->view, false);
        sli_context_forget(&who->context);
    }
    for (int p = 0; p < POOLS; p++) {
        assert_int_equal(it->pools[p].free_blocks, it->models[p].page_count);
        assert_null(sli_pool_audit(&it->pools[p], NULL, 0));
        sli_pool_fini(&it->pools[p]);
    }
}

static void count_up(census *sum, const census *one) {
    sum->hits += one->hits;
    sum->parked_hits += one->parked_hits;
    sum->moves += one->moves;
    sum->duplicates += one->duplicates;
    sum->refusals += one->refusals;
    sum->roll_backs += one->roll_backs;
    sum->retractions += one->retractions;
}

static void agrees_with_a_model_that_knows_every_block(void **state) {
    (void)state;
    static world it;
    census sum = {0};
    int64_t evictions = 0;
    for (int64_t block_count = 1; block_count <= BLOCKS; block_count++) {
        for (int64_t block_tokens = 1; block_tokens <= 8; block_tokens++) {
            world_init(&it, block_count, block_tokens);
            for (int action = 0; action < ACTIONS; action++) {
                act_at_random(&it);
                assert_agrees(&it);
            }
            count_up(&sum, &it.census);
            evictions += it.models[0].evictions + it.models[1].evictions;
            world_fini(&it);
        }
    }
    /* The worlds were full of what is to be tested. */
    assert_true(sum.hits > 2000 && sum.parked_hits > 300 && sum.moves > 100);
    assert_true(sum.duplicates > 150 && sum.refusals > 1000 && evictions > 1000);
    assert_true(sum.roll_backs > 1000 && sum.retractions > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_model_that_knows_every_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
