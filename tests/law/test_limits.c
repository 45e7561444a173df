/*
 * What no step may exceed, and what no first token can beat, in every small world.
 */
#include "worlds.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Steps ---- */

static void law_step(const sli_law_run *run) {
    const sli_cluster_config *cluster = &run->simulation.execution.deployment.cluster;
    bool is_full = false; /* the limits are reached, or they would prove nothing */
    for (size_t i = 0; i < run->history.step_count; i++) {
        const sl_step_record *step = &run->history.steps[i];
        if (run->world->has_budget) {
            assert_true(step->tokens <= cluster->engine.max_batched_tokens);
            is_full = is_full || step->tokens == cluster->engine.max_batched_tokens;
        }
        assert_true(step->running <= cluster->engine.max_seqs);
        is_full = is_full || step->running == cluster->engine.max_seqs;
        assert_true(step->sequences >= 1 && step->sequences <= step->running);
        assert_true(step->tokens >= step->sequences);
        assert_true(step->prefill_tokens >= 0 && step->prefill_tokens <= step->tokens);
    }
    assert_true(is_full);
}

static void steps_respect_budget_and_seats(void **state) {
    (void)state;
    sli_hold_worlds_to(law_step);
}

static void law_blocks(const sli_law_run *run) {
    const sli_deployment *deployment = &run->simulation.execution.deployment;
    const sli_budget *budget = &deployment->budget;
    for (size_t i = 0; i < run->history.step_count; i++) {
        const sl_step_record *step = &run->history.steps[i];
        assert_int_equal(step->pool_blocks, budget->blocks);
        assert_true(step->held_blocks >= 1);
        assert_true(step->held_blocks + step->cached_blocks <= step->pool_blocks);
        /* What is computed lies in blocks; only shared ones hold tokens of two requests. */
        int64_t room_tokens = step->held_blocks * deployment->cluster.engine.pool.block_tokens;
        assert_true(run->world->is_shared || step->tokens <= room_tokens);
    }
    assert_int_equal(budget->usable_bytes, budget->weights_bytes + budget->activation_bytes +
                                               budget->workspace_bytes + budget->graphs_bytes +
                                               budget->other_bytes + budget->kv_bytes);
    assert_true(budget->usable_bytes <= budget->capacity_bytes);
    assert_true(budget->blocks * budget->block_bytes <= budget->kv_bytes);
}

static void kv_stays_within_the_pool_and_the_pool_within_the_device(void **state) {
    (void)state;
    sli_hold_worlds_to(law_blocks);
}

static void law_barrier(const sli_law_run *run) {
    int64_t free_ns[4] = {0}; /* replicas */
    for (size_t i = 0; i < run->history.step_count; i++) {
        const sl_step_record *step = &run->history.steps[i];
        assert_true(step->replica < 4);
        assert_true(step->start_ns >= free_ns[step->replica]);
        assert_true(step->end_ns > step->start_ns);
        free_ns[step->replica] = step->end_ns;
    }
}

static void replicas_do_one_step_at_a_time(void **state) {
    (void)state;
    sli_hold_worlds_to(law_barrier);
}

/* ---- First tokens ---- */

