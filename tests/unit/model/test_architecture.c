#include "model/architecture.h"
#include "model/parallel.h"
#include "model/params.h"
#include "model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static const sli_catalogue_site nowhere = {.key = "model"};

typedef struct world {
    sli_arena arena;
    sli_diag diag;
} world;

static int set_up(void **state) {
    static world fresh;
    fresh = (world){0};
    *state = &fresh;
    return 0;
}

static int tear_down(void **state) {
    world *w = *state;
    sli_arena_fini(&w->arena);
    sli_diag_fini(&w->diag);
    return 0;
}

static const sli_architecture *read_model(world *w, const char *name) {
    const sli_architecture *architecture = NULL;
    sl_err err = sli_architecture_read(&w->arena, name, nowhere, &w->diag, &architecture);
    sli_diag_print(&w->diag, stderr);
    assert_int_equal(err, SL_OK);
    return architecture;
}

static void has_message(const world *w, const char *part) {
    for (const sli_diag_entry *entry = w->diag.first; entry != NULL; entry = entry->next) {
        if (strstr(entry->message, part) != NULL) {
            return;
        }
    }
    sli_diag_print(&w->diag, stderr);
    fail_msg("no message with '%s'", part);
}

static int64_t token_bytes(const sli_architecture *architecture, int64_t tp) {
    return sli_state_rank(architecture, &sli_cache_formats[0], 1, tp).cached;
}

/* Llama: 32 layers x 2 (key, value) x 8 heads x 128 x 2 B = 131,072 B = 128 KiB. */
static void llama_leaves_128_kib_a_token(void **state) {
    const sli_architecture *llama = read_model(*state, "llama-3.1-8b");
    assert_int_equal(sli_architecture_layers(llama), 32);
    assert_int_equal(token_bytes(llama, 1), 128 * 1024);
}

/* Qwen3: 64 x 2 x 8 x 128 x 2 B = 256 KiB a token. */
static void qwen_leaves_8_gib_for_32_ki_tokens(void **state) {
    const sli_architecture *qwen = read_model(*state, "qwen3-32b");
    assert_int_equal(token_bytes(qwen, 1) * 32768, INT64_C(8) << 30);
}

/* By hand for Llama: a layer is 4096 x 48 x 128 + 4096 x 4096 + 3 x 4096 x 14336 = 218,103,808;
 * 32 of them and two tables of 128,256 x 4096. The published counts add norms only. */
static void counts_published_parameters(void **state) {
    const sli_architecture *llama = read_model(*state, "llama-3.1-8b");
    const sli_architecture *qwen = read_model(*state, "qwen3-32b");
    assert_int_equal(sli_params_total(llama), INT64_C(8029995008));
    assert_int_equal(sli_params_matmul(llama), INT64_C(7504658432));
    assert_int_equal(sli_params_total(qwen), INT64_C(32761446400));
    assert_true((double)sli_params_total(llama) > 0.999 * llama->published_params);
    assert_true((double)sli_params_total(llama) <= llama->published_params);
    assert_true((double)sli_params_total(qwen) > 0.998 * qwen->published_params);
    assert_true((double)sli_params_total(qwen) <= qwen->published_params);
}

static void tied_embeddings_are_counted_once(void **state) {
    sli_architecture tied = *read_model(*state, "llama-3.1-8b");
    int64_t untied_params = sli_params_total(&tied);
    tied.has_tied_embeddings = true;
    assert_int_equal(untied_params - sli_params_total(&tied), INT64_C(128256) * 4096);
    assert_int_equal(sli_params_total(&tied), sli_params_matmul(&tied));
}

static void ranks_share_everything_evenly(void **state) {
    const char *const names[] = {"llama-3.1-8b", "qwen3-32b"};
    for (int m = 0; m < 2; m++) {
        const sli_architecture *model = read_model(*state, names[m]);
        for (int i = 0; i < SLI_TP_COUNT; i++) {
            int64_t tp = sli_tp_degrees[i];
            sli_placement placement = sli_placement_of_tp(tp);
            assert_true(sli_parallel_is_even(model, tp));
            assert_int_equal(tp * token_bytes(model, tp), token_bytes(model, 1));
            sli_weights bf16 = sli_weights_all(sli_weight_format_find("bf16"));
            assert_int_equal(tp * sli_placement_weights_bytes(model, &bf16, &placement, 0),
                             2 * sli_params_total(model));
        }
    }
}

