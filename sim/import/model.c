#include "import/model.h"

#include "base/check.h"
#include "import/groups.h"

#include <ctype.h>
#include <string.h>

enum { LINE_MAX_COLUMNS = 99 };

/* ---- Parts ---- */

static void append(sli_import_part *part, const char *text) {
    part->text = sli_arena_printf(part->model->arena, "%s%s", part->text, text);
    if (part->text == NULL) {
        part->model->is_out_of_memory = true;
        part->text = "";
    }
}

static void add_key(sli_import_part *part, const char *key, const char *value) {
    append(part, part->is_fresh ? "" : ", ");
    append(part, key);
    append(part, ": ");
    append(part, value);
    part->is_fresh = false;
}

static sli_import_part *add_part(sli_import_model *model, sli_import_part *parts, const char *name,
                                 const char *type) {
    size_t count = 0;
    while (parts[count].name != NULL) {
        count++;
    }
    SL_ASSERT(count + 1 < SLI_IMPORT_PARTS_MAX);
    parts[count] = (sli_import_part){.model = model, .name = name, .text = "", .is_fresh = true};
    add_key(&parts[count], "type", type);
    return &parts[count];
}

sli_import_part *sli_import_mixer(sli_import_model *model, const char *name, const char *type) {
    return add_part(model, model->mixers, name, type);
}

sli_import_part *sli_import_ffn(sli_import_model *model, const char *name, const char *type) {
    return add_part(model, model->ffns, name, type);
}

static void add_number(sli_import_part *part, const char *key, int64_t value, const char *unit) {
    char text[48];
    snprintf(text, sizeof text, "%lld%s", (long long)value, unit);
    if (value != 0) {
        add_key(part, key, text);
    }
}

void sli_import_number(sli_import_part *part, const char *key, int64_t value) {
    add_number(part, key, value, "");
}

void sli_import_tokens(sli_import_part *part, const char *key, int64_t tokens) {
    add_number(part, key, tokens, " tokens");
}

void sli_import_word(sli_import_part *part, const char *key, const char *word) {
    if (word != NULL) {
        add_key(part, key, word);
    }
}

void sli_import_switch(sli_import_part *part, const char *key, bool is_on) {
    sli_import_word(part, key, is_on ? "on" : NULL);
}

void sli_import_open(sli_import_part *part, const char *key) {
    add_key(part, key, "{");
    part->is_fresh = true;
}

void sli_import_close(sli_import_part *part) {
    append(part, "}");
    part->is_fresh = false;
}

/* ---- Layers ---- */

static void add_layers(sli_import_model *model, sli_import_runs *runs, int64_t count,
                       const char *mixer, const char *ffn) {
    sli_import_run *last = runs->count > 0 ? &runs->rows[runs->count - 1] : NULL;
    if (count == 0) {
        return;
    }
    if (last != NULL && strcmp(last->mixer, mixer) == 0 && strcmp(last->ffn, ffn) == 0) {
        last->count += count;
        return;
    }
    if (runs->count == runs->capacity) {
        size_t capacity = runs->capacity > 0 ? 2 * runs->capacity : 16;
        sli_import_run *rows = sli_arena_array(model->arena, capacity, sizeof *rows);
        if (rows == NULL) {
            model->is_out_of_memory = true;
            return;
        }
        if (runs->count > 0) {
            memcpy(rows, runs->rows, runs->count * sizeof *rows);
        }
        runs->rows = rows;
        runs->capacity = capacity;
    }
    runs->rows[runs->count++] = (sli_import_run){.count = count, .mixer = mixer, .ffn = ffn};
}

void sli_import_layers(sli_import_model *model, int64_t count, const char *mixer, const char *ffn) {
    add_layers(model, &model->layers, count, mixer, ffn);
}

void sli_import_mtp_layers(sli_import_model *model, int64_t count, const char *mixer,
                           const char *ffn) {
    add_layers(model, &model->mtp_layers, count, mixer, ffn);
}

void sli_import_note(sli_import_model *model, const char *clause) {
    model->note = model->note == NULL
                      ? clause
                      : sli_arena_printf(model->arena, "%s; %s", model->note, clause);
    model->is_out_of_memory |= model->note == NULL;
}

/* ---- Lines ---- */

/* Puts pieces on lines that begin, but for the first, with so many spaces. */
typedef struct line_writer {
    FILE *file;
    int column;
    int indent;
} line_writer;

static int columns_of(const char *text, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length; i++) {
        columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    return columns;
}

/* A piece stays whole; before it stands a space or a new line, but not where a line begins. */
static void put_piece(line_writer *writer, const char *text, size_t length) {
    int columns = columns_of(text, length);
    bool is_first = writer->column <= writer->indent;
    if (!is_first && writer->column + 1 + columns > LINE_MAX_COLUMNS) {
        fprintf(writer->file, "\n%*s", writer->indent, "");
        writer->column = writer->indent;
        is_first = true;
    }
    fputs(is_first ? "" : " ", writer->file);
    fwrite(text, 1, length, writer->file);
    writer->column += columns + !is_first;
}

