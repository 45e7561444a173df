#include "hw/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static const sli_catalogue_site nowhere = {.key = "hardware"};

typedef struct world {
    sli_arena arena;
    sli_diag diag;
} world;

static int set_up(void **state) {
    static world fresh;
    fresh = (world){0};
    *state = &fresh;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    sli_arena_fini(&w->arena);
    sli_diag_fini(&w->diag);
    return 0;
}

static const sli_device *read_device(world *w, const char *name) {
    const sli_device *device = NULL;
    sl_err err = sli_device_read(&w->arena, name, nowhere, &w->diag, &device);
    sli_diag_print(&w->diag, stderr);
    assert_int_equal(err, SL_OK);
    return device;
}

static sl_err resolve_text(world *w, const char *text, sli_device *device) {
    sli_node *root = NULL;
    SL_TRY(sli_tree_read_text(&w->arena, "d.yaml", text, strlen(text), &w->diag, &root));
    return sli_schema_resolve(&w->arena, &sli_device_section, NULL, root, &w->diag, device);
}

/* A profile without any coefficient. */
#define PEAKS                                                                                      \
    "name: D\n"                                                                                    \
    "memory: {value: 48 GiB, source: s, date: 2026-01-01}\n"                                       \
    "memory_bandwidth: {value: 864 GB/s, source: s, date: 2026-01-01}\n"                           \
    "bf16_peak: {value: 362 TFLOPS, source: s, date: 2026-01-01}\n"                                \
    "sm_count: {value: 142, source: s, date: 2026-01-01}\n"                                        \
    "link_bandwidth: {value: 32 GB/s, source: s, date: 2026-01-01}\n"

static bool has_phrase(const sli_device *device, int64_t tp, const char *phrase) {
    const char *phrases[SLI_ASSUMED_MAX];
    size_t count = sli_device_assumed(device, tp, phrases);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(phrases[i], phrase) == 0) {
            return true;
        }
    }
    return false;
}

static void every_profile_reads_without_a_complaint(void **state) {
    world *w = *state;
    int count = 0;
    for (const sli_embedded *row = sli_device_files; row->name != NULL; row++, count++) {
        const sli_device *device = read_device(w, row->name);
        assert_string_equal(device->id, row->name);
        assert_true(device->memory_bytes.origin.is_set);
        assert_non_null(device->gemm.overhead_ns.origin.source);
        assert_non_null(device->gemm.overhead_ns.origin.date);
    }
    assert_int_equal(count, 4);
    assert_int_equal(w->diag.error_count + w->diag.warning_count, 0);
}

static void profiles_hold_the_published_peaks(void **state) {
    const struct {
        const char *name;
        int64_t memory_mib;
        double bytes_per_s;
        double flops_per_s;
        int64_t sm_count;
        double link_bytes_per_s;
    } facts[] = {
        {"a100-40g", 40960, 1.555e12, 312e12, 108, 300e9},
        {"a100-80g", 81920, 2.039e12, 312e12, 108, 300e9},
        {"h100-sxm", 81559, 3.35e12, 989e12, 132, 450e9},
        {"h200", 143771, 4.8e12, 989e12, 132, 450e9},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const sli_device *device = read_device(*state, facts[i].name);
        assert_int_equal(device->memory_bytes.value, facts[i].memory_mib << 20);
        assert_true(device->memory_bytes_per_s.value == facts[i].bytes_per_s);
        assert_true(device->bf16_flops_per_s.value == facts[i].flops_per_s);
        assert_int_equal(device->sm_count.value, facts[i].sm_count);
        assert_true(device->link_bytes_per_s.value == facts[i].link_bytes_per_s);
        assert_int_equal(device->node_devices.value, 8);
        assert_false(device->node_devices.origin.is_assumed);
    }
}

/* All figures of a device in the order of the struct: every group is an array of figures. */
static size_t list_coefficients(const sli_device *device, const sli_figure **figures) {
    const sli_figure *first = &device->gemm.overhead_ns;
    const sli_figure *end = (const sli_figure *)(const void *)(device + 1);
    size_t count = 0;
    for (const sli_figure *figure = first; figure < end; figure++) {
        figures[count++] = figure;
    }
    return count;
}