static void weights_on_a_rank_round_up(void **state) {
    sli_architecture odd = *read_model(*state, "llama-3.1-8b");
    odd.hidden = 1;
    odd.vocab_tokens = 128257;
    sli_placement eight = sli_placement_of_tp(8);
    int64_t table_rows = 128257 / 8 + 1;
    int64_t layer_params = (sli_params_total(&odd) - 2 * 128257) / 8;
    sli_weights bf16 = sli_weights_all(sli_weight_format_find("bf16"));
    assert_int_equal(sli_placement_weights_bytes(&odd, &bf16, &eight, 0),
                     2 * (layer_params + 2 * table_rows));
    /* 17 bytes for 32 parameters, a rest of less than that as well. */
    sli_weights mxfp4 = sli_weights_all(sli_weight_format_find("mxfp4"));
    int64_t groups = sli_params_total(&odd) / 32 + 1;
    assert_int_not_equal(sli_params_total(&odd) % 32, 0);
    assert_int_equal(sli_placement_weights_bytes(&odd, &mxfp4, &sli_placement_alone, 0),
                     groups * 17);
}

/* Reads a model with these attentions, feed-forwards and layers. */
static sl_err read_text(world *w, const char *attention, const char *ffn, const char *layers,
                        const sli_architecture **architecture) {
    const char *text = sli_arena_printf(&w->arena,
                                        "name: M\n"
                                        "source: test\n"
                                        "hidden: 64\n"
                                        "vocab: 100 tokens\n"
                                        "context_native: 10 tokens\n"
                                        "attention: %s\n"
                                        "ffn: %s\n"
                                        "layers: %s\n",
                                        attention, ffn, layers);
    sli_node *root = NULL;
    assert_non_null(text);
    SL_TRY(sli_tree_read_text(&w->arena, "m.yaml", text, strlen(text), &w->diag, &root));
    return sli_architecture_resolve(&w->arena, "m", root, &w->diag, architecture);
}

#define FULL  "full: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16}"
#define DENSE "dense: {type: dense, width: 128}"

static void refuses_ranks_that_do_not_divide(void **state) {
    world *w = *state;
    const sli_architecture *llama = read_model(w, "llama-3.1-8b");
    sli_mark mark = {"s.yaml", 3, 7};
    assert_int_equal(sli_parallel_check(llama, 8, mark, "replicas.tp", &w->diag), SL_OK);
    assert_int_equal(sli_parallel_check(llama, 3, mark, "replicas.tp", &w->diag), SL_ERR_CONFIG);
    has_message(w, "not one of 1, 2, 4, 8");

    const sli_architecture *few_heads = NULL;
    assert_int_equal(read_text(w, "{" FULL "}", "{" DENSE "}", "[[1, full, dense]]", &few_heads),
                     SL_OK);
    assert_true(sli_parallel_can_run(few_heads, 4)); /* two key-value heads are copied */
    assert_false(sli_parallel_is_even(few_heads, 4));
    assert_false(sli_parallel_can_run(few_heads, 8));
    assert_int_equal(sli_parallel_check(few_heads, 8, mark, "replicas.tp", &w->diag),
                     SL_ERR_CONFIG);
    has_message(w, "8 ranks do not share out the 4 heads of m evenly; 1, 2 and 4 do");

    /* The last of three runs is the one that cannot be cut. */
    const sli_architecture *odd_width = NULL;
    assert_int_equal(read_text(w, "{" FULL "}", "{" DENSE ", odd: {type: dense, width: 127}}",
                               "[[1, full, dense], [2, full, odd]]", &odd_width),
                     SL_OK);
    assert_int_equal(sli_parallel_check(odd_width, 2, mark, "replicas.tp", &w->diag),
                     SL_ERR_CONFIG);
    has_message(w, "127 columns of the feed-forward of m evenly; only 1 does");
    assert_int_equal(w->diag.last->mark.line, 3);
    assert_string_equal(w->diag.last->path, "replicas.tp");

    const sli_architecture *odd_experts = NULL;
    assert_int_equal(read_text(w, "{" FULL "}",
                               "{odd: {type: moe, experts: 8, top_k: 2, width: 126}}",
                               "[[1, full, odd]]", &odd_experts),
                     SL_OK);
    assert_int_equal(sli_parallel_check(odd_experts, 4, mark, "replicas.tp", &w->diag),
                     SL_ERR_CONFIG);
    has_message(w, "126 columns of an expert of m evenly; 1 and 2 do");
}

