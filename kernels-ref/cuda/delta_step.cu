#include "cuda/delta_rule.h"

#include "cuda/kref.h"
#include "cuda/outputs.h"
#include "cuda/state_place.h"

namespace kref {

namespace {

constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr int COLUMNS = 32;    /* of the state, of a block */
constexpr int LANE_VALUES = 4; /* neighbouring columns of a thread: 16 bytes */
constexpr int ROW_THREADS = COLUMNS / LANE_VALUES;
constexpr int ROWS = THREADS / ROW_THREADS; /* that the threads stand in at a time */

using column_sums = f32[LANE_VALUES];

/* Sums over the rows; all threads of a column get them. `parts` is WARPS x COLUMNS, and nobody
 * writes there again before all have read. */
KREF_FUNCTION void sum_over_rows(column_sums &sums, f32 *parts) {
    int thread = static_cast<int>(threadIdx.x);
    KREF_UNROLL
    for (int pattern = ROW_THREADS; pattern < 32; pattern *= 2) {
        KREF_UNROLL
        for (int i = 0; i < LANE_VALUES; i++) {
            sums[i] = sums[i] + __shfl_xor_sync(~0U, sums[i], pattern);
        }
    }
    int column = thread % ROW_THREADS * LANE_VALUES;
    if (thread % 32 < ROW_THREADS) {
        KREF_UNROLL
        for (int i = 0; i < LANE_VALUES; i++) {
            parts[thread / 32 * COLUMNS + column + i] = sums[i];
        }
    }
    __syncthreads();
    KREF_UNROLL
    for (int i = 0; i < LANE_VALUES; i++) {
        sums[i] = 0.0F;
        KREF_UNROLL
        for (int warp = 0; warp < WARPS; warp++) {
            sums[i] += parts[warp * COLUMNS + column + i];
        }
    }
}

KREF_FUNCTION void put_outputs(global<bf16> target, int64_t index, const column_sums &sums,
                               f32 scale) {
    pack<bf16, LANE_VALUES> rounded;
    KREF_UNROLL
    for (int i = 0; i < LANE_VALUES; i++) {
        rounded.at[i] = to_bf16(static_cast<float>(sums[i] * scale));
    }
    target.put_pack<LANE_VALUES>(index, rounded);
}

KREF_FUNCTION void put_outputs(global<float> target, int64_t index, const column_sums &sums,
                               f32 scale) {
    pack<float, LANE_VALUES> exact;
    KREF_UNROLL
    for (int i = 0; i < LANE_VALUES; i++) {
        exact.at[i] = static_cast<float>(sums[i] * scale);
    }
    target.put_pack<LANE_VALUES>(index, exact);
}

KREF_FUNCTION void put_outputs(const either_output &target, int64_t index, const column_sums &sums,
                               f32 scale) {
    if (target.exact.is_null()) {
        put_outputs(target.rounded, index, sums, scale);
    } else {
        put_outputs(target.exact, index, sums, scale);
    }
}

/* A thread's rows: thread / 8, 16 further, ... */
template <int Key_dim> struct thread_state {
    static constexpr int rows = Key_dim / ROWS;
    f32 at[rows][LANE_VALUES];
};

/* `at` is the place of the first element that the thread has. */
template <int Key_dim>
KREF_FUNCTION void read_state(thread_state<Key_dim> *state, const delta_rule_args &args,
                              int64_t at) {
    KREF_UNROLL
    for (int row = 0; row < thread_state<Key_dim>::rows; row++) {
        auto some = args.states.get_pack<LANE_VALUES>(at + row * ROWS * args.value_dim);
        KREF_UNROLL
        for (int i = 0; i < LANE_VALUES; i++) {
            state->at[row][i] = some.at[i];
        }
    }
}

template <int Key_dim>
KREF_FUNCTION void write_state(const thread_state<Key_dim> &state, const delta_rule_args &args,
                               int64_t at) {
    KREF_UNROLL
    for (int row = 0; row < thread_state<Key_dim>::rows; row++) {
        pack<float, LANE_VALUES> some;
        KREF_UNROLL
        for (int i = 0; i < LANE_VALUES; i++) {
            some.at[i] = static_cast<float>(state.at[row][i]);
        }
        args.states.put_pack<LANE_VALUES>(at + row * ROWS * args.value_dim, some);
    }
}

/* One token: the state as it is after it, and the sums of the output. */
template <int Key_dim, bool Has_channel_decays>
KREF_FUNCTION void take_token(thread_state<Key_dim> *state, const delta_rule_args &args,
                              const state_place &place, int64_t token, f32 *predicted_parts,
                              f32 *output_parts, column_sums &outputs) {
    constexpr int rows = thread_state<Key_dim>::rows;
    int first_row = static_cast<int>(threadIdx.x) / ROW_THREADS;
    int64_t key_at = place.key_at(args, token) + first_row;
    int64_t head_at = place.head_at(args, token);
    f32 decay = 1.0F;
    if constexpr (!Has_channel_decays) {
        decay = exp(args.log_decays.get(head_at));
    }

    f32 keys[rows];
    column_sums predicted = {0.0F, 0.0F, 0.0F, 0.0F};
    KREF_UNROLL
    for (int row = 0; row < rows; row++) {
        if constexpr (Has_channel_decays) {
            decay = exp(args.log_decays.get(head_at * Key_dim + first_row + row * ROWS));
        }
        keys[row] = to_float(args.keys.get(key_at + row * ROWS));
        KREF_UNROLL
        for (int i = 0; i < LANE_VALUES; i++) {
            state->at[row][i] *= decay;
            predicted[i] = fma(keys[row], state->at[row][i], predicted[i]);
        }
    }
    sum_over_rows(predicted, predicted_parts);

    f32 strength = args.strengths.get(head_at);
    auto values = args.values.get_pack<LANE_VALUES>(place.value_at(args, token));
    f32 corrections[LANE_VALUES];
    KREF_UNROLL
    for (int i = 0; i < LANE_VALUES; i++) {
        corrections[i] = (f32(to_float(values.at[i])) - predicted[i]) * strength;
        outputs[i] = 0.0F;
    }
    KREF_UNROLL
    for (int row = 0; row < rows; row++) {
        f32 query = to_float(args.queries.get(key_at + row * ROWS));
        KREF_UNROLL
        for (int i = 0; i < LANE_VALUES; i++) {
            state->at[row][i] = fma(keys[row], corrections[i], state->at[row][i]);
            outputs[i] = fma(query, state->at[row][i], outputs[i]);
        }
    }
    sum_over_rows(outputs, output_parts);
}

/* A block for 32 columns of a head of a sequence. Columns do not know of each other. */
template <int Key_dim, bool Has_channel_decays>
__global__ void __launch_bounds__(THREADS) delta_step_kernel(delta_rule_args args) {
    KREF_SHARED(f32, predicted_parts, WARPS * COLUMNS);
    KREF_SHARED(f32, output_parts, WARPS * COLUMNS);
    int thread = static_cast<int>(threadIdx.x);
    int first = args.starts.get(blockIdx.z);
    int end = args.starts.get(blockIdx.z + 1);
    if (first == end) {
        return;
    }
    state_place place = {static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x) * COLUMNS +
                                                           thread % ROW_THREADS * LANE_VALUES};
    int64_t state_at = place.state_at(args, args.slots.get(blockIdx.z), thread / ROW_THREADS);

