#include "simulation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The entries belong to the failed run; nothing is left to free after fail_msg. */
static void fail_with(const sli_simulation *simulation, sl_err err) {
    for (const sli_diag_entry *entry = simulation->diag.first; entry != NULL; entry = entry->next) {
        print_error("%d:%d: %s: %s\n", entry->mark.line, entry->mark.column,
                    entry->path != NULL ? entry->path : "", entry->message);
    }
    fail_msg("%s %s", sl_err_text(err), simulation->execution.result.text);
}

void sli_simulation_open(const char *text, const char *const *sets, sli_simulation *simulation) {
    *simulation = (sli_simulation){0};
    size_t set_count = 0;
    while (sets != NULL && sets[set_count] != NULL) {
        set_count++;
    }
    sl_err err = sli_scenario_read_text("law.yaml", text, sets, set_count, &simulation->diag,
                                        &simulation->file);
    if (err != SL_OK) {
        fail_with(simulation, err);
    }
}

void sli_simulation_run(sli_simulation *simulation, const sl_probe *watcher) {
    simulation->execution = (sli_execution){.file = &simulation->file, .watcher = watcher};
    sl_err err = sli_execution_run(&simulation->execution, &simulation->diag);
    if (err != SL_OK) {
        fail_with(simulation, err);
    }
}

void sli_simulation_fini(sli_simulation *simulation) {
    sli_execution_fini(&simulation->execution);
    sli_scenario_close(&simulation->file);
    sli_diag_fini(&simulation->diag);
}

uint64_t sli_simulation_digest(const char *text, const char *const *sets) {
    sli_simulation simulation;
    sli_simulation_open(text, sets, &simulation);
    sli_simulation_run(&simulation, NULL);
    uint64_t digest = simulation.execution.facts.digest;
    sli_simulation_fini(&simulation);
    return digest;
}