static void unknown_name_suggests_the_nearest(void **state) {
    world *w = *state;
    const sli_architecture *architecture = NULL;
    assert_int_equal(
        sli_architecture_read(&w->arena, "llama-3.1-8c", nowhere, &w->diag, &architecture),
        SL_ERR_CONFIG);
    assert_null(architecture);
    has_message(w, "did you mean 'llama-3.1-8b'");
    assert_int_equal(
        sli_architecture_read(&w->arena, "a-quite-different-one", nowhere, &w->diag, &architecture),
        SL_ERR_CONFIG);
    has_message(w, " are known, or a path");
}

/* A slash or .yaml makes a path; the library of names is not asked then. */
static void missing_file_is_an_error(void **state) {
    const char *const paths[] = {"no/such/model", "no-such-model.yaml"};
    for (int i = 0; i < 2; i++) {
        world w = {0};
        const sli_architecture *architecture = NULL;
        assert_int_equal(sli_architecture_read(&w.arena, paths[i], nowhere, &w.diag, &architecture),
                         SL_ERR_CONFIG);
        assert_null(architecture);
        has_message(&w, "cannot read");
        sli_arena_fini(&w.arena);
        sli_diag_fini(&w.diag);
    }
    (void)state;
}

/* Of a long path the beginning, on one line. */
static void missing_file_is_named_in_short(void **state) {
    (void)state;
    char path[200];
    memset(path, 'x', sizeof path);
    memcpy(path, "no\n/", 4);
    path[sizeof path - 1] = '\0';
    const sli_catalogue_site site = {.mark = {.file = "s.yaml"}, .key = "model.name"};
    world w = {0};
    const sli_architecture *architecture = NULL;
    assert_int_equal(sli_architecture_read(&w.arena, path, site, &w.diag, &architecture),
                     SL_ERR_CONFIG);
    has_message(&w, "cannot read 'no?/xxx");
    has_message(&w, "xxx...': No such file or directory");
    assert_string_equal(w.diag.first->path, "model.name");
    sli_arena_fini(&w.arena);
    sli_diag_fini(&w.diag);
}

static void bad_model_file_names_every_mistake(void **state) {
    world *w = *state;
    sli_architecture architecture = {0};
    sli_node *root = NULL;
    const char *text = "name: M\n"
                       "source: test\n"
                       "hiden: 64\n"
                       "vocab: 100\n"
                       "context_native: 10 tokens\n"
                       "attention: {full: {type: gqa, q_heads: 4, kv_head: 2, head_dim: 16}}\n"
                       "ffn: {dense: {type: dence, width: 128}}\n"
                       "layers: [[2, full, dense]]\n";
    assert_int_equal(sli_tree_read_text(&w->arena, "m.yaml", text, strlen(text), &w->diag, &root),
                     SL_OK);
    assert_int_equal(sli_schema_resolve(&w->arena, &sli_architecture_section, NULL, root, &w->diag,
                                        &architecture),
                     SL_ERR_CONFIG);
    /* unknown and missing, no unit, unknown and missing again, no such type */
    assert_int_equal(w->diag.error_count, 6);
}

static void layers_name_what_the_file_has(void **state) {
    world *w = *state;
    const sli_architecture *model = NULL;
    assert_int_equal(
        read_text(w, "{" FULL "}", "{" DENSE "}", "[[1, ful, dense], [2, full, moe]]", &model),
        SL_ERR_CONFIG);
    assert_null(model);
    has_message(w, "there is no 'ful' under attention; did you mean 'full'?");
    has_message(w, "there is no 'moe' under ffn");
    assert_int_equal(w->diag.error_count, 2);
    assert_int_equal(w->diag.first->mark.line, 8);
    assert_int_equal(w->diag.first->mark.column, 14);
}

static void layers_add_up_over_runs(void **state) {
    world *w = *state;
    const sli_architecture *model = NULL;
    assert_int_equal(
        read_text(w, "{" FULL "}", "{" DENSE "}", "[[2, full, dense], [3, full, dense]]", &model),
        SL_OK);
    assert_int_equal(sli_architecture_layers(model), 5);
    assert_int_equal(token_bytes(model, 1), 5 * 2 * 2 * 16 * 2);
}

