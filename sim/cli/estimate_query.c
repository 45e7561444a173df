#include "cli/estimate_query.h"

#include "base/units.h"
#include "cli/command.h"
#include "cli/numbers.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---- Reading ---- */

static sl_err set_amount(const char *text, sl_dim dim, int64_t low, int64_t high, int64_t *target) {
    int64_t amount = 0;
    if (!sli_read_amount(text, dim, &amount) || amount < low || amount > high) {
        return SL_ERR_USAGE;
    }
    *target = amount;
    return SL_OK;
}

static sl_err set_tokens(sli_estimate_input *input, const char *text) {
    return set_amount(text, SL_DIM_TOKENS, 1, SLI_ESTIMATE_TOKENS_MAX, &input->query.tokens);
}

static sl_err set_concurrency(sli_estimate_input *input, const char *text) {
    return set_amount(text, SL_DIM_NONE, 1, SLI_ESTIMATE_REQUESTS_MAX, &input->query.requests);
}

static sl_err set_shared_prefix(sli_estimate_input *input, const char *text) {
    return set_amount(text, SL_DIM_TOKENS, 0, SLI_ESTIMATE_TOKENS_MAX, &input->query.shared_tokens);
}

static sl_err set_ranks(const char *text, int64_t *target) {
    return set_amount(text, SL_DIM_NONE, 1, SLI_ESTIMATE_RANKS_MAX, target);
}

static sl_err set_tp(sli_estimate_input *input, const char *text) {
    return set_ranks(text, &input->query.placement.tp);
}

static sl_err set_pp(sli_estimate_input *input, const char *text) {
    return set_ranks(text, &input->query.placement.pp);
}

static sl_err set_dp(sli_estimate_input *input, const char *text) {
    return set_ranks(text, &input->query.placement.dp);
}

static sl_err set_cp(sli_estimate_input *input, const char *text) {
    return set_ranks(text, &input->query.placement.cp);
}

static sl_err set_ep(sli_estimate_input *input, const char *text) {
    return set_ranks(text, &input->query.placement.ep);
}

static sl_err set_block(sli_estimate_input *input, const char *text) {
    return set_amount(text, SL_DIM_TOKENS, 1, SLI_ESTIMATE_BLOCK_MAX, &input->query.block_tokens);
}

static sl_err set_batched_tokens(sli_estimate_input *input, const char *text) {
    return set_amount(text, SL_DIM_TOKENS, 1, SLI_ESTIMATE_TOKENS_MAX,
                      &input->query.max_batched_tokens);
}

static sl_err set_prefill_chunk(sli_estimate_input *input, const char *text) {
    return set_amount(text, SL_DIM_TOKENS, 1, SLI_ESTIMATE_TOKENS_MAX, &input->query.chunk_tokens);
}

static sl_err set_cache(sli_estimate_input *input, const char *text) {
    const sli_cache_format *format = sli_cache_format_find(text);
    input->query.cache = format != NULL ? format : input->query.cache;
    return format != NULL ? SL_OK : SL_ERR_USAGE;
}

static sl_err set_weights(sli_estimate_input *input, const char *text) {
    int found = sli_choice_find(sli_weight_format_or_published,
                                sli_weight_format_or_published_words, text);
    if (found < 0) {
        return SL_ERR_USAGE;
    }
    input->query.weights = found > 0 ? &sli_weight_formats[found - 1] : NULL;
    return SL_OK;
}

static sl_err set_expert_weights(sli_estimate_input *input, const char *text) {
    const sli_weight_format *format = sli_weight_format_find(text);
    input->query.expert_weights = format != NULL ? format : input->query.expert_weights;
    return format != NULL ? SL_OK : SL_ERR_USAGE;
}

static sl_err set_kernel(sli_estimate_input *input, const char *text) {
    const sli_attention_kernel *kernel = sli_attention_kernel_find(text);
    input->query.kernel = kernel != NULL ? kernel : input->query.kernel;
    return kernel != NULL ? SL_OK : SL_ERR_USAGE;
}

/* The index of a word that is not NULL, or -1. */
static int find_word(const char *const *words, int count, const char *text) {
    for (int i = 0; i < count; i++) {
        if (words[i] != NULL && strcmp(words[i], text) == 0) {
            return i;
        }
    }
    return -1;
}

static const char *const window_words[] = {
    [SLI_WINDOW_FREED] = "freed",
    [SLI_WINDOW_RESERVED] = "reserved",
    [SLI_WINDOW_IGNORED] = "ignored",
};

/* Of prefix.states in a scenario. */
static const char *const state_words[] = {
    [SLI_STATE_ALIGNED] = "aligned",
    [SLI_STATE_NONE] = "none",
};

