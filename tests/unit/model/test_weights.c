/*
 * In which format weights are stored: what published checkpoints weigh, and what a file may say.
 */
#include "model/params.h"
#include "model/placement.h"
#include "model/weights.h"

#include <math.h>
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

static int64_t bytes_of(const sli_architecture *model, const sli_weights *weights) {
    return sli_placement_weights_bytes(model, weights, &sli_placement_alone, 0);
}

/* ---- The catalogue ---- */

/* Bytes of all weights and of one expert; 0 = it has none. Figures of the reference catalogue of
 * architectures (November 2026), from published configurations: parameters of the text backbone,
 * without norms, biases and multi-token layers, in the formats of the checkpoint; fp8 without its
 * scales. */
typedef struct checkpoint {
    const char *model;
    int64_t bytes;
    int64_t expert_bytes;
} checkpoint;

static const checkpoint checkpoints[] = {
    {"llama-2-7b", INT64_C(13476298752), 0},
    {"llama-2-13b", INT64_C(26030899200), 0},
    {"llama-2-70b", INT64_C(137950658560), 0},
    {"mistral-7b-v0.1", INT64_C(14482931712), 0},
    {"gemma-1-7b", INT64_C(17075011584), 0},
    {"llama-3.1-8b", INT64_C(16059990016), 0},
    {"llama-3.1-70b", INT64_C(141104775168), 0},
    {"llama-3.1-405b", INT64_C(811698487296), 0},
    {"llama-3.3-70b", INT64_C(141104775168), 0},
    {"qwen2-72b", INT64_C(145408131072), 0},
    {"qwen2.5-72b", INT64_C(145408131072), 0},
    {"phi-4-14b", INT64_C(29318184960), 0},
    {"qwen3-0.6b", INT64_C(1191968768), 0},
    {"qwen3-4b", INT64_C(8044544000), 0},
    {"qwen3-8b", INT64_C(16380854272), 0},
    {"qwen3-32b", INT64_C(65522892800), 0},
    {"bonsai-8b", INT64_C(1151820864), 0},
    {"gemma-2-27b", INT64_C(54452551680), 0},
    {"gemma-3-27b", INT64_C(54015295488), 0},
    {"gemma-4-e2b", INT64_C(9229041664), 0},
    {"gemma-4-e4b", INT64_C(14869856256), 0},
    {"gemma-4-31b", INT64_C(61392027648), 0},
    {"gemma-4-26b-a4b", INT64_C(50464882688), 11894784},
    {"gpt-oss-20b", INT64_C(13747322880), 13219200},
    {"gpt-oss-120b", INT64_C(65168179200), 13219200},
    {"qwen3-30b-a3b", INT64_C(61063823360), 9437184},
    {"qwen3-235b-a22b", INT64_C(470185672704), 37748736},
    {"qwen3-next-80b-a3b", INT64_C(159348162560), 6291456},
    {"qwen3.5-4b", INT64_C(8411152384), 0},
    {"qwen3.5-9b", INT64_C(17907056640), 0},
    {"qwen3.5-27b", INT64_C(53790638080), 0},
    {"qwen3.5-35b-a3b", INT64_C(69320704000), 6291456},
    {"qwen3.5-122b-a10b", INT64_C(244222132224), 18874368},
    {"qwen3.5-397b-a17b", INT64_C(792691179520), 25165824},
    {"llama-4-scout", INT64_C(215538728960), 251658240},
    {"llama-4-maverick", INT64_C(801422704640), 251658240},
    {"deepseek-v2", INT64_C(471481384960), 47185920},
    {"deepseek-v3", INT64_C(671025397760), 44040192},
    {"deepseek-v3.2", INT64_C(671876907008), 44040192},
    {"deepseek-v4-pro", INT64_C(847651864576), 35094528},
    {"deepseek-v4-flash", INT64_C(154474643456), 13369344},
    {"kimi-k2", INT64_C(1026407202816), 44040192},
    {"kimi-k2.5", INT64_C(594203246592), 24772608},
    {"kimi-linear-48b-a3b", INT64_C(98244919296), 14155776},
    {"kimi-k3", INT64_C(1559932665856), 17547264},
    {"kimi-k3.1-pro", INT64_C(1560289705984), 17547264},
    {"glm-4.5", INT64_C(705591050240), 47185920},
    {"glm-5", INT64_C(1487820029952), 75497472},
    {"glm-5.2", INT64_C(1486751662080), 75497472},
    {"minimax-m1", INT64_C(912176185344), 339738624},
    {"minimax-m2", INT64_C(228688920576), 14155776},
    {"minimax-m3", INT64_C(852347584512), 113246208},
    {"nemotron-3-nano-30b-a3b", INT64_C(63155109888), 19955712},
    {"nemotron-h-56b", INT64_C(112642686976), 0},
    {"mamba-2-2.7b", INT64_C(5403492352), 0},
    {"jamba-v0.1", INT64_C(103138721792), 352321536},
    {"rwkv-7-0.4b", INT64_C(900726784), 0},
    {"rwkv-7-1.5b", INT64_C(3009413120), 0},
    {"rwkv-7-2.9b", INT64_C(5798625280), 0},
    {"rwkv-7-7.2b", INT64_C(14109638656), 0},
};

