#include "cuda/decode_attention.h"

#include "cuda/combine_splits.h"
#include "cuda/kref.h"
#include "cuda/splits.h"
#include "cuda/tile.h"

namespace kref {

namespace {

constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int KEY_TILE = 16; /* of a warp */
constexpr int STAGES = 3;    /* tiles of a warp in shared memory */
constexpr int GRAIN = WARPS * KEY_TILE;

/* Rows in shared memory are 16 bytes longer, an odd multiple of 16: see tile.h. */
template <int Head_dim> struct key_stage {
    static constexpr int stride = Head_dim + PACK;
    bf16 keys[KEY_TILE * stride];
    bf16 values[KEY_TILE * stride];
};

/* What a warp has found, for the others to combine; it takes the place of its stages. */
template <int Head_dim> struct warp_result {
    f32 sums[TILE_ROWS * Head_dim];
    f32 highest[TILE_ROWS];
    f32 weights[TILE_ROWS];
};

template <int Head_dim> struct staging {
    union {
        key_stage<Head_dim> stages[STAGES];
        warp_result<Head_dim> result;
    } of_warp[WARPS];
    bf16 queries[TILE_ROWS * key_stage<Head_dim>::stride];
};

template <int Head_dim> using output_tiles = sum_tile[Head_dim / TILE_COLUMNS];
using score_tiles = sum_tile[KEY_TILE / TILE_COLUMNS];

/* ---- Copies of one warp ---- */

/* The rows of a tile in the cache, one a lane: lanes 16 to 31 know the same as 0 to 15. */
KREF_FUNCTION int64_t find_row(const decode_attention_args &args, key_range range, int first_key) {
    int key = first_key + static_cast<int>(threadIdx.x) % KEY_TILE;
    if (key >= range.end) {
        return 0;
    }
    int64_t table_row = int64_t{blockIdx.z} * args.blocks_max;
    int64_t block = args.block_table.get(table_row + key / args.block_tokens);
    return block * args.block_tokens + key % args.block_tokens;
}

/* Begins to copy keys first_key .. first_key + 15 and their values; rows at the range's end or
 * behind it become zeros. */
template <int Head_dim>
KREF_FUNCTION void stage_tile(key_stage<Head_dim> *stage, const decode_attention_args &args,
                              key_range range, int first_key) {
    constexpr int row_packs = Head_dim / PACK;
    int lane = static_cast<int>(threadIdx.x) % 32;
    int kv_head = static_cast<int>(blockIdx.y);
    int64_t lane_row = find_row(args, range, first_key);
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE * row_packs / 32; i++) {
        int at = i * 32 + lane;
        int row = at / row_packs;
        int column = at % row_packs * PACK;
        int64_t cache_row = __shfl_sync(~0U, lane_row, row);
        int64_t from = (cache_row * args.kv_heads + kv_head) * Head_dim + column;
        int bytes = first_key + row < range.end ? 16 : 0;
        int to = row * key_stage<Head_dim>::stride + column;
        copy_async(stage->keys + to, args.key_cache.address(from), bytes);
        copy_async(stage->values + to, args.value_cache.address(from), bytes);
    }
}

/* ---- The work of one warp ---- */

template <int Head_dim> struct warp_state {
    left_tile queries[Head_dim / TILE_DEPTH];
    output_tiles<Head_dim> sums;
    softmax_rows rows;
};

template <int Head_dim>
KREF_FUNCTION void multiply_keys(score_tiles &scores, const warp_state<Head_dim> &state,
                                 const bf16 *keys) {
    KREF_UNROLL
    for (int i = 0; i < Head_dim / TILE_DEPTH; i++) {
        right_pair right = load_right_by_column(keys + i * TILE_DEPTH, key_stage<Head_dim>::stride);
        multiply_add(&scores[0], state.queries[i], right.at[0]);
        multiply_add(&scores[1], state.queries[i], right.at[1]);
    }
}

template <int Head_dim>
KREF_FUNCTION void multiply_values(warp_state<Head_dim> *state, const score_tiles &weights,
                                   const bf16 *values) {
    left_tile left = left_from_sums(weights[0], weights[1]);
    KREF_UNROLL
    for (int i = 0; i < Head_dim / TILE_COLUMNS; i += 2) {
        right_pair right = load_right_by_depth(values + i * TILE_COLUMNS,
                                               key_stage<Head_dim>::stride);
        multiply_add(&state->sums[i], left, right.at[0]);
        multiply_add(&state->sums[i + 1], left, right.at[1]);
    }
}

template <int Head_dim>
KREF_FUNCTION void take_tile(warp_state<Head_dim> *state, const key_stage<Head_dim> &stage,
                             f32 scale_log2, int first_key, int last_key) {
    score_tiles scores;
    clear_sums(scores);
    multiply_keys(scores, *state, stage.keys);
    if (first_key + KEY_TILE - 1 > last_key) {
        KREF_UNROLL
        for (int i = 0; i < KEY_TILE / TILE_COLUMNS * LANE_ROWS; i++) {
            int tile = i / LANE_ROWS;
            hide_unseen(&scores[tile], i % LANE_ROWS, first_key + tile * TILE_COLUMNS, -1,
                        last_key);
        }
    }
    f32 shrink[LANE_ROWS];
    take_scores(&state->rows, scores, scale_log2, shrink);
    shrink_sums(state->sums, shrink);
    multiply_values(state, scores, stage.values);
}

/* Tiles first_key, first_key + 64, ...: while one is computed the next two are on their way. Only
 * lanes of this warp read or write its stages, so no other warp has to wait. */
template <int Head_dim>
KREF_FUNCTION void take_range(warp_state<Head_dim> *state, key_stage<Head_dim> *stages,
                              const decode_attention_args &args, key_range range) {
    constexpr int step = WARPS * KEY_TILE;
    f32 scale_log2 = args.scale * LOG2_E;
    int key = range.first + static_cast<int>(threadIdx.x) / 32 * KEY_TILE;
    for (int i = 0; i < STAGES - 1; i++) {
        if (key + i * step < range.end) {
            stage_tile(&stages[i], args, range, key + i * step);
        }
        commit_copies();
    }
    for (int stage = 0; key < range.end; key += step) {
        wait_for_copies<STAGES - 2>();
        __syncwarp(); /* all lanes' copies are there, and nobody reads the stage before any more */
        int ahead = key + (STAGES - 1) * step;
        if (ahead < range.end) {
            stage_tile(&stages[(stage + STAGES - 1) % STAGES], args, range, ahead);
        }
        commit_copies();
        take_tile(state, stages[stage], scale_log2, key, range.end - 1);
        stage = (stage + 1) % STAGES;
    }
}

template <int Head_dim>
KREF_FUNCTION void leave_result(const warp_state<Head_dim> &state, warp_result<Head_dim> *result) {
    __syncwarp(); /* nobody reads the stages any more */
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        f32 weight = sum_over_row(state.rows.weights[row]);
        int at = row_of(row);
        if (column_of() == 0) {
            result->highest[at] = state.rows.highest[row];
            result->weights[at] = weight;
        }
        KREF_UNROLL
        for (int i = 0; i < Head_dim / TILE_COLUMNS; i++) {
            f32 *to = result->sums + at * Head_dim + i * TILE_COLUMNS + column_of();
            to[0] = state.sums[i].at[row][0];
            to[1] = state.sums[i].at[row][1];
        }
    }
}

