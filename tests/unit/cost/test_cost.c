/*
 * Which cost model a scenario gets, what is refused, and what is said to be assumed.
 */
#include "cost/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;
static const sli_device *h100;
static const sli_device *h200;
static const sli_architecture *llama;
static const sli_architecture *deepseek;
static const sli_architecture *mamba;

static int read_all(void **state) {
    (void)state;
    sli_catalogue_site site = {0};
    bool is_read = sli_device_read(&arena, "h100-sxm", site, &diag, &h100) == SL_OK &&
                   sli_device_read(&arena, "h200", site, &diag, &h200) == SL_OK &&
                   sli_architecture_read(&arena, "llama-3.1-8b", site, &diag, &llama) == SL_OK &&
                   sli_architecture_read(&arena, "deepseek-v3.2", site, &diag, &deepseek) ==
                       SL_OK &&
                   sli_architecture_read(&arena, "mamba-2-2.7b", site, &diag, &mamba) == SL_OK;
    sli_diag_print(&diag, stderr);
    return is_read ? 0 : -1;
}

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

static sli_cost_subject subject_of(const sli_architecture *architecture, const char *weights,
                                   const char *cache) {
    return (sli_cost_subject){
        .architecture = architecture,
        .device = h100,
        .tp = 1,
        .weights = sli_weights_all(sli_weight_format_find(weights)),
        .cache = sli_cache_format_find(cache),
    };
}

static sl_cost_model create(int kind, const sli_cost_subject *subject) {
    const sli_cost_config config = {.kind = kind};
    sl_cost_model model;
    assert_int_equal(sli_cost_create(&arena, &config, subject, &model), SL_OK);
    return model;
}

/* Whether two kinds make the same of steps with a few rows. */
static bool is_same(int kind, int other, const sli_cost_subject *subject) {
    sl_cost_model models[] = {create(kind, subject), create(other, subject)};
    if (models[0].ops != models[1].ops) {
        return false;
    }
    sl_batch_shape shape = {.tokens = 3, .sequences = 3, .emitting = 3, .decodes = 3};
    shape.decode_kv_tokens = 5000;
    shape.decode_kv_max = 4000;
    sl_step_cost costs[2];
    for (int i = 0; i < 2; i++) {
        models[i].ops->step(models[i].self, &shape, &costs[i]);
    }
    return memcmp(&costs[0], &costs[1], sizeof costs[0]) == 0;
}

static void auto_is_pnorm_where_it_was_fitted(void **state) {
    (void)state;
    sli_cost_subject plain = subject_of(llama, "bf16", "bf16");
    assert_true(is_same(SLI_COST_AUTO, SLI_COST_PNORM, &plain));
    assert_false(is_same(SLI_COST_AUTO, SLI_COST_ROOFLINE, &plain));
    sli_cost_subject others[] = {
        subject_of(deepseek, "bf16", "bf16"),
        subject_of(llama, "fp8", "bf16"),
        subject_of(llama, "bf16", "fp8"),
    };
    for (int i = 0; i < 3; i++) {
        assert_true(is_same(SLI_COST_AUTO, SLI_COST_ROOFLINE, &others[i]));
    }
}

