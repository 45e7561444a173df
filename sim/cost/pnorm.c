#include "cost/pnorm.h"

#include "cost/collectives.h"
#include "cost/host.h"
#include "cost/operators.h"
#include "kernel/time.h"
#include "model/kinds.h"

/* The parts of one layer. */
typedef struct layer_ns {
    double gemm;
    double attention;
    double elementwise;
    double total; /* in the order of the header, which differs from the sum of the above */
    double all_reduce;
} layer_ns;

/* What depends on the tokens of the step alone, and so is remembered. */
enum { TERM_GEMM, TERM_ELEMENTWISE, TERM_ALL_REDUCE };

static void time_token_terms(const sli_pnorm_model *model, const sli_layer_work *work,
                             double terms[SLI_MEMO_VALUES]) {
    const sli_device *device = model->device;
    double gemm = 0.0;
    for (int i = 0; i < SLI_GEMM_COUNT; i++) {
        gemm += sli_gemm_ns(device, &work->gemms[i]);
    }
    double elementwise = 0.0;
    for (int i = 0; i < SLI_ELEMENTWISE_COUNT; i++) {
        elementwise += sli_elementwise_ns(device, work->elementwise_bytes[i]);
    }
    terms[TERM_GEMM] = gemm;
    terms[TERM_ELEMENTWISE] = elementwise;
    terms[TERM_ALL_REDUCE] = 2.0 * sli_all_reduce_ns(device, model->tp, work->all_reduce_bytes);
}

/* A step with one chunk is timed as a whole, and then that chunk alone: the same work. */
static double time_prefill(const sli_pnorm_model *model, size_t run_index,
                           const sli_prefill_work *work) {
    sli_pnorm_prefill *last = &model->prefills[run_index];
    if (last->work.tile_flops != work->tile_flops || last->work.bytes != work->bytes ||
        last->work.critical_flops != work->critical_flops) {
        *last = (sli_pnorm_prefill){.work = *work, .ns = sli_prefill_ns(model->device, work)};
    }
    return last->ns;
}

static layer_ns time_layer(const sli_pnorm_model *model, size_t run_index,
                           const sl_batch_shape *shape) {
    const sli_layer_run *runs = model->architecture->layers.rows;
    const sli_layer_run *run = &runs[run_index];
    sli_memo_row *row;
    if (!sli_memo_find(&model->layer_memos[run_index], shape->tokens, &row)) {
        sli_layer_work work;
        sli_opcount_layer(model->architecture, run, model->tp, shape, &work);
        time_token_terms(model, &work, row->values);
    }
    sli_prefill_work prefill_work;
    sli_decode_work decode_work;
    sli_opcount_attention(model->architecture, run, model->tp, shape, &prefill_work, &decode_work);
    double prefill = shape->prefills > 0 ? time_prefill(model, run_index, &prefill_work) : 0.0;
    double decode = sli_decode_ns(model->device, &decode_work, shape->prefills == 0);
    return (layer_ns){
        .gemm = row->values[TERM_GEMM],
        .attention = prefill + decode,
        .elementwise = row->values[TERM_ELEMENTWISE],
        .total = row->values[TERM_GEMM] + prefill + decode + row->values[TERM_ELEMENTWISE],
        .all_reduce = row->values[TERM_ALL_REDUCE],
    };
}

static double time_head(const sli_pnorm_model *model, const sl_batch_shape *shape) {
    sli_memo_row *row;
    if (!sli_memo_find(&model->head_memo, shape->emitting, &row)) {
        sli_gemm head = sli_opcount_head(model->architecture, model->tp, shape);
        row->values[0] = sli_gemm_ns(model->device, &head);
    }
    return row->values[0];
}

static void pnorm_step(void *self, const sl_batch_shape *shape, sl_step_cost *cost) {
    const sli_pnorm_model *model = self;
    const sli_layer_run *runs = model->architecture->layers.rows;

    *cost = (sl_step_cost){0};
    double *cause_ns = cost->cause_ns;
    double layers_ns = 0.0;
    for (size_t i = 0; i < model->architecture->layers.count; i++) {
        layer_ns layer = time_layer(model, i, shape);
        double count = (double)runs[i].count;
        layers_ns += count * layer.total;
        cause_ns[SL_CAUSE_GEMM] += count * layer.gemm;
        cause_ns[SL_CAUSE_ATTENTION] += count * layer.attention;
        cause_ns[SL_CAUSE_ELEMENTWISE] += count * layer.elementwise;
        cause_ns[SL_CAUSE_COLLECTIVE] += count * layer.all_reduce;
    }
    cause_ns[SL_CAUSE_HEAD] = time_head(model, shape);
    double step_ns = sli_host_step_ns(model->device, model->tp);
    double sequences_ns = sli_host_sequences_ns(model->device, shape->sequences);
    cause_ns[SL_CAUSE_ENGINE] = step_ns + sequences_ns;

    double total_ns = layers_ns + cause_ns[SL_CAUSE_HEAD] + cause_ns[SL_CAUSE_COLLECTIVE] +
                      step_ns + sequences_ns;
    cost->total_ns = sli_time_round(total_ns);
    if (cost->total_ns < 1) {
        cost->total_ns = 1;
    }
}

bool sli_pnorm_fits_heads(const sli_architecture *architecture) {
    const int64_t fitted_width = 128;
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_gqa *gqa = runs[i].mixer->values; /* of a plain architecture */
        if (gqa->head_dim != fitted_width) {
            return false;
        }
    }
    return true;
}

sl_err sli_pnorm_init(sli_arena *arena, const sli_architecture *architecture,
                      const sli_device *device, int64_t tp, sli_pnorm_model *model) {
    size_t run_count = architecture->layers.count;
    *model = (sli_pnorm_model){.architecture = architecture, .device = device, .tp = tp};
    model->layer_memos = sli_arena_array(arena, run_count, sizeof model->layer_memos[0]);
    model->prefills = sli_arena_array(arena, run_count, sizeof model->prefills[0]);
    if (model->layer_memos == NULL || model->prefills == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < run_count; i++) {
        SL_TRY(sli_memo_init(arena, &model->layer_memos[i]));
    }
    return sli_memo_init(arena, &model->head_memo);
}

sl_cost_model sli_pnorm_interface(sli_pnorm_model *model) {
    static const sl_cost_ops ops = {.step = pnorm_step};
    return (sl_cost_model){.ops = &ops, .self = model};
}