/* ---- The block ---- */

/* Rows without a query head become zeros. */
template <int Head_dim>
KREF_FUNCTION void stage_queries(bf16 *target, const decode_attention_args &args, int heads) {
    constexpr int row_packs = Head_dim / PACK;
    int64_t first = int64_t{blockIdx.z} * args.query_heads + int64_t{blockIdx.y} * heads;
    for (int at = static_cast<int>(threadIdx.x); at < TILE_ROWS * row_packs; at += THREADS) {
        int row = at / row_packs;
        int column = at % row_packs * PACK;
        pack<bf16, PACK> some = {};
        if (row < heads) {
            some = args.queries.get_pack<PACK>((first + row) * Head_dim + column);
        }
        *reinterpret_cast<pack<bf16, PACK> *>(target + row * key_stage<Head_dim>::stride +
                                              column) = some;
    }
}

/* Element `column` of a query head, from the results of the warps. */
template <int Head_dim>
KREF_FUNCTION merged merge_warps(const staging<Head_dim> &shared, int row, int column) {
    merged all = {float_of(NEGATIVE_INFINITY_BITS), 0.0F, 0.0F};
    KREF_UNROLL
    for (int i = 0; i < WARPS; i++) {
        all.highest = max(all.highest, shared.of_warp[i].result.highest[row]);
    }
    f32 highest = all.highest;
    all.highest = finite_highest(highest);
    KREF_UNROLL
    for (int i = 0; i < WARPS; i++) {
        const warp_result<Head_dim> &part = shared.of_warp[i].result;
        take_part(&all, part.highest[row], part.weights[row], part.sums[row * Head_dim + column]);
    }
    return merged{highest, all.weights, all.sum};
}

