#include "config/schema.h"

#include "base/check.h"
#include "config/node.h"
#include "config/parse.h"
#include "config/section.h"
#include "config/value.h"

#include <ctype.h>
#include <string.h>

/*
 * Functions of this file answer SL_ERR_NOMEM or SL_OK; mistakes are counted by the diagnostics, so
 * that the walk goes on to the next one.
 */
typedef struct schema_walk {
    sli_arena *arena;
    const void *context; /* of the schema's type lists */
    sli_diag *diag;
} schema_walk;

static sl_err go_on(sl_err err) {
    return err == SL_ERR_CONFIG ? SL_OK : err;
}

/* --- Mistakes and defaults ----------------------------------------------------------------- */

/* `; expected one of a, b, c; did you mean 'b'?`; of what is not there yet, what to do without. */
static sl_err advise_key(const schema_walk *walk, const sli_section *section, const char *extra,
                         const char *key, const char **advice) {
    const char *const *names;
    size_t count;
    const char *instead = sli_absent_key(section, key);
    if (instead != NULL) {
        *advice = sli_arena_printf(walk->arena, ": %s", instead);
        return *advice != NULL ? SL_OK : SL_ERR_NOMEM;
    }
    SL_TRY(sli_row_names(walk->arena, section, extra, &names, &count));
    const char *text = sli_join(walk->arena, names, count);
    if (text == NULL) {
        return SL_ERR_NOMEM;
    }
    *advice = count == 0
                  ? "; there are none here"
                  : sli_arena_printf(walk->arena, "; expected %s%s%s", count > 1 ? "one of " : "",
                                     text, sli_value_hint(key, names, count).text);
    return *advice != NULL ? SL_OK : SL_ERR_NOMEM;
}

/* `path` is that of the mapping: the message names the key. */
static sl_err refuse_key(const schema_walk *walk, const sli_section *section, const char *extra,
                         const sli_node *child, const sli_path *path) {
    const char *advice;
    SL_TRY(advise_key(walk, section, extra, child->key, &advice));
    sli_path_error(walk->diag, path, child->key_mark, "unknown key '%s'%s",
                   sli_excerpt_of(child->key).text, advice);
    return SL_OK;
}

