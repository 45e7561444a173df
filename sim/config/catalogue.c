#include "config/catalogue.h"

#include "config/absolute.h"
#include "config/text.h"

#include <ctype.h>
#include <string.h>

/* `dir/name.yaml` becomes `name`. */
static const char *stem_of(sli_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
    return sli_arena_copy(arena, base, length);
}

/* A catalogue with more names than this is not listed in a message. */
enum { LIST_MAX = 12 };

/* How long two names are alike from the front, capitals or not. */
static size_t shared_length(const char *a, const char *b) {
    size_t length = 0;
    while (a[length] != '\0' &&
           tolower((unsigned char)a[length]) == tolower((unsigned char)b[length])) {
        length++;
    }
    return length;
}

/* Keeps the names that have the longest beginning with `name` in common; the count of them. */
static size_t keep_alike(const char *name, const char **names, size_t count) {
    enum { ALIKE_MIN_CHARS = 3 };
    size_t longest = ALIKE_MIN_CHARS;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = shared_length(name, names[i]);
        if (length > longest) {
            longest = length;
            kept = 0;
        }
        if (length == longest) {
            names[kept++] = names[i];
        }
    }
    return kept;
}

/*
 * `known are a, b, c`; when that would be long, how many are and those that begin alike. NULL when
 * memory is out. Reorders the names.
 */
static const char *describe_known(sli_arena *arena, const char *name, const char **names,
                                  size_t count) {
    size_t listed = count <= LIST_MAX ? count : keep_alike(name, names, count);
    if (listed == 0 || listed > LIST_MAX) {
        return sli_arena_printf(arena, "%zu are known", count);
    }
    const char *list = sli_join(arena, names, listed);
    if (list == NULL || listed == count) {
        return list != NULL ? sli_arena_printf(arena, "known are %s", list) : NULL;
    }
    return sli_arena_printf(arena, "%zu are known, among them %s", count, list);
}

static sl_err report_unknown(sli_arena *arena, const sli_embedded *table, const char *noun,
                             const char *name, sli_catalogue_site site, sli_diag *diag) {
    size_t count = 0;
    while (table[count].name != NULL) {
        count++;
    }
    const char **names = sli_arena_array(arena, count, sizeof *names);
    if (names == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = table[i].name;
    }
    const char *nearest = sli_nearest(name, names, count);
    const char *known = describe_known(arena, name, names, count);
    if (known == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_diag_error(diag, site.mark, site.key,
                   "unknown %s '%s'%s%s%s; %s, or a path that ends in .yaml", noun, name,
                   nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "'" : "", known);
    return SL_ERR_CONFIG;
}

/* A file that a key names is missed where the key stands. */
static sl_err read_path(sli_arena *arena, const char *path, sli_catalogue_site site, sli_diag *diag,
                        sli_node **root) {
    return site.key == NULL ? sli_tree_read_file(arena, path, diag, root)
                            : sli_tree_read_asked(arena, path, site.mark, site.key, diag, root);
}

sl_err sli_catalogue_read(sli_arena *arena, const sli_embedded *table, const char *noun,
                          const char *name_or_path, sli_catalogue_site site, sli_diag *diag,
                          sli_node **root, const char **id) {
    sli_node *tree = NULL;
    const char *stem = NULL;
    if (sli_is_path(name_or_path)) {
        SL_TRY(read_path(arena, name_or_path, site, diag, &tree));
        stem = stem_of(arena, name_or_path);
    } else {
        const sli_embedded *row = sli_embedded_find(table, name_or_path);
        if (row == NULL) {
            return report_unknown(arena, table, noun, name_or_path, site, diag);
        }
        const char *place = sli_arena_printf(arena, "<%s %s>", noun, row->name);
        if (place == NULL) {
            return SL_ERR_NOMEM;
        }
        SL_TRY(sli_tree_read_text(arena, place, row->text, row->length, diag, &tree));
        stem = row->name;
    }
    if (stem == NULL) {
        return SL_ERR_NOMEM;
    }
    *root = tree;
    if (id != NULL) {
        *id = stem;
    }
    return SL_OK;
}
