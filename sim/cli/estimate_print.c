#include "cli/estimate_print.h"

#include "cli/estimate_advice.h"
#include "cli/estimate_query.h"
#include "cli/estimate_remarks.h"
#include "cli/numbers.h"

#include <math.h>
#include <stdarg.h>

/* ---- For people ---- */

enum { LABEL_COLUMNS = 24, SIZE_COLUMNS = 10, BYTES_COLUMNS = 23 };

static void print_group(FILE *file, const char *name) {
    fprintf(file, "\n  %s\n", name);
}

static void print_line(FILE *file, const char *label, double bytes, const char *format, ...)
    SL_PRINTF(4, 5);

/* A figure; the format is for the remark behind it, which may be empty. */
static void print_line(FILE *file, const char *label, double bytes, const char *format, ...) {
    char remark[128];
    va_list args;
    va_start(args, format);
    vsnprintf(remark, sizeof remark, format, args);
    va_end(args);
    fprintf(file, "    %-*s%*s%*s%s%s\n", LABEL_COLUMNS, label, SIZE_COLUMNS,
            sli_say_bytes(bytes).text, bytes > 0.0 ? BYTES_COLUMNS : 0,
            bytes > 0.0 ? sli_say_count(llround(bytes)).text : "", remark[0] != '\0' ? "   " : "",
            remark);
}

typedef struct requests_text {
    char text[64];
} requests_text;

/* `2 requests`, or `1 request`. */
static requests_text say_requests(int64_t requests) {
    requests_text said;
    snprintf(said.text, sizeof said.text, "%s request%s", sli_say_count(requests).text,
             requests == 1 ? "" : "s");
    return said;
}

typedef struct formats_text {
    char text[96];
} formats_text;

/* `bf16`, or `as published: mxfp4 experts, bf16 else`. */
static formats_text say_weights(const sli_estimate_query *query) {
    const sli_weight_format *plain = &sli_weight_formats[0];
    sli_weights weights = sli_estimate_weight_formats(query);
    bool is_published = query->weights == NULL && query->expert_weights == NULL;
    formats_text said;
    snprintf(said.text, sizeof said.text, "%s%s",
             is_published && !sli_weights_are(&weights, plain) ? "as published: " : "",
             sli_weights_say(&weights).text);
    return said;
}

/* `Qwen3 32B · 8 requests of 32,768 tokens · cache bf16 · weights bf16 · h200 · tp 2` */
static void print_heading(FILE *file, const sli_estimate_query *query) {
    bool is_placed = sli_placement_ranks(&query->placement) > 1;
    sli_placement_text placement = sli_estimate_say_placement(&query->placement);
    char text[768];
    snprintf(text, sizeof text,
             "%.200s · %s of %s tokens · cache %s · weights %s%s%.100s%s%.100s%s%s",
             query->architecture->name, say_requests(query->requests).text,
             sli_say_count(query->tokens).text, query->cache->name, say_weights(query).text,
             query->keep != NULL ? " · keep " : "", query->keep != NULL ? query->keep : "",
             query->device != NULL ? " · " : "", query->device != NULL ? query->device->id : "",
             is_placed ? " · " : "", is_placed ? placement.text : "");
    sli_print_parts(file, text);
}

/* Why a run finds nothing of a prefix, as a clause; `said` is for the one with a number in it. */
static const char *say_unshared(const sli_estimate_sharing *sharing, char *said,
                                size_t said_bytes) {
    switch (sharing->why) {
    case SLI_UNSHARED_NOTHING:
        break;
    case SLI_UNSHARED_SHORT:
        snprintf(said, said_bytes, "it ends before a block of %s tokens does",
                 sli_say_count(sharing->block_tokens).text);
        return said;
    case SLI_UNSHARED_KEPT:
        return "what is left depends on the whole prompt";
    case SLI_UNSHARED_WAITING:
        return "rows that wait in bf16 cannot be shared";
    case SLI_UNSHARED_WINDOWS:
        return "pages of reserved windows cannot be shared";
    case SLI_UNSHARED_STATES:
        return "no state of recurrent layers is saved";
    }
    return NULL;
}

