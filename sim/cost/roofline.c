#include "cost/roofline.h"

#include "base/check.h"
#include "cost/collectives.h"
#include "cost/host.h"
#include "cost/operators.h"
#include "kernel/time.h"

/* Activations. */
static const double element_bytes = 2.0;

static double class_ns(const sli_roofline_model *model, double flop_ns, double flops,
                       double bytes) {
    double compute_ns = flops * flop_ns;
    double memory_ns = bytes * model->byte_ns;
    double longer_ns = compute_ns > memory_ns ? compute_ns : memory_ns;
    return longer_ns > 0.0 ? model->subject.device->gemm.overhead_ns.value + longer_ns : 0.0;
}

static double products_ns(const sli_roofline_model *model, sli_products products) {
    return class_ns(model, model->flop_ns, products.flops, products.weight_bytes);
}

/* ---- What depends on the tokens of the step alone ---- */

enum { TERM_GEMM, TERM_ELEMENTWISE, TERM_ALL_REDUCE };

static double elementwise_ns(const sli_device *device, sli_part_elementwise work) {
    return sli_elementwise_ns(device, work.norm_bytes) +
           sli_elementwise_ns(device, work.inner_bytes);
}

static void add_part(const sli_roofline_model *model, const sli_roofline_part *part, int64_t tokens,
                     double terms[SLI_MEMO_VALUES]) {
    const sli_cost_subject *subject = &model->subject;
    int64_t hidden = subject->architecture->hidden;
    double stream_bytes = element_bytes * (double)tokens * (double)hidden;
    sli_products products = sli_opcount_part(part->facts, &subject->weights, subject->tp, tokens);
    sli_part_elementwise elementwise = sli_opcount_part_elementwise(part->facts, hidden,
                                                                    subject->tp, tokens);
    terms[TERM_GEMM] += part->layers * products_ns(model, products);
    terms[TERM_ELEMENTWISE] += part->layers * elementwise_ns(subject->device, elementwise);
    terms[TERM_ALL_REDUCE] += part->layers *
                              sli_all_reduce_ns(subject->device, subject->tp, stream_bytes);
}

static const double *time_tokens(const sli_roofline_model *model, int64_t tokens) {
    const sli_cost_subject *subject = &model->subject;
    sli_memo_row *row;
    if (sli_memo_find(&model->token_memo, tokens, &row)) {
        return row->values;
    }
    double layers = (double)sli_architecture_layers(subject->architecture);
    sli_products extra = sli_opcount_layer_extra(subject->architecture, &subject->weights, tokens);
    row->values[TERM_GEMM] = layers * products_ns(model, extra);
    row->values[TERM_ELEMENTWISE] = 0.0;
    row->values[TERM_ALL_REDUCE] = 0.0;
    for (size_t i = 0; i < model->part_count; i++) {
        add_part(model, &model->parts[i], tokens, row->values);
    }
    return row->values;
}

static double time_head(const sli_roofline_model *model, int64_t emitting) {
    const sli_cost_subject *subject = &model->subject;
    sli_memo_row *row;
    if (!sli_memo_find(&model->head_memo, emitting, &row)) {
        row->values[0] = products_ns(model, sli_opcount_head_products(subject->architecture,
                                                                      &subject->weights,
                                                                      subject->tp, emitting));
    }
    return row->values[0];
}

/* ---- The step ---- */

static double core_ns(const sli_roofline_model *model, double flop_ns, const sli_core_count *core,
                      const sli_batch_sums *sums) {
    double bytes = sli_linear_at(&core->moved_bytes, sums) + sli_linear_at(&core->new_bytes, sums);
    return class_ns(model, flop_ns, sli_linear_at(&core->flops, sums), bytes);
}

static double time_cores(const sli_roofline_model *model, const sl_batch_shape *shape) {
    sli_batch_sums sums;
    sli_batch_sums_make(&model->growths, shape, &sums);
    double cores_ns = 0.0;
    for (size_t i = 0; i < model->core_count; i++) {
        const sli_roofline_core *core = &model->cores[i];
        double layer_ns = 0.0;
        if (shape->decodes > 0) {
            layer_ns += core_ns(model, core->flop_ns, &core->decodes, &sums);
        }
        if (shape->prefills > 0) {
            layer_ns += core_ns(model, core->flop_ns, &core->chunks, &sums);
        }
        cores_ns += core->layers * layer_ns;
    }
    return cores_ns;
}

