/*
 * What the importer makes of fields that files leave out, or say in several ways. Counts of
 * parameters are those that the makers publish, less the norms, biases and learned positions that
 * model/params.h does not count.
 */
#include "kit.h"
#include "model/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- Names ---- */

static void names_read_back(void **state) {
    static const char *const names[] = {
        "m",          "Llama 3.1 8B (text)",
        "a: b # c",   "\"quoted\" \\ name",
        "null",       "- x",
        "",           "R\xC3\xA9sum\xC3\xA9",
        "two\nlines", "[1]",
        "on",         "7",
        " spaced ",   "m ",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        world *w = *state;
        const char *yaml = NULL;
        assert_int_equal(import_as(w, llama_with(w, 0, ""), NULL, names[i], &yaml), SL_OK);
        assert_string_equal(resolve_yaml(w, yaml)->name, names[i]);
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
        assert_int_equal(import_as(w, llama_with(w, 9, files[i].line), NULL, NULL, &yaml), SL_OK);
        assert_string_equal(resolve_yaml(w, yaml)->name, files[i].name);
        assert_string_equal(resolve_yaml(w, yaml)->source, "imported from config.json");
    }
}

/* ---- Fields that may be absent, or said in several ways ---- */

static void whole_numbers_may_be_written_as_reals(void **state) {
    world *w = *state;
    const char *plain = yaml_of(w, llama_with(w, 0, ""));
    assert_string_equal(yaml_of(w, llama_with(w, 3, "  'hidden_size': 4096.0,")), plain);
    assert_string_equal(yaml_of(w, llama_with(w, 3, "  'hidden_size': 4.096e3,")), plain);
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
    assert_non_null(strstr(letters, "  - [1, mamba2, none]\n  - [1, none, dense]\n"
                                    "  - [1, mamba2, none]\n  - [1, full, none]\n"));
    const char *mtp = yaml_of(
        w, NEMOTRON("'hybrid_override_pattern': 'M-M*', 'num_nextn_predict_layers': 2, "
                    "'mtp_hybrid_override_pattern': '*-'"));
    assert_non_null(strstr(mtp, "mtp_layers:  # count, attention, ffn\n"
                                "  - [2, [[1, full, none], [1, none, dense]]]\n"));
    refuses(w, NEMOTRON("'hybrid_override_pattern': 'M-X*'"), "hybrid_override_pattern[2]",
            "expected 'M', '*', '-' or 'E', found \"X\"");
    refuses(w, NEMOTRON("'hybrid_override_pattern': ['M']"), "hybrid_override_pattern",
            "expected a text with a letter for each layer, found a list");
    refuses(w, NEMOTRON("'hybrid_override_pattern': ''"), "hybrid_override_pattern",
            "expected a text with a letter for each layer, found \"\"");
    refuses(w, NEMOTRON("'n_group': 1"), "hybrid_override_pattern",
            "missing: a text with M, *, - or E for each layer");
    refuses(w, NEMOTRON("'hybrid_override_pattern': 'M-M*', 'num_hidden_layers': 5"),
            "num_hidden_layers", "expected 4, the layers of the pattern");
}

#define V4(heads, groups, rest)                                                                    \
    "{'model_type': 'deepseek_v4', 'hidden_size': 64, 'num_hidden_layers': 2, "                    \
    "'num_attention_heads': " #heads ", 'head_dim': 8, 'q_lora_rank': 8, 'o_lora_rank': 8, "       \
    "'o_groups': " #groups ", 'sliding_window': 128, 'index_n_heads': 2, 'index_head_dim': 8, "    \
    "'index_topk': 4, 'n_routed_experts': 8, 'num_experts_per_tok': 2, "                           \
    "'moe_intermediate_size': 64, 'vocab_size': 100, 'max_position_embeddings': 4096" rest "}"

#define RATIOS ", 'hc_mult': 4, 'compress_ratios': [4, 128]"

static void groups_of_heads_must_divide_them(void **state) {
    (void)yaml_of(*state, V4(6, 3, RATIOS));
    refuses(*state, V4(6, 4, RATIOS), "o_groups", "4 groups do not divide the 6 query heads");
}

/* The three kinds of mixers ask for the same fields. */
static void a_mistake_is_said_once(void **state) {
    refuses(*state, V4(6, 0, RATIOS), "o_groups", "expected a number between 1 and 65536");
}

