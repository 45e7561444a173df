#include "cuda/mla_decode.h"

#include "cuda/combine_splits.h"
#include "cuda/kref.h"
#include "cuda/outputs.h"
#include "cuda/splits.h"
#include "cuda/tile.h"

namespace kref {

namespace {

constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;
constexpr int KEY_TILE = 32;
constexpr int KEY_PARTS = KEY_TILE / TILE_DEPTH; /* of a tile: a warp scores 16 keys */
constexpr int COLUMNS = MLA_LATENT / WARPS;      /* of the output that a warp sums */

/* Rows in shared memory are 16 bytes longer, an odd multiple of 16: see tile.h. */
constexpr int STRIDE = MLA_ROW + PACK;
constexpr int WEIGHT_STRIDE = KEY_TILE + PACK;

template <int Row_tiles> constexpr int HEADS = Row_tiles *TILE_ROWS;

template <int Row_tiles> struct staging {
    bf16 queries[HEADS<Row_tiles> * STRIDE];
    bf16 rows[2][KEY_TILE * STRIDE]; /* one tile is computed while the next one comes */
    bf16 weights[HEADS<Row_tiles> * WEIGHT_STRIDE];
    f32 highest[KEY_PARTS][HEADS<Row_tiles>]; /* of the scores of a tile */
    f32 shrink[HEADS<Row_tiles>];
    f32 sums_of_weights[KEY_PARTS][HEADS<Row_tiles>];
};

using score_tiles = sum_tile[TILE_DEPTH / TILE_COLUMNS];
template <int Row_tiles> using output_tiles = sum_tile[Row_tiles][COLUMNS / TILE_COLUMNS];

/* Which heads and keys a warp scores. */
struct duty {
    int row_tile;
    int key_part;
    bool is_idle;
};

template <int Row_tiles> KREF_FUNCTION duty find_duty() {
    int warp = static_cast<int>(threadIdx.x) / 32;
    return duty{warp / KEY_PARTS, warp % KEY_PARTS, warp >= Row_tiles * KEY_PARTS};
}

/* ---- Copies ---- */

/* Each lane knows where the row of one key of a tile lies in the cache. */
KREF_FUNCTION int64_t find_row(const mla_decode_args &args, key_range range, int first_key) {
    int key = first_key + static_cast<int>(threadIdx.x) % KEY_TILE;
    if (key >= range.end) {
        return 0;
    }
    int64_t block = args.block_table.get(int64_t{blockIdx.z} * args.blocks_max +
                                         key / args.block_tokens);
    return block * args.block_tokens + key % args.block_tokens;
}

/* Begins to copy a tile; rows at the range's end or behind it become zeros. */
KREF_FUNCTION void stage_tile(bf16 *target, const mla_decode_args &args, key_range range,
                              int first_key, int64_t lane_row) {
    constexpr int row_packs = MLA_ROW / PACK;
    KREF_UNROLL
    for (int i = 0; i < KEY_TILE * row_packs / THREADS; i++) {
        int at = i * THREADS + static_cast<int>(threadIdx.x);
        int row = at / row_packs;
        int column = at % row_packs * PACK;
        int64_t cache_row = __shfl_sync(~0U, lane_row, row);
        copy_async(target + row * STRIDE + column, args.cache.address(cache_row * MLA_ROW + column),
                   first_key + row < range.end ? 16 : 0);
    }
}

/* Rows without a head become zeros. */
template <int Row_tiles>
KREF_FUNCTION void stage_queries(bf16 *target, const mla_decode_args &args, int64_t first_head,
                                 int heads) {
    constexpr int row_packs = MLA_ROW / PACK;
    for (int at = static_cast<int>(threadIdx.x); at < HEADS<Row_tiles> * row_packs; at += THREADS) {
        int row = at / row_packs;
        int column = at % row_packs * PACK;
        pack<bf16, PACK> some = {};
        if (row < heads) {
            some = args.queries.get_pack<PACK>((first_head + row) * MLA_ROW + column);
        }
        *reinterpret_cast<pack<bf16, PACK> *>(target + row * STRIDE + column) = some;
    }
}

/* ---- Scores and weights of a warp's heads and keys ---- */

template <int Row_tiles>
KREF_FUNCTION void multiply_keys(score_tiles &scores, const staging<Row_tiles> &shared,
                                 const bf16 *rows, duty mine) {
    const bf16 *queries = shared.queries + mine.row_tile * TILE_ROWS * STRIDE;
    const bf16 *keys = rows + mine.key_part * TILE_DEPTH * STRIDE;
    clear_sums(scores);
    KREF_UNROLL
    for (int depth = 0; depth < MLA_ROW; depth += TILE_DEPTH) {
        left_tile left = load_left(queries + depth, STRIDE);
        right_pair right = load_right_by_column(keys + depth, STRIDE);
        multiply_add(&scores[0], left, right.at[0]);
        multiply_add(&scores[1], left, right.at[1]);
    }
}

/* Leaves the highest score of each head among this warp's keys. */
template <int Row_tiles>
KREF_FUNCTION void leave_highest(staging<Row_tiles> *shared, score_tiles &scores, duty mine,
                                 int first_key, int last_key) {
    first_key += mine.key_part * TILE_DEPTH;
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        if (first_key + TILE_DEPTH - 1 > last_key) {
            hide_unseen(&scores[0], row, first_key, -1, last_key);
            hide_unseen(&scores[1], row, first_key + TILE_COLUMNS, -1, last_key);
        }
        f32 highest = find_highest(scores, row);
        if (column_of() == 0) {
            shared->highest[mine.key_part][mine.row_tile * TILE_ROWS + row_of(row)] = highest;
        }
    }
}

/* Leaves the weights of this warp's heads and keys, and what earlier sums shrink by. */
template <int Row_tiles>
KREF_FUNCTION void leave_weights(staging<Row_tiles> *shared, softmax_rows *rows,
                                 score_tiles &scores, duty mine, f32 scale_log2) {
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        int head = mine.row_tile * TILE_ROWS + row_of(row);
        f32 highest = max(shared->highest[0][head], shared->highest[1][head]);
        f32 shrink = take_row(rows, scores, row, highest, scale_log2);
        if (mine.key_part == 0 && column_of() == 0) {
            shared->shrink[head] = shrink;
        }
        bf16 *to = shared->weights + head * WEIGHT_STRIDE + mine.key_part * TILE_DEPTH +
                   column_of();
        KREF_UNROLL
        for (int i = 0; i < TILE_DEPTH / TILE_COLUMNS; i++) {
            uint32_t pair = pack_bf16(scores[i].at[row][0], scores[i].at[row][1]);
            *reinterpret_cast<uint32_t *>(to + i * TILE_COLUMNS) = pair;
        }
    }
}

