/*
 * print_table: the closed forms at the size of one layer of Llama 3.1 8B, as the rows of a Markdown
 * table. README.md shows them, and a test holds them against it.
 *
 * The layer: 32 query heads on 8 key-value heads of 128, hidden 4096, feed-forward 14336. Experts
 * are those of Qwen3 30B A3B: 8 of 128, hidden 2048, feed-forward 768; each gets as many tokens.
 */
#include "figures/copy.h"
#include "figures/delta.h"
#include "figures/index.h"
#include "figures/peers.h"
#include "figures/quantized.h"
#include "figures/work.h"

#include <stdio.h>

enum {
    QUERY_HEADS = 32,
    KV_HEADS = 8,
    HEAD_DIM = 128,
    HIDDEN = 4096,
    WIDTH = 14336,
    DECODES = 64,
    TOKENS = 2048, /* of a step of prefill */
    EXPERTS = 128,
    TOP_K = 8,
    EXPERT_HIDDEN = 2048,
    EXPERT_WIDTH = 768,
};

static void print_row(const char *kernel, const char *shape, const kref_work *work) {
    const double million = 1e6;
    printf("| `%s` | %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %lld |\n", kernel,
           shape, (double)work->algorithmic_flops / million, (double)work->matrix_flops / million,
           (double)work->vector_flops / million, (double)work->specials / million,
           (double)work->algorithmic_bytes / million, (double)work->loaded_bytes / million,
           (double)work->copied_bytes / million, (double)work->stored_bytes / million,
           (long long)work->shared_bytes);
}

static kref_attention_shape layer_shape(void) {
    return (kref_attention_shape){
        .query_heads = QUERY_HEADS,
        .kv_heads = KV_HEADS,
        .head_dim = HEAD_DIM,
        .splits = 1,
        .output_bytes = 2,
    };
}

/* "2048 queries over 8192 tokens": all that the last of them sees, they themselves among it. */
typedef struct chunk_text {
    char text[96];
} chunk_text;

static chunk_text describe_chunk(int32_t queries, int32_t tokens, const char *rest) {
    chunk_text it;
    snprintf(it.text, sizeof it.text, "%d queries over %d tokens%s", queries, tokens, rest);
    return it;
}

static void print_prefill(int32_t queries, int32_t tokens, int window_tokens, const char *rest) {
    kref_attention_shape shape = layer_shape();
    shape.sequences = 1;
    shape.queries = &queries;
    shape.tokens = &tokens;
    shape.queries_max = queries;
    shape.window_tokens = window_tokens;
    kref_work work = kref_prefill_attention_work(&shape);
    print_row("prefill_attention", describe_chunk(queries, tokens, rest).text, &work);
}

static void print_decode(int sequences, int32_t length, int splits, const char *text) {
    int32_t tokens[DECODES];
    for (int i = 0; i < sequences; i++) {
        tokens[i] = length;
    }
    kref_attention_shape shape = layer_shape();
    shape.sequences = sequences;
    shape.tokens = tokens;
    shape.splits = splits;
    kref_work work = kref_decode_attention_work(&shape);
    print_row("decode_attention", text, &work);
}

static void print_gemm(int64_t m, int element_bytes, const char *text) {
    kref_gemm_shape shape = {m, 2 * WIDTH, HIDDEN, element_bytes, 2};
    kref_work work = kref_gemm_work(&shape);
    print_row("gemm", text, &work);
}

/* Blocks of 16 tokens of one layer, and the 2048 latents that each of the sequences attends to. */
static void print_copies(void) {
    kref_work copy = kref_block_copy_work(1024, 16 * 2 * 2 * KV_HEADS * HEAD_DIM, 2);
    print_row("block_copy", "1024 blocks of 64 KiB, both by lists", &copy);
    kref_work gather = kref_gather_rows_work(DECODES * 2048, DECODES * 2048, 576);
    print_row("gather_rows", "64 sequences, 2048 latents of 576", &gather);
}

static void print_experts(int tokens, const char *product_text) {
    int32_t counts[EXPERTS];
    for (int i = 0; i < EXPERTS; i++) {
        counts[i] = tokens * TOP_K / EXPERTS;
    }
    kref_expert_shape shape = {
        .counts = counts,
        .experts = EXPERTS,
        .pairs = (int64_t)tokens * TOP_K,
        .top_k = TOP_K,
        .n = 2 * EXPERT_WIDTH,
        .k = EXPERT_HIDDEN,
        .output_bytes = 2,
    };
    kref_work product = kref_expert_gemm_work(&shape);
    print_row("expert_gemm", product_text, &product);
    if (tokens == TOKENS) {
        kref_work router = kref_router_work(tokens, EXPERTS, TOP_K);
        print_row("router", "the same", &router);
        kref_work order = kref_expert_order_work(&shape);
        print_row("expert_order", "the same", &order);
        kref_work sum = kref_expert_sum_work(tokens, TOP_K, EXPERT_HIDDEN, 2);
        print_row("expert_sum", "the same", &sum);
    }
}

static void print_append(kref_cache_format format, const char *text) {
    kref_work work = kref_kv_append_work(format, TOKENS, TOKENS, KV_HEADS, HEAD_DIM);
    print_row("kv_append", text, &work);
}