/* A word that is none of the names, or something that is no word. */
static sl_err refuse_word(const schema_walk *walk, const char *const *names, size_t count,
                          const char *advice, const sli_node *node, const sli_path *path) {
    const char *text = sli_join(walk->arena, names, count);
    if (text == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_phrase hint = {{0}};
    if (node->kind == SLI_NODE_SCALAR) {
        hint = sli_value_hint(node->text, names, count);
    }
    sli_path_error(walk->diag, path, node->mark, "expected one of %s; found %s%s", text,
                   sli_value_found(node).text, hint.text[0] != '\0' ? hint.text : advice);
    return SL_OK;
}

/* A default of a table is right, or the table is wrong: no mistake of the user. */
static sl_err parse_fallback(const schema_walk *walk, const char *text, const char *key,
                             sli_node **node) {
    sli_yaml yaml = {.text = text, .length = strlen(text), .origin = SLI_ORIGIN_DEFAULT};
    sl_err err = sli_yaml_parse(walk->arena, &yaml, walk->diag, node);
    SL_ASSERT(err != SL_ERR_CONFIG);
    if (err == SL_OK) {
        SL_ASSERT(*node != NULL && !(*node)->is_flawed);
        (*node)->key = key;
    }
    return err;
}

static sl_err add_default(const schema_walk *walk, const sli_section *section, size_t row,
                          sli_node *map, const sli_path *path, sli_node **node) {
    const char *fallback = sli_row_fallback(section, row);
    if (fallback == NULL) {
        sli_path_error(walk->diag, path, map->mark, "missing required key '%s'",
                       sli_row_name(section, row));
        *node = NULL;
        return SL_OK;
    }
    SL_TRY(parse_fallback(walk, fallback, sli_row_name(section, row), node));
    sli_node_append(map, *node);
    return SL_OK;
}

/*
 * `model: NAME` and --set model.kv=...: the name becomes the value of its key, unless --set gave
 * that too. False after a mistake: a scalar that is short for no key (NULL) has no keys beside it.
 */
static bool unfold(const schema_walk *walk, sli_node *node, const char *key, const sli_path *path) {
    sli_node *bare = node->bare;
    node->bare = NULL;
    if (bare == NULL || bare->is_flawed) {
        return true;
    }
    if (key == NULL) {
        sli_path here = {.parent = path, .key = node->first->key};
        sli_path_error(walk->diag, &here, node->first->key_mark, "'%s' is '%s', not a mapping",
                       path->key, sli_excerpt_of(bare->text).text);
        return false;
    }
    if (sli_node_find(node, key) == NULL) {
        bare->key = key;
        sli_node_append(node, bare);
    }
    return true;
}

/* --- Sections ------------------------------------------------------------------------------ */

static sl_err resolve_row(const schema_walk *walk, const sli_section *section, size_t row,
                          sli_node *node, const sli_path *path, char *values);

/* Puts the children in the order of the table, `name_key` first. */
static void sort_children(const sli_section *section, const char *name_key, sli_node *map) {
    sli_node sorted = {0};
    for (size_t i = 0; i <= sli_row_count(section); i++) {
        const char *key = i > 0 ? sli_row_name(section, i - 1) : name_key;
        sli_node *child = key != NULL ? sli_node_detach(map, key) : NULL;
        if (child != NULL) {
            sli_node_append(&sorted, child);
        }
    }
    while (map->first != NULL) {
        sli_node_append(&sorted, sli_node_detach(map, map->first->key));
    }
    map->first = sorted.first;
    map->last = sorted.last;
    map->count = sorted.count;
}

/* Checks the children of a map, all but the one of `name_key`, and adds those that are missing. */
static sl_err resolve_keys(const schema_walk *walk, const sli_section *section,
                           const char *name_key, sli_node *map, const sli_path *path,
                           char *values) {
    for (sli_node *child = map->first; child != NULL; child = child->next) {
        if (name_key != NULL && strcmp(child->key, name_key) == 0) {
            continue;
        }
        sli_path here = {.parent = path, .key = child->key};
        size_t row = sli_row_find(section, child->key);
        if (row == sli_row_count(section)) {
            SL_TRY(refuse_key(walk, section, name_key, child, path));
        } else {
            SL_TRY(resolve_row(walk, section, row, child, &here, values));
        }
    }
    for (size_t row = 0; row < sli_row_count(section); row++) {
        if (sli_node_find(map, sli_row_name(section, row)) != NULL) {
            continue;
        }
        sli_node *node;
        SL_TRY(add_default(walk, section, row, map, path, &node));
        if (node != NULL) {
            sli_path here = {.parent = path, .key = node->key};
            SL_TRY(resolve_row(walk, section, row, node, &here, values));
        }
    }
    sort_children(section, name_key, map);
    return SL_OK;
}

static sl_err resolve_section(const schema_walk *walk, const sli_section *section, sli_node *node,
                              const sli_path *path, char *values) {
    if (node->kind == SLI_NODE_SCALAR && section->shorthand != NULL) {
        if (!sli_node_wrap(walk->arena, node, section->shorthand)) {
            return SL_ERR_NOMEM;
        }
    }
    if (!unfold(walk, node, section->shorthand, path)) {
        return SL_OK;
    }
    if (node->kind != SLI_NODE_MAP) {
        const char *keys;
        SL_TRY(sli_row_text(walk->arena, section, &keys));
        sli_path_error(walk->diag, path, node->mark, "expected a mapping with keys of %s; found %s",
                       keys, sli_value_found(node).text);
        return SL_OK;
    }
    return resolve_keys(walk, section, NULL, node, path, values);
}

/* --- One of several keys ------------------------------------------------------------------- */

/* `1000 tokens` where `fixed: 1000 tokens` was meant: the first key that would take it. */
static const sl_param *find_taker(const sli_section *section, const sli_node *node) {
    for (size_t i = 0; i < section->param_count; i++) {
        if (sli_value_is_number(&section->params[i], node)) {
            return &section->params[i];
        }
    }
    return NULL;
}

/* A scalar that is none of the keys. */
static sl_err refuse_choice(const schema_walk *walk, const sli_section *section,
                            const sli_node *node, const sli_path *path) {
    const sl_param *taker = find_taker(section, node);
    if (taker != NULL) {
        sli_excerpt value = sli_excerpt_of(node->text);
        sli_path_error(walk->diag, path, node->mark,
                       "expected a mapping, found '%s'; did you mean {%s: %s}?", value.text,
                       taker->name, value.text);
        return SL_OK;
    }
    const char *const *names;
    size_t count;
    SL_TRY(sli_row_names(walk->arena, section, NULL, &names, &count));
    return refuse_word(walk, names, count, "", node, path);
}

/* `lognormal` becomes `lognormal: DEFAULT`; *row is row_count after a mistake. */
static sl_err expand_key(const schema_walk *walk, const sli_section *section, sli_node *node,
                         const sli_path *path, size_t *row) {
    size_t found = sli_row_find(section, node->text);
    *row = sli_row_count(section);
    if (found == *row) {
        return refuse_choice(walk, section, node, path);
    }
    const char *name = sli_row_name(section, found);
    const char *fallback = sli_row_fallback(section, found);
    if (fallback == NULL) {
        sli_path_error(walk->diag, path, node->mark, "'%s' needs a value, as in {%s: ...}", name,
                       name);
        return SL_OK;
    }
    sli_node *value;
    SL_TRY(parse_fallback(walk, fallback, name, &value));
    if (!sli_node_wrap(walk->arena, node, name)) {
        return SL_ERR_NOMEM;
    }
    if (value->kind == SLI_NODE_MAP) { /* says no more than that it was chosen, as the user did */
        value->origin = node->origin;
        value->mark = node->mark;
    }
    sli_node_put(node, value);
    *row = found;
    return SL_OK;
}

/* Finds the row of the only key; row_count after a mistake. */
static sl_err find_only_key(const schema_walk *walk, const sli_section *section,
                            const sli_node *map, const sli_path *path, size_t *row) {
    const char *names;
    SL_TRY(sli_row_text(walk->arena, section, &names));
    *row = sli_row_count(section);
    bool has_unknown = false;
    for (const sli_node *child = map->first; child != NULL; child = child->next) {
        if (sli_row_find(section, child->key) == sli_row_count(section)) {
            has_unknown = true;
            SL_TRY(refuse_key(walk, section, NULL, child, path));
        }
    }
    if (has_unknown) {
        return SL_OK;
    }
    if (map->count == 0) {
        sli_path_error(walk->diag, path, map->mark, "expected exactly one of %s; found none",
                       names);
    } else if (map->count > 1) {
        const sli_node *second = map->first->next;
        sli_path_error(walk->diag, path, second->key_mark,
                       "expected exactly one of %s; found '%s' and '%s'", names, map->first->key,
                       second->key);
    } else {
        *row = sli_row_find(section, map->first->key);
    }
    return SL_OK;
}

static sl_err resolve_one_of(const schema_walk *walk, const sli_field *field, sli_node *node,
                             const sli_path *path, char *values) {
    const sli_section *section = field->section;
    size_t row = sli_row_count(section);
    if (node->bare != NULL && sli_node_find(node, node->bare->text) != NULL) {
        node->bare = NULL; /* chose what --set chose again */
    }
    if (!unfold(walk, node, NULL, path)) {
        return SL_OK;
    }
    if (node->kind == SLI_NODE_SCALAR) {
        SL_TRY(expand_key(walk, section, node, path, &row));
    } else if (node->kind == SLI_NODE_MAP) {
        SL_TRY(find_only_key(walk, section, node, path, &row));
    } else {
        const char *const *names;
        size_t count;
        SL_TRY(sli_row_names(walk->arena, section, NULL, &names, &count));
        return refuse_word(walk, names, count, "", node, path);
    }
    if (row == sli_row_count(section)) {
        return SL_OK;
    }
    int index = (int)row;
    memcpy(values + field->offset, &index, sizeof index);
    sli_path here = {.parent = path, .key = node->first->key};
    return resolve_row(walk, section, row, node->first, &here, values);
}

/* --- Named types --------------------------------------------------------------------------- */

/* The node of the name, from the field's fallback if the map does not say it; NULL = mistake. */
static sl_err find_name(const schema_walk *walk, const sli_field *field, sli_node *map,
                        const sli_path *path, sli_node **name) {
    *name = sli_node_find(map, field->name_key);
    if (*name != NULL) {
        return SL_OK;
    }
    if (field->fallback == NULL) {
        sli_path_error(walk->diag, path, map->mark, "missing required key '%s'", field->name_key);
        return SL_OK;
    }
    sli_node *fallback;
    SL_TRY(parse_fallback(walk, field->fallback, field->name_key, &fallback));
    if (fallback->kind == SLI_NODE_MAP) {
        fallback = sli_node_detach(fallback, field->name_key);
        SL_ASSERT(fallback != NULL);
    }
    sli_node_append(map, fallback);
    *name = fallback;
    return SL_OK;
}

static sl_err find_type(const schema_walk *walk, const sli_field *field, const sli_node *name,
                        const sli_path *path, const sli_named_type **type) {
    size_t count = 0;
    const sli_named_type *types = field->types(walk->context, &count);
    *type = NULL;
    for (size_t i = 0; name->kind == SLI_NODE_SCALAR && i < count; i++) {
        if (strcmp(types[i].name, name->text) == 0) {
            *type = &types[i];
            return SL_OK;
        }
    }
    const char **names = sli_arena_array(walk->arena, count, sizeof *names);
    if (names == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = types[i].name;
    }
    const char *advice = field->advise != NULL ? field->advise(walk->context) : "";
    return refuse_word(walk, names, count, advice, name, path);
}

static sl_err resolve_named(const schema_walk *walk, const sli_field *field, sli_node *node,
                            const sli_path *path, char *values) {
    sli_path name_path = {.parent = path, .key = field->name_key};
    const sli_path *here = &name_path;
    if (node->kind == SLI_NODE_SCALAR) {
        if (!sli_node_wrap(walk->arena, node, field->name_key)) {
            return SL_ERR_NOMEM;
        }
        here = path; /* where the user wrote the name */
    }
    (void)unfold(walk, node, field->name_key, path); /* there is a key */
    if (node->kind != SLI_NODE_MAP) {
        sli_path_error(walk->diag, path, node->mark, "expected a name or {%s: ...}, found a list",
                       field->name_key);
        return SL_OK;
    }
    sli_node *name;
    SL_TRY(find_name(walk, field, node, path, &name));
    if (name == NULL || name->is_flawed) {
        return SL_OK;
    }
    sli_named named = {.mark = name->mark};
    SL_TRY(find_type(walk, field, name, here, &named.type));
    if (named.type == NULL) {
        return SL_OK;
    }
    const sli_section *section = named.type->section;
    if (section != NULL) {
        named.values = sli_arena_alloc(walk->arena, section->struct_size);
        if (named.values == NULL) {
            return SL_ERR_NOMEM;
        }
    }
    memcpy(values + field->offset, &named, sizeof named);
    return resolve_keys(walk, section, field->name_key, node, path, named.values);
}

/* --- Maps of named types ------------------------------------------------------------------- */

static sl_err resolve_map(const schema_walk *walk, const sli_field *field, sli_node *node,
                          const sli_path *path, char *values) {
    if (node->kind != SLI_NODE_MAP) {
        sli_path_error(walk->diag, path, node->mark, "expected a mapping of names, found %s",
                       sli_value_found(node).text);
        return SL_OK;
    }
    int64_t count = (int64_t)node->count;
    if (count < field->min_rows || count > field->max_rows) {
        sli_path_error(walk->diag, path, node->mark,
                       "must have between %lld and %lld names, found %lld",
                       (long long)field->min_rows, (long long)field->max_rows, (long long)count);
        return SL_OK;
    }
    sli_map_values map = {.count = node->count};
    map.entries = sli_arena_array(walk->arena, node->count, sizeof *map.entries);
    if (map.entries == NULL) {
        return SL_ERR_NOMEM;
    }
    memcpy(values + field->offset, &map, sizeof map);
    sli_field item = *field; /* of an entry: the fallback is that of the whole map */
    item.offset = offsetof(sli_named_entry, value);
    item.fallback = NULL;
    sli_named_entry *entry = map.entries;
    for (sli_node *child = node->first; child != NULL; child = child->next, entry++) {
        sli_path here = {.parent = path, .key = child->key};
        entry->key = child->key;
        if (child->kind != SLI_NODE_SCALAR || !child->is_flawed) {
            SL_TRY(resolve_named(walk, &item, child, &here, (char *)entry));
        }
    }
    return SL_OK;
}

/* --- Tables -------------------------------------------------------------------------------- */

static sl_err resolve_table_row(const schema_walk *walk, const sli_section *section, sli_node *row,
                                const sli_path *path, char *values) {
    const char *columns;
    SL_TRY(sli_row_text(walk->arena, section, &columns));
    if (row->kind != SLI_NODE_LIST) {
        sli_path_error(walk->diag, path, row->mark, "expected a row [%s], found %s", columns,
                       sli_value_found(row).text);
        return SL_OK;
    }
    if (row->count != section->param_count) {
        sli_path_error(walk->diag, path, row->mark, "expected the %zu values [%s], found %zu",
                       section->param_count, columns, row->count);
        return SL_OK;
    }
    sli_node *item = row->first;
    for (size_t i = 0; i < section->param_count; i++) {
        sli_path here = {.parent = path, .key = section->params[i].name};
        SL_TRY(resolve_row(walk, section, i, item, &here, values));
        item = item->next;
    }
    return SL_OK;
}

static sl_err resolve_table(const schema_walk *walk, const sli_field *field, sli_node *node,
                            const sli_path *path, char *values) {
    const sli_section *section = field->section;
    if (node->kind != SLI_NODE_LIST) {
        const char *columns;
        SL_TRY(sli_row_text(walk->arena, section, &columns));
        sli_path_error(walk->diag, path, node->mark, "expected a list of rows [%s], found %s",
                       columns, sli_value_found(node).text);
        return SL_OK;
    }
    int64_t count = (int64_t)node->count;
    if (count < field->min_rows || count > field->max_rows) {
        sli_path_error(walk->diag, path, node->mark,
                       "must have between %lld and %lld rows, found %lld",
                       (long long)field->min_rows, (long long)field->max_rows, (long long)count);
        return SL_OK;
    }
    char *rows = sli_arena_array(walk->arena, node->count, section->struct_size);
    if (rows == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_path here = {.parent = path};
    for (sli_node *row = node->first; row != NULL; row = row->next) {
        if (!row->is_flawed) {
            SL_TRY(resolve_table_row(walk, section, row, &here,
                                     rows + here.index * section->struct_size));
        }
        here.index++;
    }
    sli_table table = {.rows = rows, .count = node->count};
    memcpy(values + field->offset, &table, sizeof table);
    return SL_OK;
}

/* --- Figures with a source ----------------------------------------------------------------- */

static const sl_param sourced_params[] = {
    {.name = "source", .type = SL_TYPE_STRING, .offset = offsetof(sli_sourced, source)},
    {.name = "date", .type = SL_TYPE_STRING, .offset = offsetof(sli_sourced, date)},
    {.name = "assumed",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .offset = offsetof(sli_sourced, is_assumed)},
};
static const sli_section sourced_section = {
    .params = sourced_params, .param_count = 3, .struct_size = sizeof(sli_sourced)};

/* 2024, 2024-03 or 2024-03-18. */
static bool is_date(const char *text) {
    static const char form[] = "0000-00-00";
    size_t length = strlen(text);
    if (length != 4 && length != 7 && length != 10) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool is_right = form[i] == '0' ? isdigit((unsigned char)text[i]) != 0 : text[i] == '-';
        if (!is_right) {
            return false;
        }
    }
    return true;
}

/* A bare value: the fallback, since it has no source. */
static sl_err resolve_bare(const schema_walk *walk, const sli_field *field, sli_node *node,
                           const sli_path *path, char *values) {
    bool is_fallback = field->fallback != NULL && node->kind == SLI_NODE_SCALAR &&
                       strcmp(node->text, field->fallback) == 0;
    if (node->origin != SLI_ORIGIN_DEFAULT && !is_fallback) {
        sli_path_error(walk->diag, path, node->mark, "expected {value, source, date}, found %s",
                       sli_value_found(node).text);
        return SL_OK;
    }
    return go_on(
        sli_value_read(walk->arena, &field->section->params[0], node, path, walk->diag, values));
}

static sl_err resolve_sourced(const schema_walk *walk, const sli_field *field, sli_node *node,
                              const sli_path *path, char *values) {
    if (node->kind != SLI_NODE_MAP) {
        return resolve_bare(walk, field, node, path, values);
    }
    sli_sourced sourced = {.is_set = node->origin != SLI_ORIGIN_DEFAULT};
    sli_node *value = sli_node_find(node, "value");
    if (value == NULL) {
        sli_path_error(walk->diag, path, node->mark, "missing required key 'value'");
    } else if (!value->is_flawed) {
        sli_path here = {.parent = path, .key = "value"};
        SL_TRY(go_on(sli_value_read(walk->arena, &field->section->params[0], value, &here,
                                    walk->diag, values)));
    }
    SL_TRY(resolve_keys(walk, &sourced_section, "value", node, path, (char *)&sourced));
    if (sourced.date != NULL && !is_date(sourced.date)) {
        sli_path here = {.parent = path, .key = "date"};
        sli_path_error(walk->diag, &here, sli_node_find(node, "date")->mark,
                       "expected a date (YYYY, YYYY-MM or YYYY-MM-DD), found '%s'",
                       sli_excerpt_of(sourced.date).text);
    }
    memcpy(values + field->offset, &sourced, sizeof sourced);
    return SL_OK;
}

/* --- The walk ------------------------------------------------------------------------------ */

static sl_err resolve_field(const schema_walk *walk, const sli_field *field, sli_node *node,
                            const sli_path *path, char *values) {
    switch (field->kind) {
    case SLI_FIELD_SECTION:
        return resolve_section(walk, field->section, node, path, values + field->offset);
    case SLI_FIELD_ONE_OF:
        return resolve_one_of(walk, field, node, path, values);
    case SLI_FIELD_NAMED:
        return resolve_named(walk, field, node, path, values);
    case SLI_FIELD_MAP:
        return resolve_map(walk, field, node, path, values);
    case SLI_FIELD_TABLE:
        return resolve_table(walk, field, node, path, values);
    case SLI_FIELD_SOURCED:
        return resolve_sourced(walk, field, node, path, values);
    }
    return SL_ERR_BUG;
}

static sl_err resolve_row(const schema_walk *walk, const sli_section *section, size_t row,
                          sli_node *node, const sli_path *path, char *values) {
    if (node->kind == SLI_NODE_SCALAR && node->is_flawed) {
        return SL_OK;
    }
    if (sli_row_is_param(section, row)) {
        if (!unfold(walk, node, NULL, path)) {
            return SL_OK;
        }
        return go_on(
            sli_value_read(walk->arena, &section->params[row], node, path, walk->diag, values));
    }
    return resolve_field(walk, sli_row_field(section, row), node, path, values);
}

sl_err sli_schema_resolve(sli_arena *arena, const sli_section *section, const void *context,
                          sli_node *root, sli_diag *diag, void *values) {
    schema_walk walk = {.arena = arena, .context = context, .diag = diag};
    int errors_before = diag->error_count;
    SL_TRY(resolve_section(&walk, section, root, NULL, values));
    if (diag->is_out_of_memory) {
        return SL_ERR_NOMEM;
    }
    return root->is_flawed || diag->error_count > errors_before ? SL_ERR_CONFIG : SL_OK;
}
