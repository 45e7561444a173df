#include "configs.h"

#include <stdlib.h>
#include <string.h>

/* ---- Plain models ---- */

#define HEAD(type, architecture)                                                                   \
    "{'architectures': ['" architecture "'], 'model_type': '" type                                 \
    "', 'torch_dtype': 'bfloat16', "                                                               \
    "'rms_norm_eps': 1e-06, 'use_cache': true, 'transformers_version': '4.57.1', "

#define WIDTHS(hidden, layers, heads, width, vocab, context)                                       \
    "'hidden_size': " #hidden ", 'num_hidden_layers': " #layers ", 'num_attention_heads': " #heads \
    ", 'intermediate_size': " #width ", 'vocab_size': " #vocab                                     \
    ", 'max_position_embeddings': " #context

#define LLAMA(hidden, layers, heads, kv, width, vocab, context)                                    \
    HEAD("llama", "LlamaForCausalLM")                                                              \
    WIDTHS(hidden, layers, heads, width, vocab, context)                                           \
    ", 'num_key_value_heads': " #kv ", 'rope_theta': 500000.0, 'rope_scaling': null, "             \
    "'tie_word_embeddings': false, 'attention_bias': false, 'pretraining_tp': 1}"

/* The first Llama and InternLM know no key-value heads. */
#define MULTI_HEAD(type, architecture, hidden, layers, heads, width, vocab, context)               \
    HEAD(type, architecture)                                                                       \
    WIDTHS(hidden, layers, heads, width, vocab, context) ", 'tie_word_embeddings': false}"

#define QWEN2(layers, hidden, heads, kv, width, vocab, context)                                    \
    HEAD("qwen2", "Qwen2ForCausalLM")                                                              \
    WIDTHS(hidden, layers, heads, width, vocab, context)                                           \
    ", 'num_key_value_heads': " #kv ", 'use_sliding_window': false, 'sliding_window': 131072, "    \
    "'max_window_layers': 80, 'tie_word_embeddings': false}"

#define QWEN3(layers, hidden, heads, width, tied, context)                                         \
    HEAD("qwen3", "Qwen3ForCausalLM")                                                              \
    WIDTHS(hidden, layers, heads, width, 151936, context)                                          \
    ", 'num_key_value_heads': 8, 'head_dim': 128, 'use_sliding_window': false, "                   \
    "'sliding_window': null, 'max_window_layers': 36, 'tie_word_embeddings': " #tied "}"

#define QWEN3_MOE(layers, hidden, heads, experts_width)                                            \
    HEAD("qwen3_moe", "Qwen3MoeForCausalLM")                                                       \
    WIDTHS(hidden, layers, heads, 6144, 151936, 40960)                                             \
    ", 'num_key_value_heads': 4, 'head_dim': 128, 'num_experts': 128, 'num_experts_per_tok': 8, "  \
    "'moe_intermediate_size': " #experts_width ", 'decoder_sparse_step': 1, "                      \
    "'mlp_only_layers': [], 'norm_topk_prob': true, 'router_aux_loss_coef': 0.001, "               \
    "'use_sliding_window': false, 'tie_word_embeddings': false}"

/* The head is the embedding unless a file says otherwise. */
#define OPT(hidden, layers, heads, width)                                                          \
    "{'architectures': ['OPTForCausalLM'], 'model_type': 'opt', 'hidden_size': " #hidden           \
    ", 'num_hidden_layers': " #layers ", 'num_attention_heads': " #heads ", 'ffn_dim': " #width    \
    ", 'word_embed_proj_dim': " #hidden ", 'vocab_size': 50272, 'max_position_embeddings': 2048, " \
    "'activation_function': 'relu', 'do_layer_norm_before': true, 'layerdrop': 0.0}"

/* ---- Windows ---- */

#define SLIDE "'sliding_attention'"
#define FULL  "'full_attention'"

#define GPT_OSS(layers, half, experts)                                                             \
    HEAD("gpt_oss", "GptOssForCausalLM")                                                           \
    WIDTHS(2880, layers, 64, 2880, 201088, 131072)                                                 \
    ", 'num_key_value_heads': 8, 'head_dim': 64, 'num_local_experts': " #experts                   \
    ", 'num_experts_per_tok': 4, 'experts_per_token': 4, 'sliding_window': 128, "                  \
    "'layer_types': [<" #half "*" SLIDE "," FULL ">], 'swiglu_limit': 7.0, "                       \
    "'initial_context_length': 4096, 'attention_bias': true, 'tie_word_embeddings': false, "       \
    "'quantization_config': {'quant_method': 'mxfp4', "                                            \
    "'modules_to_not_convert': ['lm_head']}}"

#define FIVE_SLIDE SLIDE "," SLIDE "," SLIDE "," SLIDE "," SLIDE

