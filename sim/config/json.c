#include "config/json.h"

#include "config/bytes.h"
#include "config/node.h"
#include "config/path.h"
#include "config/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No honest file comes near these; they keep hostile ones from taking hours or all memory. */
enum { KEYS_MAX = 8192, NODES_MAX = 1000 * 1000 };

typedef struct json_reader {
    sli_arena *arena;
    sli_diag *diag;
    const char *name;
    const char *at;
    const char *end;
    int line;
    int column; /* in characters */
    size_t node_count;
} json_reader;

/* ---- Characters ---- */

static sli_mark here(const json_reader *reader) {
    return (sli_mark){.file = reader->name, .line = reader->line, .column = reader->column};
}

static bool is_at(const json_reader *reader, char wanted) {
    return reader->at < reader->end && *reader->at == wanted;
}

static void advance(json_reader *reader) {
    unsigned char byte = (unsigned char)*reader->at++;
    if (byte == '\n') {
        reader->line++;
        reader->column = 1;
    } else if ((byte & 0xC0) != 0x80) {
        reader->column++;
    }
}

static bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void skip_space(json_reader *reader) {
    while (reader->at < reader->end && is_space(*reader->at)) {
        advance(reader);
    }
}

/* Takes the character if it is the next one. */
static bool take(json_reader *reader, char wanted) {
    if (!is_at(reader, wanted)) {
        return false;
    }
    advance(reader);
    return true;
}

/* What stands at the reader, for messages: a word, or one character. */
static sli_excerpt found(const json_reader *reader) {
    char text[SLI_EXCERPT_BYTES];
    size_t length = 0;
    size_t left = (size_t)(reader->end - reader->at);
    while (length < left && length < sizeof text - 1 && !is_space(reader->at[length]) &&
           (length == 0 || strchr("{}[],:\"", reader->at[length]) == NULL)) {
        length++;
    }
    memcpy(text, reader->at, length);
    text[length] = '\0';
    return sli_excerpt_of(text);
}

static sl_err expected(const json_reader *reader, const char *what) {
    if (reader->at == reader->end) {
        sli_diag_error(reader->diag, here(reader), NULL,
                       "not valid JSON: expected %s, found the end of the file", what);
    } else {
        sli_diag_error(reader->diag, here(reader), NULL, "not valid JSON: expected %s, found '%s'",
                       what, found(reader).text);
    }
    return SL_ERR_CONFIG;
}

/* The file ends, or goes on wrongly, inside something that began at a known place. */
static sl_err unclosed(const json_reader *reader, const char *what, sli_mark start) {
    char wanted[96];
    snprintf(wanted, sizeof wanted, "%s of line %d, column %d", what, start.line, start.column);
    return expected(reader, wanted);
}

/* ---- Strings ---- */

static size_t put_utf8(uint32_t character, char *bytes) {
    if (character < 0x80) {
        bytes[0] = (char)character;
        return 1;
    }
    size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1;) {
        bytes[i] = (char)(0x80 | (character & 0x3F));
        character >>= 6;
    }
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    bytes[0] = (char)(leads[size] | character);
    return size;
}

/* The four digits of an escape; false when there are fewer. */
static bool take_hex(json_reader *reader, uint32_t *value) {
    *value = 0;
    for (int i = 0; i < 4; i++) {
        if (reader->at == reader->end) {
            return false;
        }
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = memchr(digits, *reader->at, sizeof digits - 1);
        if (digit == NULL) {
            return false;
        }
        *value = *value << 4 | ((uint32_t)(digit - digits) & 0xF);
        advance(reader);
    }
    return true;
}

/* What follows `\u`; characters beyond 16 bits come as a pair. */
static bool take_unicode(json_reader *reader, uint32_t *character) {
    uint32_t low = 0;
    if (!take_hex(reader, character)) {
        return false;
    }
    if (*character >= 0xD800 && *character < 0xDC00) {
        if (!take(reader, '\\') || !take(reader, 'u') || !take_hex(reader, &low) || low < 0xDC00 ||
            low > 0xDFFF) {
            return false;
        }
        *character = 0x10000 + ((*character - 0xD800) << 10) + (low - 0xDC00);
    }
    return *character != 0 && !(*character >= 0xDC00 && *character <= 0xDFFF);
}

static bool take_escape(json_reader *reader, char *bytes, size_t *size) {
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    uint32_t character;
    if (take(reader, 'u')) {
        if (!take_unicode(reader, &character)) {
            return false;
        }
        *size = put_utf8(character, bytes);
        return true;
    }
    const char *name = reader->at < reader->end ? memchr(names, *reader->at, sizeof names - 1)
                                                : NULL;
    if (name == NULL) {
        return false;
    }
    advance(reader);
    bytes[0] = values[name - names];
    *size = 1;
    return true;
}