static const char *const way_words[] = {
    [SLI_LATENT_AS_MODEL] = NULL,
    [SLI_LATENT_ABSORBED] = "absorbed",
    [SLI_LATENT_EXPANDED] = "expanded",
};

static sl_err set_window_pages(sli_estimate_input *input, const char *text) {
    int found = find_word(window_words, (int)COUNT_OF(window_words), text);
    input->query.window_pages = found >= 0 ? (sli_window_pages)found : input->query.window_pages;
    return found >= 0 ? SL_OK : SL_ERR_USAGE;
}

static sl_err set_prefix_states(sli_estimate_input *input, const char *text) {
    int found = find_word(state_words, (int)COUNT_OF(state_words), text);
    input->query.state_saves = found >= 0 ? (sli_state_saves)found : input->query.state_saves;
    return found >= 0 ? SL_OK : SL_ERR_USAGE;
}

static sl_err set_way(const char *text, sli_latent_way *way) {
    int found = find_word(way_words, (int)COUNT_OF(way_words), text);
    *way = found >= 0 ? (sli_latent_way)found : *way;
    return found >= 0 ? SL_OK : SL_ERR_USAGE;
}

static sl_err set_decode_way(sli_estimate_input *input, const char *text) {
    return set_way(text, &input->query.decode_way);
}

static sl_err set_prefill_way(sli_estimate_input *input, const char *text) {
    return set_way(text, &input->query.prefill_way);
}

static sl_err set_model(sli_estimate_input *input, const char *text) {
    return sli_architecture_read(&input->arena, text, (sli_catalogue_site){0}, &input->diag,
                                 &input->query.architecture);
}

static sl_err set_hardware(sli_estimate_input *input, const char *text) {
    return sli_device_read(&input->arena, text, (sli_catalogue_site){0}, &input->diag,
                           &input->query.device);
}

static sl_err set_keep(sli_estimate_input *input, const char *text) {
    return sli_estimate_keep_set(&input->keep, &input->arena, text, &input->diag);
}

static sl_err set_bytes_per_s(const char *text, double *target) {
    double value = 0.0;
    if (sli_parse_real(text, SL_DIM_BYTES_PER_S, &value) != SLI_UNIT_OK || value < 1.0) {
        return SL_ERR_USAGE;
    }
    *target = value;
    return SL_OK;
}

static sl_err set_bandwidth(sli_estimate_input *input, const char *text) {
    return set_bytes_per_s(text, &input->query.bandwidth_bytes_per_s);
}

static sl_err set_link(sli_estimate_input *input, const char *text) {
    return set_bytes_per_s(text, &input->query.link_bytes_per_s);
}

/* ---- Saying ---- */

static const char *say_number(sli_arena *arena, sli_number number) {
    return sli_arena_strdup(arena, number.text);
}

static const char *say_tokens(sli_arena *arena, const sli_estimate_query *query) {
    return say_number(arena, sli_say_count(query->tokens));
}

static const char *say_concurrency(sli_arena *arena, const sli_estimate_query *query) {
    return say_number(arena, sli_say_count(query->requests));
}

static const char *say_shared_prefix(sli_arena *arena, const sli_estimate_query *query) {
    bool is_set = query->shared_tokens > 0;
    return is_set ? say_number(arena, sli_say_count(query->shared_tokens)) : NULL;
}

static const char *say_tp(sli_arena *arena, const sli_estimate_query *query) {
    return say_number(arena, sli_say_count(query->placement.tp));
}

static const char *say_pp(sli_arena *arena, const sli_estimate_query *query) {
    return say_number(arena, sli_say_count(query->placement.pp));
}

/* Nothing of what is as usual. */
static const char *say_unless(sli_arena *arena, int64_t number, int64_t usual) {
    return number != usual ? say_number(arena, sli_say_count(number)) : NULL;
}

static const char *say_dp(sli_arena *arena, const sli_estimate_query *query) {
    return say_unless(arena, query->placement.dp, 1);
}

static const char *say_cp(sli_arena *arena, const sli_estimate_query *query) {
    return say_unless(arena, query->placement.cp, 1);
}

static const char *say_ep(sli_arena *arena, const sli_estimate_query *query) {
    return say_unless(arena, query->placement.ep, 1);
}

static const char *say_block(sli_arena *arena, const sli_estimate_query *query) {
    return say_unless(arena, query->block_tokens, sli_estimate_defaults().block_tokens);
}

static const char *say_batched_tokens(sli_arena *arena, const sli_estimate_query *query) {
    return say_unless(arena, query->max_batched_tokens, sli_estimate_defaults().max_batched_tokens);
}

static const char *say_prefill_chunk(sli_arena *arena, const sli_estimate_query *query) {
    return say_unless(arena, query->chunk_tokens, 0);
}

