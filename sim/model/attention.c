#include "model/attention.h"

#include "base/check.h"
#include "base/divide.h"
#include "base/minmax.h"

#include <stddef.h>
#include <string.h>

enum { SCORE_BYTES = 2, ELEMENT_BYTES = 2, FP32_BYTES = 4 };

/*
 * Shares of the bf16 peak. fa2 and fa3 are the fits of hwprofiles for A100 and H100 to
 * aiconfigurator's tables of context attention; the range of FlashAttention on A100 is from the
 * abstract of FlashAttention-2 (Dao 2023), its middle is taken. Nothing says what writing scores
 * down reaches: the share is a guess. 32 is what vLLM splits keys into at most in a CUDA graph
 * (flash_attn_max_num_splits_for_cuda_graph), and reserves buffers for.
 */
const sli_attention_kernel sli_attention_kernels[] = {
    {.name = "naive",
     .help = "writes the scores of a layer down, queries x keys for each head",
     .keeps_scores = true,
     .splits = 1,
     .flops_share = 0.15,
     .source = "a guess",
     .is_assumed = true},
    {.name = "fa1",
     .help = "FlashAttention: tiles, no scores in memory",
     .splits = 1,
     .flops_share = 0.325,
     .source = "25 to 40 % on A100 (Dao 2023)",
     .is_assumed = true},
    {.name = "fa2",
     .help = "FlashAttention-2: more of the work in parallel",
     .splits = 1,
     .flops_share = 0.593,
     .source = "fit to aiconfigurator's A100 tables"},
    {.name = "fa3",
     .help = "FlashAttention-3: for Hopper",
     .splits = 1,
     .flops_share = 0.658,
     .source = "fit to aiconfigurator's H100 tables"},
    {.name = "split_kv",
     .help = "as fa2, and decode rows in up to 32 parts of their keys",
     .splits = 32,
     .flops_share = 0.593,
     .source = "fit to aiconfigurator's A100 tables"},
    {.name = NULL},
};

const sli_attention_kernel *sli_attention_kernel_find(const char *name) {
    for (const sli_attention_kernel *row = sli_attention_kernels; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

int64_t sli_attention_heads(const sli_part_facts *mixer, int64_t tp) {
    return mixer->summed_elements > 0 ? sli_divide_up(mixer->decode[0].pieces, tp) : 0;
}

int64_t sli_attention_partial_bytes(const sli_part_facts *mixer, int64_t tp) {
    return sli_attention_heads(mixer, tp) * (mixer->summed_elements + 1) * FP32_BYTES;
}

/* No memory reaches it; sums of a few stay below 2^63. */
static const double beyond_bytes = 0x1p60;

/* Of a product that may be beyond all numbers; exact up to 2^53. */
static int64_t to_bytes(double bytes) {
    return (int64_t)(bytes < beyond_bytes ? bytes : beyond_bytes);
}

/* ---- Workspace ---- */

static int64_t part_workspace(const sli_part_facts *facts, const sli_attention_kernel *kernel,
                              const sli_attention_load *load) {
    int64_t heads = sli_attention_heads(facts, load->tp);
    int64_t queries = sli_max_i64(load->query_tokens, load->decodes);
    double rows = (double)heads * (double)queries;
    if (kernel->keeps_scores) {
        return to_bytes(rows * (double)load->context_tokens * SCORE_BYTES);
    }
    int64_t sums_bytes = to_bytes(rows * FP32_BYTES);
    double parts = (double)(kernel->splits * load->decodes);
    double part_bytes = (double)sli_attention_partial_bytes(facts, load->tp);
    return kernel->splits > 1 ? sli_max_i64(sums_bytes, to_bytes(parts * part_bytes)) : sums_bytes;
}

int64_t sli_attention_workspace_bytes(const sli_architecture *architecture,
                                      const sli_attention_kernel *kernel,
                                      const sli_attention_load *load) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t bytes = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        bytes = sli_max_i64(bytes, part_workspace(&runs[i].mixer->facts, kernel, load));
    }
    return bytes;
}

/* ---- Latents ---- */

static bool has_latent(const sli_part_facts *facts) {
    return facts->latent.expanded_elements > 0;
}

/* The first mixer with latents, or NULL. */
static const sli_part_facts *find_latent(const sli_architecture *architecture) {
    const sli_layer_run *runs = architecture->layers.rows;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        if (has_latent(&runs[i].mixer->facts)) {
            return &runs[i].mixer->facts;
        }
    }
    return NULL;
}

bool sli_attention_has_latents(const sli_architecture *architecture) {
    return find_latent(architecture) != NULL;
}

