#include "cost/fixed.h"

#include "base/check.h"

__extension__ typedef __int128 wide;

static const sl_param fixed_params[] = {
    {.name = "step",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 1e15,
     .fallback = "0 ns",
     .help = "time of any step",
     .offset = offsetof(sli_fixed_config, step_ns)},
    {.name = "token",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 1e15,
     .fallback = "0 ns",
     .help = "time added by each token of the step",
     .offset = offsetof(sli_fixed_config, token_ns)},
    {.name = "sequence",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 1e15,
     .fallback = "0 ns",
     .help = "time added by each sequence of the step",
     .offset = offsetof(sli_fixed_config, sequence_ns)},
};

static const sl_param row_params[] = {
    {.name = "tokens",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 0,
     .max = 1e12,
     .help = "tokens of the step",
     .offset = offsetof(sli_fixed_row, tokens)},
    {.name = "time",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 0,
     .max = 1e15,
     .help = "time added by a step of so many tokens",
     .offset = offsetof(sli_fixed_row, time_ns)},
};

static const sli_section row_section = {
    .params = row_params,
    .param_count = sizeof row_params / sizeof row_params[0],
    .struct_size = sizeof(sli_fixed_row),
};

static const sli_field fixed_fields[] = {
    {.name = "table",
     .kind = SLI_FIELD_TABLE,
     .help = "time by tokens of the step, linear between the rows",
     .offset = offsetof(sli_fixed_config, table),
     .section = &row_section,
     .fallback = "[]",
     .min_rows = 0,
     .max_rows = 100000},
};

const sli_section sli_fixed_section = {
    .params = fixed_params,
    .param_count = sizeof fixed_params / sizeof fixed_params[0],
    .fields = fixed_fields,
    .field_count = sizeof fixed_fields / sizeof fixed_fields[0],
    .struct_size = sizeof(sli_fixed_config),
};

/* numerator / denominator to nearest, ties to even; denominator > 0. */
static wide divide_rounded(wide numerator, wide denominator) {
    wide quotient = numerator / denominator;
    wide remainder = numerator % denominator;
    if (remainder < 0) {
        quotient -= 1;
        remainder += denominator;
    }
    wide twice = 2 * remainder;
    bool is_up = twice > denominator || (twice == denominator && quotient % 2 != 0);
    return quotient + (is_up ? 1 : 0);
}

/* The index of the first of the two rows whose line `tokens` is read from; at least two rows. */
static size_t find_segment(const sli_fixed_row *rows, size_t count, int64_t tokens) {
    size_t low = 0;
    size_t high = count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].tokens <= tokens) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static wide table_ns(const sli_table *table, int64_t tokens) {
    const sli_fixed_row *rows = table->rows;
    if (table->count == 0) {
        return 0;
    }
    if (table->count == 1 || tokens <= rows[0].tokens) {
        return rows[0].time_ns;
    }
    const sli_fixed_row *from = &rows[find_segment(rows, table->count, tokens)];
    const sli_fixed_row *to = from + 1;
    wide rise = (wide)(to->time_ns - from->time_ns) * (tokens - from->tokens);
    return from->time_ns + divide_rounded(rise, to->tokens - from->tokens);
}

static void fixed_step(void *self, const sl_batch_shape *shape, sl_step_cost *cost) {
    const sli_fixed_config *config = self;
    wide total = table_ns(&config->table, shape->tokens) + config->step_ns +
                 (wide)config->token_ns * shape->tokens +
                 (wide)config->sequence_ns * shape->sequences;
    if (total < 1) {
        total = 1;
    } else if (total > INT64_MAX) {
        total = INT64_MAX;
    }
    *cost = (sl_step_cost){.total_ns = (int64_t)total};
    cost->cause_ns[SL_CAUSE_ENGINE] = (double)cost->total_ns;
}

sl_err sli_fixed_check(const sli_fixed_config *config, sli_mark mark, const char *key,
                       sli_diag *diag) {
    const sli_fixed_row *rows = config->table.rows;
    for (size_t i = 1; i < config->table.count; i++) {
        if (rows[i].tokens <= rows[i - 1].tokens) {
            sli_diag_error(diag, mark, key,
                           "tokens must increase from row to row of the table, but row %zu has "
                           "%lld after %lld",
                           i + 1, (long long)rows[i].tokens, (long long)rows[i - 1].tokens);
            return SL_ERR_CONFIG;
        }
    }
    return SL_OK;
}

sl_cost_model sli_fixed_model(const sli_fixed_config *config) {
    static const sl_cost_ops ops = {.step = fixed_step};
    SL_ASSERT(config != NULL);
    return (sl_cost_model){.ops = &ops, .self = (void *)config}; /* only read */
}
