#include "config/value.h"

#include "base/units.h"
#include "config/absolute.h"
#include "config/schema.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* How messages speak of a dimension. */
typedef struct dim_words {
    const char *noun;
    const char *base; /* the unit that integers count */
} dim_words;

static const dim_words dim_words_of[SL_DIM_COUNT] = {
    [SL_DIM_NONE] = {"a number", ""},
    [SL_DIM_TIME] = {"a time", "ns"},
    [SL_DIM_BYTES] = {"a size", "bytes"},
    [SL_DIM_TOKENS] = {"a number of tokens", "tokens"},
    [SL_DIM_PER_S] = {"a rate", "events per second"},
    [SL_DIM_BYTES_PER_S] = {"a bandwidth", "bytes per second"},
    [SL_DIM_FLOPS_PER_S] = {"a compute rate", "FLOP per second"},
    [SL_DIM_WATT] = {"a power", "watts"},
};

/* --- Phrases ------------------------------------------------------------------------------- */

sli_phrase sli_value_found(const sli_node *node) {
    sli_phrase phrase = {{0}};
    switch (node->kind) {
    case SLI_NODE_SCALAR:
        snprintf(phrase.text, sizeof phrase.text, "'%s'", sli_excerpt_of(node->text).text);
        break;
    case SLI_NODE_MAP:
        snprintf(phrase.text, sizeof phrase.text, "a mapping");
        break;
    case SLI_NODE_LIST:
        snprintf(phrase.text, sizeof phrase.text, "a list");
        break;
    }
    return phrase;
}

sli_phrase sli_value_hint(const char *word, const char *const *candidates, size_t count) {
    sli_phrase phrase = {{0}};
    const char *nearest = sli_nearest(word, candidates, count);
    if (nearest != NULL) {
        snprintf(phrase.text, sizeof phrase.text, "; did you mean '%s'?",
                 sli_excerpt_of(nearest).text);
    }
    return phrase;
}

static size_t count_choices(const char *const *choices) {
    size_t count = 0;
    while (choices != NULL && choices[count] != NULL) {
        count++;
    }
    return count;
}

static size_t count_words(const sl_word *words) {
    size_t count = 0;
    while (words != NULL && words[count].word != NULL) {
        count++;
    }
    return count;
}

/* The choices of a parameter and then its words, as an array for sli_join and sli_nearest. */
static sl_err list_names(sli_arena *arena, const sl_param *param, const char *const **names,
                         size_t *count) {
    size_t choices = param->type == SL_TYPE_CHOICE ? count_choices(param->choices) : 0;
    size_t words = count_words(param->words);
    const char **array = sli_arena_array(arena, choices + words, sizeof *array);
    if (array == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < choices; i++) {
        array[i] = param->choices[i];
    }
    for (size_t i = 0; i < words; i++) {
        array[choices + i] = param->words[i].word;
    }
    *names = array;
    *count = choices + words;
    return SL_OK;
}

/* --- Ranges -------------------------------------------------------------------------------- */

static bool is_bounded(const sl_param *param, double bound) {
    return param->type == SL_TYPE_INT ? fabs(bound) < 0x1p62 : fabs(bound) < DBL_MAX;
}

static void format_bound(const sl_param *param, double bound, char *text, size_t size) {
    if (param->type == SL_TYPE_INT) {
        sli_format_int((int64_t)bound, param->dim, text, size);
    } else {
        sli_format_real(bound, param->dim, text, size);
    }
}

/* `between 1 and 8192 tokens`, `at least 0 ns`, `1`; "" when there is no limit. */
static sli_phrase range_of(const sl_param *param) {
    sli_phrase phrase = {{0}};
    char low[64] = "";
    char high[64] = "";
    if (is_bounded(param, param->min)) {
        format_bound(param, param->min, low, sizeof low);
    }
    if (is_bounded(param, param->max)) {
        format_bound(param, param->max, high, sizeof high);
    }
    if (low[0] != '\0' && strcmp(low, high) == 0) {
        snprintf(phrase.text, sizeof phrase.text, "%s", low);
    } else if (low[0] != '\0' && high[0] != '\0') {
        char *low_unit = strchr(low, ' ');
        const char *high_unit = strchr(high, ' ');
        if (low_unit != NULL && high_unit != NULL && strcmp(low_unit, high_unit) == 0) {
            *low_unit = '\0';
        }
        snprintf(phrase.text, sizeof phrase.text, "between %s and %s", low, high);
    } else if (low[0] != '\0') {
        snprintf(phrase.text, sizeof phrase.text, "at least %s", low);
    } else if (high[0] != '\0') {
        snprintf(phrase.text, sizeof phrase.text, "at most %s", high);
    }
    return phrase;
}

