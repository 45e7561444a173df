#include "run/execute.h"

#include "kernel/time.h"
#include "out/database.h"
#include "out/digest.h"
#include "out/directory.h"
#include "out/file.h"
#include "run/recorder.h"

#include <stdlib.h>
#include <string.h>

/* Where the results go; all zeroed when nothing is written. */
typedef struct outputs {
    bool has_dir;
    bool has_trace;
    sli_directory directory;
    sli_database database;
    sli_file trace;
} outputs;

static bool is_none(const char *text) {
    return strcmp(text, "none") == 0;
}

/* ---- Outputs ---- */

static sl_err open_database(const sli_scenario *scenario, outputs *out, sli_diag *diag) {
    char *path = NULL;
    SL_TRY(sli_directory_file(&out->directory, SLI_DATABASE_NAME, &path));
    sl_err err = sli_database_open(&out->database, path, scenario->output.requests);
    if (err == SL_ERR_IO) {
        sli_diag_error(diag, (sli_mark){.file = path}, NULL, "%s", out->database.message);
    }
    free(path);
    return err;
}

/*
 * Whether a file is one of those that the scenario was read from or that it names: the trace,
 * model, hardware or plugin, all of which stand in the tree as absolute paths.
 */
static bool is_input(const sli_node *node, const char *path) {
    bool is_path = node->kind == SLI_NODE_SCALAR && node->text[0] == '/';
    if ((node->mark.file != NULL && sli_is_same_file(node->mark.file, path)) ||
        (is_path && sli_is_same_file(node->text, path))) {
        return true;
    }
    for (const sli_node *child = node->first; child != NULL; child = child->next) {
        bool is_itself = child->key != NULL && strcmp(child->key, "output") == 0;
        if (!is_itself && is_input(child, path)) {
            return true;
        }
    }
    return false;
}

static sl_err open_trace(const sli_execution *execution, outputs *out, sli_diag *diag) {
    const char *path = execution->file->values.output.trace;
    sli_mark mark = sli_scenario_mark(execution->file, "output.trace");
    if (is_input(execution->file->root, path)) {
        sli_diag_error(diag, mark, "output.trace", "%s is read by this scenario: give another name",
                       path);
        return SL_ERR_IO;
    }
    bool is_covered = false;
    if (out->has_dir) {
        SL_TRY(sli_directory_covers(&out->directory, path, &is_covered));
    }
    if (is_covered) {
        sli_diag_error(diag, mark, "output.trace",
                       "%s cannot be in output.dir (%s), which is replaced as a whole: give a "
                       "name outside of it",
                       path, execution->file->values.output.dir);
        return SL_ERR_IO;
    }
    SL_TRY(sli_file_open(&out->trace, path, "output.trace", execution->replaces, diag));
    out->has_trace = true;
    return SL_OK;
}

/* Whatever is refused leaves nothing behind: folders are made last. */
static sl_err open_outputs(const sli_execution *execution, outputs *out, sli_diag *diag) {
    const sli_scenario *scenario = &execution->file->values;
    if (!is_none(scenario->output.dir)) {
        SL_TRY(sli_directory_init(&out->directory, scenario->output.dir, diag));
        out->has_dir = true;
    }
    if (!is_none(scenario->output.trace)) {
        SL_TRY(open_trace(execution, out, diag));
    }
    if (out->has_dir) {
        SL_TRY(sli_directory_open(&out->directory, execution->replaces, diag));
        SL_TRY(open_database(scenario, out, diag));
    }
    return SL_OK;
}

/* What was not committed is removed. */
static void close_outputs(outputs *out) {
    sli_file_fini(&out->trace);
    sli_database_fini(&out->database);
    sli_directory_fini(&out->directory);
}

static sl_err commit_directory(const sli_execution *execution, outputs *out, sli_diag *diag) {
    sl_err err = sli_database_write(&out->database, &execution->facts, &execution->metrics);
    if (err == SL_OK) {
        err = sli_database_close(&out->database);
    }
    if (err != SL_OK) {
        sli_diag_error(diag, (sli_mark){.file = execution->file->values.output.dir}, NULL,
                       "results cannot be written: %s", out->database.message);
        return err;
    }
    SL_TRY(sli_directory_write(&out->directory, SLI_DIRECTORY_SCENARIO, execution->facts.scenario,
                               diag));
    return sli_directory_commit(&out->directory, diag);
}

/* Final names come last, when all is written. */
static sl_err commit_outputs(sli_execution *execution, outputs *out, const sli_recorder *recorder,
                             sli_diag *diag) {
    if (out->has_trace) {
        SL_TRY(sli_file_finish(&out->trace, recorder->why, diag));
    }
    if (out->has_dir) {
        execution->facts.results_dir = execution->file->values.output.dir;
        SL_TRY(commit_directory(execution, out, diag));
    }
    return out->has_trace ? sli_file_commit(&out->trace, diag) : SL_OK;
}