/* Of Bonsai the file is given (1,151,820,864 bytes of GGUF): norms and names of tensors are in it.
 */
static const checkpoint file_overhead = {"bonsai-8b", 42048, 0};

static const checkpoint *find_checkpoint(const char *model) {
    for (size_t i = 0; i < COUNT_OF(checkpoints); i++) {
        if (strcmp(checkpoints[i].model, model) == 0) {
            return &checkpoints[i];
        }
    }
    return NULL;
}

/* All others are published in 16 bits. */
static void models_weigh_what_is_published(void **state) {
    (void)state;
    size_t found = 0;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        const sli_architecture *model = read_model(file->name);
        const checkpoint *published = find_checkpoint(file->name);
        int64_t bytes = bytes_of(model, &model->weights);
        if (published == NULL) {
            assert_int_equal(bytes, 2 * sli_params_total(model));
            continue;
        }
        bool has_more = strcmp(file->name, file_overhead.model) == 0;
        assert_int_equal(bytes, published->bytes - (has_more ? file_overhead.bytes : 0));
        found++;
    }
    assert_int_equal(found, COUNT_OF(checkpoints));
}

/* The matrices of one expert; the first layer that has any. */
static sli_weight_params one_expert(const sli_architecture *model) {
    const sli_layer_run *runs = model->layers.rows;
    sli_weight_params params = {{0}};
    for (size_t i = 0; i < model->layers.count && params.of[SLI_WEIGHT_EXPERT] == 0; i++) {
        const sli_part_facts *facts = &runs[i].ffn->facts;
        for (int j = 0; j < facts->matrix_count; j++) {
            const sli_matrix *matrix = &facts->matrices[j];
            bool is_expert = sli_matrix_sort(facts, matrix) == SLI_WEIGHT_EXPERT;
            params.of[SLI_WEIGHT_EXPERT] += is_expert ? matrix->in * matrix->out : 0;
        }
    }
    return params;
}

static void an_expert_weighs_what_is_published(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(checkpoints); i++) {
        const sli_architecture *model = read_model(checkpoints[i].model);
        sli_weight_params params = one_expert(model);
        assert_int_equal(sli_weights_bytes(&model->weights, &params), checkpoints[i].expert_bytes);
    }
}

/* A step of so many tokens that every expert is met reads all but embeddings that are looked up. */
static void a_wide_step_reads_every_piece_in_its_format(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(checkpoints); i++) {
        const sli_architecture *model = read_model(checkpoints[i].model);
        sli_weight_params params = sli_placement_params(model, &sli_placement_alone, 0);
        params.of[SLI_WEIGHT_EMBEDDING] = sli_params_vocab(model);
        double all = (double)sli_weights_bytes(&model->weights, &params);
        double touched = sli_placement_touched_bytes(model, &model->weights, &sli_placement_alone,
                                                     10000000);
        assert_true(touched > all * (1.0 - 1e-9) && touched < all * (1.0 + 1e-9));
    }
}