/* ---- Sums of a warp's columns, for all heads ---- */

template <int Row_tiles>
KREF_FUNCTION void sum_latents(output_tiles<Row_tiles> &sums, const staging<Row_tiles> &shared,
                               const bf16 *rows) {
    KREF_UNROLL
    for (int tile = 0; tile < Row_tiles; tile++) {
        f32 shrink[LANE_ROWS];
        KREF_UNROLL
        for (int row = 0; row < LANE_ROWS; row++) {
            shrink[row] = shared.shrink[tile * TILE_ROWS + row_of(row)];
        }
        shrink_sums(sums[tile], shrink);
    }
    const bf16 *columns = rows + static_cast<int>(threadIdx.x) / 32 * COLUMNS;
    KREF_UNROLL
    for (int key = 0; key < KEY_TILE; key += TILE_DEPTH) {
        left_tile left[Row_tiles];
        KREF_UNROLL
        for (int tile = 0; tile < Row_tiles; tile++) {
            left[tile] = load_left(shared.weights + tile * TILE_ROWS * WEIGHT_STRIDE + key,
                                   WEIGHT_STRIDE);
        }
        KREF_UNROLL
        for (int i = 0; i < COLUMNS / TILE_COLUMNS; i += 2) {
            right_pair right = load_right_by_depth(columns + key * STRIDE + i * TILE_COLUMNS,
                                                   STRIDE);
            KREF_UNROLL
            for (int j = 0; j < 2 * Row_tiles; j++) {
                multiply_add(&sums[j / 2][i + j % 2], left[j / 2], right.at[j % 2]);
            }
        }
    }
}

