/*
 * What the importer refuses, where it says so, and which family it takes a file for.
 */
#include "kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- Mistakes ---- */

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
        {6, "  'num_key_value_heads': 0,", 26, "num_key_value_heads",
         "expected a number between 1 and 65536, found '0'"},
        {9, "  'tie_word_embeddings': 'false',", 26, "tie_word_embeddings",
         "expected true or false, found \"false\""},
        {9, "  'tie_word_embeddings': 'true',", 26, "tie_word_embeddings",
         "expected true or false, found \"true\""},
        {9, "  'sliding_window': 4096, 'layer_types': ['full_attention'],", 42, "layer_types",
         "expected 4 items, one a layer, found 1"},
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
        assert_int_equal(import_as(&w, llama_with(&w, m->line, m->text), NULL, NULL, &yaml),
                         SL_ERR_CONFIG);
        assert_null(yaml);
        const sli_diag_entry *first = w.diag.first;
        if (w.diag.error_count != 1 || first->mark.line != m->line ||
            first->mark.column != m->column || strcmp(first->path, m->path) != 0 ||
            strcmp(first->message, m->message) != 0) {
            sli_diag_print(&w.diag, stderr);
            fail_msg("not %d:%d: %s: %s", m->line, m->column, m->path, m->message);
        }
        tear_down_world((void *[]){&w});
    }
    (void)state;
}

static void fields_may_not_be_missing(void **state) {
    refuses(*state, llama_with(*state, 7, ""), "",
            "missing field 'intermediate_size' or 'ffn_dim'");
    refuses(*state, llama_with(*state, 8, ""), "", "missing field 'vocab_size'");
    refuses(*state, llama_with(*state, 8, "  'vocab_size': null,"), "",
            "missing field 'vocab_size'");
}

static void all_mistakes_come_at_once(void **state) {
    world *w = *state;
    const char *yaml = NULL;
    assert_int_equal(import_as(w,
                               "{'model_type': 'llama', 'num_hidden_layers': 4, 'vocab_size': 'x', "
                               "'num_attention_heads': 32, 'intermediate_size': 1}",
                               NULL, NULL, &yaml),
                     SL_ERR_CONFIG);
    has_error(w, "", "missing field 'hidden_size' or 'n_embd' or 'n_embed' or 'd_model'");
    has_error(w, "", "missing field 'max_position_embeddings' or");
    has_error(w, "vocab_size", "expected a whole number");
    assert_int_equal(w->diag.error_count, 3);
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
    refuses(w,
            llama_with(w, 2,
                       "  'model_type': 'kimi_linear', 'kv_lora_rank': 8, "
                       "'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8, 'v_head_dim': 8,"),
            "linear_attn_config", "missing: an object that says which layers have KDA");
    refuses(w,
            llama_with(w, 2,
                       "  'model_type': 'kimi_linear', 'kv_lora_rank': 8, "
                       "'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8, 'v_head_dim': 8, "
                       "'linear_attn_config': {'num_heads': 2, 'head_dim': 8, "
                       "'kda_layers': [1], 'short_conv_kernel_size': 4},"),
            path, "missing: kda_layers and full_attn_layers, lists of layers");
    refuses(w, KIMI("0,1,2", "3"), "linear_attn_config.kda_layers[0]",
            "expected a number between 1 and 4, found '0'");
}

static void more_experts_than_there_are_are_refused(void **state) {
    refuses(*state,
            "{'model_type': 'mixtral', 'hidden_size': 64, 'num_hidden_layers': 2, "
            "'num_attention_heads': 8, 'intermediate_size': 64, 'vocab_size': 100, "
            "'max_position_embeddings': 1000, 'num_local_experts': 8, 'num_experts_per_tok': 9}",
            "num_experts_per_tok", "a token is routed to 9 experts, and there are 8");
}

/* ---- Families ---- */

static void an_unknown_type_can_be_read_as_a_family(void **state) {
    world *w = *state;
    const char *yaml = NULL;
    const char *text = llama_with(w, 2, "  'model_type': 'quite_new',");
    assert_int_equal(import_as(w, text, "llama", NULL, &yaml), SL_OK);
    assert_int_equal(sli_architecture_layers(resolve_yaml(w, yaml)), 4);
    assert_non_null(strstr(yaml, "name: quite_new\n"));
}

/* What has more than a Llama is not offered as one. */
static void llama_is_offered_only_where_it_fits(void **state) {
    world *w = *state;
    const char *yaml = NULL;
    assert_int_equal(import_as(w,
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
        tear_down_world((void *[]){&fresh});
    }
}

/* Fields that the inner model does not say may stand around it. */
static void inner_models_take_what_stands_around_them(void **state) {
    world *w = *state;
    const sli_architecture *model = model_of(
        w, "{'model_type': 'mistral3', 'vocab_size': 100, 'tie_word_embeddings': true, "
           "'num_hidden_layers': 9, 'text_config': {'model_type': 'mistral', "
           "'hidden_size': 64, 'num_hidden_layers': 2, 'num_attention_heads': 16, "
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
    assert_int_equal(w->diag.first->mark.column, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(mistakes_name_field_and_place, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(fields_may_not_be_missing, set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(all_mistakes_come_at_once, set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(nested_fields_have_their_path, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(kimi_counts_its_layers_from_one, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(more_experts_than_there_are_are_refused, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(an_unknown_type_can_be_read_as_a_family, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(llama_is_offered_only_where_it_fits, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(types_are_looked_for_in_three_places, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(inner_models_take_what_stands_around_them, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(strange_fields_are_warned_about_once, set_up_world,
                                        tear_down_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
