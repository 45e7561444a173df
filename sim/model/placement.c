#include "model/placement.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "model/attention.h"
#include "model/params.h"

const sli_placement sli_placement_alone = {.tp = 1, .pp = 1, .dp = 1, .cp = 1, .ep = 1};

/* Of activations. */
enum { ELEMENT_BYTES = 2 };

/* That work on the same layers. */
static int64_t stage_ranks(const sli_placement *placement) {
    return placement->tp * placement->dp * placement->cp;
}

sli_placement sli_placement_of_tp(int64_t tp) {
    sli_placement placement = sli_placement_alone;
    placement.tp = tp;
    return placement;
}

int64_t sli_placement_ranks(const sli_placement *placement) {
    return placement->pp * stage_ranks(placement);
}

/* ---- Stages ---- */

/* With L = q pp + r the r stages before the last one have q + 1 layers, all others q. */
sli_stage sli_placement_stage(const sli_architecture *architecture, const sli_placement *placement,
                              int64_t stage) {
    int64_t layers = sli_architecture_layers(architecture);
    int64_t pp = placement->pp;
    SL_ASSERT(stage >= 0 && stage < pp && pp <= layers);
    int64_t rest = layers % pp;
    int64_t longer_before = sli_min_i64(sli_max_i64(stage - (pp - 1 - rest), 0), rest);
    bool is_longer = stage >= pp - 1 - rest && stage < pp - 1;
    int64_t first = stage * (layers / pp) + longer_before;
    return (sli_stage){.first_layer = first, .end_layer = first + layers / pp + is_longer};
}

int64_t sli_stage_layers(const sli_stage *stage, const sli_layer_run *run, int64_t begin) {
    int64_t layers = sli_min_i64(begin + run->count, stage->end_layer) -
                     sli_max_i64(begin, stage->first_layer);
    return sli_max_i64(layers, 0);
}

/* ---- Weights ---- */

/* Ranks that the columns of a matrix are cut over. */
static int64_t cutting_ranks(const sli_matrix *matrix, const sli_placement *placement) {
    return sli_matrix_is_routed(matrix) ? stage_ranks(placement) / placement->ep : placement->tp;
}

/* What a rank has of one copy of a matrix: so many of its pieces, rounded up where they are not of
 * whole parameters. */
static int64_t copy_params(const sli_matrix *matrix, const sli_placement *placement) {
    int64_t all = matrix->in * matrix->out;
    int64_t pieces = matrix->pieces;
    int64_t held = sli_divide_up(pieces, cutting_ranks(matrix, placement));
    return all / pieces * held + sli_divide_up(all % pieces * held, pieces);
}

/* Of so many equal layers. */
static void add_part(const sli_part_facts *facts, const sli_placement *placement, int64_t layers,
                     sli_weight_params *params) {
    for (int i = 0; i < facts->matrix_count; i++) {
        const sli_matrix *matrix = &facts->matrices[i];
        int64_t groups = sli_matrix_is_routed(matrix) ? placement->ep : 1;
        params->of[sli_matrix_sort(facts, matrix)] += layers *
                                                      sli_divide_up(matrix->count, groups) *
                                                      copy_params(matrix, placement);
    }
}

/* Rows of the vocabulary are the pieces of embedding and head. */
static int64_t vocab_rows(const sli_architecture *architecture, const sli_placement *placement) {
    return sli_divide_up(architecture->vocab_tokens, placement->tp);
}

/* Embeddings on the first stage, the head on the last; tied ones are one where these are the same.
 */
static int64_t vocab_params(const sli_architecture *architecture, const sli_placement *placement,
                            int64_t stage) {
    bool is_first = stage == 0;
    bool is_last = stage == placement->pp - 1;
    bool is_one = architecture->has_tied_embeddings && is_first && is_last;
    int64_t widths = (is_first + is_last - is_one) * architecture->hidden;
    int64_t layer_widths = sli_architecture_layers(architecture) * architecture->layer_embedding;
    return vocab_rows(architecture, placement) * (widths + (is_first ? layer_widths : 0));
}

sli_weight_params sli_placement_params(const sli_architecture *architecture,
                                       const sli_placement *placement, int64_t stage) {
    const sli_layer_run *runs = architecture->layers.rows;
    sli_stage within = sli_placement_stage(architecture, placement, stage);
    sli_weight_params params = {
        .of = {[SLI_WEIGHT_EMBEDDING] = vocab_params(architecture, placement, stage)}};
    int64_t begin = 0;
    for (size_t i = 0; i < architecture->layers.count; begin += runs[i].count, i++) {
        int64_t layers = sli_stage_layers(&within, &runs[i], begin);
        add_part(&runs[i].mixer->facts, placement, layers, &params);
        add_part(&runs[i].ffn->facts, placement, layers, &params);
        params.of[SLI_WEIGHT_ELSE] += layers * sli_params_layer_extra(architecture);
    }
    return params;
}

