#include "out/slo.h"

bool sli_slo_is_set(const sli_slo *slo) {
    return slo->ttft_ns != SLI_SLO_NONE || slo->tpot_ns != SLI_SLO_NONE;
}

bool sli_slo_is_met(const sli_slo *slo, const sl_request_record *record) {
    if (record->outcome != SL_FINISHED) {
        return false;
    }
    if (slo->ttft_ns != SLI_SLO_NONE &&
        record->first_token_ns - record->arrival_ns > slo->ttft_ns) {
        return false;
    }
    int64_t gaps = record->generated_tokens - 1;
    if (slo->tpot_ns == SLI_SLO_NONE || gaps < 1) {
        return true;
    }
    /* span <= tpot * gaps without the product, which could overflow: ceil(span / gaps) <= tpot. */
    int64_t span_ns = record->last_token_ns - record->first_token_ns;
    return span_ns / gaps + (span_ns % gaps != 0) <= slo->tpot_ns;
}
