#include "config/parse.h"

#include "base/check.h"
#include "config/bytes.h"
#include "config/node.h"
#include "config/text.h"

#include <string.h>
#include <yaml.h>

/* No honest file comes near these; they keep hostile ones from taking hours or all memory. */
enum { KEYS_MAX = 1024, NODES_MAX = 1000 * 1000 };

typedef struct yaml_reader {
    yaml_parser_t parser;
    const sli_yaml *yaml;
    sli_arena *arena;
    sli_diag *diag;
    size_t node_count;
    bool is_flawed;
} yaml_reader;

static sli_mark mark_at(const sli_yaml *yaml, size_t line, size_t column) {
    sli_mark mark = {.file = yaml->name};
    if (yaml->origin == SLI_ORIGIN_FILE) {
        mark.line = (int)line;
        mark.column = (int)column;
    }
    return mark;
}

/* libyaml counts from 0, and columns in characters. */
static sli_mark mark_of(const yaml_reader *reader, yaml_mark_t mark) {
    return mark_at(reader->yaml, mark.line + 1, mark.column + 1);
}

/* --- Bytes --------------------------------------------------------------------------------- */

/* Whether a line ends at the byte: LF, CR LF and CR end lines in YAML, and so for libyaml. */
static bool ends_line(const sli_yaml *yaml, size_t i) {
    bool is_before_lf = i + 1 < yaml->length && yaml->text[i + 1] == '\n';
    return yaml->text[i] == '\n' || (yaml->text[i] == '\r' && !is_before_lf);
}

/* Stops at the first byte that no text of ours may hold; tabs are most likely indentation. */
static sl_err check_bytes(const sli_yaml *yaml, sli_diag *diag) {
    if (yaml->length > SLI_TEXT_MAX_BYTES) {
        sli_path_error(diag, yaml->path, mark_at(yaml, 0, 0), "larger than 16 MiB");
        return SL_ERR_CONFIG;
    }
    size_t line = 1;
    size_t column = 1;
    size_t size;
    for (size_t i = 0; i < yaml->length; i += size) {
        uint32_t character;
        size = sli_utf8_decode(yaml->text + i, yaml->length - i, &character);
        sli_mark mark = mark_at(yaml, line, column);
        if (size == 0) {
            sli_path_error(diag, yaml->path, mark, "expected UTF-8 text, found the byte 0x%02X",
                           (unsigned)(unsigned char)yaml->text[i]);
            return SL_ERR_CONFIG;
        }
        if (character == '\t') {
            sli_path_error(diag, yaml->path, mark, "expected spaces, found a tab");
            return SL_ERR_CONFIG;
        }
        if (ends_line(yaml, i)) {
            line++;
            column = 1;
            continue;
        }
        if (!sli_is_printable(character) && character != '\r') {
            sli_path_error(diag, yaml->path, mark, "expected text, found the character U+%04X",
                           (unsigned)character);
            return SL_ERR_CONFIG;
        }
        column++;
    }
    return SL_OK;
}

/* --- Events -------------------------------------------------------------------------------- */

/* libyaml's problem and context, such as "while scanning a quoted scalar", in one sentence. */
static sl_err syntax_error(yaml_reader *reader) {
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        return SL_ERR_NOMEM;
    }
    const char *context = parser->context != NULL ? parser->context : "";
    char start[64] = "";
    if (context[0] != '\0' && reader->yaml->origin == SLI_ORIGIN_FILE) {
        snprintf(start, sizeof start, " that starts at line %zu, column %zu",
                 parser->context_mark.line + 1, parser->context_mark.column + 1);
    }
    sli_path_error(reader->diag, reader->yaml->path, mark_of(reader, parser->problem_mark),
                   "not valid YAML: %s%s%s%s",
                   parser->problem != NULL ? parser->problem : "unreadable",
                   context[0] != '\0' ? " " : "", context, start);
    return SL_ERR_CONFIG;
}

/* The caller deletes the event. */
static sl_err next_event(yaml_reader *reader, yaml_event_t *event) {
    if (yaml_parser_parse(&reader->parser, event) == 0) {
        return syntax_error(reader);
    }
    return SL_OK;
}

/* A mistake after which reading can go on. */
static void complain(yaml_reader *reader, const sli_path *path, sli_mark mark,
                     const char *message) {
    reader->is_flawed = true;
    sli_path_error(reader->diag, path, mark, "%s", message);
}

static sl_err new_node(yaml_reader *reader, const sli_path *path, sli_node_kind kind, sli_mark mark,
                       sli_node **node) {
    if (++reader->node_count > NODES_MAX) {
        sli_path_error(reader->diag, path, mark, "the file holds more than %d values", NODES_MAX);
        return SL_ERR_CONFIG;
    }
    sli_node *fresh = sli_arena_alloc(reader->arena, sizeof *fresh);
    if (fresh == NULL) {
        return SL_ERR_NOMEM;
    }
    fresh->kind = kind;
    fresh->mark = mark;
    fresh->origin = reader->yaml->origin;
    *node = fresh;
    return SL_OK;
}

