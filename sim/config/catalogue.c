#include "config/catalogue.h"

#include "config/absolute.h"
#include <string.h>

/* `dir/name.yaml` becomes `name`. */
static const char *stem_of(sli_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
    return sli_arena_copy(arena, base, length);
}

/* `a, b, c`; NULL when memory is out. */
static const char *list_names(sli_arena *arena, const sli_embedded *table) {
    const char *list = "";
    for (const sli_embedded *row = table; row->name != NULL && list != NULL; row++) {
        list = sli_arena_printf(arena, "%s%s%s", list, row == table ? "" : ", ", row->name);
    }
    return list;
}

static sl_err report_unknown(sli_arena *arena, const sli_embedded *table, const char *noun,
                             const char *name, sli_catalogue_site site, sli_diag *diag) {
    size_t count = 0;
    while (table[count].name != NULL) {
        count++;
    }
    const char **names = sli_arena_array(arena, count, sizeof *names);
    const char *list = list_names(arena, table);
    if (names == NULL || list == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = table[i].name;
    }
    const char *nearest = sli_nearest(name, names, count);
    sli_diag_error(diag, site.mark, site.key,
                   "unknown %s '%s'%s%s%s; known are %s, or a path that ends in .yaml", noun, name,
                   nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "'" : "", list);
    return SL_ERR_CONFIG;
}

sl_err sli_catalogue_read(sli_arena *arena, const sli_embedded *table, const char *noun,
                          const char *name_or_path, sli_catalogue_site site, sli_diag *diag,
                          sli_node **root, const char **id) {
    sli_node *tree = NULL;
    const char *stem = NULL;
    if (sli_is_path(name_or_path)) {
        SL_TRY(sli_tree_read_file(arena, name_or_path, diag, &tree));
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