/* Why it is which is told of what auto chose, and not of what was asked for. */
static void a_choice_says_what_was_not_measured(void **state) {
    (void)state;
    static const struct {
        const char *weights;
        const char *cache;
        const char *kernel;
        int64_t tp;
        const char *unfitted;
    } cases[] = {
        {"bf16", "bf16", NULL, 1, ""},
        {"bf16", "bf16", NULL, 8, ""},
        {"fp8", "bf16", NULL, 2, "weights in fp8"},
        {"bf16", "kivi2", NULL, 1, "a cache in kivi2"},
        {"mxfp4", "fp8", "fa3", 1, "weights in mxfp4; a cache in fp8; attention by fa3"},
    };
    sli_cost_choice choice;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sli_cost_subject subject = subject_of(llama, cases[i].weights, cases[i].cache);
        subject.attention.kernel = cases[i].kernel != NULL
                                       ? sli_attention_kernel_find(cases[i].kernel)
                                       : NULL;
        subject.tp = cases[i].tp;
        bool is_fitted = cases[i].unfitted[0] == '\0';
        for (int kind = SLI_COST_AUTO; kind <= SLI_COST_FIXED; kind++) {
            static const char *const names[] = {NULL, "pnorm", "roofline", "fixed"};
            const sli_cost_config config = {.kind = kind};
            const char *name = kind != SLI_COST_AUTO ? names[kind]
                               : is_fitted           ? "pnorm"
                                                     : "roofline";
            assert_int_equal(sli_cost_choose(&arena, &config, &subject, &choice), SL_OK);
            assert_string_equal(choice.name, name);
            if (kind == SLI_COST_AUTO) {
                assert_string_equal(choice.unfitted, cases[i].unfitted);
            } else {
                assert_null(choice.unfitted);
            }
        }
    }
    const sli_cost_config automatic = {.kind = SLI_COST_AUTO};
    sli_cost_subject latents = subject_of(deepseek, "fp8", "fp8_ds_mla");
    sli_cost_subject states = subject_of(mamba, "bf16", "bf16");
    assert_int_equal(sli_cost_choose(&arena, &automatic, &latents, &choice), SL_OK);
    assert_string_equal(choice.unfitted,
                        "layers dsa (mla), moe; weights in fp8; a cache in fp8_ds_mla");
    assert_int_equal(sli_cost_choose(&arena, &automatic, &states, &choice), SL_OK);
    assert_string_equal(choice.unfitted, "layers mamba2 (recurrent), without feed-forward");
}

/* README.md says how many models have measured operators. */
static void auto_says_why_of_every_model(void **state) {
    (void)state;
    const sli_cost_config automatic = {.kind = SLI_COST_AUTO};
    int fitted = 0;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        const sli_architecture *model = NULL;
        sli_catalogue_site site = {0};
        sli_cost_choice choice;
        assert_int_equal(sli_architecture_read(&arena, file->name, site, &diag, &model), SL_OK);
        sli_cost_subject subject = subject_of(model, "bf16", "bf16");
        assert_int_equal(sli_cost_choose(&arena, &automatic, &subject, &choice), SL_OK);
        bool is_fitted = choice.kind == SLI_COST_PNORM;
        if (is_fitted != (choice.unfitted[0] == '\0')) {
            fail_msg("%s gets %s: '%s'", file->name, choice.name, choice.unfitted);
        }
        fitted += is_fitted;
    }
    assert_int_equal(fitted, 29);
}

/* Index and chosen latents: one growth that is neither constant nor linear. */
static void models_name_the_growths_they_need(void **state) {
    (void)state;
    sli_cost_subject plain = subject_of(llama, "bf16", "bf16");
    sli_cost_subject sparse = subject_of(deepseek, "fp8", "fp8_ds_mla");
    assert_int_equal(create(SLI_COST_PNORM, &plain).growth_count, 0);
    assert_int_equal(create(SLI_COST_ROOFLINE, &plain).growth_count, 0);
    assert_int_equal(create(SLI_COST_FIXED, &sparse).growth_count, 0);
    sl_cost_model model = create(SLI_COST_AUTO, &sparse);
    assert_int_equal(model.growth_count, 1);
    assert_int_equal(model.growths[0].cap_rows, 2048);
}

/* The message about a subject, or NULL. */
static const char *refuse(int kind, const sli_cost_subject *subject) {
    static const sli_mark mark = {"s.yaml", 7, 3};
    const sli_cost_config config = {.kind = kind};
    sli_diag_fini(&diag);
    diag = (sli_diag){0};
    sl_err err = sli_cost_check(&config, subject, mark, "cost", &diag);
    assert_int_equal(err, diag.error_count > 0 ? SL_ERR_CONFIG : SL_OK);
    if (diag.first == NULL) {
        return NULL;
    }
    assert_int_equal(diag.error_count, 1);
    assert_int_equal(diag.first->mark.line, 7);
    return diag.first->message;
}

