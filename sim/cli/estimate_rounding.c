/* sluice estimate rounding: a number in few bits, how far off it is, and what they weigh. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/estimators.h"
#include "cli/numbers.h"
#include "cli/options.h"
#include "model/rounding.h"
#include "out/json.h"

#include <math.h>
#include <stdio.h>

enum { OPTION_BITS, OPTION_RANGE, OPTION_JSON, OPTION_COUNT };

enum { PLAIN_BITS = 16 }; /* what the others are compared with */

typedef struct question {
    double number;
    double range[2];
    double bits[SLI_ROUNDING_BITS_MAX];
    size_t count;
} question;

static sli_rounding answer(const question *asked, size_t i) {
    return sli_rounding_uniform(asked->number, asked->range[0], asked->range[1],
                                (int)asked->bits[i]);
}

static bool read_range(const char *text, double range[2]) {
    static const sli_estimator_need need = {
        .option = "estimate rounding: --range",
        .need = "two numbers, the lower one first, as 0,1",
        .low = -1e300,
        .high = 1e300,
    };
    size_t count = 2;
    if (!sli_estimator_read_list(&need, text, range, 2, &count)) {
        return false;
    }
    if (count == 2 && range[0] < range[1]) {
        return true;
    }
    fprintf(stderr, "sluice %s needs %s; found '%s'\n", need.option, need.need, text);
    return false;
}

static bool read_bits(const char *text, question *asked) {
    static const sli_estimator_need need = {
        .option = "estimate rounding: --bits",
        .need = "whole numbers from 1 to 16, as 8,4,2",
        .low = 1.0,
        .high = SLI_ROUNDING_BITS_MAX,
    };
    if (!sli_estimator_read_list(&need, text, asked->bits, SLI_ROUNDING_BITS_MAX, &asked->count)) {
        return false;
    }
    for (size_t i = 0; i < asked->count; i++) {
        if (asked->bits[i] != floor(asked->bits[i])) {
            fprintf(stderr, "sluice %s needs %s; found '%s'\n", need.option, need.need, text);
            return false;
        }
    }
    return true;
}

static bool read_question(const sli_option *options, int rest, char **argv, question *asked) {
    static const sli_estimator_need need = {
        .option = "estimate rounding:",
        .need = "a number to be rounded, as 0.7",
        .low = -1e300,
        .high = 1e300,
    };
    if (rest != 1) {
        fprintf(stderr, "sluice %s needs %s, and no more\n", need.option, need.need);
        return false;
    }
    *asked = (question){.range = {0.0, 1.0}, .bits = {16, 8, 4, 2}, .count = 4};
    return sli_estimator_read_real(&need, argv[0], &asked->number) &&
           read_range(sli_option_value(&options[OPTION_RANGE]), asked->range) &&
           read_bits(sli_option_value(&options[OPTION_BITS]), asked);
}

static void print_text(const question *asked) {
    printf("%s, stored uniformly between %s and %s\n\n", sli_say_number(asked->number).text,
           sli_say_number(asked->range[0]).text, sli_say_number(asked->range[1]).text);
    printf("  %4s%10s%10s%14s%14s%14s%16s\n", "bits", "levels", "nearest", "read back", "error",
           "half a step", "size of 16 bits");
    for (size_t i = 0; i < asked->count; i++) {
        sli_rounding found = answer(asked, i);
        printf("  %4.0f%10s%10s%14.6g%14.4g%14.4g%14.4g %%\n", asked->bits[i],
               sli_say_count(found.levels).text, sli_say_count(found.level).text, found.value,
               found.error, found.scale / 2.0, 100.0 * asked->bits[i] / PLAIN_BITS);
    }
}

static sl_err print_json(const question *asked) {
    sli_json json;
    sli_json_init(&json, stdout);
    sli_json_open_object(&json, NULL);
    sli_json_real(&json, "number", asked->number);
    sli_json_real(&json, "low", asked->range[0]);
    sli_json_real(&json, "high", asked->range[1]);
    sli_json_open_array(&json, "roundings");
    for (size_t i = 0; i < asked->count; i++) {
        sli_rounding found = answer(asked, i);
        sli_json_open_object(&json, NULL);
        sli_json_int(&json, "bits", (int64_t)asked->bits[i]);
        sli_json_int(&json, "levels", found.levels);
        sli_json_int(&json, "level", found.level);
        sli_json_real(&json, "value", found.value);
        sli_json_real(&json, "error", found.error);
        sli_json_real(&json, "scale", found.scale);
        sli_json_real(&json, "size_frac", asked->bits[i] / PLAIN_BITS);
        sli_json_close_object(&json);
    }
    sli_json_close_array(&json);
    sli_json_close_object(&json);
    return sli_json_finish(&json);
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_BITS] = {.name = "--bits", .has_value = true},
        [OPTION_RANGE] = {.name = "--range", .has_value = true},
        [OPTION_JSON] = {.name = "--json"},
    };
    int rest;
    question asked;
    if (!sli_options_read("estimate rounding", argc, argv, options, &rest) ||
        !read_question(options, rest, argv, &asked)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (options[OPTION_JSON].count > 0) {
        return sli_exit_code(print_json(&asked));
    }
    print_text(&asked);
    return 0;
}

const sli_estimator sli_estimator_rounding = {.name = "rounding", .run = run};
