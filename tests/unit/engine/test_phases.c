/*
 * Phases of a request, by scenarios whose every step is worked by hand: 4 blocks of 4 tokens, no
 * prefix index, every step takes 10 ns, the policy vllm_v1.
 */
#include "cost/fixed.h"
#include "engine/domain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

extern const sl_policy_table sl_policies_vllm_v1;

enum { REQUESTS = 2 };

typedef struct scene {
    sli_engine_config config;
    sli_fixed_config cost;
    sli_world world;
    sli_domain domain;
    sli_queue shared;
    void *policy_self;
    sl_request_desc descs[REQUESTS];
    int arrived;
    sl_request_record records[REQUESTS];
} scene;

static void keep_record(void *self, const sl_request_record *record) {
    ((scene *)self)->records[record->request] = *record;
}

static const sl_probe_ops probe_ops = {.terminal = keep_record};

static void destroy_ended(void *self, sl_request *request) {
    (void)self;
    sli_request_destroy(request);
}

static void arrive(void *subject, int64_t now_ns) {
    scene *it = subject;
    uint64_t id = (uint64_t)it->arrived++;
    sl_request *request;
    assert_int_equal(sli_request_create(id, id, &it->descs[id], now_ns, &request), SL_OK);
    request->home = &it->domain.core.queue;
    assert_int_equal(sli_queue_add(request->home, request), SL_OK);
}

static void add(scene *it, uint32_t number, int64_t at_ns, int64_t prompt_tokens,
                int64_t output_tokens) {
    it->descs[number] = (sl_request_desc){.prompt_tokens = prompt_tokens,
                                          .output_tokens = output_tokens};
    assert_int_equal(
        sli_evq_post(it->world.loop.events, at_ns, SLI_EVENT_ARRIVAL, number, arrive, it, NULL),
        SL_OK);
}

static void set_up(scene *it, sl_probe *probe, int64_t max_batched_tokens) {
    const sl_batch_policy *policy = (const sl_batch_policy *)sl_policies_vllm_v1.policies[0];
    *it = (scene){
        .config = {.max_batched_tokens = max_batched_tokens,
                   .max_seqs = REQUESTS,
                   .max_model_tokens = 100,
                   .keeps_promises = true,
                   .pool = {.block_count = 4, .block_tokens = 4}},
        .cost = {.step_ns = 10},
    };
    *probe = (sl_probe){.ops = &probe_ops, .self = it};
    const sl_policy_env env = {.max_batched_tokens = max_batched_tokens, .max_seqs = REQUESTS};
    it->policy_self = calloc(1, policy->policy.instance_bytes);
    char why[100];
    assert_int_equal(policy->policy.init(it->policy_self, &env, why, sizeof why), SL_OK);
    for (size_t i = 0; i < policy->policy.param_count; i++) {
        const sl_param *param = &policy->policy.params[i];
        if (param->fallback[0] == 'o' && param->fallback[1] == 'n') { /* "on" */
            *(bool *)((char *)it->policy_self + param->offset) = true;
        }
    }
    sli_listener listener = {.ended = destroy_ended, .self = it};
    assert_int_equal(sli_world_init(&it->world, 1, probe, 1), SL_OK);
    assert_int_equal(sli_domain_init(&it->domain, &it->world, 0, &it->config, policy,
                                     it->policy_self, &it->shared, sli_fixed_model(&it->cost),
                                     listener),
                     SL_OK);
}

static void play_to_the_end(scene *it) {
    assert_int_equal(sli_loop_run(&it->world.loop, INT64_MAX), SLI_LOOP_DRAINED);
    assert_int_equal(it->world.fault, SL_OK);
    assert_int_equal(it->domain.core.pool.free_blocks, 4);
    sli_domain_fini(&it->domain);
    sli_world_fini(&it->world);
    free(it->policy_self);
}

/* In the order of sl_phase: queued, prefill, decode, preempted, recompute. */
static void assert_phases(const sl_request_record *record,
                          const int64_t expected_ns[SL_PHASE_COUNT]) {
    int64_t sum_ns = 0;
    for (int phase = 0; phase < SL_PHASE_COUNT; phase++) {
        assert_int_equal(record->phase_ns[phase], expected_ns[phase]);
        sum_ns += record->phase_ns[phase];
    }
    assert_int_equal(sum_ns, record->end_ns - record->arrival_ns);
}