static void pnorm_is_refused_where_it_was_not_fitted(void **state) {
    (void)state;
    sli_cost_subject plain = subject_of(llama, "bf16", "bf16");
    sli_cost_subject sparse = subject_of(deepseek, "bf16", "bf16");
    sli_cost_subject small = subject_of(llama, "fp8", "q4_0");
    sli_cost_subject unknown = {0};
    assert_null(refuse(SLI_COST_PNORM, &plain));
    assert_null(refuse(SLI_COST_PNORM, &unknown));
    assert_string_equal(refuse(SLI_COST_PNORM, &sparse),
                        "pnorm was fitted to full gqa attention and dense feed-forwards in bf16; "
                        "not measured of deepseek-v3.2: layers dsa (mla), moe; use "
                        "roofline");
    assert_string_equal(refuse(SLI_COST_PNORM, &small),
                        "pnorm was fitted to full gqa attention and dense feed-forwards in bf16; "
                        "not measured of llama-3.1-8b: weights in fp8; a cache in q4_0; "
                        "use roofline");
    for (int kind = SLI_COST_AUTO; kind <= SLI_COST_FIXED; kind++) {
        if (kind != SLI_COST_PNORM) {
            assert_null(refuse(kind, &sparse));
            assert_null(refuse(kind, &small));
        }
    }
}

static const sli_architecture *read_text(const char *text) {
    sli_node *root = NULL;
    const sli_architecture *model = NULL;
    assert_int_equal(sli_tree_read_text(&arena, "m.yaml", text, strlen(text), &diag, &root), SL_OK);
    assert_int_equal(sli_architecture_resolve(&arena, "m", root, &diag, &model), SL_OK);
    return model;
}

/* Who asks for a kernel does not ask for the one that was measured. */
static void pnorm_has_the_attention_that_was_measured(void **state) {
    (void)state;
    for (const sli_attention_kernel *row = sli_attention_kernels; row->name != NULL; row++) {
        sli_cost_subject subject = subject_of(llama, "bf16", "bf16");
        subject.attention.kernel = row;
        assert_true(is_same(SLI_COST_AUTO, SLI_COST_ROOFLINE, &subject));
        assert_null(refuse(SLI_COST_AUTO, &subject));
        assert_null(refuse(SLI_COST_FIXED, &subject));
        assert_non_null(strstr(refuse(SLI_COST_PNORM, &subject), row->name));
    }
    sli_cost_subject naive = subject_of(llama, "bf16", "bf16");
    naive.attention.kernel = sli_attention_kernel_find("naive");
    assert_string_equal(refuse(SLI_COST_PNORM, &naive),
                        "pnorm was fitted to full gqa attention and dense feed-forwards in bf16; "
                        "not measured of llama-3.1-8b: attention by naive; use roofline");
}

/* Two key-value heads: a run may have four ranks, but nobody measured two that do the same. */
static void pnorm_is_refused_where_heads_are_copied(void **state) {
    (void)state;
    sli_cost_subject subject = subject_of(
        read_text("{name: M, source: test, hidden: 64, vocab: 8 tokens, context_native: unlimited, "
                  "attention: {a: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16}}, "
                  "ffn: {d: {type: dense, width: 128}}, layers: [[2, a, d]]}"),
        "bf16", "bf16");
    subject.tp = 2;
    assert_true(is_same(SLI_COST_AUTO, SLI_COST_PNORM, &subject));
    assert_null(refuse(SLI_COST_PNORM, &subject));
    subject.tp = 4;
    assert_true(is_same(SLI_COST_AUTO, SLI_COST_ROOFLINE, &subject));
    assert_null(refuse(SLI_COST_AUTO, &subject));
    assert_string_equal(refuse(SLI_COST_PNORM, &subject),
                        "pnorm was fitted to full gqa attention and dense feed-forwards in bf16; "
                        "not measured of m: heads that are copied at tp 4; use roofline");
    subject.tp = 3; /* said by whoever looks at tp */
    assert_null(refuse(SLI_COST_PNORM, &subject));
}

