/*
 * Parameters as they are advertised, against those that we count.
 *
 * A published figure is explained when ours, rounded to as many digits as the file writes, is it.
 * Every other one stands here with what it counts more or less, and its model file has a
 * `published_difference` that says so to the user. We count the text backbone with embedding and
 * head; as active what a token is multiplied with, so the head and not the embedding. The study
 * that the catalogue was checked against says of the rest: vision towers, layers of multi-token
 * prediction, rounding.
 */
#include "base/embedded.h"
#include "model/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const double BILLION = 1e9;

/* Which of the figures. */
typedef enum count { TOTAL, ACTIVE } count;

static const char *const keys[] = {"published_params", "published_active_params"};

/* What the makers count beside what we do: parts that we know, one more of them or one less, and
 * the rest in billions, as text with as many digits as are certain; NULL = none, but for rounding.
 */
typedef struct difference {
    const char *id;
    count of;
    int embedding;
    int head;
    int mtp;
    const char *rest;
} difference;

/* clang-format off */
static const difference differences[] = {
    {"bloom-176b", TOTAL, 0, 0, 0, "0.016"},          /* norms and biases */
    {"deepseek-v3.2", TOTAL, 0, 0, 0, "-0.9"},         /* that of V3, without the index */
    {"falcon-180b", TOTAL, 0, 0, 0, "1.4"},            /* round */
    {"gemma-4-26b-a4b", TOTAL, 0, 0, 0, "0.8"},        /* vision */
    {"gemma-4-e2b", TOTAL, 0, 0, 0, "0.5"},            /* vision and audio */
    {"gemma-4-e4b", TOTAL, 0, 0, 0, "0.6"},            /* vision and audio */
    {"gemma-4-e4b", ACTIVE, 0, 0, 0, "-0.1"},          /* not published */
    {"glm-4.5", TOTAL, -1, -1, 1, NULL},
    {"glm-4.5", ACTIVE, 0, -1, 0, NULL},
    {"glm-5", ACTIVE, 0, -1, 0, NULL},
    {"glm-5.2", ACTIVE, 0, -1, 0, NULL},
    {"kimi-linear-48b-a3b", TOTAL, -1, -1, 0, NULL},
    {"llama-3.1-405b", TOTAL, 0, 0, 0, "-0.8"},        /* cut */
    {"llama-4-maverick", TOTAL, 0, 0, 0, "-0.7"},      /* round */
    {"llama-4-maverick", ACTIVE, 1, 0, 0, NULL},
    {"llama-4-scout", TOTAL, 0, 0, 0, "1.2"},          /* vision */
    {"llama-4-scout", ACTIVE, 1, 0, 0, NULL},
    {"minimax-m1", ACTIVE, 0, -1, 0, NULL},
    {"minimax-m2", TOTAL, 0, 0, 0, "1.3"},             /* round */
    {"minimax-m3", TOTAL, 0, 0, 0, "0.8"},             /* not known */
    {"minimax-m3", ACTIVE, 1, 0, 0, NULL},
    {"mixtral-8x7b", ACTIVE, 1, 0, 0, NULL},
    {"nemotron-3-nano-30b-a3b", TOTAL, 0, 0, 0, "-1.6"}, /* cut to tens */
    {"opt-6.7b", TOTAL, 0, 0, 0, "0.05"},              /* positions and biases */
    {"qwen3-30b-a3b", ACTIVE, 1, 0, 0, "-0.05"},       /* cut */
    {"qwen3-next-80b-a3b", ACTIVE, 0, -1, 0, NULL},
    {"qwen3.5-122b-a10b", ACTIVE, 1, 0, 0, NULL},
    {"qwen3.5-397b-a17b", TOTAL, 0, 0, 0, "0.7"},      /* vision */
    {"qwen3.5-397b-a17b", ACTIVE, 1, 0, 0, NULL},
    {"qwen3.5-4b", TOTAL, 0, 0, 1, "0.4"},             /* vision */
    {"qwen3.5-9b", TOTAL, 0, 0, 1, "0.49"},            /* vision, projection into the MTP layer */
    {"rwkv-7-1.5b", TOTAL, 0, 0, 0, "0.03"},           /* vectors, ranks */
    {"rwkv-7-2.9b", TOTAL, 0, 0, 0, "0.05"},           /* vectors, ranks */
    {"rwkv-7-7.2b", TOTAL, 0, 0, 0, "0.1"},            /* vectors, ranks */
};
/* clang-format on */

/* ---- One figure ---- */