/* The layers of another model, Kimi Linear: 32 heads of 128 x 128. */
static void print_delta(void) {
    int32_t tokens[DECODES];
    for (int i = 0; i < DECODES; i++) {
        tokens[i] = 1;
    }
    kref_delta_shape shape = {DECODES, tokens, 32, 32, 128, 128, true, 2, 0};
    kref_work step = kref_delta_step_work(&shape);
    print_row("delta_step", "64 sequences, 32 heads, KDA", &step);
    shape.sequences = 1;
    tokens[0] = TOKENS;
    kref_work prefill = kref_delta_prefill_work(&shape);
    print_row("delta_prefill", "2048 tokens, 32 heads, KDA", &prefill);
    shape.has_channel_decays = false;
    prefill = kref_delta_prefill_work(&shape);
    print_row("delta_prefill", "2048 tokens, 32 heads, Gated DeltaNet", &prefill);
}

/* And of DeepSeek-V3.2: 64 heads of an index, of which 2048 tokens are chosen. */
static void print_index(void) {
    int32_t tokens[DECODES];
    for (int i = 0; i < DECODES; i++) {
        tokens[i] = 32768;
    }
    kref_work scores = kref_index_scores_work(DECODES, tokens, 32768, 64, false);
    print_row("index_scores", "64 sequences of 32768, 64 heads", &scores);
    scores = kref_index_scores_work(DECODES, tokens, 32768, 64, true);
    print_row("index_scores", "the same with keys in fp8", &scores);
    kref_work selection = kref_select_top_work(DECODES, tokens, 2048);
    print_row("select_top", "64 rows of 32768, 2048 chosen", &selection);
}

static kref_mla_shape mla_shape(int sequences, const int32_t *tokens, int heads) {
    return (kref_mla_shape){
        .sequences = sequences,
        .tokens = tokens,
        .heads = heads,
        .splits = 1,
        .output_bytes = 2,
    };
}

static void print_mla_prefill(int32_t queries, int32_t tokens, int heads, const char *rest) {
    kref_mla_shape shape = mla_shape(1, &tokens, heads);
    shape.queries = &queries;
    shape.queries_max = queries;
    kref_work work = kref_mla_prefill_work(&shape);
    print_row("mla_prefill", describe_chunk(queries, tokens, rest).text, &work);
}

static void print_mla_decode(int32_t length, int heads, const char *text) {
    int32_t tokens[DECODES];
    for (int i = 0; i < DECODES; i++) {
        tokens[i] = length;
    }
    kref_mla_shape shape = mla_shape(DECODES, tokens, heads);
    kref_work work = kref_mla_decode_work(&shape);
    print_row("mla_decode", text, &work);
}

static void print_quantized(kref_cache_format format, const char *text) {
    int32_t tokens[DECODES];
    for (int i = 0; i < DECODES; i++) {
        tokens[i] = 4096;
    }
    kref_attention_shape shape = layer_shape();
    shape.sequences = DECODES;
    shape.tokens = tokens;
    kref_work work = kref_quantized_decode_work(&shape, format);
    print_row("quantized_decode", text, &work);
}

int main(void) {
    printf("| kernel | shape | algorithmic MFLOP | matrix MFLOP | vector MFLOP | specials M |"
           " algorithmic MB | loaded MB | copied MB | stored MB | shared B a block |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|---|\n");
    print_prefill(TOKENS, TOKENS, 0, "");
    print_prefill(TOKENS, TOKENS + 6144, 0, "");
    print_prefill(TOKENS, TOKENS + 6144, 1024, ", window 1024");
    print_decode(DECODES, 4096, 1, "64 sequences of 4096");
    print_decode(1, 131072, 64, "1 sequence of 131072, 64 splits");
    print_mla_prefill(TOKENS, TOKENS + 6144, 128, ", 128 heads");
    print_mla_decode(4096, 128, "64 sequences of 4096, 128 heads");
    print_mla_decode(4096, 16, "64 sequences of 4096, 16 heads");
    print_gemm(TOKENS, 2, "2048 x 28672, 4096 deep (gate and up)");
    print_gemm(TOKENS, 1, "the same in e4m3");
    print_gemm(1, 2, "1 x 28672, 4096 deep");
    print_experts(DECODES, "64 tokens, 8 of 128 experts, 1536 of 2048 (gate and up)");
    print_experts(TOKENS, "2048 tokens");
    kref_work norm = kref_rms_norm_work(TOKENS, HIDDEN, true);
    print_row("rms_norm", "2048 rows of 4096, with update", &norm);
    kref_work rope = kref_rope_work(TOKENS, TOKENS, QUERY_HEADS, KV_HEADS, HEAD_DIM);
    print_row("rope", "2048 tokens", &rope);
    kref_work activation = kref_activation_work(TOKENS, WIDTH, false, true);
    print_row("activation", "2048 rows of 14336, SiLU, gated", &activation);
    print_copies();
    print_append(KREF_CACHE_FP8, "2048 tokens, fp8");
    print_append(KREF_CACHE_INT8, "2048 tokens, int8");
    print_append(KREF_CACHE_Q4_0, "2048 tokens, q4_0");
    print_delta();
    print_index();
    print_quantized(KREF_CACHE_FP8, "64 sequences of 4096, fp8");
    print_quantized(KREF_CACHE_INT8, "64 sequences of 4096, int8");
    print_quantized(KREF_CACHE_Q4_0, "64 sequences of 4096, q4_0");
    kref_work sum = kref_peer_sum_work(8, 0, (int64_t)TOKENS * HIDDEN);
    print_row("peer_sum", "2048 rows of 4096 over 8 ranks, one of them", &sum);
    return 0;
}