sli_latent_way sli_attention_decode_way(const sli_architecture *architecture,
                                        sli_latent_way asked) {
    SL_ASSERT(sli_attention_has_latents(architecture));
    return asked != SLI_LATENT_AS_MODEL ? asked : SLI_LATENT_ABSORBED;
}

sli_latent_way sli_attention_prefill_way(const sli_architecture *architecture,
                                         sli_latent_way asked) {
    const sli_part_facts *facts = find_latent(architecture);
    SL_ASSERT(facts != NULL);
    if (asked != SLI_LATENT_AS_MODEL) {
        return asked;
    }
    return facts->prefix_flops > 0.0 ? SLI_LATENT_EXPANDED : SLI_LATENT_ABSORBED;
}

int64_t sli_attention_expanded_bytes(const sli_architecture *architecture, int64_t tokens,
                                     int64_t tp) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t elements = 0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        elements = sli_max_i64(elements,
                               sli_attention_heads(facts, tp) * facts->latent.expanded_elements);
    }
    return to_bytes((double)tokens * (double)elements * ELEMENT_BYTES);
}

/* ---- FLOPs ---- */

/* A stretch of queries on top of a prefix, and how many tokens of prefixes are expanded for it. */
typedef struct stretch {
    int64_t prompt_tokens;
    int64_t prefix_tokens;
    int64_t added_tokens;
    int64_t remade_tokens;
    sli_latent_way way;
} stretch;

/* The first work of latents is put as asked. */
double sli_attention_row_flops(const sli_part_facts *facts, const sli_core_work *works, int index,
                               sli_latent_way way) {
    if (index > 0 || !has_latent(facts) || way == SLI_LATENT_AS_MODEL) {
        return works[index].row_flops;
    }
    return way == SLI_LATENT_ABSORBED ? facts->latent.absorbed_row_flops
                                      : facts->latent.expanded_row_flops;
}

static double remake_flops(const sli_part_facts *facts, double as_model, sli_latent_way way) {
    if (!has_latent(facts) || way == SLI_LATENT_AS_MODEL) {
        return as_model;
    }
    return way == SLI_LATENT_ABSORBED ? 0.0 : facts->latent.expand_flops;
}

double sli_attention_decode_remake_flops(const sli_part_facts *facts, sli_latent_way way) {
    return remake_flops(facts, 0.0, way);
}

double sli_attention_prefill_remake_flops(const sli_part_facts *facts, sli_latent_way way) {
    return remake_flops(facts, facts->prefix_flops, way);
}

static double part_flops(const sli_part_facts *facts, const sli_core_work *works, int count,
                         const stretch *s) {
    double flops = 0.0;
    for (int i = 0; i < count; i++) {
        int64_t pairs = sli_growth_request_pairs(&works[i].visible, s->prompt_tokens,
                                                 s->prefix_tokens, s->added_tokens);
        flops += sli_attention_row_flops(facts, works, i, s->way) * (double)pairs;
    }
    return flops;
}

double sli_attention_decode_flops(const sli_architecture *architecture, sli_latent_way way,
                                  int64_t tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    int64_t prompt_tokens = sli_max_i64(tokens - 1, 1);
    stretch last = {prompt_tokens, tokens - 1, 1, tokens - 1, way};
    double flops = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        double part = part_flops(facts, facts->decode, facts->decode_count, &last) +
                      sli_attention_decode_remake_flops(facts, way) * (double)last.remade_tokens;
        flops += (double)runs[i].count * part;
    }
    return flops;
}

int64_t sli_attention_remade_tokens(int64_t tokens, int64_t chunk_tokens) {
    SL_DCHECK(tokens >= 1 && chunk_tokens >= 1);
    int64_t chunks = sli_divide_up(tokens, chunk_tokens);
    return chunks % 2 == 0 ? chunk_tokens * (chunks / 2 * (chunks - 1))
                           : chunk_tokens * (chunks * ((chunks - 1) / 2));
}

double sli_attention_prefill_flops(const sli_architecture *architecture, sli_latent_way way,
                                   int64_t tokens, int64_t chunk_tokens) {
    const sli_layer_run *runs = architecture->layers.rows;
    stretch all = {tokens, 0, tokens, sli_attention_remade_tokens(tokens, chunk_tokens), way};
    double flops = 0.0;
    for (size_t i = 0; i < architecture->layers.count; i++) {
        const sli_part_facts *facts = &runs[i].mixer->facts;
        double part = part_flops(facts, facts->prefill, facts->prefill_count, &all) +
                      sli_attention_prefill_remake_flops(facts, way) * (double)all.remade_tokens;
        flops += (double)runs[i].count * part;
    }
    return flops;
}