/* gpt-oss-120b, one token: 4 experts of 36 layers in 17 bytes for 32, all else in two bytes. */
static void a_token_reads_its_experts_in_their_format(void **state) {
    (void)state;
    const sli_architecture *model = read_model("gpt-oss-120b");
    double experts = 36.0 * 4 * 3 * 2880 * 2880;
    double attention = 36.0 * (2 * 2880 * 64 * 64 + 2 * 2880 * 64 * 8);
    double others = 36.0 * 2880 * 128 + 2880.0 * 201088;
    double touched = sli_placement_touched_bytes(model, &model->weights, &sli_placement_alone, 1);
    assert_true(fabs(touched - (experts * 17 / 32 + 2 * (attention + others))) < 1.0);
}

/* On a rank of four the experts are cut, the router is copied: still each in its format. */
static void ranks_hold_every_piece_in_its_format(void **state) {
    (void)state;
    const sli_architecture *model = read_model("gpt-oss-120b");
    sli_placement four = sli_placement_of_tp(4);
    int64_t experts = INT64_C(36) * 128 * 3 * 2880 * 2880 / 4;
    int64_t attention = INT64_C(36) * (2 * 2880 * 64 * 64 + 2 * 2880 * 64 * 8) / 4;
    int64_t others = INT64_C(36) * 2880 * 128 + INT64_C(2) * 2880 * 201088 / 4;
    assert_int_equal(sli_placement_weights_bytes(model, &model->weights, &four, 0),
                     experts / 32 * 17 + 2 * (attention + others));
}

/* ---- Values ---- */

static void sorts_of_one_format_round_together(void **state) {
    (void)state;
    sli_weights weights = sli_weights_all(sli_weight_format_find("mxfp4"));
    sli_weight_params params = {{10, 10, 10, 2}};
    assert_int_equal(sli_weights_bytes(&weights, &params), 17);
    weights.of[SLI_WEIGHT_EMBEDDING] = sli_weight_format_find("bf16");
    assert_int_equal(sli_weights_bytes(&weights, &params), 17 + 20);
    weights.of[SLI_WEIGHT_ATTENTION] = sli_weight_format_find("nvfp4");
    assert_int_equal(sli_weights_bytes(&weights, &params), 17 + 20 + 9);
}