/* Bytes up to the closing quote, escapes counted as they stand; no text becomes longer. */
static size_t raw_length(const json_reader *reader) {
    const char *byte = reader->at;
    while (byte < reader->end && *byte != '"' && *byte != '\n') {
        byte += *byte == '\\' && byte + 1 < reader->end ? 2 : 1;
    }
    return (size_t)(byte - reader->at);
}

/* One character of a string, escaped or not. */
static sl_err take_character(json_reader *reader, sli_mark start, char *bytes, size_t *size) {
    uint32_t character;
    sli_mark mark = here(reader);
    if (take(reader, '\\')) {
        if (!take_escape(reader, bytes, size)) {
            sli_diag_error(reader->diag, mark, NULL, "not valid JSON: an escape that is none");
            return SL_ERR_CONFIG;
        }
        return SL_OK;
    }
    if (reader->at == reader->end || *reader->at == '\n') {
        return unclosed(reader, "the end of the string", start);
    }
    *size = sli_utf8_decode(reader->at, (size_t)(reader->end - reader->at), &character);
    if (*size == 0 || character < 0x20) {
        sli_diag_error(reader->diag, mark, NULL,
                       "not valid JSON: a string cannot hold the byte 0x%02X",
                       (unsigned)(unsigned char)*reader->at);
        return SL_ERR_CONFIG;
    }
    for (size_t i = 0; i < *size; i++) {
        bytes[i] = *reader->at;
        advance(reader);
    }
    return SL_OK;
}

/* The reader stands at the opening quote. */
static sl_err read_string(json_reader *reader, const char **text) {
    sli_mark start = here(reader);
    advance(reader);
    char *bytes = sli_arena_alloc(reader->arena, raw_length(reader) + sizeof "\xF4\x8F\xBF\xBF");
    if (bytes == NULL) {
        return SL_ERR_NOMEM;
    }
    size_t length = 0;
    while (!is_at(reader, '"')) {
        size_t size = 0;
        SL_TRY(take_character(reader, start, bytes + length, &size));
        length += size;
    }
    advance(reader);
    *text = bytes;
    return SL_OK;
}

/* ---- Words ---- */

static size_t digits_at(const char *text) {
    return strspn(text, "0123456789");
}

/* The grammar of RFC 8259, section 6. */
static bool is_number(const char *text) {
    text += *text == '-';
    size_t whole = digits_at(text);
    if (whole == 0 || (*text == '0' && whole > 1)) {
        return false;
    }
    text += whole;
    if (*text == '.') {
        size_t places = digits_at(text + 1);
        if (places == 0) {
            return false;
        }
        text += 1 + places;
    }
    if (*text == 'e' || *text == 'E') {
        text += 1 + (text[1] == '+' || text[1] == '-');
        size_t digits = digits_at(text);
        return digits > 0 && text[digits] == '\0';
    }
    return *text == '\0';
}

static bool is_word(const char *text) {
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return is_number(text);
}

/* A literal or a number, which the tree keeps as text. */
static sl_err read_word(json_reader *reader, const char **text) {
    size_t length = 0;
    size_t left = (size_t)(reader->end - reader->at);
    while (length < left && !is_space(reader->at[length]) &&
           strchr("{}[],:\"", reader->at[length]) == NULL) {
        length++;
    }
    char *word = sli_arena_copy(reader->arena, reader->at, length);
    if (word == NULL) {
        return SL_ERR_NOMEM;
    }
    if (strlen(word) != length || !is_word(word)) {
        return expected(reader, "a value");
    }
    for (size_t i = 0; i < length; i++) {
        advance(reader);
    }
    *text = word;
    return SL_OK;
}

bool sli_json_is_null(const sli_node *node) {
    return node->kind == SLI_NODE_SCALAR && !node->is_quoted && strcmp(node->text, "null") == 0;
}

/* ---- Values ---- */

static sl_err read_value(json_reader *reader, size_t depth, sli_node **node);

static sl_err read_items(json_reader *reader, size_t depth, sli_node *list) {
    advance(reader);
    skip_space(reader);
    if (take(reader, ']')) {
        return SL_OK;
    }
    do {
        sli_node *item;
        SL_TRY(read_value(reader, depth + 1, &item));
        sli_node_append(list, item);
        skip_space(reader);
    } while (take(reader, ','));
    return take(reader, ']') ? SL_OK : unclosed(reader, "',' or ']' in the list", list->mark);
}