/* Up to the first space behind a comma; outside of groups in braces, if they are to stay whole. */
static size_t pair_length(const char *text, bool keeps_groups) {
    size_t length = 0;
    int depth = 0;
    for (; text[length] != '\0'; length++) {
        depth += text[length] == '{';
        depth -= text[length] == '}' && depth > 0;
        bool is_end = text[length] == ' ' && length > 0 && text[length - 1] == ',';
        if (is_end && (depth == 0 || !keeps_groups)) {
            break;
        }
    }
    return length;
}

/* Keys with their values, a group in one line if it fits there. */
static void put_pairs(line_writer *writer, const char *text) {
    while (*text != '\0') {
        size_t length = pair_length(text, true);
        if (writer->indent + columns_of(text, length) > LINE_MAX_COLUMNS) {
            length = pair_length(text, false);
        }
        put_piece(writer, text, length);
        text += length + (text[length] == ' ');
    }
}

static void put_words(line_writer *writer, const char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        put_piece(writer, text, length);
        text += length + (text[length] == ' ');
    }
}

/* ---- Writing ---- */

/* Whether YAML reads a text as it stands, wherever one text is wanted. */
static bool is_plain(const char *text) {
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                               " ._/()+-";
    size_t length = strlen(text);
    return length > 0 && strspn(text, safe) == length && isalnum((unsigned char)text[0]) &&
           text[length - 1] != ' ' && strcmp(text, "null") != 0 && strcmp(text, "Null") != 0 &&
           strcmp(text, "NULL") != 0;
}

static void write_text(const char *key, const char *text, FILE *file) {
    fprintf(file, "%s: ", key);
    if (is_plain(text)) {
        fprintf(file, "%s\n", text);
        return;
    }
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            fprintf(file, "\\%c", *text);
        } else if (iscntrl((unsigned char)*text)) {
            fprintf(file, "\\x%02X", (unsigned)(unsigned char)*text);
        } else {
            fputc(*text, file);
        }
    }
    fputs("\"\n", file);
}

/* On the line of the key, or indented below it. */
static void write_note(const char *note, FILE *file) {
    int length = columns_of(note, strlen(note));
    if (length + (int)strlen("note: ") <= LINE_MAX_COLUMNS) {
        fprintf(file, "note: %s\n", note);
        return;
    }
    line_writer writer = {.file = file, .column = 2, .indent = 2};
    fputs("note:\n  ", file);
    put_words(&writer, note);
    fputc('\n', file);
}

static bool has_experts(const sli_import_model *model) {
    for (size_t i = 0; model->ffns[i].name != NULL; i++) {
        if (strcmp(model->ffns[i].name, "moe") == 0) {
            return true;
        }
    }
    return false;
}

/* `weights: fp8`, or `weights: {experts: mxfp4, else: bf16}`; nothing when all are in bf16. */
static void write_weights(const sli_import_model *model, FILE *file) {
    const sli_import_weights *weights = &model->weights;
    const char *other = weights->other != NULL ? weights->other : "bf16";
    const struct {
        const char *key;
        const char *format;
    } rows[] = {{"experts", has_experts(model) ? weights->experts : NULL},
                {"attention", weights->attention},
                {"embeddings", weights->embeddings}};
    const char *before = "weights: {";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].format != NULL && strcmp(rows[i].format, other) != 0) {
            fprintf(file, "%s%s: %s", before, rows[i].key, rows[i].format);
            before = ", ";
        }
    }
    if (before[0] == ',') {
        fprintf(file, ", else: %s}\n", other);
    } else if (strcmp(other, "bf16") != 0) {
        fprintf(file, "weights: %s\n", other);
    }
}

static void write_head(const sli_import_model *model, FILE *file) {
    write_text("name", model->name, file);
    fputs("source: imported from config.json\n", file);
    if (model->has_assumptions) {
        fputs("confidence: mixed\n", file);
    }
    if (model->note != NULL) {
        write_note(model->note, file);
    }
    write_weights(model, file);
    fprintf(file, "hidden: %lld\nvocab: %lld tokens\ntie_embeddings: %s\n",
            (long long)model->hidden, (long long)model->vocab_tokens,
            model->has_tied_embeddings ? "on" : "off");
    if (model->layer_embedding > 0) {
        fprintf(file, "layer_embedding: %lld\n", (long long)model->layer_embedding);
    }
    if (model->hyper_streams > 0) {
        fprintf(file, "hyper_streams: %lld\n", (long long)model->hyper_streams);
    }
    if (model->context_tokens > 0) {
        fprintf(file, "context_native: %lld tokens\n", (long long)model->context_tokens);
    } else {
        fputs("context_native: unlimited\n", file);
    }
}

