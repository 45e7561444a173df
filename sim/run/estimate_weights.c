#include "run/estimate_weights.h"

sli_weights sli_estimate_weight_formats(const sli_estimate_query *query) {
    sli_weights weights = query->weights != NULL ? sli_weights_all(query->weights)
                                                 : query->architecture->weights;
    if (query->expert_weights != NULL) {
        weights.of[SLI_WEIGHT_EXPERT] = query->expert_weights;
    }
    return weights;
}

sli_estimate_query sli_estimate_as_published(const sli_estimate_query *query) {
    sli_estimate_query published = *query;
    published.weights = NULL;
    published.expert_weights = NULL;
    return published;
}

int64_t sli_estimate_weights_bytes(const sli_estimate_query *query, const sli_placement *placement,
                                   int64_t stage) {
    sli_weights weights = sli_estimate_weight_formats(query);
    return sli_placement_weights_bytes(query->architecture, &weights, placement, stage);
}

int64_t sli_estimate_all_weights_bytes(const sli_estimate_query *query) {
    return sli_estimate_weights_bytes(query, &sli_placement_alone, 0);
}

double sli_estimate_touched_bytes(const sli_estimate_query *query, const sli_placement *placement) {
    sli_weights weights = sli_estimate_weight_formats(query);
    return sli_placement_touched_bytes(query->architecture, &weights, placement, query->requests);
}
