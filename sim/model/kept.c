#include "model/kept.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"
#include "base/triangle.h"
#include "model/growth.h"

static bool is_count_or_none(int64_t value) {
    return value >= 1 && (value <= SLI_GROWTH_TOKENS_MAX || value == INT64_MAX);
}

bool sli_kept_is_valid(const sl_kept *kept) {
    bool is_share = kept->share_ppm >= 1 && kept->share_ppm <= SL_WHOLE_PPM;
    if (!is_share || !is_count_or_none(kept->cap_rows) || kept->drop_rows < 0) {
        return false;
    }
    return kept->drop_rows > 0
               ? kept->share_ppm == SL_WHOLE_PPM && kept->drop_rows <= SLI_GROWTH_TOKENS_MAX &&
                     kept->drop_rows <= kept->cap_rows
               : is_count_or_none(kept->row_tokens);
}

/* Who drops keeps all until the cap is passed. */
sl_kept sli_kept_within(const sl_kept *kept, int64_t longest_tokens) {
    sl_kept plain = *kept;
    if (plain.cap_rows > longest_tokens) {
        plain.cap_rows = INT64_MAX;
        plain.row_tokens = plain.drop_rows > 0 ? 1 : plain.row_tokens;
        plain.drop_rows = 0;
    }
    if (plain.drop_rows == 0 && plain.row_tokens > longest_tokens) {
        plain.row_tokens = INT64_MAX;
    }
    return plain;
}

int64_t sli_kept_of_prompt(const sl_kept *kept, int64_t tokens) {
    int64_t share = sli_divide_up(tokens * kept->share_ppm, SL_WHOLE_PPM);
    return sli_min_i64(share, kept->cap_rows);
}

int64_t sli_kept_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t tokens) {
    SL_DCHECK(prompt_tokens >= 1 && tokens >= 0);
    if (tokens < prompt_tokens) {
        return kept->is_rolling ? sli_kept_of_prompt(kept, tokens) : tokens;
    }
    if (kept->drop_rows > 0) {
        return sli_min_i64(tokens, kept->cap_rows);
    }
    return sli_kept_of_prompt(kept, prompt_tokens) + (tokens - prompt_tokens) / kept->row_tokens;
}

int64_t sli_kept_step_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t tokens,
                            int64_t end_tokens) {
    SL_DCHECK(tokens <= end_tokens);
    bool keeps_all = tokens < prompt_tokens && !kept->is_rolling;
    return keeps_all ? end_tokens : sli_kept_slots(kept, prompt_tokens, end_tokens);
}

int64_t sli_kept_most_slots(const sl_kept *kept, int64_t prompt_tokens, int64_t tokens) {
    int64_t whole_tokens = kept->is_rolling ? 0 : sli_min_i64(prompt_tokens, tokens);
    return sli_max_i64(whole_tokens, sli_kept_slots(kept, prompt_tokens, tokens));
}

int64_t sli_kept_seen(const sl_kept *kept, int64_t prompt_tokens, int64_t position) {
    SL_DCHECK(position >= 1);
    if (position <= prompt_tokens && !kept->is_rolling) {
        return position;
    }
    if (kept->drop_rows > 0 && position > kept->cap_rows) {
        int64_t more_tokens = position - kept->cap_rows - 1;
        return kept->cap_rows - kept->drop_rows + 1 + more_tokens % kept->drop_rows;
    }
    return sli_kept_slots(kept, prompt_tokens, position);
}

/* ---- Sums ---- */

/* The sum of floor((a i + b) / m) over i = 0 .. n - 1. As Euclid's algorithm: whole parts of a / m
 * and b / m are summed at once, what is left is counted by the other coordinate, where m and a
 * change places (Graham, Knuth and Patashnik, Concrete Mathematics, 2nd ed., 3.5). */
static int64_t sum_floors(int64_t n, int64_t m, int64_t a, int64_t b) {
    int64_t sum = 0;
    while (n > 0) {
        sum += sli_triangle(n - 1) * (a / m) + n * (b / m);
        a %= m;
        b %= m;
        int64_t top = a * n + b;
        n = top / m;
        b = top % m;
        int64_t old_m = m;
        m = a;
        a = old_m;
    }
    return sum;
}

/* S(1) + ... + S(n). */
static int64_t sum_of_prompt(const sl_kept *kept, int64_t n) {
    bool reaches_cap = sli_kept_of_prompt(kept, n) == kept->cap_rows;
    int64_t bend = reaches_cap ? sli_min_i64(n, kept->cap_rows * SL_WHOLE_PPM / kept->share_ppm)
                               : n;
    int64_t below = sum_floors(bend + 1, SL_WHOLE_PPM, kept->share_ppm, SL_WHOLE_PPM - 1);
    return reaches_cap ? below + (n - bend) * kept->cap_rows : below;
}

/* Of a rule that drops, over positions 1 .. n. */
static int64_t sum_dropping(const sl_kept *kept, int64_t n) {
    int64_t cap = kept->cap_rows;
    int64_t drop = kept->drop_rows;
    if (n <= cap) {
        return sli_triangle(n);
    }
    int64_t rounds = (n - cap) / drop;
    int64_t rest = (n - cap) % drop;
    return sli_triangle(cap) + (n - cap) * (cap - drop) + rounds * sli_triangle(drop) +
           sli_triangle(rest);
}

/* Over the first n positions of the prompt. */
static int64_t sum_within(const sl_kept *kept, int64_t n) {
    if (!kept->is_rolling) {
        return sli_triangle(n);
    }
    return kept->drop_rows > 0 ? sum_dropping(kept, n) : sum_of_prompt(kept, n);
}

/* Over the first n positions behind the prompt. */
static int64_t sum_behind(const sl_kept *kept, int64_t prompt_tokens, int64_t n) {
    if (kept->drop_rows > 0) {
        return sum_dropping(kept, prompt_tokens + n) - sum_dropping(kept, prompt_tokens);
    }
    int64_t rounds = n / kept->row_tokens;
    int64_t rest = n % kept->row_tokens + 1;
    int64_t added = rounds > 0 ? kept->row_tokens * sli_triangle(rounds - 1) + rest * rounds : 0;
    return n * sli_kept_of_prompt(kept, prompt_tokens) + added;
}

/* Over positions 1 .. n. */
static int64_t sum_to(const sl_kept *kept, int64_t prompt_tokens, int64_t n) {
    int64_t within = sli_min_i64(n, prompt_tokens);
    return sum_within(kept, within) + sum_behind(kept, prompt_tokens, n - within);
}

int64_t sli_kept_pairs(const sl_kept *kept, int64_t prompt_tokens, int64_t prefix_tokens,
                       int64_t added_tokens) {
    SL_DCHECK(prefix_tokens >= 0 && added_tokens >= 0);
    return sum_to(kept, prompt_tokens, prefix_tokens + added_tokens) -
           sum_to(kept, prompt_tokens, prefix_tokens);
}