static void print_sharing(FILE *file, const sli_estimate_query *query,
                          const sli_estimate *estimate) {
    const sli_estimate_cache *cache = &estimate->cache;
    const sli_estimate_sharing *sharing = &estimate->sharing;
    char said[96];
    const char *why = say_unshared(sharing, said, sizeof said);
    if (why == NULL && cache->prefix_bytes == 0) {
        why = cache->growing_bytes > 0 ? "none of it is kept at this length"
                                       : "state of fixed size is never shared";
    }
    if (why != NULL) {
        print_line(file, "  shared prefix", 0.0, "saves nothing: %s", why);
        return;
    }
    sli_number found = sli_say_count(sharing->tokens);
    if (sharing->tokens == query->shared_tokens) {
        print_line(file, "  shared prefix", (double)cache->prefix_bytes, "%s tokens, kept once",
                   found.text);
    } else {
        print_line(file, "  shared prefix", (double)cache->prefix_bytes,
                   "%s tokens, whole blocks of %s", found.text,
                   sli_say_count(sharing->block_tokens).text);
    }
    print_line(file, "  all, sharing it", (double)cache->total_bytes, "saves %s",
               sli_say_bytes((double)cache->saved_bytes).text);
}

static void print_cache(FILE *file, const sli_estimate_query *query, const sli_estimate *estimate) {
    const sli_estimate_cache *cache = &estimate->cache;
    print_group(file, "cache");
    const char *nothing = query->keep != NULL ? "adds nothing behind the prompt"
                                              : "adds nothing once all windows are full";
    print_line(file, "a token", cache->token_bytes, "%s", cache->token_bytes > 0.0 ? "" : nothing);
    print_line(file, "a request", (double)cache->request_bytes, "%s", "");
    if (cache->fixed_bytes > 0) {
        print_line(file, "  grows with it", (double)cache->growing_bytes, "%s", "");
        print_line(file, "  state of fixed size", (double)cache->fixed_bytes, "%s", "");
    }
    if (query->requests > 1) {
        print_line(file, "all requests", (double)cache->apart_bytes, "%s",
                   query->shared_tokens > 0 ? "nothing shared" : "");
    }
    if (query->shared_tokens > 0 && query->requests > 1) {
        print_sharing(file, query, estimate);
    }
}

static void print_weights(FILE *file, const sli_estimate_weights *weights) {
    print_group(file, "weights");
    print_line(file, "all", (double)weights->bytes, "%s billion, %s of them a token",
               sli_say_billions((double)weights->params).text,
               sli_say_billions((double)weights->token_params).text);
}

/* `matrices 73.25 GFLOP, attention 556.7 GFLOP, absorbed` */
static void print_flops(FILE *file, const char *label, double linear, double attention,
                        const char *way) {
    fprintf(file, "    %-*s%*s   matrices %s", LABEL_COLUMNS - 1, label, SIZE_COLUMNS + 1,
            sli_say_flops(linear + attention).text, sli_say_flops(linear).text);
    fprintf(file, ", attention %s%s%s\n", sli_say_flops(attention).text, way != NULL ? ", " : "",
            way != NULL ? way : "");
}

static void print_work(FILE *file, const sli_estimate_query *query, const sli_estimate_work *work) {
    const char *decode_way = NULL;
    const char *prefill_way = NULL;
    if (work->has_latents) {
        decode_way = sli_estimate_way_word(work->decode_way);
        prefill_way = sli_estimate_way_word(work->prefill_way);
    }
    print_group(file, "has to be computed");
    print_flops(file, "a decode step", work->decode_linear_flops, work->decode_attention_flops,
                decode_way);
    print_flops(file, "a prompt", work->prefill_linear_flops, work->prefill_attention_flops,
                prefill_way);
    if (work->remade_tokens > 0) {
        fprintf(file, "      latents expanded again for later chunks: %s\n",
                sli_say_count(work->remade_tokens).text);
    }
    if (work->prefill_attention_ns >= 0.0) {
        fprintf(file, "      its attention by %s at %.1f %% of the peak%s: %s\n",
                query->kernel->name, 100.0 * query->kernel->flops_share,
                query->kernel->is_assumed ? ", assumed" : "",
                sli_say_time(work->prefill_attention_ns).text);
    }
}

