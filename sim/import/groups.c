#include "import/groups.h"

#include <string.h>

enum { PERIOD_MAX = 64 };

/* How the runs from one on are written in the fewest rows. */
typedef struct plan {
    sli_import_group group; /* the first of them */
    size_t cost;            /* rows, and one a repeat */
} plan;

typedef struct grouping {
    const sli_import_run *runs;
    size_t count;
    plan *plans; /* of each run; behind the last the end, which costs nothing */
    size_t
        matches[PERIOD_MAX + 1]; /* from the run at hand on: those equal to the one a period on */
} grouping;

static bool is_equal(const sli_import_run *a, const sli_import_run *b) {
    return a->count == b->count && strcmp(a->mixer, b->mixer) == 0 && strcmp(a->ffn, b->ffn) == 0;
}

/* Neighbours differ, so that two runs are the shortest group. */
static void plan_run(grouping *g, size_t i) {
    plan best = {.group = {.rows = 1, .times = 1}, .cost = 1 + g->plans[i + 1].cost};
    for (size_t period = 2; period <= PERIOD_MAX && i + period < g->count; period++) {
        bool matches = is_equal(&g->runs[i], &g->runs[i + period]);
        g->matches[period] = matches ? g->matches[period] + 1 : 0;
        size_t times = g->matches[period] / period + 1;
        size_t cost = period + 1 + g->plans[i + period * times].cost;
        bool is_first = best.group.times == 1;
        if (times > 1 && (cost < best.cost || (cost == best.cost && is_first))) {
            best = (plan){.group = {.rows = period, .times = times}, .cost = cost};
        }
    }
    g->plans[i] = best;
}

sl_err sli_import_group_runs(sli_arena *arena, const sli_import_runs *runs,
                             sli_import_groups *groups) {
    grouping g = {.runs = runs->rows, .count = runs->count};
    g.plans = sli_arena_array(arena, runs->count + 1, sizeof *g.plans);
    groups->entries = sli_arena_array(arena, runs->count, sizeof *groups->entries);
    groups->count = 0;
    if (g.plans == NULL || groups->entries == NULL) {
        return SL_ERR_NOMEM;
    }
    for (size_t i = runs->count; i-- > 0;) {
        plan_run(&g, i);
    }
    for (size_t i = 0; i < runs->count;) {
        sli_import_group group = g.plans[i].group;
        groups->entries[groups->count++] = group;
        i += group.rows * group.times;
    }
    return SL_OK;
}
