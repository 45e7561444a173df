/*
 * Planted faults: small kernels that are wrong in one way each. The emulation, or the sanitizer
 * that the program is built with, has to say what is wrong, where.
 *
 * A fault that a sanitizer stops the program for runs in a program of its own: this one, started
 * again with the fault's name. Without arguments all are run.
 */
#include "cuda/kref.h"
#include "cuda/tile.h"
#include "tests/checking.h"

#include <string>
#include <unistd.h>

namespace {

using namespace kref;
using namespace kref::tests;

struct fault_args {
    float *values; /* of 64 floats, unless a fault says otherwise */
};

/* Where a kernel goes wrong. The macro stands on the line before. */
#define NEXT_LINE (__LINE__ + 1)

unsigned thread() {
    return threadIdx.x;
}

/* ---- Barriers ---- */

constexpr int missed_line = NEXT_LINE + 2;
__global__ void missed_barrier(fault_args) {
    if (thread() != 5) {
        __syncthreads();
    }
}

constexpr int late_line = NEXT_LINE + 4;
__global__ void barrier_after_exit(fault_args) {
    if (thread() < 8) {
        return;
    }
    __syncthreads();
}

constexpr int diverged_line = NEXT_LINE + 2;
__global__ void two_barriers(fault_args) {
    if (thread() < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

/* On one line: still two barriers. */
constexpr int one_line = NEXT_LINE + 2;
__global__ void two_barriers_on_a_line(fault_args) {
    // clang-format off
    if (thread() < 32) { __syncthreads(); } else { __syncthreads(); }
    // clang-format on
}

constexpr int half_line = NEXT_LINE + 2;
__global__ void barrier_and_shuffle(fault_args args) {
    if (thread() < 16) {
        __syncthreads();
    } else {
        args.values[thread()] = __shfl_xor_sync(~0U, 1.0F, 1U);
    }
}

/* ---- Warp operations ---- */

constexpr int outside_line = NEXT_LINE + 2;
__global__ void shuffle_from_outside(fault_args args) {
    if (thread() < 16) {
        args.values[thread()] = __shfl_sync(0xffffU, 1.0F, thread() + 4);
    }
}

constexpr int own_line = NEXT_LINE + 1;
__global__ void lane_not_in_mask(fault_args args) {
    args.values[thread()] = __shfl_xor_sync(0x7fffffffU, 1.0F, 0U);
}

constexpr int gone_line = NEXT_LINE + 4;
__global__ void mask_names_the_gone(fault_args args) {
    if (thread() < 2) {
        return;
    }
    args.values[thread()] = __shfl_xor_sync(~0U, 1.0F, 1U);
}

constexpr int leaving_line = NEXT_LINE + 2;
__global__ void lane_leaves_while_awaited(fault_args args) {
    if (thread() < 30) {
        args.values[thread()] = __shfl_xor_sync(~0U, 1.0F, 1U);
    }
}

constexpr int masks_line = NEXT_LINE + 2;
__global__ void lanes_disagree(fault_args args) {
    unsigned mask = thread() == 31 ? 0xfffffffeU : ~0U;
    args.values[thread()] = __shfl_xor_sync(mask, 1.0F, 0U);
}

constexpr int absent_line = NEXT_LINE + 1;
__global__ void mask_names_lanes_that_never_were(fault_args args) {
    args.values[thread()] = __shfl_xor_sync(~0U, 1.0F, 0U); /* a block of 16 */
}

/* ---- Copies and shared memory ---- */

constexpr int unwaited_line = NEXT_LINE + 1;
__global__ void copy_without_wait(fault_args args) {
    copy_async(KREF_DYNAMIC_SHARED() + thread() * 16, args.values, 16);
    commit_copies();
}

constexpr int crooked_line = NEXT_LINE + 1;
__global__ void crooked_copy(fault_args args) {
    copy_async(KREF_DYNAMIC_SHARED(), args.values + 1, 16);
}

constexpr int target_line = NEXT_LINE + 1;
__global__ void copy_into_global(fault_args args) {
    copy_async(args.values, args.values + 4, 16);
}

constexpr int large_line = NEXT_LINE + 1;
__global__ void too_much_static(fault_args) {
    KREF_SHARED(float, large, 13000);
    large[thread()] = 1.0F;
}

constexpr int nothing_line = NEXT_LINE + 1;
__global__ void no_dynamic_memory(fault_args) {
    KREF_DYNAMIC_SHARED()[0] = 1;
}

constexpr int row_line = NEXT_LINE + 1;
__global__ void crooked_row(fault_args args) {
    left_tile loaded = load_left(reinterpret_cast<bf16 *>(KREF_DYNAMIC_SHARED()) + 1, 24);
    args.values[thread()] = float_of(loaded.registers[0]);
}

struct planted {
    const char *name;
    void (*kernel)(fault_args);
    unsigned threads;
    int line;
    const char *says;
};

#define PLANTED(kernel, threads, line, says)                                                       \
    { #kernel, kernel, threads, line, says }
const planted told_by_emulation[] = {
    PLANTED(missed_barrier, 64, missed_line, "not all threads come here"),
    PLANTED(barrier_after_exit, 64, late_line, "not all threads come here"),
    PLANTED(two_barriers, 64, diverged_line, "others of the block wait at another barrier"),
    PLANTED(two_barriers_on_a_line, 64, one_line, "others of the block wait at another barrier"),
    PLANTED(barrier_and_shuffle, 32, half_line, "deadlock in block (0, 0, 0)"),
    PLANTED(shuffle_from_outside, 32, outside_line, "reads from lane 1"),
    PLANTED(lane_not_in_mask, 32, own_line, "lane 31 is not in its own mask 7fffffff"),
    PLANTED(mask_names_the_gone, 32, gone_line, "not all lanes come here"),
    PLANTED(lane_leaves_while_awaited, 32, leaving_line, "not all lanes come here"),
    PLANTED(lanes_disagree, 32, masks_line, "mask fffffffe"),
    PLANTED(mask_names_lanes_that_never_were, 16, absent_line, "it has 0000ffff"),
    PLANTED(copy_without_wait, 1, unwaited_line, "has not waited for this copy"),
    PLANTED(crooked_copy, 1, crooked_line, "not a multiple of 16 bytes"),
    PLANTED(copy_into_global, 1, target_line, "the target is not in shared memory"),
    PLANTED(too_much_static, 1, large_line, "52000 bytes of static shared memory"),
    PLANTED(no_dynamic_memory, 1, nothing_line, "gave no dynamic shared memory"),
    PLANTED(crooked_row, 32, row_line, "not a multiple of 16 bytes"),
};

std::string launch_fault(const planted &fault, size_t shared_bytes) {
    device_array<float> values(std::vector<float>(64, 0.0F));
    const char *error = launch(fault.name, fault.kernel, dim3{1}, dim3{fault.threads}, shared_bytes,
                               nullptr, fault_args{values.data()});
    return error != nullptr ? error : "";
}

size_t shared_bytes_of(const planted &fault) {
    bool has_none = fault.kernel == no_dynamic_memory || fault.kernel == too_much_static;
    return has_none ? 0 : 1024;
}

void assert_names(const std::string &report, const planted &fault) {
    std::string place = "test_faults.cpp:" + std::to_string(fault.line);
    bool is_told = report.find(fault.name) == 0 && report.find(place) != std::string::npos &&
                   report.find(fault.says) != std::string::npos;
    if (!is_told) {
        print_error("%s, expected '%s' at %s; got: %s\n", fault.name, fault.says, place.c_str(),
                    report.c_str());
    }
    assert_true(is_told);
}

/* In each order the report names kernel, line and reason, and the next kernel runs as if nothing
 * had been. */
void emulation_tells(void **) {
    in_every_order([] {
        for (const planted &fault : told_by_emulation) {
            assert_names(launch_fault(fault, shared_bytes_of(fault)), fault);
        }
    });
}

/* The report of a deadlock says who waits where. */
void deadlock_lists_who_waits(void **) {
    for (const planted &fault : told_by_emulation) {
        if (fault.kernel != barrier_and_shuffle) {
            continue;
        }
        std::string report = launch_fault(fault, 0);
        assert_true(report.find("; 16 wait at test_faults.cpp:" + std::to_string(half_line) +
                                " in __syncthreads, first of them thread (0, 0, 0)") !=
                    std::string::npos);
        assert_true(report.find("; 16 wait at test_faults.cpp:" + std::to_string(half_line + 2) +
                                " in __shfl_xor_sync with mask ffffffff, first of them thread "
                                "(16, 0, 0)") != std::string::npos);
    }
}

/* ---- Wrong results ---- */

/* Reads what its neighbour writes, without a barrier between. */
[[maybe_unused]] constexpr int race_line = NEXT_LINE + 3;
__global__ void missing_barrier(fault_args args) {
    auto *shared = reinterpret_cast<float *>(KREF_DYNAMIC_SHARED());
    shared[thread()] = 1.0F;
    args.values[thread()] = shared[(thread() + 1) % 64];
}

#if !defined(KREF_TSAN)

/* The copy is on its way. */
__global__ void read_before_arrival(fault_args args) {
    auto *shared = reinterpret_cast<float *>(KREF_DYNAMIC_SHARED());
    copy_async(shared + thread() * 4, args.values, 16);
    commit_copies();
    args.values[thread()] = shared[thread() * 4];
    wait_for_copies<0>();
}

__global__ void read_of_nothing(fault_args args) {
    args.values[thread()] = reinterpret_cast<float *>(KREF_DYNAMIC_SHARED())[thread()];
}

#endif

/* Believes to know which lane holds which row. */
__global__ void leans_on_the_map(fault_args args) {
    auto *rows = reinterpret_cast<bf16 *>(KREF_DYNAMIC_SHARED());
    for (unsigned i = thread(); i < 16 * 24; i += 32) {
        rows[i] = to_bf16(static_cast<float>(i / 24));
    }
    __syncwarp();
    left_tile loaded = load_left(rows, 24);
    uint32_t wanted = to_bf16(static_cast<float>(thread() / 4)).bits;
    args.values[thread()] = loaded.registers[0] == (wanted | wanted << 16) ? 0.0F : NAN;
}

bool gives_nan(void (*kernel)(fault_args), unsigned threads) {
    device_array<float> values(std::vector<float>(64, 0.0F));
    assert_ran(
        launch("wrong", kernel, dim3{1}, dim3{threads}, 1024, nullptr, fault_args{values.data()}));
    bool has_nan = false;
    for (float value : values.read()) {
        has_nan |= std::isnan(value);
    }
    return has_nan;
}

#if !defined(KREF_TSAN)

void wrong_results_show_in_every_order(void **) {
    in_every_order([] {
        assert_true(gives_nan(missing_barrier, 64));
        assert_true(gives_nan(read_before_arrival, 64));
        assert_true(gives_nan(read_of_nothing, 64));
    });
}

#endif

void salt_finds_who_leans_on_the_map(void **) {
    assert_false(gives_nan(leans_on_the_map, 32));
    emulation::current_settings().lane_salt = 4;
    assert_true(gives_nan(leans_on_the_map, 32));
    emulation::current_settings().lane_salt = 0;
}

/* ---- What only a sanitizer sees ---- */

#if defined(KREF_TSAN)

/* No order gives another result, because the load is itself a meeting of the lanes. */
constexpr int sync_line = NEXT_LINE + 6;
__global__ void missing_warp_sync(fault_args args) {
    auto *rows = reinterpret_cast<bf16 *>(KREF_DYNAMIC_SHARED());
    bf16 *row = rows + thread() % 16 * 24 + thread() / 16 * 8;
    for (unsigned i = 0; i < 8; i++) {
        row[i] = to_bf16(1.0F);
    }
    args.values[thread()] = float_of(load_left(rows, 24).registers[0]);
}

/* The next copy begins while slow threads still read what the last one brought. */
constexpr int reuse_line = NEXT_LINE + 7;
__global__ void copy_over_what_is_read(fault_args args) {
    auto *shared = reinterpret_cast<float *>(KREF_DYNAMIC_SHARED());
    for (int round = 0; round < 2; round++) {
        if (thread() == 0) {
            if (round > 0) {
                args.values[0] += 1.0F;
            }
            copy_async(shared, args.values + 4, 16);
            commit_copies();
            wait_for_copies<0>();
        }
        __syncthreads();
        args.values[8 + thread()] = shared[0];
    }
}

/* Two threads sum into one place. */
constexpr int sum_line = NEXT_LINE + 1;
__global__ void sum_without_order(fault_args args) {
    args.values[0] += 1.0F;
}

/* A histogram in shared memory. Threads run until they wait, so under the emulation no count is
 * lost whether it is added atomically or not: only a race checker can tell the four below apart. */
int *cleared_bins() {
    auto *bins = reinterpret_cast<int *>(KREF_DYNAMIC_SHARED());
    if (thread() < 4) {
        bins[thread()] = 0;
    }
    __syncthreads();
    return bins;
}

void put_bins(const fault_args &args, const int *bins) {
    if (thread() < 4) {
        args.values[thread()] = static_cast<float>(bins[thread()]);
    }
}

constexpr int plain_add_line = NEXT_LINE + 2;
__global__ void count_without_atomics(fault_args args) {
    int *bins = cleared_bins();
    bins[thread() % 4] += 1;
    __syncthreads();
    put_bins(args, bins);
}

/* One thread does not know that the others count atomically. */
constexpr int mixed_add_line = NEXT_LINE + 3;
__global__ void one_count_without_atomics(fault_args args) {
    int *bins = cleared_bins();
    if (thread() == 9) {
        bins[0] += 1;
    } else {
        atomicAdd(bins, 1);
    }
    __syncthreads();
    put_bins(args, bins);
}

/* Atomics order nothing else: whoever reads the counts has to wait for those who count. */
constexpr int early_count_line = NEXT_LINE + 3;
__global__ void counts_read_too_early(fault_args args) {
    int *bins = cleared_bins();
    atomicAdd(&bins[thread() % 4], 1);
    args.values[thread()] = static_cast<float>(bins[thread() % 4]);
}

/* Right, so nobody may complain. */
__global__ void count_with_atomics(fault_args args) {
    int *bins = cleared_bins();
    atomicAdd(&bins[thread() % 4], 1);
    __syncthreads();
    put_bins(args, bins);
}

const planted told_by_sanitizer[] = {
    PLANTED(missing_barrier, 64, race_line, "data race"),
    PLANTED(missing_warp_sync, 32, sync_line, "data race"),
    PLANTED(copy_over_what_is_read, 32, reuse_line, "data race"),
    PLANTED(sum_without_order, 2, sum_line, "data race"),
    PLANTED(count_without_atomics, 32, plain_add_line, "data race"),
    PLANTED(one_count_without_atomics, 32, mixed_add_line, "data race"),
    PLANTED(counts_read_too_early, 32, early_count_line, "data race"),
};

/* In this very program, which a report of the race checker would make fail. */
void atomic_counts_are_right(void **) {
    in_every_order([] {
        device_array<float> values(std::vector<float>(64, 0.0F));
        assert_ran(launch("count", count_with_atomics, dim3{1}, dim3{64}, 1024, nullptr,
                          fault_args{values.data()}));
        std::vector<float> counted = values.read();
        assert_true(std::vector<float>(counted.begin(), counted.begin() + 4) ==
                    std::vector<float>(4, 16.0F));
    });
}

#elif defined(__SANITIZE_ADDRESS__)

constexpr int dynamic_line = NEXT_LINE + 1;
__global__ void behind_dynamic_memory(fault_args) {
    reinterpret_cast<float *>(KREF_DYNAMIC_SHARED())[256] = 1.0F;
}

constexpr int static_line = NEXT_LINE + 4;
__global__ void behind_static_array(fault_args) {
    KREF_SHARED(float, its, 10);
    float *first = its;
    asm volatile("" : "+r"(first)); /* so that the bound of the array is not known */
    first[10] = 1.0F;
}

constexpr int global_line = NEXT_LINE + 1;
__global__ void behind_global_array(fault_args args) {
    args.values[64] = 1.0F;
}

constexpr int pack_line = NEXT_LINE + 1;
__global__ void crooked_pack(fault_args args) {
    *reinterpret_cast<pack<float, 4> *>(args.values + 1) = pack<float, 4>{};
}

constexpr int copied_line = NEXT_LINE + 1;
__global__ void copy_from_behind(fault_args args) {
    copy_async(KREF_DYNAMIC_SHARED(), args.values + 64, 16);
    commit_copies();
    wait_for_copies<0>();
}

const planted told_by_sanitizer[] = {
    PLANTED(behind_dynamic_memory, 1, dynamic_line, "use-after-poison"),
    PLANTED(behind_static_array, 1, static_line, "use-after-poison"),
    PLANTED(behind_global_array, 1, global_line, "heap-buffer-overflow"),
    PLANTED(crooked_pack, 1, pack_line, "misaligned address"),
    PLANTED(copy_from_behind, 1, copied_line, "heap-buffer-overflow"),
};

#endif

#if defined(KREF_TSAN) || defined(__SANITIZE_ADDRESS__)

/* What this program prints when it runs the fault alone. */
std::string output_of(const char *name) {
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    std::string command = "'" + std::string(self) + "' " + name + " 2>&1";
    FILE *pipe = popen(command.c_str(), "r");
    assert_non_null(pipe);
    std::string output;
    char some[4096];
    for (size_t got = 0; (got = fread(some, 1, sizeof some, pipe)) > 0;) {
        output.append(some, got);
    }
    assert_int_not_equal(pclose(pipe), 0);
    return output;
}

void sanitizer_tells(void **) {
    for (const planted &fault : told_by_sanitizer) {
        assert_names(fault.name + (": " + output_of(fault.name)), fault);
    }
}

int run_alone(const char *name) {
    for (const planted &fault : told_by_sanitizer) {
        if (strcmp(fault.name, name) == 0) {
            fprintf(stderr, "%s\n", launch_fault(fault, 1024).c_str());
            return 0;
        }
    }
    fprintf(stderr, "there is no fault '%s'\n", name);
    return 2;
}

#else

int run_alone(const char *name) {
    fprintf(stderr, "no sanitizer here for '%s'\n", name);
    return 2;
}

#endif

} // namespace

int main(int count, char **arguments) {
    if (count > 1) {
        return run_alone(arguments[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emulation_tells),
        cmocka_unit_test(deadlock_lists_who_waits),
        cmocka_unit_test(salt_finds_who_leans_on_the_map),
#if !defined(KREF_TSAN)
        cmocka_unit_test(wrong_results_show_in_every_order),
#endif
#if defined(KREF_TSAN)
        cmocka_unit_test(atomic_counts_are_right),
#endif
#if defined(KREF_TSAN) || defined(__SANITIZE_ADDRESS__)
        cmocka_unit_test(sanitizer_tells),
#endif
    };
    return cmocka_run_group_tests_name("faults", tests, nullptr, nullptr);
}
