/*
 * Policies of kind keep, each played token by token with the set of those that stay. Budgets of the
 * papers and of the programs beside them.
 */
#include "model/kept.h"
#include "run/keep.h"
#include "run/plugins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;
static sli_plugins plugins;

static int open_policies(void **state) {
    (void)state;
    return sli_plugins_open(&arena, NULL, (sli_mark){0}, &diag, &plugins) == SL_OK ? 0 : 1;
}

static int release(void **state) {
    (void)state;
    sli_plugins_close(&plugins);
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

/* ---- Methods and settings by name ---- */

static const sli_field keep_field = {
    .name = "keep",
    .kind = SLI_FIELD_NAMED,
    .fallback = "none",
    .name_key = "method",
    .types = sli_keep_types,
};

static const sli_section root_section = {
    .fields = &keep_field, .field_count = 1, .struct_size = sizeof(sli_named)};

/* As in `keep: ...`. */
static sli_named choose(const char *text) {
    const char *yaml = sli_arena_printf(&arena, "keep: %s\n", text);
    sli_named keep = {0};
    sli_node *root = NULL;
    assert_non_null(yaml);
    if (sli_tree_read_text(&arena, "k.yaml", yaml, strlen(yaml), &diag, &root) != SL_OK ||
        sli_schema_resolve(&arena, &root_section, &plugins, root, &diag, &keep) != SL_OK) {
        sli_diag_print(&diag, stderr);
        fail();
    }
    return keep;
}

static sl_kept rule_of(const sli_named *it) {
    return sli_keep_method(it)->rule(it->values);
}

/* ---- Sets of tokens ---- */

enum { TOKENS = 160 };

/* The attention that a key at a position has been given so far: any numbers, all different. */
static double weight_of(int64_t position) {
    return (double)(position * 7919 % 1009) + (double)position / 1e6;
}

typedef struct token_set {
    bool has[TOKENS + 1];
    int64_t count;
} token_set;

static void put(token_set *set, int64_t position) {
    set->count += set->has[position] ? 0 : 1;
    set->has[position] = true;
}

static void take_away(token_set *set, int64_t position) {
    set->count -= set->has[position] ? 1 : 0;
    set->has[position] = false;
}

/* The one of least weight before a position; 0 = there is none. */
static int64_t lightest(const token_set *set, int64_t before) {
    int64_t found = 0;
    for (int64_t i = 1; i < before; i++) {
        bool is_lighter = set->has[i] && (found == 0 || weight_of(i) < weight_of(found));
        found = is_lighter ? i : found;
    }
    return found;
}

static void thin_out(token_set *set, int64_t before, int64_t rows) {
    while (set->count > rows) {
        take_away(set, lightest(set, before));
    }
}

/* A query sees those that stay and itself, or within a prompt that is kept whole all before it. */
static void assert_rows(const sli_named *it, int64_t prompt_tokens, int64_t position,
                        const token_set *set) {
    sl_kept rule = rule_of(it);
    bool is_whole = position <= prompt_tokens && !rule.is_rolling;
    int64_t seen = is_whole ? position : set->count;
    if (sli_kept_seen(&rule, prompt_tokens, position) != seen) {
        fail_msg("%s, prompt of %lld: %lld of %lld tokens seen instead of %lld", it->type->name,
                 (long long)prompt_tokens, (long long)sli_kept_seen(&rule, prompt_tokens, position),
                 (long long)position, (long long)seen);
    }
}

/* Xiao et al. 2024, section 3.2: S first tokens and W latest ones in a rolling cache. */
static void streaming_keeps_sinks_and_a_window(void **state) {
    (void)state;
    sli_named it = choose("{method: streaming_llm, sinks: 4 tokens, recent: 25 tokens}");
    for (int64_t prompt_tokens = 1; prompt_tokens < TOKENS; prompt_tokens += 9) {
        token_set set = {.count = 0};
        for (int64_t t = 1; t <= TOKENS; t++) {
            put(&set, t);
            if (t - 25 > 4) {
                take_away(&set, t - 25);
            }
            assert_rows(&it, prompt_tokens, t, &set);
        }
        assert_int_equal(set.count, 29);
    }
}

/* Zhang et al. 2023, algorithm 1, with the budget of FMInference/H2O: shares of the prompt. */
static void h2o_keeps_heavy_hitters_and_the_latest(void **state) {
    (void)state;
    sli_named it = choose("{method: h2o, heavy: 0.1, recent: 0.1}");
    for (int64_t prompt_tokens = 10; prompt_tokens <= 100; prompt_tokens += 10) {
        int64_t heavy = prompt_tokens / 10;
        int64_t recent = prompt_tokens / 10;
        token_set set = {.count = 0};
        for (int64_t t = 1; t <= TOKENS; t++) {
            put(&set, t);
            if (t >= prompt_tokens) {
                thin_out(&set, t - recent + 1, heavy + recent);
            }
            assert_rows(&it, prompt_tokens, t, &set);
        }
        for (int64_t t = TOKENS - recent + 1; t <= TOKENS; t++) {
            assert_true(set.has[t]);
        }
        assert_int_equal(set.count, prompt_tokens / 5);
    }
}

/* Liu et al. 2023, algorithm 1: whenever the budget is full, drop at once and go on. */
static void scissorhands_drops_some_when_the_budget_is_full(void **state) {
    (void)state;
    sli_named it = choose("{method: scissorhands, budget: 30 tokens, drop: 12 tokens}");
    for (int64_t prompt_tokens = 1; prompt_tokens < TOKENS; prompt_tokens += 13) {
        token_set set = {.count = 0};
        for (int64_t t = 1; t <= TOKENS; t++) {
            if (set.count == 30) {
                thin_out(&set, t, 30 - 12);
            }
            put(&set, t);
            assert_rows(&it, prompt_tokens, t, &set);
        }
    }
}

/* The rows of a prompt that the observation chooses by pooled weights. */
static int64_t choose_by_observation(int64_t prompt_tokens, int64_t capacity, int64_t observation,
                                     token_set *set) {
    for (int64_t t = 1; t <= prompt_tokens; t++) {
        put(set, t);
    }
    thin_out(set, prompt_tokens - observation + 1, capacity);
    return set->count;
}

/* Li et al. 2024, listing 1: the top of the prefix and the observation, nothing after that. */
static void snapkv_prunes_the_prompt_once(void **state) {
    (void)state;
    sli_named it = choose("{method: snapkv, capacity: 40 tokens, observation: 16 tokens}");
    for (int64_t prompt_tokens = 1; prompt_tokens <= 120; prompt_tokens += 7) {
        token_set set = {.count = 0};
        for (int64_t t = 1; t <= prompt_tokens; t++) {
            assert_rows(&it, prompt_tokens, t, &set);
        }
        int64_t rows = choose_by_observation(prompt_tokens, 40, 16, &set);
        sl_kept rule = rule_of(&it);
        assert_int_equal(sli_kept_slots(&rule, prompt_tokens, prompt_tokens), rows);
        for (int64_t t = prompt_tokens + 1; t <= TOKENS; t++) {
            put(&set, t);
            assert_rows(&it, prompt_tokens, t, &set);
        }
    }
}

/* Yang et al. 2024, in the mean of the layers: of all contexts a share, of generated tokens one of
 * two. */
static void pyramid_infer_keeps_a_share_of_everything(void **state) {
    (void)state;
    sli_named it = choose("{method: pyramid_infer, first: 0.6, last: 0.4, generated: 2 tokens}");
    for (int64_t prompt_tokens = 1; prompt_tokens <= 120; prompt_tokens += 7) {
        token_set set = {.count = 0};
        for (int64_t t = 1; t <= prompt_tokens; t++) {
            put(&set, t);
            thin_out(&set, t, (t + 1) / 2);
            assert_rows(&it, prompt_tokens, t, &set);
        }
        for (int64_t t = prompt_tokens + 1; t <= TOKENS; t++) {
            put(&set, t);
            if ((t - prompt_tokens) % 2 != 0) {
                take_away(&set, lightest(&set, t));
            }
            assert_rows(&it, prompt_tokens, t, &set);
        }
    }
}

/* ---- Budgets of layers ---- */

static int64_t rows_of_layer(const sli_named *it, int64_t layer, int64_t layers,
                             int64_t prompt_tokens) {
    return sli_keep_layer_rows(it, layer, layers, prompt_tokens);
}

/* What lies in pages is the mean of the layers, for every method: to a row each where shares are
 * rounded up, else exactly. */
static void layers_keep_the_mean_together(void **state) {
    (void)state;
    static const char *const texts[] = {
        "streaming_llm", "h2o",        "scissorhands",
        "snapkv",        "pyramid_kv", "{method: pyramid_kv, capacity: 301 tokens, beta: 7}",
        "pyramid_infer"};
    static const int64_t layers[] = {1, 2, 3, 28, 32, 61};
    static const int64_t prompts[] = {1, 63, 300, 301, 473, 474, 900, 4000, 16384, 131072};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        sli_named it = choose(texts[i]);
        sl_kept rule = rule_of(&it);
        for (size_t j = 0; j < sizeof layers / sizeof layers[0]; j++) {
            for (size_t k = 0; k < sizeof prompts / sizeof prompts[0]; k++) {
                int64_t sum = 0;
                int64_t before = INT64_MAX;
                for (int64_t layer = 0; layer < layers[j]; layer++) {
                    int64_t rows = rows_of_layer(&it, layer, layers[j], prompts[k]);
                    assert_true(rows >= 1 && rows <= before && rows <= prompts[k]);
                    sum += rows;
                    before = rows;
                }
                int64_t mean = sli_kept_of_prompt(&rule, prompts[k]);
                bool is_rounded = rule.share_ppm != SL_WHOLE_PPM;
                int64_t tolerance = is_rounded ? layers[j] : 0;
                assert_in_range(sum + tolerance - layers[j] * mean, 0, 2 * tolerance);
            }
        }
    }
}

