#include "model/opcount.h"

#include "base/check.h"
#include "base/divide.h"
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
    SL_DCHECK(sli_parallel_is_even(architecture, tp));
    SL_DCHECK(sli_architecture_unplain(architecture) == NULL);
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

/* ---- Matrices of any part ---- */

/* The share of equal pieces that the fullest rank holds. */
static double share_of_rank(int64_t pieces, int64_t tp) {
    return (double)sli_divide_up(pieces, tp) / (double)pieces;
}

sli_products sli_opcount_part(const sli_part_facts *facts, const sli_weights *weights, int64_t tp,
                              int64_t tokens) {
    double used_params = 0.0;   /* by a token */
    double touched_bytes = 0.0; /* by all of them */
    for (int i = 0; i < facts->matrix_count; i++) {
        const sli_matrix *matrix = &facts->matrices[i];
        double params = (double)(matrix->in * matrix->out) * share_of_rank(matrix->pieces, tp);
        double copies = sli_moe_distinct(matrix->count, matrix->active, tokens);
        used_params += params * (double)matrix->active;
        touched_bytes += sli_weights_share_bytes(weights, sli_matrix_sort(facts, matrix),
                                                 params * copies);
    }
    return (sli_products){
        .flops = 2.0 * used_params * (double)tokens,
        .weight_bytes = touched_bytes,
    };
}

/* One matrix of so many parameters. */
static sli_products multiply(const sli_weights *weights, sli_weight_sort sort, double params,
                             int64_t rows) {
    return (sli_products){
        .flops = 2.0 * params * (double)rows,
        .weight_bytes = rows > 0 ? sli_weights_share_bytes(weights, sort, params) : 0.0,
    };
}

sli_products sli_opcount_layer_extra(const sli_architecture *architecture,
                                     const sli_weights *weights, int64_t tokens) {
    double params = (double)sli_params_layer_extra(architecture);
    return multiply(weights, SLI_WEIGHT_ELSE, params, tokens);
}

sli_products sli_opcount_head_products(const sli_architecture *architecture,
                                       const sli_weights *weights, int64_t tp, int64_t emitting) {
    double params = (double)sli_params_vocab(architecture) / (double)tp;
    return multiply(weights, SLI_WEIGHT_EMBEDDING, params, emitting);
}

/*
 * One of the matrices puts out the update of the residual stream, which the next norm reads. It is
 * cut by what goes in, so its output counts at least hidden / tp in the sum.
 */
sli_part_elementwise sli_opcount_part_elementwise(const sli_part_facts *facts, int64_t hidden,
                                                  int64_t tp, int64_t tokens) {
    if (facts->matrix_count == 0) {
        return (sli_part_elementwise){0};
    }
    double elements = 0.0;
    for (int i = 0; i < facts->matrix_count; i++) {
        const sli_matrix *matrix = &facts->matrices[i];
        elements += (double)(matrix->out * matrix->active) * share_of_rank(matrix->pieces, tp);
    }
    return (sli_part_elementwise){
        .norm_bytes = 4.0 * element_bytes * (double)tokens * (double)hidden,
        .inner_bytes = 2.0 * element_bytes * (double)tokens *
                       (elements - (double)hidden / (double)tp),
    };
}

/* ---- The core of any mixer ---- */

/* Whether tokens add rows to what is there. */
static bool is_appended(const sli_store *store) {
    return !store->is_rewritten && store->kept.kind != SLI_GROWTH_CONSTANT;
}

static bool add_growths(const sli_part_facts *facts, bool is_copied, sli_growth_list *growths) {
    bool is_room = true;
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        is_room = sli_growth_list_add(growths, &store->read) && is_room;
        if (is_copied && is_appended(store)) {
            is_room = sli_growth_list_add(growths, &store->kept) && is_room;
        }
    }
    for (int i = 0; i < facts->decode_count; i++) {
        is_room = sli_growth_list_add(growths, &facts->decode[i].visible) && is_room;
    }
    for (int i = 0; i < facts->prefill_count; i++) {
        is_room = sli_growth_list_add(growths, &facts->prefill[i].visible) && is_room;
    }
    return is_room;
}

bool sli_opcount_growths(const sli_architecture *architecture, bool is_copied,
                         sli_growth_list *growths) {
    const sli_layer_run *runs = architecture->layers.rows;
    *growths = (sli_growth_list){0};
    for (size_t i = 0; i < architecture->layers.count; i++) {
        if (!add_growths(&runs[i].mixer->facts, is_copied, growths)) {
            return false;
        }
    }
    return true;
}