static void print_step(FILE *file, const sli_estimate_step *step) {
    double bytes = step->cache_bytes + step->weights_bytes;
    print_group(file, "a decode step moves, at least");
    if (step->bandwidth_bytes_per_s <= 0.0) {
        print_line(file, "cache", step->cache_bytes, "%s", "");
        print_line(file, "weights", step->weights_bytes, "%s", "");
        print_line(file, "both", bytes, "%s", "");
        return;
    }
    print_line(file, "cache", step->cache_bytes, "%s", sli_say_time(step->cache_ns).text);
    print_line(file, "weights", step->weights_bytes, "%s", sli_say_time(step->weights_ns).text);
    print_line(file, "both", bytes, "%s at %s a rank", sli_say_time(step->floor_ns).text,
               sli_say_bandwidth(step->bandwidth_bytes_per_s).text);
}

static void print_handoff(FILE *file, const sli_estimate_handoff *handoff) {
    print_group(file, "hand-off from prefill to decode");
    if (handoff->link_bytes_per_s > 0.0) {
        print_line(file, "a request", (double)handoff->bytes, "%s over a link of %s",
                   sli_say_time(handoff->ns).text,
                   sli_say_bandwidth(handoff->link_bytes_per_s).text);
    } else {
        print_line(file, "a request", (double)handoff->bytes, "%s", "");
    }
}

static void print_verdict(FILE *file, const sli_estimate_query *query,
                          const sli_estimate *estimate) {
    const sli_estimate_fit *fit = &estimate->fit;
    fprintf(file, "    %s", say_requests(query->requests).text);
    if (fit->max_requests == SLI_UNBOUNDED) {
        fprintf(file, " fit%s, and as many more as you like\n", query->requests == 1 ? "s" : "");
    } else if (fit->is_met) {
        fprintf(file, " fit%s, %s at most\n", query->requests == 1 ? "s" : "",
                sli_say_count(fit->max_requests).text);
    } else {
        fprintf(
            file, " do%s not fit, %s at most, short by %s\n", query->requests == 1 ? "es" : "",
            sli_say_count(fit->max_requests).text,
            sli_say_bytes((double)(fit->cache_bytes + fit->prompt_bytes - fit->room_bytes)).text);
        sli_estimate_advise(file, query, estimate);
    }
}

static void print_fit_heading(FILE *file, const sli_estimate_query *query, int64_t stage) {
    const sli_placement *placement = &query->placement;
    if (placement->pp > 1) {
        fprintf(file, "\n  memory of the fullest rank, one of stage %lld\n", (long long)stage + 1);
    } else {
        bool is_alone = sli_placement_ranks(placement) == 1;
        print_group(file, is_alone ? "memory of the device" : "memory of the fullest rank");
    }
}

