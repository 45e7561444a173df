#include "bench/kernel.h"

#include <cstring>

namespace kref::bench {

extern const kernel rms_norm_kernel;
extern const kernel rope_kernel;
extern const kernel activation_kernel;
extern const kernel prefill_attention_kernel;
extern const kernel decode_attention_kernel;
extern const kernel gemm_kernel;
extern const kernel library_gemm_kernel;
extern const kernel mla_decode_kernel;
extern const kernel mla_prefill_kernel;
extern const kernel quantized_decode_kernel;
extern const kernel router_kernel;
extern const kernel expert_order_kernel;
extern const kernel expert_gemm_kernel;
extern const kernel expert_sum_kernel;
extern const kernel block_copy_kernel;
extern const kernel gather_rows_kernel;
extern const kernel kv_append_kernel;
extern const kernel index_scores_kernel;
extern const kernel select_top_kernel;
extern const kernel delta_step_kernel;
extern const kernel delta_prefill_kernel;
extern const kernel peer_sum_kernel;
extern const kernel nccl_all_reduce_kernel;
extern const kernel storage_read_kernel;
extern const kernel storage_write_kernel;

const kernel *const kernels[] = {
    &rms_norm_kernel,         &rope_kernel,
    &activation_kernel,       &prefill_attention_kernel,
    &decode_attention_kernel, &gemm_kernel,
    &library_gemm_kernel,     &mla_decode_kernel,
    &mla_prefill_kernel,      &quantized_decode_kernel,
    &router_kernel,           &expert_order_kernel,
    &expert_gemm_kernel,      &expert_sum_kernel,
    &block_copy_kernel,       &gather_rows_kernel,
    &kv_append_kernel,        &index_scores_kernel,
    &select_top_kernel,       &delta_step_kernel,
    &delta_prefill_kernel,    &peer_sum_kernel,
    &nccl_all_reduce_kernel,  &storage_read_kernel,
    &storage_write_kernel,    nullptr,
};

bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t its = strcspn(at, " ");
        if (its == length && strncmp(at, word, length) == 0) {
            return true;
        }
        at += its;
    }
    return false;
}

} // namespace kref::bench
