/* sluice estimate draft: a round of speculative decoding, one or the mean of many. */
#include "cli/command.h"
#include "cli/estimators.h"
#include "cli/numbers.h"
#include "cli/options.h"
#include "model/draft.h"
#include "out/json.h"

#include <stdio.h>

enum {
    OPTION_BLOCK,
    OPTION_ACCEPTED,
    OPTION_CHANCE,
    OPTION_SURVIVAL,
    OPTION_DRAFT,
    OPTION_VERIFY,
    OPTION_STEP,
    OPTION_SERIAL,
    OPTION_JSON,
    OPTION_COUNT
};

/* What is asked, and what follows from it. */
typedef struct answer {
    int64_t block;
    int64_t accepted; /* -1 = on average */
    double chance;    /* of each candidate; -1 = not one for all */
    double survival[SLI_DRAFT_TOKENS_MAX];
    double draft_ns;  /* of a pass of the draft; these three are -1 when not told */
    double verify_ns; /* of the step of the target that checks a block */
    double step_ns;   /* of one that makes a token without any draft */
    bool is_serial;   /* a pass makes one candidate and not all */
    double tokens;    /* that a round brings */
    double round_ns;  /* -1 = unknown, as the next two */
    double token_ns;
    double speedup;
} answer;

/* ---- Reading ---- */

enum { TIME_MAX_NS = 1000000000 };

static bool read_time(const char *option, const char *text, double *target) {
    const sli_estimator_need need = {
        .option = option,
        .need = "a time up to 1 s, as '20 ms'",
        .dim = SL_DIM_TIME,
        .low = 0.0,
        .high = TIME_MAX_NS,
    };
    return sli_estimator_read_real(&need, text, target);
}

static bool read_times(const sli_option *options, answer *a) {
    return read_time("estimate draft: --draft-time", sli_option_value(&options[OPTION_DRAFT]),
                     &a->draft_ns) &&
           read_time("estimate draft: --verify-time", sli_option_value(&options[OPTION_VERIFY]),
                     &a->verify_ns) &&
           read_time("estimate draft: --step-time", sli_option_value(&options[OPTION_STEP]),
                     &a->step_ns);
}

static bool read_block(const sli_option *options, answer *a) {
    static const sli_estimator_need need = {
        .option = "estimate draft: --block",
        .need = "a number of candidates from 1 to 256",
        .low = 1.0,
        .high = SLI_DRAFT_TOKENS_MAX,
    };
    if (options[OPTION_BLOCK].count == 0 && options[OPTION_SURVIVAL].count == 0) {
        fprintf(stderr, "sluice %s needs %s\n", need.option, need.need);
        return false;
    }
    return sli_estimator_read_int(&need, sli_option_value(&options[OPTION_BLOCK]), &a->block);
}

static bool read_accepted(const sli_option *options, answer *a) {
    const sli_estimator_need need = {
        .option = "estimate draft: --accepted",
        .need = "a number of candidates, at most all of the block",
        .low = 0.0,
        .high = (double)a->block,
    };
    return sli_estimator_read_int(&need, sli_option_value(&options[OPTION_ACCEPTED]), &a->accepted);
}

static bool read_chance(const sli_option *options, answer *a) {
    static const sli_estimator_need need = {
        .option = "estimate draft: --acceptance",
        .need = "a chance from 0 to 1, as 0.8",
        .low = 0.0,
        .high = 1.0,
    };
    const char *text = sli_option_value(&options[OPTION_CHANCE]);
    if (!sli_estimator_read_real(&need, text, &a->chance)) {
        return false;
    }
    if (text != NULL) {
        sli_draft_survival(a->chance, a->survival, (size_t)a->block);
    }
    return true;
}

/* One chance for each candidate; none can be above that of the one before. */
static bool read_survival(const sli_option *options, answer *a) {
    static const sli_estimator_need need = {
        .option = "estimate draft: --survival",
        .need = "falling chances from 1 to 0, one for each candidate, as 0.9,0.7,0.5",
        .low = 0.0,
        .high = 1.0,
    };
    const char *text = sli_option_value(&options[OPTION_SURVIVAL]);
    size_t count = (size_t)a->block;
    if (text == NULL) {
        return true;
    }
    if (!sli_estimator_read_list(&need, text, a->survival, SLI_DRAFT_TOKENS_MAX, &count)) {
        return false;
    }
    bool is_falling = a->block == 0 || a->block == (int64_t)count;
    for (size_t i = 1; i < count; i++) {
        is_falling = is_falling && a->survival[i] <= a->survival[i - 1];
    }
    if (!is_falling) {
        fprintf(stderr, "sluice %s needs %s; found '%s'\n", need.option, need.need, text);
        return false;
    }
    a->block = (int64_t)count;
    return true;
}

static bool read_question(const sli_option *options, answer *a) {
    *a = (answer){
        .accepted = -1, .chance = -1.0, .draft_ns = -1.0, .verify_ns = -1.0, .step_ns = -1.0};
    a->is_serial = options[OPTION_SERIAL].count > 0;
    size_t told = options[OPTION_ACCEPTED].count + options[OPTION_CHANCE].count +
                  options[OPTION_SURVIVAL].count;
    if (told != 1) {
        fputs("sluice estimate draft: one of --accepted, --acceptance and --survival is needed\n",
              stderr);
        return false;
    }
    return read_block(options, a) && read_accepted(options, a) && read_chance(options, a) &&
           read_survival(options, a) && read_times(options, a);
}