static void missing_coefficients_are_those_of_the_h100_and_assumed(void **state) {
    world *w = *state;
    const sli_device *h100 = read_device(w, "h100-sxm");
    sli_device bare = {0};
    assert_int_equal(resolve_text(w, PEAKS, &bare), SL_OK);
    assert_int_equal(bare.node_devices.value, h100->node_devices.value);
    assert_true(bare.node_devices.origin.is_assumed);

    const sli_figure *measured[64];
    const sli_figure *assumed[64];
    size_t count = list_coefficients(h100, measured);
    assert_int_equal(count, 4 + 6 + 6 + 2 + 3 * 3 + 3);
    assert_int_equal(list_coefficients(&bare, assumed), count);
    for (size_t i = 0; i < count; i++) {
        assert_true(measured[i]->value == assumed[i]->value);
        assert_true(assumed[i]->origin.is_assumed);
        assert_false(assumed[i]->origin.is_set);
        assert_true(measured[i]->origin.is_set);
    }
    assert_false(bare.memory_bytes.origin.is_assumed);
}

static void h100_assumes_only_graph_factors_and_elementwise(void **state) {
    const sli_device *h100 = read_device(*state, "h100-sxm");
    const char *phrases[SLI_ASSUMED_MAX];
    for (int64_t tp = 1; tp <= 8; tp *= 2) {
        assert_int_equal(sli_device_assumed(h100, tp, phrases), 2);
        assert_true(has_phrase(h100, tp, "CUDA graph factors of decode attention"));
        assert_true(has_phrase(h100, tp, "elementwise operators"));
    }
}

static void a_term_is_named_only_where_it_is_used(void **state) {
    const sli_device *h200 = read_device(*state, "h200");
    assert_false(has_phrase(h200, 1, "all-reduce"));
    assert_true(has_phrase(h200, 2, "all-reduce"));
    assert_true(has_phrase(h200, 1, "engine overhead"));
    assert_false(has_phrase(h200, 1, "matrix products"));

    const sli_device *a100 = read_device(*state, "a100-40g");
    assert_true(has_phrase(a100, 1, "matrix products"));
    assert_true(has_phrase(a100, 1, "prefill attention"));
    assert_true(has_phrase(a100, 1, "decode attention"));
    assert_false(has_phrase(a100, 1, "memory bandwidth"));
}

/* Every coefficient counts: assumed alone, it is named wherever it is used. */
static void each_assumed_coefficient_is_named(void **state) {
    sli_device device = *read_device(*state, "h100-sxm");
    const sli_figure *figures[64];
    const char *phrases[SLI_ASSUMED_MAX];
    size_t count = list_coefficients(&device, figures);
    sli_figure *first = &device.gemm.overhead_ns;
    for (size_t i = 0; i < count; i++) {
        first[i].origin.is_assumed = false;
    }
    for (int64_t tp = 1; tp <= 8; tp *= 2) {
        assert_int_equal(sli_device_assumed(&device, tp, phrases), 0);
    }
    for (size_t i = 0; i < count; i++) {
        size_t named = 0;
        first[i].origin.is_assumed = true;
        for (int64_t tp = 1; tp <= 8; tp *= 2) {
            named += sli_device_assumed(&device, tp, phrases);
        }
        first[i].origin.is_assumed = false;
        bool is_of_all_reduce = &first[i] >= &device.all_reduce_2.overhead_ns &&
                                &first[i] < &device.engine.step_ns;
        bool is_of_many_ranks = &first[i] == &device.engine.log2_tp_ns;
        assert_int_equal(named, is_of_all_reduce ? 1 : is_of_many_ranks ? 3 : 4);
    }
}

static void all_reduce_figures_belong_to_their_ranks(void **state) {
    const sli_device *h100 = read_device(*state, "h100-sxm");
    assert_true(sli_device_all_reduce(h100, 2)->overhead_ns.value == 4200);
    assert_true(sli_device_all_reduce(h100, 4)->overhead_ns.value == 4360);
    assert_true(sli_device_all_reduce(h100, 8)->overhead_ns.value == 4530);
}

