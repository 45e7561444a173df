#include "fixture.h"

#include <stdlib.h>
#include <string.h>

void test_bed_fini(test_bed *bed) {
    sli_arena_fini(&bed->arena);
    sli_diag_fini(&bed->diag);
    free(bed->messages);
    free(bed->written);
}

sl_err read_text(test_bed *bed, const char *text) {
    return sli_tree_read_text(&bed->arena, "s.yaml", text, strlen(text), &bed->diag, &bed->root);
}

const char *messages_of(test_bed *bed) {
    size_t size;
    free(bed->messages);
    bed->messages = NULL;
    FILE *file = open_memstream(&bed->messages, &size);
    sli_diag_print(&bed->diag, file);
    fclose(file);
    return bed->messages;
}

const char *written_of(test_bed *bed) {
    size_t size;
    free(bed->written);
    bed->written = NULL;
    FILE *file = open_memstream(&bed->written, &size);
    sl_err err = sli_tree_write(bed->root, file);
    fclose(file);
    return err == SL_OK ? bed->written : "(failed)";
}

/* --- The schema ---------------------------------------------------------------------------- */

static const char *const policies[] = {"fcfs", "priority", NULL};
static const sl_word native[] = {{"native", 0}, {NULL, 0}};

static const sl_word arrival[] = {{"by-arrival", 0}, {NULL, 0}};

static const sl_param server_params[] = {
    {.name = "block",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1024,
     .fallback = "16 tokens",
     .help = "Tokens that one block of KV holds",
     .offset = offsetof(server, block_tokens)},
    {.name = "max_seqs",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 1e18,
     .fallback = "256",
     .help = "Most requests that run at once",
     .offset = offsetof(server, max_seqs)},
    {.name = "policy",
     .type = SL_TYPE_CHOICE,
     .choices = policies,
     .words = arrival,
     .fallback = "fcfs",
     .help = "Order of the queue",
     .offset = offsetof(server, policy)},
};
static const sli_absent server_absent[] = {{"shards", "there is one server"}, {NULL, NULL}};
static const sli_section server_section = {.params = server_params,
                                           .param_count = 3,
                                           .struct_size = sizeof(server),
                                           .shorthand = "block",
                                           .absent = server_absent};

static const sl_param lognormal_params[] = {
    {.name = "mean",
     .type = SL_TYPE_REAL,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .fallback = "1000 tokens",
     .offset = offsetof(lognormal, mean)},
    {.name = "cv",
     .type = SL_TYPE_REAL,
     .max = 1e308 * 10,
     .fallback = "1",
     .offset = offsetof(lognormal, cv)},
};
static const sli_section lognormal_section = {
    .params = lognormal_params, .param_count = 2, .struct_size = sizeof(lognormal)};

static const sl_param quantile_params[] = {
    {.name = "frac", .type = SL_TYPE_REAL, .max = 1, .offset = offsetof(quantile, frac)},
    {.name = "tokens",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .offset = offsetof(quantile, tokens)},
};
static const sli_section quantile_section = {
    .params = quantile_params, .param_count = 2, .struct_size = sizeof(quantile)};

static const sli_section trace_section = {0}; /* a key that says all by being chosen */

/* Offsets of a one-of are into the struct that holds it. */
static const sl_param prompt_params[] = {
    {.name = "fixed",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1048576,
     .offset = offsetof(everything, prompt.fixed)},
};
static const sli_field prompt_fields[] = {
    {.name = "lognormal",
     .kind = SLI_FIELD_SECTION,
     .section = &lognormal_section,
     .fallback = "{}",
     .offset = offsetof(everything, prompt.lognormal)},
    {.name = "quantiles",
     .kind = SLI_FIELD_TABLE,
     .section = &quantile_section,
     .min_rows = 2,
     .max_rows = 4,
     .offset = offsetof(everything, prompt.quantiles)},
    {.name = "trace", .kind = SLI_FIELD_SECTION, .section = &trace_section, .fallback = "{}"},
};
static const sli_section prompt_section = {
    .params = prompt_params, .param_count = 1, .fields = prompt_fields, .field_count = 3};