    either_output outputs = {args.outputs, args.exact_outputs};
    thread_state<Key_dim> state;
    read_state(&state, args, state_at);
    for (int64_t token = first; token < end; token++) {
        column_sums sums;
        take_token<Key_dim, Has_channel_decays>(&state, args, place, token, predicted_parts,
                                                output_parts, sums);
        if (thread < ROW_THREADS) {
            put_outputs(outputs, place.value_at(args, token), sums, args.scale);
        }
    }
    write_state(state, args, state_at);
}

template <int Key_dim, bool Has_channel_decays>
const char *launch_rule(const delta_rule_args &args, void *stream) {
    dim3 grid = {static_cast<unsigned>(args.value_dim / COLUMNS), static_cast<unsigned>(args.heads),
                 static_cast<unsigned>(args.sequences)};
    return launch("delta_step", delta_step_kernel<Key_dim, Has_channel_decays>, grid, dim3{THREADS},
                  0, stream, args);
}

template <int Key_dim> const char *launch_width(const delta_rule_args &args, void *stream) {
    return args.has_channel_decays ? launch_rule<Key_dim, true>(args, stream)
                                   : launch_rule<Key_dim, false>(args, stream);
}

} // namespace

const char *delta_rule_refusal(const delta_rule_args &args) {
    if (args.sequences < 0 || args.sequences > 65535) {
        return "delta_rule: at most 65535 sequences";
    }
    if (args.key_heads < 1 || args.heads < 1 || args.heads > 65535 ||
        args.heads % args.key_heads != 0) {
        return "delta_rule: heads must be a multiple of key_heads, 65535 at most";
    }
    if (args.key_dim != 64 && args.key_dim != 128) {
        return "delta_rule: key_dim must be 64 or 128";
    }
    if (args.value_dim < 64 || args.value_dim % 64 != 0) {
        return "delta_rule: value_dim must be a multiple of 64";
    }
    if (args.outputs.is_null() == args.exact_outputs.is_null()) {
        return "delta_rule: exactly one of the outputs must be given";
    }
    return nullptr;
}

const char *delta_step(const delta_rule_args &args, void *stream) {
    const char *refusal = delta_rule_refusal(args);
    if (refusal != nullptr || args.sequences == 0) {
        return refusal;
    }
    return args.key_dim == 64 ? launch_width<64>(args, stream) : launch_width<128>(args, stream);
}

} // namespace kref