#define GEMMA4(body)                                                                               \
    "{'architectures': ['Gemma4ForConditionalGeneration'], 'model_type': 'gemma4', "               \
    "'image_token_id': 258880, 'tie_word_embeddings': true, 'vision_config': {'patch_size': 16}, " \
    "'text_config': {'model_type': 'gemma4_text', 'vocab_size': 262144, 'head_dim': 256, "         \
    "'global_head_dim': 512, 'use_bidirectional_attention': 'vision', "                            \
    "'hidden_activation': 'gelu_pytorch_tanh', 'final_logit_softcapping': 30.0, " body "}}"

/* ---- Linear attention ---- */

#define LINEAR3 "'linear_attention','linear_attention','linear_attention'"

#define QWEN35(type, architecture, quarters, heads, body)                                          \
    "{'architectures': ['" architecture "'], 'model_type': '" type "', 'image_token_id': 248056, " \
    "'vision_config': {'depth': 27, 'hidden_size': 1152}, 'text_config': {'model_type': '" type    \
    "_text', 'attn_output_gate': true, 'full_attention_interval': 4, 'head_dim': 256, "            \
    "'layer_types': [<" #quarters "*" LINEAR3 "," FULL ">], 'linear_conv_kernel_dim': 4, "         \
    "'linear_key_head_dim': 128, 'linear_num_key_heads': 16, 'linear_num_value_heads': " #heads    \
    ", 'linear_value_head_dim': 128, 'mamba_ssm_dtype': 'float32', 'mtp_num_hidden_layers': 1, "   \
    "'mtp_use_dedicated_embeddings': false, 'vocab_size': 248320, "                                \
    "'max_position_embeddings': 262144, " body "}"