/* --- Numbers ------------------------------------------------------------------------------- */

static const char *noun_of(const sl_param *param) {
    bool is_count = param->type == SL_TYPE_INT && param->dim == SL_DIM_NONE;
    return is_count ? "a whole number" : dim_words_of[param->dim].noun;
}

/* `a time with a unit (ns, us, ms, s, min, h) or native`; NULL when memory is out. */
static char *expected_number(sli_arena *arena, const sl_param *param, const char *const *words,
                             size_t word_count) {
    const char *unit_names = sli_unit_names(param->dim);
    const char *unit_text = "";
    if (unit_names[0] != '\0') {
        unit_text = sli_arena_printf(arena, " with a unit (%s)", unit_names);
    }
    const char *word_text = sli_join(arena, words, word_count);
    if (unit_text == NULL || word_text == NULL) {
        return NULL;
    }
    return sli_arena_printf(arena, "%s%s%s%s", noun_of(param), unit_text,
                            word_count == 0   ? ""
                            : word_count == 1 ? " or "
                                              : " or one of ",
                            word_text);
}

/* Something that is no number at all, or one without its unit. */
static sl_err refuse_number(sli_arena *arena, const sl_param *param, const sli_node *node,
                            const sli_path *path, sli_diag *diag) {
    const char *const *words = NULL;
    size_t word_count = 0;
    SL_TRY(list_names(arena, param, &words, &word_count));
    const char *expected = expected_number(arena, param, words, word_count);
    if (expected == NULL) {
        return SL_ERR_NOMEM;
    }
    bool is_scalar = node->kind == SLI_NODE_SCALAR;
    bool is_quoted = is_scalar && node->is_quoted;
    sli_path_error(diag, path, node->mark, "expected %s, found %s%s%s", expected,
                   sli_value_found(node).text, is_quoted ? " in quotes; leave them out" : "",
                   is_scalar && !is_quoted ? sli_value_hint(node->text, words, word_count).text
                                           : "");
    return SL_ERR_CONFIG;
}

static sl_err refuse_range(const sl_param *param, const sli_node *node, const sli_path *path,
                           sli_diag *diag) {
    sli_path_error(diag, path, node->mark, "must be %s, found '%s'", range_of(param).text,
                   sli_excerpt_of(node->text).text);
    return SL_ERR_CONFIG;
}

static sl_err refuse_status(sli_arena *arena, const sl_param *param, const sli_node *node,
                            const sli_path *path, sli_diag *diag, sli_unit_status status) {
    const dim_words *words = &dim_words_of[param->dim];
    const char *found = node->text;
    switch (status) {
    case SLI_UNIT_UNEXPECTED:
        sli_path_error(diag, path, node->mark, "expected %s without a unit, found '%s'",
                       noun_of(param), sli_excerpt_of(found).text);
        return SL_ERR_CONFIG;
    case SLI_UNIT_NOT_WHOLE:
        sli_path_error(diag, path, node->mark, "expected a whole number%s%s, found '%s'",
                       words->base[0] != '\0' ? " of " : "", words->base,
                       sli_excerpt_of(found).text);
        return SL_ERR_CONFIG;
    case SLI_UNIT_OVERFLOW:
        if (is_bounded(param, param->min) && is_bounded(param, param->max)) {
            return refuse_range(param, node, path, diag);
        }
        sli_path_error(diag, path, node->mark, "expected a number that fits in 64 bits, found '%s'",
                       sli_excerpt_of(found).text);
        return SL_ERR_CONFIG;
    default:
        return refuse_number(arena, param, node, path, diag);
    }
}

