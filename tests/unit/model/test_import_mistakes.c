/*
 * What the importer refuses, and where it says so; and what it makes of fields that files may leave
 * out or say in several ways. Counts of parameters are those that the makers publish, less the
 * norms, biases and learned positions that model/params.h does not count.
 */
#include "import_configs.h"
#include "model/architecture.h"
#include "model/import.h"
#include "model/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

/* The text is written as import_configs.h says. */
static sl_err import(world *w, const char *text, const char *family, const char *name,
                     const char **yaml) {
    const char *json = import_config_json(&w->arena, text);
    sli_import_request request = {.path = "c.json", .name = name, .family = family};
    assert_non_null(json);
    return sli_import_text(&w->arena, &request, json, strlen(json), &w->diag, yaml);
}

static const char *yaml_of(world *w, const char *text) {
    const char *yaml = NULL;
    if (import(w, text, NULL, "m", &yaml) != SL_OK) {
        sli_diag_print(&w->diag, stderr);
        fail_msg("not imported: %s", text);
    }
    return yaml;
}

static const sli_architecture *resolve(world *w, const char *yaml) {
    const sli_architecture *model = NULL;
    sli_node *root = NULL;
    assert_int_equal(sli_tree_read_text(&w->arena, "m", yaml, strlen(yaml), &w->diag, &root),
                     SL_OK);
    assert_int_equal(sli_architecture_resolve(&w->arena, "m", root, &w->diag, &model), SL_OK);
    return model;
}

static const sli_architecture *model_of(world *w, const char *text) {
    return resolve(w, yaml_of(w, text));
}

/* ---- Mistakes ---- */

/* A small Llama in lines of its own; line 9 is free, lines can be replaced. */
enum { LINES = 11 };
static const char *const llama[LINES] = {
    "{",
    "  'model_type': 'llama',",
    "  'hidden_size': 4096,",
    "  'num_hidden_layers': 4,",
    "  'num_attention_heads': 32,",
    "  'num_key_value_heads': 8,",
    "  'intermediate_size': 14336,",
    "  'vocab_size': 128256,",
    "",
    "  'max_position_embeddings': 8192",
    "}",
};

/* With a line replaced; 0 = none. */
static const char *llama_with(world *w, int line, const char *text) {
    const char *joined = "";
    for (int i = 0; i < LINES; i++) {
        joined = sli_arena_printf(&w->arena, "%s%s\n", joined, i + 1 == line ? text : llama[i]);
        assert_non_null(joined);
    }
    return joined;
}

typedef struct mistake {
    int line;
    const char *text; /* of the line */
    int column;
    const char *path;
    const char *message;
} mistake;