/* ---- The trial ---- */

static sl_err start_collector(sli_execution *execution) {
    const sli_scenario *scenario = &execution->file->values;
    return sli_collector_init(&execution->collector,
                              &(sli_collector_options){
                                  .warmup_ns = scenario->run.warmup_ns,
                                  .replica_count = execution->deployment.cluster.replica_count,
                                  .keep_requests = scenario->output.requests,
                                  .slo = scenario->slo,
                              });
}

enum { PROBES_MAX = 4 };

static void run_trial(sli_execution *execution, outputs *out, sli_digest *digest) {
    const sli_scenario *scenario = &execution->file->values;
    sl_probe probes[PROBES_MAX] = {sli_digest_probe(digest),
                                   sli_collector_probe(&execution->collector)};
    size_t probe_count = 2;
    if (out->has_dir && scenario->output.requests) {
        probes[probe_count++] = sli_database_probe(&out->database);
    }
    if (execution->watcher != NULL) {
        probes[probe_count++] = *execution->watcher;
    }
    sli_trial trial = {
        .cluster = &execution->deployment.cluster,
        .seed = (uint64_t)scenario->seed,
        .until_ns = scenario->run.until_ns == SLI_UNTIL_DRAINED ? SLI_NEVER
                                                                : scenario->run.until_ns,
        .time_limit_ns = scenario->run.time_limit_ns,
        .probes = probes,
        .probe_count = probe_count,
        .interrupt = execution->interrupt,
    };
    (void)sli_trial_run(&trial, &execution->result); /* the status is in the result */
}

static bool gives_results(sl_err status) {
    return status == SL_OK || status == SL_ERR_STOPPED || status == SL_ERR_LIVENESS;
}

static sl_err gather_results(sli_execution *execution, const sli_digest *digest, sli_diag *diag) {
    SL_TRY(sli_metrics_make(&execution->collector, &execution->metrics));
    return sli_facts_gather(&(sli_facts_input){.file = execution->file,
                                               .deployment = &execution->deployment,
                                               .result = &execution->result,
                                               .metrics = &execution->metrics,
                                               .diag = diag,
                                               .digest = sli_digest_value(digest)},
                            &execution->facts);
}

static sl_err run_and_commit(sli_execution *execution, sl_source source, sli_diag *diag) {
    outputs out = {0};
    sli_digest digest;
    sli_digest_init(&digest);
    sl_err err = open_outputs(execution, &out, diag);
    if (err != SL_OK) {
        goto out;
    }
    sli_recorder recorder = {.source = source, .file = out.trace.stream};
    execution->deployment.cluster.source = out.has_trace ? sli_recorder_source(&recorder) : source;
    run_trial(execution, &out, &digest);
    if (!gives_results(execution->result.status)) {
        sli_diag_error(diag, (sli_mark){0}, NULL, "%s", execution->result.text);
        err = execution->result.status;
        goto out;
    }
    err = gather_results(execution, &digest, diag);
    if (err == SL_OK) {
        err = commit_outputs(execution, &out, &recorder, diag);
    }
    if (err == SL_OK) {
        execution->has_results = true;
        err = execution->result.status;
    }
out:
    close_outputs(&out);
    return err;
}

/* ---- The whole ---- */

/* Deployment and workload, both looked at whatever is wrong with the other. */
static sl_err prepare(sli_scenario_file *file, sli_diag *diag, sli_deployment *deployment,
                      sl_source *source) {
    sl_err deployment_err = sli_deployment_create(file, diag, deployment);
    sl_err source_err = sli_deployment_source(file, diag, source);
    return source_err != SL_OK ? source_err : deployment_err;
}

static void destroy_source(sl_source *source) {
    if (source->ops != NULL) {
        source->ops->destroy(source->self);
    }
}

sl_err sli_execution_check(sli_scenario_file *file, sli_diag *diag) {
    sli_deployment deployment;
    sl_source source = {0};
    sl_err err = prepare(file, diag, &deployment, &source);
    destroy_source(&source);
    sli_deployment_destroy(&deployment);
    return err;
}

sl_err sli_execution_run(sli_execution *execution, sli_diag *diag) {
    sl_source source = {0};
    sl_err err = prepare(execution->file, diag, &execution->deployment, &source);
    if (err == SL_OK) {
        err = start_collector(execution);
    }
    if (err == SL_OK) {
        err = run_and_commit(execution, source, diag);
    }
    destroy_source(&source);
    return err;
}

void sli_execution_fini(sli_execution *execution) {
    sli_collector_fini(&execution->collector);
    sli_deployment_destroy(&execution->deployment);
}