/*
 * Zefan-Cai/KVCache-Factory, pyramidkv_utils.py, with 2,048 tokens, a window of 64, beta 20, 32
 * layers and a prompt of 16 Ki: 99 in the last layer, 3,869 in the first (2 x 1,984 - 99), steps of
 * 121 (3,770 / 31 = 121.6 rounded down), and the window of each. Ours are fewer by what that rounds
 * off, 19 in the last layer.
 */
static void pyramid_kv_falls_in_equal_steps(void **state) {
    (void)state;
    sli_named it = choose("pyramid_kv");
    assert_int_equal(rows_of_layer(&it, 0, 32, 16384), 64 + 3869);
    assert_int_equal(rows_of_layer(&it, 31, 32, 16384), 64 + 99);
    for (int64_t layer = 0; layer < 32; layer++) {
        int64_t theirs = 64 + 3869 - layer * 121;
        assert_in_range(theirs - rows_of_layer(&it, layer, 32, 16384), 0, 19);
    }
    /* Less than twice what the mean chooses: cut alike. */
    assert_int_equal(rows_of_layer(&it, 0, 32, 3967), 2048);
    assert_int_equal(rows_of_layer(&it, 31, 32, 3967), 2048);
    assert_int_equal(rows_of_layer(&it, 31, 32, 3968), 64 + 99);
    assert_int_equal(rows_of_layer(&it, 31, 32, 2000), 2000);
    /* 237 beside the window, 441 in the first layer, which has no more than 474 - 64 to choose. */
    it = choose("{method: pyramid_kv, capacity: 301 tokens, beta: 7}");
    assert_int_equal(rows_of_layer(&it, 0, 32, 474), 474);
    assert_int_equal(rows_of_layer(&it, 31, 32, 474), 64 + 2 * 237 - 410);
    assert_int_equal(rows_of_layer(&it, 0, 32, 600), 64 + 441);
}

