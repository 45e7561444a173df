#include "cuda/prefill_attention.h"

#include "cuda/kref.h"
#include "cuda/softmax.h"
#include "cuda/tile.h"

namespace kref {

namespace {

constexpr int WARPS = 4;
constexpr int THREADS = WARPS * 32;
constexpr int ROW_TILES = 2; /* of a warp: each operand that it loads serves two products */
constexpr int WARP_QUERIES = ROW_TILES * TILE_ROWS;
constexpr int QUERY_TILE = WARPS * WARP_QUERIES;

/* Keys of a tile: their scores have to fit into registers beside the sums. */
template <int Head_dim> constexpr int KEY_TILE = 4096 / Head_dim;

/* Rows in shared memory are 16 bytes longer, an odd multiple of 16: see tile.h. */
template <int Head_dim> struct staging {
    static constexpr int stride = Head_dim + PACK;
    bf16 queries[QUERY_TILE * stride];
    bf16 keys[KEY_TILE<Head_dim> * stride];
    bf16 values[KEY_TILE<Head_dim> * stride];
};

/* What a warp holds of a tile of scores, and of its outputs. */
template <int Head_dim> using score_tiles = sum_tile[ROW_TILES][KEY_TILE<Head_dim> / TILE_COLUMNS];
template <int Head_dim> using output_tiles = sum_tile[ROW_TILES][Head_dim / TILE_COLUMNS];

/* What a block works on: queries of one head of one sequence, and the keys that they see. */
struct piece {
    int64_t query_row; /* of the first query, among all rows of that width */
    int64_t key_row;
    int queries;  /* of the block; 0 or less = nothing to do */
    int position; /* of the first query in its sequence */
    int first_key;
    int keys_end;
};

template <int Head_dim> KREF_FUNCTION piece find_piece(const prefill_attention_args &args) {
    int sequence = static_cast<int>(blockIdx.z);
    int head = static_cast<int>(blockIdx.y);
    int query_start = args.query_starts.get(sequence);
    int key_start = args.key_starts.get(sequence);
    int queries = args.query_starts.get(sequence + 1) - query_start;
    int keys = args.key_starts.get(sequence + 1) - key_start;
    /* The last tiles see the most keys, so they begin first. */
    int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * QUERY_TILE;
    int kv_head = head / (args.query_heads / args.kv_heads);

    piece it;
    it.query_row = int64_t{query_start + first} * args.query_heads + head;
    it.key_row = int64_t{key_start} * args.kv_heads + kv_head;
    it.queries = queries - first < QUERY_TILE ? queries - first : QUERY_TILE;
    it.position = keys - queries + first;
    it.keys_end = it.position + it.queries;
    int seen_from = args.window_tokens > 0 ? it.position - args.window_tokens + 1 : 0;
    it.first_key = seen_from > 0 ? seen_from / KEY_TILE<Head_dim> * KEY_TILE<Head_dim> : 0;
    return it;
}

/* Begins to copy `rows` rows into shared memory; those that do not exist become zeros. `step` is
 * the distance of two rows in global memory, in elements. */
template <int Head_dim, int Rows>
KREF_FUNCTION void stage_rows(bf16 *target, const bf16 *source, int step, int rows) {
    constexpr int row_packs = Head_dim / PACK;
    constexpr int rows_at_once = THREADS / row_packs;
    int row = static_cast<int>(threadIdx.x) / row_packs;
    int column = static_cast<int>(threadIdx.x) % row_packs * PACK;
    target += row * staging<Head_dim>::stride + column;
    source += int64_t{row} * step + column;
    KREF_UNROLL
    for (int done = 0; done < Rows; done += rows_at_once) {
        copy_async(target + done * staging<Head_dim>::stride, source, row + done < rows ? 16 : 0);
        source += int64_t{rows_at_once} * step;
    }
}

/* The scores of a warp's queries against a tile of keys. */
template <int Head_dim>
KREF_FUNCTION void multiply_keys(score_tiles<Head_dim> &scores, const bf16 *queries,
                                 const bf16 *keys) {
    constexpr int stride = staging<Head_dim>::stride;
    KREF_UNROLL
    for (int depth = 0; depth < Head_dim; depth += TILE_DEPTH) {
        left_tile left[ROW_TILES];
        KREF_UNROLL
        for (int tile = 0; tile < ROW_TILES; tile++) {
            left[tile] = load_left(queries + tile * TILE_ROWS * stride + depth, stride);
        }
        KREF_UNROLL
        for (int key = 0; key < KEY_TILE<Head_dim>; key += 2 * TILE_COLUMNS) {
            right_pair right = load_right_by_column(keys + key * stride + depth, stride);
            KREF_UNROLL
            for (int i = 0; i < 2 * ROW_TILES; i++) {
                multiply_add(&scores[i / 2][key / TILE_COLUMNS + i % 2], left[i / 2],
                             right.at[i % 2]);
            }
        }
    }
}

/* The weighted values of a tile of keys, on top of the sums. */
template <int Head_dim>
KREF_FUNCTION void multiply_values(output_tiles<Head_dim> &sums,
                                   const score_tiles<Head_dim> &weights, const bf16 *values) {
    constexpr int stride = staging<Head_dim>::stride;
    KREF_UNROLL
    for (int key = 0; key < KEY_TILE<Head_dim>; key += TILE_DEPTH) {
        left_tile left[ROW_TILES];
        KREF_UNROLL
        for (int tile = 0; tile < ROW_TILES; tile++) {
            left[tile] = left_from_sums(weights[tile][key / TILE_COLUMNS],
                                        weights[tile][key / TILE_COLUMNS + 1]);
        }
        KREF_UNROLL
        for (int column = 0; column < Head_dim; column += 2 * TILE_COLUMNS) {
            right_pair right = load_right_by_depth(values + key * stride + column, stride);
            KREF_UNROLL
            for (int i = 0; i < 2 * ROW_TILES; i++) {
                multiply_add(&sums[i / 2][column / TILE_COLUMNS + i % 2], left[i / 2],
                             right.at[i % 2]);
            }
        }
    }
}

/* Only tiles at the diagonal and at the lower end of the window have pairs to hide. */
template <int Head_dim>
KREF_FUNCTION void hide_pairs(score_tiles<Head_dim> &scores, int position, int key,
                              int window_tokens) {
    bool has_hidden = key + KEY_TILE<Head_dim> - 1 > position;
    has_hidden |= window_tokens > 0 && key <= position + WARP_QUERIES - 1 - window_tokens;
    if (!has_hidden) {
        return;
    }
    KREF_UNROLL
    for (int i = 0; i < ROW_TILES * LANE_ROWS; i++) {
        int tile = i / LANE_ROWS;
        int row = i % LANE_ROWS;
        int last = position + tile * TILE_ROWS + row_of(row);
        int after = window_tokens > 0 ? last - window_tokens : -1;
        KREF_UNROLL
        for (int j = 0; j < KEY_TILE<Head_dim> / TILE_COLUMNS; j++) {
            hide_unseen(&scores[tile][j], row, key + j * TILE_COLUMNS, after, last);
        }
    }
}

template <int Head_dim, typename Output>
KREF_FUNCTION void write_rows(const output_tiles<Head_dim> &sums,
                              const softmax_rows (&rows)[ROW_TILES], global<Output> outputs,
                              const piece &it, int query_heads) {
    int first = static_cast<int>(threadIdx.x) / 32 * WARP_QUERIES;
    KREF_UNROLL
    for (int i = 0; i < ROW_TILES * LANE_ROWS; i++) {
        int tile = i / LANE_ROWS;
        int row = i % LANE_ROWS;
        f32 weight = sum_over_row(rows[tile].weights[row]);
        int query = first + tile * TILE_ROWS + row_of(row);
        if (query >= it.queries) {
            continue;
        }
        f32 share = f32(1.0F) / weight;
        int64_t to = (it.query_row + int64_t{query} * query_heads) * Head_dim + column_of();
        KREF_UNROLL
        for (int j = 0; j < Head_dim / TILE_COLUMNS; j++) {
            const f32 *pair = sums[tile][j].at[row];
            put_pair(outputs, to + j * TILE_COLUMNS, pair[0] * share, pair[1] * share);
        }
    }
}

/*
 * A block for 128 queries of a head. Keys and values of a tile come in turn: while the scores are
 * computed the values arrive, and while the values are weighted the next keys do.
 */
template <int Head_dim, typename Output>
__global__ void __launch_bounds__(THREADS)
    prefill_attention_kernel(prefill_attention_args args, global<Output> outputs) {
    piece it = find_piece<Head_dim>(args);
    if (it.queries <= 0) {
        return;
    }
    auto *shared = reinterpret_cast<staging<Head_dim> *>(KREF_DYNAMIC_SHARED());
    int warp_first = static_cast<int>(threadIdx.x) / 32 * WARP_QUERIES;
    const bf16 *queries = shared->queries + warp_first * staging<Head_dim>::stride;
    f32 scale_log2 = args.scale * LOG2_E;

    output_tiles<Head_dim> sums;
    softmax_rows rows[ROW_TILES];
    KREF_UNROLL
    for (int tile = 0; tile < ROW_TILES; tile++) {
        clear_sums(sums[tile]);
        rows[tile] = empty_softmax();
    }

    int step = args.kv_heads * Head_dim;
    int64_t from = it.key_row * Head_dim + int64_t{it.first_key} * step;
    stage_rows<Head_dim, QUERY_TILE>(shared->queries, args.queries.address(it.query_row * Head_dim),
                                     args.query_heads * Head_dim, it.queries);
    stage_rows<Head_dim, KEY_TILE<Head_dim>>(shared->keys, args.keys.address(from), step,
                                             it.keys_end - it.first_key);
    commit_copies();
    for (int key = it.first_key; key < it.keys_end; key += KEY_TILE<Head_dim>) {
        wait_for_copies<0>();
        __syncthreads(); /* the keys are there, and nobody reads the last values any more */
        stage_rows<Head_dim, KEY_TILE<Head_dim>>(shared->values, args.values.address(from), step,
                                                 it.keys_end - key);
        commit_copies();

        score_tiles<Head_dim> scores;
        KREF_UNROLL
        for (int tile = 0; tile < ROW_TILES; tile++) {
            clear_sums(scores[tile]);
        }
        multiply_keys<Head_dim>(scores, queries, shared->keys);
        hide_pairs<Head_dim>(scores, it.position + warp_first, key, args.window_tokens);

        wait_for_copies<0>();
        __syncthreads(); /* the values are there, and nobody reads these keys any more */
        from += int64_t{KEY_TILE<Head_dim>} * step;
        if (key + KEY_TILE<Head_dim> < it.keys_end) {
            stage_rows<Head_dim, KEY_TILE<Head_dim>>(shared->keys, args.keys.address(from), step,
                                                     it.keys_end - key - KEY_TILE<Head_dim>);
            commit_copies();
        }

        KREF_UNROLL
        for (int tile = 0; tile < ROW_TILES; tile++) {
            f32 shrink[LANE_ROWS];
            take_scores(&rows[tile], scores[tile], scale_log2, shrink);
            shrink_sums(sums[tile], shrink);
        }
        multiply_values<Head_dim>(sums, scores, shared->values);
    }
    write_rows<Head_dim>(sums, rows, outputs, it, args.query_heads);
}

template <int Head_dim, typename Output>
const char *launch_as(const prefill_attention_args &args, global<Output> outputs, void *stream) {
    auto tiles = static_cast<unsigned>((args.queries_max + QUERY_TILE - 1) / QUERY_TILE);
    dim3 grid = {tiles, static_cast<unsigned>(args.query_heads),
                 static_cast<unsigned>(args.sequences)};
    return launch("prefill_attention", prefill_attention_kernel<Head_dim, Output>, grid,
                  dim3{THREADS}, sizeof(staging<Head_dim>), stream, args, outputs);
}

template <int Head_dim> const char *launch_width(const prefill_attention_args &args, void *stream) {
    if (args.outputs.is_null()) {
        return launch_as<Head_dim>(args, args.exact_outputs, stream);
    }
    return launch_as<Head_dim>(args, args.outputs, stream);
}

} // namespace

const char *prefill_attention_refusal(const prefill_attention_args &args) {
    if (args.head_dim != 64 && args.head_dim != 128) {
        return "prefill_attention: head_dim must be 64 or 128";
    }
    if (args.kv_heads < 1 || args.query_heads < 1 || args.query_heads % args.kv_heads != 0) {
        return "prefill_attention: query_heads must be a multiple of kv_heads";
    }
    if (args.sequences < 0 || args.sequences > 65535 || args.query_heads > 65535) {
        return "prefill_attention: at most 65535 sequences and query heads";
    }
    if (args.queries_max < 0 || args.window_tokens < 0) {
        return "prefill_attention: queries_max and window_tokens must not be negative";
    }
    if (args.outputs.is_null() == args.exact_outputs.is_null()) {
        return "prefill_attention: exactly one of the outputs must be given";
    }
    return nullptr;
}

const char *prefill_attention(const prefill_attention_args &args, void *stream) {
    const char *refusal = prefill_attention_refusal(args);
    if (refusal != nullptr || args.sequences == 0 || args.queries_max == 0) {
        return refusal;
    }
    return args.head_dim == 64 ? launch_width<64>(args, stream) : launch_width<128>(args, stream);
}

} // namespace kref
