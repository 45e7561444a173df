#include "trace_check.h"

#include "base/grow.h"
#include "workloads/export.h"
#include "workloads/sources.h"

#include <stdlib.h>

const char *const trace_complaints[] = {
    "is empty",
    "has blank lines only",
    "has a header but no rows",
    "is a Git LFS pointer",
    "no rows are left to replay",
    "and ", /* N more like these */
    NULL,
};

void replay_open(replay *r, create_trace_fn *create, const char *path, bool is_strict) {
    *r = (replay){0};
    sli_trace_options options = {
        .file = path,
        .rate_scale = 1,
        .window = {.to_ns = -1},
        .block_tokens = 512,
        .unsorted = is_strict ? SLI_UNSORTED_ERROR : SLI_UNSORTED_SORT,
        .zero_output = is_strict ? SLI_ZERO_OUTPUT_ERROR : SLI_ZERO_OUTPUT_FLOOR,
        .hash_mismatch = is_strict ? SLI_HASH_MISMATCH_ERROR : SLI_HASH_MISMATCH_DROP_IDS,
    };
    sli_source_env env = {.arena = &r->arena, .seed = 1, .diag = &r->diag, .path = "workload"};
    r->err = create(&options, &env, &r->source);
    MUST((r->err == SL_OK) == (r->source.ops != NULL));
}

void replay_close(replay *r) {
    if (r->source.ops != NULL) {
        r->source.ops->destroy(r->source.self);
    }
    sli_diag_fini(&r->diag);
    sli_arena_fini(&r->arena);
}

typedef struct arrivals {
    struct arrival {
        int64_t at_ns;
        sl_request_desc desc; /* its ids live as long as the source */
    } * items;
    size_t count;
    size_t capacity;
} arrivals;

static arrivals take_all(sl_source *source) {
    arrivals list = {0};
    int64_t at_ns;
    while (source->ops->peek(source->self, &at_ns) == SL_SOURCE_ARRIVAL) {
        MUST(sli_grow(&list.items, &list.capacity, list.count + 1, sizeof *list.items) == SL_OK);
        uint64_t index = UINT64_MAX;
        struct arrival *item = &list.items[list.count];
        item->at_ns = at_ns;
        source->ops->pop(source->self, &index, &item->desc);
        MUST(index == list.count);
        list.count++;
    }
    return list;
}

static void check_arrivals(const arrivals *list) {
    MUST(list->count >= 1);
    for (size_t i = 0; i < list->count; i++) {
        const sl_request_desc *desc = &list->items[i].desc;
        const sl_content *content = &desc->content;
        MUST(list->items[i].at_ns >= (i > 0 ? list->items[i - 1].at_ns : 0));
        MUST(desc->prompt_tokens >= 1 && desc->output_tokens >= 1 && desc->max_tokens >= 0);
        if (content->id_count == 0) {
            continue;
        }
        MUST(content->id_count > 0 && content->id_tokens >= 1 && content->scope >= 1);
        MUST((content->id_count - 1) * content->id_tokens < desc->prompt_tokens);
    }
}

/* One id of one arrival, and all that it says. */
typedef struct standing {
    uint64_t id;
    uint64_t before; /* meaningless at depth 0 */
    int64_t depth;
    int64_t id_tokens;
} standing;

static int by_id(const void *a, const void *b) {
    const standing *x = a;
    const standing *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Wherever an id stands it has the same id before it, the same depth and size: by sorting. */
static void check_prefixes(const arrivals *list) {
    standing *all = NULL;
    size_t count = 0;
    size_t capacity = 0;
    for (size_t i = 0; i < list->count; i++) {
        const sl_content *content = &list->items[i].desc.content;
        for (int64_t k = 0; k < content->id_count; k++) {
            MUST(sli_grow(&all, &capacity, count + 1, sizeof *all) == SL_OK);
            all[count++] = (standing){content->ids[k], k > 0 ? content->ids[k - 1] : 0, k,
                                      content->id_tokens};
        }
    }
    if (count > 0) {
        qsort(all, count, sizeof *all, by_id);
    }
    for (size_t i = 1; i < count; i++) {
        const standing *a = &all[i - 1];
        const standing *b = &all[i];
        MUST(a->id != b->id ||
             (a->depth == b->depth && a->before == b->before && a->id_tokens == b->id_tokens));
    }
    free(all);
}

static void must_be_same(const arrivals *a, const arrivals *b) {
    MUST(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        const sl_request_desc *x = &a->items[i].desc;
        const sl_request_desc *y = &b->items[i].desc;
        MUST(a->items[i].at_ns == b->items[i].at_ns);
        MUST(x->prompt_tokens == y->prompt_tokens && x->output_tokens == y->output_tokens);
        MUST(x->max_tokens == y->max_tokens && x->priority == y->priority);
        MUST(x->content.id_count == y->content.id_count);
        MUST(x->content.id_tokens == y->content.id_tokens);
        for (int64_t k = 0; k < x->content.id_count; k++) {
            MUST(x->content.ids[k] == y->content.ids[k]);
        }
    }
}

static void check_round_trip(const arrivals *list) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    MUST(stream != NULL);
    for (size_t i = 0; i < list->count; i++) {
        MUST(sli_export_arrival(stream, list->items[i].at_ns, &list->items[i].desc) == SL_OK);
    }
    MUST(fclose(stream) == 0);
    replay again;
    replay_open(&again, sli_sluice_create, input_file(text, length), true);
    MUST(again.err == SL_OK);
    arrivals read = take_all(&again.source);
    must_be_same(list, &read);
    free(read.items);
    replay_close(&again);
    free(text);
}

void check_trace(create_trace_fn *create, const void *bytes, size_t length) {
    int line_count = count_lines(bytes, length);
    const char *path = input_file(bytes, length);
    replay strict;
    replay repaired;
    replay_open(&strict, create, path, true);
    replay_open(&repaired, create, path, false);
    must_be_explained(strict.err, &strict.diag, line_count, trace_complaints);
    must_be_explained(repaired.err, &repaired.diag, line_count, trace_complaints);
    if (repaired.err == SL_OK) {
        arrivals list = take_all(&repaired.source);
        check_arrivals(&list);
        check_prefixes(&list);
        check_round_trip(&list);
        /* Strict takes exactly what needs no repair. */
        MUST((strict.err == SL_OK) == (repaired.diag.warning_count == 0));
        if (strict.err == SL_OK) {
            arrivals same = take_all(&strict.source);
            must_be_same(&list, &same);
            free(same.items);
        }
        free(list.items);
    } else {
        MUST(strict.err != SL_OK);
    }
    replay_close(&strict);
    replay_close(&repaired);
}
