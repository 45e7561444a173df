/* Models whose layers throw tokens out: what these keep, see and compute then. */
#include "keep_methods.h"

#include "model/opcount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

/* ---- Layers ---- */

static const sli_architecture *model_of(const char *name) {
    const sli_architecture *model = NULL;
    sli_catalogue_site nowhere = {.key = NULL};
    assert_int_equal(sli_architecture_read(&arena, name, nowhere, &diag, &model), SL_OK);
    return model;
}

static const sli_architecture *cut_by(const char *model, const sli_keep *keep) {
    const sli_architecture *cut = NULL;
    assert_int_equal(sli_keep_cut(&arena, model_of(model), keep, &cut), SL_OK);
    return cut;
}

/* Llama 3.1 8B: 32 layers of 32 query heads and 8 key heads of 128. */
static const sli_part_facts *facts_of(const sli_keep *keep) {
    const sli_layer_run *runs = cut_by("llama-3.1-8b", keep)->layers.rows;
    assert_int_equal(runs[0].count, 32);
    return &runs[0].mixer->facts;
}

static void keys_and_values_that_stay_are_kept_read_and_seen(void **state) {
    (void)state;
    const sli_part_facts *facts = facts_of(&keep_snapkv);
    assert_int_equal(facts->store_count, 2);
    assert_int_equal(facts->decode_count, 1);
    for (int i = 0; i < facts->store_count; i++) {
        assert_int_equal(facts->stores[i].kept.kind, SLI_GROWTH_KEPT);
        assert_int_equal(facts->stores[i].read.kind, SLI_GROWTH_KEPT);
        assert_int_equal(facts->stores[i].kept.kept->cap_rows, 4096);
    }
    assert_int_equal(facts->decode[0].visible.kind, SLI_GROWTH_KEPT);
    assert_int_equal(facts->prefill[0].visible.kind, SLI_GROWTH_KEPT);
}

/* Scores of 4 bytes for 8 heads; 32 additions a row; (2 x 128 + 1) x 32 FLOPs a pair. */
static void work_besides_is_counted_by_hand(void **state) {
    (void)state;
    const sli_part_facts *facts = facts_of(&keep_streaming_llm);
    assert_int_equal(facts->decode_count, 2);
    assert_true(facts->decode[1].row_flops == 3.0 * 8 * 128);
    assert_int_equal(facts->prefill_count, 1);

    facts = facts_of(&keep_h2o);
    assert_int_equal(facts->store_count, 3);
    assert_int_equal(facts->stores[2].heads * facts->stores[2].element_bytes, 8 * 4);
    assert_true(facts->stores[2].is_rewritten);
    assert_true(sli_growth_is_constant(&facts->stores[2].kept)); /* outside of the pages */
    assert_int_equal(facts->stores[2].kept.cap_rows, 0);
    assert_true(facts->decode[1].row_flops == 32.0);
    assert_true(facts->prefill[1].row_flops == 32.0 * (2 * 128 + 1));
    assert_int_equal(facts->prefill[1].visible.kind, SLI_GROWTH_KEPT);

    sli_keep scissorhands = keep_snapkv;
    scissorhands.work = (sl_keep_work){.has_scores = true, .observed_tokens = 400};
    facts = facts_of(&scissorhands);
    assert_int_equal(facts->store_count, 3);
    assert_true(facts->prefill[1].row_flops == 32.0 * (2 * 128 + 1));
    assert_int_equal(sli_growth_at(&facts->prefill[1].visible, 477), 400);

    facts = facts_of(&keep_snapkv);
    assert_int_equal(facts->prefill_count, 3);
    assert_int_equal(sli_growth_at(&facts->prefill[1].visible, 77), 32);
    assert_true(facts->prefill[2].row_flops == 32.0);
    assert_int_equal(sli_growth_at(&facts->prefill[2].visible, 77), 5);

    facts = facts_of(&keep_pyramid_kv);
    assert_int_equal(sli_growth_at(&facts->prefill[1].visible, 77), 64);

    sli_keep some_pairs = keep_h2o;
    some_pairs.work.rescored_share = 0.375;
    facts = facts_of(&some_pairs);
    assert_true(facts->prefill[1].row_flops == 0.375 * 32.0 * (2 * 128 + 1));
}