/* Runs as they are, with the names of their parts. */
static void has_runs(const sli_table *layers, const char *wanted) {
    char text[256] = "";
    const sli_layer_run *runs = layers->rows;
    for (size_t i = 0; i < layers->count; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%lld %s %s", i > 0 ? ", " : "",
                 (long long)runs[i].count, runs[i].mixer->name, runs[i].ffn->name);
    }
    assert_string_equal(text, wanted);
}

#define AGAIN "again: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16, kv: shared}"

static void repeats_stand_for_their_runs(void **state) {
    world *w = *state;
    const sli_architecture *model = NULL;
    const char *ffns = "{" DENSE ", wide: {type: dense, width: 256}}";
    assert_int_equal(read_text(w, "{" FULL "}", ffns,
                               "[[3, full, dense], [2, [[1, full, wide], [4, full, dense]]], "
                               "[1, [[7, full, wide]]], [5, full, dense], [3, [[1, full, wide]]]]\n"
                               "mtp_layers: [[2, [[1, full, dense], [1, full, wide]]]]",
                               &model),
                     SL_OK);
    has_runs(&model->layers, "3 full dense, 1 full wide, 4 full dense, 1 full wide, 4 full dense, "
                             "7 full wide, 5 full dense, 1 full wide, 1 full wide, 1 full wide");
    has_runs(&model->mtp_layers, "1 full dense, 1 full wide, 1 full dense, 1 full wide");
    assert_int_equal(sli_architecture_layers(model), 3 + 2 * 5 + 7 + 5 + 3);
}

/* The lender may stand in the repeat itself, but in front. */
static void repeats_lend_to_each_other(void **state) {
    world *w = *state;
    const sli_architecture *model = NULL;
    const char *attention = "{" FULL ", " AGAIN "}";
    assert_int_equal(read_text(w, attention, "{" DENSE "}",
                               "[[2, [[1, full, dense], [3, again, dense]]]]", &model),
                     SL_OK);
    has_runs(&model->layers, "1 full dense, 3 again dense, 1 full dense, 3 again dense");
    assert_int_equal(read_text(w, attention, "{" DENSE "}",
                               "[[2, [[3, again, dense], [1, full, dense]]]]", &model),
                     SL_ERR_CONFIG);
    has_message(w, "'again' shares what no earlier layer keeps");
    assert_int_equal(w->diag.error_count, 1);
    assert_int_equal(w->diag.first->mark.column, 15);
}

/* Line 8 of the text, behind `layers: `. */
typedef struct repeat_mistake {
    const char *layers;
    int column;
    const char *path;
    const char *message;
} repeat_mistake;

static void is_found_once(const repeat_mistake *m) {
    world w = {0};
    const sli_architecture *model = NULL;
    assert_int_equal(read_text(&w, "{" FULL "}", "{" DENSE "}", m->layers, &model), SL_ERR_CONFIG);
    const sli_diag_entry *found = w.diag.first;
    if (w.diag.error_count != 1 || strcmp(found->path, m->path) != 0 ||
        strstr(found->message, m->message) == NULL || found->mark.line != 8 ||
        found->mark.column != m->column) {
        sli_diag_print(&w.diag, stderr);
        fail_msg("of %s: not only 8:%d: %s: %s", m->layers, m->column, m->path, m->message);
    }
    tear_down((void *[]){&w});
}

