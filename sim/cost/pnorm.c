#include "cost/pnorm.h"

#include "cost/collectives.h"
#include "cost/operators.h"
#include "kernel/time.h"
#include "model/opcount.h"

/* The parts of one layer. */
typedef struct layer_ns {
    double gemm;
    double attention;
    double elementwise;
    double total; /* in the order of the header, which differs from the sum of the above */
    double all_reduce;
} layer_ns;

static layer_ns time_layer(const sli_pnorm_model *model, const sli_layer_run *run,
                           const sl_batch_shape *shape) {
    const sli_device *device = model->device;
    sli_layer_work work;
    sli_opcount_layer(model->architecture, run, model->tp, shape, &work);

    layer_ns layer = {0};
    for (int i = 0; i < SLI_GEMM_COUNT; i++) {
        layer.gemm += sli_gemm_ns(device, &work.gemms[i]);
    }
    double prefill = sli_prefill_ns(device, &work.prefill);
    double decode = sli_decode_ns(device, &work.decode, shape->prefills == 0);
    layer.attention = prefill + decode;
    for (int i = 0; i < SLI_ELEMENTWISE_COUNT; i++) {
        layer.elementwise += sli_elementwise_ns(device, work.elementwise_bytes[i]);
    }
    layer.total = layer.gemm + prefill + decode + layer.elementwise;
    layer.all_reduce = 2.0 * sli_all_reduce_ns(device, model->tp, work.all_reduce_bytes);
    return layer;
}

/* log2 of 1, 2, 4 or 8, exactly. */
static double count_doublings(int64_t tp) {
    double doublings = 0.0;
    for (; tp > 1; tp /= 2) {
        doublings += 1.0;
    }
    return doublings;
}

static void pnorm_step(const void *self, const sl_batch_shape *shape, sl_step_cost *cost) {
    const sli_pnorm_model *model = self;
    const sli_engine_figures *engine = &model->device->engine;
    const sli_layer_run *runs = model->architecture->layers.rows;

    *cost = (sl_step_cost){0};
    double *cause_ns = cost->cause_ns;
    double layers_ns = 0.0;
    for (size_t i = 0; i < model->architecture->layers.count; i++) {
        layer_ns layer = time_layer(model, &runs[i], shape);
        double count = (double)runs[i].count;
        layers_ns += count * layer.total;
        cause_ns[SL_CAUSE_GEMM] += count * layer.gemm;
        cause_ns[SL_CAUSE_ATTENTION] += count * layer.attention;
        cause_ns[SL_CAUSE_ELEMENTWISE] += count * layer.elementwise;
        cause_ns[SL_CAUSE_COLLECTIVE] += count * layer.all_reduce;
    }
    sli_gemm head = sli_opcount_head(model->architecture, model->tp, shape);
    cause_ns[SL_CAUSE_HEAD] = sli_gemm_ns(model->device, &head);
    double step_ns = engine->step_ns.value + engine->log2_tp_ns.value * count_doublings(model->tp);
    double sequences_ns = engine->sequence_ns.value * (double)shape->sequences;
    cause_ns[SL_CAUSE_ENGINE] = step_ns + sequences_ns;

    double total_ns = layers_ns + cause_ns[SL_CAUSE_HEAD] + cause_ns[SL_CAUSE_COLLECTIVE] +
                      step_ns + sequences_ns;
    cost->total_ns = sli_time_round(total_ns);
    if (cost->total_ns < 1) {
        cost->total_ns = 1;
    }
}

sl_cost_model sli_pnorm_interface(const sli_pnorm_model *model) {
    static const sl_cost_ops ops = {.step = pnorm_step};
    return (sl_cost_model){.ops = &ops, .self = model};
}
