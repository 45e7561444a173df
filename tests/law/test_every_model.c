/*
 * Every model of the catalogue runs, and holds what its layout says that it holds.
 *
 * Each is played with prompts that are longer than its windows and chunks, cut over as many ranks
 * as it can be, in a pool that suffices for all and in one that suffices for hardly one. How many
 * blocks these have is said outright, so that models run that fit on no devices that a run can
 * have; which these are is a law of its own.
 */
#include "history.h"
#include "inspection.h"

#include "engine/audit.h"
#include "kv/layout_held.h"
#include "model/parallel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    USERS = 12,
    REQUESTS = 100,
    STEP_TOKENS = 2048,
    LONGEST_TOKENS = 12060, /* of a prompt and its output */
    SHORT_TOKENS = 8000,    /* that a tight pool has room for */
    SETS_MAX = 8,
};

#define PLAYED                                                                                     \
    "hardware: h200\n"                                                                             \
    "output: {dir: none}\n"                                                                        \
    "engine: {max_batched_tokens: 2048 tokens}\n"                                                  \
    "workload: {source: closed, concurrency: 12, requests: 100, start_jitter: 100 ms,\n"           \
    "  prompt: {quantiles: [[0, 1 tokens], [0.5, 300 tokens], [0.9, 5000 tokens],\n"               \
    "                       [1, 12000 tokens]]},\n"                                                \
    "  output: {uniform: {min: 1 tokens, max: 60 tokens}}}\n"

#define ALONE  "prefix.index=none"
#define SHARED "workload.system_prompts={count: 3, length: 2500 tokens}"

/* ---- What is played ---- */

typedef struct served {
    const char *model;
    const char *weights;
    const char *cache;
} served;

static const served others[] = {
    {"gpt-oss-20b", "fp8", "fp8"},   {"gpt-oss-20b", "fp8", "nvfp4"},
    {"qwen3.5-9b", "fp8", "fp8"},    {"qwen3.5-9b", "fp8", "nvfp4"},
    {"deepseek-v3.2", "fp8", "fp8"}, {"deepseek-v3.2", "fp8", "nvfp4"},
};
enum { OTHER_COUNT = sizeof others / sizeof others[0] };

/* A scenario without its settings; `tp` is one of them. */
typedef struct scene {
    char text[1024];
    char tp[32];
} scene;

/* Another degree for each model, as wide as it can be cut. */
static int64_t degree_for(const char *model, int number) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    const sli_architecture *architecture = NULL;
    assert_int_equal(
        sli_architecture_read(&arena, model, (sli_catalogue_site){0}, &diag, &architecture), SL_OK);
    int i = number % SLI_TP_COUNT;
    while (!sli_parallel_can_run(architecture, sli_tp_degrees[i])) {
        i--;
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return sli_tp_degrees[i];
}

static scene scene_of(const served *it, int number) {
    scene made;
    snprintf(made.text, sizeof made.text, "model: {name: %s, weights: %s, kv: %s}\n" PLAYED,
             it->model, it->weights, it->cache);
    snprintf(made.tp, sizeof made.tp, "replicas.tp=%lld", (long long)degree_for(it->model, number));
    return made;
}

/* ---- Playing ---- */

typedef enum pool_size { POOL_OF_DEVICE, POOL_AMPLE, POOL_TIGHT } pool_size;

typedef struct play {
    sli_simulation simulation;
    sli_history history;
    int64_t looks;
} play;

/* Sets of a scene and some more, which end in NULL. */
typedef struct settings {
    char pool[48];
    const char *sets[SETS_MAX + 1];
} settings;

static void settle(const scene *of, const char *const *more, int64_t blocks, settings *made) {
    size_t count = 0;
    snprintf(made->pool, sizeof made->pool, "memory.kv_blocks=%lld", (long long)blocks);
    made->sets[count++] = of->tp;
    if (blocks > 0) {
        made->sets[count++] = made->pool;
    }
    for (; *more != NULL; more++) {
        assert_true(count < SETS_MAX);
        made->sets[count++] = *more;
    }
    made->sets[count] = NULL;
}

/* Whether it fits on its devices; otherwise it is asked for one block, to learn its layout. */
static bool look_at_layout(const scene *of, const char *const *more, int64_t blocks,
                           sli_layout *layout) {
    settings made;
    sli_simulation simulation;
    sli_deployment deployment;
    settle(of, more, blocks, &made);
    sli_simulation_open(of->text, made.sets, &simulation);
    sl_err err = sli_deployment_create(&simulation.file, &simulation.diag, &deployment);
    assert_true(err == SL_OK || (err == SL_ERR_FIT && blocks == 0));
    *layout = *deployment.layout;
    sli_deployment_destroy(&deployment);
    sli_simulation_fini(&simulation);
    return err == SL_OK;
}

