#include "cuda/prefill_attention.h"

#include "cuda/kref.h"
#include "cuda/query_block.h"

namespace kref {

namespace {

/* Keys of a tile: their scores have to fit into registers beside the sums. */
template <int Head_dim> constexpr int KEY_TILE = 4096 / Head_dim;

template <int Head_dim> struct staging {
    bf16 queries[QUERY_TILE * ROW_STRIDE<Head_dim>];
    bf16 keys[KEY_TILE<Head_dim> * ROW_STRIDE<Head_dim>];
    bf16 values[KEY_TILE<Head_dim> * ROW_STRIDE<Head_dim>];
};

template <int Head_dim, int Rows>
KREF_FUNCTION void stage_heads(bf16 *target, const bf16 *source, int step, int rows) {
    stage_rows<Head_dim, ROW_STRIDE<Head_dim>, Rows>(target, source, step, rows);
}

/*
 * A block for 128 queries of a head. Keys and values of a tile come in turn: while the scores are
 * computed the values arrive, and while the values are weighted the next keys do.
 */
template <int Head_dim>
__global__ void __launch_bounds__(QUERY_THREADS)
    prefill_attention_kernel(prefill_attention_args args) {
    constexpr int keys_of_tile = KEY_TILE<Head_dim>;
    query_piece it = find_piece(args.query_starts, args.key_starts, args.window_tokens,
                                keys_of_tile);
    if (it.queries <= 0) {
        return;
    }
    auto *shared = reinterpret_cast<staging<Head_dim> *>(KREF_DYNAMIC_SHARED());
    const bf16 *queries = shared->queries + first_query_of_warp() * ROW_STRIDE<Head_dim>;
    f32 scale_log2 = args.scale * LOG2_E;

    output_tiles<Head_dim> sums;
    softmax_rows rows[QUERY_ROW_TILES];
    KREF_UNROLL
    for (int tile = 0; tile < QUERY_ROW_TILES; tile++) {
        clear_sums(sums[tile]);
        rows[tile] = empty_softmax();
    }

    int head = static_cast<int>(blockIdx.y);
    int kv_head = head / (args.query_heads / args.kv_heads);
    int query_step = args.query_heads * Head_dim;
    int step = args.kv_heads * Head_dim;
    int64_t first = it.query_token * query_step + int64_t{head} * Head_dim;
    int64_t from = (it.key_token + it.first_key) * step + int64_t{kv_head} * Head_dim;
    stage_heads<Head_dim, QUERY_TILE>(shared->queries, args.queries.address(first), query_step,
                                      it.queries);
    stage_heads<Head_dim, keys_of_tile>(shared->keys, args.keys.address(from), step,
                                        it.keys_end - it.first_key);
    commit_copies();
    for (int key = it.first_key; key < it.keys_end; key += keys_of_tile) {
        wait_for_copies<0>();
        __syncthreads(); /* the keys are there, and nobody reads the last values any more */
        stage_heads<Head_dim, keys_of_tile>(shared->values, args.values.address(from), step,
                                            it.keys_end - key);
        commit_copies();

        score_tiles<keys_of_tile> scores;
        multiply_keys<Head_dim, keys_of_tile>(scores, queries, shared->keys);
        hide_pairs<keys_of_tile>(scores, it.position + first_query_of_warp(), key,
                                 args.window_tokens);

        wait_for_copies<0>();
        __syncthreads(); /* the values are there, and nobody reads these keys any more */
        from += int64_t{keys_of_tile} * step;
        if (key + keys_of_tile < it.keys_end) {
            stage_heads<Head_dim, keys_of_tile>(shared->keys, args.keys.address(from), step,
                                                it.keys_end - key - keys_of_tile);
            commit_copies();
        }

        KREF_UNROLL
        for (int tile = 0; tile < QUERY_ROW_TILES; tile++) {
            f32 shrink[LANE_ROWS];
            take_scores(&rows[tile], scores[tile], scale_log2, shrink);
            shrink_sums(sums[tile], shrink);
        }
        multiply_values<Head_dim, keys_of_tile>(sums, scores, shared->values);
    }
    either_output outputs = {args.outputs, args.exact_outputs};
    write_rows<Head_dim>(sums, rows, outputs, first, query_step, it.queries);
}

template <int Head_dim> const char *launch_width(const prefill_attention_args &args, void *stream) {
    auto tiles = static_cast<unsigned>((args.queries_max + QUERY_TILE - 1) / QUERY_TILE);
    dim3 grid = {tiles, static_cast<unsigned>(args.query_heads),
                 static_cast<unsigned>(args.sequences)};
    return launch("prefill_attention", prefill_attention_kernel<Head_dim>, grid,
                  dim3{QUERY_THREADS}, sizeof(staging<Head_dim>), stream, args);
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