/* A block for a split of the keys of one key-value head, and the query heads that share it. */
template <int Head_dim, typename Output>
__global__ void __launch_bounds__(THREADS)
    decode_attention_kernel(decode_attention_args args, global<Output> outputs) {
    auto *shared = reinterpret_cast<staging<Head_dim> *>(KREF_DYNAMIC_SHARED());
    int split = static_cast<int>(blockIdx.x);
    int heads = args.query_heads / args.kv_heads;
    key_range range = split_keys(args.lengths.get(blockIdx.z), args.window_tokens, args.splits,
                                 split, GRAIN);
    bool is_alone = args.splits == 1;
    if (range.first >= range.end && !is_alone) {
        return;
    }

    stage_queries<Head_dim>(shared->queries, args, heads);
    __syncthreads();
    warp_state<Head_dim> state;
    KREF_UNROLL
    for (int i = 0; i < Head_dim / TILE_DEPTH; i++) {
        state.queries[i] = load_left(shared->queries + i * TILE_DEPTH, key_stage<Head_dim>::stride);
    }
    clear_sums(state.sums);
    state.rows = empty_softmax();

    auto &mine = shared->of_warp[threadIdx.x / 32];
    take_range(&state, mine.stages, args, range);
    leave_result(state, &mine.result);
    __syncthreads();

    int64_t first_head = int64_t{blockIdx.z} * args.query_heads + int64_t{blockIdx.y} * heads;
    for (int at = static_cast<int>(threadIdx.x); at < heads * Head_dim; at += THREADS) {
        int row = at / Head_dim;
        int column = at % Head_dim;
        merged all = merge_warps(*shared, row, column);
        if (is_alone) {
            f32 value = all.weights > f32(0.0F) ? all.sum / all.weights : f32(0.0F);
            put_rounded(outputs, (first_head + row) * Head_dim + column, value);
            continue;
        }
        int64_t to = ((first_head + row) * args.splits + split) * part_floats(Head_dim);
        put_rounded(args.workspace, to + column, all.sum);
        if (column == 0) {
            put_rounded(args.workspace, to + Head_dim, all.highest);
            put_rounded(args.workspace, to + Head_dim + 1, all.weights);
        }
    }
}

template <int Head_dim, typename Output>
const char *launch_as(const decode_attention_args &args, global<Output> outputs, void *stream) {
    auto sequences = static_cast<unsigned>(args.sequences);
    dim3 grid = {static_cast<unsigned>(args.splits), static_cast<unsigned>(args.kv_heads),
                 sequences};
    const char *error = launch("decode_attention", decode_attention_kernel<Head_dim, Output>, grid,
                               dim3{THREADS}, sizeof(staging<Head_dim>), stream, args, outputs);
    if (error != nullptr || args.splits == 1) {
        return error;
    }
    combine_splits_args combining = {};
    combining.parts = args.workspace.address(0);
    combining.lengths = args.lengths;
    combining.outputs = args.outputs;
    combining.exact_outputs = args.exact_outputs;
    combining.sequences = args.sequences;
    combining.heads = args.query_heads;
    combining.width = Head_dim;
    combining.splits = args.splits;
    combining.grain = GRAIN;
    combining.window_tokens = args.window_tokens;
    return combine_splits(combining, stream);
}

template <int Head_dim> const char *launch_width(const decode_attention_args &args, void *stream) {
    if (args.outputs.is_null()) {
        return launch_as<Head_dim>(args, args.exact_outputs, stream);
    }
    return launch_as<Head_dim>(args, args.outputs, stream);
}

} // namespace

const char *decode_attention_refusal(const decode_attention_args &args) {
    if (args.head_dim != 64 && args.head_dim != 128) {
        return "decode_attention: head_dim must be 64 or 128";
    }
    if (args.kv_heads < 1 || args.query_heads < 1 || args.query_heads % args.kv_heads != 0 ||
        args.query_heads / args.kv_heads > TILE_ROWS) {
        return "decode_attention: query_heads must be kv_heads times 1 to 16";
    }
    if (args.sequences < 0 || args.sequences > 65535 || args.kv_heads > 65535) {
        return "decode_attention: at most 65535 sequences and key-value heads";
    }
    if (args.block_tokens < 1 || args.blocks_max < 0 || args.window_tokens < 0) {
        return "decode_attention: block_tokens must be positive, and blocks_max and "
               "window_tokens not negative";
    }
    if (args.splits < 1 || (args.splits > 1 && args.workspace.is_null())) {
        return "decode_attention: splits must be positive, and several need a workspace";
    }
    if (args.outputs.is_null() == args.exact_outputs.is_null()) {
        return "decode_attention: exactly one of the outputs must be given";
    }
    return nullptr;
}

int64_t decode_attention_workspace(const decode_attention_args &args) {
    int64_t heads = int64_t{args.sequences} * args.query_heads;
    return args.splits > 1 ? heads * args.splits * (args.head_dim + 2) : 0;
}

const char *decode_attention(const decode_attention_args &args, void *stream) {
    const char *refusal = decode_attention_refusal(args);
    if (refusal != nullptr || args.sequences == 0) {
        return refusal;
    }
    return args.head_dim == 64 ? launch_width<64>(args, stream) : launch_width<128>(args, stream);
}

} // namespace kref
