#include "model/batch_sums.h"

#include "base/check.h"
#include "base/minmax.h"

static bool is_linear(const sli_growth *growth) {
    return growth->kind == SLI_GROWTH_STEPS && growth->step_tokens == 1 &&
           growth->cap_rows == INT64_MAX;
}

static bool is_equal(const sli_growth *a, const sli_growth *b) {
    return a->kind == b->kind && a->step_tokens == b->step_tokens && a->cap_rows == b->cap_rows &&
           a->kept == b->kept;
}

/* Where it stands in the list; its count if it does not. */
static int find(const sli_growth_list *list, const sli_growth *growth) {
    int i = 0;
    while (i < list->count && !is_equal(&list->rows[i], growth)) {
        i++;
    }
    return i;
}

bool sli_growth_list_add(sli_growth_list *list, const sli_growth *growth) {
    if (sli_growth_is_constant(growth) || is_linear(growth) || find(list, growth) < list->count) {
        return true;
    }
    if (list->count == SL_VISIBLE_MAX) {
        return false;
    }
    list->rows[list->count++] = *growth;
    return true;
}

/* Tokens that the rows of a bounded growth reach back, the last one among them. */
static int64_t span_tokens(const sli_growth *growth) {
    bool is_sawtooth = growth->kind == SLI_GROWTH_SAWTOOTH;
    if (!is_sawtooth && growth->cap_rows > SLI_GROWTH_TOKENS_MAX / growth->step_tokens) {
        return SLI_GROWTH_TOKENS_MAX;
    }
    return is_sawtooth ? growth->step_tokens : growth->cap_rows * growth->step_tokens;
}

/* Tokens a row. */
static int64_t row_tokens(const sli_growth *growth) {
    return growth->kind == SLI_GROWTH_SAWTOOTH ? 1 : growth->step_tokens;
}

static double window_rows(const sli_growth *growth, const sl_batch_shape *shape) {
    int64_t reach_tokens = shape->prefill_tokens + shape->prefills * (span_tokens(growth) - 1);
    return (double)sli_min_i64(shape->prefill_kv_tokens, reach_tokens) / (double)row_tokens(growth);
}

static double chosen_rows(const sli_growth *growth, const sl_batch_shape *shape,
                          int64_t visible_pairs) {
    double kept_rows = (double)shape->prefill_kv_tokens / (double)row_tokens(growth);
    double pairs = (double)visible_pairs;
    return kept_rows < pairs ? kept_rows : pairs;
}

static void add_chunk_sums(const sli_growth_list *list, const sl_batch_shape *shape,
                           double values[SLI_SUM_COUNT]) {
    values[SLI_SUM_CHUNKS] = (double)shape->prefills;
    values[SLI_SUM_CHUNK_TOKENS] = (double)shape->prefill_tokens;
    values[SLI_SUM_CHUNK_PREFIX] = (double)(shape->prefill_kv_tokens - shape->prefill_tokens);
    values[SLI_SUM_CHUNK_KEYS] = (double)shape->prefill_kv_tokens;
    values[SLI_SUM_CHUNK_PAIRS] = (double)shape->prefill_pairs;
    for (int i = 0; i < list->count; i++) {
        int64_t pairs = shape->prefill_visible[i];
        values[SLI_SUM_CHUNK_VISIBLE + i] = (double)pairs;
        values[SLI_SUM_CHUNK_WINDOW + i] = window_rows(&list->rows[i], shape);
        values[SLI_SUM_CHUNK_CHOSEN + i] = chosen_rows(&list->rows[i], shape, pairs);
    }
}

void sli_batch_sums_make(const sli_growth_list *list, const sl_batch_shape *shape,
                         sli_batch_sums *sums) {
    *sums = (sli_batch_sums){0};
    double *values = sums->values;
    values[SLI_SUM_DECODES] = (double)shape->decodes;
    values[SLI_SUM_DECODE_KEYS] = (double)shape->decode_kv_tokens;
    values[SLI_SUM_DECODE_PREFIX] = (double)(shape->decode_kv_tokens - shape->decodes);
    for (int i = 0; i < list->count; i++) {
        values[SLI_SUM_DECODE_VISIBLE + i] = (double)shape->decode_visible[i];
    }
    if (shape->prefills > 0) {
        add_chunk_sums(list, shape, values);
    }
}

/* The term of a growth: so often `once` if it is constant, `linear` if it is that, else its own
 * sum. */
static sli_sum_term find_term(const sli_growth_list *list, const sli_growth *growth,
                              sli_batch_sum once, sli_batch_sum linear, sli_batch_sum own) {
    if (sli_growth_is_constant(growth)) {
        return (sli_sum_term){once, (double)growth->cap_rows};
    }
    if (is_linear(growth)) {
        return (sli_sum_term){linear, 1.0};
    }
    int index = find(list, growth);
    SL_ASSERT(index < list->count);
    return (sli_sum_term){(sli_batch_sum)((int)own + index), 1.0};
}

sli_sum_term sli_sum_of_decodes(const sli_growth_list *list, const sli_growth *growth) {
    return find_term(list, growth, SLI_SUM_DECODES, SLI_SUM_DECODE_KEYS, SLI_SUM_DECODE_VISIBLE);
}

sli_sum_term sli_sum_of_pairs(const sli_growth_list *list, const sli_growth *growth) {
    return find_term(list, growth, SLI_SUM_CHUNK_TOKENS, SLI_SUM_CHUNK_PAIRS,
                     SLI_SUM_CHUNK_VISIBLE);
}

sli_sum_term sli_sum_of_chunk_rows(const sli_growth_list *list, const sli_growth *read,
                                   const sli_growth *kept) {
    double slope = sli_growth_slope(read);
    if (slope > 0.0) {
        return (sli_sum_term){SLI_SUM_CHUNK_KEYS, slope};
    }
    bool is_chosen = sli_growth_slope(kept) > 0.0;
    return find_term(list, read, SLI_SUM_CHUNKS, SLI_SUM_CHUNK_KEYS,
                     is_chosen ? SLI_SUM_CHUNK_CHOSEN : SLI_SUM_CHUNK_WINDOW);
}

void sli_linear_add(sli_linear_count *count, sli_sum_term term, double each) {
    double factor = term.factor * each;
    int i = 0;
    if (factor <= 0.0) {
        return;
    }
    while (i < count->term_count && count->terms[i].sum != term.sum) {
        i++;
    }
    if (i == count->term_count) {
        SL_ASSERT(count->term_count < SLI_TERM_MAX);
        count->terms[count->term_count++] = (sli_sum_term){term.sum, 0.0};
    }
    count->terms[i].factor += factor;
}