/* Appends the value of a key, unless the object has the key already. */
static sl_err read_pair(json_reader *reader, size_t depth, sli_node *map) {
    const char *key;
    skip_space(reader);
    if (!is_at(reader, '"')) {
        return unclosed(reader, "a key in the object", map->mark);
    }
    sli_mark mark = here(reader);
    SL_TRY(read_string(reader, &key));
    skip_space(reader);
    if (!take(reader, ':')) {
        return expected(reader, "':' behind the key");
    }
    sli_node *value;
    SL_TRY(read_value(reader, depth + 1, &value));
    value->key = key;
    value->key_mark = mark;
    const sli_node *first = sli_node_find(map, key);
    if (first != NULL) {
        sli_diag_error(reader->diag, mark, NULL,
                       "duplicate key '%s'; the first is in line %d, column %d",
                       sli_excerpt_of(key).text, first->key_mark.line, first->key_mark.column);
    } else if (map->count == KEYS_MAX) {
        sli_diag_error(reader->diag, mark, NULL, "more than %d keys in one object", KEYS_MAX);
        return SL_ERR_CONFIG;
    } else {
        sli_node_append(map, value);
    }
    return SL_OK;
}

static sl_err read_pairs(json_reader *reader, size_t depth, sli_node *map) {
    advance(reader);
    skip_space(reader);
    if (take(reader, '}')) {
        return SL_OK;
    }
    do {
        SL_TRY(read_pair(reader, depth, map));
        skip_space(reader);
    } while (take(reader, ','));
    return take(reader, '}') ? SL_OK : unclosed(reader, "',' or '}' in the object", map->mark);
}

static sl_err read_scalar(json_reader *reader, sli_node *scalar) {
    scalar->is_quoted = is_at(reader, '"');
    return scalar->is_quoted ? read_string(reader, &scalar->text)
                             : read_word(reader, &scalar->text);
}

static sl_err read_value(json_reader *reader, size_t depth, sli_node **node) {
    skip_space(reader);
    if (depth > SLI_DEPTH_MAX || reader->node_count == NODES_MAX) {
        sli_diag_error(reader->diag, here(reader), NULL, "nested deeper than %d levels, or larger",
                       SLI_DEPTH_MAX);
        return SL_ERR_CONFIG;
    }
    sli_node *fresh = sli_arena_alloc(reader->arena, sizeof *fresh);
    if (fresh == NULL) {
        return SL_ERR_NOMEM;
    }
    reader->node_count++;
    fresh->mark = here(reader);
    *node = fresh;
    if (is_at(reader, '{')) {
        fresh->kind = SLI_NODE_MAP;
        return read_pairs(reader, depth, fresh);
    }
    if (is_at(reader, '[')) {
        fresh->kind = SLI_NODE_LIST;
        return read_items(reader, depth, fresh);
    }
    return read_scalar(reader, fresh);
}

static sl_err read_document(json_reader *reader, sli_node **root) {
    skip_space(reader);
    if (!is_at(reader, '{')) {
        return expected(reader, "an object in braces");
    }
    SL_TRY(read_value(reader, 0, root));
    skip_space(reader);
    return reader->at == reader->end ? SL_OK : expected(reader, "the end of the file");
}

sl_err sli_json_read_text(sli_arena *arena, const char *name, const char *text, size_t length,
                          sli_diag *diag, sli_node **root) {
    static const char byte_order_mark[] = {'\xEF', '\xBB', '\xBF'};
    json_reader reader = {.arena = arena,
                          .diag = diag,
                          .name = name,
                          .at = text,
                          .end = text + length,
                          .line = 1,
                          .column = 1};
    if (length > SLI_TEXT_MAX_BYTES) {
        sli_diag_error(diag, (sli_mark){.file = name}, NULL, "larger than 16 MiB");
        return SL_ERR_CONFIG;
    }
    if (length >= sizeof byte_order_mark && memcmp(text, byte_order_mark, 3) == 0) {
        reader.at += sizeof byte_order_mark;
    }
    int errors_before = diag->error_count;
    sli_node *read = NULL;
    SL_TRY(read_document(&reader, &read));
    if (diag->error_count > errors_before) {
        return SL_ERR_CONFIG;
    }
    *root = read;
    return SL_OK;
}

/* ---- Files ---- */

static sl_err cannot_read(const char *path, int error, sli_diag *diag) {
    sli_diag_error(diag, (sli_mark){.file = path}, NULL, "cannot read it: %s",
                   sli_reason_of(error).text);
    return SL_ERR_CONFIG;
}

sl_err sli_json_read_file(sli_arena *arena, const char *path, sli_diag *diag, sli_node **root) {
    const char *name = sli_arena_strdup(arena, path);
    if (name == NULL) {
        return SL_ERR_NOMEM;
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return cannot_read(name, errno, diag);
    }
    char *text = NULL;
    size_t length = 0;
    sl_err err = sli_bytes_read(file, &text, &length);
    if (err == SL_OK) {
        err = ferror(file) ? cannot_read(name, errno, diag)
                           : sli_json_read_text(arena, name, text, length, diag, root);
    }
    fclose(file);
    free(text);
    return err;
}