/* The cache of all requests of the rank, and what there is for it. */
static void print_pages(FILE *file, const sli_estimate_query *query, const sli_estimate_fit *fit) {
    double room_bytes = fit->room_bytes > 0 ? (double)fit->room_bytes : 0.0;
    const char *pages = fit->has_unit ? "units" : "pages";
    if (fit->room_bytes <= 0) {
        print_line(file, "left for the cache", room_bytes, "the rest alone is too much");
    } else if (fit->page_bytes > 0) {
        print_line(file, "left for the cache", room_bytes, "%s %s of %s",
                   sli_say_count(fit->pages).text, pages,
                   sli_say_bytes((double)fit->page_bytes).text);
    } else {
        print_line(file, "left for the cache", room_bytes, "%s", "");
    }
    if (fit->page_bytes > 0) {
        print_line(file, "all requests", (double)fit->cache_bytes, "%s %s each, %s wasted",
                   sli_say_count(fit->request_pages).text, pages,
                   fit->wasted_bytes > 0 ? sli_say_bytes((double)fit->wasted_bytes).text
                                         : "nothing");
    } else {
        print_line(file, "all requests", 0.0, "these layers keep nothing");
    }
    if (fit->state_bytes > 0) {
        print_line(file, "  state of fixed size", (double)fit->state_bytes, "%s", "");
    }
    if (fit->prompt_bytes > 0) {
        print_line(file, "  a whole prompt", (double)fit->prompt_bytes,
                   "besides, until it is computed");
    }
    if (fit->has_unit) {
        print_line(file, "  a unit", (double)fit->page_bytes, "all blocks are multiples of it");
    }
    for (int i = 0; i < fit->size_count; i++) {
        print_line(file, i == 0 ? "  sizes of pages" : "", (double)fit->sizes_bytes[i], "%s",
                   i == 0 ? "in vLLM with a pool for each" : "");
    }
    if (fit->block_tokens > 0 && fit->block_tokens != query->block_tokens) {
        fprintf(file, "    %-*s%*s   tokens; %s were asked for\n", LABEL_COLUMNS, "  a block",
                SIZE_COLUMNS, sli_say_count(fit->block_tokens).text,
                sli_say_count(query->block_tokens).text);
    }
}

static void print_fit(FILE *file, const sli_estimate_query *query, const sli_estimate *estimate) {
    const sli_estimate_fit *fit = &estimate->fit;
    print_fit_heading(file, query, fit->stage);
    print_line(file, "usable", (double)fit->usable_bytes, "%.0f %% of %s",
               100.0 * (double)fit->usable_bytes / (double)fit->capacity_bytes,
               sli_say_bytes((double)fit->capacity_bytes).text);
    print_line(file, "weights", (double)fit->weights_bytes, "%s", "");
    print_line(file, "activations", (double)fit->activation_bytes, "estimated");
    if (fit->workspace_bytes > 0) {
        print_line(file, "attention workspace", (double)fit->workspace_bytes, "%s, one layer",
                   query->kernel->keeps_scores ? "scores" : "sums");
    }
    if (fit->expanded_bytes > 0) {
        print_line(file, "latents expanded", (double)fit->expanded_bytes,
                   "keys and values, one layer");
    }
    if (fit->buffers_bytes > 0) {
        print_line(file, "communication buffers", (double)fit->buffers_bytes, "assumed");
    }
    print_line(file, "graphs and others", (double)(fit->graphs_bytes + fit->other_bytes),
               "assumed");
    print_pages(file, query, fit);
    print_verdict(file, query, estimate);
}

static void print_remarks(FILE *file, const sli_remarks *remarks) {
    if (remarks->count > 0) {
        print_group(file, "remarks");
    }
    for (size_t i = 0; i < remarks->count; i++) {
        fputs("    ", file);
        sli_print_wrapped(file, 4, remarks->texts[i]);
    }
}

void sli_estimate_print(FILE *file, const sli_estimate_query *query, const sli_estimate *estimate) {
    print_heading(file, query);
    print_cache(file, query, estimate);
    print_weights(file, &estimate->weights);
    print_work(file, query, &estimate->work);
    print_step(file, &estimate->step);
    print_handoff(file, &estimate->handoff);
    if (query->device != NULL) {
        print_fit(file, query, estimate);
    }
    sli_remarks remarks = sli_estimate_remarks(query);
    print_remarks(file, &remarks);
}

/* ---- For programs ---- */

/* Of each sort of weights. */
static void put_formats(sli_json *json, const sli_estimate_query *query) {
    sli_weights weights = sli_estimate_weight_formats(query);
    sli_json_string(json, "weights_format", weights.of[SLI_WEIGHT_ELSE]->name);
    sli_json_string(json, "expert_weights_format", weights.of[SLI_WEIGHT_EXPERT]->name);
    sli_json_string(json, "attention_weights_format", weights.of[SLI_WEIGHT_ATTENTION]->name);
    sli_json_string(json, "embedding_weights_format", weights.of[SLI_WEIGHT_EMBEDDING]->name);
}

