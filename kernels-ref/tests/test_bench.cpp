/*
 * The parts of the bench: statistics, shapes and options as people write them, the table of
 * kernels, and memory that is not there.
 */
#include "bench/array.h"
#include "bench/cpu_backend.h"
#include "bench/host_backend.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "bench/shape.h"
#include "figures/splits.h"
#include "tests/checking.h"

#include <set>

namespace {

using namespace kref::bench;

const kernel &kernel_of(const char *name) {
    for (size_t i = 0; kernels[i] != nullptr; i++) {
        if (strcmp(kernels[i]->name, name) == 0) {
            return *kernels[i];
        }
    }
    fail_msg("no kernel %s", name);
    return *kernels[0];
}

/* ---- Statistics ---- */

void quantiles_are_linear_between_samples(void **) {
    assert_true(quantile({7.0}, 0.9) == 7.0);
    assert_true(quantile({1.0, 2.0, 3.0, 10.0}, 0.5) == 2.5);
    assert_true(quantile({0.0, 10.0, 20.0}, 0.9) == 18.0);
    assert_true(quantile({1.0, 2.0}, 1.0) == 2.0);
}

/* 3000 FLOP in 20 ns are 1.5e11 a second, 400 bytes 2e10. */
void shares_follow_from_the_median(void **) {
    sli_measurement row = sli_no_measurement;
    row.algorithmic_flops = 3000;
    row.algorithmic_bytes = 400;
    row.peak_flops_per_s = 6e11;
    std::vector<double> times_ns = {40.0, 10.0, 20.0};
    put_samples(&times_ns, &row);
    assert_int_equal(row.samples, 3);
    assert_true(row.time_min_ns == 10.0);
    assert_true(row.time_median_ns == 20.0);
    assert_true(row.time_p90_ns == 36.0);
    assert_true(row.flops_frac == 0.25);
    assert_true(std::isnan(row.bytes_frac));
}

void a_sample_lasts_long_enough(void **) {
    assert_int_equal(calls_of(100.0, 20000.0, 1000), 200);
    assert_int_equal(calls_of(30000.0, 20000.0, 1000), 1);
    assert_int_equal(calls_of(0.0, 20000.0, 1000), 1000);
    assert_int_equal(calls_of(7000.0, 20000.0, 1000), 3);
}

/* ---- Shapes ---- */

void expect_shape(const char *text, const char *error_part) {
    const kernel &rms_norm = kernel_of("rms_norm");
    shape its = rms_norm.shapes(true).front();
    std::string copy = text;
    std::string error;
    bool is_read = read_shape("rms_norm", rms_norm.columns, copy.data(), &its, &error);
    assert_int_equal(is_read, error_part == nullptr);
    if (error_part != nullptr && strstr(error.c_str(), error_part) == nullptr) {
        fail_msg("'%s' lacks '%s'", error.c_str(), error_part);
    }
}

void shapes_are_read(void **) {
    const kernel &rms_norm = kernel_of("rms_norm");
    shape its = rms_norm.shapes(true).front();
    std::string text = "rows=7,variant=plain";
    std::string error;
    assert_true(read_shape("rms_norm", rms_norm.columns, text.data(), &its, &error));
    assert_int_equal(its.rows, 7);
    assert_int_equal(its.width, 1024);
    assert_string_equal(its.variant, "plain");
    assert_string_equal(shape_text(its, rms_norm.columns).c_str(),
                        "variant=plain,element=bf16,rows=7,width=1024");
}

void mistakes_in_shapes_are_named(void **) {
    expect_shape("row=7", "no 'row'; did you mean 'rows'?");
    expect_shape("splits=2", "no 'splits'; it has variant element rows width");
    expect_shape("rows=many", "rows needs a whole number, found 'many'");
    expect_shape("rows=-1", "rows needs a whole number, found '-1'");
    expect_shape("rows", "a shape is NAME=VALUE");
    expect_shape("rows=", "a shape is NAME=VALUE");
    expect_shape("rows=7,", "a shape is NAME=VALUE");
    expect_shape("rows=7,width=8,rows=8", "rows stands twice in a shape");
}

/* ---- Options ---- */

bool read(const std::vector<const char *> &words, options *chosen, std::string *error) {
    std::vector<std::string> copies(words.begin(), words.end());
    std::vector<char *> argv;
    for (std::string &word : copies) {
        argv.push_back(word.data());
    }
    return read_options(static_cast<int>(argv.size()), argv.data(), chosen, error);
}

void options_are_read(void **) {
    options chosen;
    std::string error;
    assert_true(read({"kref_bench", "--kernel", "gemm", "--shape=rows=1", "--out", "a.csv",
                      "--out=b.h5", "--samples", "9", "--flush", "--peak-flops", "2 TFLOPS"},
                     &chosen, &error));
    assert_string_equal(chosen.kernels.at(0).c_str(), "gemm");
    assert_string_equal(chosen.shapes.at(0).c_str(), "rows=1");
    assert_int_equal(chosen.outputs.size(), 2);
    assert_int_equal(chosen.how.samples, 9);
    assert_true(chosen.how.is_flushed && chosen.how.is_graph);
    assert_true(chosen.peak_flops_per_s == 2e12);
    assert_true(std::isnan(chosen.peak_bytes_per_s));
}

void expect_refusal(const std::vector<const char *> &words, const char *expected) {
    options chosen;
    std::string error;
    std::vector<const char *> all = {"kref_bench"};
    all.insert(all.end(), words.begin(), words.end());
    assert_false(read(all, &chosen, &error));
    if (strstr(error.c_str(), expected) == nullptr) {
        fail_msg("'%s' lacks '%s'", error.c_str(), expected);
    }
}

void mistakes_in_options_are_named(void **) {
    expect_refusal({"--kernl", "gemm"}, "unknown option '--kernl'; did you mean '--kernel'?");
    expect_refusal({"gemm"}, "unknown option 'gemm'");
    expect_refusal({"--kernel"}, "--kernel needs a value");
    expect_refusal({"--quick=yes"}, "--quick takes no value");
    expect_refusal({"--samples", "0"}, "--samples needs a number from 1 to 1000000, found '0'");
    expect_refusal({"--out", "a.txt"}, "--out needs a file that ends in .csv, .h5 or .hdf5");
    expect_refusal({"--out", "a.h5", "--out", "a.h5"}, "--out a.h5 is given twice");
    expect_refusal({"--kernel", "rope", "--kernel", "rope"}, "--kernel rope is given twice");
    expect_refusal({"--shape", "rows=1"}, "--shape needs one --kernel");
    expect_refusal({"--peak-bytes", "2"}, "--peak-bytes needs a rate as '3.35 TB/s'");
    expect_refusal({"--seconds", "soon"}, "--seconds needs a number of seconds");
}

/* ---- The table of kernels ---- */

/* Every shape that a row offers fills just its columns, and is one that its kernel serves. */
void check_shapes(const kernel &it, bool is_quick) {
    std::set<std::string> seen;
    for (const shape &its : it.shapes(is_quick)) {
        assert_null(size_refusal(its));
        assert_null(it.refusal(its));
        assert_true(it.work(its).algorithmic_bytes > 0);
        assert_true(seen.insert(shape_text(its, it.columns)).second);
        for (const sli_measured_column &column : sli_measured_columns) {
            if (column.role == SLI_MEASURED_SHAPE) {
                bool is_its = has_word(it.columns, column.name);
                assert_int_equal(sli_measured_is_empty(&column, &its), !is_its);
            }
        }
    }
    assert_true(!seen.empty());
}

void kernels_offer_what_they_serve(void **) {
    std::set<std::string> names;
    for (size_t i = 0; kernels[i] != nullptr; i++) {
        const kernel &it = *kernels[i];
        assert_true(names.insert(it.name).second);
        assert_true(it.operation[0] != '\0' && it.backends[0] != '\0');
        check_shapes(it, true);
        check_shapes(it, false);
    }
}

/* A part without keys is a block that measures nothing. */
void no_split_that_is_offered_is_empty(void **) {
    int split_shapes = 0;
    for (size_t i = 0; kernels[i] != nullptr; i++) {
        const kernel &it = *kernels[i];
        if (!has_word(it.columns, "splits")) {
            continue;
        }
        bool has_latents = strcmp(it.name, "mla_decode") == 0;
        int64_t grain = has_latents ? KREF_LATENT_GRAIN : KREF_PAGED_GRAIN;
        for (bool is_quick : {true, false}) {
            for (const shape &its : it.shapes(is_quick)) {
                int splits = to_int(its.splits);
                bool is_cut = its.window_tokens > 0 && its.window_tokens < its.tokens;
                int64_t seen = is_cut ? its.window_tokens : its.tokens;
                assert_true(kref_split_keys(seen, splits, splits - 1, grain) > 0);
                split_shapes += splits > 1 ? 1 : 0;
            }
        }
    }
    assert_true(split_shapes > 10);
}

void words_are_whole(void **) {
    assert_true(has_word("cpu cuda", "cuda"));
    assert_true(has_word("cpu", "cpu"));
    assert_false(has_word("cpu cuda", "cud"));
    assert_false(has_word("cpu cuda", "u"));
    assert_false(has_word("", "cpu"));
}

#if !defined(KREF_ON_DEVICE)

/* Memory of the host, and kernels under the emulation. */
class emulated : public host_backend {
  public:
    emulated() : host_backend(identity{}) {
    }
    const char *name() const override {
        return "cuda";
    }
    bool is_cuda() const override {
        return true;
    }
};

/* What the emulation does not know is no kernel: a library, the copies of a runtime. */
bool is_emulated(const kernel &it, const shape &its) {
    return has_word(it.backends, "cuda") && strcmp(it.name, "library_gemm") != 0 &&
           strstr(its.variant, "each") == nullptr && strstr(its.variant, "batch") == nullptr;
}

#endif

/* The arguments that a job makes of a shape are those whose work its row tells. */
void jobs_execute_what_their_rows_tell(void **) {
#if !defined(KREF_ON_DEVICE)
    emulated on;
    for (size_t i = 0; kernels[i] != nullptr; i++) {
        const kernel &it = *kernels[i];
        for (const shape &its : it.shapes(true)) {
            if (!is_emulated(it, its)) {
                continue;
            }
            print_message("%s %s\n", it.name, shape_text(its, it.columns).c_str());
            std::unique_ptr<job> prepared = it.prepare(its, on);
            assert_null(on.take_trouble());
            kref::tests::assert_ran(prepared->run(nullptr)); /* an expert_gemm sorts first */
            kref::tests::begin_counting();
            kref::tests::assert_ran(prepared->run(nullptr));
            kref::tests::assert_counted(it.work(its));
        }
    }
#endif
}

/* ---- Memory ---- */

void steps_scatter_and_repeat_nothing(void **) {
    for (int64_t count : {1, 2, 3, 10, 64, 97, 1000}) {
        std::set<int64_t> places;
        int64_t step = far_step(count);
        for (int64_t i = 0; i < count; i++) {
            places.insert(i * step % count);
        }
        assert_int_equal(places.size(), count);
        assert_true(step >= count / 2); /* neighbours are far apart */
    }
}

void sizes_do_not_overflow(void **) {
    assert_true(count_of({3, 5, 7}) == 105);
    assert_true(count_of({INT32_MAX, INT32_MAX, INT32_MAX}) == INT64_MAX);
}

void memory_that_is_not_there_is_said(void **) {
    std::unique_ptr<backend> on = open_cpu();
    sli_measurement row = sli_no_measurement;
    const char *error = nullptr;
    shape its = kernel_of("gemm").shapes(true).front();
    its.rows = INT32_MAX;
    its.depth = 1 << 30;
    assert_true(measure(kernel_of("gemm"), its, *on, sampling{}, "", &row, &error) ==
                outcome::too_large);
    assert_string_equal(error, "not enough memory");
    /* The next one is none the worse for it. */
    sampling how;
    how.samples = 3;
    its = kernel_of("gemm").shapes(true).front();
    assert_true(measure(kernel_of("gemm"), its, *on, how, "", &row, &error) == outcome::measured);
    assert_int_equal(row.samples, 3);
    assert_int_equal(row.algorithmic_flops, 2 * 8 * 256 * 256);
}

void impossible_shapes_are_refused(void **) {
    std::unique_ptr<backend> on = open_cpu();
    sli_measurement row = sli_no_measurement;
    const char *error = nullptr;
    shape its = kernel_of("rms_norm").shapes(true).front();
    its.width = 12;
    assert_true(measure(kernel_of("rms_norm"), its, *on, sampling{}, "", &row, &error) ==
                outcome::refused);
    assert_non_null(strstr(error, "multiple of 8"));
    its.width = int64_t{1} << 40;
    assert_true(measure(kernel_of("rms_norm"), its, *on, sampling{}, "", &row, &error) ==
                outcome::refused);
    assert_non_null(strstr(error, "above 2147483647"));
    its = kernel_of("rms_norm").shapes(true).front();
    its.rows = 0;
    assert_true(measure(kernel_of("rms_norm"), its, *on, sampling{}, "", &row, &error) ==
                outcome::refused);
    assert_non_null(strstr(error, "nothing to do"));
}

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_linear_between_samples),
        cmocka_unit_test(shares_follow_from_the_median),
        cmocka_unit_test(a_sample_lasts_long_enough),
        cmocka_unit_test(shapes_are_read),
        cmocka_unit_test(mistakes_in_shapes_are_named),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(mistakes_in_options_are_named),
        cmocka_unit_test(kernels_offer_what_they_serve),
        cmocka_unit_test(no_split_that_is_offered_is_empty),
        cmocka_unit_test(jobs_execute_what_their_rows_tell),
        cmocka_unit_test(words_are_whole),
        cmocka_unit_test(steps_scatter_and_repeat_nothing),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(memory_that_is_not_there_is_said),
        cmocka_unit_test(impossible_shapes_are_refused),
    };
    return cmocka_run_group_tests_name("bench", tests, nullptr, nullptr);
}