/* One row of all heads of a rank. */
static double row_bytes(const sli_store *store, const sli_cache_format *cache, int64_t tp) {
    int64_t heads = sli_divide_up(store->heads, tp);
    int64_t bytes = store->element_bytes > 0
                        ? heads * store->elements * store->element_bytes
                        : sli_format_row_bytes(cache, store->sort, heads, store->elements);
    return (double)bytes;
}

/* Rows that a token adds in the mean. */
static double new_rows(const sli_growth *kept) {
    switch (kept->kind) {
    case SLI_GROWTH_CONSTANT:
        return 0.0;
    case SLI_GROWTH_STEPS:
        return 1.0 / (double)kept->step_tokens;
    case SLI_GROWTH_SAWTOOTH:
    case SLI_GROWTH_KEPT: /* written before it is known what is thrown out */
        return 1.0;
    }
    return 0.0; /* no other kind */
}

/* Keys and values are made by heads, as the work that needs them. */
static void add_remake(sli_linear_count *flops, sli_batch_sum prefixes, double token_flops,
                       const sli_core_work *works, int64_t tp) {
    if (token_flops > 0.0) {
        sli_linear_add(flops, (sli_sum_term){prefixes, 1.0},
                       token_flops * share_of_rank(works[0].pieces, tp));
    }
}

sli_core_count sli_opcount_decodes(const sli_part_facts *facts, const sli_cache_format *cache,
                                   sli_latent_way way, int64_t tp, const sli_growth_list *growths) {
    sli_core_count count = {0};
    for (int i = 0; i < facts->decode_count; i++) {
        const sli_core_work *work = &facts->decode[i];
        double flops = sli_attention_row_flops(facts, facts->decode, i, way);
        sli_linear_add(&count.flops, sli_sum_of_decodes(growths, &work->visible),
                       flops * share_of_rank(work->pieces, tp));
    }
    add_remake(&count.flops, SLI_SUM_DECODE_PREFIX, sli_attention_decode_remake_flops(facts, way),
               facts->decode, tp);
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        double bytes = row_bytes(store, cache, tp);
        sli_linear_add(&count.moved_bytes, sli_sum_of_decodes(growths, &store->read),
                       store->is_rewritten ? 2.0 * bytes : bytes);
        sli_linear_add(&count.new_bytes, (sli_sum_term){SLI_SUM_DECODES, new_rows(&store->kept)},
                       bytes);
    }
    return count;
}

sli_core_count sli_opcount_chunks(const sli_part_facts *facts, const sli_cache_format *cache,
                                  sli_latent_way way, int64_t tp, const sli_growth_list *growths) {
    sli_core_count count = {0};
    for (int i = 0; i < facts->prefill_count; i++) {
        const sli_core_work *work = &facts->prefill[i];
        double flops = sli_attention_row_flops(facts, facts->prefill, i, way);
        sli_linear_add(&count.flops, sli_sum_of_pairs(growths, &work->visible),
                       flops * share_of_rank(work->pieces, tp));
    }
    add_remake(&count.flops, SLI_SUM_CHUNK_PREFIX, sli_attention_prefill_remake_flops(facts, way),
               facts->prefill, tp);
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        double bytes = row_bytes(store, cache, tp);
        sli_linear_add(&count.moved_bytes,
                       sli_sum_of_chunk_rows(growths, &store->read, &store->kept),
                       store->is_rewritten ? 2.0 * bytes : bytes);
        sli_linear_add(&count.new_bytes,
                       (sli_sum_term){SLI_SUM_CHUNK_TOKENS, new_rows(&store->kept)}, bytes);
    }
    return count;
}

void sli_opcount_add_copies(const sli_part_facts *facts, const sli_cache_format *cache, int64_t tp,
                            const sli_growth_list *growths, sli_core_count *decodes,
                            sli_core_count *chunks) {
    for (int i = 0; i < facts->store_count; i++) {
        const sli_store *store = &facts->stores[i];
        if (is_appended(store)) {
            double copied_bytes = 2.0 * row_bytes(store, cache, tp);
            sli_linear_add(&decodes->moved_bytes, sli_sum_of_decodes(growths, &store->kept),
                           copied_bytes);
            sli_linear_add(&chunks->moved_bytes,
                           sli_sum_of_chunk_rows(growths, &store->kept, &store->kept),
                           copied_bytes);
        }
    }
}