/* Pairs of a query among the last so many and a key that does not stand behind it, one by one. */
static int64_t observed_pairs(int64_t prompt_tokens, int64_t observed_tokens) {
    int64_t pairs = 0;
    for (int64_t query = 1; query <= prompt_tokens; query++) {
        for (int64_t key = 1; key <= query; key++) {
            pairs += query > prompt_tokens - observed_tokens ? 1 : 0;
        }
    }
    return pairs;
}

/* Prompts shorter than the window of 32, as long, and longer; whole and in two chunks. */
static void the_second_look_is_that_of_the_last_queries(void **state) {
    (void)state;
    const sli_growth *looked = &facts_of(&keep_snapkv)->prefill[1].visible;
    for (int64_t prompt = 1; prompt <= 100; prompt++) {
        int64_t half = prompt / 2;
        int64_t pairs = observed_pairs(prompt, 32);
        assert_int_equal(sli_growth_request_pairs(looked, prompt, 0, prompt), pairs);
        assert_int_equal(sli_growth_request_pairs(looked, prompt, 0, half) +
                             sli_growth_request_pairs(looked, prompt, half, prompt - half),
                         pairs);
    }
}

/*
 * Two decode rows behind prompts of 1,000 and 500 tokens, with 1,203 and 509 tokens when the row is
 * there, under H2O: 200 and 100 rows. On one rank of two, for a layer:
 *
 *     FLOPs   300 x (2 x 16 x 256 + 16)         scores and weighted values, additions
 *     bytes   300 x (2 x 4 x 128 x 2 + 2 x 4 x 4), and 2 x 2 x 4 x 128 x 2 for what comes
 */
static void a_batch_is_counted_over_what_stays(void **state) {
    (void)state;
    const sli_architecture *cut = cut_by("llama-3.1-8b", &keep_h2o);
    const sli_layer_run *runs = cut->layers.rows;
    sli_growth_list growths;
    assert_true(sli_opcount_growths(cut, false, &growths));
    assert_int_equal(growths.count, 1);
    sl_batch_shape shape = {.tokens = 2, .sequences = 2, .decodes = 2, .decode_kv_tokens = 1712};
    shape.decode_visible[0] = sli_growth_request_pairs(&growths.rows[0], 1000, 1202, 1) +
                              sli_growth_request_pairs(&growths.rows[0], 500, 508, 1);
    assert_int_equal(shape.decode_visible[0], 300);
    sli_batch_sums sums;
    sli_batch_sums_make(&growths, &shape, &sums);
    sli_core_count count = sli_opcount_decodes(&runs[0].mixer->facts, &sli_cache_formats[0],
                                               SLI_LATENT_AS_MODEL, 2, &growths);
    assert_true(sli_linear_at(&count.flops, &sums) == 300.0 * (4 * 16 * 128 + 16));
    assert_true(sli_linear_at(&count.moved_bytes, &sums) == 300.0 * (2 * 4 * 128 * 2 + 2 * 4 * 4));
    assert_true(sli_linear_at(&count.new_bytes, &sums) == 2.0 * (2 * 4 * 128 * 2));
}

/* A chunk of 100 tokens behind 900 of a prompt of 4,000. StreamingLLM with 4 + 60: each query sees
 * 64, together they look at 163 keys. SnapKV: all of the prompt so far, and 32 pairs a token more.
 */