static void refuse_decoration(yaml_reader *reader, const sli_path *path, sli_mark mark,
                              const yaml_char_t *anchor, const yaml_char_t *tag) {
    if (anchor != NULL) {
        complain(reader, path, mark, "YAML anchors are not allowed");
    }
    if (tag != NULL) {
        complain(reader, path, mark, "YAML tags are not allowed");
    }
}

/* --- Nodes --------------------------------------------------------------------------------- */

static bool is_null(const char *text) {
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static sl_err read_scalar(yaml_reader *reader, const yaml_event_t *event, const sli_path *path,
                          sli_node **node) {
    sli_mark mark = mark_of(reader, event->start_mark);
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    sli_node *scalar;
    SL_TRY(new_node(reader, path, SLI_NODE_SCALAR, mark, &scalar));
    scalar->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    scalar->text = sli_arena_copy(reader->arena, text, length);
    if (scalar->text == NULL) {
        return SL_ERR_NOMEM;
    }
    refuse_decoration(reader, path, mark, event->data.scalar.anchor, event->data.scalar.tag);
    if (!scalar->is_quoted && is_null(scalar->text)) {
        complain(reader, path, mark, "has no value");
        scalar->is_flawed = true;
    } else if (strlen(scalar->text) != length) {
        complain(reader, path, mark, "a text cannot hold the character NUL");
        scalar->is_flawed = true;
    }
    *node = scalar;
    return SL_OK;
}

static sl_err read_node(yaml_reader *reader, const yaml_event_t *event, const sli_path *path,
                        size_t depth, sli_node **node);

/* Reads the node of the next event. */
static sl_err read_next(yaml_reader *reader, const sli_path *path, size_t depth, sli_node **node) {
    yaml_event_t event;
    SL_TRY(next_event(reader, &event));
    sl_err err = read_node(reader, &event, path, depth, node);
    yaml_event_delete(&event);
    return err;
}

static sl_err read_list(yaml_reader *reader, const yaml_event_t *start, const sli_path *path,
                        size_t depth, sli_node **node) {
    sli_mark mark = mark_of(reader, start->start_mark);
    sli_node *list;
    SL_TRY(new_node(reader, path, SLI_NODE_LIST, mark, &list));
    refuse_decoration(reader, path, mark, start->data.sequence_start.anchor,
                      start->data.sequence_start.tag);
    for (;;) {
        yaml_event_t event;
        SL_TRY(next_event(reader, &event));
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        sl_err err = SL_OK;
        if (!is_end) {
            sli_path here = {.parent = path, .index = list->count};
            sli_node *item;
            err = read_node(reader, &event, &here, depth + 1, &item);
            if (err == SL_OK) {
                sli_node_append(list, item);
            }
        }
        yaml_event_delete(&event);
        if (err != SL_OK) {
            return err;
        }
        if (is_end) {
            *node = list;
            return SL_OK;
        }
    }
}

/* A list, a mapping or an alias in place of a key: names the mistake and skips key and value. */
static sl_err skip_pair(yaml_reader *reader, const yaml_event_t *key, const sli_path *path,
                        size_t depth) {
    if (key->type != YAML_ALIAS_EVENT) {
        complain(reader, path, mark_of(reader, key->start_mark),
                 key->type == YAML_MAPPING_START_EVENT ? "a key must be a word, found a mapping"
                                                       : "a key must be a word, found a list");
    }
    sli_node *skipped;
    SL_TRY(read_node(reader, key, path, depth + 1, &skipped));
    return read_next(reader, path, depth + 1, &skipped);
}

static void refuse_duplicate(yaml_reader *reader, const sli_path *path, sli_mark mark,
                             sli_mark first) {
    char place[64] = "";
    if (reader->yaml->origin == SLI_ORIGIN_FILE) {
        snprintf(place, sizeof place, "; the first is in line %d, column %d", first.line,
                 first.column);
    }
    reader->is_flawed = true;
    sli_path_error(reader->diag, path, mark, "duplicate key '%s'%s", sli_excerpt_of(path->key).text,
                   place);
}

/* Reads the value of a key into the map, unless the map has the key already. */
static sl_err read_pair(yaml_reader *reader, const yaml_event_t *key, const sli_path *path,
                        size_t depth, sli_node *map) {
    if (key->type != YAML_SCALAR_EVENT) {
        return skip_pair(reader, key, path, depth);
    }
    sli_mark mark = mark_of(reader, key->start_mark);
    size_t length = key->data.scalar.length;
    const char *text = sli_arena_copy(reader->arena, (const char *)key->data.scalar.value, length);
    if (text == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_path here = {.parent = path, .key = text};
    refuse_decoration(reader, &here, mark, key->data.scalar.anchor, key->data.scalar.tag);
    bool is_word = text[0] != '\0' && strlen(text) == length;
    const sli_node *first = sli_node_find(map, text);
    if (!is_word) {
        complain(reader, path, mark, "a key must be a word, found an empty one");
    } else if (first != NULL) {
        refuse_duplicate(reader, &here, mark, first->key_mark);
    } else if (map->count == KEYS_MAX) {
        sli_path_error(reader->diag, path, mark, "more than %d keys in one mapping", KEYS_MAX);
        return SL_ERR_CONFIG;
    }
    sli_node *value;
    SL_TRY(read_next(reader, &here, depth + 1, &value));
    value->key = text;
    value->key_mark = mark;
    if (is_word && first == NULL) {
        sli_node_append(map, value);
    }
    return SL_OK;
}

static sl_err read_map(yaml_reader *reader, const yaml_event_t *start, const sli_path *path,
                       size_t depth, sli_node **node) {
    sli_mark mark = mark_of(reader, start->start_mark);
    sli_node *map;
    SL_TRY(new_node(reader, path, SLI_NODE_MAP, mark, &map));
    refuse_decoration(reader, path, mark, start->data.mapping_start.anchor,
                      start->data.mapping_start.tag);
    for (;;) {
        yaml_event_t key;
        SL_TRY(next_event(reader, &key));
        bool is_end = key.type == YAML_MAPPING_END_EVENT;
        sl_err err = is_end ? SL_OK : read_pair(reader, &key, path, depth, map);
        yaml_event_delete(&key);
        if (err != SL_OK) {
            return err;
        }
        if (is_end) {
            *node = map;
            return SL_OK;
        }
    }
}

static sl_err read_alias(yaml_reader *reader, const yaml_event_t *event, const sli_path *path,
                         sli_node **node) {
    sli_mark mark = mark_of(reader, event->start_mark);
    SL_TRY(new_node(reader, path, SLI_NODE_SCALAR, mark, node));
    complain(reader, path, mark, "YAML aliases are not allowed");
    (*node)->text = "";
    (*node)->is_flawed = true;
    return SL_OK;
}

static sl_err read_node(yaml_reader *reader, const yaml_event_t *event, const sli_path *path,
                        size_t depth, sli_node **node) {
    if (depth > SLI_DEPTH_MAX) {
        sli_path_error(reader->diag, path, mark_of(reader, event->start_mark),
                       "nested deeper than %d levels", SLI_DEPTH_MAX);
        return SL_ERR_CONFIG;
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(reader, event, path, node);
    case YAML_SEQUENCE_START_EVENT:
        return read_list(reader, event, path, depth, node);
    case YAML_MAPPING_START_EVENT:
        return read_map(reader, event, path, depth, node);
    default:
        SL_ASSERT(event->type == YAML_ALIAS_EVENT);
        return read_alias(reader, event, path, node);
    }
}

/* --- Documents ----------------------------------------------------------------------------- */

/* Reads an event and answers its type and place. */
static sl_err step(yaml_reader *reader, yaml_event_type_t *type, sli_mark *mark) {
    yaml_event_t event;
    SL_TRY(next_event(reader, &event));
    *type = event.type;
    *mark = mark_of(reader, event.start_mark);
    yaml_event_delete(&event);
    return SL_OK;
}

static sl_err read_document(yaml_reader *reader, sli_node **root) {
    yaml_event_type_t type;
    sli_mark mark;
    sli_node *document = NULL;
    SL_TRY(step(reader, &type, &mark)); /* start of the stream */
    SL_TRY(step(reader, &type, &mark)); /* start of the document, or end of the stream */
    if (type == YAML_DOCUMENT_START_EVENT) {
        SL_TRY(read_next(reader, reader->yaml->path, 0, &document));
        SL_TRY(step(reader, &type, &mark)); /* end of the document */
        SL_TRY(step(reader, &type, &mark));
        if (type != YAML_STREAM_END_EVENT) {
            sli_path_error(reader->diag, reader->yaml->path, mark,
                           "expected one YAML document, found a second one");
            return SL_ERR_CONFIG;
        }
        document->is_flawed |= reader->is_flawed;
    }
    *root = document;
    return SL_OK;
}

sl_err sli_yaml_parse(sli_arena *arena, const sli_yaml *yaml, sli_diag *diag, sli_node **root) {
    static const char byte_order_mark[] = {'\xEF', '\xBB', '\xBF'};
    sli_yaml body = *yaml;
    if (body.length >= 3 && memcmp(body.text, byte_order_mark, 3) == 0) {
        body.text += 3;
        body.length -= 3;
    }
    SL_TRY(check_bytes(&body, diag));
    yaml_reader reader = {.yaml = &body, .arena = arena, .diag = diag};
    if (yaml_parser_initialize(&reader.parser) == 0) {
        return SL_ERR_NOMEM;
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)body.text, body.length);
    sl_err err = read_document(&reader, root);
    yaml_parser_delete(&reader.parser);
    return err;
}
