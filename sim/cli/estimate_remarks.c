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

/* What the cache format is for, `latents and index keys`; empty where all is state. */
typedef struct kept_text {
    char text[96];
} kept_text;

static kept_text say_kept(const bool kept[SLI_ROW_COUNT]) {
    static const char *const names[SLI_ROW_COUNT] = {
        [SLI_ROW_KEY] = "keys and values",
        [SLI_ROW_LATENT] = "latents",
        [SLI_ROW_ENTRY] = "compressed entries",
        [SLI_ROW_INDEX] = "index keys",
    };
    kept_text said = {""};
    size_t used = 0;
    for (int sort = 0; sort < SLI_ROW_COUNT; sort++) {
        if (kept[sort] && names[sort] != NULL) {
            used += (size_t)snprintf(said.text + used, sizeof said.text - used, "%s%s",
                                     used > 0 ? " and " : "", names[sort]);
        }
    }
    return said;
}

/* A format whose own rows the model does not have. */
static void remark_format(const sli_estimate_query *query, sli_remarks *remarks) {
    bool kept[SLI_ROW_COUNT];
    sli_state_sorts(query->architecture, kept);
    const sli_cache_format *plainest = sli_cache_format_plainest(query->cache, kept);
    kept_text said = say_kept(kept);
    if (plainest == query->cache) {
        return;
    }
    if (said.text[0] == '\0') {
        add(remarks,
            "kv %s changes nothing: all that %s keeps is state, which has types of its own",
            query->cache->name, query->architecture->id);
    } else if (plainest == &sli_cache_formats[0]) {
        add(remarks, "kv %s changes nothing: %s keeps %s, which stay in %s", query->cache->name,
            query->architecture->id, said.text, plainest->name);
    } else {
        add(remarks, "kv %s does no more than %s: %s keeps %s only", query->cache->name,
            plainest->name, query->architecture->id, said.text);
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
