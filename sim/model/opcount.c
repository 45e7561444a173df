#include "model/opcount.h"

#include "base/check.h"
#include "model/parallel.h"
#include "model/params.h"

/* Activations, weights, keys and values alike. */
static const double element_bytes = 2.0;

/* Query rows that one thread block of the attention kernel works on. */
static const double tile_rows = 128.0;

double sli_gemm_flops(const sli_gemm *gemm) {
    return 2.0 * gemm->m * gemm->n * gemm->k;
}

double sli_gemm_bytes(const sli_gemm *gemm) {
    return element_bytes * (gemm->m * gemm->k + gemm->n * gemm->k + gemm->m * gemm->n);
}

/* The sizes of a layer on one rank. */
typedef struct rank_sizes {
    double hidden;
    double q_heads;
    double kv_heads;
    double head_dim;
    double width;
    double ups; /* projections into the feed-forward's inner layer: gate and up, or up alone */
} rank_sizes;

static const sli_gqa *gqa_of(const sli_layer_run *run) {
    SL_DCHECK(run->mixer->kind == &sli_gqa_kind);
    return run->mixer->values;
}

static const sli_dense *dense_of(const sli_layer_run *run) {
    SL_DCHECK(run->ffn->kind == &sli_dense_kind);
    return run->ffn->values;
}

static rank_sizes sizes_on_rank(const sli_architecture *architecture, const sli_layer_run *run,
                                int64_t tp) {
    const sli_gqa *gqa = gqa_of(run);
    return (rank_sizes){
        .hidden = (double)architecture->hidden,
        .q_heads = (double)(gqa->q_heads / tp),
        .kv_heads = (double)(gqa->kv_heads / tp),
        .head_dim = (double)gqa->head_dim,
        .width = (double)(dense_of(run)->width / tp),
        .ups = dense_of(run)->is_gated ? 2.0 : 1.0,
    };
}

static void count_gemms(const rank_sizes *sizes, double tokens, sli_gemm gemms[SLI_GEMM_COUNT]) {
    double q_width = sizes->q_heads * sizes->head_dim;
    double kv_width = sizes->kv_heads * sizes->head_dim;
    gemms[SLI_GEMM_QKV] = (sli_gemm){tokens, q_width + 2.0 * kv_width, sizes->hidden};
    gemms[SLI_GEMM_OUT] = (sli_gemm){tokens, sizes->hidden, q_width};
    gemms[SLI_GEMM_GATE_UP] = (sli_gemm){tokens, sizes->ups * sizes->width, sizes->hidden};
    gemms[SLI_GEMM_DOWN] = (sli_gemm){tokens, sizes->hidden, sizes->width};
}

/* 4 d FLOPs a query head and pair: d multiply-adds for the score, d for the weighted value. */
static sli_prefill_work count_prefill(const rank_sizes *sizes, const sl_batch_shape *shape) {
    double kv_elements = 2.0 * sizes->kv_heads * sizes->head_dim * (double)shape->prefill_kv_tokens;
    double q_elements = 2.0 * sizes->q_heads * sizes->head_dim * (double)shape->prefill_tokens;
    return (sli_prefill_work){
        .tile_flops = 2.0 * sizes->q_heads * sizes->head_dim * (double)shape->prefill_tile_pairs_x2,
        .critical_flops = 4.0 * tile_rows * sizes->head_dim * (double)shape->prefill_kv_max,
        .bytes = element_bytes * (kv_elements + q_elements),
    };
}

static sli_decode_work count_decode(const rank_sizes *sizes, const sl_batch_shape *shape) {
    return (sli_decode_work){
        .bytes = element_bytes * 2.0 * sizes->kv_heads * sizes->head_dim *
                 (double)shape->decode_kv_tokens,
        .longest_tokens = (double)shape->decode_kv_max,
        .row_heads = (double)shape->decodes * sizes->kv_heads,
    };
}

/* Every operator reads and writes each of its elements: the norms read stream and update and write
 * both (4 elements), the activation reads gate and up and writes their product (3 elements, or 2
 * without a gate). */
static void count_elementwise(const rank_sizes *sizes, bool has_qk_norm, double tokens,
                              double bytes[SLI_ELEMENTWISE_COUNT]) {
    double qk_width = (sizes->q_heads + sizes->kv_heads) * sizes->head_dim;
    double v_width = sizes->kv_heads * sizes->head_dim;
    bytes[SLI_ELEMENTWISE_NORM_IN] = 4.0 * element_bytes * tokens * sizes->hidden;
    bytes[SLI_ELEMENTWISE_NORM_MID] = 4.0 * element_bytes * tokens * sizes->hidden;
    bytes[SLI_ELEMENTWISE_ROPE] = 2.0 * element_bytes * tokens * (qk_width + v_width);
    bytes[SLI_ELEMENTWISE_ACTIVATION] = (sizes->ups + 1.0) * element_bytes * tokens * sizes->width;
    bytes[SLI_ELEMENTWISE_QK_NORM] = has_qk_norm ? 2.0 * element_bytes * tokens * qk_width : 0.0;
}