/* Seven windows, one more than the engine sums up; with given times it does not matter. */
static void too_many_growths_are_refused(void **state) {
    (void)state;
    static const char text[] =
        "name: M\nsource: test\nhidden: 16\nvocab: 1 tokens\ntie_embeddings: on\n"
        "context_native: unlimited\n"
        "attention:\n"
        "  a: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, window: 10 tokens}\n"
        "  b: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, window: 20 tokens}\n"
        "  c: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, window: 30 tokens}\n"
        "  d: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, window: 40 tokens}\n"
        "  e: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, window: 50 tokens}\n"
        "  f: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, window: 60 tokens}\n"
        "  g: {type: gqa, q_heads: 2, kv_heads: 1, head_dim: 8, window: 70 tokens}\n"
        "ffn: {none: none}\n"
        "layers: [[1, a, none], [1, b, none], [1, c, none], [1, d, none], [1, e, none],\n"
        "         [1, f, none], [1, g, none]]\n";
    sli_cost_subject subject = subject_of(read_text(text), "bf16", "bf16");
    assert_non_null(strstr(refuse(SLI_COST_AUTO, &subject), "at most 6 different windows"));
    assert_non_null(strstr(refuse(SLI_COST_ROOFLINE, &subject), "m has more"));
    assert_null(refuse(SLI_COST_FIXED, &subject));
}

/* ---- What is assumed ---- */

typedef struct phrases {
    const char *texts[SLI_ASSUMED_MAX];
    size_t count;
} phrases;

static phrases assumed_by(int kind, const sli_cost_subject *subject) {
    const sli_cost_config config = {.kind = kind};
    phrases said = {0};
    assert_int_equal(sli_cost_assumed(&arena, &config, subject, said.texts, &said.count), SL_OK);
    return said;
}

static bool says(const phrases *said, const char *words) {
    for (size_t i = 0; i < said->count; i++) {
        if (strstr(said->texts[i], words) != NULL) {
            return true;
        }
    }
    return false;
}

static void a_roofline_is_assumed(void **state) {
    (void)state;
    sli_cost_subject plain = subject_of(llama, "bf16", "bf16");
    sli_cost_subject sparse = subject_of(deepseek, "fp8", "fp8_ds_mla");
    phrases fitted = assumed_by(SLI_COST_AUTO, &plain);
    phrases bound = assumed_by(SLI_COST_ROOFLINE, &plain);
    phrases other = assumed_by(SLI_COST_AUTO, &sparse);
    assert_false(says(&fitted, "roofline"));
    assert_true(says(&bound, "layers of type gqa, dense: roofline"));
    assert_true(says(&other, "layers of type mla, dense, moe: roofline"));
    assert_false(says(&bound, "peak of bf16"));
    sli_cost_subject recurrent = subject_of(mamba, "bf16", "bf16");
    phrases state_alone = assumed_by(SLI_COST_AUTO, &recurrent);
    assert_true(says(&state_alone, "layers of type recurrent: roofline"));
    assert_true(says(&other, "weights in fp8 at the peak of bf16"));
}