static void mistakes_name_field_and_place(void **state) {
    static const mistake mistakes[] = {
        {3, "  'hidden_size': '4096',", 18, "hidden_size",
         "expected a whole number, found \"4096\""},
        {3, "  'hidden_size': 40.5,", 18, "hidden_size", "expected a whole number, found '40.5'"},
        {3, "  'hidden_size': true,", 18, "hidden_size", "expected a whole number, found 'true'"},
        {3, "  'hidden_size': [4096],", 18, "hidden_size", "expected a whole number, found a list"},
        {3, "  'hidden_size': 0,", 18, "hidden_size",
         "expected a number between 1 and 1000000, found '0'"},
        {3, "  'hidden_size': 123456789012345678901234567890,", 18, "hidden_size",
         "expected a whole number, found '123456789012345678901234567890'"},
        {3, "  'hidden_size': NaN,", 18, "hidden_size", "expected a whole number, found 'NaN'"},
        {5, "  'num_attention_heads': 40,", 26, "num_attention_heads",
         "40 heads do not divide a hidden size of 4096, and there is no head_dim"},
        {6, "  'num_key_value_heads': 5,", 26, "num_key_value_heads",
         "5 key-value heads do not divide the 32 query heads"},
        {9, "  'tie_word_embeddings': 'no',", 26, "tie_word_embeddings",
         "expected true or false, found \"no\""},
        {9, "  'layer_types': ['full_attention'],", 18, "layer_types",
         "expected 4 items, one a layer, found 1"},
        {9, "  'layer_types': 'full_attention',", 18, "layer_types",
         "expected a list, found \"full_attention\""},
        {9, "  'layer_types': ['full_attention', 'full_atention', 'x', 'y'],", 37, "layer_types[1]",
         "expected 'full_attention' or 'sliding_attention', found \"full_atention\"; "
         "did you mean 'full_attention'?"},
        {9, "  'sliding_window': 4096,", 21, "sliding_window",
         "changes what layers keep or compute, and how is not known for 'llama'"},
        {9, "  'index_topk': 2048,", 17, "index_topk",
         "changes what layers keep or compute, and how is not known for 'llama'"},
        {9, "  'linear_attn_config': {'num_heads': 4},", 25, "linear_attn_config",
         "changes what layers keep or compute, and how is not known for 'llama'"},
        {9, "  'text_config': 7,", 18, "text_config", "expected an object, found '7'"},
        {2, "  'model_type': 'lama',", 17, "model_type",
         "unknown model type 'lama'; it has the fields of a llama and no others: --family llama "
         "reads it; did you mean 'llama'?"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const mistake *m = &mistakes[i];
        world w = {0};
        const char *yaml = NULL;
        assert_int_equal(import(&w, llama_with(&w, m->line, m->text), NULL, NULL, &yaml),
                         SL_ERR_CONFIG);
        assert_null(yaml);
        const sli_diag_entry *first = w.diag.first;
        if (w.diag.error_count != 1 || first->mark.line != m->line ||
            first->mark.column != m->column || strcmp(first->path, m->path) != 0 ||
            strcmp(first->message, m->message) != 0) {
            sli_diag_print(&w.diag, stderr);
            fail_msg("not %d:%d: %s: %s", m->line, m->column, m->path, m->message);
        }
        tear_down((void *[]){&w});
    }
    (void)state;
}

static void has_error(const world *w, const char *path, const char *message) {
    for (const sli_diag_entry *entry = w->diag.first; entry != NULL; entry = entry->next) {
        if (strcmp(entry->path != NULL ? entry->path : "", path) == 0 &&
            strstr(entry->message, message) != NULL) {
            return;
        }
    }
    sli_diag_print(&w->diag, stderr);
    fail_msg("no error at '%s' with '%s'", path, message);
}

static void refuses(world *w, const char *text, const char *path, const char *message) {
    const char *yaml = NULL;
    int errors_before = w->diag.error_count;
    assert_int_equal(import(w, text, NULL, NULL, &yaml), SL_ERR_CONFIG);
    assert_null(yaml);
    has_error(w, path, message);
    if (w->diag.error_count != errors_before + 1) {
        sli_diag_print(&w->diag, stderr);
        fail_msg("%d errors", w->diag.error_count - errors_before);
    }
}

static void all_mistakes_come_at_once(void **state) {
    world *w = *state;
    const char *yaml = NULL;
    assert_int_equal(import(w,
                            "{'model_type': 'llama', 'num_hidden_layers': 4, 'vocab_size': 'x', "
                            "'num_attention_heads': 32, 'intermediate_size': 1}",
                            NULL, NULL, &yaml),
                     SL_ERR_CONFIG);
    has_error(w, "", "missing field 'hidden_size' or 'n_embd' or 'n_embed' or 'd_model'");
    has_error(w, "", "missing field 'max_position_embeddings' or");
    has_error(w, "vocab_size", "expected a whole number");
    assert_int_equal(w->diag.error_count, 3);
}

/* The three kinds of mixers of V4 ask for the same fields. */
static void a_mistake_is_said_once(void **state) {
    refuses(*state,
            "{'model_type': 'deepseek_v4', 'hidden_size': 4096, 'num_hidden_layers': 2, "
            "'num_attention_heads': 64, 'head_dim': 'wide', 'q_lora_rank': 1024, "
            "'o_lora_rank': 1024, 'o_groups': 8, 'sliding_window': 128, 'index_n_heads': 64, "
            "'index_head_dim': 128, 'index_topk': 512, 'compress_ratios': [4, 128], 'hc_mult': 4, "
            "'n_routed_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 64, "
            "'vocab_size': 100, 'max_position_embeddings': 4096}",
            "head_dim", "expected a whole number, found \"wide\"");
}

/* Fields inside of a text_config are named with it. */
static void nested_fields_have_their_path(void **state) {
    refuses(*state,
            "{'model_type': 'gemma3', 'text_config': {'hidden_size': 2560, "
            "'num_hidden_layers': 34, 'intermediate_size': 10240, 'sliding_window': 'no'}}",
            "text_config.sliding_window", "expected a whole number");
    refuses(*state,
            "{'model_type': 'gemma3', 'text_config': {'hidden_size': 2560, 'num_experts': 4, "
            "'num_hidden_layers': 34, 'intermediate_size': 10240, 'sliding_window': 1024}}",
            "text_config.num_experts", "how is not known for 'gemma3'");
}

#define KIMI(kda, full)                                                                            \
    "{'model_type': 'kimi_linear', 'hidden_size': 64, 'num_hidden_layers': 4, "                    \
    "'num_attention_heads': 4, 'intermediate_size': 64, 'vocab_size': 100, "                       \
    "'model_max_length': 1000, 'kv_lora_rank': 16, 'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8, " \
    "'v_head_dim': 8, 'linear_attn_config': {'kda_layers': [" kda "], 'full_attn_layers': [" full  \
    "], 'num_heads': 2, 'head_dim': 8, 'short_conv_kernel_size': 4}}"

static void kimi_counts_its_layers_from_one(void **state) {
    world *w = *state;
    const sli_architecture *model = model_of(w, KIMI("1,2,3", "4"));
    const sli_layer_run *runs = model->layers.rows;
    assert_int_equal(runs[0].count, 3);
    assert_string_equal(runs[0].mixer->name, "kda");
    assert_string_equal(runs[1].mixer->name, "mla");
    const char *path = "linear_attn_config.kda_layers";
    refuses(w, KIMI("1,2", "4"), path, "layer 3 is in neither of kda_layers and full_attn_layers");
    refuses(w, KIMI("1,2,3,4", "4"), path, "layer 4 is in both kda_layers and full_attn_layers");
    refuses(w, KIMI("0,1,2", "3"), "linear_attn_config.kda_layers[0]",
            "expected a number between 1 and 4, found '0'");
}

#define NEMOTRON(layers)                                                                           \
    "{'model_type': 'nemotron_h', 'hidden_size': 64, 'num_attention_heads': 4, "                   \
    "'intermediate_size': 64, 'vocab_size': 100, 'max_position_embeddings': 1000, "                \
    "'mamba_num_heads': 4, 'mamba_head_dim': 8, 'ssm_state_size': 16, 'n_groups': 2, "             \
    "'conv_kernel': 4, 'head_dim': 16, " layers "}"

static void nemotron_says_blocks_in_two_ways(void **state) {
    world *w = *state;
    const char *letters = yaml_of(w, NEMOTRON("'hybrid_override_pattern': 'M-M*'"));
    const char *words = yaml_of(
        w, NEMOTRON("'layers_block_type': ['mamba', 'mlp', 'mamba', 'attention']"));
    assert_string_equal(letters, words);
    assert_non_null(strstr(letters, "[1, mamba2, none], [1, none, dense]"));
    refuses(w, NEMOTRON("'hybrid_override_pattern': 'M-X*'"), "hybrid_override_pattern[2]",
            "expected 'M', '*', '-' or 'E', found \"X\"");
    refuses(w, NEMOTRON("'hybrid_override_pattern': 'M-M*', 'num_hidden_layers': 5"),
            "num_hidden_layers", "expected 4, the layers of the pattern");
}

#define V4(heads, groups)                                                                          \
    "{'model_type': 'deepseek_v4', 'hidden_size': 64, 'num_hidden_layers': 1, "                    \
    "'num_attention_heads': " #heads ", 'head_dim': 8, 'q_lora_rank': 8, 'o_lora_rank': 8, "       \
    "'o_groups': " #groups ", 'sliding_window': 128, 'index_n_heads': 2, 'index_head_dim': 8, "    \
    "'index_topk': 4, 'hc_mult': 4, 'compress_ratios': [4], 'n_routed_experts': 8, "               \
    "'num_experts_per_tok': 2, 'moe_intermediate_size': 64, 'vocab_size': 100, "                   \
    "'max_position_embeddings': 4096}"

static void groups_of_heads_must_divide_them(void **state) {
    (void)yaml_of(*state, V4(6, 3));
    refuses(*state, V4(6, 4), "o_groups", "4 groups do not divide the 6 query heads");
}

#define JAMBA(hidden, rank)                                                                        \
    "{'model_type': 'jamba', 'hidden_size': " #hidden ", 'num_hidden_layers': 8, "                 \
    "'num_attention_heads': 32, 'intermediate_size': 64, 'vocab_size': 100, "                      \
    "'max_position_embeddings': 1000, 'attn_layer_offset': 4, 'attn_layer_period': 8, "            \
    "'expert_layer_offset': 1, 'expert_layer_period': 2, 'num_experts': 1, "                       \
    "'num_experts_per_tok': 2, 'mamba_d_conv': 4, 'mamba_d_state': 16, 'mamba_expand': 2" rank "}"

/* Found when the model file is checked: both fields are right, and 1,200,000 channels are too many
 * for the schema. */
static void what_is_wrong_with_the_result_is_said_too(void **state) {
    world *w = *state;
    refuses(w, JAMBA(600000, ""), "attention.mamba1.heads", "must be between 1 and 1000000");
    assert_string_equal(w->diag.first->mark.file, "c.json, as imported");
}

static void more_experts_than_there_are_are_refused(void **state) {
    refuses(*state,
            "{'model_type': 'mixtral', 'hidden_size': 64, 'num_hidden_layers': 2, "
            "'num_attention_heads': 4, 'intermediate_size': 64, 'vocab_size': 100, "
            "'max_position_embeddings': 1000, 'num_local_experts': 8, 'num_experts_per_tok': 9}",
            "num_experts_per_tok", "a token is routed to 9 experts, and there are 8");
}

/* ---- Families ---- */

static void an_unknown_type_can_be_read_as_a_family(void **state) {
    world *w = *state;
    const char *yaml = NULL;
    const char *text = llama_with(w, 2, "  'model_type': 'quite_new',");
    assert_int_equal(import(w, text, "llama", NULL, &yaml), SL_OK);
    assert_int_equal(sli_architecture_layers(resolve(w, yaml)), 4);
    assert_non_null(strstr(yaml, "name: quite_new\n"));
}

/* What has more than a Llama is not offered as one. */
static void llama_is_offered_only_where_it_fits(void **state) {
    world *w = *state;
    const char *yaml = NULL;
    assert_int_equal(import(w,
                            "{'model_type': 'quite_new', 'hidden_size': 64, 'num_experts': 4, "
                            "'num_hidden_layers': 2, 'num_attention_heads': 4, "
                            "'intermediate_size': 64, 'vocab_size': 100, "
                            "'max_position_embeddings': 10}",
                            NULL, NULL, &yaml),
                     SL_ERR_CONFIG);
    assert_non_null(strstr(w->diag.first->message, "unknown model type 'quite_new'; "));
    assert_null(strstr(w->diag.first->message, "--family"));
}

/* The name of the class says it too, and the model inside of one for several modalities does. */
static void types_are_looked_for_in_three_places(void **state) {
    world *w = *state;
    const char *own = yaml_of(w, llama_with(w, 0, ""));
    static const char *const others[] = {
        "  'architectures': ['LlamaForCausalLM'],",
        "  'model_type': 'x', 'architectures': ['LlamaForConditionalGeneration', 'y'],",
        "  'model_type': 'x', 'architectures': ['LlamaLMHeadModel'],",
        "  'model_type': 'x', 'text_config': {'model_type': 'llama'},",
        "  'model_type': 'llama', 'text_config': {'model_type': 'mixtral'},",
        "  'model_type': 'LLAMA', 'architectures': 7,",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_string_equal(yaml_of(w, llama_with(w, 2, others[i])), own);
    }
    static const char *const none[] = {
        "",
        "  'model_type': 7,",
        "  'architectures': ['ForCausalLM'],",
        "  'architectures': ['LlamaModel'],",
        "  'architectures': [['LlamaForCausalLM']],",
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        world fresh = {0};
        refuses(&fresh, llama_with(&fresh, 2, none[i]), "model_type",
                "missing; it has the fields of a llama and no others");
        tear_down((void *[]){&fresh});
    }
}

/* Fields that the inner model does not say may stand around it. */
static void inner_models_take_what_stands_around_them(void **state) {
    world *w = *state;
    const sli_architecture *model = model_of(
        w, "{'model_type': 'mistral3', 'vocab_size': 100, 'tie_word_embeddings': true, "
           "'num_hidden_layers': 9, 'text_config': {'model_type': 'mistral', "
           "'hidden_size': 64, 'num_hidden_layers': 2, 'num_attention_heads': 4, "
           "'intermediate_size': 64, 'max_position_embeddings': 1000}}");
    assert_int_equal(model->vocab_tokens, 100);
    assert_true(model->has_tied_embeddings);
    assert_int_equal(sli_architecture_layers(model), 2);
}

static void strange_fields_are_warned_about_once(void **state) {
    world *w = *state;
    const char *text = llama_with(
        w, 9,
        "  'colour': 'red', 'rope_theta': 1e6, '_extra': 1, 'shape': {'a': 1}, 'none': null,");
    (void)yaml_of(w, text);
    assert_int_equal(w->diag.warning_count, 1);
    assert_string_equal(w->diag.first->message,
                        "fields that are not known, and look harmless: colour, shape");
    assert_int_equal(w->diag.first->mark.line, 9);
}

/* ---- Names ---- */

static void names_read_back(void **state) {
    static const char *const names[] = {
        "m",          "Llama 3.1 8B (text)",
        "a: b # c",   "\"quoted\" \\ name",
        "null",       "- x",
        "",           "R\xC3\xA9sum\xC3\xA9",
        "two\nlines", "[1]",
        "on",         "7",
        " spaced ",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        world *w = *state;
        const char *yaml = NULL;
        assert_int_equal(import(w, llama_with(w, 0, ""), NULL, names[i], &yaml), SL_OK);
        assert_string_equal(resolve(w, yaml)->name, names[i]);
    }
}

static void a_file_may_say_its_name(void **state) {
    static const struct {
        const char *line;
        const char *name;
    } files[] = {
        {"  '_name_or_path': 'owner/Model-7B',", "Model-7B"},
        {"  '_name_or_path': 'Model',", "Model"},
        {"  '_name_or_path': '',", "llama"},
        {"  '_name_or_path': './',", "llama"},
        {"  '_name_or_path': '..',", "llama"},
        {"  '_name_or_path': null,", "llama"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        world *w = *state;
        const char *yaml = NULL;
        assert_int_equal(import(w, llama_with(w, 9, files[i].line), NULL, NULL, &yaml), SL_OK);
        assert_string_equal(resolve(w, yaml)->name, files[i].name);
        assert_string_equal(resolve(w, yaml)->source, "imported from config.json");
    }
}

/* ---- Fields that may be absent, or said in several ways ---- */

static void whole_numbers_may_be_written_as_reals(void **state) {
    world *w = *state;
    const char *plain = yaml_of(w, llama_with(w, 0, ""));
    assert_string_equal(yaml_of(w, llama_with(w, 3, "  'hidden_size': 4096.0,")), plain);
    assert_string_equal(yaml_of(w, llama_with(w, 3, "  'hidden_size': 4.096e3,")), plain);
}

static void windows_of_qwen_begin_where_the_file_says(void **state) {
    world *w = *state;
    static const char text[] =
        "{'model_type': 'qwen2', 'hidden_size': 64, 'num_hidden_layers': 5, "
        "'num_attention_heads': 4, 'intermediate_size': 64, 'vocab_size': 100, "
        "'max_position_embeddings': 1000, 'sliding_window': 128, 'max_window_layers': 3, "
        "'use_sliding_window': true}";
    const sli_layer_run *runs = model_of(w, text)->layers.rows;
    assert_int_equal(runs[0].count, 3);
    assert_string_equal(runs[0].mixer->name, "full");
    assert_int_equal(runs[1].count, 2);
    assert_int_equal(((const sli_gqa *)runs[1].mixer->values)->window_tokens, 128);
}

#define INDEXED(sharing)                                                                           \
    "{'model_type': 'glm_moe_dsa', 'hidden_size': 64, 'num_hidden_layers': 8, "                    \
    "'num_attention_heads': 4, 'intermediate_size': 64, 'vocab_size': 100, "                       \
    "'max_position_embeddings': 1000, 'q_lora_rank': 16, 'kv_lora_rank': 16, "                     \
    "'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8, 'v_head_dim': 8, 'index_n_heads': 2, "          \
    "'index_head_dim': 8, 'index_topk': 4, " sharing "}"

/* Full where max(i - 3 + 1, 0) is a multiple of 4: layers 0, 1, 2 and 6. */
static void sharing_of_an_index_is_said_in_three_ways(void **state) {
    world *w = *state;
    const char *words = yaml_of(w, INDEXED("'indexer_types': [<3*'full'>,<3*'shared'>,'full',"
                                           "'shared']"));
    assert_string_equal(yaml_of(w, INDEXED("'index_topk_pattern': 'FFFSSSFS'")), words);
    assert_string_equal(yaml_of(w, INDEXED("'index_topk_freq': 4, 'index_skip_topk_offset': 3")),
                        words);
    refuses(w, INDEXED("'index_topk_pattern': 'FFS'"), "index_topk_pattern",
            "expected 8 letters, found 3");
}

/* 4,096 / 16. */
static void ranks_of_jamba_follow_from_its_width(void **state) {
    world *w = *state;
    const char *rank = yaml_of(w, JAMBA(4096, ", 'mamba_dt_rank': 256"));
    assert_string_equal(yaml_of(w, JAMBA(4096, "")), rank);
    assert_string_equal(yaml_of(w, JAMBA(4096, ", 'mamba_dt_rank': 'auto'")), rank);
    refuses(w, JAMBA(4096, ", 'mamba_dt_rank': 'outo'"), "mamba_dt_rank",
            "expected 'auto', found \"outo\"; did you mean 'auto'?");
}

typedef struct published {
    const char *text;
    int64_t params;
    int64_t uncounted; /* norms, biases and learned positions */
} published;

/*
 * Gemma 3 4B: 3,209 million beside 671,252,480 of embeddings (Gemma 3 report, table 1), which the
 * file says in four fields; the exact count of matrices is 34 x 94,371,840. The others are the sums
 * over the published checkpoints: Falcon 7B has 66 norms of 4,544; GPT-2 has 1,024 positions and
 * 12 x 13 + 2 vectors of 768; GPT-J 28 x 7 + 2 vectors of 4,096 and a bias a word; GPT-NeoX 20B
 * 44 x 13 + 2 of 6,144.
 */
static void published_counts_are_met(void **state) {
    static const published models[] = {
        {"{'model_type': 'gemma3', 'text_config': {'model_type': 'gemma3_text', "
         "'hidden_size': 2560, 'num_hidden_layers': 34, 'intermediate_size': 10240, "
         "'sliding_window': 1024}}",
         INT64_C(671252480) + 34 * INT64_C(94371840), 0},
        {"{'model_type': 'falcon', 'hidden_size': 4544, 'num_hidden_layers': 32, "
         "'num_attention_heads': 71, 'num_kv_heads': 71, 'multi_query': true, "
         "'new_decoder_architecture': false, 'vocab_size': 65024, "
         "'max_position_embeddings': 2048}",
         INT64_C(6921720704), 66 * 4544},
        {"{'model_type': 'gpt2', 'n_embd': 768, 'n_layer': 12, 'n_head': 12, 'n_ctx': 1024, "
         "'n_positions': 1024, 'vocab_size': 50257}",
         INT64_C(124439808), (1024 + 12 * 13 + 2) * 768},
        {"{'model_type': 'gptj', 'n_embd': 4096, 'n_layer': 28, 'n_head': 16, 'rotary_dim': 64, "
         "'n_inner': null, 'n_positions': 2048, 'vocab_size': 50400, "
         "'tie_word_embeddings': false}",
         INT64_C(6050882784), (28 * 7 + 2) * 4096 + 50400},
        {"{'model_type': 'gpt_neox', 'hidden_size': 6144, 'num_hidden_layers': 44, "
         "'num_attention_heads': 64, 'intermediate_size': 24576, 'rotary_pct': 0.25, "
         "'max_position_embeddings': 2048, 'vocab_size': 50432, 'tie_word_embeddings': false}",
         INT64_C(20554567680), (44 * 13 + 2) * 6144},
    };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const sli_architecture *model = model_of(*state, models[i].text);
        assert_int_equal(sli_params_total(model) + models[i].uncounted, models[i].params);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_name_field_and_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_mistakes_come_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mistake_is_said_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nested_fields_have_their_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kimi_counts_its_layers_from_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nemotron_says_blocks_in_two_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_heads_must_divide_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_wrong_with_the_result_is_said_too, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(more_experts_than_there_are_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_type_can_be_read_as_a_family, set_up, tear_down),
        cmocka_unit_test_setup_teardown(llama_is_offered_only_where_it_fits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types_are_looked_for_in_three_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inner_models_take_what_stands_around_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(strange_fields_are_warned_about_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_read_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_may_say_its_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whole_numbers_may_be_written_as_reals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_of_qwen_begin_where_the_file_says, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sharing_of_an_index_is_said_in_three_ways, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(ranks_of_jamba_follow_from_its_width, set_up, tear_down),
        cmocka_unit_test_setup_teardown(published_counts_are_met, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