void sli_opcount_attention(const sli_architecture *architecture, const sli_layer_run *run,
                           int64_t tp, const sl_batch_shape *shape, sli_prefill_work *prefill,
                           sli_decode_work *decode) {
    rank_sizes sizes = sizes_on_rank(architecture, run, tp);
    *prefill = count_prefill(&sizes, shape);
    *decode = count_decode(&sizes, shape);
}

void sli_opcount_layer(const sli_architecture *architecture, const sli_layer_run *run, int64_t tp,
                       const sl_batch_shape *shape, sli_layer_work *work) {
    SL_DCHECK(sli_parallel_divides(architecture, tp));
    SL_DCHECK(sli_architecture_unheld(architecture) == NULL);
    rank_sizes sizes = sizes_on_rank(architecture, run, tp);
    double tokens = (double)shape->tokens;
    count_gemms(&sizes, tokens, work->gemms);
    sli_opcount_attention(architecture, run, tp, shape, &work->prefill, &work->decode);
    count_elementwise(&sizes, gqa_of(run)->has_qk_norm, tokens, work->elementwise_bytes);
    work->all_reduce_bytes = tp > 1 ? element_bytes * tokens * sizes.hidden : 0.0;
}

sli_gemm sli_opcount_head(const sli_architecture *architecture, int64_t tp,
                          const sl_batch_shape *shape) {
    return (sli_gemm){
        .m = (double)shape->emitting,
        .n = (double)architecture->vocab_tokens / (double)tp,
        .k = (double)architecture->hidden,
    };
}

/* The sum over all mixers of the backbone. */
static double sum_mixers(const sli_architecture *architecture,
                         double (*of_part)(const sli_part_facts *facts, int64_t prefix_tokens,
                                           int64_t added_tokens),
                         int64_t prefix_tokens, int64_t added_tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    double flops = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        double part = of_part(&runs[i].mixer->facts, prefix_tokens, added_tokens);
        flops += (double)runs[i].count * part;
    }
    return flops;
}

static double sum_pairs(const sli_core_work *works, int count, int64_t prefix_tokens,
                        int64_t added_tokens) {
    double flops = 0.0;
    for (int i = 0; i < count; i++) {
        int64_t pairs = sli_growth_pairs(&works[i].visible, prefix_tokens, added_tokens);
        flops += works[i].row_flops * (double)pairs;
    }
    return flops;
}

static double part_decode(const sli_part_facts *facts, int64_t prefix_tokens,
                          int64_t added_tokens) {
    return sum_pairs(facts->decode, facts->decode_count, prefix_tokens, added_tokens);
}

static double part_prefill(const sli_part_facts *facts, int64_t prefix_tokens,
                           int64_t added_tokens) {
    return sum_pairs(facts->prefill, facts->prefill_count, prefix_tokens, added_tokens) +
           facts->prefix_flops * (double)prefix_tokens;
}

double sli_opcount_decode_core(const sli_architecture *architecture, int64_t tokens) {
    SL_DCHECK(tokens >= 1);
    return sum_mixers(architecture, part_decode, tokens - 1, 1);
}

double sli_opcount_prefill_core(const sli_architecture *architecture, int64_t prefix_tokens,
                                int64_t added_tokens) {
    return sum_mixers(architecture, part_prefill, prefix_tokens, added_tokens);
}

/* 4 d FLOPs a query head and pair, in each layer. */
static double pair_flops(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    double flops = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_gqa *gqa = gqa_of(&runs[i]);
        flops += 4.0 * (double)(gqa->q_heads * gqa->head_dim) * (double)runs[i].count;
    }
    return flops;
}

double sli_opcount_flops(const sli_architecture *architecture, const sl_batch_shape *shape) {
    double head_params = (double)architecture->vocab_tokens * (double)architecture->hidden;
    double layer_params = (double)sli_params_matmul(architecture) - head_params;
    double linear = 2.0 *
                    (layer_params * (double)shape->tokens + head_params * (double)shape->emitting);
    double pairs = (double)shape->prefill_pairs + (double)shape->decode_kv_tokens;
    return linear + pair_flops(architecture) * pairs;
}