/* No rate of dequantisation is known, so a small cache is said to take none. */
static void a_small_cache_and_a_kernel_are_assumed(void **state) {
    (void)state;
    sli_cost_subject subject = subject_of(llama, "bf16", "bf16");
    phrases plain = assumed_by(SLI_COST_ROOFLINE, &subject);
    assert_false(says(&plain, "a cache in"));
    assert_false(says(&plain, "attention at"));
    subject = subject_of(llama, "bf16", "q4_0");
    phrases small = assumed_by(SLI_COST_AUTO, &subject);
    assert_true(says(&small, "a cache in q4_0 dequantised in no time"));
    assert_false(says(&small, "read as quantised"));
    subject = subject_of(llama, "bf16", "kivi2");
    phrases waiting = assumed_by(SLI_COST_AUTO, &subject);
    assert_true(says(&waiting, "a cache in kivi2 dequantised in no time, its latest rows read as "
                               "quantised"));
    subject.attention.kernel = sli_attention_kernel_find("fa1");
    phrases kernel = assumed_by(SLI_COST_AUTO, &subject);
    assert_true(says(&kernel, "fa1 attention at 32.5 % of the peak of bf16: 25 to 40 % on A100"));
    assert_int_equal(kernel.count, waiting.count + 1);
    assert_false(says(&kernel, "copied"));
    subject.attention.is_copied = true;
    phrases copied = assumed_by(SLI_COST_AUTO, &subject);
    assert_true(
        says(&copied, "a cache that is copied in each step at the share of matrix products"));
}

/* pnorm was fitted to caches that grow in place. */
static void a_copied_cache_was_not_measured(void **state) {
    (void)state;
    sli_cost_subject subject = subject_of(llama, "bf16", "bf16");
    const sli_cost_config config = {.kind = SLI_COST_AUTO};
    sli_cost_choice choice;
    subject.attention.is_copied = true;
    assert_int_equal(sli_cost_choose(&arena, &config, &subject, &choice), SL_OK);
    assert_string_equal(choice.name, "roofline");
    assert_string_equal(choice.unfitted, "a cache that is copied");
}

/* What the profile assumes of attention kernels is not used. */
static void a_roofline_names_no_figure_it_does_not_use(void **state) {
    (void)state;
    sli_cost_subject plain = subject_of(llama, "bf16", "bf16");
    phrases fitted = assumed_by(SLI_COST_PNORM, &plain);
    phrases bound = assumed_by(SLI_COST_ROOFLINE, &plain);
    assert_true(says(&fitted, "CUDA graph factors of decode attention"));
    assert_false(says(&bound, "decode attention"));
    assert_true(says(&fitted, "elementwise operators"));
    assert_true(says(&bound, "elementwise operators"));
    plain.device = h200;
    plain.tp = 8;
    bound = assumed_by(SLI_COST_ROOFLINE, &plain);
    assert_true(says(&bound, "all-reduce"));
    assert_true(says(&bound, "engine overhead"));
}

static void fixed_costs_assume_nothing(void **state) {
    (void)state;
    sli_cost_subject plain = subject_of(llama, "bf16", "bf16");
    assert_int_equal(assumed_by(SLI_COST_PNORM, &plain).count, 2);
    assert_int_equal(assumed_by(SLI_COST_FIXED, &plain).count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_pnorm_where_it_was_fitted),
        cmocka_unit_test(a_choice_says_what_was_not_measured),
        cmocka_unit_test(auto_says_why_of_every_model),
        cmocka_unit_test(models_name_the_growths_they_need),
        cmocka_unit_test(pnorm_is_refused_where_it_was_not_fitted),
        cmocka_unit_test(pnorm_has_the_attention_that_was_measured),
        cmocka_unit_test(pnorm_is_refused_where_heads_are_copied),
        cmocka_unit_test(too_many_growths_are_refused),
        cmocka_unit_test(a_roofline_is_assumed),
        cmocka_unit_test(a_small_cache_and_a_kernel_are_assumed),
        cmocka_unit_test(a_copied_cache_was_not_measured),
        cmocka_unit_test(a_roofline_names_no_figure_it_does_not_use),
        cmocka_unit_test(fixed_costs_assume_nothing),
    };
    return cmocka_run_group_tests(tests, read_all, release);
}