/* As the file writes it, so that its last digit is known: "9.653e9"; NULL = not published. */
static const char *written(const sli_embedded *file, count of) {
    char mark[32];
    snprintf(mark, sizeof mark, "\n%s: ", keys[of]);
    const char *found = strstr(file->text, mark);
    return found != NULL ? found + strlen(mark) : NULL;
}

/* One of the last digit of "9.653e9": 1e6. */
static double last_digit(const char *text) {
    const char *exponent = strchr(text, 'e');
    const char *point = memchr(text, '.', (size_t)(exponent - text));
    int decimals = point != NULL ? (int)(exponent - point - 1) : 0;
    return pow(10.0, atoi(exponent + 1) - decimals);
}

static double count_of(const sli_architecture *model, count of) {
    return (double)(of == TOTAL ? sli_params_total(model) : sli_params_matmul(model));
}

static double head_params(const sli_architecture *model) {
    return model->has_tied_embeddings ? 0.0 : (double)(model->hidden * model->vocab_tokens);
}

static double count_as_makers_do(const sli_architecture *model, const difference *row) {
    double embedding = (double)(model->hidden * model->vocab_tokens);
    return count_of(model, row->of) + row->embedding * embedding + row->head * head_params(model) +
           row->mtp * (double)sli_params_mtp(model);
}

static bool is_rounded_to(double value, const char *text) {
    return fabs(strtod(text, NULL) - value) <= 0.5 * last_digit(text);
}

/* As many digits as the text has. */
static bool is_rest(double billions, const char *text) {
    const char *point = strchr(text, '.');
    char found[32];
    snprintf(found, sizeof found, "%.*f", (int)strlen(point + 1), billions);
    return strcmp(found, text) == 0;
}

static const difference *find_difference(const char *id, count of) {
    for (size_t i = 0; i < COUNT_OF(differences); i++) {
        if (strcmp(differences[i].id, id) == 0 && differences[i].of == of) {
            return &differences[i];
        }
    }
    return NULL;
}

static void is_explained(const sli_architecture *model, const char *text, const difference *row) {
    double counted = count_as_makers_do(model, row);
    double rest = (strtod(text, NULL) - counted) / BILLION;
    bool is_right = row->rest != NULL ? is_rest(rest, row->rest) : is_rounded_to(counted, text);
    if (!is_right) {
        fail_msg("%s, %s: %.4f billion more than counted", model->id, keys[row->of], rest);
    }
}

/* ---- All of them ---- */

static sli_arena arena;
static sli_diag diag;

static int release(void **state) {
    (void)state;
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
    return 0;
}

static const sli_architecture *read_model(const char *id) {
    const sli_architecture *model = NULL;
    sl_err err = sli_architecture_read(&arena, id, (sli_catalogue_site){0}, &diag, &model);
    assert_int_equal(err, SL_OK);
    return model;
}

/* Whether it is more than rounded; it must be in the table then, and only then. */
static bool check_figure(const sli_architecture *model, const char *text, count of) {
    const difference *row = find_difference(model->id, of);
    bool is_rounded = is_rounded_to(count_of(model, of), text);
    if (is_rounded == (row != NULL)) {
        fail_msg("%s, %s: %.4f billion counted", model->id, keys[of],
                 count_of(model, of) / BILLION);
    }
    if (row != NULL) {
        is_explained(model, text, row);
    }
    return !is_rounded;
}

static void published_figures_are_ours_or_say_why_not(void **state) {
    (void)state;
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        const sli_architecture *model = read_model(file->name);
        bool differs = false;
        for (count of = TOTAL; of <= ACTIVE; of++) {
            const char *text = written(file, of);
            double read = of == TOTAL ? model->published_params : model->published_active_params;
            assert_true((text != NULL ? strtod(text, NULL) : 0.0) == read);
            assert_true(text != NULL || of == ACTIVE);
            differs = (text != NULL && check_figure(model, text, of)) || differs;
        }
        if (differs != (strlen(model->published_difference) > 0)) {
            fail_msg("%s: published_difference is '%s'", model->id, model->published_difference);
        }
    }
}

/* The total of V3.2 is V3's. */
static void the_index_is_what_v3_2_has_more(void **state) {
    (void)state;
    double v3_params = (double)sli_params_total(read_model("deepseek-v3"));
    assert_true(is_rounded_to(v3_params, "671e9"));
    assert_true(read_model("deepseek-v3.2")->published_params == 671e9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_figures_are_ours_or_say_why_not),
        cmocka_unit_test(the_index_is_what_v3_2_has_more),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