#define QWEN35_DENSE(hidden, layers, quarters, heads, kv, width, linear_heads, tied)               \
    QWEN35("qwen3_5", "Qwen3_5ForConditionalGeneration", quarters, linear_heads,                   \
           "'hidden_size': " #hidden ", 'num_hidden_layers': " #layers                             \
           ", 'num_attention_heads': " #heads ", 'num_key_value_heads': " #kv                      \
           ", 'intermediate_size': " #width ", 'tie_word_embeddings': " #tied "}")

#define QWEN35_MOE(hidden, layers, quarters, heads, linear_heads, experts, top_k, width)           \
    QWEN35("qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", quarters, linear_heads,            \
           "'hidden_size': " #hidden ", 'num_hidden_layers': " #layers                             \
           ", 'num_attention_heads': " #heads                                                      \
           ", 'num_key_value_heads': 2, 'num_experts': " #experts                                  \
           ", 'num_experts_per_tok': " #top_k ", 'moe_intermediate_size': " #width                 \
           ", 'shared_expert_intermediate_size': " #width ", 'mlp_only_layers': []}, "             \
           "'tie_word_embeddings': false")

#define RWKV7(hidden, layers)                                                                      \
    "{'architectures': ['RWKV7ForCausalLM'], 'model_type': 'rwkv7', 'hidden_size': " #hidden       \
    ", 'num_hidden_layers': " #layers ", 'head_dim': 64, 'num_heads': null, "                      \
    "'decay_low_rank_dim': 64, 'a_low_rank_dim': 64, 'v_low_rank_dim': 32, "                       \
    "'gate_low_rank_dim': 128, 'hidden_ratio': 4.0, 'intermediate_size': null, "                   \
    "'hidden_act': 'sqrelu', 'norm_first': true, 'attn': null, 'attn_mode': 'chunk', "             \
    "'max_position_embeddings': 4096, 'tie_word_embeddings': false, 'vocab_size': 65536}"

/* ---- Latents ---- */

#define LATENT(type, architecture, hidden, layers, heads, width, vocab, context, body)             \
    HEAD(type, architecture)                                                                       \
    WIDTHS(hidden, layers, heads, width, vocab, context)                                           \
    ", 'num_key_value_heads': " #heads ", 'kv_lora_rank': 512, 'qk_rope_head_dim': 64, "           \
    "'moe_layer_freq': 1, 'routed_scaling_factor': 2.5, 'scoring_func': 'sigmoid', " body          \
    ", 'tie_word_embeddings': false}"

#define DEEPSEEK_HEADS "'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'v_head_dim': 128, "
#define GLM5_HEADS     "'q_lora_rank': 2048, 'qk_nope_head_dim': 192, 'v_head_dim': 256, "

#define EXPERTS(count, top_k, width, shared, first)                                                \
    "'n_routed_experts': " #count ", 'num_experts_per_tok': " #top_k ", "                          \
    "'moe_intermediate_size': " #width ", 'n_shared_experts': " #shared ", "                       \
    "'first_k_dense_replace': " #first

#define INDEX(heads) ", 'index_n_heads': " #heads ", 'index_head_dim': 128, 'index_topk': 2048"

#define FP8                                                                                        \
    ", 'quantization_config': {'quant_method': 'fp8', 'fmt': 'e4m3', "                             \
    "'activation_scheme': 'dynamic', 'weight_block_size': [128, 128]}"

/* Of compressed-tensors, as Kimi K2.5 has it. */
#define INT4                                                                                       \
    ", 'quantization_config': {'quant_method': 'compressed-tensors', 'format': 'pack-quantized', " \
    "'config_groups': {'group_0': {'input_activations': null, 'targets': ['Linear'], "             \
    "'weights': {'num_bits': 4, 'type': 'int', 'group_size': 32, 'strategy': 'group', "            \
    "'symmetric': true}}}, 'ignore': ['lm_head', 're:.*self_attn.*', 're:.*shared_experts.*', "    \
    "'re:.*mlp.(gate|up|gate_up|down)_proj.*']}"

#define GLM5(context, body)                                                                        \
    LATENT("glm_moe_dsa", "GlmMoeDsaForCausalLM", 6144, 78, 64, 12288, 154880, context,            \
           GLM5_HEADS "'head_dim': 64, 'qk_head_dim': 256, " EXPERTS(256, 8, 2048, 1, 3)           \
               INDEX(32) ", 'num_nextn_predict_layers': 1" body)

#define DEEPSEEK_V4(hidden, layers, heads, q_lora, groups, top, experts, width, ratios)            \
    HEAD("deepseek_v4", "DeepseekV4ForCausalLM")                                                   \
    "'hidden_size': " #hidden ", 'num_hidden_layers': " #layers ", 'num_attention_heads': " #heads \
    ", 'num_key_value_heads': 1, 'head_dim': 512, 'q_lora_rank': " #q_lora                         \
    ", 'o_lora_rank': 1024, 'o_groups': " #groups ", 'qk_rope_head_dim': 64, "                     \
    "'sliding_window': 128, 'index_n_heads': 64, 'index_head_dim': 128, 'index_topk': " #top       \
    ", 'compress_ratios': [" ratios "], 'compress_rope_theta': 160000, 'hc_mult': 4, "             \
    "'hc_eps': 1e-06, 'hc_sinkhorn_iters': 20, 'num_hash_layers': 3, 'expert_dtype': 'fp4', "      \
    "'n_routed_experts': " #experts ", 'num_experts_per_tok': 6, 'moe_intermediate_size': " #width \
    ", 'n_shared_experts': 1, 'num_nextn_predict_layers': 1, 'swiglu_limit': 10.0, "               \
    "'vocab_size': 129280, 'max_position_embeddings': 1048576, 'tie_word_embeddings': false" FP8   \
    "}"

/* ---- Kimi ---- */

/* Layers are counted from 1: three of KDA and one of MLA; the last one of all is MLA too. */
#define KIMI_LINEAR_LAYERS                                                                         \
    "'kda_layers': [1,2,3, 5,6,7, 9,10,11, 13,14,15, 17,18,19, 21,22,23, 25,26], "                 \
    "'full_attn_layers': [4,8,12,16,20,24,27]"
#define KIMI_K3_LAYERS                                                                             \
    "'kda_layers': [1,2,3, 5,6,7, 9,10,11, 13,14,15, 17,18,19, 21,22,23, 25,26,27, 29,30,31, "     \
    "33,34,35, 37,38,39, 41,42,43, 45,46,47, 49,50,51, 53,54,55, 57,58,59, 61,62,63, 65,66,67, "   \
    "69,70,71, 73,74,75, 77,78,79, 81,82,83, 85,86,87, 89,90,91], "                                \
    "'full_attn_layers': [4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,93]"

#define KIMI_K3(body)                                                                              \
    "{'architectures': ['KimiK3ForConditionalGeneration'], 'model_type': 'kimi_k3', "              \
    "'vision_config': {'patch_size': 14}, 'text_config': {'model_type': 'kimi_linear', "           \
    "'hidden_size': 7168, 'num_hidden_layers': 93, 'num_attention_heads': 96, "                    \
    "'num_key_value_heads': 96, 'intermediate_size': 33792, 'vocab_size': 163840, "                \
    "'max_position_embeddings': 1048576, 'q_lora_rank': 1536, 'kv_lora_rank': 512, "               \
    "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, 'mla_use_nope': true, "   \
    "'mla_use_output_gate': true, 'num_experts': 896, 'num_experts_per_token': 16, "               \
    "'num_shared_experts': 2, 'moe_intermediate_size': 3072, 'routed_expert_hidden_size': 3584, "  \
    "'latent_moe_use_norm': true, 'first_k_dense_replace': 1, 'moe_layer_freq': 1, "               \
    "'attn_res_block_size': 12, 'hidden_act': 'situ', 'activation_situ_beta': 4.0" body            \
    ", 'linear_attn_config': {" KIMI_K3_LAYERS ", 'head_dim': 128, 'num_heads': 96, "              \
    "'short_conv_kernel_size': 4, 'gate_lower_bound': -5.0, 'use_full_rank_gate': true}}}"

const import_config import_configs[IMPORT_CONFIGS] = {
    {"llama-1-7b", MULTI_HEAD("llama", "LlamaForCausalLM", 4096, 32, 32, 11008, 32000, 2048), 0, 0},
    {"llama-2-7b", LLAMA(4096, 32, 32, 32, 11008, 32000, 4096), 0, 0},
    {"llama-2-13b", LLAMA(5120, 40, 40, 40, 13824, 32000, 4096), 0, 0},
    {"llama-2-70b", LLAMA(8192, 80, 64, 8, 28672, 32000, 4096), 0, 0},
    {"llama-3.1-8b", LLAMA(4096, 32, 32, 8, 14336, 128256, 131072), 0, 0},
    {"llama-3.1-70b", LLAMA(8192, 80, 64, 8, 28672, 128256, 131072), 0, 0},
    {"llama-3.1-405b", LLAMA(16384, 126, 128, 8, 53248, 128256, 131072), 0, 0},
    {"llama-3.3-70b", LLAMA(8192, 80, 64, 8, 28672, 128256, 131072), 0, 0},
    {"codellama-34b", LLAMA(8192, 48, 64, 8, 22016, 32000, 16384), 0, 0},
    {"deepseek-67b", LLAMA(8192, 95, 64, 8, 22016, 102400, 4096), 0, 0},
    {"yi-34b",
     HEAD("Yi", "YiForCausalLM")
         WIDTHS(7168, 60, 56, 20480, 64000,
                4096) ", 'num_key_value_heads': 8, 'tie_word_embeddings': false}",
     0, 0},
    {"internlm-20b",
     MULTI_HEAD("internlm", "InternLMForCausalLM", 5120, 60, 40, 13824, 103168, 4096), 0, 0},
    {"mistral-7b-v0.1",
     HEAD("mistral", "MistralForCausalLM") WIDTHS(
         4096, 32, 32, 14336, 32000,
         32768) ", 'num_key_value_heads': 8, 'sliding_window': 4096, 'tie_word_embeddings': false}",
     0, 0},
    {"mixtral-8x7b",
     HEAD("mixtral", "MixtralForCausalLM") WIDTHS(
         4096, 32, 32, 14336, 32000,
         32768) ", 'num_key_value_heads': 8, 'sliding_window': null, 'num_local_experts': 8, "
                "'num_experts_per_tok': 2, 'output_router_logits': false, 'tie_word_embeddings': "
                "false}",
     0, 0},
    {"phi-4-14b",
     HEAD("phi3", "Phi3ForCausalLM")
         WIDTHS(5120, 40, 40, 17920, 100352,
                16384) ", 'num_key_value_heads': 10, 'sliding_window': null, 'embd_pdrop': 0.0, "
                       "'original_max_position_embeddings': 16384, 'tie_word_embeddings': false}",
     0, 0},
    {"opt-6.7b", OPT(4096, 32, 32, 16384), 0, 0},
    {"opt-13b", OPT(5120, 40, 40, 20480), 0, 0},
    {"opt-30b", OPT(7168, 48, 56, 28672), 0, 0},
    {"opt-66b", OPT(9216, 64, 72, 36864), 0, 0},
    {"opt-175b", OPT(12288, 96, 96, 49152), 0, 0},
    {"bloom-176b",
     "{'architectures': ['BloomForCausalLM'], 'model_type': 'bloom', 'n_embed': 14336, "
     "'n_layer': 70, 'num_attention_heads': 112, 'n_inner': null, 'seq_length': 2048, "
     "'vocab_size': 250880, 'apply_residual_connection_post_layernorm': false}",
     0, 0},
    {"falcon-180b",
     "{'architectures': ['FalconForCausalLM'], 'model_type': 'falcon', 'hidden_size': 14848, "
     "'num_hidden_layers': 80, 'num_attention_heads': 232, 'num_kv_heads': 8, 'alibi': false, "
     "'multi_query': true, 'new_decoder_architecture': true, 'parallel_attn': true, "
     "'max_position_embeddings': 2048, 'vocab_size': 65024}",
     0, 0},
    /* The file counts the gate and the up projection together. */
    {"qwen-72b",
     "{'architectures': ['QWenLMHeadModel'], 'model_type': 'qwen', 'hidden_size': 8192, "
     "'num_hidden_layers': 80, 'num_attention_heads': 64, 'kv_channels': 128, "
     "'intermediate_size': 49152, 'seq_length': 32768, 'max_position_embeddings': 32768, "
     "'vocab_size': 152064, 'no_bias': true, 'tie_word_embeddings': false}",
     0, 0},
    {"qwen2-72b", QWEN2(80, 8192, 64, 8, 29568, 152064, 131072), 0, 0},
    {"qwen2.5-72b", QWEN2(80, 8192, 64, 8, 29568, 152064, 131072), 0, 0},
    /* 40,960 tokens are 32,768 and room for the answer. */
    {"qwen3-0.6b", QWEN3(28, 1024, 16, 3072, true, 40960), 40960, 0},
    {"qwen3-4b", QWEN3(36, 2560, 32, 9728, true, 40960), 40960, 0},
    {"qwen3-8b", QWEN3(36, 4096, 32, 12288, false, 40960), 40960, 0},
    {"bonsai-8b", QWEN3(36, 4096, 32, 12288, false, 65536), 0, 0},
    {"qwen3-32b", QWEN3(64, 5120, 64, 25600, false, 40960), 40960, 0},
    {"qwen3-30b-a3b", QWEN3_MOE(48, 2048, 32, 768), 40960, 0},
    {"qwen3-235b-a22b", QWEN3_MOE(94, 4096, 64, 1536), 40960, 0},
    {"gemma-1-7b",
     HEAD("gemma", "GemmaForCausalLM")
         WIDTHS(3072, 28, 16, 24576, 256000, 8192) ", 'num_key_value_heads': 16, 'head_dim': 256}",
     0, 0},
    /* Without layer_types: even layers have the window. */
    {"gemma-2-27b",
     HEAD("gemma2", "Gemma2ForCausalLM")
         WIDTHS(4608, 46, 32, 36864, 256000,
                8192) ", 'num_key_value_heads': 16, 'head_dim': 128, 'sliding_window': 4096, "
                      "'query_pre_attn_scalar': 144, 'attn_logit_softcapping': 50.0, "
                      "'cache_implementation': 'hybrid'}",
     0, 0},
    /* Vocabulary and context are the defaults of the class: 64 rows more than the catalogue has. */
    {"gemma-3-27b",
     "{'architectures': ['Gemma3ForConditionalGeneration'], 'model_type': 'gemma3', "
     "'boi_token_index': 255999, 'mm_tokens_per_image': 256, 'torch_dtype': 'bfloat16', "
     "'text_config': {'model_type': 'gemma3_text', 'hidden_size': 5376, 'head_dim': 128, "
     "'intermediate_size': 21504, 'num_attention_heads': 32, 'num_hidden_layers': 62, "
     "'num_key_value_heads': 16, 'query_pre_attn_scalar': 168, 'sliding_window': 1024, "
     "'rope_scaling': {'factor': 8.0, 'rope_type': 'linear'}}, "
     "'vision_config': {'hidden_size': 1152, 'num_hidden_layers': 27}}",
     0, 262208},
    {"gemma-4-31b",
     GEMMA4("'hidden_size': 5376, 'num_hidden_layers': 60, 'num_attention_heads': 32, "
            "'num_key_value_heads': 16, 'num_global_key_value_heads': 4, 'attention_k_eq_v': true, "
            "'intermediate_size': 21504, 'sliding_window': 1024, 'num_kv_shared_layers': 0, "
            "'hidden_size_per_layer_input': 0, 'max_position_embeddings': 262144, "
            "'layer_types': [<10*" FIVE_SLIDE "," FULL ">]"),
     0, 0},
    {"gemma-4-26b-a4b",
     GEMMA4("'hidden_size': 2816, 'num_hidden_layers': 30, 'num_attention_heads': 16, "
            "'num_key_value_heads': 8, 'num_global_key_value_heads': 2, 'attention_k_eq_v': true, "
            "'intermediate_size': 2112, 'sliding_window': 1024, 'num_kv_shared_layers': 0, "
            "'enable_moe_block': true, 'num_experts': 128, 'top_k_experts': 8, "
            "'moe_intermediate_size': 704, 'hidden_size_per_layer_input': 0, "
            "'max_position_embeddings': 262144, 'layer_types': [<5*" FIVE_SLIDE "," FULL ">]"),
     0, 0},
    {"gemma-4-e2b",
     GEMMA4("'hidden_size': 1536, 'num_hidden_layers': 35, 'num_attention_heads': 8, "
            "'num_key_value_heads': 1, 'num_global_key_value_heads': null, "
            "'attention_k_eq_v': false, 'intermediate_size': 6144, 'use_double_wide_mlp': true, "
            "'sliding_window': 512, 'num_kv_shared_layers': 20, "
            "'hidden_size_per_layer_input': 256, 'vocab_size_per_layer_input': 262144, "
            "'max_position_embeddings': 131072, "
            "'layer_types': [<7*" SLIDE "," SLIDE "," SLIDE "," SLIDE "," FULL ">]"),
     0, 0},
    {"gemma-4-e4b",
     GEMMA4("'hidden_size': 2560, 'num_hidden_layers': 42, 'num_attention_heads': 8, "
            "'num_key_value_heads': 2, 'intermediate_size': 10240, 'sliding_window': 512, "
            "'num_kv_shared_layers': 18, 'max_position_embeddings': 131072, "
            "'layer_types': [<7*" FIVE_SLIDE "," FULL ">]"),
     0, 0},
    {"gpt-oss-20b", GPT_OSS(24, 12, 32), 0, 0},
    {"gpt-oss-120b", GPT_OSS(36, 18, 128), 0, 0},
    {"llama-4-scout",
     "{'architectures': ['Llama4ForConditionalGeneration'], 'model_type': 'llama4', "
     "'text_config': {'model_type': 'llama4_text', 'attention_chunk_size': 8192, 'head_dim': 128, "
     "'hidden_size': 5120, 'interleave_moe_layer_step': 1, 'intermediate_size': 8192, "
     "'intermediate_size_mlp': 16384, 'max_position_embeddings': 10485760, "
     "'num_attention_heads': 40, 'num_experts_per_tok': 1, 'num_hidden_layers': 48, "
     "'num_key_value_heads': 8, 'num_local_experts': 16, 'no_rope_layers': [], "
     "'use_qk_norm': true, 'vocab_size': 202048}, 'vision_config': {'hidden_size': 1408}}",
     0, 0},
    {"llama-4-maverick",
     "{'architectures': ['Llama4ForConditionalGeneration'], 'model_type': 'llama4', "
     "'text_config': {'model_type': 'llama4_text', 'attention_chunk_size': 8192, 'head_dim': 128, "
     "'hidden_size': 5120, 'interleave_moe_layer_step': 2, 'intermediate_size': 8192, "
     "'intermediate_size_mlp': 16384, 'max_position_embeddings': 1048576, "
     "'num_attention_heads': 40, 'num_experts_per_tok': 1, 'num_hidden_layers': 48, "
     "'num_key_value_heads': 8, 'num_local_experts': 128, 'no_rope_layers': [<12*1,1,1,0>], "
     "'use_qk_norm': false, 'vocab_size': 202048}, 'vision_config': {'hidden_size': 1408}}",
     0, 0},
    /* 163,840 tokens in the files, 131,072 advertised. */
    {"deepseek-v2",
     LATENT("deepseek_v2", "DeepseekV2ForCausalLM", 5120, 60, 128, 12288, 102400, 163840,
            DEEPSEEK_HEADS EXPERTS(160, 6, 1536, 2, 1)),
     163840, 0},
    {"deepseek-v3",
     LATENT("deepseek_v3", "DeepseekV3ForCausalLM", 7168, 61, 128, 18432, 129280, 163840,
            DEEPSEEK_HEADS EXPERTS(256, 8, 2048, 1, 3) ", 'num_nextn_predict_layers': 1" FP8),
     163840, 0},
    {"deepseek-v3.2",
     LATENT("deepseek_v32", "DeepseekV32ForCausalLM", 7168, 61, 128, 18432, 129280, 163840,
            DEEPSEEK_HEADS EXPERTS(256, 8, 2048, 1, 3) INDEX(64) ", 'num_nextn_predict_layers': 1"),
     163840, 0},
    {"deepseek-v4-pro", DEEPSEEK_V4(7168, 61, 128, 1536, 16, 1024, 384, 3072, "128,<30*128,4>,0"),
     0, 0},
    {"deepseek-v4-flash", DEEPSEEK_V4(4096, 43, 64, 1024, 8, 512, 256, 2048, "0,0,<20*4,128>,4,0"),
     0, 0},
    {"kimi-k2",
     LATENT("kimi_k2", "DeepseekV3ForCausalLM", 7168, 61, 64, 18432, 163840, 131072,
            DEEPSEEK_HEADS EXPERTS(384, 8, 2048, 1, 1) ", 'num_nextn_predict_layers': 0" FP8),
     0, 0},
    {"kimi-k2.5",
     LATENT(
         "kimi_k25", "KimiK25ForConditionalGeneration", 7168, 61, 64, 18432, 163840, 262144,
         DEEPSEEK_HEADS EXPERTS(384, 8, 2048, 1, 1) ", 'vision_config': {'patch_size': 14}" INT4),
     0, 0},
    {"kimi-linear-48b-a3b",
     "{'architectures': ['KimiLinearForCausalLM'], 'model_type': 'kimi_linear', "
     "'hidden_size': 2304, 'num_hidden_layers': 27, 'num_attention_heads': 32, 'head_dim': 72, "
     "'num_key_value_heads': 32, 'intermediate_size': 9216, 'vocab_size': 163840, "
     "'model_max_length': 1048576, 'q_lora_rank': null, 'kv_lora_rank': 512, "
     "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, 'mla_use_nope': true, "
     "'num_experts': 256, 'num_experts_per_token': 8, 'num_shared_experts': 1, "
     "'moe_intermediate_size': 1024, 'first_k_dense_replace': 1, 'moe_layer_freq': 1, "
     "'moe_router_activation_func': 'sigmoid', 'num_nextn_predict_layers': 0, "
     "'tie_word_embeddings': false, 'linear_attn_config': {" KIMI_LINEAR_LAYERS
     ", 'head_dim': 128, 'num_heads': 32, 'short_conv_kernel_size': 4}}",
     0, 0},
    {"kimi-k3", KIMI_K3(""), 0, 0},
    /* Not published; the index under the names that DeepSeek gave it. */
    {"kimi-k3.1-pro", KIMI_K3(INDEX(32)), 0, 0},
    {"glm-4.5",
     HEAD("glm4_moe", "Glm4MoeForCausalLM")
         WIDTHS(5120, 92, 96, 12288, 151552,
                131072) ", 'num_key_value_heads': 8, 'head_dim': 128, 'use_qk_norm': true, "
                        "'partial_rotary_factor': 0.5, 'num_nextn_predict_layers': 1, " EXPERTS(
                            160, 8, 1536, 1, 3) ", 'tie_word_embeddings': false}",
     0, 0},
    {"glm-5", GLM5(202752, ""), 0, 0},
    {"glm-5.2",
     GLM5(1048576, ", 'indexer_types': ['full','full','full',<18*'shared','shared','shared','full'>"
                   ",'shared','shared','shared'], 'mlp_layer_types': [<3*'dense'>,<75*'sparse'>]"),
     0, 0},
    {"minimax-m1",
     HEAD("minimax_m1", "MiniMaxM1ForCausalLM") WIDTHS(
         6144, 80, 64, 9216, 200064,
         10240000) ", 'num_key_value_heads': 8, 'head_dim': 128, 'num_local_experts': 32, "
                   "'num_experts_per_tok': 2, 'shared_intermediate_size': 0, 'postnorm': true, "
                   "'attn_type_list': [<10*0,0,0,0,0,0,0,1>], 'layernorm_mlp_beta': 1.0, "
                   "'tie_word_embeddings': false}",
     10240000, 0},
    {"minimax-m2",
     HEAD("minimax_m2", "MiniMaxM2ForCausalLM") WIDTHS(
         3072, 62, 48, 1536, 200064,
         196608) ", 'num_key_value_heads': 8, 'head_dim': 128, 'num_local_experts': 256, "
                 "'num_experts_per_tok': 8, 'shared_intermediate_size': 0, 'use_qk_norm': true, "
                 "'attn_type_list': [<62*1>], 'use_mtp': true, 'num_mtp_modules': 3, "
                 "'mtp_transformer_layers': 1, 'rotary_dim': 64, 'tie_word_embeddings': false" FP8
                 "}",
     0, 0},
    {"minimax-m3",
     "{'architectures': ['MiniMaxM3SparseForConditionalGeneration'], "
     "'model_type': 'minimax_m3_vl', 'text_config': {'model_type': 'minimax_m3', "
     "'hidden_size': 6144, 'num_hidden_layers': 60, 'num_attention_heads': 64, "
     "'num_key_value_heads': 4, 'head_dim': 128, 'intermediate_size': 3072, "
     "'dense_intermediate_size': 12288, 'shared_intermediate_size': 3072, 'n_shared_experts': 1, "
     "'num_local_experts': 128, 'num_experts_per_tok': 4, 'moe_layer_freq': [<3*0>,<57*1>], "
     "'num_mtp_modules': 1, 'attention_output_gate': false, 'vocab_size': 200064, "
     "'max_position_embeddings': 1048576, 'tie_word_embeddings': false, "
     "'sparse_attention_config': {'use_sparse_attention': true, 'sparse_index_dim': 128, "
     "'sparse_num_index_heads': 4, 'sparse_topk_blocks': 16, 'sparse_block_size': 128, "
     "'sparse_init_block': 0, 'sparse_local_block': 1, 'sparse_score_type': 'max', "
     "'sparse_attention_freq': [<3*0>,<57*1>]}}}",
     0, 0},
    {"nemotron-3-nano-30b-a3b",
     HEAD("nemotron_h", "NemotronHForCausalLM")
         WIDTHS(2688, 52, 32, 1856, 131072,
                262144) ", 'num_key_value_heads': 2, 'head_dim': 128, "
                        "'hybrid_override_pattern': "
                        "'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME', "
                        "'mamba_num_heads': 64, 'mamba_head_dim': 64, 'ssm_state_size': 128, "
                        "'n_groups': 8, "
                        "'conv_kernel': 4, 'expand': 2, 'chunk_size': 128, "
                        "'mamba_ssm_cache_dtype': 'float32', "
                        "'n_routed_experts': 128, 'num_experts_per_tok': 6, "
                        "'moe_intermediate_size': 1856, "
                        "'n_shared_experts': 1, 'moe_shared_expert_intermediate_size': 3712, "
                        "'mlp_hidden_act': 'relu2', 'n_group': 1, 'tie_word_embeddings': false}",
     0, 0},
    {"nemotron-h-56b",
     HEAD("nemotron_h", "NemotronHForCausalLM") WIDTHS(
         8192, 118, 64, 32768, 131072,
         8192) ", 'num_key_value_heads': 8, 'attention_head_dim': 128, 'hybrid_override_pattern': "
               "'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-"
               "M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-', "
               "'mamba_num_heads': 256, 'mamba_head_dim': 64, 'ssm_state_size': 256, 'n_groups': "
               "8, "
               "'conv_kernel': 4, 'mlp_hidden_act': 'relu2', 'tie_word_embeddings': false}",
     0, 0},
    {"mamba-2-2.7b",
     "{'architectures': ['Mamba2ForCausalLM'], 'model_type': 'mamba2', 'hidden_size': 2560, "
     "'num_hidden_layers': 64, 'num_heads': 80, 'head_dim': 64, 'state_size': 128, "
     "'n_groups': 1, 'conv_kernel': 4, 'expand': 2, 'vocab_size': 50288, 'chunk_size': 256, "
     "'time_step_limit': [0.0, Infinity], 'tie_word_embeddings': true}",
     0, 0},
    {"jamba-v0.1",
     HEAD("jamba", "JambaForCausalLM") WIDTHS(
         4096, 32, 32, 14336, 65536,
         262144) ", 'num_key_value_heads': 8, 'attn_layer_offset': 4, 'attn_layer_period': 8, "
                 "'expert_layer_offset': 1, 'expert_layer_period': 2, 'mamba_conv_bias': true, "
                 "'mamba_d_conv': 4, 'mamba_d_state': 16, 'mamba_dt_rank': 256, 'mamba_expand': 2, "
                 "'mamba_proj_bias': false, 'num_experts': 16, 'num_experts_per_tok': 2, "
                 "'sliding_window': null, 'use_mamba_kernels': true, 'tie_word_embeddings': false}",
     0, 0},
    {"rwkv-7-0.4b", RWKV7(1024, 24), 0, 0},
    {"rwkv-7-1.5b", RWKV7(2048, 24), 0, 0},
    {"rwkv-7-2.9b", RWKV7(2560, 32), 0, 0},
    {"rwkv-7-7.2b", RWKV7(4096, 32), 0, 0},
    {"qwen3-next-80b-a3b",
     HEAD("qwen3_next", "Qwen3NextForCausalLM") WIDTHS(
         2048, 48, 16, 5120, 151936,
         262144) ", 'num_key_value_heads': 2, 'head_dim': 256, 'full_attention_interval': 4, "
                 "'linear_conv_kernel_dim': 4, 'linear_key_head_dim': 128, 'linear_num_key_heads': "
                 "16, "
                 "'linear_num_value_heads': 32, 'linear_value_head_dim': 128, 'num_experts': 512, "
                 "'num_experts_per_tok': 10, 'moe_intermediate_size': 512, 'decoder_sparse_step': "
                 "1, "
                 "'shared_expert_intermediate_size': 512, 'mlp_only_layers': [], "
                 "'use_sliding_window': false, 'tie_word_embeddings': false}",
     0, 0},
    {"qwen3.5-4b", QWEN35_DENSE(2560, 32, 8, 16, 4, 9216, 32, true), 0, 0},
    {"qwen3.5-9b", QWEN35_DENSE(4096, 32, 8, 16, 4, 12288, 32, false), 0, 0},
    {"qwen3.5-27b", QWEN35_DENSE(5120, 64, 16, 24, 4, 17408, 48, false), 0, 0},
    {"qwen3.5-35b-a3b", QWEN35_MOE(2048, 40, 10, 16, 32, 256, 8, 512), 0, 0},
    {"qwen3.5-122b-a10b", QWEN35_MOE(3072, 48, 12, 32, 64, 256, 8, 1024), 0, 0},
    {"qwen3.5-397b-a17b", QWEN35_MOE(4096, 60, 15, 32, 64, 512, 10, 1024), 0, 0},
};

/* ---- Expansion ---- */

/* Appends so many characters with quotes as JSON has them. */
static char *put(char *end, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        *end++ = text[i] == '\'' ? '"' : text[i];
    }
    return end;
}

const char *import_config_json(sli_arena *arena, const char *text) {
    enum { TEXT_MAX_BYTES = 16 * 1024 };
    char *json = sli_arena_alloc(arena, TEXT_MAX_BYTES);
    char *end = json;
    while (json != NULL && *text != '\0') {
        if (*text != '<') {
            end = put(end, text++, 1);
            continue;
        }
        char *star;
        long times = strtol(text + 1, &star, 10);
        size_t length = strcspn(star + 1, ">");
        for (long i = 0; i < times; i++) {
            end = put(end, ",", i > 0);
            end = put(end, star + 1, length);
        }
        text = star + 1 + length + 1;
    }
    return json;
}