static void bad_profile_is_refused_where_it_is_wrong(void **state) {
    const struct {
        const char *text;
        const char *path;
    } bad[] = {
        {PEAKS "gemm: {overhed: {value: 3 us, source: s, date: 2026-01-01}}\n", "gemm"},
        {PEAKS "gemm: {overhead: {value: 3.54, source: s, date: 2026-01-01}}\n",
         "gemm.overhead.value"},
        {PEAKS "gemm: {overhead: {value: 3 MB, source: s, date: 2026-01-01}}\n",
         "gemm.overhead.value"},
        {PEAKS "gemm: {overhead: {value: 3 us, date: 2026-01-01}}\n", "gemm.overhead"},
        {PEAKS "gemm: {overhead: 3 us}\n", "gemm.overhead"},
        {PEAKS "gemm: {bytes_share: {value: 7, source: s, date: 2026-01-01}}\n",
         "gemm.bytes_share.value"},
        {PEAKS "gemm: {exponent: {value: nan, source: s, date: 2026-01-01}}\n",
         "gemm.exponent.value"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        world w = {0};
        sli_device device = {0};
        assert_int_equal(resolve_text(&w, bad[i].text, &device), SL_ERR_CONFIG);
        assert_int_equal(w.diag.error_count, 1);
        assert_string_equal(w.diag.first->path, bad[i].path);
        assert_string_equal(w.diag.first->mark.file, "d.yaml");
        assert_int_equal(w.diag.first->mark.line, 7);
        sli_arena_fini(&w.arena);
        sli_diag_fini(&w.diag);
    }
    (void)state;
}

static void peaks_are_required(void **state) {
    world *w = *state;
    sli_device device = {0};
    assert_int_equal(resolve_text(w, "name: D\n", &device), SL_ERR_CONFIG);
    assert_int_equal(w->diag.error_count, 5);
}

static void unknown_name_suggests_the_nearest(void **state) {
    world *w = *state;
    const sli_device *device = NULL;
    assert_int_equal(sli_device_read(&w->arena, "h100-smx", nowhere, &w->diag, &device),
                     SL_ERR_CONFIG);
    assert_null(device);
    assert_non_null(strstr(w->diag.first->message, "did you mean 'h100-sxm'"));
}

/* What is left of a memory must be more than nothing: sums are divided by it. */
static void a_memory_is_a_megabyte_at_least(void **state) {
    world *w = *state;
    sli_device device = {0};
    static const char tiny[] = "name: D\n"
                               "memory: {value: 1 B, source: s, date: 2026-01-01}\n"
                               "memory_bandwidth: {value: 864 GB/s, source: s, date: 2026-01-01}\n"
                               "bf16_peak: {value: 362 TFLOPS, source: s, date: 2026-01-01}\n"
                               "sm_count: {value: 142, source: s, date: 2026-01-01}\n"
                               "link_bandwidth: {value: 32 GB/s, source: s, date: 2026-01-01}\n";
    assert_int_equal(resolve_text(w, tiny, &device), SL_ERR_CONFIG);
    assert_int_equal(w->diag.error_count, 1);
    assert_string_equal(w->diag.first->path, "memory.value");
}

#define BEHAVIOUR(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        BEHAVIOUR(every_profile_reads_without_a_complaint),
        BEHAVIOUR(profiles_hold_the_published_peaks),
        BEHAVIOUR(missing_coefficients_are_those_of_the_h100_and_assumed),
        BEHAVIOUR(h100_assumes_only_graph_factors_and_elementwise),
        BEHAVIOUR(a_term_is_named_only_where_it_is_used),
        BEHAVIOUR(each_assumed_coefficient_is_named),
        BEHAVIOUR(all_reduce_figures_belong_to_their_ranks),
        BEHAVIOUR(bad_profile_is_refused_where_it_is_wrong),
        BEHAVIOUR(peaks_are_required),
        BEHAVIOUR(a_memory_is_a_megabyte_at_least),
        BEHAVIOUR(unknown_name_suggests_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
