#include "model/params.h"

static int64_t matrix_params(const sli_matrix *matrix) {
    return matrix->in * matrix->out;
}

int64_t sli_params_part(const sli_part_facts *facts) {
    int64_t params = 0;
    for (int i = 0; i < facts->matrix_count; i++) {
        params += facts->matrices[i].count * matrix_params(&facts->matrices[i]);
    }
    return params;
}

int64_t sli_params_part_active(const sli_part_facts *facts) {
    int64_t params = 0;
    for (int i = 0; i < facts->matrix_count; i++) {
        params += facts->matrices[i].active * matrix_params(&facts->matrices[i]);
    }
    return params;
}

static double part_touched(const sli_part_facts *facts, int64_t tokens) {
    double params = 0.0;
    for (int i = 0; i < facts->matrix_count; i++) {
        const sli_matrix *matrix = &facts->matrices[i];
        double copies = sli_moe_distinct(matrix->count, matrix->active, tokens);
        params += copies * (double)matrix_params(matrix);
    }
    return params;
}

static int64_t sum_runs(const sli_table *layers, int64_t (*of_part)(const sli_part_facts *facts)) {
    const sli_layer_run *runs = layers->rows;
    int64_t params = 0;
    for (size_t i = 0; i < layers->count; i++) {
        params += runs[i].count * (of_part(&runs[i].mixer->facts) + of_part(&runs[i].ffn->facts));
    }
    return params;
}

bool sli_matrix_is_routed(const sli_matrix *matrix) {
    return matrix->active < matrix->count;
}

sli_weight_sort sli_matrix_sort(const sli_part_facts *facts, const sli_matrix *matrix) {
    return sli_matrix_is_routed(matrix)    ? SLI_WEIGHT_EXPERT
           : facts->role == SLI_PART_MIXER ? SLI_WEIGHT_ATTENTION
                                           : SLI_WEIGHT_ELSE;
}

int64_t sli_params_fewest_experts(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t fewest = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].ffn->facts;
        for (int j = 0; j < facts->matrix_count; j++) {
            const sli_matrix *matrix = &facts->matrices[j];
            bool is_fewer = fewest == 0 || matrix->count < fewest;
            fewest = sli_matrix_is_routed(matrix) && is_fewer ? matrix->count : fewest;
        }
    }
    return fewest;
}

int64_t sli_params_vocab(const sli_architecture *architecture) {
    return architecture->vocab_tokens * architecture->hidden;
}

/*
 * Gemma 4 E: a gate down to the embedding of the layer and a projection back up. DeepSeek V4, in
 * front of mixer and feed-forward: the weights of n streams, n for reading, n for writing and n^2
 * for mixing, from all n of them.
 */
int64_t sli_params_layer_extra(const sli_architecture *architecture) {
    int64_t hidden = architecture->hidden;
    int64_t streams = architecture->hyper_streams;
    int64_t embedding = 2 * hidden * architecture->layer_embedding;
    int64_t mixing = 2 * (streams * hidden) * (2 * streams + streams * streams);
    return embedding + mixing;
}

static int64_t extra_params(const sli_architecture *architecture) {
    return sli_architecture_layers(architecture) * sli_params_layer_extra(architecture);
}

int64_t sli_params_matmul(const sli_architecture *architecture) {
    return sum_runs(&architecture->layers, sli_params_part_active) + extra_params(architecture) +
           sli_params_vocab(architecture);
}

/* Embeddings, which are looked up; each layer of Gemma 4 E has one. */
static int64_t embedding_params(const sli_architecture *architecture) {
    int64_t first = architecture->has_tied_embeddings ? 0 : sli_params_vocab(architecture);
    int64_t layers = sli_architecture_layers(architecture);
    return first + architecture->vocab_tokens * layers * architecture->layer_embedding;
}

int64_t sli_params_total(const sli_architecture *architecture) {
    return sum_runs(&architecture->layers, sli_params_part) + extra_params(architecture) +
           sli_params_vocab(architecture) + embedding_params(architecture);
}

double sli_params_touched(const sli_architecture *architecture, int64_t tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    double params = (double)(extra_params(architecture) + sli_params_vocab(architecture));
    for (size_t i = 0; i < architecture->layers.count; i++) {
        params += (double)runs[i].count * (part_touched(&runs[i].mixer->facts, tokens) +
                                           part_touched(&runs[i].ffn->facts, tokens));
    }
    return params;
}

int64_t sli_params_mtp(const sli_architecture *architecture) {
    return sum_runs(&architecture->mtp_layers, sli_params_part);
}
