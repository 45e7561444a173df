#include "config/bytes.h"
#include "workloads/trace_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The replay of a table: everything was checked before, so there is only a cursor to move. */

typedef struct trace_source {
    sli_trace trace;
    size_t next;
    uint32_t scope;
} trace_source;

static sl_source_event peek(const void *self, int64_t *at_ns) {
    const trace_source *source = self;
    if (source->next == source->trace.count) {
        return SL_SOURCE_IDLE;
    }
    *at_ns = source->trace.rows[source->next].at_ns;
    return SL_SOURCE_ARRIVAL;
}

static void pop(void *self, uint64_t *index, sl_request_desc *desc) {
    trace_source *source = self;
    const sli_trace_row *row = &source->trace.rows[source->next];
    *index = source->next++;
    *desc = (sl_request_desc){
        .prompt_tokens = row->prompt_tokens,
        .output_tokens = row->output_tokens,
        .max_tokens = row->max_tokens,
        .priority = row->priority,
    };
    if (row->id_count > 0) {
        desc->content = (sl_content){.ids = source->trace.ids + row->first_id,
                                     .id_count = (int64_t)row->id_count,
                                     .id_tokens = row->block_tokens,
                                     .scope = source->scope};
    }
}

static void destroy(void *self) {
    trace_source *source = self;
    sli_trace_fini(&source->trace); /* the rest lies in the arena */
}

static const sl_source_ops ops = {.peek = peek, .pop = pop, .destroy = destroy};

static void warn(const sli_line_errors *errors, int64_t count, const char *what) {
    if (count > 0) {
        sli_diag_warning(errors->diag, (sli_mark){.file = errors->file}, NULL, "%lld %s %s",
                         (long long)count, count == 1 ? "row" : "rows", what);
    }
}

/* What was changed in the data is never changed in silence. */
static void warn_of_changes(const sli_trace_notes *notes, const sli_trace_options *options,
                            const sli_line_errors *errors) {
    bool is_floored = options->zero_output == SLI_ZERO_OUTPUT_FLOOR;
    warn(errors, notes->unsorted_count,
         "earlier than the row before; all rows were sorted by time");
    warn(errors, notes->zero_output_count,
         is_floored ? "without output; made 1 token long" : "without output; dropped");
    warn(errors, notes->hash_mismatch_count,
         "with ids that do not fit the prompt or other rows; replayed without ids");
}

/* A file that is plainly in another format would be wrong in every line: that is said once. */
static sl_err check_format(const sli_trace_format *format, const sli_source_env *env,
                           sli_lines *lines) {
    if (!sli_lines_peek(lines) || sli_trace_format_fits(format, lines->text)) {
        return SL_OK;
    }
    const sli_trace_format *other = sli_trace_format_find(lines->text);
    if (other == NULL) {
        return SL_OK;
    }
    sli_line_error(lines->errors, lines->number,
                   "looks like a trace of format %s, not %s; set %s.source: %s", other->name,
                   format->name, env->path, other->name);
    return SL_ERR_CONFIG;
}

static sl_err read_and_prepare(const sli_trace_options *options, const sli_source_env *env,
                               const sli_trace_format *format, sli_line_errors *errors,
                               sli_trace *trace) {
    sli_lines lines = {0};
    if (sli_lines_open(&lines, errors) != SL_OK) {
        sli_source_error(env, "file", "%s", sli_unread_of(options->file, errno).text);
        return SL_ERR_CONFIG;
    }
    sl_err err = check_format(format, env, &lines);
    if (err == SL_OK) {
        err = format->read(&lines, options->block_tokens, trace);
    }
    sli_lines_close(&lines);
    SL_TRY(err);
    if (errors->count > 0) {
        return SL_ERR_CONFIG;
    }
    return sli_trace_prepare(trace, options, env->seed, env->number, errors);
}

sl_err sli_trace_source_create(const sli_trace_options *options, const sli_source_env *env,
                               const sli_trace_format *format, sl_source *source) {
    if (options->window.to_ns >= 0 && options->window.to_ns <= options->window.from_ns) {
        sli_source_error(env, "window", "ends before it begins");
        return SL_ERR_CONFIG;
    }
    trace_source *self = sli_arena_alloc(env->arena, sizeof *self);
    if (self == NULL) {
        return SL_ERR_NOMEM;
    }
    sli_line_errors errors = {.diag = env->diag, .file = options->file};
    sl_err err = read_and_prepare(options, env, format, &errors, &self->trace);
    sl_err complaint = sli_line_errors_close(&errors);
    if (err == SL_OK) {
        err = complaint;
    }
    if (err != SL_OK) {
        sli_trace_fini(&self->trace);
        return err;
    }
    warn_of_changes(&self->trace.notes, options, &errors);
    self->scope = env->number + 1;
    *source = (sl_source){.ops = &ops, .self = self};
    return SL_OK;
}

void sli_trace_describe(const sli_trace_options *options, const char *format, char *text,
                        size_t size) {
    const char *slash = strrchr(options->file, '/');
    const char *name = slash != NULL ? slash + 1 : options->file;
    bool is_scaled = options->rate_scale < 1 || options->rate_scale > 1;
    if (is_scaled) {
        snprintf(text, size, "%s trace %s, rate x %g", format, name, options->rate_scale);
    } else {
        snprintf(text, size, "%s trace %s", format, name);
    }
}
