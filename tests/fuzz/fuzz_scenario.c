/*
 * Any bytes as a scenario: it is refused with reasons, or what is written of it resolves to the
 * same values. Lines that begin with `#set ` are given as --set, too.
 */
#include "entry.h"
#include "run/scenario.h"

#include <stdlib.h>
#include <string.h>

const char *const entry_words[] = {
    "\n",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "#",
    "'",
    "\"",
    "|\n",
    ">-\n",
    "&a ",
    "*a",
    "!t ",
    "---\n",
    "...\n",
    "? ",
    "  ",
    "\t",
    "\xef\xbb\xbf",
    "\xc3",
    "~",
    "null",
    "none",
    "native",
    "on",
    "#set seed=",
    "#set engine={max_seqs: 3}",
    "\n#set output.dir=x",
    "extends: missing.yaml\n",
    "model",
    "hardware: h200",
    "replicas",
    "engine",
    "memory",
    "prefix",
    "route: shared",
    "workload",
    "slo",
    "run",
    "output",
    "plugin: x.so",
    "cost",
    "policy",
    "name",
    "source",
    "fixed",
    "lognormal",
    "mean",
    "cv",
    "quantiles",
    "system_prompts",
    "priorities",
    "1 /s",
    "10 tokens",
    "25 ms",
    "80 GiB",
    "3.35 TB/s",
    "7 kW",
    " tokens",
    " s",
    " min",
    "1e3",
    ".5",
    "%",
    NULL,
};

/* ---- The same values ---- */

static void same_section(const sli_section *section, const char *a, const char *b);