template <int Row_tiles>
KREF_FUNCTION void take_range(output_tiles<Row_tiles> &sums, softmax_rows *softmax,
                              staging<Row_tiles> *shared, const mla_decode_args &args,
                              key_range range) {
    duty mine = find_duty<Row_tiles>();
    f32 scale_log2 = args.scale * LOG2_E;
    if (range.first >= range.end) {
        return;
    }
    stage_tile(shared->rows[0], args, range, range.first, find_row(args, range, range.first));
    commit_copies();
    int64_t row_ahead = find_row(args, range, range.first + KEY_TILE);
    int current = 0;
    for (int key = range.first; key < range.end; key += KEY_TILE) {
        wait_for_copies<0>();
        __syncthreads(); /* the tile is there, and nobody reads the one before any more */
        int next = key + KEY_TILE;
        if (next < range.end) {
            stage_tile(shared->rows[1 - current], args, range, next, row_ahead);
            row_ahead = find_row(args, range, next + KEY_TILE);
        }
        commit_copies();

        score_tiles scores;
        if (!mine.is_idle) {
            multiply_keys(scores, *shared, shared->rows[current], mine);
            leave_highest(shared, scores, mine, key, range.end - 1);
        }
        __syncthreads(); /* the highest scores are there, and nobody reads the last weights */
        if (!mine.is_idle) {
            leave_weights(shared, softmax, scores, mine, scale_log2);
        }
        __syncthreads(); /* the weights are there */
        sum_latents(sums, *shared, shared->rows[current]);
        current = 1 - current;
    }
}

/* ---- Results ---- */

/* Each warp leaves, for its heads and keys, the sum of the weights; the highest scores are the same
 * for all keys. */
template <int Row_tiles>
KREF_FUNCTION void leave_sums_of_weights(staging<Row_tiles> *shared, const softmax_rows &softmax) {
    duty mine = find_duty<Row_tiles>();
    if (mine.is_idle) {
        return;
    }
    KREF_UNROLL
    for (int row = 0; row < LANE_ROWS; row++) {
        f32 weights = sum_over_row(softmax.weights[row]);
        if (column_of() == 0) {
            int head = mine.row_tile * TILE_ROWS + row_of(row);
            shared->sums_of_weights[mine.key_part][head] = weights;
            shared->highest[mine.key_part][head] = softmax.highest[row];
        }
    }
}

/* Writes a warp's columns of `heads` heads: that of head i at first + i x width. */
template <int Row_tiles, typename Target>
KREF_FUNCTION void write_columns(const output_tiles<Row_tiles> &sums, const Target &target,
                                 int64_t first, int64_t width, int heads) {
    int first_column = static_cast<int>(threadIdx.x) / 32 * COLUMNS + column_of();
    KREF_UNROLL
    for (int i = 0; i < Row_tiles * LANE_ROWS; i++) {
        int tile = i / LANE_ROWS;
        int head = tile * TILE_ROWS + row_of(i % LANE_ROWS);
        if (head >= heads) {
            continue;
        }
        KREF_UNROLL
        for (int j = 0; j < COLUMNS / TILE_COLUMNS; j++) {
            const f32 *pair = sums[tile][j].at[i % LANE_ROWS];
            put_pair(target, first + head * width + first_column + j * TILE_COLUMNS, pair[0],
                     pair[1]);
        }
    }
}

template <int Row_tiles>
KREF_FUNCTION f32 sum_of_weights(const staging<Row_tiles> &shared, int head) {
    return shared.sums_of_weights[0][head] + shared.sums_of_weights[1][head];
}

/* Sums become means; those of a head that has seen nothing stay zeros. */
template <int Row_tiles>
KREF_FUNCTION void divide_sums(output_tiles<Row_tiles> &sums, const staging<Row_tiles> &shared) {
    KREF_UNROLL
    for (int tile = 0; tile < Row_tiles; tile++) {
        f32 share[LANE_ROWS];
        KREF_UNROLL
        for (int row = 0; row < LANE_ROWS; row++) {
            f32 weights = sum_of_weights(shared, tile * TILE_ROWS + row_of(row));
            share[row] = weights > f32(0.0F) ? f32(1.0F) / weights : f32(0.0F);
        }
        shrink_sums(sums[tile], share);
    }
}

/* Leaves what a split has found, for combine_splits. */
template <int Row_tiles>
KREF_FUNCTION void leave_part(const output_tiles<Row_tiles> &sums, const staging<Row_tiles> &shared,
                              const mla_decode_args &args, int64_t first_head, int heads) {
    int64_t width = int64_t{args.splits} * part_floats(MLA_LATENT);
    int64_t first = first_head * width + int64_t{blockIdx.x} * part_floats(MLA_LATENT);
    write_columns<Row_tiles>(sums, args.workspace, first, width, heads);
    int head = static_cast<int>(threadIdx.x);
    if (head < heads) {
        int64_t to = first + head * width + MLA_LATENT;
        put_pair(args.workspace, to, shared.highest[0][head], sum_of_weights(shared, head));
    }
}

