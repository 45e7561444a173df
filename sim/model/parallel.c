#include "model/parallel.h"

const int64_t sli_tp_degrees[SLI_TP_COUNT] = {1, 2, 4, 8};

static bool is_degree(int64_t tp) {
    for (int i = 0; i < SLI_TP_COUNT; i++) {
        if (sli_tp_degrees[i] == tp) {
            return true;
        }
    }
    return false;
}

/* What tp does not divide, or NULL. Only key-value heads: they divide the query heads. */
static const char *find_obstacle(const sli_architecture *architecture, int64_t tp,
                                 int64_t *amount) {
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_layer_part *mixer = runs[i].mixer;
        const sli_layer_part *ffn = runs[i].ffn;
        *amount = mixer->kind == &sli_gqa_kind ? ((const sli_gqa *)mixer->values)->kv_heads : tp;
        if (*amount % tp != 0) {
            return "key-value heads";
        }
        *amount = ffn->kind == &sli_dense_kind ? ((const sli_dense *)ffn->values)->width : tp;
        if (*amount % tp != 0) {
            return "columns of the feed-forward";
        }
    }
    return NULL;
}

bool sli_parallel_divides(const sli_architecture *architecture, int64_t tp) {
    int64_t amount = 0;
    return is_degree(tp) && find_obstacle(architecture, tp, &amount) == NULL;
}

sl_err sli_parallel_check(const sli_architecture *architecture, int64_t tp, sli_mark mark,
                          const char *key, sli_diag *diag) {
    if (!is_degree(tp)) {
        sli_diag_error(diag, mark, key, "tensor parallelism of %lld is not one of 1, 2, 4, 8",
                       (long long)tp);
        return SL_ERR_CONFIG;
    }
    int64_t amount = 0;
    const char *obstacle = find_obstacle(architecture, tp, &amount);
    if (obstacle != NULL) {
        sli_diag_error(diag, mark, key, "%lld ranks do not divide the %lld %s of %s", (long long)tp,
                       (long long)amount, obstacle, architecture->id);
        return SL_ERR_CONFIG;
    }
    return SL_OK;
}
