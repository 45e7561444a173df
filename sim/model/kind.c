#include "model/kind.h"

#include "base/check.h"

void sli_facts_matrix(sli_part_facts *facts, sli_matrix matrix) {
    if (matrix.in == 0 || matrix.out == 0 || matrix.count == 0) {
        return;
    }
    SL_ASSERT(facts->matrix_count < SLI_MATRIX_MAX);
    facts->matrices[facts->matrix_count++] = matrix;
}

void sli_facts_store(sli_part_facts *facts, sli_store store) {
    if (store.heads == 0 || store.elements == 0) {
        return;
    }
    SL_ASSERT(facts->store_count < SLI_STORE_MAX);
    facts->stores[facts->store_count++] = store;
}

void sli_facts_decode(sli_part_facts *facts, sli_core_work work) {
    SL_ASSERT(facts->decode_count < SLI_WORK_MAX);
    facts->decode[facts->decode_count++] = work;
}

void sli_facts_prefill(sli_part_facts *facts, sli_core_work work) {
    SL_ASSERT(facts->prefill_count < SLI_WORK_MAX);
    facts->prefill[facts->prefill_count++] = work;
}

void sli_facts_work(sli_part_facts *facts, sli_core_work work) {
    sli_facts_decode(facts, work);
    sli_facts_prefill(facts, work);
}