/* Reads as the parameter's C type; both outputs are given, exactly one of them is exact. */
static sli_unit_status parse_number(const sl_param *param, const char *text, int64_t *whole,
                                    double *real) {
    sli_unit_status status;
    if (param->type == SL_TYPE_INT) {
        status = sli_parse_int(text, param->dim, whole);
        *real = status == SLI_UNIT_OK ? (double)*whole : 0.0;
    } else {
        status = sli_parse_real(text, param->dim, real);
    }
    return status;
}

static void store_number(const sl_param *param, int64_t whole, double real, char *values) {
    if (param->type == SL_TYPE_INT) {
        memcpy(values + param->offset, &whole, sizeof whole);
    } else {
        memcpy(values + param->offset, &real, sizeof real);
    }
}

static sl_err read_number(sli_arena *arena, const sl_param *param, const sli_node *node,
                          const sli_path *path, sli_diag *diag, char *values) {
    if (node->kind != SLI_NODE_SCALAR || node->is_quoted) {
        return refuse_number(arena, param, node, path, diag);
    }
    for (const sl_word *word = param->words; word != NULL && word->word != NULL; word++) {
        if (strcmp(word->word, node->text) == 0) {
            int64_t whole = param->type == SL_TYPE_INT ? (int64_t)word->value : 0;
            store_number(param, whole, word->value, values);
            return SL_OK;
        }
    }
    int64_t whole = 0;
    double real = 0.0;
    sli_unit_status status = parse_number(param, node->text, &whole, &real);
    if (status != SLI_UNIT_OK) {
        return refuse_status(arena, param, node, path, diag, status);
    }
    if (real < param->min || real > param->max) {
        return refuse_range(param, node, path, diag);
    }
    store_number(param, whole, real, values);
    return SL_OK;
}

bool sli_value_is_number(const sl_param *param, const sli_node *node) {
    int64_t whole;
    double real;
    bool is_numeric = param->type == SL_TYPE_INT || param->type == SL_TYPE_REAL;
    return is_numeric && node->kind == SLI_NODE_SCALAR && !node->is_quoted &&
           parse_number(param, node->text, &whole, &real) == SLI_UNIT_OK;
}

/* --- Words --------------------------------------------------------------------------------- */

static sl_err read_bool(const sl_param *param, const sli_node *node, const sli_path *path,
                        sli_diag *diag, char *values) {
    bool is_word = node->kind == SLI_NODE_SCALAR && !node->is_quoted;
    bool is_on = is_word && (strcmp(node->text, "on") == 0 || strcmp(node->text, "true") == 0);
    bool is_off = is_word && (strcmp(node->text, "off") == 0 || strcmp(node->text, "false") == 0);
    if (!is_on && !is_off) {
        bool is_quoted = node->kind == SLI_NODE_SCALAR && node->is_quoted;
        sli_path_error(diag, path, node->mark, "expected on or off, found %s%s",
                       sli_value_found(node).text, is_quoted ? " in quotes; leave them out" : "");
        return SL_ERR_CONFIG;
    }
    memcpy(values + param->offset, &is_on, sizeof is_on);
    return SL_OK;
}

int sli_choice_find(const char *const *choices, const sl_word *words, const char *text) {
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            return (int)i;
        }
    }
    for (const sl_word *word = words; word != NULL && word->word != NULL; word++) {
        if (strcmp(word->word, text) == 0) {
            return (int)word->value;
        }
    }
    return -1;
}

static sl_err refuse_choice(sli_arena *arena, const sl_param *param, const sli_node *node,
                            const sli_path *path, sli_diag *diag) {
    const char *const *names = NULL;
    size_t count = 0;
    SL_TRY(list_names(arena, param, &names, &count));
    const char *own_names = sli_join(arena, param->choices, count_choices(param->choices));
    if (own_names == NULL) {
        return SL_ERR_NOMEM;
    }
    bool is_word = node->kind == SLI_NODE_SCALAR;
    sli_path_error(diag, path, node->mark, "expected one of %s; found %s%s", own_names,
                   sli_value_found(node).text,
                   is_word ? sli_value_hint(node->text, names, count).text : "");
    return SL_ERR_CONFIG;
}

