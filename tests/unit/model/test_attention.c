/*
 * What attention computes and needs beside the cache, by hand for published shapes.
 */
#include "model/attention.h"
#include "model/opcount.h"

#include "batch_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

static const sli_architecture *read_model(const char *name) {
    const sli_architecture *model = NULL;
    sl_err err = sli_architecture_read(&arena, name, (sli_catalogue_site){0}, &diag, &model);
    sli_diag_print(&diag, stderr);
    assert_int_equal(err, SL_OK);
    return model;
}

static int64_t workspace(const char *model, const char *kernel, int64_t queries, int64_t context,
                         int64_t decodes, int64_t tp) {
    const sli_attention_kernel *found = sli_attention_kernel_find(kernel);
    sli_attention_load load = {queries, context, decodes, tp};
    assert_non_null(found);
    return sli_attention_workspace_bytes(read_model(model), found, &load);
}

/* ---- Workspace ---- */

/* The guide, chapter 13: 32,768 x 32,768 x 2 B is 2 GiB, for 128 heads 256 GiB. */
static void naive_attention_writes_all_scores_down(void **state) {
    (void)state;
    const int64_t gib = INT64_C(1) << 30;
    assert_int_equal(workspace("deepseek-v3", "naive", 32768, 32768, 1, 1), 256 * gib);
    assert_int_equal(workspace("deepseek-v3", "naive", 32768, 32768, 1, 128), 2 * gib);
    assert_int_equal(workspace("deepseek-v3", "naive", 8192, 32768, 1, 8), 8 * gib);
    /* a mask is written down as well: a window of 4,096 saves nothing */
    assert_int_equal(workspace("mistral-7b-v0.1", "naive", 32768, 32768, 1, 1), 64 * gib);
    /* 64 sequences that decode, each against all of its tokens */
    assert_int_equal(workspace("llama-3.1-8b", "naive", 1, 1000, 64, 1), 32 * 64 * 1000 * 2);
    /* a state is not scored */
    assert_int_equal(workspace("mamba-2-2.7b", "naive", 32768, 32768, 1, 1), 0);
    /* nor do the entries of DeepSeek V4, beside a window of 128 */
    assert_int_equal(workspace("deepseek-v4-pro", "naive", 100, 1000, 1, 1), 128 * 100 * 1000 * 2);
}

static void no_memory_is_beyond_counting(void **state) {
    (void)state;
    int64_t most = INT64_C(1) << 60;
    int64_t tokens = INT64_C(1) << 26;
    assert_int_equal(workspace("deepseek-v3", "naive", tokens, 2 * tokens, 1, 1), most);
    assert_int_equal(sli_attention_expanded_bytes(read_model("deepseek-v3"), INT64_C(1) << 46, 1),
                     most);
}

/* A sum in fp32 for each query and head. */
static void flash_attention_keeps_a_sum_a_query(void **state) {
    (void)state;
    const char *const kernels[] = {"fa1", "fa2", "fa3"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(workspace("deepseek-v3", kernels[i], 32768, 32768, 1, 1), 32768 * 128 * 4);
        assert_int_equal(workspace("deepseek-v3", kernels[i], 8192, 32768, 1, 8), 8192 * 16 * 4);
        assert_int_equal(workspace("llama-3.1-8b", kernels[i], 100, 1000, 200, 1), 200 * 32 * 4);
    }
}

/* 32 parts: Llama sums up values of 128 elements and a sum, DeepSeek latents of 512. */
static void split_keys_leave_partial_results(void **state) {
    (void)state;
    assert_int_equal(workspace("llama-3.1-8b", "split_kv", 1, 1000, 64, 1),
                     INT64_C(32) * 64 * 32 * 129 * 4);
    assert_int_equal(workspace("deepseek-v3", "split_kv", 1, 1000, 64, 8),
                     INT64_C(32) * 64 * 16 * 513 * 4);
    /* a long prompt has more sums than that */
    assert_int_equal(workspace("llama-3.1-8b", "split_kv", 1000000, 1000000, 1, 1),
                     INT64_C(1000000) * 32 * 4);
}

static void kernels_are_what_they_say(void **state) {
    (void)state;
    for (const sli_attention_kernel *row = sli_attention_kernels; row->name != NULL; row++) {
        assert_ptr_equal(sli_attention_kernel_find(row->name), row);
        assert_true(row->flops_share > 0.0 && row->flops_share <= 1.0 && row->splits >= 1);
        assert_non_null(row->source);
        assert_true(row->keeps_scores == (strcmp(row->name, "naive") == 0));
    }
    assert_null(sli_attention_kernel_find("fa9"));
}