static void pyramid_infer_falls_from_the_first_share_to_the_last(void **state) {
    (void)state;
    sli_named it = choose("{method: pyramid_infer, first: 0.4, last: 0.2}");
    assert_int_equal(rows_of_layer(&it, 0, 21, 10000), 4000);
    assert_int_equal(rows_of_layer(&it, 5, 21, 10000), 3500);
    assert_int_equal(rows_of_layer(&it, 10, 21, 10000), 3000);
    assert_int_equal(rows_of_layer(&it, 20, 21, 10000), 2000);
}

/* What the papers say: H2O at 20 % five times fewer, SnapKV 1 Ki to 4 Ki of 16 Ki, Scissorhands up
 * to five times, PyramidKV 12 %, PyramidInfer more than 54 % saved. */
static void rows_are_those_of_the_papers(void **state) {
    (void)state;
    sli_named heavy = choose("h2o");
    sli_named snap = choose("{method: snapkv, capacity: 1024 tokens}");
    sli_named pivotal = choose("{method: scissorhands, budget: 410 tokens, drop: 205 tokens}");
    sli_named pyramid = choose("{method: pyramid_kv, capacity: 1966 tokens}");
    sli_named early = choose("pyramid_infer");
    sli_named sinks = choose("streaming_llm");
    sl_kept rule = rule_of(&heavy);
    assert_int_equal(5 * sli_kept_slots(&rule, 10000, 10000), 10000);
    assert_int_equal(5 * sli_kept_slots(&rule, 10000, 12000), 10000);
    rule = rule_of(&snap);
    assert_int_equal(sli_kept_slots(&rule, 16384, 16384), 1024);
    assert_int_equal(sli_kept_slots(&rule, 16384, 16384 + 500), 1524);
    rule = rule_of(&pivotal);
    assert_true(2048 / (double)sli_kept_slots(&rule, 2048, 2048) > 4.99);
    rule = rule_of(&pyramid);
    assert_true((double)sli_kept_slots(&rule, 16384, 16384) <= 0.12 * 16384);
    rule = rule_of(&early);
    assert_true((double)sli_kept_slots(&rule, 2048, 2048) < 0.46 * 2048);
    rule = rule_of(&sinks);
    assert_int_equal(sli_kept_slots(&rule, 1000, 2047), 2047);
    assert_int_equal(sli_kept_slots(&rule, 1000, 4000000), 2048);
}