static void mistakes_in_repeats_are_found_once(void **state) {
    (void)state;
    static const repeat_mistake mistakes[] = {
        {"[[0, [[1, full, dense]]]]", 11, "layers.times", "must be between 1 and 10000, found '0'"},
        {"[[10001, [[1, full, dense]]]]", 11, "layers.times", "must be between 1 and 10000"},
        {"[[x, [[1, full, dense]]]]", 11, "layers.times", "expected a whole number, found 'x'"},
        {"[[[2], [[1, full, dense]]]]", 11, "layers.times",
         "expected a whole number, found a list"},
        {"[[~, [[1, full, dense]]]]", 11, "layers[0][0]", "has no value"},
        {"[[2, []]]", 14, "layers", "expected the rows to repeat, found none"},
        {"[[2, [1, full, dense]]]", 15, "layers", "the rows stand in a list of their own"},
        {"[[2, [{a: b}]]]", 15, "layers", "expected a row to repeat, found a mapping"},
        {"[[1, full, dense], [2, [[1, full, dense], [2, [[1, full, dense]]]]]]", 51, "layers",
         "a repeat cannot stand in another one"},
        {"[[2, [[1, full, dense]], dense]]", 14, "layers[0].attention",
         "expected a text, found a list"},
        {"[[9, [[1, full]]]]", 15, "layers[0]", "expected the 3 values"},
        {"[[9, full]]", 10, "layers[0]", "expected the 3 values"},
        {"[[9, [[0, full, dense]]]]", 16, "layers[0].count", "must be between 1 and 10000"},
        {"[[9, [[1, full, dense], [1, ful, dense]]]]", 37, "layers", "there is no 'ful'"},
        {"[[5001, [[1, full, dense], [2, full, dense]]]]", 9, "layers",
         "the repeats stand for 10002 rows, and 10000 are the most"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        is_found_once(&mistakes[i]);
    }
}

/* As many rows as a list without repeats may have. */
static void repeats_have_room_for_10000_rows(void **state) {
    const sli_architecture *model = NULL;
    assert_int_equal(read_text(*state, "{" FULL "}", "{" DENSE "}",
                               "[[5000, [[1, full, dense], [2, full, dense]]]]", &model),
                     SL_OK);
    assert_int_equal(model->layers.count, 10000);
    assert_int_equal(sli_architecture_layers(model), 15000);
}

/* Operators were measured for full attention and dense feed-forwards. */
static void says_what_is_not_plain(void **state) {
    world *w = *state;
    assert_null(sli_architecture_unplain(read_model(w, "llama-3.1-8b")));
    assert_null(sli_architecture_unplain(read_model(w, "qwen3-32b")));
    assert_string_equal(sli_architecture_unplain(read_model(w, "mistral-7b-v0.1"))->name,
                        "sliding");
    assert_string_equal(sli_architecture_unplain(read_model(w, "qwen3-30b-a3b"))->name, "moe");
    assert_string_equal(sli_architecture_unplain(read_model(w, "deepseek-v3"))->name, "mla");

    static const char *const special[] = {
        "window: 8 tokens", "chunk: 8 tokens", "value_dim: 8",
        "output_gate: on",  "k_eq_v: weights", "k_eq_v: cache",
    };
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        const sli_architecture *model = NULL;
        const char *attention = sli_arena_printf(
            &w->arena, "{odd: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16, %s}}", special[i]);
        assert_int_equal(read_text(w, attention, "{" DENSE "}", "[[1, odd, dense]]", &model),
                         SL_OK);
        assert_string_equal(sli_architecture_unplain(model)->name, "odd");
    }
}

static void borrowers_need_a_lender_in_front(void **state) {
    world *w = *state;
    const char *attention = "{" FULL ", wide: {type: gqa, q_heads: 4, kv_heads: 4, head_dim: 16}, "
                            "again: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16, "
                            "kv: shared}}";
    const sli_architecture *model = NULL;
    assert_int_equal(read_text(w, attention, "{" DENSE "}",
                               "[[1, wide, dense], [1, full, dense], [1, wide, dense], "
                               "[2, again, dense]]",
                               &model),
                     SL_OK);
    /* keys and values of 4, 2 and 4 heads; the last two layers keep none */
    assert_int_equal(sli_state_kept(model, &sli_cache_formats[0], 1).cached,
                     (4 + 2 + 4) * 2 * 16 * 2);
    assert_int_equal(sli_state_read(model, &sli_cache_formats[0], 1),
                     (4 + 2 + 4 + 2 + 2) * 2 * 16 * 2);
    assert_int_equal(read_text(w, attention, "{" DENSE "}",
                               "[[1, wide, dense], [2, again, dense], [1, full, dense]]", &model),
                     SL_ERR_CONFIG);
    has_message(w, "'again' shares what no earlier layer keeps");
}

