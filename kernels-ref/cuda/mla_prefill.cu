#include "cuda/mla_prefill.h"

#include "cuda/kref.h"
#include "cuda/query_block.h"

namespace kref {

namespace {

constexpr int KEY_TILE = 32;
constexpr int KEY_STRIDE = ROW_STRIDE<MLA_KEY>;

struct staging {
    bf16 queries[QUERY_TILE * KEY_STRIDE];
    bf16 keys[KEY_TILE * KEY_STRIDE];
    bf16 values[KEY_TILE * ROW_STRIDE<MLA_VALUE>];
};

/* Begins to copy a tile of keys, of which `keys` exist: what is the head's, and what is shared. */
KREF_FUNCTION void stage_keys(bf16 *target, const mla_prefill_args &args, int64_t token, int head,
                              int keys) {
    int64_t step = int64_t{args.heads} * MLA_EXPANDED;
    stage_rows<MLA_NOPE, KEY_STRIDE, KEY_TILE>(
        target, args.expanded.address(token * step + head * MLA_EXPANDED), step, keys);
    stage_rows<MLA_ROPE, KEY_STRIDE, KEY_TILE>(
        target + MLA_NOPE, args.rows.address(token * MLA_ROW + MLA_LATENT), MLA_ROW, keys);
}

KREF_FUNCTION void stage_values(bf16 *target, const mla_prefill_args &args, int64_t token, int head,
                                int keys) {
    int64_t step = int64_t{args.heads} * MLA_EXPANDED;
    stage_rows<MLA_VALUE, ROW_STRIDE<MLA_VALUE>, KEY_TILE>(
        target, args.expanded.address(token * step + head * MLA_EXPANDED + MLA_NOPE), step, keys);
}

KREF_FUNCTION void stage_queries(bf16 *target, const mla_prefill_args &args, int64_t token,
                                 int head, int queries) {
    int64_t step = int64_t{args.heads} * MLA_KEY;
    const bf16 *from = args.queries.address(token * step + head * MLA_KEY);
    stage_rows<MLA_NOPE, KEY_STRIDE, QUERY_TILE>(target, from, step, queries);
    stage_rows<MLA_ROPE, KEY_STRIDE, QUERY_TILE>(target + MLA_NOPE, from + MLA_NOPE, step, queries);
}

/*
 * A block for 128 queries of a head. Keys and values of a tile come in turn: while the scores are
 * computed the values arrive, and while the values are weighted the next keys do.
 */
__global__ void __launch_bounds__(QUERY_THREADS) mla_prefill_kernel(mla_prefill_args args) {
    query_piece it = find_piece(args.query_starts, args.key_starts, 0, KEY_TILE);
    if (it.queries <= 0) {
        return;
    }
    auto *shared = reinterpret_cast<staging *>(KREF_DYNAMIC_SHARED());
    const bf16 *queries = shared->queries + first_query_of_warp() * KEY_STRIDE;
    int head = static_cast<int>(blockIdx.y);
    f32 scale_log2 = args.scale * LOG2_E;

    output_tiles<MLA_VALUE> sums;
    softmax_rows rows[QUERY_ROW_TILES];
    KREF_UNROLL
    for (int tile = 0; tile < QUERY_ROW_TILES; tile++) {
        clear_sums(sums[tile]);
        rows[tile] = empty_softmax();
    }

    stage_queries(shared->queries, args, it.query_token, head, it.queries);
    stage_keys(shared->keys, args, it.key_token, head, it.keys_end);
    commit_copies();
    for (int key = 0; key < it.keys_end; key += KEY_TILE) {
        wait_for_copies<0>();
        __syncthreads(); /* the keys are there, and nobody reads the last values any more */
        stage_values(shared->values, args, it.key_token + key, head, it.keys_end - key);
        commit_copies();

        score_tiles<KEY_TILE> scores;
        multiply_keys<MLA_KEY, KEY_TILE>(scores, queries, shared->keys);
        hide_pairs<KEY_TILE>(scores, it.position + first_query_of_warp(), key, 0);

        wait_for_copies<0>();
        __syncthreads(); /* the values are there, and nobody reads these keys any more */
        int next = key + KEY_TILE;
        if (next < it.keys_end) {
            stage_keys(shared->keys, args, it.key_token + next, head, it.keys_end - next);
            commit_copies();
        }

        KREF_UNROLL
        for (int tile = 0; tile < QUERY_ROW_TILES; tile++) {
            f32 shrink[LANE_ROWS];
            take_scores(&rows[tile], scores[tile], scale_log2, shrink);
            shrink_sums(sums[tile], shrink);
        }
        multiply_values<MLA_VALUE, KEY_TILE>(sums, scores, shared->values);
    }
    int64_t step = int64_t{args.heads} * MLA_VALUE;
    either_output outputs = {args.outputs, args.exact_outputs};
    write_rows<MLA_VALUE>(sums, rows, outputs, it.query_token * step + head * MLA_VALUE, step,
                          it.queries);
}

} // namespace

const char *mla_prefill_refusal(const mla_prefill_args &args) {
    if (args.heads < 1 || args.heads > 65535) {
        return "mla_prefill: there must be 1 to 65535 heads";
    }
    if (args.sequences < 0 || args.sequences > 65535) {
        return "mla_prefill: at most 65535 sequences";
    }
    if (args.queries_max < 0) {
        return "mla_prefill: queries_max must not be negative";
    }
    if (args.outputs.is_null() == args.exact_outputs.is_null()) {
        return "mla_prefill: exactly one of the outputs must be given";
    }
    return nullptr;
}

const char *mla_prefill(const mla_prefill_args &args, void *stream) {
    const char *refusal = mla_prefill_refusal(args);
    if (refusal != nullptr || args.sequences == 0 || args.queries_max == 0) {
        return refusal;
    }
    dim3 grid = {static_cast<unsigned>((args.queries_max - 1) / QUERY_TILE + 1),
                 static_cast<unsigned>(args.heads), static_cast<unsigned>(args.sequences)};
    return launch("mla_prefill", mla_prefill_kernel, grid, dim3{QUERY_THREADS}, sizeof(staging),
                  stream, args);
}

} // namespace kref