/* Blocks to ask for; 0 = what the device has room for. */
static int64_t choose_blocks(const scene *of, const char *const *more, pool_size size) {
    sli_layout layout;
    bool fits = look_at_layout(of, more, size == POOL_OF_DEVICE ? 0 : 1, &layout);
    int64_t longest = sli_layout_peak_pages(&layout, LONGEST_TOKENS, STEP_TOKENS);
    if (size == POOL_TIGHT) {
        return sli_layout_peak_pages(&layout, SHORT_TOKENS, STEP_TOKENS) * 5 / 4;
    }
    return size == POOL_OF_DEVICE && fits ? 0 : USERS * longest;
}

static void play_scene(const scene *of, const char *const *more, pool_size size,
                       void (*look)(void *self, const sli_sight *sight), play *it) {
    settings made;
    *it = (play){0};
    settle(of, more, choose_blocks(of, more, size), &made);
    sli_simulation_open(of->text, made.sets, &it->simulation);
    sli_inspection inspection = {.look = look, .self = it};
    sl_probe probe = sli_history_probe(&it->history);
    sli_simulation_run_inspected(&it->simulation, &inspection, &probe);
    assert_int_equal(it->history.record_count, REQUESTS);
}

static void end_play(play *it) {
    sli_history_fini(&it->history);
    sli_simulation_fini(&it->simulation);
}

/* ---- Holding all to a law ---- */

typedef void law(const scene *of);

static served under_law; /* no model when it held */

static void hold_to(law *holds, served it, int number) {
    scene made = scene_of(&it, number);
    under_law = it;
    holds(&made); /* a failure leaves from here */
    under_law = (served){0};
}

static void hold_all_to(law *holds) {
    int number = 0;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        hold_to(holds, (served){file->name, "published", "bf16"}, number++);
    }
    for (int i = 0; i < OTHER_COUNT; i++) {
        hold_to(holds, others[i], i + 1);
    }
}

static int blame(void **state) {
    (void)state;
    if (under_law.model != NULL) {
        print_error("with %s in %s, cache in %s\n", under_law.model, under_law.weights,
                    under_law.cache);
    }
    under_law = (served){0};
    return 0;
}

/* ---- Courses ---- */

/* What the digest is made of. */
static void assert_same_course(const play *a, const play *b) {
    assert_int_equal(a->history.transition_count, b->history.transition_count);
    assert_memory_equal(a->history.transitions, b->history.transitions,
                        a->history.transition_count * sizeof a->history.transitions[0]);
}

/* All but the blocks. */
static void assert_same_requests(const play *a, const play *b) {
    assert_int_equal(a->history.transition_count, b->history.transition_count);
    for (size_t i = 0; i < a->history.transition_count; i++) {
        sl_transition of_a = a->history.transitions[i];
        of_a.blocks = b->history.transitions[i].blocks;
        assert_memory_equal(&of_a, &b->history.transitions[i], sizeof of_a);
    }
}

/* ---- Pages ---- */

/* By the rule of the layout, as if nothing was shared. */
static int64_t pages_by_rule(const sli_sight *sight) {
    int64_t pages = 0;
    for (const sl_request *it = sight->core->first_running; it != NULL; it = it->next) {
        int64_t tokens = sli_sight_computed(sight, it);
        int64_t end_tokens = tokens + sli_sight_planned(sight, it);
        for (int i = 0; i < sight->layout->group_count; i++) {
            const sli_group *group = &sight->layout->groups[i];
            pages += group->block_pages * sli_group_step_blocks(group, tokens, end_tokens);
        }
    }
    return pages;
}

static void holds_what_the_rule_says(void *self, const sli_sight *sight) {
    ((play *)self)->looks++;
    assert_int_equal(sight->step->held_blocks, pages_by_rule(sight));
}

/* Where the device has room; requests longer than the model was made for are refused. */
static void law_pages(const scene *of) {
    static const char *const alone[] = {ALONE, NULL};
    static const char *const asked[] = {ALONE, "engine.coalesce=off", NULL};
    play it;
    play again;
    play_scene(of, alone, POOL_OF_DEVICE, holds_what_the_rule_says, &it);
    play_scene(of, asked, POOL_OF_DEVICE, holds_what_the_rule_says, &again);
    assert_int_equal(it.looks, it.history.step_count);
    assert_int_equal(it.simulation.execution.metrics.finished_count +
                         it.simulation.execution.result.too_long_count,
                     REQUESTS);
    assert_same_course(&it, &again);
    end_play(&it);
    end_play(&again);
}

static void every_model_holds_what_its_layout_says(void **state) {
    (void)state;
    hold_all_to(law_pages);
}

/* ---- Scarcity ---- */

static int64_t preemptions;
static int64_t rejections;
static int64_t hits;

