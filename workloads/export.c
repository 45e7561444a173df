#include "workloads/export.h"

#include <inttypes.h>

sl_err sli_export_arrival(FILE *file, int64_t at_ns, const sl_request_desc *desc) {
    const sl_content *content = &desc->content;
    fprintf(file,
            "{\"timestamp_ns\": %" PRId64 ", \"input_length\": %" PRId64
            ", \"output_length\": %" PRId64 ", \"hash_ids\": [",
            at_ns, desc->prompt_tokens, desc->output_tokens);
    for (int64_t i = 0; i < content->id_count; i++) {
        fprintf(file, "%s%" PRIu64, i > 0 ? ", " : "", content->ids[i]);
    }
    fprintf(file, "], \"block_size\": %" PRId64, content->id_count > 0 ? content->id_tokens : 0);
    if (desc->priority != 0) {
        fprintf(file, ", \"priority\": %" PRId32, desc->priority);
    }
    if (desc->max_tokens != 0) {
        fprintf(file, ", \"max_tokens\": %" PRId64, desc->max_tokens);
    }
    fputs("}\n", file);
    return ferror(file) ? SL_ERR_IO : SL_OK;
}