/* A block for a split of the keys of a sequence, and some of its heads. */
template <int Row_tiles>
__global__ void __launch_bounds__(THREADS) mla_decode_kernel(mla_decode_args args) {
    auto *shared = reinterpret_cast<staging<Row_tiles> *>(KREF_DYNAMIC_SHARED());
    key_range range = split_keys(args.lengths.get(blockIdx.z), 0, args.splits,
                                 static_cast<int>(blockIdx.x), KEY_TILE);
    bool is_alone = args.splits == 1;
    if (range.first >= range.end && !is_alone) {
        return;
    }
    int head = static_cast<int>(blockIdx.y) * HEADS<Row_tiles>;
    int heads = args.heads - head < HEADS<Row_tiles> ? args.heads - head : HEADS<Row_tiles>;
    int64_t first_head = int64_t{blockIdx.z} * args.heads + head;

    stage_queries<Row_tiles>(shared->queries, args, first_head, heads);
    output_tiles<Row_tiles> sums;
    KREF_UNROLL
    for (int tile = 0; tile < Row_tiles; tile++) {
        clear_sums(sums[tile]);
    }
    softmax_rows softmax = empty_softmax();
    take_range(sums, &softmax, shared, args, range);
    leave_sums_of_weights(shared, softmax);
    __syncthreads();
    if (is_alone) {
        divide_sums(sums, *shared);
        either_output outputs = {args.outputs, args.exact_outputs};
        write_columns<Row_tiles>(sums, outputs, first_head * MLA_LATENT, MLA_LATENT, heads);
    } else {
        leave_part(sums, *shared, args, first_head, heads);
    }
}

template <int Row_tiles> const char *launch_rows(const mla_decode_args &args, void *stream) {
    dim3 grid = {static_cast<unsigned>(args.splits),
                 static_cast<unsigned>((args.heads - 1) / HEADS<Row_tiles> + 1),
                 static_cast<unsigned>(args.sequences)};
    const char *error = launch("mla_decode", mla_decode_kernel<Row_tiles>, grid, dim3{THREADS},
                               sizeof(staging<Row_tiles>), stream, args);
    if (error != nullptr || args.splits == 1) {
        return error;
    }
    combine_splits_args combining = {};
    combining.parts = args.workspace.address(0);
    combining.lengths = args.lengths;
    combining.outputs = args.outputs;
    combining.exact_outputs = args.exact_outputs;
    combining.sequences = args.sequences;
    combining.heads = args.heads;
    combining.width = MLA_LATENT;
    combining.splits = args.splits;
    combining.grain = KEY_TILE;
    return combine_splits(combining, stream);
}

} // namespace

const char *mla_decode_refusal(const mla_decode_args &args) {
    if (args.heads < 1 || args.heads > 65535) {
        return "mla_decode: there must be 1 to 65535 heads";
    }
    if (args.sequences < 0 || args.sequences > 65535) {
        return "mla_decode: at most 65535 sequences";
    }
    if (args.block_tokens < 1 || args.blocks_max < 0) {
        return "mla_decode: block_tokens must be positive, and blocks_max not negative";
    }
    if (args.splits < 1 || (args.splits > 1 && args.workspace.is_null())) {
        return "mla_decode: splits must be positive, and several need a workspace";
    }
    if (args.outputs.is_null() == args.exact_outputs.is_null()) {
        return "mla_decode: exactly one of the outputs must be given";
    }
    return nullptr;
}

int64_t mla_decode_workspace(const mla_decode_args &args) {
    int64_t heads = int64_t{args.sequences} * args.heads;
    return args.splits > 1 ? heads * args.splits * (MLA_LATENT + 2) : 0;
}

const char *mla_decode(const mla_decode_args &args, void *stream) {
    const char *refusal = mla_decode_refusal(args);
    if (refusal != nullptr || args.sequences == 0) {
        return refusal;
    }
    return args.heads <= HEADS<1> ? launch_rows<1>(args, stream) : launch_rows<4>(args, stream);
}

} // namespace kref