/* ---- Settings ---- */

static void expect_mistake(const char *text, const char *mistake) {
    sli_named it = choose(text);
    const char *found = sli_keep_method(&it)->check != NULL ? sli_keep_method(&it)->check(it.values)
                                                            : NULL;
    if (mistake == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, mistake);
    }
}

static void settings_that_contradict_each_other_are_mistakes(void **state) {
    (void)state;
    expect_mistake("{method: h2o, heavy: 0.5, recent: 0.5}", NULL);
    expect_mistake("{method: h2o, heavy: 0.6, recent: 0.5}",
                   "heavy and recent together are more than the whole prompt");
    expect_mistake("{method: h2o, heavy: 0, recent: 0}", "heavy and recent together leave nothing");
    expect_mistake("{method: scissorhands, budget: 10 tokens, drop: 10 tokens}", NULL);
    expect_mistake("{method: scissorhands, budget: 10 tokens, drop: 11 tokens}",
                   "drop is more than budget");
    expect_mistake("{method: snapkv, capacity: 32 tokens}",
                   "capacity leaves nothing beside observation");
    expect_mistake("{method: pyramid_kv, capacity: 64 tokens}",
                   "capacity leaves nothing beside observation");
    expect_mistake("{method: pyramid_infer, first: 0.2, last: 0.3}", "last is more than first");
    expect_mistake("{method: pyramid_infer, first: 0, last: 0}", "first and last leave nothing");
    expect_mistake("streaming_llm", NULL);
}

static void budgets_are_told_in_words(void **state) {
    (void)state;
    static const char *const said[][2] = {
        {"streaming_llm", "the first 4 and the latest 2,044 tokens"},
        {"h2o", "20 % of the prompt"},
        {"scissorhands", "at most 2,048 tokens, of which 1,024 go at once"},
        {"snapkv", "4,096 tokens of the prompt and all behind it"},
        {"pyramid_kv", "2,048 tokens of the prompt in the mean of the layers and all behind it"},
        {"pyramid_infer",
         "30 % of the prompt in the mean of the layers, behind it one of 2 tokens"}};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        sli_named it = choose(said[i][0]);
        char text[128];
        sli_keep_method(&it)->describe(it.values, text, sizeof text);
        assert_string_equal(text, said[i][1]);
    }
    sli_named none = choose("none");
    assert_null(sli_keep_method(&none));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streaming_keeps_sinks_and_a_window),
        cmocka_unit_test(h2o_keeps_heavy_hitters_and_the_latest),
        cmocka_unit_test(scissorhands_drops_some_when_the_budget_is_full),
        cmocka_unit_test(snapkv_prunes_the_prompt_once),
        cmocka_unit_test(pyramid_infer_keeps_a_share_of_everything),
        cmocka_unit_test(layers_keep_the_mean_together),
        cmocka_unit_test(pyramid_kv_falls_in_equal_steps),
        cmocka_unit_test(pyramid_infer_falls_from_the_first_share_to_the_last),
        cmocka_unit_test(rows_are_those_of_the_papers),
        cmocka_unit_test(settings_that_contradict_each_other_are_mistakes),
        cmocka_unit_test(budgets_are_told_in_words),
    };
    return cmocka_run_group_tests(tests, open_policies, release);
}