int64_t sli_placement_weights_bytes(const sli_architecture *architecture,
                                    const sli_weights *weights, const sli_placement *placement,
                                    int64_t stage) {
    sli_weight_params params = sli_placement_params(architecture, placement, stage);
    return sli_weights_bytes(weights, &params);
}

/* Of routed experts each copy is touched with the same probability. */
static double part_touched_bytes(const sli_part_facts *facts, const sli_weights *weights,
                                 const sli_placement *placement, int64_t tokens) {
    double bytes = 0.0;
    for (int i = 0; i < facts->matrix_count; i++) {
        const sli_matrix *matrix = &facts->matrices[i];
        double copies = (double)matrix->count;
        if (sli_matrix_is_routed(matrix)) {
            double share = sli_moe_distinct(matrix->count, matrix->active, tokens) / copies;
            copies = share * (double)sli_divide_up(matrix->count, placement->ep);
        }
        bytes += sli_weights_share_bytes(weights, sli_matrix_sort(facts, matrix),
                                         copies * (double)copy_params(matrix, placement));
    }
    return bytes;
}

double sli_placement_touched_bytes(const sli_architecture *architecture, const sli_weights *weights,
                                   const sli_placement *placement, int64_t tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    double head = (double)(vocab_rows(architecture, placement) * architecture->hidden);
    double extra = (double)sli_params_layer_extra(architecture);
    double layer_bytes = sli_weights_share_bytes(weights, SLI_WEIGHT_ELSE, extra);
    double bytes = sli_weights_share_bytes(weights, SLI_WEIGHT_EMBEDDING, head);
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_layer_run *run = &runs[i];
        bytes += (double)run->count *
                 (part_touched_bytes(&run->mixer->facts, weights, placement, tokens) +
                  part_touched_bytes(&run->ffn->facts, weights, placement, tokens) + layer_bytes);
    }
    return bytes;
}

/* ---- Cache and state ---- */

/* Rows that come with the tokens without end, the lender's of a borrower too. */
static bool is_shared_out(const sli_store *store) {
    return sli_growth_slope(&store->kept) + sli_growth_slope(&store->read) > 0.0;
}

int64_t sli_placement_rows(const sli_store *store, const sli_placement *placement, int64_t rows) {
    return is_shared_out(store) ? sli_divide_up(rows, placement->cp) : rows;
}

/* So many rows for all lengths that have as many tokens, and still not fixed. */
static sli_growth rows_of(const sli_store *store, const sli_growth *growth,
                          const sli_placement *placement, int64_t tokens) {
    int64_t rows = sli_placement_rows(store, placement, sli_growth_last(growth, tokens));
    return sli_growth_is_constant(growth) ? sli_growth_constant(rows) : sli_growth_capped(rows);
}

sli_part_facts sli_placement_part(const sli_part_facts *whole, const sli_placement *placement,
                                  int64_t tokens) {
    sli_part_facts part = *whole;
    for (int i = 0; i < part.store_count; i++) {
        const sli_store *store = &whole->stores[i];
        part.stores[i].heads = sli_divide_up(store->heads, placement->tp);
        part.stores[i].kept = rows_of(store, &store->kept, placement, tokens);
        part.stores[i].read = rows_of(store, &store->read, placement, tokens);
    }
    return part;
}

/* ---- Buffers ---- */

/* What attention of a token leaves to be merged, in the layer where it is most. */
static int64_t partial_bytes(const sli_architecture *architecture, const sli_placement *placement) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t bytes = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        bytes = sli_max_i64(bytes,
                            sli_attention_partial_bytes(&runs[i].mixer->facts, placement->tp));
    }
    return bytes;
}

int64_t sli_placement_buffers_bytes(const sli_architecture *architecture,
                                    const sli_placement *placement, int64_t step_tokens) {
    const int64_t all_reduce_bytes = INT64_C(2) * 8192 * 1024;
    int64_t copies = placement->dp * placement->cp;
    int64_t stream_bytes = step_tokens * architecture->hidden * ELEMENT_BYTES;
    int64_t bytes = 0;
    if (placement->tp > 1) {
        bytes += stream_bytes + all_reduce_bytes;
    }
    if (placement->pp > 1) {
        bytes += 2 * stream_bytes;
    }
    if (copies > 1 && sli_params_fewest_experts(architecture) > 0) {
        bytes += 2 * copies * stream_bytes;
    }
    if (placement->cp > 1) {
        bytes += step_tokens * partial_bytes(architecture, placement);
    }
    return bytes;
}
