#include "config/schema.h"

#include "config/text.h"

#include <string.h>

enum { INDENT = 2, COMMENT_COLUMN_MAX = 60 };

/* Characters go through the writer so that it knows how far the line has come. */
typedef struct tree_writer {
    FILE *file;    /* NULL = only measure */
    size_t column; /* characters in the line so far */
    size_t widest; /* of all lines that get a comment, up to COMMENT_COLUMN_MAX */
} tree_writer;

static void put(tree_writer *writer, const char *text) {
    if (writer->file != NULL) {
        fputs(text, writer->file);
    }
    for (; *text != '\0'; text++) {
        writer->column += ((unsigned char)*text & 0xC0) != 0x80;
    }
}

static void put_spaces(tree_writer *writer, size_t count) {
    for (size_t i = 0; i < count; i++) {
        put(writer, " ");
    }
}

static void end_line(tree_writer *writer) {
    if (writer->file != NULL) {
        fputc('\n', writer->file);
    }
    writer->column = 0;
}

/* --- Scalars ------------------------------------------------------------------------------- */

/* True unless the text surely reads back, in any place, as the plain scalar that it is. */
static bool needs_quotes(const sli_node *node) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    const char *text = node->text;
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++) {
        if (strcmp(text, nulls[i]) == 0) {
            return true;
        }
    }
    bool has_indicator = strchr("-?:", text[0]) != NULL && (text[1] == ' ' || text[1] == '\0');
    if (node->is_quoted || has_indicator || strchr("#&*!|>'\"%@`= ?:", text[0]) != NULL ||
        strpbrk(text, ",[]{}") != NULL || strstr(text, ": ") != NULL ||
        strstr(text, " #") != NULL || strchr(": ", text[length - 1]) != NULL) {
        return true;
    }
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t size = sli_utf8_decode(text + i, length - i, &character);
        if (size == 0 || !sli_is_printable(character)) {
            return true;
        }
        i += size;
    }
    return false;
}

static void put_quoted(tree_writer *writer, const char *text) {
    size_t length = strlen(text);
    put(writer, "\"");
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t size = sli_utf8_decode(text + i, length - i, &character);
        char piece[16] = {0};
        if (size == 0) { /* only from a working directory that is not UTF-8 */
            snprintf(piece, sizeof piece, "\\x%02X", (unsigned)(unsigned char)text[i]);
            size = 1;
        } else if (character == '"' || character == '\\') {
            snprintf(piece, sizeof piece, "\\%c", (char)character);
        } else if (!sli_is_printable(character)) {
            snprintf(piece, sizeof piece, "\\u%04X", (unsigned)character);
        } else {
            memcpy(piece, text + i, size);
        }
        put(writer, piece);
        i += size;
    }
    put(writer, "\"");
}

static void put_scalar(tree_writer *writer, const sli_node *node) {
    if (needs_quotes(node)) {
        put_quoted(writer, node->text);
    } else {
        put(writer, node->text);
    }
}

/* --- Lines --------------------------------------------------------------------------------- */

/* A value on the rest of a line: a scalar, a list of scalars, or something empty. */
static bool is_inline(const sli_node *node) {
    if (node->kind == SLI_NODE_MAP) {
        return node->count == 0;
    }
    for (const sli_node *item = node->first; item != NULL; item = item->next) {
        if (item->kind != SLI_NODE_SCALAR) {
            return false;
        }
    }
    return true;
}

static void put_inline(tree_writer *writer, const sli_node *node) {
    if (node->kind == SLI_NODE_SCALAR) {
        put_scalar(writer, node);
        return;
    }
    put(writer, node->kind == SLI_NODE_MAP ? "{" : "[");
    for (const sli_node *item = node->first; item != NULL; item = item->next) {
        put_scalar(writer, item);
        put(writer, item->next != NULL ? ", " : "");
    }
    put(writer, node->kind == SLI_NODE_MAP ? "}" : "]");
}

/* Ends the line with the origin of its value, in the column of all comments. */
static void end_value(tree_writer *writer, const sli_node *node) {
    if (writer->file == NULL) {
        if (writer->column > writer->widest && writer->column <= COMMENT_COLUMN_MAX) {
            writer->widest = writer->column;
        }
        end_line(writer);
        return;
    }
    if (writer->column < writer->widest) {
        put_spaces(writer, writer->widest - writer->column);
    }
    put(writer, "  # ");
    const char *file = node->mark.file != NULL ? node->mark.file : "";
    switch (node->origin) {
    case SLI_ORIGIN_DEFAULT:
        put(writer, "default");
        break;
    case SLI_ORIGIN_SET:
        put(writer, "--set");
        break;
    case SLI_ORIGIN_FILE:
        put(writer, sli_excerpt_of(file).text);
        fprintf(writer->file, ":%d", node->mark.line);
        break;
    }
    end_line(writer);
}

static void put_children(tree_writer *writer, const sli_node *parent, size_t indent);

/* What follows `key:` or `-`. */
static void put_value(tree_writer *writer, const sli_node *node, size_t indent) {
    if (is_inline(node)) {
        put(writer, " ");
        put_inline(writer, node);
        end_value(writer, node);
    } else {
        end_line(writer);
        put_children(writer, node, indent + INDENT);
    }
}

static void put_children(tree_writer *writer, const sli_node *parent, size_t indent) {
    for (const sli_node *child = parent->first; child != NULL; child = child->next) {
        put_spaces(writer, indent);
        if (parent->kind == SLI_NODE_LIST) {
            put(writer, "-");
        } else {
            sli_node key = {.text = child->key};
            put_scalar(writer, &key);
            put(writer, ":");
        }
        put_value(writer, child, indent);
    }
}

static void put_root(tree_writer *writer, const sli_node *root) {
    if (is_inline(root)) {
        put_inline(writer, root);
        end_value(writer, root);
    } else {
        put_children(writer, root, 0);
    }
}

sl_err sli_tree_write(const sli_node *root, FILE *file) {
    tree_writer writer = {0};
    put_root(&writer, root); /* measures */
    writer.file = file;
    put_root(&writer, root);
    return ferror(file) ? SL_ERR_IO : SL_OK;
}