/* Values in range that do not go together, each with the words that say so. */
static void parts_that_cannot_be_are_refused(void **state) {
    static const struct {
        const char *attention;
        const char *ffn;
        const char *message;
    } cases[] = {
        {"{x: {type: gqa, q_heads: 4, kv_heads: 3, head_dim: 16}}", "{y: none}", "does not divide"},
        {"{x: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16, window: 1 tokens, "
         "chunk: 1 tokens}}",
         "{y: none}", "only one of window, chunk and sparse"},
        {"{x: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16, value_dim: 8, k_eq_v: cache}}",
         "{y: none}", "values as wide as keys"},
        {"{x: {type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16, sparse: {block: 8 tokens}}}",
         "{y: none}", "sparse needs top_blocks"},
        {"{x: {type: mla, q_heads: 4, q_lora: none, kv_lora: 8, rope_dim: 4, nope_dim: 8, "
         "value_dim: 8, index: {keys: own, top: 4 tokens}}}",
         "{y: none}", "needs heads and dim"},
        {"{x: {type: mla, q_heads: 4, q_lora: none, kv_lora: 8, rope_dim: 4, nope_dim: 8, "
         "value_dim: 8, index: {keys: shared}}}",
         "{y: none}", "needs top"},
        {"{x: {type: mla, q_heads: 4, q_lora: none, kv_lora: 8, rope_dim: 4, nope_dim: 8, "
         "value_dim: 8, index: {top: 4 tokens}}}",
         "{y: none}", "keys: own or shared"},
        {"{x: {type: compressed, q_heads: 4, head_dim: 8, q_lora: 8, o_lora: 8, o_groups: 3, "
         "window: 8 tokens}}",
         "{y: none}", "o_groups does not divide"},
        {"{x: {type: compressed, q_heads: 4, head_dim: 8, q_lora: 8, o_lora: 8, o_groups: 2, "
         "window: 8 tokens, ratio: 4}}",
         "{y: none}", "state_span"},
        {"{x: {type: compressed, q_heads: 4, head_dim: 8, q_lora: 8, o_lora: 8, o_groups: 2, "
         "window: 8 tokens, index: {heads: 1, dim: 8, top: 4}}}",
         "{y: none}", "an index needs a ratio"},
        {"{x: {type: recurrent, rule: gdn, heads: 4, key_heads: 3, key_dim: 8, value_dim: 8}}",
         "{y: none}", "key_heads does not divide"},
        {"{x: {type: recurrent, rule: rwkv7, heads: 4, key_dim: 8, value_dim: 8}}", "{y: none}",
         "low_rank is for"},
        {"{x: {type: recurrent, rule: mamba1, heads: 4, key_dim: 8, value_dim: 8, low_rank: 2}}",
         "{y: none}", "value_dim 1"},
        {"{x: none}", "{y: {type: moe, experts: 4, top_k: 5, width: 8}}", "top_k is more"},
    };
    world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sli_architecture *model = NULL;
        int errors_before = w->diag.error_count;
        assert_int_equal(read_text(w, cases[i].attention, cases[i].ffn, "[[1, x, y]]", &model),
                         SL_ERR_CONFIG);
        has_message(w, cases[i].message);
        assert_int_equal(w->diag.error_count, errors_before + 1);
    }
}

#define BEHAVIOUR(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        BEHAVIOUR(llama_leaves_128_kib_a_token),
        BEHAVIOUR(qwen_leaves_8_gib_for_32_ki_tokens),
        BEHAVIOUR(counts_published_parameters),
        BEHAVIOUR(tied_embeddings_are_counted_once),
        BEHAVIOUR(ranks_share_everything_evenly),
        BEHAVIOUR(weights_on_a_rank_round_up),
        BEHAVIOUR(refuses_ranks_that_do_not_divide),
        BEHAVIOUR(unknown_name_suggests_the_nearest),
        BEHAVIOUR(missing_file_is_an_error),
        BEHAVIOUR(missing_file_is_named_in_short),
        BEHAVIOUR(bad_model_file_names_every_mistake),
        BEHAVIOUR(layers_name_what_the_file_has),
        BEHAVIOUR(layers_add_up_over_runs),
        BEHAVIOUR(says_what_is_not_plain),
        BEHAVIOUR(borrowers_need_a_lender_in_front),
        BEHAVIOUR(parts_that_cannot_be_are_refused),
        BEHAVIOUR(repeats_stand_for_their_runs),
        BEHAVIOUR(repeats_lend_to_each_other),
        BEHAVIOUR(mistakes_in_repeats_are_found_once),
        BEHAVIOUR(repeats_have_room_for_10000_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