/* Layers of multi-token prediction may have their ratios behind the others, else they are windows.
 */
static void ratios_of_v4_are_said_in_three_ways(void **state) {
    world *w = *state;
    const char *alone = yaml_of(w, V4(6, 3, RATIOS ", 'num_nextn_predict_layers': 1"));
    assert_non_null(strstr(alone, "  - [1, csa, moe]\n  - [1, hca, moe]\nmtp_layers:"));
    assert_non_null(strstr(alone, "  - [1, window, moe]\n"));
    assert_non_null(strstr(alone, "hyper_streams: 4\n"));
    assert_string_equal(yaml_of(w, V4(6, 3,
                                      ", 'hc_mult': 4, 'num_nextn_predict_layers': 1, "
                                      "'compress_ratios': [4, 128, 0]")),
                        alone);
    assert_string_equal(yaml_of(w, V4(6, 3,
                                      ", 'hc_mult': 4, 'num_nextn_predict_layers': 1, "
                                      "'layer_types': ['compressed_sparse_attention', "
                                      "'heavily_compressed_attention']")),
                        alone);
    const char *more = yaml_of(w, V4(6, 3,
                                     ", 'hc_mult': 1, 'num_nextn_predict_layers': 1, "
                                     "'compress_ratios': [0, 0, 4]"));
    assert_non_null(strstr(more, "  - [2, window, moe]\nmtp_layers:"));
    assert_non_null(strstr(more, "  - [1, csa, moe]\n"));
    assert_null(strstr(more, "hyper_streams"));
    assert_null(strstr(more, "state_vectors: 2")); /* csa has 4, a window none */
    refuses(w, V4(6, 3, ", 'hc_mult': 4, 'compress_ratios': [4, 7]"), "compress_ratios[1]",
            "expected '0', '4' or '128', found '7'");
    refuses(w, V4(6, 3, ", 'hc_mult': 4, 'compress_ratios': [4, 128, 0]"), "compress_ratios",
            "expected 2 items, one a layer, found 3");
    refuses(w, V4(6, 3, ", 'hc_mult': 4"), "compress_ratios",
            "missing: a list with 0, 4 or 128 for each layer");
}

#define JAMBA(hidden, offset, rank)                                                                \
    "{'model_type': 'jamba', 'hidden_size': " #hidden ", 'num_hidden_layers': 8, "                 \
    "'num_attention_heads': 32, 'intermediate_size': 64, 'vocab_size': 100, "                      \
    "'max_position_embeddings': 1000, 'attn_layer_offset': " #offset ", 'attn_layer_period': 8, "  \
    "'expert_layer_offset': 1, 'expert_layer_period': 2, 'num_experts': 1, "                       \
    "'num_experts_per_tok': 2, 'mamba_d_conv': 4, 'mamba_d_state': 16, 'mamba_expand': 2" rank "}"

/* Found when the model file is checked: both fields are right, and 1,200,000 channels are too many
 * for the schema. */