static void a_chunk_is_counted_over_what_it_sees(void **state) {
    (void)state;
    sli_keep keeps[] = {keep_streaming_llm, keep_snapkv};
    keeps[0].rule.cap_rows = 4 + 60;
    static const double pairs[] = {100 * 64, 100 * 900 + 5050};
    static const double keys[] = {163, 1000};
    static const double besides[] = {0, 100 * (32.0 * 257 * 32 + 5 * 32)};
    for (int i = 0; i < 2; i++) {
        const sli_architecture *cut = cut_by("llama-3.1-8b", &keeps[i]);
        const sli_layer_run *runs = cut->layers.rows;
        sli_growth_list growths;
        assert_true(sli_opcount_growths(cut, false, &growths));
        sl_batch_shape shape = {.tokens = 100, .sequences = 1, .prefills = 1};
        shape.prefill_tokens = 100;
        shape.prefill_kv_tokens = shape.prefill_kv_max = 1000;
        shape.prefill_pairs = 100 * 900 + 5050;
        for (int g = 0; g < growths.count; g++) {
            shape.prefill_visible[g] = sli_growth_request_pairs(&growths.rows[g], 4000, 900, 100);
        }
        sli_batch_sums sums;
        sli_batch_sums_make(&growths, &shape, &sums);
        sli_core_count count = sli_opcount_chunks(&runs[0].mixer->facts, &sli_cache_formats[0],
                                                  SLI_LATENT_AS_MODEL, 1, &growths);
        assert_true(sli_linear_at(&count.flops, &sums) == pairs[i] * 4 * 32 * 128 + besides[i]);
        assert_true(sli_linear_at(&count.moved_bytes, &sums) == keys[i] * 2 * 8 * 128 * 2);
    }
}

/* gpt-oss-20b: 12 full layers and 12 of a window. Gemma 4 E2B: full layers that keep and full ones
 * that read what those keep. */
static void other_layers_are_left_alone(void **state) {
    (void)state;
    const sli_architecture *cut = cut_by("gpt-oss-20b", &keep_snapkv);
    assert_string_equal(cut->keep, "snapkv");
    assert_null(model_of("gpt-oss-20b")->keep);
    const sli_layer_run *runs = cut->layers.rows;
    int64_t kept_layers = 0;
    for (size_t i = 0; i < cut->layers.count; i++) {
        bool is_cut = runs[i].mixer->facts.stores[0].kept.kind == SLI_GROWTH_KEPT;
        assert_int_equal(is_cut, sli_keep_cuts(runs[i].mixer));
        kept_layers += is_cut ? runs[i].count : 0;
    }
    assert_int_equal(kept_layers, 12);

    cut = cut_by("gemma-4-e2b", &keep_h2o);
    runs = cut->layers.rows;
    int64_t readers = 0;
    for (size_t i = 0; i < cut->layers.count; i++) {
        const sli_store *keys = &runs[i].mixer->facts.stores[0];
        bool only_reads = keys->read.kind == SLI_GROWTH_KEPT && keys->kept.kind != SLI_GROWTH_KEPT;
        readers += only_reads ? runs[i].count : 0;
    }
    assert_int_equal(readers, 4);
}

static void models_without_such_layers_are_refused(void **state) {
    (void)state;
    char why[160];
    assert_int_equal(sli_keep_can_cut(model_of("llama-3.1-8b"), why, sizeof why), SL_OK);
    assert_int_equal(sli_keep_can_cut(model_of("qwen3.5-9b"), why, sizeof why), SL_OK);
    assert_int_equal(sli_keep_can_cut(model_of("deepseek-v3"), why, sizeof why), SL_ERR_CONFIG);
    assert_string_equal(why, "its layers with 'mla' (type mla) keep all tokens in another way");
    assert_int_equal(sli_keep_can_cut(model_of("minimax-m3"), why, sizeof why), SL_ERR_CONFIG);
    assert_int_equal(sli_keep_can_cut(model_of("mistral-7b-v0.1"), why, sizeof why), SL_ERR_CONFIG);
    assert_string_equal(why, "none of its layers keeps all tokens");
    assert_int_equal(sli_keep_can_cut(model_of("mamba-2-2.7b"), why, sizeof why), SL_ERR_CONFIG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_values_that_stay_are_kept_read_and_seen),
        cmocka_unit_test(work_besides_is_counted_by_hand),
        cmocka_unit_test(the_second_look_is_that_of_the_last_queries),
        cmocka_unit_test(a_batch_is_counted_over_what_stays),
        cmocka_unit_test(a_chunk_is_counted_over_what_it_sees),
        cmocka_unit_test(other_layers_are_left_alone),
        cmocka_unit_test(models_without_such_layers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