/* ---- Latents ---- */

/* DeepSeek-V3, 61 layers: 278,528 FLOPs a pair absorbed, 81,920 expanded, and 33,554,432 to make
 * keys and values of a latent. */
static const double absorbed = 61.0 * 278528.0;
static const double expanded = 61.0 * 81920.0;
static const double expand = 61.0 * 33554432.0;

static void decode_takes_the_way_that_is_asked_for(void **state) {
    (void)state;
    const sli_architecture *v3 = read_model("deepseek-v3");
    assert_true(sli_attention_decode_flops(v3, SLI_LATENT_ABSORBED, 1000) == absorbed * 1000);
    assert_true(sli_attention_decode_flops(v3, SLI_LATENT_AS_MODEL, 1000) == absorbed * 1000);
    /* those before the new token, whose own is the matrix kv_up */
    assert_true(sli_attention_decode_flops(v3, SLI_LATENT_EXPANDED, 1000) ==
                expanded * 1000 + expand * 999);
}

static void prefill_takes_the_way_that_is_asked_for(void **state) {
    (void)state;
    const sli_architecture *v3 = read_model("deepseek-v3");
    const double pairs = 1000.0 * 1001.0 / 2.0;
    assert_true(sli_attention_prefill_flops(v3, SLI_LATENT_AS_MODEL, 1000, 1000) ==
                expanded * pairs);
    assert_true(sli_attention_prefill_flops(v3, SLI_LATENT_ABSORBED, 1000, 1000) ==
                absorbed * pairs);
    /* prefixes of 300, 600 and 900 tokens */
    assert_true(sli_attention_prefill_flops(v3, SLI_LATENT_EXPANDED, 1000, 300) ==
                expanded * pairs + expand * 1800);
    assert_true(sli_attention_prefill_flops(v3, SLI_LATENT_ABSORBED, 1000, 300) ==
                absorbed * pairs);
    assert_int_equal(sli_attention_remade_tokens(1000, 300), 1800);
    assert_int_equal(sli_attention_remade_tokens(1000, 1000), 0);
    assert_int_equal(sli_attention_remade_tokens(1000, 5000), 0);
    assert_int_equal(sli_attention_remade_tokens(4, 1), 1 + 2 + 3);
}

/* V3.2 absorbs in prefill too, and its index scores all keys whatever the way. */
static void the_index_is_not_part_of_the_way(void **state) {
    (void)state;
    const sli_architecture *v32 = read_model("deepseek-v3.2");
    double index = 61.0 * 16384.0 * 10000.0;
    assert_true(sli_attention_decode_flops(v32, SLI_LATENT_ABSORBED, 10000) ==
                absorbed * 2048 + index);
    assert_true(sli_attention_decode_flops(v32, SLI_LATENT_EXPANDED, 10000) ==
                expanded * 2048 + index + expand * 9999);
    assert_int_equal(sli_attention_prefill_way(v32, SLI_LATENT_AS_MODEL), SLI_LATENT_ABSORBED);
    const sli_architecture *v3 = read_model("deepseek-v3");
    assert_int_equal(sli_attention_prefill_way(v3, SLI_LATENT_AS_MODEL), SLI_LATENT_EXPANDED);
    assert_int_equal(sli_attention_prefill_way(v3, SLI_LATENT_ABSORBED), SLI_LATENT_ABSORBED);
    assert_int_equal(sli_attention_decode_way(v3, SLI_LATENT_AS_MODEL), SLI_LATENT_ABSORBED);
    assert_int_equal(sli_attention_decode_way(v3, SLI_LATENT_EXPANDED), SLI_LATENT_EXPANDED);
}

/* 128 + 64 + 128 elements for each of 128 heads, 2 B each. */
static void expanded_latents_are_keys_and_values_of_all_heads(void **state) {
    (void)state;
    const sli_architecture *v3 = read_model("deepseek-v3");
    assert_int_equal(sli_attention_expanded_bytes(v3, 1000, 1), 1000 * 128 * 320 * 2);
    assert_int_equal(sli_attention_expanded_bytes(v3, 1000, 16), 1000 * 8 * 320 * 2);
    assert_int_equal(sli_attention_expanded_bytes(read_model("llama-3.1-8b"), 1000, 1), 0);
    assert_true(sli_attention_has_latents(v3));
    assert_true(sli_attention_has_latents(read_model("kimi-k3")));
    assert_false(sli_attention_has_latents(read_model("deepseek-v4-pro")));
}

