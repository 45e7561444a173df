#include "cli/estimate_remarks.h"

#include "base/check.h"
#include "cli/numbers.h"
#include "model/state.h"

#include <stdarg.h>
#include <stdio.h>

SL_PRINTF(2, 3) static void add(sli_remarks *remarks, const char *format, ...) {
    SL_ASSERT(remarks->count < SLI_REMARKS_MAX);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(remarks->texts[remarks->count++], sizeof remarks->texts[0], format, arguments);
    va_end(arguments);
}

/* A format whose own rows the model does not have. */
static void remark_format(const sli_estimate_query *query, sli_remarks *remarks) {
    sli_format_remark remark = sli_state_remark(query->architecture, query->cache);
    if (remark.text[0] != '\0') {
        add(remarks, "%s", remark.text);
    }
}

static void remark_length(const sli_estimate_query *query, sli_remarks *remarks) {
    int64_t native_tokens = query->architecture->context_native_tokens;
    if (query->tokens > native_tokens) {
        add(remarks, "more tokens than the %s that %s was made for",
            sli_say_count(native_tokens).text, query->architecture->id);
    }
}

static void remark_prefix(const sli_estimate_query *query, sli_remarks *remarks) {
    if (query->shared_tokens > 0 && query->requests == 1) {
        add(remarks, "one request alone shares nothing; --concurrency says how many there are");
    }
}

static void remark_keep(const sli_estimate_query *query, sli_remarks *remarks) {
    if (query->keep != NULL) {
        add(remarks, "%s keeps %s; quality is not simulated", query->architecture->keep,
            query->keep_words);
    }
}

sli_remarks sli_estimate_remarks(const sli_estimate_query *query) {
    sli_remarks remarks = {.count = 0};
    remark_keep(query, &remarks);
    remark_format(query, &remarks);
    remark_length(query, &remarks);
    remark_prefix(query, &remarks);
    return remarks;
}