const char *sli_estimate_window_word(sli_window_pages window_pages) {
    return window_words[window_pages];
}

const char *sli_estimate_way_word(sli_latent_way way) {
    return way_words[way];
}

static const char *say_window_pages(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    bool is_usual = query->window_pages == SLI_WINDOW_FREED;
    return is_usual ? NULL : sli_estimate_window_word(query->window_pages);
}

const char *sli_estimate_states_word(sli_state_saves state_saves) {
    return state_words[state_saves];
}

static const char *say_prefix_states(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    bool is_usual = query->state_saves == SLI_STATE_ALIGNED;
    return is_usual ? NULL : sli_estimate_states_word(query->state_saves);
}

static const char *say_keep(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return query->keep;
}

static const char *say_kernel(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return query->kernel != NULL ? query->kernel->name : NULL;
}

static const char *say_decode_way(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return sli_estimate_way_word(query->decode_way);
}

static const char *say_prefill_way(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return sli_estimate_way_word(query->prefill_way);
}

static const char *say_cache(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return query->cache->name;
}

static const char *say_weights(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return query->weights != NULL ? query->weights->name : "published";
}

static const char *say_expert_weights(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return query->expert_weights != NULL ? query->expert_weights->name : NULL;
}

static const char *say_model(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return query->architecture->id;
}

static const char *say_hardware(sli_arena *arena, const sli_estimate_query *query) {
    (void)arena;
    return query->device != NULL ? query->device->id : NULL;
}

static const char *say_bandwidth(sli_arena *arena, const sli_estimate_query *query) {
    double bytes_per_s = query->bandwidth_bytes_per_s;
    return bytes_per_s > 0.0 ? say_number(arena, sli_say_bandwidth(bytes_per_s)) : NULL;
}

static const char *say_link(sli_arena *arena, const sli_estimate_query *query) {
    double bytes_per_s = query->link_bytes_per_s;
    return bytes_per_s > 0.0 ? say_number(arena, sli_say_bandwidth(bytes_per_s)) : NULL;
}

sli_placement_text sli_estimate_say_placement(const sli_placement *placement) {
    const struct {
        const char *name;
        int64_t degree;
    } others[] = {{"pp", placement->pp}, {"dp", placement->dp}, {"cp", placement->cp}};
    sli_placement_text said;
    int used = snprintf(said.text, sizeof said.text, "tp %lld", (long long)placement->tp);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (others[i].degree > 1) {
            used += snprintf(said.text + used, sizeof said.text - (size_t)used, " × %s %lld",
                             others[i].name, (long long)others[i].degree);
        }
    }
    if (placement->ep > 1) {
        snprintf(said.text + used, sizeof said.text - (size_t)used, ", ep %lld",
                 (long long)placement->ep);
    }
    return said;
}

/* ---- The table ---- */

static const char *cache_choice(size_t index) {
    return sli_cache_formats[index].name;
}

static const char *weights_choice(size_t index) {
    return sli_weight_format_or_published[index];
}

static const char *expert_weights_choice(size_t index) {
    return sli_weight_formats[index].name;
}

static const char *kernel_choice(size_t index) {
    return sli_attention_kernels[index].name;
}

static const char *window_pages_choice(size_t index) {
    return index < COUNT_OF(window_words) ? window_words[index] : NULL;
}

static const char *prefix_states_choice(size_t index) {
    return index < COUNT_OF(state_words) ? state_words[index] : NULL;
}

static const char *decode_way_choice(size_t index) {
    return index + 1 < COUNT_OF(way_words) ? way_words[index + 1] : NULL;
}

static const char *prefill_way_choice(size_t index) {
    return decode_way_choice(index);
}