/* ---- Answering ---- */

static void find(answer *a) {
    a->tokens = a->accepted >= 0 ? (double)sli_draft_round_of(a->block, a->accepted).tokens
                                 : sli_draft_mean(a->survival, (size_t)a->block);
    bool has_time = a->draft_ns >= 0.0 && a->verify_ns >= 0.0;
    double passes = a->is_serial ? (double)a->block : 1.0;
    a->round_ns = has_time ? passes * a->draft_ns + a->verify_ns : -1.0;
    a->token_ns = has_time ? a->round_ns / a->tokens : -1.0;
    a->speedup = a->token_ns > 0.0 && a->step_ns >= 0.0 ? a->step_ns / a->token_ns : -1.0;
}

enum { LABEL_COLUMNS = 40 };

static void print_count(const char *label, int64_t count) {
    printf("  %-*s%8s\n", LABEL_COLUMNS, label, sli_say_count(count).text);
}

static void print_round(const answer *a) {
    sli_draft_round found = sli_draft_round_of(a->block, a->accepted);
    print_count("positions that the target computes", found.verified);
    print_count("candidates accepted", found.accepted);
    print_count("replaced by the target's own", found.replaced);
    print_count("dropped behind it", found.dropped);
    print_count("tokens that come out", found.tokens);
    print_count("slots of the cache that stay", found.kept);
    print_count("slots given back", found.given_up);
}

static void print_mean(const answer *a) {
    print_count("positions that the target computes", a->block + 1);
    printf("  %-*s%8.4g\n", LABEL_COLUMNS, "tokens that come out, on average", a->tokens);
    printf("  %-*s%8.4g\n", LABEL_COLUMNS, "slots given back, on average",
           (double)a->block + 1.0 - a->tokens);
}

static void print_text(const answer *a) {
    printf("a block of %s candidate%s\n\n", sli_say_count(a->block).text, a->block == 1 ? "" : "s");
    if (a->accepted >= 0) {
        print_round(a);
    } else {
        print_mean(a);
    }
    if (a->round_ns >= 0.0) {
        printf("  %-*s%8s\n", LABEL_COLUMNS, "a round takes", sli_say_time(a->round_ns).text);
        printf("  %-*s%8s\n", LABEL_COLUMNS, "a token takes", sli_say_time(a->token_ns).text);
    }
    if (a->speedup >= 0.0) {
        printf("  %-*s%8.4g\n", LABEL_COLUMNS, "times as fast as without a draft", a->speedup);
    }
}

static void put_known(sli_json *json, const char *key, double value) {
    if (value >= 0.0) {
        sli_json_real(json, key, value);
    } else {
        sli_json_null(json, key);
    }
}

static sl_err print_json(const answer *a) {
    sli_json json;
    sli_json_init(&json, stdout);
    sli_json_open_object(&json, NULL);
    sli_json_int(&json, "block", a->block);
    sli_json_int(&json, "verified", a->block + 1);
    if (a->accepted >= 0) {
        sli_draft_round found = sli_draft_round_of(a->block, a->accepted);
        sli_json_int(&json, "accepted", found.accepted);
        sli_json_int(&json, "replaced", found.replaced);
        sli_json_int(&json, "dropped", found.dropped);
    }
    put_known(&json, "acceptance", a->chance);
    sli_json_real(&json, "tokens", a->tokens);
    sli_json_real(&json, "slots_kept", a->tokens);
    sli_json_real(&json, "slots_given_back", (double)a->block + 1.0 - a->tokens);
    put_known(&json, "round_ns", a->round_ns);
    put_known(&json, "token_ns", a->token_ns);
    put_known(&json, "speedup", a->speedup);
    sli_json_close_object(&json);
    return sli_json_finish(&json);
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_BLOCK] = {.name = "--block", .has_value = true},
        [OPTION_ACCEPTED] = {.name = "--accepted", .has_value = true},
        [OPTION_CHANCE] = {.name = "--acceptance", .has_value = true},
        [OPTION_SURVIVAL] = {.name = "--survival", .has_value = true},
        [OPTION_DRAFT] = {.name = "--draft-time", .has_value = true},
        [OPTION_VERIFY] = {.name = "--verify-time", .has_value = true},
        [OPTION_STEP] = {.name = "--step-time", .has_value = true},
        [OPTION_SERIAL] = {.name = "--serial"},
        [OPTION_JSON] = {.name = "--json"},
    };
    int rest;
    if (!sli_options_read("estimate draft", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (rest > 0) {
        fprintf(stderr, "sluice estimate draft: it takes options only; found '%s'\n", argv[0]);
        return sli_exit_code(SL_ERR_USAGE);
    }
    answer a;
    if (!read_question(options, &a)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    find(&a);
    if (options[OPTION_JSON].count > 0) {
        return sli_exit_code(print_json(&a));
    }
    print_text(&a);
    return 0;
}

const sli_estimator sli_estimator_draft = {.name = "draft", .run = run};