static sl_err write_part(const sli_import_part *part, FILE *file) {
    const char *text = sli_arena_printf(part->model->arena, "%s}", part->text);
    if (text == NULL) {
        return SL_ERR_NOMEM;
    }
    int indent = fprintf(file, "  %s: {", part->name);
    line_writer writer = {.file = file, .column = indent, .indent = indent};
    put_pairs(&writer, text);
    fputc('\n', file);
    return SL_OK;
}

/* The parts that the runs name, in that order; `role` is the offset of the name in a run. */
static sl_err write_used(const sli_import_runs *runs, const sli_import_part *parts, size_t role,
                         bool *is_written, FILE *file) {
    for (size_t i = 0; i < runs->count; i++) {
        const char *const *name = (const void *)((const char *)&runs->rows[i] + role);
        for (size_t k = 0; parts[k].name != NULL; k++) {
            if (!is_written[k] && strcmp(parts[k].name, *name) == 0) {
                SL_TRY(write_part(&parts[k], file));
                is_written[k] = true;
            }
        }
    }
    return SL_OK;
}

static sl_err write_parts(const sli_import_model *model, const char *key,
                          const sli_import_part *parts, size_t role, FILE *file) {
    bool is_written[SLI_IMPORT_PARTS_MAX] = {false};
    fprintf(file, "%s:\n", key);
    SL_TRY(write_used(&model->layers, parts, role, is_written, file));
    return write_used(&model->mtp_layers, parts, role, is_written, file);
}

static void put_run(line_writer *writer, const char *before, const sli_import_run *run,
                    const char *behind) {
    char piece[128];
    int length = snprintf(piece, sizeof piece, "%s[%lld, %s, %s]%s", before, (long long)run->count,
                          run->mixer, run->ffn, behind);
    put_piece(writer, piece, (size_t)length);
}

/* The rows of a group; `end` stands behind the last. */
static void put_group(line_writer *writer, const sli_import_run *runs, sli_import_group group,
                      const char *end) {
    char opening[32] = "";
    char closing[8];
    bool is_repeat = group.times > 1;
    if (is_repeat) {
        snprintf(opening, sizeof opening, "[%zu, [", group.times);
    }
    snprintf(closing, sizeof closing, "%s%s", is_repeat ? "]]" : "", end);
    for (size_t i = 0; i < group.rows; i++) {
        put_run(writer, i == 0 ? opening : "", &runs[i], i + 1 < group.rows ? "," : closing);
    }
}

/* One a line; a repeat that is longer goes on below its first row. */
static void write_block(const sli_import_runs *runs, const sli_import_groups *groups, FILE *file) {
    const sli_import_run *run = runs->rows;
    for (size_t i = 0; i < groups->count; i++) {
        sli_import_group group = groups->entries[i];
        int column = fprintf(file, "  - ");
        int indent = column + (group.times > 1 ? snprintf(NULL, 0, "[%zu, [", group.times) : 0);
        line_writer writer = {.file = file, .column = column, .indent = indent};
        put_group(&writer, run, group, "");
        fputc('\n', file);
        run += group.rows * group.times;
    }
}

/* In lines as long as they may be. */
static void write_flow(const sli_import_runs *runs, const sli_import_groups *groups, FILE *file) {
    const sli_import_run *run = runs->rows;
    line_writer writer = {.file = file, .column = 3, .indent = 3};
    fputs("  [", file);
    for (size_t i = 0; i < groups->count; i++) {
        put_group(&writer, run, groups->entries[i], i + 1 < groups->count ? "," : "]");
        run += groups->entries[i].rows * groups->entries[i].times;
    }
    fputc('\n', file);
}

static sl_err write_layers(const char *key, const sli_import_runs *runs, sli_arena *arena,
                           FILE *file) {
    enum { BLOCK_GROUPS_MAX = 8 };
    sli_import_groups groups;
    SL_TRY(sli_import_group_runs(arena, runs, &groups));
    fprintf(file, "%s:  # count, attention, ffn\n", key);
    if (groups.count <= BLOCK_GROUPS_MAX) {
        write_block(runs, &groups, file);
    } else {
        write_flow(runs, &groups, file);
    }
    return SL_OK;
}

sl_err sli_import_write(const sli_import_model *model, FILE *file) {
    if (model->is_out_of_memory) {
        return SL_ERR_NOMEM;
    }
    write_head(model, file);
    SL_TRY(write_parts(model, "attention", model->mixers, offsetof(sli_import_run, mixer), file));
    SL_TRY(write_parts(model, "ffn", model->ffns, offsetof(sli_import_run, ffn), file));
    SL_TRY(write_layers("layers", &model->layers, model->arena, file));
    if (model->mtp_layers.count > 0) {
        SL_TRY(write_layers("mtp_layers", &model->mtp_layers, model->arena, file));
    }
    return ferror(file) ? SL_ERR_IO : SL_OK;
}