/* Where nothing else is asked for, the counts of a step and of its chunks are those of opcount. */
static void counts_as_steps_do(void **state) {
    (void)state;
    for (const sli_embedded *row = sli_model_files; row->name != NULL; row++) {
        const sli_architecture *model = read_model(row->name);
        const int64_t tokens = 20000;
        const int64_t chunk = 4096;
        double decode = sli_attention_decode_flops(model, SLI_LATENT_AS_MODEL, tokens);
        assert_true(decode == sli_opcount_decode_core(model, tokens));
        double chunks = 0.0;
        for (int64_t at = 0; at < tokens; at += chunk) {
            int64_t added = tokens - at < chunk ? tokens - at : chunk;
            chunks += sli_opcount_prefill_core(model, at, added);
        }
        double prefill = sli_attention_prefill_flops(model, SLI_LATENT_AS_MODEL, tokens, chunk);
        assert_true(prefill > chunks * (1.0 - 1e-12) && prefill < chunks * (1.0 + 1e-12));
    }
}

/* Of one sequence, on one rank, as batches count it. */
static double batch_flops(const sli_architecture *model, sli_latent_way way,
                          const sl_batch_shape *shape, const sli_growth_list *growths,
                          bool is_decode) {
    const sli_layer_run *runs = model->layers.rows;
    sli_batch_sums sums;
    sli_batch_sums_make(growths, shape, &sums);
    double flops = 0.0;
    for (size_t i = 0; i < model->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        sli_core_count count = is_decode ? sli_opcount_decodes(facts, &sli_cache_formats[0], way, 1,
                                                               growths)
                                         : sli_opcount_chunks(facts, &sli_cache_formats[0], way, 1,
                                                              growths);
        flops += (double)runs[i].count * sli_linear_at(&count.flops, &sums);
    }
    return flops;
}

static void is_near(double found, double expected) {
    assert_true(found >= expected * (1.0 - 1e-12) && found <= expected * (1.0 + 1e-12));
}

/* A decode row, and a prompt of three chunks in one step each, whatever the way. */
static void batches_take_the_way_that_is_asked_for(void **state) {
    (void)state;
    int latent_count = 0;
    for (const sli_embedded *row = sli_model_files; row->name != NULL; row++) {
        const sli_architecture *model = read_model(row->name);
        sli_growth_list growths;
        assert_true(sli_opcount_growths(model, false, &growths));
        latent_count += sli_attention_has_latents(model) ? 1 : 0;
        for (int way = SLI_LATENT_AS_MODEL; way <= SLI_LATENT_EXPANDED; way++) {
            sl_batch_shape decode = {0};
            add_decode_row(&decode, &growths, 10000);
            is_near(batch_flops(model, (sli_latent_way)way, &decode, &growths, true),
                    sli_attention_decode_flops(model, (sli_latent_way)way, 10000));
            double chunks = 0.0;
            for (int64_t at = 0; at < 10000; at += 4000) {
                sl_batch_shape chunk = {0};
                add_prefill_chunk(&chunk, &growths, at, at < 8000 ? 4000 : 2000);
                chunks += batch_flops(model, (sli_latent_way)way, &chunk, &growths, false);
            }
            is_near(chunks, sli_attention_prefill_flops(model, (sli_latent_way)way, 10000, 4000));
        }
    }
    assert_true(latent_count > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(naive_attention_writes_all_scores_down),
        cmocka_unit_test(no_memory_is_beyond_counting),
        cmocka_unit_test(flash_attention_keeps_a_sum_a_query),
        cmocka_unit_test(split_keys_leave_partial_results),
        cmocka_unit_test(kernels_are_what_they_say),
        cmocka_unit_test(decode_takes_the_way_that_is_asked_for),
        cmocka_unit_test(prefill_takes_the_way_that_is_asked_for),
        cmocka_unit_test(the_index_is_not_part_of_the_way),
        cmocka_unit_test(expanded_latents_are_keys_and_values_of_all_heads),
        cmocka_unit_test(counts_as_steps_do),
        cmocka_unit_test(batches_take_the_way_that_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
