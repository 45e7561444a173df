/*
 * The conformance kit of batch policies: what must hold for any of them, whatever it decides.
 *
 * A world, of full attention, of other layers or of kept rows, is played in four manners: the
 * policy asked at every step or its promises kept, and the regular step taken in one call or walked
 * one request at a time. All four must give the same transitions, break no law of the rehearsal,
 * and end. A policy joins by one row in test_batch_policies.c.
 */
#ifndef TESTS_CONFORM_KIT_H
#define TESTS_CONFORM_KIT_H

#include "rehearsal.h"

typedef struct sli_batch_case {
    const char *name;             /* of a policy that is built in; NULL = `table` or `policy` */
    const sl_policy_table *table; /* the first of it */
    const sl_batch_policy *policy;
    /* Decides as the policy does, but takes the running requests one by one, for a policy that
     * does not do so itself when take_all and decode_all answer SHORT. */
    const sl_batch_policy *walker;
    /* Draws parameters (zeroed at first) and makes the world one that the policy can serve. */
    void (*adapt)(const sl_policy *policy, sli_rng *rng, sli_small_world *world, void *values);
    const sl_plan_ops *ops; /* a faulty engine to be found out; NULL = the real one */
} sli_batch_case;

enum { SLI_VALUES_BYTES = 256 }; /* of parameters, at most */

/* Over all worlds: whether they tested anything. */
typedef struct sli_kit_tally {
    int64_t worlds;
    int64_t steps;
    int64_t asks_spared; /* by promises */
    int64_t preemptions;
    int64_t aborts;
    int64_t hit_tokens;
} sli_kit_tally;

const sl_batch_policy *sli_case_policy(const sli_batch_case *it);

/* The world of this number as the policy gets it. */
void sli_case_world(const sli_batch_case *it, uint64_t number, sli_layers layers,
                    sli_small_world *world, void *values);

/* Plays one world in all manners; true if all is well, else what is wrong is in `broken`. */
bool sli_conforms(const sli_batch_case *it, uint64_t number, sli_layers layers,
                  sli_kit_tally *tally, char broken[SLI_BROKEN_CHARS]);

/* For adapt: sets a parameter of type int or bool by its name, whatever struct it lies in. */
void sli_set_param(const sl_policy *policy, void *values, const char *name, int64_t value);

/* Under sanitizers everything takes longer; a tenth of the worlds must do. */
int sli_scaled_worlds(int worlds);

#endif
