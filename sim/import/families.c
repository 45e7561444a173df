#include "import/families.h"

#include <ctype.h>
#include <string.h>

static const sli_family *const tables[] = {
    sli_plain_families,  sli_gemma_families,     sli_latent_families,
    sli_hybrid_families, sli_recurrent_families,
};

enum { TABLES = sizeof tables / sizeof tables[0] };

/* Whether a text is the name of so many characters; `Qwen3Moe` is `qwen3_moe`. */
static bool is_name(const char *text, const char *name, size_t length) {
    const char *end = name + length;
    for (;;) {
        name += name < end && *name == '_';
        text += *text == '_' || *text == '-';
        if (name == end || *text == '\0') {
            return name == end && *text == '\0';
        }
        if (tolower((unsigned char)*text++) != tolower((unsigned char)*name++)) {
            return false;
        }
    }
}

static bool is_family(const sli_family *family, const char *model_type) {
    if (is_name(model_type, family->name, strlen(family->name))) {
        return true;
    }
    const char *name = family->others != NULL ? family->others : "";
    while (*name != '\0') {
        size_t length = strcspn(name, "|");
        if (is_name(model_type, name, length)) {
            return true;
        }
        name += length + (name[length] == '|');
    }
    return false;
}

const sli_family *sli_family_find(const char *model_type) {
    for (size_t t = 0; t < TABLES; t++) {
        for (const sli_family *family = tables[t]; family->name != NULL; family++) {
            if (is_family(family, model_type)) {
                return family;
            }
        }
    }
    return NULL;
}

/* Appends `a|b|c` as names of their own. */
static bool add_names(sli_arena *arena, const char *names, const char **list, size_t *count) {
    while (*names != '\0') {
        size_t length = strcspn(names, "|");
        list[*count] = sli_arena_copy(arena, names, length);
        if (list[(*count)++] == NULL) {
            return false;
        }
        names += length + (names[length] == '|');
    }
    return true;
}

const char *const *sli_family_names(sli_arena *arena, size_t *count) {
    enum { NAMES_MAX = 256 }; /* far more than there are */
    const char **list = sli_arena_array(arena, NAMES_MAX, sizeof *list);
    *count = 0;
    for (size_t t = 0; t < TABLES && list != NULL; t++) {
        for (const sli_family *family = tables[t]; family->name != NULL; family++) {
            if (!add_names(arena, family->name, list, count) ||
                !add_names(arena, family->others != NULL ? family->others : "", list, count)) {
                return NULL;
            }
        }
    }
    return list;
}