static void holds_no_more_than_the_rule_says(void *self, const sli_sight *sight) {
    enum { LOOKS_AN_AUDIT = 16 };
    play *it = self;
    assert_true(sight->step->held_blocks <= pages_by_rule(sight));
    if (it->looks++ % LOOKS_AN_AUDIT == 0) {
        const char *fault = sli_core_audit(sight->core);
        assert_string_equal(fault != NULL ? fault : "", "");
    }
}

/* Served is whoever is short enough for the model, and for the pool when no other runs. */
static void check_outcomes(const play *it) {
    const sli_deployment *deployment = &it->simulation.execution.deployment;
    const sli_engine_config *engine = &deployment->cluster.engine;
    for (size_t i = 0; i < REQUESTS; i++) {
        const sl_request_record *record = &it->history.records[i];
        int64_t tokens = record->prompt_tokens + record->output_tokens;
        bool fits = sli_layout_peak_pages(deployment->layout, tokens - 1, STEP_TOKENS) <=
                    engine->pool.block_count;
        bool is_served = tokens <= engine->max_model_tokens && fits;
        assert_int_equal(record->outcome, is_served ? SL_FINISHED : SL_REJECTED);
        rejections += !is_served;
        preemptions += record->preemption_count;
        hits += record->hit_tokens > 0;
    }
}

static void law_scarcity(const scene *of) {
    static const char *const shared[] = {SHARED, NULL};
    static const char *const asked[] = {SHARED, "engine.coalesce=off", NULL};
    play it;
    play again;
    play_scene(of, shared, POOL_TIGHT, holds_no_more_than_the_rule_says, &it);
    play_scene(of, asked, POOL_TIGHT, holds_no_more_than_the_rule_says, &again);
    check_outcomes(&it);
    assert_same_course(&it, &again);
    end_play(&it);
    end_play(&again);
}

static void every_model_serves_what_fits(void **state) {
    (void)state;
    hold_all_to(law_scarcity);
    assert_true(preemptions > 1000 && rejections > 300 && hits > 1000);
}

/* ---- Blocks ---- */

/* Blocks that divide a chunk. */
static void law_blocks(const scene *of) {
    static const char *const blocks[] = {"engine.block=16 tokens", "engine.block=1 tokens",
                                         "engine.block=128 tokens"};
    play plays[3];
    for (int i = 0; i < 3; i++) {
        const char *const sets[] = {ALONE, blocks[i], NULL};
        play_scene(of, sets, POOL_AMPLE, holds_what_the_rule_says, &plays[i]);
        assert_same_requests(&plays[0], &plays[i]);
    }
    for (int i = 0; i < 3; i++) {
        end_play(&plays[i]);
    }
}

static void blocks_do_not_matter_where_there_are_enough(void **state) {
    (void)state;
    hold_all_to(law_blocks);
}

/* ---- What is done with windows ---- */

static bool has_windows(const sli_layout *layout) {
    for (int i = 0; i < layout->group_count; i++) {
        sli_group_kind kind = layout->groups[i].kind;
        if (kind == SLI_GROUP_SLIDING || kind == SLI_GROUP_CHUNKED) {
            return true;
        }
    }
    return false;
}

/* Nothing is filled up, and all blocks end together. */
static bool is_tight_fit(const sli_layout *layout) {
    for (int i = 0; i < layout->group_count; i++) {
        const sli_group *group = &layout->groups[i];
        if (group->block_tokens != layout->align_tokens ||
            group->block_bytes != group->block_pages * layout->page_bytes) {
            return false;
        }
    }
    return true;
}

static int64_t held_bytes(const play *it, size_t step) {
    return it->history.steps[step].held_blocks *
           it->simulation.execution.deployment.layout->page_bytes;
}

/* Step for step, of runs that take the same course; and less at times. */
static void assert_holds_no_more(const play *a, const play *b) {
    bool holds_less = false;
    assert_same_requests(a, b);
    assert_int_equal(a->history.step_count, b->history.step_count);
    for (size_t i = 0; i < a->history.step_count; i++) {
        assert_int_equal(a->history.steps[i].end_ns, b->history.steps[i].end_ns);
        assert_true(held_bytes(a, i) <= held_bytes(b, i));
        holds_less = holds_less || held_bytes(a, i) < held_bytes(b, i);
    }
    assert_true(holds_less);
}

static int tight_fits;
static int with_windows;
static int beyond_windows; /* models with a prompt that no window of theirs spans */

static void note_windows(const play *freed) {
    const sli_layout *layout = freed->simulation.execution.deployment.layout;
    int64_t longest_tokens = 0;
    int64_t span_tokens = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
        const sl_request_record *record = &freed->history.records[i];
        bool is_longer = record->outcome == SL_FINISHED && record->prompt_tokens > longest_tokens;
        longest_tokens = is_longer ? record->prompt_tokens : longest_tokens;
    }
    for (int i = 0; i < layout->group_count; i++) {
        bool is_longer = layout->groups[i].span_tokens > span_tokens;
        span_tokens = is_longer ? layout->groups[i].span_tokens : span_tokens;
    }
    tight_fits += is_tight_fit(layout);
    beyond_windows += longest_tokens > span_tokens;
    with_windows++;
}