static const sl_param chunked_params[] = {
    {.name = "chunked",
     .type = SL_TYPE_BOOL,
     .fallback = "on",
     .offset = offsetof(chunked, is_chunked)},
};
static const sli_section chunked_section = {
    .params = chunked_params, .param_count = 1, .struct_size = sizeof(chunked)};

static const sli_named_type *scheduler_types(const void *context, size_t *count) {
    static const sli_named_type types[] = {{"orca", NULL, NULL},
                                           {"vllm_v1", &chunked_section, NULL}};
    (void)context;
    *count = 2;
    return types;
}

static const sl_param bandwidth_params[] = {
    {.name = "value",
     .type = SL_TYPE_REAL,
     .dim = SL_DIM_BYTES_PER_S,
     .max = 1e15,
     .offset = offsetof(everything, bandwidth_bytes_per_s)},
};
static const sli_section bandwidth_section = {.params = bandwidth_params, .param_count = 1};

static const sl_param everything_params[] = {
    {.name = "seed",
     .type = SL_TYPE_INT,
     .max = 1e15,
     .help = "Seed of all random streams",
     .offset = offsetof(everything, seed)},
    {.name = "limit",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TIME,
     .min = 1e6,
     .max = 86400e9,
     .fallback = "1 s",
     .offset = offsetof(everything, limit_ns)},
    {.name = "rate",
     .type = SL_TYPE_REAL,
     .dim = SL_DIM_PER_S,
     .max = 1e9,
     .fallback = "40 /s",
     .offset = offsetof(everything, rate_per_s)},
    {.name = "is_on",
     .type = SL_TYPE_BOOL,
     .fallback = "off",
     .offset = offsetof(everything, is_on)},
    {.name = "title",
     .type = SL_TYPE_STRING,
     .fallback = "\"\"",
     .offset = offsetof(everything, title)},
    {.name = "file", .type = SL_TYPE_PATH, .fallback = "out", .offset = offsetof(everything, file)},
    {.name = "context",
     .type = SL_TYPE_INT,
     .dim = SL_DIM_TOKENS,
     .min = 1,
     .max = 1e9,
     .words = native,
     .fallback = "native",
     .offset = offsetof(everything, context_tokens)},
};
static const sli_field everything_fields[] = {
    {.name = "server",
     .kind = SLI_FIELD_SECTION,
     .section = &server_section,
     .fallback = "{}",
     .offset = offsetof(everything, server)},
    {.name = "prompt",
     .kind = SLI_FIELD_ONE_OF,
     .section = &prompt_section,
     .fallback = "lognormal",
     .help = "Lengths of prompts",
     .offset = offsetof(everything, prompt.kind)},
    {.name = "scheduler",
     .kind = SLI_FIELD_NAMED,
     .name_key = "name",
     .types = scheduler_types,
     .fallback = "vllm_v1",
     .offset = offsetof(everything, scheduler)},
    {.name = "bandwidth",
     .kind = SLI_FIELD_SOURCED,
     .section = &bandwidth_section,
     .fallback = "1 TB/s",
     .offset = offsetof(everything, bandwidth)},
};
const sli_section everything_section = {.params = everything_params,
                                        .param_count = 7,
                                        .fields = everything_fields,
                                        .field_count = 4,
                                        .struct_size = sizeof(everything)};

const char smallest_text[] = "seed: 7\n";

const char fullest_text[] =
    "# a comment\n"
    "bandwidth: {value: 3.35 TB/s, source: 'a sheet: page 2', date: 2024-03}\n"
    "seed: 7\n"
    "limit: 25 ms\n"
    "rate: 0.5 /s\n"
    "is_on: true\n"
    "title: \"he said \\\"no\\\", # and\\nleft\"\n"
    "file: data/a, b.csv\n"
    "context: 4096 tokens\n"
    "server: 32 tokens\n"
    "prompt:\n"
    "  quantiles:\n"
    "    - [0, 10 tokens]\n"
    "    - [0.5, 20 tokens]\n"
    "    - [1, 4000 tokens]\n"
    "scheduler: {name: vllm_v1, chunked: off}\n";
