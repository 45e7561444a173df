#include "run/estimate_weights.h"

#include "base/divide.h"
#include "model/params.h"

static const sli_weight_format *expert_format(const sli_estimate_query *query) {
    return query->expert_weights != NULL ? query->expert_weights : query->weights;
}

sli_estimate_query sli_estimate_as_published(const sli_estimate_query *query) {
    const sli_architecture *architecture = query->architecture;
    bool has_experts = sli_params_fewest_experts(architecture) > 0;
    bool is_mixed = has_experts && architecture->expert_format != architecture->weights_format;
    sli_estimate_query published = *query;
    published.weights = &sli_weight_formats[architecture->weights_format];
    published.expert_weights = is_mixed ? &sli_weight_formats[architecture->expert_format] : NULL;
    return published;
}

/* In whole groups. */
static int64_t format_bytes(const sli_weight_format *format, int64_t params) {
    return sli_divide_up(params, format->group_params) * format->group_bytes;
}

static double share_bytes(const sli_weight_format *format, double params) {
    return params * (double)format->group_bytes / (double)format->group_params;
}

int64_t sli_estimate_weights_bytes(const sli_estimate_query *query, const sli_placement *placement,
                                   int64_t stage) {
    int64_t all = sli_placement_params(query->architecture, placement, stage);
    int64_t experts = sli_placement_expert_params(query->architecture, placement, stage);
    return query->expert_weights != NULL ? format_bytes(query->weights, all - experts) +
                                               format_bytes(query->expert_weights, experts)
                                         : format_bytes(query->weights, all);
}

int64_t sli_estimate_all_weights_bytes(const sli_estimate_query *query) {
    return sli_estimate_weights_bytes(query, &sli_placement_alone, 0);
}

double sli_estimate_touched_bytes(const sli_estimate_query *query, const sli_placement *placement) {
    const sli_architecture *architecture = query->architecture;
    double all = sli_placement_touched(architecture, placement, query->requests);
    double experts = sli_placement_experts_touched(architecture, placement, query->requests);
    return share_bytes(query->weights, all - experts) + share_bytes(expert_format(query), experts);
}
