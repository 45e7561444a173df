/*
 * The emulation itself: fibers, the order of lanes and blocks, barriers, shared memory, copies, and
 * the shuffles and votes of CUDA, each against what its manual says.
 */
#include "cuda/kref.h"
#include "emulation/fiber.h"
#include "emulation/sanitizer.h"
#include "tests/checking.h"

#include <string>

namespace {

using namespace kref;
using namespace kref::tests;

/* ---- Fibers ---- */

emulation::fiber home;
emulation::fiber guests[2];
std::string visits;

void visit() {
    visits += 'a';
    guests[0].switch_to(guests[1]);
    visits += 'c';
    guests[0].finish_into(home);
}

void visit_back() {
    visits += 'b';
    guests[1].switch_to(guests[0]);
    abort(); /* nobody comes back to this one */
}

void fibers_switch_to_and_fro(void **) {
    for (int round = 0; round < 3; round++) {
        visits.clear();
        guests[0].start(visit);
        guests[1].start(visit_back);
        home.switch_to(guests[0]);
        assert_string_equal(visits.c_str(), "abc");
    }
}

/* ---- Orders ---- */

struct trace_args {
    int *next;
    int *turns; /* of each thread, in the order in which they came */
};

/* Threads that take turns at one counter are a race on a device; here it shows the order. */
void note_turn(const trace_args &args) {
    emulation::unobserved all;
    args.turns[(*args.next)++] = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void trace_kernel(trace_args args) {
    note_turn(args);
    __syncthreads();
    note_turn(args);
}

std::vector<int> trace(emulation::order order, uint32_t seed, unsigned blocks, unsigned threads) {
    set_order(order, seed, 0);
    int next = 0;
    std::vector<int> turns(size_t{2} * blocks * threads, -1);
    assert_ran(launch("trace", trace_kernel, dim3{blocks}, dim3{threads}, 0, nullptr,
                      trace_args{&next, turns.data()}));
    set_order(emulation::order::forward, 1, 0);
    return turns;
}

/* Each thread comes once before the barrier and once behind it, block by block. */
void assert_is_whole(const std::vector<int> &turns, size_t threads) {
    for (size_t half = 0; half < turns.size(); half += threads) {
        std::vector<int> seen(threads, 0);
        int block = turns[half] / static_cast<int>(threads);
        for (size_t i = half; i < half + threads; i++) {
            assert_int_equal(turns[i] / static_cast<int>(threads), block);
            seen[static_cast<size_t>(turns[i]) % threads]++;
        }
        for (int count : seen) {
            assert_int_equal(count, 1);
        }
    }
}

void orders_are_what_they_say(void **) {
    std::vector<int> forward = trace(emulation::order::forward, 1, 3, 70);
    std::vector<int> reverse = trace(emulation::order::reverse, 1, 3, 70);
    assert_is_whole(forward, 70);
    assert_is_whole(reverse, 70);
    for (int i = 0; i < 70; i++) {
        assert_int_equal(forward[static_cast<size_t>(i)], i);
        assert_int_equal(reverse[static_cast<size_t>(i)], 209 - i);
    }
}

void random_order_is_its_seeds(void **) {
    std::vector<int> one = trace(emulation::order::random, 5, 7, 70);
    assert_is_whole(one, 70);
    assert_true(one == trace(emulation::order::random, 5, 7, 70));
    assert_true(one != trace(emulation::order::random, 6, 7, 70));
    assert_true(one != trace(emulation::order::forward, 1, 7, 70));
}

/* ---- Coordinates ---- */

struct count_args {
    int *counts;
};

__global__ void count_kernel(count_args args) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    args.counts[block * (blockDim.x * blockDim.y * blockDim.z) + thread]++;
}

void every_coordinate_comes_once(void **) {
    in_every_order([] {
        std::vector<int> counts(2 * 3 * 4 * 5 * 6 * 7, 0);
        assert_ran(launch("count", count_kernel, dim3{2, 3, 4}, dim3{5, 6, 7}, 0, nullptr,
                          count_args{counts.data()}));
        for (int count : counts) {
            assert_int_equal(count, 1);
        }
    });
}

void bad_launches_are_refused(void **) {
    count_args none = {nullptr};
    const char *error = launch("count", count_kernel, dim3{1}, dim3{1025}, 0, nullptr, none);
    assert_string_equal(error, "count: 1025 threads a block, expected 1 to 1024");
    error = launch("count", count_kernel, dim3{1, 0}, dim3{1}, 0, nullptr, none);
    assert_non_null(strstr(error, "a grid of 1 x 0 x 1"));
    error = launch("count", count_kernel, dim3{1, 65536}, dim3{1}, 0, nullptr, none);
    assert_non_null(strstr(error, "at most 65535 along y and z"));
    error = launch("count", count_kernel, dim3{1}, dim3{1}, 232449, nullptr, none);
    assert_string_equal(error, "count: 232449 bytes of shared memory, expected at most 232448");
}

/* ---- Shared memory and barriers ---- */

struct reverse_args {
    int *values;
};

/* Two static arrays and the dynamic one, three barriers, two of them on one line. */
__global__ void reverse_kernel(reverse_args args) {
    KREF_SHARED(int, first, 96);
    KREF_SHARED(int, second, 96);
    auto *third = reinterpret_cast<int *>(KREF_DYNAMIC_SHARED());
    int thread = static_cast<int>(threadIdx.x);
    int other = static_cast<int>(blockDim.x) - 1 - thread;
    first[thread] = args.values[thread];
    __syncthreads();
    second[thread] = first[other] + 1;
    // clang-format off
    __syncthreads(); third[thread] = second[other] * 2; __syncthreads();
    // clang-format on
    args.values[thread] = third[other];
}

void shared_memory_passes_values_on(void **) {
    in_every_order([] {
        std::vector<int> values;
        for (int i = 0; i < 96; i++) {
            values.push_back(i * i);
        }
        assert_ran(launch("reverse", reverse_kernel, dim3{1}, dim3{96}, 96 * sizeof(int), nullptr,
                          reverse_args{values.data()}));
        for (int i = 0; i < 96; i++) {
            int other = 95 - i;
            assert_int_equal(values[static_cast<size_t>(i)], (other * other + 1) * 2);
        }
    });
}

struct poison_args {
    unsigned *seen;
    bool writes;
};

__global__ void poison_kernel(poison_args args) {
    KREF_SHARED(unsigned, its, 2);
    auto *dynamic = reinterpret_cast<unsigned *>(KREF_DYNAMIC_SHARED());
    args.seen[0] = its[1];
    args.seen[1] = dynamic[1];
    if (args.writes) {
        its[1] = 1;
        dynamic[1] = 2;
    }
}

/* What an earlier block has written is gone. */
void shared_memory_begins_as_nan(void **) {
    unsigned seen[2] = {0, 0};
    for (bool writes : {true, false}) {
        assert_ran(launch("poison", poison_kernel, dim3{2}, dim3{1}, 8, nullptr,
                          poison_args{seen, writes}));
        assert_int_equal(seen[0], 0xffffffffU);
        assert_int_equal(seen[1], 0xffffffffU);
    }
}

/* ---- Shuffles and votes ---- */

struct lane_args {
    int *out;
    unsigned mask;
    unsigned operand;
    int width;
    int kind;
};

__global__ void shuffle_kernel(lane_args args) {
    int lane = static_cast<int>(threadIdx.x);
    if ((args.mask & (1U << lane)) == 0) {
        return;
    }
    int value = 100 + lane;
    switch (args.kind) {
    case 0:
        value = __shfl_sync(args.mask, value, args.operand, args.width);
        break;
    case 1:
        value = __shfl_up_sync(args.mask, value, args.operand, args.width);
        break;
    case 2:
        value = __shfl_down_sync(args.mask, value, args.operand, args.width);
        break;
    default:
        value = __shfl_xor_sync(args.mask, value, args.operand, args.width);
        break;
    }
    args.out[lane] = value;
}

/* What each of 32 lanes gets; -1 where the lane is not in the mask. */
std::vector<int> shuffled(int kind, unsigned operand, int width, unsigned mask = ~0U) {
    std::vector<int> out(32, -1);
    assert_ran(launch("shuffle", shuffle_kernel, dim3{1}, dim3{32}, 0, nullptr,
                      lane_args{out.data(), mask, operand, width, kind}));
    return out;
}

/* CUDA C++ Programming Guide, "Warp Shuffle Functions". Lane numbers are 100 less. */
void shuffles_follow_the_manual(void **) {
    in_every_order([] {
        for (int lane = 0; lane < 32; lane++) {
            auto at = static_cast<size_t>(lane);
            assert_int_equal(shuffled(0, 5, 32)[at], 105);
            assert_int_equal(shuffled(0, 5, 8)[at], 100 + lane / 8 * 8 + 5);
            assert_int_equal(shuffled(0, 13, 8)[at], 100 + lane / 8 * 8 + 5);
            assert_int_equal(shuffled(1, 3, 32)[at], 100 + (lane >= 3 ? lane - 3 : lane));
            assert_int_equal(shuffled(1, 3, 4)[at], 100 + (lane % 4 == 3 ? lane - 3 : lane));
            assert_int_equal(shuffled(2, 30, 32)[at], 100 + (lane < 2 ? lane + 30 : lane));
            assert_int_equal(shuffled(2, 1, 2)[at], 100 + (lane % 2 == 0 ? lane + 1 : lane));
            assert_int_equal(shuffled(3, 9, 32)[at], 100 + (lane ^ 9));
            /* Lane 9 of the second group of 8 may read from the first, not the other way round. */
            assert_int_equal(shuffled(3, 8, 8)[at], 100 + (lane % 16 >= 8 ? lane - 8 : lane));
        }
    });
}

/* Lanes 4 to 7 and 12 exchange among themselves; the others have left. */
void shuffles_keep_to_their_mask(void **) {
    unsigned mask = 0x10f0;
    std::vector<int> out = shuffled(3, 1, 32, 0x00f0);
    assert_int_equal(out[4], 105);
    assert_int_equal(out[7], 106);
    assert_int_equal(out[12], -1);
    out = shuffled(0, 12, 32, mask);
    assert_int_equal(out[5], 112);
    assert_int_equal(out[12], 112);
    assert_int_equal(out[0], -1);
}

struct wide {
    float a;
    int b;
    double c;
};

struct wide_args {
    wide *out;
    unsigned *votes;
};

/* A block of 40 threads: its second warp has 8 lanes. */
__global__ void wide_kernel(wide_args args) {
    unsigned thread = threadIdx.x;
    unsigned mask = thread < 32 ? ~0U : 0xffU;
    wide value = {static_cast<float>(thread), static_cast<int>(thread) * 2, thread * 0.5};
    args.out[thread] = __shfl_xor_sync(mask, value, 1U);
    args.votes[thread] = __ballot_sync(mask, thread % 3 == 0);
}

void partial_warps_exchange_wide_values(void **) {
    in_every_order([] {
        std::vector<wide> out(40);
        std::vector<unsigned> votes(40);
        assert_ran(launch("wide", wide_kernel, dim3{1}, dim3{40}, 0, nullptr,
                          wide_args{out.data(), votes.data()}));
        for (unsigned i = 0; i < 40; i++) {
            unsigned other = i ^ 1U;
            assert_true(out[i].a == static_cast<float>(other));
            assert_int_equal(out[i].b, other * 2);
            assert_true(out[i].c == other * 0.5);
            /* Multiples of 3 below 32; 33, 36 and 39 are lanes 1, 4 and 7. */
            assert_int_equal(votes[i], i < 32 ? 0x49249249U : 0x92U);
        }
    });
}

/* ---- Asynchronous copies ---- */

struct copy_args {
    const float *from;
    float *early;
    float *late;
};

/* Three groups, of which the first wait leaves one open; the last copies 8 of 16 bytes. */
__global__ void copy_kernel(copy_args args) {
    auto *to = reinterpret_cast<float *>(KREF_DYNAMIC_SHARED());
    for (int group = 0; group < 3; group++) {
        copy_async(to + group * 4, args.from + group * 4, group == 2 ? 8 : 16);
        commit_copies();
    }
    wait_for_copies<1>();
    for (int i = 0; i < 12; i++) {
        args.early[i] = to[i];
    }
    wait_for_copies<0>();
    for (int i = 0; i < 12; i++) {
        args.late[i] = to[i];
    }
}

void copies_arrive_at_the_wait(void **) {
    alignas(16) float from[12];
    float early[12];
    float late[12];
    for (int i = 0; i < 12; i++) {
        from[i] = static_cast<float>(i + 1);
    }
    emulation::reset_tally();
    assert_ran(launch("copy", copy_kernel, dim3{1}, dim3{1}, sizeof from, nullptr,
                      copy_args{from, early, late}));
    for (int i = 0; i < 12; i++) {
        assert_true(i < 8 ? early[i] == from[i] : std::isnan(early[i]));
        assert_true(late[i] == (i < 10 ? from[i] : 0.0F));
    }
    assert_int_equal(emulation::take_tally().copied_bytes, 40);
}

/* ---- Counting ---- */

#if defined(KREF_COUNTS)

struct flop_args {
    global<const float> in;
    global<float> out;
};

__global__ void flop_kernel(flop_args args) {
    f32 x = args.in.get(threadIdx.x);
    f32 y = fma(x, x, x) + x * x;  /* 4 */
    y = max(y, x / f32(3.0F)) - x; /* 3 */
    y += exp2(rsqrt(y));           /* 1, and two specials */
    y *= y > f32(1.0F) ? -y : y;   /* 2 */
    args.out.put(threadIdx.x, static_cast<float>(y));
}

void flops_and_bytes_are_counted(void **) {
    device_array<float> in(std::vector<float>(10, 1.5F));
    device_array<float> out(10);
    emulation::reset_tally();
    emulation::current_settings().has_sectors = true;
    assert_ran(launch("flop", flop_kernel, dim3{1}, dim3{10}, 0, nullptr,
                      flop_args{in.data(), out.data()}));
    emulation::current_settings().has_sectors = false;
    emulation::tally counted = emulation::take_tally();
    assert_int_equal(counted.vector_flops, 100);
    assert_int_equal(counted.specials, 20);
    assert_int_equal(counted.matrix_flops, 0);
    assert_int_equal(counted.loaded_bytes, 40);
    assert_int_equal(counted.stored_bytes, 40);
    assert_int_equal(counted.read_sectors, 2); /* 40 bytes from a multiple of 256 on */
    assert_int_equal(counted.written_sectors, 2);
}

#endif

} // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fibers_switch_to_and_fro),
        cmocka_unit_test(orders_are_what_they_say),
        cmocka_unit_test(random_order_is_its_seeds),
        cmocka_unit_test(every_coordinate_comes_once),
        cmocka_unit_test(bad_launches_are_refused),
        cmocka_unit_test(shared_memory_passes_values_on),
        cmocka_unit_test(shared_memory_begins_as_nan),
        cmocka_unit_test(shuffles_follow_the_manual),
        cmocka_unit_test(shuffles_keep_to_their_mask),
        cmocka_unit_test(partial_warps_exchange_wide_values),
        cmocka_unit_test(copies_arrive_at_the_wait),
#if defined(KREF_COUNTS)
        cmocka_unit_test(flops_and_bytes_are_counted),
#endif
    };
    return cmocka_run_group_tests_name("machine", tests, nullptr, nullptr);
}
