#include "kit.h"

#include "base/check.h"
#include "engine/plan.h"

#include <stdio.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define IS_SLOW 1
#endif
#endif
#ifndef IS_SLOW
#define IS_SLOW 0
#endif

int sli_scaled_worlds(int worlds) {
    return IS_SLOW ? worlds / 10 : worlds;
}

void sli_set_param(const sl_policy *policy, void *values, const char *name, int64_t value) {
    size_t i = 0;
    while (i < policy->param_count && strcmp(policy->params[i].name, name) != 0) {
        i++;
    }
    SL_ASSERT(i < policy->param_count);
    const sl_param *param = &policy->params[i];
    SL_ASSERT(param->type == SL_TYPE_INT || param->type == SL_TYPE_BOOL);
    char *place = (char *)values + param->offset;
    if (param->type == SL_TYPE_BOOL) {
        bool flag = value != 0;
        memcpy(place, &flag, sizeof flag);
    } else {
        memcpy(place, &value, sizeof value);
    }
}

const sl_batch_policy *sli_case_policy(const sli_batch_case *it) {
    if (it->name != NULL) {
        return (const sl_batch_policy *)sli_builtin_policy(SL_POLICY_BATCH, it->name);
    }
    return it->table != NULL ? (const sl_batch_policy *)it->table->policies[0] : it->policy;
}

void sli_case_world(const sli_batch_case *it, uint64_t number, sli_layers layers,
                    sli_small_world *world, void *values) {
    const sl_policy *policy = &sli_case_policy(it)->policy;
    SL_ASSERT(policy->instance_bytes <= SLI_VALUES_BYTES);
    memset(values, 0, SLI_VALUES_BYTES);
    sli_small_world_draw(number, world);
    if (it->adapt != NULL) {
        sli_rng rng;
        sli_rng_init(&rng, number, "parameters of a policy", 0, 0);
        it->adapt(policy, &rng, world, values);
    }
    sli_small_world_regroup(world, layers, policy);
}

/* ---- Walking: the calls for many at once are refused, as if blocks were missing ---- */

static sl_answer refuse(sl_plan *plan, int64_t tokens) {
    (void)plan;
    (void)tokens;
    return (sl_answer){.code = SL_ANSWER_SHORT, .missing_blocks = 1};
}

/* ---- Judging ---- */

/* A rehearsal of its own: no verdict, no broken law. */
static bool is_clean(const sli_rehearsal *it, const char *manner, char broken[SLI_BROKEN_CHARS]) {
    if (it->broken[0] != '\0') {
        snprintf(broken, SLI_BROKEN_CHARS, "%s: %.200s", manner, it->broken);
        return false;
    }
    if (it->status != SL_OK) {
        snprintf(broken, SLI_BROKEN_CHARS, "%s: %.200s", manner, it->text);
        return false;
    }
    return true;
}

static bool agree(const sli_rehearsal *a, const sli_rehearsal *b, const char *manner,
                  char broken[SLI_BROKEN_CHARS]) {
    char text[SLI_BROKEN_CHARS];
    if (!sli_transitions_differ(a->transitions, a->transition_count, b->transitions,
                                b->transition_count, text)) {
        if (sli_rehearsal_mark(a) == sli_rehearsal_mark(b)) {
            return true;
        }
        snprintf(text, sizeof text, "same transitions, but other steps, gaps or records");
    }
    snprintf(broken, SLI_BROKEN_CHARS, "asked at every step, then %s: %.200s", manner, text);
    return false;
}

enum { MANNERS = 4 };

static const char *const manner_names[MANNERS] = {"asked", "promised", "asked, walking",
                                                  "promised, walking"};

static void note(const sli_rehearsal played[MANNERS], sli_kit_tally *tally) {
    tally->worlds++;
    tally->steps += played[0].steps;
    tally->asks_spared += played[0].asks - played[1].asks;
    tally->preemptions += played[0].preemptions;
    tally->aborts += played[0].aborts;
    tally->hit_tokens += played[0].hit_tokens;
}

bool sli_conforms(const sli_batch_case *it, uint64_t number, sli_layers layers,
                  sli_kit_tally *tally, char broken[SLI_BROKEN_CHARS]) {
    sli_small_world world;
    _Alignas(max_align_t) unsigned char values[SLI_VALUES_BYTES];
    sli_case_world(it, number, layers, &world, values);
    const sl_plan_ops *ops = it->ops != NULL ? it->ops : &sli_plan_ops;
    sl_plan_ops refusing = *ops;
    refusing.take_all = refuse;
    refusing.decode_all = refuse;
    const sl_batch_policy *policy = sli_case_policy(it);
    sli_rehearsal played[MANNERS];
    bool is_well = true;
    for (int i = 0; i < MANNERS; i++) {
        bool walks = i >= 2;
        const sl_batch_policy *player = walks && it->walker != NULL ? it->walker : policy;
        const sli_manner manner = {
            .keeps_promises = i % 2 == 1,
            .ops = walks && it->walker == NULL ? &refusing : ops,
        };
        sli_rehearse(&world, player, values, &manner, &played[i]);
        is_well = is_well && is_clean(&played[i], manner_names[i], broken) &&
                  agree(&played[0], &played[i], manner_names[i], broken);
    }
    note(played, tally);
    for (int i = 0; i < MANNERS; i++) {
        sli_rehearsal_fini(&played[i]);
    }
    return is_well;
}
