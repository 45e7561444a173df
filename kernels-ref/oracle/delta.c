#include "oracle/delta.h"

#include <math.h>
#include <stddef.h>

/* A token, as one head sees it. */
typedef struct token {
    const double *query;
    const double *key;
    const double *values;
    const double *log_decays; /* one, or one for each channel */
    const double *strength;
} token;

static double length_of(const double *vector, int count, ptrdiff_t stride) {
    double squares = 0.0;
    for (int i = 0; i < count; i++) {
        squares += vector[i * stride] * vector[i * stride];
    }
    return sqrt(squares);
}

/* What a column's length may have been at most, and what its error may be. */
typedef struct bounds {
    double magnitude;
    double error;
} bounds;

static double decay_of(const kref_delta_rule *rule, const token *its, int row) {
    return exp(its->log_decays[rule->has_channel_decays ? row : 0]);
}

/* Column `column` of the state of a head. Returns the correction. */
static double change_column(const kref_delta_rule *rule, const token *its, double *column_state,
                            int column) {
    double predicted = 0.0;
    for (int row = 0; row < rule->key_dim; row++) {
        double *element = column_state + (ptrdiff_t)row * rule->value_dim;
        *element *= decay_of(rule, its, row);
        predicted += its->key[row] * *element;
    }
    double correction = *its->strength * (its->values[column] - predicted);
    for (int row = 0; row < rule->key_dim; row++) {
        column_state[(ptrdiff_t)row * rule->value_dim] += its->key[row] * correction;
    }
    return correction;
}

static bounds bound_column(const kref_delta_rule *rule, const token *its, bounds before,
                           double correction) {
    double greatest = 0.0;
    for (int row = 0; row < rule->key_dim; row++) {
        greatest = fmax(greatest, decay_of(rule, its, row));
    }
    double key = length_of(its->key, rule->key_dim, 1);
    double stretch = fmax(1.0, fabs(1.0 - *its->strength * key * key));
    double magnitude = greatest * before.magnitude;
    double roundings = key * (*its->strength * key * magnitude + fabs(correction));
    return (bounds){
        .magnitude = magnitude + key * fabs(correction),
        .error = stretch * greatest * before.error + 2.0 * rule->unit * roundings +
                 0x1p-20 * magnitude,
    };
}

/* All tokens, of one column of one head: columns do not know of each other. */
static void run_column(const kref_delta_rule *rule, int tokens, int head, int column,
                       const token *first, double *column_state, double *column_errors,
                       const kref_expected *expected) {
    ptrdiff_t key_step = (ptrdiff_t)rule->key_heads * rule->key_dim;
    ptrdiff_t value_step = (ptrdiff_t)rule->heads * rule->value_dim;
    ptrdiff_t decay_step = (ptrdiff_t)rule->heads * (rule->has_channel_decays ? rule->key_dim : 1);
    bounds at = {length_of(column_state, rule->key_dim, rule->value_dim), 0.0};
    token its = *first;
    for (int i = 0; i < tokens; i++) {
        double correction = change_column(rule, &its, column_state, column);
        at = bound_column(rule, &its, at, correction);
        double output = 0.0;
        for (int row = 0; row < rule->key_dim; row++) {
            output += its.query[row] * column_state[(ptrdiff_t)row * rule->value_dim];
        }
        ptrdiff_t to = ((ptrdiff_t)i * rule->heads + head) * rule->value_dim + column;
        expected->outputs[to] = rule->scale * output;
        expected->tolerances[to] = rule->scale * length_of(its.query, rule->key_dim, 1) *
                                   (at.error + 4.0 * rule->unit * at.magnitude);
        its.query += key_step;
        its.key += key_step;
        its.values += value_step;
        its.log_decays += decay_step;
        its.strength += rule->heads;
    }
    for (int row = 0; row < rule->key_dim; row++) {
        column_errors[(ptrdiff_t)row * rule->value_dim] = at.error;
    }
}

void kref_delta_tokens(const kref_delta_rule *rule, int tokens, const double *queries,
                       const double *keys, const double *values, const double *log_decays,
                       const double *strengths, double *state, double *state_errors,
                       const kref_expected *expected) {
    for (int head = 0; head < rule->heads; head++) {
        ptrdiff_t key_head = head / (rule->heads / rule->key_heads);
        token first = {
            .query = queries + key_head * rule->key_dim,
            .key = keys + key_head * rule->key_dim,
            .values = values + (ptrdiff_t)head * rule->value_dim,
            .log_decays = log_decays +
                          (ptrdiff_t)head * (rule->has_channel_decays ? rule->key_dim : 1),
            .strength = strengths + head,
        };
        ptrdiff_t at = (ptrdiff_t)head * rule->key_dim * rule->value_dim;
        for (int column = 0; column < rule->value_dim; column++) {
            run_column(rule, tokens, head, column, &first, state + at + column,
                       state_errors + at + column, expected);
        }
    }
}