#define SETTING(text, verb, what)                                                                  \
    { .name = text, .need = what, .set = set_##verb, .say = say_##verb }
#define CHOICE(text, verb, what)                                                                   \
    { .name = text, .need = what, .choice = verb##_choice, .set = set_##verb, .say = say_##verb }

const sli_estimate_setting sli_estimate_settings[SLI_ESTIMATE_SETTINGS] = {
    SETTING("model", model, "a name that sluice models lists, or a path"),
    SETTING("tokens", tokens, "a number of tokens from 1 to 64Mi, as 32768 or 32Ki"),
    SETTING("concurrency", concurrency, "a number of requests from 1 to 1Mi"),
    SETTING("shared-prefix", shared_prefix, "a number of tokens, as 16384 or 16Ki"),
    CHOICE("kv", cache, "a format of the cache"),
    CHOICE("weights", weights, "a format of weights"),
    CHOICE("expert-weights", expert_weights, "a format of weights"),
    SETTING("hardware", hardware, "a name that sluice hardware lists, or a path"),
    SETTING("tp", tp, "a number of ranks from 1 to 1024"),
    SETTING("pp", pp, "a number of stages from 1 to 1024"),
    SETTING("dp", dp, "a number of copies of the attention from 1 to 1024"),
    SETTING("cp", cp, "a number of ranks from 1 to 1024"),
    SETTING("ep", ep, "a number of groups of experts from 1 to 1024"),
    SETTING("block", block, "a number of tokens from 1 to 65536"),
    SETTING("max-batched-tokens", batched_tokens, "a number of tokens, as 8192 or 8Ki"),
    CHOICE("window-pages", window_pages, "a way to treat pages behind a window"),
    CHOICE("prefix-states", prefix_states, "what recurrent layers save for prefixes"),
    SETTING("keep", keep, "a method that throws tokens out, as h2o or snapkv:capacity=2Ki"),
    CHOICE("attention-kernel", kernel, "a kernel of attention"),
    CHOICE("mla-decode", decode_way, "a way to attend to latents"),
    CHOICE("mla-prefill", prefill_way, "a way to attend to latents"),
    SETTING("prefill-chunk", prefill_chunk, "a number of tokens, as 8192 or 8Ki"),
    SETTING("bandwidth", bandwidth, "bytes a second, as '3 TB/s'"),
    SETTING("link", link, "bytes a second, as '64 GB/s'"),
};

const sli_estimate_setting *sli_estimate_setting_find(const char *name, size_t length) {
    for (size_t i = 0; i < SLI_ESTIMATE_SETTINGS; i++) {
        const sli_estimate_setting *setting = &sli_estimate_settings[i];
        if (strlen(setting->name) == length && strncmp(setting->name, name, length) == 0) {
            return setting;
        }
    }
    return NULL;
}

void sli_estimate_input_init(sli_estimate_input *input) {
    *input = (sli_estimate_input){.query = sli_estimate_defaults()};
}

sl_err sli_estimate_input_query(sli_estimate_input *input, sli_diag *diag,
                                sli_estimate_query *query) {
    *query = input->query;
    return sli_estimate_keep_apply(&input->keep, &input->arena, diag, query);
}

void sli_estimate_input_fini(sli_estimate_input *input) {
    sli_estimate_keep_fini(&input->keep);
    sli_diag_fini(&input->diag);
    sli_arena_fini(&input->arena);
}

/* The nearest choice; of a method without its settings. */
static void suggest(const sli_estimate_setting *setting, const char *text) {
    enum { CHOICES_MAX = 32 };
    char word[32];
    const char *names[CHOICES_MAX];
    size_t count = 0;
    while (setting->choice != NULL && count < CHOICES_MAX && setting->choice(count) != NULL) {
        names[count] = setting->choice(count);
        count++;
    }
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, ":"), text);
    sli_suggest(word, names, count);
}

static void say_needed(const sli_estimate_setting *setting, const char *text) {
    fprintf(stderr, "sluice estimate: %s needs %s", setting->name, setting->need);
    if (setting->choice != NULL) {
        for (size_t i = 0; setting->choice(i) != NULL; i++) {
            fprintf(stderr, "%s%s", i == 0 ? ": " : ", ", setting->choice(i));
        }
    }
    fprintf(stderr, "; found '%s'", text);
    suggest(setting, text);
    fputc('\n', stderr);
}

int sli_estimate_input_set(sli_estimate_input *input, const sli_estimate_setting *setting,
                           const char *text) {
    sl_err err = setting->set(input, text);
    if (err == SL_ERR_USAGE) {
        say_needed(setting, text);
        return sli_exit_code(err);
    }
    return err != SL_OK ? sli_report_failure(err, &input->diag) : 0;
}

sl_err sli_estimate_describe_choices(void) {
    fputs("\n## Formats of the cache (--kv)\n\n", stdout);
    for (const sli_cache_format *format = sli_cache_formats; format->name != NULL; format++) {
        printf("    %-18s %s\n", format->name, format->help);
    }
    fputs("\n## Formats of weights (--weights)\n\n", stdout);
    printf("    %-18s %s\n", "published", "as the file of the model says; also called auto");
    for (const sli_weight_format *format = sli_weight_formats; format->name != NULL; format++) {
        printf("    %-18s %s\n", format->name, format->help);
    }
    fputs("\n## Methods that throw tokens out (--keep)\n\n", stdout);
    SL_TRY(sli_estimate_keep_describe());
    fputs("\n## Kernels of attention (--attention-kernel)\n\n", stdout);
    for (const sli_attention_kernel *row = sli_attention_kernels; row->name != NULL; row++) {
        printf("    %-18s %s\n    %-18s %.1f %% of the peak in prefill: %s%s\n", row->name,
               row->help, "", 100.0 * row->flops_share, row->is_assumed ? "assumed, " : "",
               row->source);
    }
    return SL_OK;
}
