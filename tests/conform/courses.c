/*
 * Prints the course of small worlds, one line a world, so that two engines can be compared: built
 * on the engine of the product and on the plain one, it must print the same. A law that was broken
 * or a run that ended in a verdict is printed as such.
 *
 *     courses FIRST COUNT
 *
 * Every world is played three times: for full attention alone, with layers of other sorts, and with
 * layers whose tokens are thrown out.
 */
#include "cases.h"
#include "kernel/time.h"
#include "model/growth.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROWTHS = 6 };

/* Rows that the cost asks for. */
typedef struct rows {
    sli_growth growths[GROWTHS];
    sl_kept rules[GROWTHS]; /* of those that are kept */
} rows;

static sli_growth draw_growth(sli_rng *rng) {
    int64_t step = sli_draw_between(rng, 1, 6);
    int64_t cap = sli_draw_between(rng, 1, 12);
    switch (sli_rng_below(rng, 5)) {
    case 0:
        return sli_growth_capped(cap);
    case 1:
        return sli_growth_steps(step);
    case 2:
        return sli_growth_capped_steps(step, cap);
    case 3:
        return sli_growth_sawtooth(cap);
    default:
        return sli_growth_constant(cap);
    }
}

/* Of thrown out tokens the half are such. */
static void draw_rows(uint64_t number, sli_layers layers, rows *drawn) {
    sli_rng rng;
    sli_rng_init(&rng, number, "rows of a cost", layers, 0);
    for (int g = 0; g < GROWTHS; g++) {
        drawn->rules[g] = sli_draw_kept(&rng);
        bool is_kept = layers == SLI_LAYERS_KEPT && g % 2 == 0;
        drawn->growths[g] = is_kept ? sli_growth_kept(&drawn->rules[g]) : draw_growth(&rng);
    }
}

static double visible_ns(const sl_batch_shape *shape) {
    double ns = 0.0;
    for (int g = 0; g < GROWTHS; g++) {
        ns += 0.37 * (g + 1) * (double)shape->decode_visible[g];
        ns += 0.11 * (g + 2) * (double)shape->prefill_visible[g];
    }
    return ns;
}

/* A cost that every figure of a shape enters, so that attribution has something to tell apart. */
static void wavy_step(void *self, const sl_batch_shape *shape, sl_step_cost *cost) {
    (void)self;
    bool is_in_graph = shape->prefills == 0;
    *cost = (sl_step_cost){
        .cause_ns = {
            [SL_CAUSE_GEMM] = 11.3 + 3.7 * (double)shape->tokens,
            [SL_CAUSE_ATTENTION] = 0.31 * (double)shape->decode_kv_tokens +
                                   0.113 * (double)shape->decode_kv_max +
                                   0.017 * (double)shape->prefill_pairs +
                                   0.21 * (double)shape->prefill_kv_max + visible_ns(shape),
            [SL_CAUSE_ELEMENTWISE] = 0.053 * (double)shape->tokens,
            [SL_CAUSE_HEAD] = 1.3 * (double)shape->emitting,
            [SL_CAUSE_COLLECTIVE] = 0.7,
            [SL_CAUSE_ENGINE] = (is_in_graph ? 1.0 : 2.5) + 0.19 * (double)shape->sequences,
        }};
    double total_ns = 0.0;
    for (int i = 0; i < SL_CAUSE_COUNT; i++) {
        total_ns += cost->cause_ns[i];
    }
    cost->total_ns = sli_time_round(total_ns);
}

static void print_course(const sli_batch_case *it, uint64_t number, sli_layers layers) {
    static const char *const names[] = {"", ", groups", ", kept"};
    static const sl_cost_ops wavy_ops = {.step = wavy_step};
    sli_small_world world;
    _Alignas(max_align_t) unsigned char values[SLI_VALUES_BYTES];
    sli_case_world(it, number, layers, &world, values);
    rows drawn;
    draw_rows(number, layers, &drawn);
    bool is_wavy = number % 2 == 1;
    sli_manner manner = {.keeps_promises = true};
    if (is_wavy) {
        manner.cost = (sl_cost_model){
            .ops = &wavy_ops, .growths = drawn.growths, .growth_count = GROWTHS};
    }
    sli_rehearsal rehearsal;
    sli_rehearse(&world, sli_case_policy(it), values, &manner, &rehearsal);
    const char *broken = rehearsal.broken[0] != '\0' ? rehearsal.broken : rehearsal.text;
    printf("%s world %llu %s%s: %016llx, %lld steps, %lld preemptions, %lld tokens found%s%s\n",
           sli_case_name(it), (unsigned long long)number, is_wavy ? "wavy" : "even", names[layers],
           (unsigned long long)sli_rehearsal_mark(&rehearsal), (long long)rehearsal.steps,
           (long long)rehearsal.preemptions, (long long)rehearsal.hit_tokens,
           broken[0] != '\0' ? ", broken: " : "", broken);
    sli_rehearsal_fini(&rehearsal);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: courses FIRST COUNT\n", stderr);
        return 2;
    }
    uint64_t first = strtoull(argv[1], NULL, 10);
    uint64_t count = strtoull(argv[2], NULL, 10);
    for (uint64_t number = first; number < first + count; number++) {
        for (int i = 0; i < SLI_CASE_COUNT; i++) {
            for (int layers = 0; layers < SLI_LAYERS_COUNT; layers++) {
                print_course(&sli_batch_cases[i], number, (sli_layers)layers);
            }
        }
    }
    return 0;
}
