#include "engine/request.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

sl_err sli_request_create(uint64_t id, uint64_t arrival_order, const sl_request_desc *desc,
                          int64_t now_ns, sl_request **request) {
    SL_ASSERT(desc->prompt_tokens >= 1 && desc->output_tokens >= 1);
    sl_request *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return SL_ERR_NOMEM;
    }
    created->id = id;
    created->arrival_order = arrival_order;
    created->desc = *desc;
    created->content = (sli_content_view){desc->content, id, desc->prompt_tokens};
    created->phase = SL_PHASE_QUEUED;
    created->phase_since_ns = now_ns;
    created->known_tokens = desc->prompt_tokens;
    created->record = (sl_request_record){
        .request = id,
        .replica = SL_NO_REPLICA,
        .priority = desc->priority,
        .outcome = SL_UNFINISHED,
        .arrival_ns = now_ns,
        .admit_ns = -1,
        .first_token_ns = -1,
        .last_token_ns = -1,
        .end_ns = -1,
        .prompt_tokens = desc->prompt_tokens,
        .output_tokens = desc->output_tokens,
    };
    *request = created;
    return SL_OK;
}

void sli_request_destroy(sl_request *request) {
    SL_ASSERT(request->context.block_count == 0);
    free(request->context.blocks);
    free(request);
}

int64_t sli_request_pending(const sl_request *request) {
    return request->known_tokens - request->computed_tokens - request->planned_tokens;
}

bool sli_request_is_decoding(const sl_request *request) {
    return request->record.generated_tokens > 0 &&
           request->known_tokens - request->computed_tokens == 1;
}

int64_t sli_request_final_tokens(const sl_request_desc *desc) {
    return desc->prompt_tokens + desc->output_tokens - 1;
}

void sli_request_enter(sl_request *request, sl_phase phase, int64_t now_ns) {
    request->record.phase_ns[request->phase] += now_ns - request->phase_since_ns;
    request->phase = phase;
    request->phase_since_ns = now_ns;
}

void sli_request_report(const sl_request *request, const sli_world *world, sl_transition_kind kind,
                        uint32_t replica, int64_t tokens) {
    sli_world_transition(world, &(sl_transition){
                                    .at_ns = world->loop.now_ns,
                                    .kind = (uint32_t)kind,
                                    .replica = replica,
                                    .request = request->id,
                                    .tokens = tokens,
                                    .blocks = request->context.held_blocks,
                                });
}

void sli_request_end(sl_request *request, const sli_world *world, sl_outcome outcome,
                     uint32_t replica) {
    int64_t now_ns = world->loop.now_ns;
    sli_request_enter(request, request->phase, now_ns);
    sl_request_record *record = &request->record;
    record->interference_ns = record->phase_ns[SL_PHASE_PREFILL] +
                              record->phase_ns[SL_PHASE_DECODE] +
                              record->phase_ns[SL_PHASE_RECOMPUTE] - sli_own_total(&request->own);
    memcpy(record->own_ns, request->own.cause_ns, sizeof record->own_ns);
    record->outcome = outcome;
    record->replica = replica;
    record->end_ns = now_ns;
    sli_world_terminal(world, record);
}
