#include "cli/estimators.h"

#include "base/units.h"

#include <stdio.h>
#include <string.h>

static const sli_estimator *const estimators[] = {
    &sli_estimator_rounding,
    &sli_estimator_draft,
    &sli_estimator_entries,
};

const sli_estimator *sli_estimator_find(const char *name) {
    for (size_t i = 0; i < sizeof estimators / sizeof estimators[0]; i++) {
        if (strcmp(estimators[i]->name, name) == 0) {
            return estimators[i];
        }
    }
    return NULL;
}

static bool say_needed(const sli_estimator_need *need, const char *text) {
    fprintf(stderr, "sluice %s needs %s; found '%s'\n", need->option, need->need, text);
    return false;
}

static bool is_within(const sli_estimator_need *need, double value) {
    return value >= need->low && value <= need->high;
}

bool sli_estimator_read_int(const sli_estimator_need *need, const char *text, int64_t *target) {
    int64_t value = 0;
    if (text == NULL) {
        return true;
    }
    if (sli_parse_int(text, need->dim, &value) != SLI_UNIT_OK || !is_within(need, (double)value)) {
        return say_needed(need, text);
    }
    *target = value;
    return true;
}

bool sli_estimator_read_real(const sli_estimator_need *need, const char *text, double *target) {
    double value = 0.0;
    if (text == NULL) {
        return true;
    }
    if (sli_parse_real(text, need->dim, &value) != SLI_UNIT_OK || !is_within(need, value)) {
        return say_needed(need, text);
    }
    *target = value;
    return true;
}

bool sli_estimator_read_list(const sli_estimator_need *need, const char *text, double *values,
                             size_t limit, size_t *count) {
    if (text == NULL) {
        return true;
    }
    size_t found = 0;
    for (const char *at = text;; at += strcspn(at, ",") + 1) {
        char item[32];
        size_t size = strcspn(at, ",");
        if (found == limit || size == 0 || size >= sizeof item) {
            return say_needed(need, text);
        }
        snprintf(item, sizeof item, "%.*s", (int)size, at);
        if (!sli_estimator_read_real(need, item, &values[found++])) {
            return false;
        }
        if (at[size] == '\0') {
            *count = found;
            return true;
        }
    }
}