static void put_query(sli_json *json, const sli_estimate_query *query) {
    sli_json_string(json, "model", query->architecture->id);
    sli_json_string(json, "kv", query->cache->name);
    put_formats(json, query);
    sli_json_string(json, "hardware", query->device != NULL ? query->device->id : NULL);
    sli_json_int(json, "tp", query->placement.tp);
    sli_json_int(json, "pp", query->placement.pp);
    sli_json_int(json, "dp", query->placement.dp);
    sli_json_int(json, "cp", query->placement.cp);
    sli_json_int(json, "ep", query->placement.ep);
    sli_json_int(json, "block_tokens", query->block_tokens);
    sli_json_int(json, "max_batched_tokens", query->max_batched_tokens);
    sli_json_string(json, "keep", query->keep);
    sli_json_string(json, "window_pages", sli_estimate_window_word(query->window_pages));
    sli_json_string(json, "prefix_states", sli_estimate_states_word(query->state_saves));
    sli_json_string(json, "attention_kernel", query->kernel != NULL ? query->kernel->name : NULL);
    sli_json_int(json, "tokens", query->tokens);
    sli_json_int(json, "requests", query->requests);
    sli_json_int(json, "shared_tokens", query->shared_tokens);
}

static void put_cache(sli_json *json, const sli_estimate *estimate) {
    const sli_estimate_cache *cache = &estimate->cache;
    char said[96];
    sli_json_open_object(json, "cache");
    sli_json_real(json, "token_bytes", cache->token_bytes);
    sli_json_int(json, "growing_bytes", cache->growing_bytes);
    sli_json_int(json, "fixed_bytes", cache->fixed_bytes);
    sli_json_int(json, "request_bytes", cache->request_bytes);
    sli_json_int(json, "prefix_tokens", estimate->sharing.tokens);
    sli_json_string(json, "prefix_lost", say_unshared(&estimate->sharing, said, sizeof said));
    sli_json_int(json, "prefix_bytes", cache->prefix_bytes);
    sli_json_int(json, "apart_bytes", cache->apart_bytes);
    sli_json_int(json, "total_bytes", cache->total_bytes);
    sli_json_int(json, "saved_bytes", cache->saved_bytes);
    sli_json_close_object(json);
}

static void put_weights(sli_json *json, const sli_estimate_weights *weights) {
    sli_json_open_object(json, "weights");
    sli_json_int(json, "params", weights->params);
    sli_json_int(json, "token_params", weights->token_params);
    sli_json_int(json, "bytes", weights->bytes);
    sli_json_close_object(json);
}

/* null where there is no time because there is no bandwidth */
static void put_known(sli_json *json, const char *key, double value) {
    if (value > 0.0) {
        sli_json_real(json, key, value);
    } else {
        sli_json_null(json, key);
    }
}

static void put_time(sli_json *json, const char *key, double ns) {
    if (ns >= 0.0) {
        sli_json_real(json, key, ns);
    } else {
        sli_json_null(json, key);
    }
}

static void put_work(sli_json *json, const sli_estimate_query *query,
                     const sli_estimate_work *work) {
    int64_t chunk_tokens = query->chunk_tokens > 0 ? query->chunk_tokens : query->tokens;
    sli_json_open_object(json, "work");
    sli_json_real(json, "decode_linear_flops", work->decode_linear_flops);
    sli_json_real(json, "decode_attention_flops", work->decode_attention_flops);
    sli_json_string(json, "decode_latents", sli_estimate_way_word(work->decode_way));
    sli_json_real(json, "prefill_linear_flops", work->prefill_linear_flops);
    sli_json_real(json, "prefill_attention_flops", work->prefill_attention_flops);
    sli_json_string(json, "prefill_latents", sli_estimate_way_word(work->prefill_way));
    sli_json_int(json, "prefill_chunk_tokens", chunk_tokens);
    sli_json_int(json, "expanded_again_tokens", work->remade_tokens);
    put_time(json, "prefill_attention_ns", work->prefill_attention_ns);
    sli_json_close_object(json);
}