static void roofline_step(void *self, const sl_batch_shape *shape, sl_step_cost *cost) {
    const sli_roofline_model *model = self;
    const sli_cost_subject *subject = &model->subject;
    const double *terms = time_tokens(model, shape->tokens);
    *cost = (sl_step_cost){
        .cause_ns =
            {
                [SL_CAUSE_GEMM] = terms[TERM_GEMM],
                [SL_CAUSE_ATTENTION] = time_cores(model, shape),
                [SL_CAUSE_ELEMENTWISE] = terms[TERM_ELEMENTWISE],
                [SL_CAUSE_HEAD] = time_head(model, shape->emitting),
                [SL_CAUSE_COLLECTIVE] = terms[TERM_ALL_REDUCE],
                [SL_CAUSE_ENGINE] = sli_host_step_ns(subject->device, subject->tp) +
                                    sli_host_sequences_ns(subject->device, shape->sequences),
            },
    };
    double total_ns = 0.0;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        total_ns += cost->cause_ns[i];
    }
    cost->total_ns = sli_time_round(total_ns);
    if (cost->total_ns < 1) {
        cost->total_ns = 1;
    }
}

/* ---- Making one ---- */

/* A part that does nothing is left out. */
static void count_layers(sli_roofline_model *model, const sli_layer_part *part, int64_t layers) {
    size_t i = 0;
    if (part->facts.matrix_count == 0) {
        return;
    }
    while (i < model->part_count && model->parts[i].facts != &part->facts) {
        i++;
    }
    if (i == model->part_count) {
        model->parts[model->part_count++] = (sli_roofline_part){.facts = &part->facts};
    }
    model->parts[i].layers += (double)layers;
}

/* A kernel is one of attention: a recurrence has no use for it. */
static double core_flop_ns(const sli_roofline_model *model, const sli_part_facts *facts) {
    const sli_cost_subject *subject = &model->subject;
    const sli_attention_kernel *kernel = subject->attention.kernel;
    if (kernel == NULL || facts->summed_elements == 0) {
        return model->flop_ns;
    }
    return (double)SLI_NS_PER_S / (kernel->flops_share * subject->device->bf16_flops_per_s.value);
}

/* Feed-forwards have no core. */
static sl_err make_cores(sli_arena *arena, sli_roofline_model *model) {
    const sli_cost_subject *subject = &model->subject;
    model->cores = sli_arena_array(arena, model->part_count, sizeof model->cores[0]);
    if (model->cores == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < model->part_count; i++) {
        const sli_part_facts *facts = model->parts[i].facts;
        if (facts->decode_count == 0 && facts->store_count == 0) {
            continue;
        }
        model->cores[model->core_count++] = (sli_roofline_core){
            .layers = model->parts[i].layers,
            .flop_ns = core_flop_ns(model, facts),
            .decodes = sli_opcount_decodes(facts, subject->cache, subject->attention.decode_way,
                                           subject->tp, &model->growths),
            .chunks = sli_opcount_chunks(facts, subject->cache, subject->attention.prefill_way,
                                         subject->tp, &model->growths),
        };
        if (subject->attention.is_copied) {
            sli_roofline_core *core = &model->cores[model->core_count - 1];
            sli_opcount_add_copies(facts, subject->cache, subject->tp, &model->growths,
                                   &core->decodes, &core->chunks);
        }
    }
    return SL_OK;
}

sl_err sli_roofline_init(sli_arena *arena, const sli_cost_subject *subject,
                         sli_roofline_model *model) {
    const sli_gemm_figures *figures = &subject->device->gemm;
    const sli_table *layers = &subject->architecture->layers;
    const sli_layer_run *runs = layers->rows;
    double flops_per_s = figures->flops_frac.value * subject->device->bf16_flops_per_s.value;
    double bytes_per_s = figures->bytes_frac.value * subject->device->memory_bytes_per_s.value;
    *model = (sli_roofline_model){
        .subject = *subject,
        .parts = sli_arena_array(arena, 2 * layers->count, sizeof model->parts[0]),
        .flop_ns = (double)SLI_NS_PER_S / flops_per_s,
        .byte_ns = (double)SLI_NS_PER_S / bytes_per_s,
    };
    if (model->parts == NULL) {
        return SL_ERR_NOMEM;
    }
    bool is_room = sli_opcount_growths(subject->architecture, subject->attention.is_copied,
                                       &model->growths);
    SL_ASSERT(is_room);
    for (size_t i = 0; i < layers->count; i++) {
        count_layers(model, runs[i].mixer, runs[i].count);
        count_layers(model, runs[i].ffn, runs[i].count);
    }
    SL_TRY(make_cores(arena, model));
    SL_TRY(sli_memo_init(arena, &model->token_memo));
    return sli_memo_init(arena, &model->head_memo);
}

sl_cost_model sli_roofline_interface(sli_roofline_model *model) {
    static const sl_cost_ops ops = {.step = roofline_step};
    return (sl_cost_model){.ops = &ops,
                           .self = model,
                           .growths = model->growths.rows,
                           .growth_count = model->growths.count};
}