/*
 * 8 tokens a step. A (7 in, 6 out) and B (5 in, 4 out) arrive at 0.
 *   0  A 7 tokens in 2 blocks, B 1 in 1          10  A out 1; A 1, B 4 more: all 4 blocks held
 *  20  A out 2, B out 1; A needs a third block: B is preempted with 5 tokens computed
 *  30  A out 3; B knows 6 tokens and needs 2 blocks where 1 is free ... until A is done:
 *  60  A out 6, finished; B 6 tokens, 5 of them again
 *  70  B out 2, and decodes: out 3 at 80, out 4 at 90
 */
static void preempted_while_decoding(void **state) {
    (void)state;
    scene it;
    sl_probe probe;
    set_up(&it, &probe, 8);
    add(&it, 0, 0, 7, 6);
    add(&it, 1, 0, 5, 4);
    play_to_the_end(&it);
    assert_phases(&it.records[0], (const int64_t[]){0, 10, 50, 0, 0});
    assert_int_equal(it.records[0].end_ns, 60);
    assert_int_equal(it.records[0].computed_tokens, 12);
    assert_int_equal(it.records[0].recomputed_tokens, 0);
    assert_phases(&it.records[1], (const int64_t[]){0, 20, 20, 40, 10});
    assert_int_equal(it.records[1].first_token_ns, 20);
    assert_int_equal(it.records[1].end_ns, 90);
    assert_int_equal(it.records[1].computed_tokens, 13);
    assert_int_equal(it.records[1].recomputed_tokens, 5);
    assert_int_equal(it.records[1].preemption_count, 1);
}

/*
 * 4 tokens a step. A (8 in, 9 out) arrives at 0, B (8 in, 1 out) at 5 ns.
 *   0  A 4 tokens              10  A 4 more            20  A out 1; A 1 in 3 blocks, B 3 in 1
 *  30  A 1; B would need a second block and gives itself up with 3 tokens computed
 *  40  A 1; B again, the same 3
 *  50  those are done, B is in prefill for no time, and gives itself up once more
 *  60  A takes the fourth block and keeps it until 100, out 9, finished; B 4 tokens, 3 of them
 *      for the third time
 * 110  B 4 tokens more         120  B out 1, finished
 */
static void preempted_twice_before_the_first_token(void **state) {
    (void)state;
    scene it;
    sl_probe probe;
    set_up(&it, &probe, 4);
    add(&it, 0, 0, 8, 9);
    add(&it, 1, 5, 8, 1);
    play_to_the_end(&it);
    assert_phases(&it.records[0], (const int64_t[]){0, 20, 80, 0, 0});
    assert_phases(&it.records[1], (const int64_t[]){15, 20, 0, 60, 20});
    assert_int_equal(it.records[1].admit_ns, 20);
    assert_int_equal(it.records[1].first_token_ns, 120);
    assert_int_equal(it.records[1].end_ns, 120);
    assert_int_equal(it.records[1].computed_tokens, 14);
    assert_int_equal(it.records[1].recomputed_tokens, 6);
    assert_int_equal(it.records[1].preemption_count, 2);
}

/*
 * 4 tokens a step. A (4 in, 5 out) arrives at 0, B (12 in, 1 out) at 5 ns.
 *   0  A 4 tokens              10  A out 1; A 1 in 2 blocks, B 3 in 1
 *  20  A 1, B 3 more: all 4 blocks held
 *  30  A 1; B would need a third block and gives itself up with 6 tokens computed
 *  40  A 1; B 3, half of what it had
 *  50  A out 5, finished; B 4, the last of which is new: it has caught up at 60
 *  60  B 4        70  B 1     80  B out 1, finished
 */
static void recomputing_in_chunks(void **state) {
    (void)state;
    scene it;
    sl_probe probe;
    set_up(&it, &probe, 4);
    add(&it, 0, 0, 4, 5);
    add(&it, 1, 5, 12, 1);
    play_to_the_end(&it);
    assert_phases(&it.records[0], (const int64_t[]){0, 10, 40, 0, 0});
    assert_phases(&it.records[1], (const int64_t[]){5, 40, 0, 10, 20});
    assert_int_equal(it.records[1].end_ns, 80);
    assert_int_equal(it.records[1].computed_tokens, 18);
    assert_int_equal(it.records[1].recomputed_tokens, 6);
    assert_int_equal(it.records[1].preemption_count, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preempted_while_decoding),
        cmocka_unit_test(preempted_twice_before_the_first_token),
        cmocka_unit_test(recomputing_in_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
