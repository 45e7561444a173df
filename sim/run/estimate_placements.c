#include "run/estimate.h"

#include "base/check.h"
#include "base/minmax.h"
#include "model/parallel.h"
#include "run/estimate_weights.h"

enum { TP_MAX = 16 };

static bool is_power_of_two(int64_t number) {
    return (number & (number - 1)) == 0;
}

static bool is_met_by(const sli_estimate_query *query, const sli_placement *placement) {
    sli_estimate_query placed = *query;
    placed.placement = *placement;
    return sli_parallel_can_place(query->architecture, placement) && sli_estimate_fits(&placed);
}

/* Those of so many devices for tp and pp, the widest tp first. */
static size_t place(const sli_estimate_query *query, int64_t devices,
                    sli_placement placements[SLI_PLACEMENTS_MAX]) {
    size_t count = 0;
    for (int64_t tp = TP_MAX; tp >= 1 && count < SLI_PLACEMENTS_MAX; tp /= 2) {
        sli_placement placement = query->placement;
        placement.tp = tp;
        placement.pp = devices / tp;
        if (devices % tp == 0 && is_met_by(query, &placement)) {
            placements[count++] = placement;
        }
    }
    return count;
}

/* On fewer than these the weights alone find no place, whatever lies where. */
static int64_t fewest_devices(const sli_estimate_query *query) {
    const sli_placement *asked = &query->placement;
    sli_diag unsaid = {0};
    sli_estimate_fit fit = {0};
    sl_err err = sli_estimate_fit_find(query, &unsaid, &fit);
    sli_diag_fini(&unsaid);
    SL_ASSERT(err == SL_OK);
    int64_t weights_bytes = sli_estimate_all_weights_bytes(query);
    return sli_max_i64(1, weights_bytes / (fit.usable_bytes * asked->dp * asked->cp));
}

size_t sli_estimate_placements(const sli_estimate_query *query, bool in_powers_of_two,
                               sli_placement placements[SLI_PLACEMENTS_MAX]) {
    SL_ASSERT(query->device != NULL);
    size_t count = 0;
    int64_t devices = fewest_devices(query);
    for (; devices <= SLI_PLACEMENT_DEVICES_MAX && count == 0; devices++) {
        if (!in_powers_of_two || is_power_of_two(devices)) {
            count = place(query, devices, placements);
        }
    }
    return count;
}