static void what_is_wrong_with_the_result_is_said_too(void **state) {
    world *w = *state;
    refuses(w, JAMBA(600000, 4, ""), "attention.mamba1.heads", "must be between 1 and 1000000");
    assert_string_equal(w->diag.first->mark.file, "c.json, as imported");
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

/* Two of layer_types suffice, with or without the switch. */
static void windows_may_be_listed(void **state) {
    world *w = *state;
    static const char form[] =
        "{'model_type': 'qwen3', 'hidden_size': 64, 'num_hidden_layers': 2, "
        "'num_attention_heads': 4, 'intermediate_size': 64, 'vocab_size': 100, "
        "'max_position_embeddings': 1000, 'sliding_window': 128%s}";
    const char *full = yaml_of(w, sli_arena_printf(&w->arena, form, ""));
    const char *listed = sli_arena_printf(
        &w->arena, form,
        ", 'use_sliding_window': true, 'layer_types': ['full_attention', 'full_attention']");
    assert_non_null(strstr(full, "  - [2, full, dense]\n"));
    assert_string_equal(yaml_of(w, listed), full);
    const char *mixed = yaml_of(
        w, sli_arena_printf(&w->arena, form,
                            ", 'layer_types': ['full_attention', 'sliding_attention']"));
    assert_non_null(strstr(mixed, "  - [1, full, dense]\n  - [1, sliding, dense]\n"));
    assert_non_null(strstr(mixed, "window: 128 tokens"));
    const char *all_full = "'layer_types': [<4*'full_attention'>],";
    assert_non_null(strstr(yaml_of(w, llama_with(w, 9, all_full)), "  - [4, full, dense]\n"));
    refuses(w, llama_with(w, 9, "'layer_types': [<3*'full_attention'>,'sliding_attention'],"), "",
            "missing field 'sliding_window'");
}

#define LLAMA4(body)                                                                               \
    "{'model_type': 'llama4_text', 'hidden_size': 64, 'num_hidden_layers': 4, "                    \
    "'num_attention_heads': 4, 'attention_chunk_size': 32, 'num_local_experts': 2, "               \
    "'num_experts_per_tok': 2, 'vocab_size': 100, 'max_position_embeddings': 1000" body "}"

static void llama4_lists_its_layers_in_several_ways(void **state) {
    world *w = *state;
    const char *usual = yaml_of(w, LLAMA4(""));
    assert_non_null(strstr(usual, "  - [3, chunked, moe]\n  - [1, full, moe]\n"));
    assert_string_equal(yaml_of(w, LLAMA4(", 'no_rope_layers': [1, 1, 1, 0]")), usual);
    assert_string_equal(yaml_of(w, LLAMA4(", 'layer_types': [<3*'chunked_attention'>,"
                                          "'full_attention']")),
                        usual);
    assert_string_equal(yaml_of(w, LLAMA4(", 'moe_layers': [0, 1, 2, 3]")), usual);
    const char *every_second = yaml_of(w, LLAMA4(", 'interleave_moe_layer_step': 2"));
    assert_non_null(strstr(every_second, "  - [1, chunked, dense]\n  - [1, chunked, moe]\n"
                                         "  - [1, chunked, dense]\n  - [1, full, moe]\n"));
    assert_string_equal(yaml_of(w, LLAMA4(", 'moe_layers': [1, 3]")), every_second);
    const char *every_third = yaml_of(w, LLAMA4(", 'no_rope_layer_interval': 3"));
    assert_non_null(strstr(every_third, "  - [2, chunked, moe]\n  - [1, full, moe]\n"
                                        "  - [1, chunked, moe]\n"));
}

static void falcon_shares_its_keys_among_all_heads(void **state) {
    world *w = *state;
    static const char form[] =
        "{'model_type': 'falcon', 'hidden_size': 64, 'num_hidden_layers': 2, "
        "'num_attention_heads': 4, 'vocab_size': 100, 'max_position_embeddings': 1000%s}";
    static const struct {
        const char *fields;
        const char *heads;
    } files[] = {
        {"", "kv_heads: 1,"},
        {", 'multi_query': true, 'num_kv_heads': 4", "kv_heads: 1,"},
        {", 'multi_query': false", "kv_heads: 4,"},
        {", 'new_decoder_architecture': true, 'n_head_kv': 2", "kv_heads: 2,"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *yaml = yaml_of(w, sli_arena_printf(&w->arena, form, files[i].fields));
        assert_non_null(strstr(yaml, files[i].heads));
    }
}

/* A field, what comes of it, and a warning that names what is not known; NULL = there is none. */
typedef struct weights_form {
    const char *line;
    const char *weights;
    const char *path;
    const char *message;
} weights_form;

static void has_weights(world *w, const char *text, const weights_form *form) {
    int warnings_before = w->diag.warning_count;
    const sli_architecture *model = model_of(w, text);
    assert_string_equal(sli_weights_say(&model->weights).text, form->weights);
    assert_int_equal(w->diag.warning_count - warnings_before, form->path != NULL);
    if (form->path != NULL) {
        assert_string_equal(w->diag.last->path, form->path);
        if (strstr(w->diag.last->message, form->message) == NULL) {
            fail_msg("'%s' does not say '%s'", w->diag.last->message, form->message);
        }
    }
}

#define QUANTISED(text) "  'quantization_config': {" text "},"
#define PACKED(weights)                                                                            \
    QUANTISED("'quant_method': 'compressed-tensors', 'format': 'pack-quantized', "                 \
              "'config_groups': {'group_0': {'targets': ['Linear'], 'weights': {" weights "}}}")

static void weights_are_in_the_formats_of_the_file(void **state) {
    world *w = *state;
    static const char q[] = "quantization_config";
    static const char ignored[] = "quantization_config.ignore";
    static const weights_form forms[] = {
        {"  'dtype': 'float16',", "bf16", NULL, NULL},
        {"  'torch_dtype': 'bfloat16',", "bf16", NULL, NULL},
        {"  'torch_dtype': 'float8_e4m3fn',", "fp8", NULL, NULL},
        {"  'torch_dtype': 'float32',", "bf16", "torch_dtype", "'float32' are counted in bf16"},
        {"  'dtype': 'int3',", "bf16", "dtype", "'int3' are counted in bf16"},
        {QUANTISED("'quant_algo': 'NVFP4', 'quant_method': 'modelopt'"), "nvfp4", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'weight_block_size': [128, 128]"), "fp8", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'modules_to_not_convert': ['lm_head', 'gate']"),
         "bf16 embeddings, fp8 else", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'modules_to_not_convert': ['visual.blocks.0.attn.qkv', "
                   "'model.layers.0.mlp.gate', 'model.layers.0.input_layernorm']"),
         "fp8", NULL, NULL},
        {QUANTISED("'quant_method': 'fbgemm_fp8', 'modules_to_not_convert': ['self_attn']"),
         "bf16 attention, fp8 else", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'ignore': ['re:.*mlp.gate_up_proj$']"),
         "fp8 attention, fp8 embeddings, bf16 else", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'ignore': ['re:.*mlp\\\\.(up|gate)_proj.*']"),
         "fp8 attention, fp8 embeddings, bf16 else", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'ignore': ['re:.*mlp\\\\.gate$', '*.mlp.gate.*', "
                   "'*router*', 'model.layers.1.mlp.shared_expert_gate', '*linear_attn.conv1d*', "
                   "'multi_modal_projector', 'model.layers.1.mlp.gate.wg']"),
         "fp8", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'ignore': ['multi_head_attn']"),
         "bf16 attention, fp8 else", NULL, NULL},
        {QUANTISED("'quant_method': 'fp8', 'ignore': ['re:.*mlp.experts.gate_up_proj$']"), "fp8",
         ignored, "gate_up_proj$' is counted as quantised"},
        {QUANTISED(
             "'quant_method': 'modelopt', 'quant_algo': 'NVFP4', 'config_groups': {'group_0': "
             "{'weights': {'num_bits': 4, 'group_size': 16}}}"),
         "nvfp4", NULL, NULL},
        {PACKED("'num_bits': 4, 'type': 'int', 'group_size': 32"), "int4", NULL, NULL},
        {PACKED("'num_bits': 8, 'type': 'int', 'strategy': 'channel'"), "int8", NULL, NULL},
        {PACKED("'num_bits': 8, 'type': 'float'"), "fp8", NULL, NULL},
        {PACKED("'num_bits': 4, 'type': 'float', 'group_size': 16"), "nvfp4", NULL, NULL},
        {PACKED("'num_bits': 4, 'type': 'int', 'group_size': 128"), "int4",
         "quantization_config.config_groups.group_0.weights.group_size", "in groups of 128"},
        {QUANTISED("'quant_method': 'awq', 'bits': 4, 'group_size': 32"), "int4", NULL, NULL},
        {QUANTISED("'quant_method': 'gptq', 'bits': 3"), "bf16", q, "what 'gptq' does"},
        {QUANTISED("'quant_method': 'bitnet'"), "bf16", q, "what 'bitnet' does"},
        {QUANTISED("'weight_block_size': [128, 128]"), "bf16", q, "no quant_method"},
        {QUANTISED("'quant_method': 'fp8', 'ignore': ['model.layers.0.self_attn']"), "fp8", ignored,
         "'model.layers.0.self_attn' is counted as quantised"},
        {QUANTISED("'quant_method': 'fp8', 'ignore': ['lm_head', 'banana']"),
         "bf16 embeddings, fp8 else", ignored, "'banana' is counted as quantised"},
        {"  'expert_dtype': 'fp4',", "bf16", NULL, NULL}, /* it has no experts */
        {"  'expert_dtype': 'fp5',", "bf16", "expert_dtype", "'fp5' are counted like all else"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        has_weights(w, llama_with(w, 9, forms[i].line), &forms[i]);
    }
}

/* A file as the makers of Mamba have it: no type, and of the mixer what differs from the module. */
#define MAMBA(mixer)                                                                               \
    "{'d_model': 2560, 'd_intermediate': 0, 'n_layer': 64, 'vocab_size': 50277, "                  \
    "'ssm_cfg': {" mixer "}, 'attn_layer_idx': [], 'attn_cfg': {}, 'rms_norm': true, "             \
    "'residual_in_fp32': true, 'fused_add_norm': true, 'pad_vocab_size_multiple': 16, "            \
    "'tie_embeddings': true}"

static void mamba_is_read_as_its_makers_write_it(void **state) {
    world *w = *state;
    const sli_architecture *catalogue = NULL;
    assert_int_equal(sli_architecture_read(&w->arena, "mamba-2-2.7b", (sli_catalogue_site){0},
                                           &w->diag, &catalogue),
                     SL_OK);
    const sli_architecture *model = model_of(w, MAMBA("'layer': 'Mamba2'"));
    assert_int_equal(sli_params_total(model), sli_params_total(catalogue));
    assert_int_equal(sli_params_matmul(model), sli_params_matmul(catalogue));
    assert_int_equal(model->context_native_tokens, catalogue->context_native_tokens);
    assert_int_equal(w->diag.warning_count, 0);
    refuses(w, MAMBA("'layer': 'Mamba1'"), "ssm_cfg.layer", "Mamba2");
    refuses(w, MAMBA("'d_state': 64"), "ssm_cfg.layer", "missing, which means Mamba1");
    refuses(w, MAMBA("'layer': 'Mamba2', 'headdim': 96"), "ssm_cfg.headdim",
            "heads of 96 do not divide a width of 5120");
}

/* A file of Qwen3 VL holds the text model of Qwen3. */
static void the_text_of_a_vision_model_is_its_family(void **state) {
    world *w = *state;
    const sli_architecture *model = model_of(
        w, "{'architectures': ['Qwen3VLMoeForConditionalGeneration'], 'model_type': "
           "'qwen3_vl_moe', 'vision_config': {'depth': 27, 'deepstack_visual_indexes': [8]}, "
           "'text_config': {'model_type': 'qwen3_vl_moe_text', 'hidden_size': 64, "
           "'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_key_value_heads': 2, "
           "'head_dim': 16, 'intermediate_size': 128, 'decoder_sparse_step': 1, "
           "'moe_intermediate_size': 32, 'num_experts': 8, 'num_experts_per_tok': 2, "
           "'mlp_only_layers': [], 'norm_topk_prob': true, 'vocab_size': 100, "
           "'max_position_embeddings': 4096, 'rope_scaling': {'mrope_interleaved': true}}}");
    const sli_layer_run *run = model->layers.rows;
    assert_int_equal(run->count, 2);
    assert_true(((const sli_gqa *)run->mixer->values)->has_qk_norm);
    assert_int_equal(sli_params_fewest_experts(model), 8);
    assert_int_equal(w->diag.warning_count, 0);
}

/* Neither has a length that positions end at; both were trained on 2,048 tokens. */
static void a_context_that_is_not_said_is_that_of_the_training(void **state) {
    world *w = *state;
    static const char *const files[] = {
        "{'model_type': 'bloom', 'n_embed': 14336, 'n_layer': 70, 'num_attention_heads': 112, "
        "'vocab_size': 250880}",
        "{'model_type': 'falcon', 'hidden_size': 14848, 'num_hidden_layers': 80, "
        "'num_attention_heads': 232, 'num_kv_heads': 8, 'new_decoder_architecture': true, "
        "'vocab_size': 65024}",
    };
    for (size_t i = 0; i < 2; i++) {
        const sli_architecture *model = model_of(w, files[i]);
        assert_int_equal(model->context_native_tokens, 2048);
        assert_non_null(strstr(model->note, "names no longest context"));
    }
    refuses(w, "{'model_type': 'gpt2', 'n_embd': 64, 'n_layer': 2, 'n_head': 4, 'vocab_size': 9}",
            "", "max_position_embeddings");
}

#define GEMMA4(body)                                                                               \
    "{'model_type': 'gemma4_text', 'hidden_size': 64, 'num_hidden_layers': 12, "                   \
    "'num_attention_heads': 4, 'num_key_value_heads': 2, 'intermediate_size': 64" body "}"

/* Widths, window, vocabulary and context are those of the class; every sixth layer is full. */
static void gemma4_may_leave_out_what_its_class_says(void **state) {
    world *w = *state;
    const sli_architecture *model = model_of(w, GEMMA4(""));
    const sli_layer_run *runs = model->layers.rows;
    const sli_gqa *sliding = runs[0].mixer->values;
    const sli_gqa *full = runs[1].mixer->values;
    assert_int_equal(model->layers.count, 4);
    assert_int_equal(runs[0].count, 5);
    assert_int_equal(sliding->window_tokens, 512);
    assert_int_equal(sliding->head_dim, 256);
    assert_int_equal(full->head_dim, 512);
    assert_int_equal(full->kv_heads, 2);
    assert_int_equal(model->layer_embedding, 256);
    assert_int_equal(model->vocab_tokens, 262144);
    assert_int_equal(model->context_native_tokens, 131072);
    assert_true(model->has_tied_embeddings);
}

static void gemma4_is_refused_where_it_is_not_modelled(void **state) {
    world *w = *state;
    refuses(w, GEMMA4(", 'vocab_size_per_layer_input': 1000"), "vocab_size_per_layer_input",
            "expected the vocabulary, 262144: another one is not modelled");
    refuses(w, GEMMA4(", 'use_bidirectional_attention': 'all'"), "use_bidirectional_attention",
            "expected 'vision', found \"all\"");
    refuses(w, GEMMA4(", 'attention_k_eq_v': true, 'num_global_key_value_heads': 3"),
            "num_global_key_value_heads", "3 key-value heads do not divide the 4 query heads");
    (void)yaml_of(w, GEMMA4(", 'num_global_key_value_heads': 3")); /* counts only with the other */
    (void)yaml_of(w, GEMMA4(", 'vocab_size_per_layer_input': 1000, "
                            "'hidden_size_per_layer_input': 0"));
}

static void minimax_has_modules_only_when_it_uses_them(void **state) {
    world *w = *state;
    static const char form[] =
        "{'model_type': 'minimax_m2', 'hidden_size': 64, 'num_hidden_layers': 2, "
        "'num_attention_heads': 4, 'intermediate_size': 64, 'num_local_experts': 4, "
        "'num_experts_per_tok': 2, 'vocab_size': 100, 'max_position_embeddings': 1000, "
        "'num_mtp_modules': 3%s}";
    const char *with = ", 'use_mtp': true, 'mtp_transformer_layers': 2";
    assert_null(strstr(yaml_of(w, sli_arena_printf(&w->arena, form, "")), "mtp_layers"));
    assert_non_null(
        strstr(yaml_of(w, sli_arena_printf(&w->arena, form, with)), "  - [6, full, moe]\n"));
}

static void sparse_attention_can_be_switched_off(void **state) {
    world *w = *state;
    static const char form[] =
        "{'model_type': 'minimax_m3', 'hidden_size': 64, 'num_hidden_layers': 2, "
        "'num_attention_heads': 4, 'head_dim': 16, 'intermediate_size': 64, "
        "'dense_intermediate_size': 64, 'num_local_experts': 4, 'num_experts_per_tok': 2, "
        "'vocab_size': 100, 'max_position_embeddings': 1000%s}";
    const char *full = yaml_of(w, sli_arena_printf(&w->arena, form, ""));
    assert_non_null(strstr(full, "[2, full, moe]"));
    assert_string_equal(
        yaml_of(w,
                sli_arena_printf(&w->arena, form,
                                 ", 'sparse_attention_config': {'use_sparse_attention': false}")),
        full);
    const char *half = yaml_of(
        w, sli_arena_printf(&w->arena, form,
                            ", 'moe_layer_freq': [0, 1], 'sparse_attention_config': "
                            "{'sparse_block_size': 8, 'sparse_topk_blocks': 4, "
                            "'sparse_local_block': 1, 'sparse_init_block': 2, "
                            "'sparse_num_index_heads': 2, 'sparse_attention_freq': [0, 1]}"));
    assert_non_null(strstr(half, "sparse: {block: 8 tokens, top_blocks: 4, local_blocks: 3, "
                                 "index_heads: 2, index_dim: 16}"));
    assert_non_null(strstr(half, "  - [1, full, dense]\n  - [1, msa, moe]\n"));
}

#define INDEXED(sharing)                                                                           \
    "{'model_type': 'glm_moe_dsa', 'hidden_size': 64, 'num_hidden_layers': 8, "                    \
    "'num_attention_heads': 4, 'intermediate_size': 64, 'vocab_size': 100, "                       \
    "'max_position_embeddings': 1000, 'q_lora_rank': 16, 'kv_lora_rank': 16, "                     \
    "'qk_nope_head_dim': 8, 'qk_rope_head_dim': 8, 'v_head_dim': 8, 'index_n_heads': 2, "          \
    "'index_head_dim': 8, 'index_topk': 4, " sharing "}"

/* Of DeepSeek V3.2 and GLM-5 the index is known to be there. */
static void an_index_may_not_be_missing(void **state) {
    refuses(*state,
            "{'model_type': 'deepseek_v32', 'hidden_size': 64, 'num_hidden_layers': 2, "
            "'num_attention_heads': 4, 'intermediate_size': 64, 'vocab_size': 100, "
            "'max_position_embeddings': 1000, 'kv_lora_rank': 16, 'qk_nope_head_dim': 8, "
            "'qk_rope_head_dim': 8, 'v_head_dim': 8, 'index_n_heads': 2, 'index_head_dim': 8}",
            "", "missing field 'index_topk'");
}

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
    const char *rank = yaml_of(w, JAMBA(4096, 4, ", 'mamba_dt_rank': 256"));
    assert_string_equal(yaml_of(w, JAMBA(4096, 4, "")), rank);
    assert_string_equal(yaml_of(w, JAMBA(4096, 4, ", 'mamba_dt_rank': 'auto'")), rank);
    refuses(w, JAMBA(4096, 8, ""), "attn_layer_offset", "expected a number between 0 and 7");
    refuses(w, JAMBA(4096, 4, ", 'sliding_window': 8"), "sliding_window",
            "is not known for 'jamba'");
    refuses(w, JAMBA(4096, 4, ", 'mamba_dt_rank': 'outo'"), "mamba_dt_rank",
            "expected 'auto', found \"outo\"; did you mean 'auto'?");
}

#define RWKV(values)                                                                               \
    "{'model_type': 'rwkv7', 'hidden_size': 128, 'num_hidden_layers': 2, 'head_dim': 64, "         \
    "'decay_low_rank_dim': 8, 'a_low_rank_dim': 8, 'v_low_rank_dim': 8, 'gate_low_rank_dim': 8, "  \
    "'vocab_size': 100" values "}"

static void values_of_rwkv_are_as_wide_as_the_stream(void **state) {
    world *w = *state;
    const char *yaml = yaml_of(w, RWKV(""));
    assert_string_equal(yaml_of(w, RWKV(", 'value_dim': 128")), yaml);
    assert_string_equal(yaml_of(w, RWKV(", 'value_dim': [128, 128]")), yaml);
    assert_non_null(strstr(yaml, "context_native: unlimited"));
    refuses(w, RWKV(", 'value_dim': 256"), "value_dim", "expected '128', found '256'");
    refuses(w, RWKV(", 'value_dim': [128, 64]"), "value_dim[1]", "expected '128', found '64'");
    refuses(w, RWKV(", 'attn': {'layers': [1]}"), "attn", "how is not known for 'rwkv7'");
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
        cmocka_unit_test_setup_teardown(names_read_back, set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(a_file_may_say_its_name, set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(whole_numbers_may_be_written_as_reals, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(nemotron_says_blocks_in_two_ways, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(groups_of_heads_must_divide_them, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(a_mistake_is_said_once, set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(ratios_of_v4_are_said_in_three_ways, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(what_is_wrong_with_the_result_is_said_too, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(windows_of_qwen_begin_where_the_file_says, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(windows_may_be_listed, set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(llama4_lists_its_layers_in_several_ways, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(falcon_shares_its_keys_among_all_heads, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(weights_are_in_the_formats_of_the_file, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(mamba_is_read_as_its_makers_write_it, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(the_text_of_a_vision_model_is_its_family, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(a_context_that_is_not_said_is_that_of_the_training,
                                        set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(gemma4_may_leave_out_what_its_class_says, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(gemma4_is_refused_where_it_is_not_modelled, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(minimax_has_modules_only_when_it_uses_them, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(sparse_attention_can_be_switched_off, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(an_index_may_not_be_missing, set_up_world, tear_down_world),
        cmocka_unit_test_setup_teardown(sharing_of_an_index_is_said_in_three_ways, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(ranks_of_jamba_follow_from_its_width, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(values_of_rwkv_are_as_wide_as_the_stream, set_up_world,
                                        tear_down_world),
        cmocka_unit_test_setup_teardown(published_counts_are_met, set_up_world, tear_down_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
