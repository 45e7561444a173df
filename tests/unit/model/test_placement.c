/*
 * Where the parts of a model lie: by hand for published shapes, and what must hold for all.
 */
#include "model/parallel.h"
#include "model/params.h"
#include "model/placement.h"
#include "model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

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

static const sli_architecture *make_model(const char *attention, const char *ffn,
                                          const char *layers) {
    const char *text = sli_arena_printf(
        &arena,
        "{name: M, source: test, hidden: 64, vocab: 103 tokens, tie_embeddings: on, "
        "context_native: 4096 tokens, attention: %s, ffn: %s, layers: %s}",
        attention, ffn, layers);
    sli_node *root = NULL;
    const sli_architecture *model = NULL;
    assert_non_null(text);
    assert_int_equal(sli_tree_read_text(&arena, "m.yaml", text, strlen(text), &diag, &root), SL_OK);
    if (sli_architecture_resolve(&arena, "m", root, &diag, &model) != SL_OK) {
        sli_diag_print(&diag, stderr);
        fail();
    }
    return model;
}

static sli_placement place(int64_t tp, int64_t pp, int64_t dp, int64_t cp, int64_t ep) {
    return (sli_placement){.tp = tp, .pp = pp, .dp = dp, .cp = cp, .ep = ep};
}

static int64_t params_at(const sli_architecture *model, sli_placement placement, int64_t stage) {
    sli_weight_params params = sli_placement_params(model, &placement, stage);
    int64_t all = 0;
    for (int sort = 0; sort < SLI_WEIGHT_SORTS; sort++) {
        all += params.of[sort];
    }
    return all;
}

/* Of all weights alike, one byte each. */
static double touched_at(const sli_architecture *model, sli_placement placement, int64_t tokens) {
    sli_weights bytes = sli_weights_all(sli_weight_format_find("fp8"));
    return sli_placement_touched_bytes(model, &bytes, &placement, tokens);
}

/* ---- Stages ---- */

/* get_pp_indices of vLLM, November 2026, worked through by hand. */
static void layers_that_are_left_go_to_stages_before_the_last(void **state) {
    (void)state;
    static const struct {
        int64_t layers;
        int64_t counts[4];
        int64_t pp;
    } cases[] = {
        {61, {31, 30}, 2},         {61, {15, 15, 16, 15}, 4}, {62, {15, 16, 16, 15}, 4},
        {63, {16, 16, 16, 15}, 4}, {64, {16, 16, 16, 16}, 4}, {5, {2, 2, 1}, 3},
        {4, {1, 2, 1}, 3},         {3, {1, 1, 1}, 3},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *layers = sli_arena_printf(&arena, "[[%lld, a, d]]", (long long)cases[i].layers);
        const sli_architecture *model = make_model(
            "{a: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16}}",
            "{d: {type: dense, width: 128}}", layers);
        sli_placement placement = place(1, cases[i].pp, 1, 1, 1);
        int64_t begin = 0;
        for (int64_t stage = 0; stage < cases[i].pp; stage++) {
            sli_stage found = sli_placement_stage(model, &placement, stage);
            assert_int_equal(found.first_layer, begin);
            assert_int_equal(found.end_layer - found.first_layer, cases[i].counts[stage]);
            begin = found.end_layer;
        }
        assert_int_equal(begin, cases[i].layers);
    }
}

