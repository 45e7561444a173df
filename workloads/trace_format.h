/*
 * The formats of trace files: how each is read, and how to tell which one a file is in.
 *
 * Part workloads. A format is recognised by one line, the first that is not blank: whether it is
 * JSON, and a text that all such lines hold. That is enough to say which format was meant; whether
 * the file keeps to it is for the reader to find.
 */
#ifndef WORKLOADS_TRACE_FORMAT_H
#define WORKLOADS_TRACE_FORMAT_H

#include "workloads/trace.h"

struct sli_trace_format {
    const char *name; /* the source type that replays it */
    const char *mark; /* in its first line, as `"timestamp"` */
    bool is_json;
    sli_trace_read_fn *read;
};

/* Each in the file of its name. */
extern const sli_trace_format sli_mooncake_format;
extern const sli_trace_format sli_azure_format;
extern const sli_trace_format sli_sluice_format;

/* Whether a file that begins with this line may be in the format. */
bool sli_trace_format_fits(const sli_trace_format *format, const char *line);

/* The format that a file with this first line is in, or NULL. */
const sli_trace_format *sli_trace_format_find(const char *line);

#endif