static sl_err read_choice(sli_arena *arena, const sl_param *param, sli_node *node,
                          const sli_path *path, sli_diag *diag, char *values) {
    bool is_word = node->kind == SLI_NODE_SCALAR;
    int index = is_word ? sli_choice_find(param->choices, param->words, node->text) : -1;
    if (index < 0) {
        return refuse_choice(arena, param, node, path, diag);
    }
    node->text = param->choices[index];
    memcpy(values + param->offset, &index, sizeof index);
    return SL_OK;
}

static sl_err read_string(const sl_param *param, const sli_node *node, const sli_path *path,
                          sli_diag *diag, char *values) {
    bool is_path = param->type == SL_TYPE_PATH;
    if (node->kind != SLI_NODE_SCALAR || (is_path && node->text[0] == '\0')) {
        sli_path_error(diag, path, node->mark, "expected %s, found %s",
                       is_path ? "a path" : "a text", sli_value_found(node).text);
        return SL_ERR_CONFIG;
    }
    memcpy(values + param->offset, &node->text, sizeof node->text);
    return SL_OK;
}

/* --- The whole ----------------------------------------------------------------------------- */

sl_err sli_value_read(sli_arena *arena, const sl_param *param, sli_node *node, const sli_path *path,
                      sli_diag *diag, char *values) {
    switch (param->type) {
    case SL_TYPE_BOOL:
        return read_bool(param, node, path, diag, values);
    case SL_TYPE_INT:
    case SL_TYPE_REAL:
        return read_number(arena, param, node, path, diag, values);
    case SL_TYPE_CHOICE:
        return read_choice(arena, param, node, path, diag, values);
    case SL_TYPE_NAME_OR_PATH:
        if (node->kind == SLI_NODE_SCALAR && sli_is_path(node->text)) {
            SL_TRY(sli_absolute_path(arena, node));
        }
        return read_string(param, node, path, diag, values);
    case SL_TYPE_STRING:
        return read_string(param, node, path, diag, values);
    case SL_TYPE_PATH:
        SL_TRY(sli_absolute_path(arena, node));
        return read_string(param, node, path, diag, values);
    }
    return SL_ERR_BUG;
}

/* --- Help ---------------------------------------------------------------------------------- */

static sl_err describe_number(sli_arena *arena, const sl_param *param, const char **text) {
    const char *const *words = NULL;
    size_t word_count = 0;
    SL_TRY(list_names(arena, param, &words, &word_count));
    const char *expected = expected_number(arena, param, words, word_count);
    if (expected == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_phrase range = range_of(param);
    *text = sli_arena_printf(arena, "%s%s%s", expected, range.text[0] != '\0' ? ", " : "",
                             range.text);
    return *text != NULL ? SL_OK : SL_ERR_NOMEM;
}

static sl_err describe_choice(sli_arena *arena, const sl_param *param, const char **text) {
    const char *const *names = NULL;
    size_t count = 0;
    size_t own_count = count_choices(param->choices);
    SL_TRY(list_names(arena, param, &names, &count));
    const char *own = sli_join(arena, names, own_count);
    const char *others = sli_join(arena, names + own_count, count - own_count);
    if (own == NULL || others == NULL) {
        return SL_ERR_NOMEM;
    }
    *text = sli_arena_printf(arena, "one of %s%s%s", own, count > own_count ? "; also " : "",
                             others);
    return *text != NULL ? SL_OK : SL_ERR_NOMEM;
}

sl_err sli_value_describe(sli_arena *arena, const sl_param *param, const char **text) {
    switch (param->type) {
    case SL_TYPE_BOOL:
        *text = "on or off";
        return SL_OK;
    case SL_TYPE_INT:
    case SL_TYPE_REAL:
        return describe_number(arena, param, text);
    case SL_TYPE_CHOICE:
        return describe_choice(arena, param, text);
    case SL_TYPE_STRING:
        *text = "a text";
        return SL_OK;
    case SL_TYPE_NAME_OR_PATH:
        *text = "a name or a path";
        return SL_OK;
    case SL_TYPE_PATH:
        *text = "a path";
        return SL_OK;
    }
    return SL_ERR_BUG;
}