static void a_run_is_cut_at_the_ends_of_a_stage(void **state) {
    (void)state;
    sli_layer_run run = {.count = 10};
    sli_stage stage = {.first_layer = 20, .end_layer = 30};
    static const struct {
        int64_t begin;
        int64_t layers;
    } cases[] = {{5, 0}, {10, 0}, {11, 1}, {15, 5}, {20, 10}, {26, 4}, {29, 1}, {30, 0}, {41, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(sli_stage_layers(&stage, &run, cases[i].begin), cases[i].layers);
    }
}

/* ---- Weights ---- */

static void one_rank_has_everything(void **state) {
    (void)state;
    for (const sli_embedded *row = sli_model_files; row->name != NULL; row++) {
        const sli_architecture *model = read_model(row->name);
        assert_int_equal(params_at(model, sli_placement_alone, 0), sli_params_total(model));
        double touched = touched_at(model, sli_placement_alone, 100);
        double difference = touched - sli_params_touched(model, 100);
        assert_true(difference < 1e-9 * touched && difference > -1e-9 * touched);
    }
}

/* A rank has its share of all parameters, rounded up to a row of the vocabulary, and to a group of
 * the format. */
static void ranks_with_equal_parts_share_everything(void **state) {
    (void)state;
    int checked = 0;
    for (const sli_embedded *row = sli_model_files; row->name != NULL; row++) {
        const sli_architecture *model = read_model(row->name);
        for (int i = 0; i < SLI_TP_COUNT && sli_architecture_unplain(model) == NULL; i++) {
            sli_placement placement = sli_placement_of_tp(sli_tp_degrees[i]);
            if (!sli_parallel_is_even(model, placement.tp)) {
                continue;
            }
            int64_t share = sli_params_total(model) / placement.tp;
            int64_t row_params = model->vocab_tokens % placement.tp > 0 ? 2 * model->hidden : 0;
            for (const sli_weight_format *format = sli_weight_formats; format->name != NULL;
                 format++) {
                int64_t groups = share / format->group_params;
                int64_t more_groups = row_params / format->group_params + 1;
                sli_weights all = sli_weights_all(format);
                int64_t bytes = sli_placement_weights_bytes(model, &all, &placement, 0);
                assert_true(bytes >= groups * format->group_bytes);
                assert_true(bytes <= (groups + more_groups) * format->group_bytes);
                checked++;
            }
        }
    }
    assert_true(checked > 4 * 25 * 8);
}

/* Llama 3.1 8B on 16 ranks: two query heads, a copy of one of 8 key-value heads, 896 columns, 8,016
 * rows of 128,256. */
static void heads_fewer_than_ranks_are_copied(void **state) {
    (void)state;
    const sli_architecture *llama = read_model("llama-3.1-8b");
    int64_t layer = 4096 * 2 * 128 * 2 + 4096 * 128 * 2 + 3 * 4096 * 896;
    assert_int_equal(params_at(llama, place(16, 1, 1, 1, 1), 0), 32 * layer + 2 * 8016 * 4096);
    /* and all of it as many times as a rank of 8 has key-value heads */
    assert_int_equal(params_at(llama, place(8, 1, 1, 1, 1), 0), sli_params_total(llama) / 8);
}

/* DeepSeek-V3, a layer. Copied: 7168 x (1536 + 576), and the router, 7168 x 256. Cut by 128 heads:
 * q_up 1536 x 192, kv_up 512 x 256, out 128 x 7168 each. An expert has 3 x 7168 x 2048. */
static int64_t v3_attention(int64_t heads) {
    return 7168 * (1536 + 576) + heads * (1536 * 192 + 512 * 256 + 128 * 7168);
}

static void latents_and_routers_are_copied_and_experts_shared_out(void **state) {
    (void)state;
    const sli_architecture *v3 = read_model("deepseek-v3");
    const int64_t expert = INT64_C(3) * 7168 * 2048;
    const int64_t dense = INT64_C(3) * 7168 * 18432;
    const int64_t router = 7168 * 256;
    const int64_t table = INT64_C(129280) * 7168;
    /* 16 heads, a sixteenth of each expert, of the shared one and of the dense layers */
    int64_t tp16 = 61 * v3_attention(8) + 58 * (router + (256 + 1) * (expert / 16)) +
                   3 * (dense / 16) + 2 * (table / 16);
    assert_int_equal(params_at(v3, place(16, 1, 1, 1, 1), 0), tp16);
    /* 16 whole experts are as much as a sixteenth of 256 */
    assert_int_equal(params_at(v3, place(16, 1, 1, 1, 16), 0), tp16);
    /* 4 groups of 64, each cut over 4 ranks: the same again */
    assert_int_equal(params_at(v3, place(16, 1, 1, 1, 4), 0), tp16);
    /* 16 copies of all that is not an expert */
    int64_t dp16 = 61 * v3_attention(128) + 58 * (router + expert + 16 * expert) + 3 * dense +
                   2 * table;
    assert_int_equal(params_at(v3, place(1, 1, 16, 1, 16), 0), dp16);
    assert_int_equal(params_at(v3, place(1, 1, 16, 1, 1), 0), dp16);
    assert_int_equal(params_at(v3, place(1, 1, 4, 4, 16), 0), dp16);
    /* 256 experts on 48 ranks: 6 on the fullest; columns are not cut */
    int64_t dp48 = 61 * v3_attention(128) + 58 * (router + expert + 6 * expert) + 3 * dense +
                   2 * table;
    assert_int_equal(params_at(v3, place(1, 1, 48, 1, 48), 0), dp48);
}

/* Two shared experts of 64 x 32 x 3 are cut by columns and copied with the attention; only the 8
 * routed ones are shared out, two to a rank. */
static void shared_experts_are_on_every_rank(void **state) {
    (void)state;
    const sli_architecture *model = make_model(
        "{a: none}", "{e: {type: moe, experts: 8, top_k: 2, width: 32, shared: 2}}", "[[1, a, e]]");
    int64_t expert = 3 * 64 * 32;
    int64_t router = 64 * 8;
    assert_int_equal(params_at(model, place(1, 1, 4, 1, 4), 0),
                     router + 2 * expert + 2 * expert + 103 * 64);
    assert_int_equal(params_at(model, place(2, 1, 2, 1, 4), 0),
                     router + 2 * expert / 2 + 2 * expert + 52 * 64);
}

/* The embedding is on the first stage, the head on the last, tied ones on both; between them there
 * is neither. Gemma 4 E4B has an embedding of 256 in each of its 42 layers, all on the first. */
static void tables_lie_at_the_ends(void **state) {
    (void)state;
    const sli_architecture *llama = read_model("llama-3.1-8b");
    const sli_architecture *gemma = read_model("gemma-4-e4b");
    int64_t table = INT64_C(128256) * 4096;
    sli_placement four = place(1, 4, 1, 1, 1);
    assert_int_equal(params_at(llama, four, 0) - params_at(llama, four, 1), table);
    assert_int_equal(params_at(llama, four, 3) - params_at(llama, four, 2), table);
    int64_t all = 0;
    for (int64_t stage = 0; stage < 4; stage++) {
        all += params_at(llama, four, stage);
    }
    assert_int_equal(all, sli_params_total(llama));
    int64_t tied = INT64_C(262144) * 2560;
    sli_placement two = place(1, 2, 1, 1, 1);
    assert_int_equal(params_at(gemma, two, 0) + params_at(gemma, two, 1),
                     sli_params_total(gemma) + tied);
    sli_placement each = place(1, 42, 1, 1, 1);
    assert_int_equal(params_at(gemma, each, 0) - params_at(gemma, each, 1),
                     tied + INT64_C(262144) * 42 * 256);
}

/* 103 rows on 4 ranks are 26 on the fullest. */
static void rows_of_the_vocabulary_round_up(void **state) {
    (void)state;
    const sli_architecture *model = make_model("{a: {type: gqa, q_heads: 4, kv_heads: 4, "
                                               "head_dim: 16}}",
                                               "{d: {type: dense, width: 128}}", "[[1, a, d]]");
    int64_t layer = 64 * (4 * 16) * 4 + 3 * 64 * 128;
    assert_int_equal(params_at(model, place(4, 1, 1, 1, 1), 0), layer / 4 + 26 * 64);
    sli_placement four = place(4, 1, 1, 1, 1);
    sli_weights q4 = sli_weights_all(sli_weight_format_find("q4_0"));
    int64_t params = layer / 4 + 26 * 64;
    assert_int_equal(sli_placement_weights_bytes(model, &q4, &four, 0), (params + 31) / 32 * 18);
}

/* No rank has less than its share, and none more than with fewer ranks. */
static void more_ranks_hold_less_each_and_no_less_together(void **state) {
    (void)state;
    for (const sli_embedded *row = sli_model_files; row->name != NULL; row++) {
        const sli_architecture *model = read_model(row->name);
        int64_t before = sli_params_total(model);
        for (int64_t tp = 2; tp <= 8; tp *= 2) {
            int64_t params = params_at(model, place(tp, 1, 1, 1, 1), 0);
            assert_true(params <= before);
            assert_true(params * tp >= sli_params_total(model));
            assert_true(params_at(model, place(tp, 1, 2, 1, 1), 0) <= params);
            before = params;
        }
    }
}

/* With so many tokens that every expert is met, a rank touches what it holds, embeddings aside. */
static void a_wide_step_touches_all_of_a_rank(void **state) {
    (void)state;
    const sli_architecture *v3 = read_model("deepseek-v3");
    sli_placement placement = place(4, 1, 4, 1, 16);
    double held = (double)params_at(v3, placement, 0) - 7168.0 * 129280.0 / 4.0;
    double touched = touched_at(v3, placement, 1000000);
    assert_true(touched <= held && touched > held * (1.0 - 1e-9));
    /* One token meets 8 of 256 experts, so half of one on each rank. */
    double expert = 3.0 * 7168.0 * 2048.0;
    double one = touched_at(v3, placement, 1);
    double routed = held - one;
    assert_true(routed > 58.0 * 15.5 * expert * 0.999999 &&
                routed < 58.0 * 15.5 * expert * 1.000001);
}

/* ---- Cache ---- */

static sli_state_bytes part_at(const char *mixer, sli_placement placement, int64_t tokens) {
    const char *attention = sli_arena_printf(&arena, "{a: %s}", mixer);
    const sli_architecture *model = make_model(attention, "{d: none}", "[[1, a, d]]");
    const sli_layer_run *run = model->layers.rows;
    sli_part_facts part = sli_placement_part(&run->mixer->facts, &placement, tokens);
    return sli_state_part(&part, &sli_cache_formats[0], tokens);
}

static const char gqa[] = "{type: gqa, q_heads: 16, kv_heads: 4, head_dim: 16}";
static const char window[] = "{type: gqa, q_heads: 16, kv_heads: 4, head_dim: 16, "
                             "window: 100 tokens}";
static const char mla[] =
    "{type: mla, q_heads: 16, q_lora: none, kv_lora: 32, rope_dim: 8, nope_dim: 16, "
    "value_dim: 16}";
static const char gdn[] = "{type: recurrent, rule: gdn, heads: 32, key_heads: 16, key_dim: 128, "
                          "value_dim: 128, conv: 4, gate: full}";

/* A row of a head is a key and a value of 16 elements, 64 B; a latent 80 B. */
static void heads_are_shared_out_and_latents_copied(void **state) {
    (void)state;
    assert_int_equal(part_at(gqa, place(1, 1, 1, 1, 1), 1000).cached, 1000 * 4 * 64);
    assert_int_equal(part_at(gqa, place(2, 1, 1, 1, 1), 1000).cached, 1000 * 2 * 64);
    assert_int_equal(part_at(gqa, place(16, 1, 1, 1, 1), 1000).cached, 1000 * 64);
    assert_int_equal(part_at(mla, place(16, 1, 1, 1, 1), 1000).cached, 1000 * 80);
    assert_int_equal(part_at(gdn, place(4, 1, 1, 1, 1), 1).fixed,
                     part_at(gdn, place(1, 1, 1, 1, 1), 1).fixed / 4);
}

/* 1,001 rows over 4 ranks are 251; a window of 100 and a state are on all of them. */
static void rows_that_grow_are_shared_out_over_the_context(void **state) {
    (void)state;
    assert_int_equal(part_at(gqa, place(1, 1, 1, 4, 1), 1001).cached, 251 * 4 * 64);
    assert_int_equal(part_at(mla, place(1, 1, 1, 4, 1), 1001).cached, 251 * 80);
    assert_int_equal(part_at(window, place(1, 1, 1, 4, 1), 1001).cached, 100 * 4 * 64);
    assert_int_equal(part_at(gdn, place(1, 1, 1, 4, 1), 1001).fixed,
                     part_at(gdn, place(1, 1, 1, 1, 1), 1001).fixed);
    assert_int_equal(part_at(gqa, place(2, 1, 8, 4, 1), 1001).cached, 251 * 2 * 64);
}

/* ---- Buffers ---- */

/* A step of 100 tokens of DeepSeek-V3: its stream is 100 x 7168 x 2 B. */
static void buffers_are_as_the_header_says(void **state) {
    (void)state;
    const sli_architecture *v3 = read_model("deepseek-v3");
    const sli_architecture *llama = read_model("llama-3.1-8b");
    const int64_t stream = 100 * 7168 * 2;
    const int64_t shared = 2 * 8192 * 1024;
    static const struct {
        int64_t degrees[5];
        int64_t bytes;
    } cases[] = {
        {{1, 1, 1, 1, 1}, 0},
        {{8, 1, 1, 1, 1}, stream + shared},
        {{8, 1, 1, 1, 8}, stream + shared},
        {{1, 2, 1, 1, 1}, 2 * stream},
        {{1, 1, 4, 1, 4}, 2 * 4 * stream},
        {{8, 2, 4, 1, 32}, stream + shared + 2 * stream + 2 * 4 * stream},
        /* 32 of the 128 heads, each with a latent of 512 summed up and a sum */
        {{4, 1, 1, 2, 1}, stream + shared + 2 * 2 * stream + 100 * 32 * 513 * 4},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int64_t *d = cases[i].degrees;
        sli_placement placement = place(d[0], d[1], d[2], d[3], d[4]);
        assert_int_equal(sli_placement_buffers_bytes(v3, &placement, 100), cases[i].bytes);
    }
    /* no experts, nothing to gather */
    sli_placement copies = place(1, 1, 4, 1, 1);
    assert_int_equal(sli_placement_buffers_bytes(llama, &copies, 100), 0);
}

static void ranks_multiply(void **state) {
    (void)state;
    sli_placement placement = place(8, 2, 3, 5, 4);
    assert_int_equal(sli_placement_ranks(&placement), 240);
    assert_int_equal(sli_placement_ranks(&sli_placement_alone), 1);
}

/* ---- What is possible ---- */

static void has_said(const sli_architecture *model, sli_placement placement, const char *words) {
    sli_diag said = {0};
    sl_err err = sli_parallel_check_placement(model, &placement, &said);
    assert_int_equal(err, words != NULL ? SL_ERR_CONFIG : SL_OK);
    assert_true(sli_parallel_can_place(model, &placement) == (words == NULL));
    if (words != NULL && strstr(said.last->message, words) == NULL) {
        fail_msg("'%s' does not say '%s'", said.last->message, words);
    }
    sli_diag_fini(&said);
}

static void says_what_cannot_be_and_what_can(void **state) {
    (void)state;
    const sli_architecture *llama = read_model("llama-3.1-8b");
    const sli_architecture *phi = read_model("phi-4-14b");
    const sli_architecture *v3 = read_model("deepseek-v3");
    /* 32 query heads and 8 of keys */
    has_said(llama, place(16, 1, 1, 1, 1), NULL);
    has_said(llama, place(32, 1, 1, 1, 1), NULL);
    has_said(llama, place(3, 1, 1, 1, 1), "the 32 heads of llama-3.1-8b evenly; tp 2 and 4 do");
    has_said(llama, place(64, 1, 1, 1, 1), "the 32 heads of llama-3.1-8b evenly; tp 32 does");
    /* 40 query heads and 10 of keys: 4 neither divides 10 nor is divided by it */
    has_said(phi, place(2, 1, 1, 1, 1), NULL);
    has_said(phi, place(5, 1, 1, 1, 1), NULL);
    has_said(phi, place(20, 1, 1, 1, 1), NULL);
    has_said(phi, place(4, 1, 1, 1, 1), "the 10 heads of phi-4-14b evenly; tp 2 and 5 do");
    has_said(llama, place(1, 32, 1, 1, 1), NULL);
    has_said(llama, place(1, 33, 1, 1, 1), "has 32 layers, too few for 33 stages");
    has_said(llama, place(2, 1, 1, 1, 2), "no experts for ep 2");
    /* 256 experts of 2,048 columns */
    has_said(v3, place(8, 1, 4, 1, 32), NULL);
    has_said(v3, place(8, 1, 4, 1, 8), NULL);
    has_said(v3, place(1, 1, 48, 1, 48), NULL);
    has_said(v3, place(8, 1, 1, 1, 3),
             "does not divide the 8 ranks of a stage (tp x dp x cp); ep "
             "2 and 4 do");
    has_said(v3, place(1, 1, 512, 1, 512), "leaves ranks without any of 256 experts; ep 256 does");
    has_said(v3, place(1, 1, 10, 1, 1), "do not share out the 2048 columns of an expert");
    has_said(v3, place(1, 1, 10, 1, 1), "; ep 5 does");
}

/* The columns of the feed-forward, and matrices that cannot be cut at all. */
static void columns_have_to_be_divided_too(void **state) {
    (void)state;
    const sli_architecture *odd = make_model("{a: {type: gqa, q_heads: 16, kv_heads: 4, head_dim: "
                                             "16}}",
                                             "{d: {type: dense, width: 126}}", "[[1, a, d]]");
    has_said(odd, place(2, 1, 1, 1, 1), NULL);
    has_said(odd, place(4, 1, 1, 1, 1),
             "the 126 columns of the feed-forward of m evenly; tp 2 "
             "does");
}

/* Every model can lie on one rank, in equal parts on some, and copied on more. */
static void runs_cut_what_vllm_cuts(void **state) {
    (void)state;
    for (const sli_embedded *row = sli_model_files; row->name != NULL; row++) {
        const sli_architecture *model = read_model(row->name);
        assert_true(sli_parallel_can_run(model, 1));
        for (int64_t tp = 1; tp <= 16; tp++) {
            sli_placement placement = sli_placement_of_tp(tp);
            bool can_place = sli_parallel_can_place(model, &placement);
            bool is_degree = tp == 1 || tp == 2 || tp == 4 || tp == 8;
            assert_int_equal(sli_parallel_can_run(model, tp), is_degree && can_place);
            assert_true(can_place || !sli_parallel_is_even(model, tp));
        }
    }
}

/* Phi-4 has 40 query heads and 10 key-value heads, Gemma 4 E2B 8 and 1, Qwen3.5 9B 16 and 4, the
 * states of which have 32. */
static void heads_are_copied_where_there_are_fewer(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool can_run[SLI_TP_COUNT]; /* on 1, 2, 4, 8 ranks */
    } cases[] = {{"phi-4-14b", {true, true, false, false}},
                 {"gemma-4-e2b", {true, true, true, true}},
                 {"qwen3.5-9b", {true, true, true, true}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const sli_architecture *model = read_model(cases[i].name);
        for (int j = 0; j < SLI_TP_COUNT; j++) {
            assert_int_equal(sli_parallel_can_run(model, sli_tp_degrees[j]), cases[i].can_run[j]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_that_are_left_go_to_stages_before_the_last),
        cmocka_unit_test(a_run_is_cut_at_the_ends_of_a_stage),
        cmocka_unit_test(one_rank_has_everything),
        cmocka_unit_test(ranks_with_equal_parts_share_everything),
        cmocka_unit_test(heads_fewer_than_ranks_are_copied),
        cmocka_unit_test(latents_and_routers_are_copied_and_experts_shared_out),
        cmocka_unit_test(shared_experts_are_on_every_rank),
        cmocka_unit_test(tables_lie_at_the_ends),
        cmocka_unit_test(rows_of_the_vocabulary_round_up),
        cmocka_unit_test(more_ranks_hold_less_each_and_no_less_together),
        cmocka_unit_test(a_wide_step_touches_all_of_a_rank),
        cmocka_unit_test(heads_are_shared_out_and_latents_copied),
        cmocka_unit_test(rows_that_grow_are_shared_out_over_the_context),
        cmocka_unit_test(buffers_are_as_the_header_says),
        cmocka_unit_test(ranks_multiply),
        cmocka_unit_test(says_what_cannot_be_and_what_can),
        cmocka_unit_test(columns_have_to_be_divided_too),
        cmocka_unit_test(runs_cut_what_vllm_cuts),
        cmocka_unit_test(heads_are_copied_where_there_are_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
