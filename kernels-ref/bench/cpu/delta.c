#include "bench/cpu/delta.h"

#include "bench/cpu/number.h"

#include <stddef.h>

enum { COLUMNS = 64 };

/* Columns of the state of a head, and the head's place in the arrays. */
typedef struct part {
    const kref_cpu_delta *rule;
    float *state; /* its rows are value_dim apart */
    int head;
    int first_column;
} part;

static float decay_of(const part *it, ptrdiff_t head_at, int row) {
    const kref_cpu_delta *rule = it->rule;
    return expf(rule->has_channel_decays ? rule->log_decays[head_at * rule->key_dim + row]
                                         : rule->log_decays[head_at]);
}

/* Lets the state decay, and sums what it says about a key. */
static void predict(const part *it, ptrdiff_t head_at, const uint16_t *key, float *predicted) {
    const kref_cpu_delta *rule = it->rule;
    float decay = decay_of(it, head_at, 0);
    for (int row = 0; row < rule->key_dim; row++) {
        float *state = it->state + (ptrdiff_t)row * rule->value_dim;
        float its_key = kref_cpu_widen(key[row]);
        if (rule->has_channel_decays && row > 0) {
            decay = decay_of(it, head_at, row);
        }
#pragma omp simd
        for (int i = 0; i < COLUMNS; i++) {
            state[i] *= decay;
            predicted[i] += its_key * state[i];
        }
    }
}

/* Adds the correction to what is kept for a key, and reads what is kept for a query. */
static void correct(const part *it, const uint16_t *key, const uint16_t *query,
                    const float *correction, float *read) {
    for (int row = 0; row < it->rule->key_dim; row++) {
        float *state = it->state + (ptrdiff_t)row * it->rule->value_dim;
        float its_key = kref_cpu_widen(key[row]);
        float its_query = kref_cpu_widen(query[row]);
#pragma omp simd
        for (int i = 0; i < COLUMNS; i++) {
            state[i] += its_key * correction[i];
            read[i] += its_query * state[i];
        }
    }
}

static void take_token(const part *it, ptrdiff_t token) {
    const kref_cpu_delta *rule = it->rule;
    ptrdiff_t head_at = token * rule->heads + it->head;
    ptrdiff_t key_head = it->head / (rule->heads / rule->key_heads);
    ptrdiff_t key_at = (token * rule->key_heads + key_head) * rule->key_dim;
    ptrdiff_t value_at = head_at * rule->value_dim + it->first_column;
    float predicted[COLUMNS] = {0.0F};
    float correction[COLUMNS];
    float read[COLUMNS] = {0.0F};
    predict(it, head_at, rule->keys + key_at, predicted);
#pragma omp simd
    for (int i = 0; i < COLUMNS; i++) {
        float value = kref_cpu_widen(rule->values[value_at + i]);
        correction[i] = rule->strengths[head_at] * (value - predicted[i]);
    }
    correct(it, rule->keys + key_at, rule->queries + key_at, correction, read);
#pragma omp simd
    for (int i = 0; i < COLUMNS; i++) {
        rule->outputs[value_at + i] = kref_cpu_narrow(rule->scale * read[i]);
    }
}

void kref_cpu_delta_rule(const kref_cpu_delta *it) {
    int parts = it->value_dim / COLUMNS;
#pragma omp parallel for collapse(3) schedule(dynamic)
    for (int sequence = 0; sequence < it->sequences; sequence++) {
        for (int head = 0; head < it->heads; head++) {
            for (int i = 0; i < parts; i++) {
                ptrdiff_t state = (ptrdiff_t)it->slots[sequence] * it->heads + head;
                part its = {
                    .rule = it,
                    .state = it->states + state * it->key_dim * it->value_dim + i * COLUMNS,
                    .head = head,
                    .first_column = i * COLUMNS,
                };
                for (int token = it->starts[sequence]; token < it->starts[sequence + 1]; token++) {
                    take_token(&its, token);
                }
            }
        }
    }
}
