#include "cuda/select_top.h"

#include "cuda/kref.h"

namespace kref {

namespace {

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr int DIGIT_BITS = 8;
constexpr int DIGITS = 1 << DIGIT_BITS; /* one a thread */

/* Of the same order as the numbers; -0 is 0. */
KREF_FUNCTION uint32_t key_of(float number) {
    uint32_t bits = bits_of(number);
    bits = bits == 0x80000000U ? 0U : bits;
    return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

/* What is known of the last chosen number: its digits so far, and the place that it takes among
 * those that share them, from the greatest on, counted from 1. */
struct threshold {
    uint32_t key;
    int place;
};

struct exchange {
    int counts[DIGITS];
    int of_warps[WARPS];
    threshold found;
};

KREF_FUNCTION int sum_below(int value) {
    int lane = static_cast<int>(threadIdx.x) % 32;
    int sum = value;
    KREF_UNROLL
    for (int distance = 1; distance < 32; distance *= 2) {
        int other = __shfl_up_sync(~0U, sum, distance);
        sum += lane >= distance ? other : 0;
    }
    return sum;
}

/* Counts the digit at `shift` of the numbers that agree with `known` above it. */
KREF_FUNCTION void count_digits(exchange *shared, const select_top_args &args, int64_t row,
                                int length, int shift, threshold known) {
    for (int at = static_cast<int>(threadIdx.x); at < length; at += THREADS) {
        uint32_t key = key_of(args.numbers.get(row + at));
        /* In two steps, because nothing can be shifted by 32. */
        bool is_alike = (key >> shift >> DIGIT_BITS) == (known.key >> shift >> DIGIT_BITS);
        if (is_alike) {
            atomicAdd(&shared->counts[key >> shift & (DIGITS - 1)], 1);
        }
    }
}

/* The digit in which the place lies, from the greatest down: thread 0 has the greatest. */
KREF_FUNCTION void narrow(exchange *shared, int shift, threshold known) {
    int thread = static_cast<int>(threadIdx.x);
    int digit = DIGITS - 1 - thread;
    int count = shared->counts[digit];
    int sum = sum_below(count);
    if (thread % 32 == 31) {
        shared->of_warps[thread / 32] = sum;
    }
    __syncthreads();
    for (int warp = 0; warp < thread / 32; warp++) {
        sum += shared->of_warps[warp];
    }
    if (sum - count < known.place && known.place <= sum) {
        uint32_t key = known.key | static_cast<uint32_t>(digit) << shift;
        shared->found = threshold{key, known.place - (sum - count)};
    }
    __syncthreads();
}

KREF_FUNCTION threshold find_threshold(exchange *shared, const select_top_args &args, int64_t row,
                                       int length) {
    threshold known = {0, args.top};
    for (int shift = 32 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        shared->counts[threadIdx.x] = 0;
        __syncthreads();
        count_digits(shared, args, row, length, shift, known);
        __syncthreads();
        narrow(shared, shift, known);
        known = shared->found;
    }
    return known;
}

/* Of the numbers before this thread's: greater than the threshold, and equal to it. */
struct ranks {
    int greater;
    int equal;
};

/* Adds up over the block what each thread votes; `before` is for the threads before this one. The
 * two halves of `of_warps` take turns, so one barrier is enough. */
KREF_FUNCTION ranks rank_votes(int *of_warps, bool is_greater, bool is_equal, ranks *total) {
    int thread = static_cast<int>(threadIdx.x);
    unsigned greater = __ballot_sync(~0U, is_greater);
    unsigned equal = __ballot_sync(~0U, is_equal);
    if (thread % 32 == 0) {
        /* Both are at most 32: they share a word. */
        of_warps[thread / 32] = __popc(greater) << 16 | __popc(equal);
    }
    __syncthreads();
    unsigned below = (1U << thread % 32) - 1U;
    ranks before = {total->greater + __popc(greater & below), total->equal + __popc(equal & below)};
    for (int warp = 0; warp < WARPS; warp++) {
        int its_greater = of_warps[warp] >> 16;
        int its_equal = of_warps[warp] & 0xffff;
        total->greater += its_greater;
        total->equal += its_equal;
        if (warp < thread / 32) {
            before.greater += its_greater;
            before.equal += its_equal;
        }
    }
    return before;
}

/* A block for a row. */
__global__ void __launch_bounds__(THREADS) select_top_kernel(select_top_args args) {
    KREF_SHARED(exchange, shared, 1);
    KREF_SHARED(int, of_warps, 2 * WARPS);
    int thread = static_cast<int>(threadIdx.x);
    int length = args.lengths.get(blockIdx.x);
    int64_t row = int64_t{blockIdx.x} * args.width;
    int64_t to = int64_t{blockIdx.x} * args.top;
    if (length <= args.top) {
        for (int at = thread; at < args.top; at += THREADS) {
            args.chosen.put(to + at, at < length ? at : -1);
        }
        return;
    }
    threshold last = find_threshold(shared, args, row, length);
    ranks total = {0, 0};
    for (int first = 0; first < length; first += THREADS) {
        int at = first + thread;
        uint32_t key = at < length ? key_of(args.numbers.get(row + at)) : 0;
        bool is_greater = at < length && key > last.key;
        bool is_equal = at < length && key == last.key;
        int half = first / THREADS % 2 * WARPS;
        ranks before = rank_votes(of_warps + half, is_greater, is_equal, &total);
        if (is_greater || (is_equal && before.equal < last.place)) {
            int equals = before.equal < last.place ? before.equal : last.place;
            args.chosen.put(to + before.greater + equals, at);
        }
    }
}

} // namespace

const char *select_top_refusal(const select_top_args &args) {
    if (args.rows < 0 || args.width < 0) {
        return "select_top: rows and width must not be negative";
    }
    if (args.top < 1) {
        return "select_top: top must be positive";
    }
    return nullptr;
}

const char *select_top(const select_top_args &args, void *stream) {
    const char *refusal = select_top_refusal(args);
    if (refusal != nullptr || args.rows == 0) {
        return refusal;
    }
    return launch("select_top", select_top_kernel, dim3{static_cast<unsigned>(args.rows)},
                  dim3{THREADS}, 0, stream, args);
}

} // namespace kref