/* One chunk over `past_tokens`, by the words of sluice/cost.h. */
static sl_batch_shape chunk(int64_t tokens, int64_t past_tokens, bool emits) {
    sl_batch_shape shape = {.tokens = tokens, .sequences = 1, .emitting = emits};
    if (tokens == 1 && past_tokens > 0) {
        shape.decodes = 1;
        shape.decode_kv_tokens = shape.decode_kv_max = past_tokens + 1;
        return shape;
    }
    shape.prefills = 1;
    shape.prefill_tokens = tokens;
    shape.prefill_kv_tokens = shape.prefill_kv_max = past_tokens + tokens;
    shape.prefill_pairs = tokens * past_tokens + tokens * (tokens + 1) / 2;
    shape.prefill_tile_pairs_x2 = (tokens + 127) / 128 * 128 * (2 * past_tokens + tokens + 128);
    return shape;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static sl_batch_shape together(const sl_batch_shape *a, const sl_batch_shape *b) {
    return (sl_batch_shape){
        .tokens = a->tokens + b->tokens,
        .sequences = a->sequences + b->sequences,
        .emitting = a->emitting + b->emitting,
        .decodes = a->decodes + b->decodes,
        .decode_kv_tokens = a->decode_kv_tokens + b->decode_kv_tokens,
        .decode_kv_max = larger(a->decode_kv_max, b->decode_kv_max),
        .prefills = a->prefills + b->prefills,
        .prefill_tokens = a->prefill_tokens + b->prefill_tokens,
        .prefill_kv_tokens = a->prefill_kv_tokens + b->prefill_kv_tokens,
        .prefill_kv_max = larger(a->prefill_kv_max, b->prefill_kv_max),
        .prefill_pairs = a->prefill_pairs + b->prefill_pairs,
        .prefill_tile_pairs_x2 = a->prefill_tile_pairs_x2 + b->prefill_tile_pairs_x2,
    };
}

static int64_t cost_ns(const sli_law_run *run, sl_batch_shape shape) {
    const sl_cost_model *model = &run->simulation.execution.deployment.cluster.cost;
    sl_step_cost cost;
    model->ops->step(model->self, &shape, &cost);
    return cost.total_ns;
}

static const int64_t lengths[] = {1, 2, 17, 96, 127, 128, 129, 255, 256, 700, 1024, 3000, 8192};
enum { LENGTH_COUNT = sizeof lengths / sizeof lengths[0] };

/* The first of two lemmas for the law below: two chunks never cost less than both in one. */
static void law_cutting(const sli_law_run *run) {
    for (int i = 0; i < LENGTH_COUNT; i++) {
        for (int j = 0; j < LENGTH_COUNT; j++) {
            for (int k = 0; k < LENGTH_COUNT; k++) {
                int64_t past_tokens = lengths[k] - 1;
                int64_t whole_ns = cost_ns(run, chunk(lengths[i] + lengths[j], past_tokens, true));
                int64_t parts_ns = cost_ns(run, chunk(lengths[i], past_tokens, false)) +
                                   cost_ns(run, chunk(lengths[j], past_tokens + lengths[i], true));
                assert_true(parts_ns >= whole_ns);
            }
        }
    }
}

static void cutting_a_prompt_saves_nothing(void **state) {
    (void)state;
    sli_hold_worlds_to(law_cutting);
}

/* The second: a step never gets shorter by more in it. */
static void law_company(const sli_law_run *run) {
    for (int i = 0; i < LENGTH_COUNT; i++) {
        for (int j = 0; j < LENGTH_COUNT; j++) {
            for (int k = 0; k < LENGTH_COUNT; k++) {
                sl_batch_shape alone = chunk(lengths[i], lengths[k] - 1, true);
                sl_batch_shape prompt = chunk(lengths[j], 0, false);
                sl_batch_shape decode = chunk(1, lengths[j], true);
                assert_true(cost_ns(run, together(&alone, &prompt)) >= cost_ns(run, alone));
                assert_true(cost_ns(run, together(&alone, &decode)) >= cost_ns(run, alone));
            }
        }
    }
}

static void company_never_shortens_a_step(void **state) {
    (void)state;
    sli_hold_worlds_to(law_company);
}

/*
 * A bound from below for the time to the first token, however the prompt was cut and whoever was
 * in the batch: by the lemmas, one chunk alone of what was not found in the index. A preempted
 * request may find more when it comes back, its own work or that of others; what is then left
 * was computed over some past, and the cheapest past is none.
 */
static int64_t own_prefill_ns(const sli_law_run *run, const sl_request_record *record) {
    if (record->preemption_count == 0) {
        return cost_ns(run,
                       chunk(record->prompt_tokens - record->hit_tokens, record->hit_tokens, true));
    }
    int64_t tokens = record->prompt_tokens - record->hit_tokens - record->rehit_tokens;
    return tokens > 0 ? cost_ns(run, chunk(tokens, 0, true)) : 0;
}

static void law_first_token(const sli_law_run *run) {
    int exact = 0;
    for (size_t i = 0; i < run->history.record_count; i++) {
        const sl_request_record *record = &run->history.records[i];
        if (record->first_token_ns < 0) {
            continue;
        }
        int64_t bound_ns = own_prefill_ns(run, record);
        assert_true(record->first_token_ns - record->admit_ns >= bound_ns);
        exact += record->first_token_ns - record->arrival_ns == bound_ns;
    }
    /* The bound is sharp: whoever comes into an empty replica and is not cut meets it. */
    assert_true(exact > 0);
}

static void first_token_takes_its_own_prefill(void **state) {
    (void)state;
    sli_hold_worlds_to(law_first_token);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SLI_LAW_TEST(steps_respect_budget_and_seats),
        SLI_LAW_TEST(kv_stays_within_the_pool_and_the_pool_within_the_device),
        SLI_LAW_TEST(replicas_do_one_step_at_a_time),
        SLI_LAW_TEST(cutting_a_prompt_saves_nothing),
        SLI_LAW_TEST(company_never_shortens_a_step),
        SLI_LAW_TEST(first_token_takes_its_own_prefill),
    };
    return cmocka_run_group_tests(tests, sli_worlds_open, sli_worlds_close);
}
