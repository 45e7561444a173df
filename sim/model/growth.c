#include "model/growth.h"

#include "base/check.h"
#include "base/triangle.h"

sli_growth sli_growth_constant(int64_t rows) {
    return (sli_growth){.kind = SLI_GROWTH_CONSTANT, .step_tokens = 1, .cap_rows = rows};
}

sli_growth sli_growth_linear(void) {
    return sli_growth_capped_steps(1, INT64_MAX);
}

sli_growth sli_growth_capped(int64_t cap_rows) {
    return sli_growth_capped_steps(1, cap_rows);
}

sli_growth sli_growth_steps(int64_t step_tokens) {
    return sli_growth_capped_steps(step_tokens, INT64_MAX);
}

sli_growth sli_growth_capped_steps(int64_t step_tokens, int64_t cap_rows) {
    SL_ASSERT(step_tokens >= 1);
    return (sli_growth){.kind = SLI_GROWTH_STEPS, .step_tokens = step_tokens, .cap_rows = cap_rows};
}

sli_growth sli_growth_sawtooth(int64_t chunk_tokens) {
    SL_ASSERT(chunk_tokens >= 1);
    return (sli_growth){
        .kind = SLI_GROWTH_SAWTOOTH, .step_tokens = chunk_tokens, .cap_rows = INT64_MAX};
}

/* The cap is that of what a chunk of the prompt looks back at. */
sli_growth sli_growth_kept(const sl_kept *kept) {
    return (sli_growth){
        .kind = SLI_GROWTH_KEPT,
        .step_tokens = 1,
        .cap_rows = kept->is_rolling ? kept->cap_rows : INT64_MAX,
        .kept = kept,
    };
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int64_t sli_growth_at(const sli_growth *growth, int64_t tokens) {
    SL_DCHECK(tokens >= 0 && tokens <= SLI_GROWTH_TOKENS_MAX);
    switch (growth->kind) {
    case SLI_GROWTH_CONSTANT:
        return growth->cap_rows;
    case SLI_GROWTH_STEPS:
        return least(tokens / growth->step_tokens, growth->cap_rows);
    case SLI_GROWTH_SAWTOOTH:
        return tokens == 0 ? 0 : (tokens - 1) % growth->step_tokens + 1;
    case SLI_GROWTH_KEPT:
        SL_ASSERT(false);
    }
    return 0; /* no other kind */
}

int64_t sli_growth_last(const sli_growth *growth, int64_t tokens) {
    if (growth->kind != SLI_GROWTH_KEPT) {
        return sli_growth_at(growth, tokens);
    }
    int64_t prompt_tokens = tokens > 1 ? tokens - 1 : 1;
    return tokens > 0 ? sli_kept_seen(growth->kept, prompt_tokens, tokens) : 0;
}

/* The sum of floor(t / step) over 0 .. tokens. */
static int64_t sum_steps(int64_t tokens, int64_t step) {
    int64_t full = (tokens + 1) / step; /* the values 0 .. full - 1 occur `step` times each */
    int64_t rest = (tokens + 1) % step; /* and the value `full` so often */
    return step * sli_triangle(full - 1) + rest * full;
}

/* The sum over 1 .. tokens. */
static int64_t sum_to(const sli_growth *growth, int64_t tokens) {
    int64_t step = growth->step_tokens;
    switch (growth->kind) {
    case SLI_GROWTH_CONSTANT:
        return tokens * growth->cap_rows;
    case SLI_GROWTH_STEPS: {
        /* Below the cap up to bend, at the cap behind it. */
        bool has_bend = growth->cap_rows < tokens / step;
        int64_t bend = has_bend ? growth->cap_rows * step : tokens;
        return sum_steps(bend, step) + (has_bend ? (tokens - bend) * growth->cap_rows : 0);
    }
    case SLI_GROWTH_SAWTOOTH:
        return tokens / step * sli_triangle(step) + sli_triangle(tokens % step);
    case SLI_GROWTH_KEPT:
        SL_ASSERT(false);
    }
    return 0; /* no other kind */
}

int64_t sli_growth_pairs(const sli_growth *growth, int64_t prefix_tokens, int64_t added_tokens) {
    SL_DCHECK(prefix_tokens >= 0 && added_tokens >= 0);
    SL_DCHECK(prefix_tokens + added_tokens <= SLI_GROWTH_TOKENS_MAX);
    return sum_to(growth, prefix_tokens + added_tokens) - sum_to(growth, prefix_tokens);
}

int64_t sli_growth_request_pairs(const sli_growth *growth, int64_t prompt_tokens,
                                 int64_t prefix_tokens, int64_t added_tokens) {
    return growth->kind == SLI_GROWTH_KEPT
               ? sli_kept_pairs(growth->kept, prompt_tokens, prefix_tokens, added_tokens)
               : sli_growth_pairs(growth, prefix_tokens, added_tokens);
}

double sli_growth_slope(const sli_growth *growth) {
    bool is_chosen = growth->kind == SLI_GROWTH_KEPT && growth->kept->is_rolling;
    bool is_bounded = growth->kind == SLI_GROWTH_CONSTANT || growth->kind == SLI_GROWTH_SAWTOOTH ||
                      growth->cap_rows != INT64_MAX;
    double share = is_chosen ? (double)growth->kept->share_ppm / SL_WHOLE_PPM : 1.0;
    return is_bounded ? 0.0 : share / (double)growth->step_tokens;
}

double sli_growth_slope_behind(const sli_growth *growth) {
    if (growth->kind != SLI_GROWTH_KEPT) {
        return sli_growth_slope(growth);
    }
    bool is_bounded = growth->kept->drop_rows > 0 || growth->kept->row_tokens == INT64_MAX;
    return is_bounded ? 0.0 : 1.0 / (double)growth->kept->row_tokens;
}

bool sli_growth_is_constant(const sli_growth *growth) {
    return growth->kind == SLI_GROWTH_CONSTANT;
}