static void formats_are_said_in_words(void **state) {
    (void)state;
    static const struct {
        const char *model;
        const char *words;
    } cases[] = {
        {"llama-3.1-8b", "bf16"},
        {"deepseek-v3", "fp8"},
        {"gpt-oss-20b", "mxfp4 experts, bf16 else"},
        {"deepseek-v4-pro", "mxfp4 experts, fp8 else"},
        {"kimi-k2.5", "int4 experts, bf16 else"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const sli_architecture *model = read_model(cases[i].model);
        assert_string_equal(sli_weights_say(&model->weights).text, cases[i].words);
    }
    sli_weights longest = sli_weights_all(sli_weight_format_find("bf16"));
    for (int sort = 0; sort < SLI_WEIGHT_ELSE; sort++) {
        longest.of[sort] = sli_weight_format_find("mxfp4");
    }
    assert_string_equal(sli_weights_say(&longest).text,
                        "mxfp4 experts, mxfp4 attention, mxfp4 embeddings, bf16 else");
}

/* ---- Files ---- */

/* 64 wide: attention 16,384, a router 256, 4 experts and a shared one of 6,144, embeddings 6,592
 * and as much for the head. */
static sl_err read_text(const char *weights, const char *ffn, const sli_architecture **model) {
    const char *text = sli_arena_printf(
        &arena,
        "{name: M, source: test, weights: %s, hidden: 64, vocab: 103 tokens, "
        "context_native: 4096 tokens, "
        "attention: {a: {type: gqa, q_heads: 4, kv_heads: 4, head_dim: 16}}, ffn: {f: %s}, "
        "layers: [[1, a, f]]}",
        weights, ffn);
    sli_node *root = NULL;
    assert_non_null(text);
    assert_int_equal(sli_tree_read_text(&arena, "m.yaml", text, strlen(text), &diag, &root), SL_OK);
    return sli_architecture_resolve(&arena, "m", root, &diag, model);
}

static const char moe[] = "{type: moe, experts: 4, top_k: 2, width: 32, shared: 1}";
static const char dense[] = "{type: dense, width: 32}";

static void files_say_formats_by_sort(void **state) {
    (void)state;
    enum { ATTENTION = 16384, ROUTER = 256, EXPERT = 6144, VOCAB = 2 * 6592 };
    static const struct {
        const char *weights;
        int64_t bytes;
    } cases[] = {
        {"fp8", ATTENTION + ROUTER + 5 * EXPERT + VOCAB},
        {"{}", 2 * (ATTENTION + ROUTER + 5 * EXPERT + VOCAB)},
        {"{experts: fp8}", 2 * (ATTENTION + ROUTER + EXPERT + VOCAB) + 4 * EXPERT},
        {"{attention: fp8}", 2 * (ROUTER + 5 * EXPERT + VOCAB) + ATTENTION},
        {"{embeddings: fp8, else: bf16}", 2 * (ATTENTION + ROUTER + 5 * EXPERT) + VOCAB},
        {"{else: fp8, embeddings: bf16}", ATTENTION + ROUTER + 5 * EXPERT + 2 * VOCAB},
        {"{experts: mxfp4, attention: bf16, else: fp8}",
         4 * EXPERT / 32 * 17 + 2 * ATTENTION + ROUTER + EXPERT + VOCAB},
        {"{experts: fp8_e4m3, attention: half, else: fp8_e5m2}",
         2 * ATTENTION + ROUTER + 5 * EXPERT + VOCAB}, /* as engines call them */
        {"{experts: same, else: fp8}", ATTENTION + ROUTER + 5 * EXPERT + VOCAB},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const sli_architecture *model = NULL;
        assert_int_equal(read_text(cases[i].weights, moe, &model), SL_OK);
        assert_int_equal(bytes_of(model, &model->weights), cases[i].bytes);
    }
}

/* The last message of all. */
static const char *last_message(void) {
    const sli_diag_entry *entry = diag.first;
    while (entry != NULL && entry->next != NULL) {
        entry = entry->next;
    }
    assert_non_null(entry);
    return entry->message;
}

static void mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *weights;
        const char *ffn;
        const char *message;
    } cases[] = {
        {"mxfp8", moe, "did you mean 'fp8'?"},
        {"{expert: fp8}", moe, "did you mean 'experts'?"},
        {"{else: same}", moe, "expected"},
        {"{experts: fp8}", dense, "no layer has routed experts; leave it out"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const sli_architecture *model = NULL;
        assert_int_equal(read_text(cases[i].weights, cases[i].ffn, &model), SL_ERR_CONFIG);
        const char *message = last_message();
        if (strstr(message, cases[i].message) == NULL) {
            fail_msg("'%s' does not say '%s'", message, cases[i].message);
        }
        sli_diag_fini(&diag);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_weigh_what_is_published),
        cmocka_unit_test(an_expert_weighs_what_is_published),
        cmocka_unit_test(a_wide_step_reads_every_piece_in_its_format),
        cmocka_unit_test(a_token_reads_its_experts_in_their_format),
        cmocka_unit_test(ranks_hold_every_piece_in_its_format),
        cmocka_unit_test(sorts_of_one_format_round_together),
        cmocka_unit_test(formats_are_said_in_words),
        cmocka_unit_test(files_say_formats_by_sort),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