/* Padding and larger blocks may cost more than a short window saves. */
static void law_windows(const scene *of) {
    static const char *const pages[] = {"memory.window_pages=freed", "memory.window_pages=reserved",
                                        "memory.window_pages=ignored"};
    play plays[3];
    sli_layout layout;
    const char *const alone[] = {ALONE, NULL};
    (void)look_at_layout(of, alone, 1, &layout);
    if (!has_windows(&layout)) {
        return;
    }
    for (int i = 0; i < 3; i++) {
        const char *const sets[] = {ALONE, pages[i], NULL};
        play_scene(of, sets, POOL_AMPLE, holds_what_the_rule_says, &plays[i]);
    }
    note_windows(&plays[0]);
    assert_holds_no_more(&plays[0], &plays[1]);
    if (is_tight_fit(&layout)) {
        assert_holds_no_more(&plays[0], &plays[2]);
    }
    for (int i = 0; i < 3; i++) {
        end_play(&plays[i]);
    }
}

static void freed_windows_hold_least(void **state) {
    (void)state;
    hold_all_to(law_windows);
    assert_true(with_windows > 10 && tight_fits > 4);
    assert_int_equal(beyond_windows, with_windows);
}

/* ---- What fits ---- */

enum { GIANTS_MAX = 10 };

/* With the limits of a scenario that says none. */
static bool fits_on(const served *it, const char *device, int64_t tp) {
    char text[512];
    sli_simulation simulation;
    sli_deployment deployment;
    snprintf(text, sizeof text,
             "model: {name: %s, weights: %s, kv: %s}\nhardware: %s\nreplicas: {tp: %lld}\n"
             "workload: {source: closed, concurrency: 1, requests: 1, prompt: {fixed: 1 tokens}, "
             "output: {fixed: 1 tokens}}\n",
             it->model, it->weights, it->cache, device, (long long)tp);
    sli_simulation_open(text, NULL, &simulation);
    sl_err err = sli_deployment_create(&simulation.file, &simulation.diag, &deployment);
    assert_true(err == SL_OK || err == SL_ERR_FIT);
    sli_deployment_destroy(&deployment);
    sli_simulation_fini(&simulation);
    return err == SL_OK;
}

static bool fits_somewhere(const served *it) {
    for (int i = SLI_TP_COUNT - 1; i >= 0; i--) {
        for (const sli_embedded *file = sli_device_files; file->name != NULL; file++) {
            if (degree_for(it->model, i) == sli_tp_degrees[i] &&
                fits_on(it, file->name, sli_tp_degrees[i])) {
                return true;
            }
        }
    }
    return false;
}

typedef struct giants {
    const char *weights;
    const char *models[GIANTS_MAX + 1]; /* ends in NULL */
} giants;

/* A run has at most 8 devices of at most 141 GB, of which 90 % are used: 1,015 GB, as if 507
 * billion parameters had 2 bytes. */
static const giants too_large[] = {
    {"published", {"glm-5", "glm-5.2", "kimi-k3", "kimi-k3.1-pro"}},
    {"bf16",
     {"deepseek-v3", "deepseek-v3.2", "deepseek-v4-pro", "glm-5", "glm-5.2", "kimi-k2", "kimi-k2.5",
      "kimi-k3", "kimi-k3.1-pro"}},
    {"fp8", {"deepseek-v4-pro", "kimi-k3", "kimi-k3.1-pro"}},
    {"mxfp4", {"kimi-k3", "kimi-k3.1-pro"}},
    {"q1_0", {NULL}},
};

static bool is_too_large(const giants *of, const char *model) {
    bool is_named = false;
    for (int i = 0; of->models[i] != NULL; i++) {
        is_named = is_named || strcmp(of->models[i], model) == 0;
    }
    return is_named;
}

static void models_that_fit_on_no_devices_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof too_large / sizeof too_large[0]; i++) {
        for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
            served it = {file->name, too_large[i].weights, "bf16"};
            if (fits_somewhere(&it) == is_too_large(&too_large[i], file->name)) {
                fail_msg("%s in %s", file->name, too_large[i].weights);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_that_fit_on_no_devices_are_named),
        cmocka_unit_test_teardown(every_model_holds_what_its_layout_says, blame),
        cmocka_unit_test_teardown(every_model_serves_what_fits, blame),
        cmocka_unit_test_teardown(blocks_do_not_matter_where_there_are_enough, blame),
        cmocka_unit_test_teardown(freed_windows_hold_least, blame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