static bool same_text(const char *a, const char *b) {
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static void same_param(const sl_param *param, const char *a, const char *b) {
    const void *x = a + param->offset;
    const void *y = b + param->offset;
    switch (param->type) {
    case SL_TYPE_BOOL:
        MUST(*(const bool *)x == *(const bool *)y);
        break;
    case SL_TYPE_INT:
        MUST(*(const int64_t *)x == *(const int64_t *)y);
        break;
    case SL_TYPE_REAL:
        MUST(memcmp(x, y, sizeof(double)) == 0);
        break;
    case SL_TYPE_CHOICE:
        MUST(*(const int *)x == *(const int *)y);
        break;
    case SL_TYPE_STRING:
    case SL_TYPE_PATH:
    case SL_TYPE_NAME_OR_PATH:
        MUST(same_text(*(const char *const *)x, *(const char *const *)y));
        break;
    }
}

static void same_table(const sli_field *field, const char *a, const char *b) {
    const sli_table *x = (const void *)(a + field->offset);
    const sli_table *y = (const void *)(b + field->offset);
    MUST(x->count == y->count);
    for (size_t i = 0; i < x->count; i++) {
        size_t at = i * field->section->struct_size;
        same_section(field->section, (const char *)x->rows + at, (const char *)y->rows + at);
    }
}

static void same_named(const sli_named *x, const sli_named *y) {
    MUST(same_text(x->type->name, y->type->name));
    if (x->type->section != NULL) {
        same_section(x->type->section, x->values, y->values);
    }
}

static void same_map(const sli_field *field, const char *a, const char *b) {
    const sli_map_values *x = (const void *)(a + field->offset);
    const sli_map_values *y = (const void *)(b + field->offset);
    MUST(x->count == y->count);
    for (size_t i = 0; i < x->count; i++) {
        MUST(same_text(x->entries[i].key, y->entries[i].key));
        same_named(&x->entries[i].value, &y->entries[i].value);
    }
}

static void same_sourced(const sli_field *field, const char *a, const char *b) {
    const sli_sourced *x = (const void *)(a + field->offset);
    const sli_sourced *y = (const void *)(b + field->offset);
    same_param(field->section->params, a, b);
    MUST(same_text(x->source, y->source) && same_text(x->date, y->date));
    MUST(x->is_assumed == y->is_assumed);
}

static void same_field(const sli_field *field, const char *a, const char *b);

/* Only the key that was chosen has a value. */
static void same_choice(const sli_field *field, const char *a, const char *b) {
    const sli_section *section = field->section;
    int key = *(const int *)(const void *)(a + field->offset);
    MUST(key == *(const int *)(const void *)(b + field->offset));
    size_t row = (size_t)key;
    if (row < section->param_count) {
        same_param(&section->params[row], a, b);
    } else {
        same_field(&section->fields[row - section->param_count], a, b);
    }
}

static void same_field(const sli_field *field, const char *a, const char *b) {
    switch (field->kind) {
    case SLI_FIELD_SECTION:
        same_section(field->section, a + field->offset, b + field->offset);
        break;
    case SLI_FIELD_ONE_OF:
        same_choice(field, a, b);
        break;
    case SLI_FIELD_NAMED:
        same_named((const void *)(a + field->offset), (const void *)(b + field->offset));
        break;
    case SLI_FIELD_MAP:
        same_map(field, a, b);
        break;
    case SLI_FIELD_TABLE:
        same_table(field, a, b);
        break;
    case SLI_FIELD_SOURCED:
        same_sourced(field, a, b);
        break;
    }
}

static void same_section(const sli_section *section, const char *a, const char *b) {
    for (size_t i = 0; i < section->param_count; i++) {
        same_param(&section->params[i], a, b);
    }
    for (size_t i = 0; i < section->field_count; i++) {
        same_field(&section->fields[i], a, b);
    }
}

/* ---- The entry ---- */

/* What --set says has no line, and neither has what is not there. */
static const char *const nothing[] = {"expected a mapping of keys, found nothing", NULL};
static const char *const anything[] = {"", NULL};

/* YAML knows lines that end in CR alone. */
static int count_yaml_lines(const char *text) {
    int count = count_lines(text, strlen(text));
    for (const char *at = strchr(text, '\r'); at != NULL; at = strchr(at + 1, '\r')) {
        count += at[1] != '\n';
    }
    return count;
}

enum { SETS_MAX = 4 };

/* Cuts the lines that are --set, too, out of a copy. */
static size_t find_sets(char *text, const char *sets[SETS_MAX]) {
    static const char start[] = "#set ";
    size_t count = 0;
    for (char *line = text; line != NULL && count < SETS_MAX;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        if (strncmp(line, start, sizeof start - 1) == 0) {
            sets[count++] = line + sizeof start - 1;
        }
        line = end;
    }
    return count;
}

static void check_round_trip(const sli_scenario_file *file) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    MUST(stream != NULL);
    MUST(sli_tree_write(file->root, stream) == SL_OK);
    MUST(fclose(stream) == 0);
    sli_diag diag = {0};
    sli_scenario_file again;
    sl_err err = sli_scenario_read_text("written.yaml", text, NULL, 0, &diag, &again);
    sli_diag_print(&diag, stderr);
    MUST(err == SL_OK);
    same_section(&sli_scenario_section, (const char *)&file->values, (const char *)&again.values);
    sli_scenario_close(&again);
    sli_diag_fini(&diag);
    free(text);
}

/* A text may hold the character NUL, which the reader of files meets and a C string does not. */
static void check_bytes(const char *bytes, size_t length) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_node *root = NULL;
    sl_err err = sli_tree_read_text(&arena, "bytes.yaml", bytes, length, &diag, &root);
    MUST((err == SL_OK) == (root != NULL));
    MUST(err == SL_OK || diag.error_count > 0);
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char *text = calloc(2, length + 1);
    MUST(text != NULL);
    char *copy = text + length + 1;
    memcpy(text, bytes, length);
    memcpy(copy, bytes, length);
    if (memchr(bytes, '\0', length) != NULL) {
        check_bytes((const char *)bytes, length);
    }
    const char *sets[SETS_MAX];
    size_t set_count = find_sets(copy, sets);
    sli_diag diag = {0};
    sli_scenario_file file;
    sl_err err = sli_scenario_read_text("fuzz.yaml", text, sets, set_count, &diag, &file);
    must_be_explained(err, &diag, count_yaml_lines(text), set_count > 0 ? anything : nothing);
    if (err == SL_OK) {
        check_round_trip(&file);
    }
    sli_scenario_close(&file);
    sli_diag_fini(&diag);
    free(text);
    return 0;
}