static void put_step(sli_json *json, const sli_estimate_step *step) {
    sli_json_open_object(json, "decode_step");
    put_known(json, "bandwidth_bytes_per_s", step->bandwidth_bytes_per_s);
    sli_json_real(json, "cache_bytes", step->cache_bytes);
    sli_json_real(json, "weights_bytes", step->weights_bytes);
    put_time(json, "cache_ns", step->cache_ns);
    put_time(json, "weights_ns", step->weights_ns);
    put_time(json, "floor_ns", step->floor_ns);
    sli_json_close_object(json);
}

static void put_handoff(sli_json *json, const sli_estimate_handoff *handoff) {
    sli_json_open_object(json, "handoff");
    put_known(json, "link_bytes_per_s", handoff->link_bytes_per_s);
    sli_json_int(json, "bytes", handoff->bytes);
    put_time(json, "time_ns", handoff->ns);
    sli_json_close_object(json);
}

static void put_fit(sli_json *json, const sli_estimate_fit *fit) {
    sli_json_open_object(json, "rank");
    sli_json_int(json, "stage", fit->stage);
    sli_json_int(json, "capacity_bytes", fit->capacity_bytes);
    sli_json_int(json, "usable_bytes", fit->usable_bytes);
    sli_json_int(json, "weights_bytes", fit->weights_bytes);
    sli_json_int(json, "activation_bytes", fit->activation_bytes);
    sli_json_int(json, "workspace_bytes", fit->workspace_bytes);
    sli_json_int(json, "expanded_bytes", fit->expanded_bytes);
    sli_json_int(json, "buffers_bytes", fit->buffers_bytes);
    sli_json_int(json, "graphs_bytes", fit->graphs_bytes);
    sli_json_int(json, "other_bytes", fit->other_bytes);
    sli_json_int(json, "room_bytes", fit->room_bytes);
    sli_json_int(json, "page_bytes", fit->page_bytes);
    sli_json_open_array(json, "page_sizes_bytes");
    for (int i = 0; i < fit->size_count; i++) {
        sli_json_int(json, NULL, fit->sizes_bytes[i]);
    }
    sli_json_close_array(json);
    sli_json_int(json, "block_tokens", fit->block_tokens);
    sli_json_int(json, "pages", fit->pages);
    sli_json_int(json, "request_pages", fit->request_pages);
    sli_json_int(json, "cache_bytes", fit->cache_bytes);
    sli_json_int(json, "prompt_bytes", fit->prompt_bytes);
    sli_json_int(json, "wasted_bytes", fit->wasted_bytes);
    sli_json_int(json, "state_bytes", fit->state_bytes);
    if (fit->max_requests == SLI_UNBOUNDED) {
        sli_json_null(json, "max_requests");
    } else {
        sli_json_int(json, "max_requests", fit->max_requests);
    }
    sli_json_bool(json, "fits", fit->is_met);
    sli_json_close_object(json);
}

static void put_remarks(sli_json *json, const sli_estimate_query *query) {
    sli_remarks remarks = sli_estimate_remarks(query);
    sli_json_open_array(json, "remarks");
    for (size_t i = 0; i < remarks.count; i++) {
        sli_json_string(json, NULL, remarks.texts[i]);
    }
    sli_json_close_array(json);
}

void sli_estimate_print_refusal(sli_json *json, const sli_estimate_query *query,
                                const char *refusal) {
    sli_json_open_object(json, NULL);
    put_query(json, query);
    sli_json_string(json, "refusal", refusal);
    sli_json_close_object(json);
}

void sli_estimate_print_json(sli_json *json, const char *key, const sli_estimate_query *query,
                             const sli_estimate *estimate) {
    sli_json_open_object(json, key);
    put_query(json, query);
    put_cache(json, estimate);
    put_weights(json, &estimate->weights);
    put_work(json, query, &estimate->work);
    put_step(json, &estimate->step);
    put_handoff(json, &estimate->handoff);
    if (query->device != NULL) {
        put_fit(json, &estimate->fit);
    }
    put_remarks(json, query);
    sli_json_close_object(json);
}
