#include "cluster/cluster.h"

#include "base/check.h"
#include "cluster/liveness.h"
#include "kv/layout_held.h"

#include <stdlib.h>

/* ---- Routing ---- */

/* The view of one decision; the head is what the policy sees. */
typedef struct route_view {
    sl_route_view view;
    const sli_cluster *cluster;
} route_view;

static sl_signal outstanding_of(const sl_route_view *view, uint32_t replica) {
    const sli_cluster *cluster = ((const route_view *)view)->cluster;
    SL_ASSERT(replica < cluster->config->replica_count);
    return (sl_signal){.value = cluster->replicas[replica].outstanding, .age_ns = 0};
}

static const sl_route_ops route_ops = {.outstanding = outstanding_of};

static uint32_t route(const sli_cluster *cluster, const sl_request *request) {
    const sli_cluster_config *config = cluster->config;
    route_view view = {
        .view = {.ops = &route_ops,
                 .now_ns = cluster->world->loop.now_ns,
                 .replica_count = config->replica_count,
                 .request = request->id,
                 .prompt_tokens = request->desc.prompt_tokens,
                 .priority = request->desc.priority},
        .cluster = cluster,
    };
    return config->route->route(config->route_self, &view.view);
}

/* ---- The end of a request ---- */

static void destroy(sli_cluster *cluster, sl_request *request) {
    uint64_t id = request->id;
    sl_outcome outcome = request->record.outcome;
    sli_request_destroy(request);
    cluster->live_count--;
    sli_arrivals_done(&cluster->arrivals, id, outcome);
}

static void ended(void *self, sl_request *request) {
    sli_cluster *cluster = self;
    if (request->home != &cluster->shared) {
        cluster->replicas[request->record.replica].outstanding--;
    }
    destroy(cluster, request);
}

/* ---- Arrival ---- */

/* Whether a request that has the pool to itself never needs more than there is, in steps of the
 * whole budget. */
static bool fits_alone(const sli_cluster_config *config, int64_t prompt_tokens, int64_t tokens) {
    const sli_pool_config *pool = &config->engine.pool;
    bool has_budget = (config->batch->policy.capabilities & SL_CAP_NO_TOKEN_BUDGET) == 0;
    int64_t step_tokens = has_budget ? config->engine.max_batched_tokens : tokens;
    return sli_layout_request_peak_pages(pool->layout, prompt_tokens, tokens, step_tokens) <=
           pool->block_count;
}

static bool depends_on_prompt(const sli_layout *layout) {
    for (int i = 0; layout != NULL && i < layout->group_count; i++) {
        if (layout->groups[i].kind == SLI_GROUP_KEPT) {
            return true;
        }
    }
    return false;
}

static bool fits_pool(const sli_cluster *cluster, const sl_request *request) {
    int64_t tokens = sli_request_final_tokens(&request->desc);
    return depends_on_prompt(cluster->config->engine.pool.layout)
               ? fits_alone(cluster->config, request->desc.prompt_tokens, tokens)
               : tokens <= cluster->servable_tokens;
}

/* Cuts the output to the context limit if asked to; false when it can never be served. */
static bool make_servable(sli_cluster *cluster, sl_request *request) {
    const sli_cluster_config *config = cluster->config;
    int64_t room_tokens = config->engine.max_model_tokens - request->desc.prompt_tokens;
    if (request->desc.output_tokens > room_tokens) {
        if (config->over_length == SLI_OVER_LENGTH_REJECT || room_tokens < 1) {
            cluster->too_long_count++;
            return false;
        }
        request->desc.output_tokens = room_tokens;
    }
    return fits_pool(cluster, request);
}

static void reject(sli_cluster *cluster, sl_request *request) {
    int64_t prompt_tokens = request->desc.prompt_tokens;
    sli_request_report(request, cluster->world, SL_ARRIVE, SL_NO_REPLICA, prompt_tokens);
    sli_request_report(request, cluster->world, SL_REJECT, SL_NO_REPLICA, prompt_tokens);
    sli_request_end(request, cluster->world, SL_REJECTED, SL_NO_REPLICA);
    destroy(cluster, request);
}

/* The queue that the request is sent to; NULL when the policy named no replica. */
static sli_queue *choose_queue(sli_cluster *cluster, const sl_request *request, uint32_t *replica) {
    uint32_t chosen = route(cluster, request);
    *replica = SL_NO_REPLICA;
    if (chosen == SL_ROUTE_SHARED) {
        return &cluster->shared;
    }
    if (chosen >= cluster->config->replica_count) {
        sli_world_fail(cluster->world, SL_ERR_POLICY,
                       "policy '%s' sent a request to replica %u of %u",
                       cluster->config->route->policy.name, chosen, cluster->config->replica_count);
        return NULL;
    }
    *replica = chosen;
    cluster->replicas[chosen].outstanding++;
    return &cluster->replicas[chosen].domain.core.queue;
}

static void enqueue(sli_cluster *cluster, sl_request *request) {
    uint32_t replica;
    request->home = choose_queue(cluster, request, &replica);
    if (request->home == NULL) {
        sli_request_destroy(request);
        cluster->live_count--;
        return;
    }
    sli_request_report(request, cluster->world, SL_ARRIVE, replica, request->desc.prompt_tokens);
    if (sli_queue_add(request->home, request) != SL_OK) {
        sli_world_fail(cluster->world, SL_ERR_NOMEM, "out of memory for a queue");
        sli_request_destroy(request);
        cluster->live_count--;
    }
}

static void arrive(void *self, uint64_t id, const sl_request_desc *desc) {
    sli_cluster *cluster = self;
    sl_request *request;
    if (sli_request_create(id, cluster->arrival_count++, desc, cluster->world->loop.now_ns,
                           &request) != SL_OK) {
        sli_world_fail(cluster->world, SL_ERR_NOMEM, "out of memory for a request");
        return;
    }
    cluster->live_count++;
    cluster->has_prefix_ids |= desc->content.id_count > 0;
    if (make_servable(cluster, request)) {
        enqueue(cluster, request);
    } else {
        reject(cluster, request);
    }
}

/* ---- Cancelling ---- */

static sl_request *find_in_queue(const sli_queue *queue, uint64_t id) {
    sl_request *request = sli_queue_first(queue);
    while (request != NULL && request->id != id) {
        request = sli_queue_next(queue, request);
    }
    return request;
}

static sl_request *find_in_core(const sli_core *core, uint64_t id) {
    sl_request *request = core->first_running;
    while (request != NULL && request->id != id) {
        request = request->next;
    }
    return request != NULL ? request : find_in_queue(&core->queue, id);
}

/* A request that has ended already is not found, and nothing is done. */
static void cancel(void *self, uint64_t id) {
    sli_cluster *cluster = self;
    for (uint32_t i = 0; i < cluster->config->replica_count; i++) {
        sli_domain *domain = &cluster->replicas[i].domain;
        sl_request *request = find_in_core(&domain->core, id);
        if (request != NULL) {
            sli_domain_cancel(domain, request);
            return;
        }
    }
    sl_request *request = find_in_queue(&cluster->shared, id);
    if (request != NULL) {
        sli_request_report(request, cluster->world, SL_ABORT, SL_NO_REPLICA,
                           request->record.generated_tokens);
        sli_queue_remove(&cluster->shared, request);
        sli_context_forget(&request->context);
        sli_request_end(request, cluster->world, SL_ABORTED, SL_NO_REPLICA);
        destroy(cluster, request);
    }
}

static const sli_arrival_ops arrival_ops = {.arrive = arrive, .cancel = cancel};

/* ---- Life ---- */

static void mark_all(void *listener) {
    sli_cluster *cluster = listener;
    for (uint32_t i = 0; i < cluster->config->replica_count; i++) {
        sli_domain_mark(&cluster->replicas[i].domain);
    }
}

/* ---- Life ---- */

/* The longest request that the pool has room for when no other runs, where the prompt does not
 * matter; more than max_model_tokens it need not be. */
static int64_t find_servable(const sli_cluster_config *config) {
    const sli_pool_config *pool = &config->engine.pool;
    if (pool->layout == NULL) {
        return pool->block_count * pool->block_tokens;
    }
    int64_t low = 0;
    int64_t high = config->engine.max_model_tokens + 1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(fits_alone(config, middle, middle) ? &low : &high) = middle;
    }
    return low;
}

sl_err sli_cluster_init(sli_cluster *cluster, sli_world *world, const sli_cluster_config *config) {
    *cluster = (sli_cluster){
        .world = world,
        .config = config,
        .servable_tokens = find_servable(config),
        .shared = {.order = config->engine.order, .changed = mark_all, .listener = cluster},
        .arrivals = {.world = world, .source = config->source, .ops = &arrival_ops},
    };
    cluster->arrivals.self = cluster;
    cluster->replicas = calloc(config->replica_count, sizeof *cluster->replicas);
    if (cluster->replicas == NULL) {
        return SL_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < config->replica_count; i++) {
        sli_listener listener = {.ended = ended, .self = cluster};
        sl_err err = sli_domain_init(&cluster->replicas[i].domain, world, i, &config->engine,
                                     config->batch, config->batch_selves[i], &cluster->shared,
                                     config->cost, listener);
        if (err != SL_OK) {
            while (i > 0) {
                sli_domain_fini(&cluster->replicas[--i].domain);
            }
            free(cluster->replicas);
            return err;
        }
    }
    sli_arrivals_start(&cluster->arrivals);
    return SL_OK;
}

static void leave_unfinished(sli_cluster *cluster, sl_request *request, uint32_t replica) {
    sli_request_end(request, cluster->world, SL_UNFINISHED, replica);
    sli_context_forget(&request->context);
    sli_request_destroy(request);
    cluster->live_count--;
}

static void empty_queue(sli_cluster *cluster, sli_queue *queue, uint32_t replica) {
    queue->changed = NULL;
    for (sl_request *request = sli_queue_first(queue); request != NULL;
         request = sli_queue_first(queue)) {
        sli_queue_remove(queue, request);
        leave_unfinished(cluster, request, replica);
    }
}

static void empty_core(sli_cluster *cluster, sli_core *core) {
    while (core->first_running != NULL) {
        sl_request *request = core->first_running;
        sli_core_unseat(core, request, false);
        leave_unfinished(cluster, request, core->index);
    }
    empty_queue(cluster, &core->queue, core->index);
}

void sli_cluster_close(sli_cluster *cluster, bool is_drained) {
    for (uint32_t i = 0; i < cluster->config->replica_count; i++) {
        sli_domain_stop(&cluster->replicas[i].domain);
    }
    if (is_drained && cluster->live_count > 0) {
        sli_report_deadlock(cluster);
    }
    sli_check_conservation(cluster);
    for (uint32_t i = 0; i < cluster->config->replica_count; i++) {
        empty_core(cluster, &cluster->replicas[i].domain.core);
    }
    empty_queue(cluster, &cluster->shared, SL_NO_REPLICA);
    SL_ASSERT(cluster->live_count == 0);
}

void sli_cluster_fini(sli_cluster *cluster) {
    for (uint32_t i = 0; i < cluster->config->replica_count; i++) {
        sli_domain_fini(&cluster->replicas[i].domain);
    }
    sli_queue_fini(&cluster->shared);
    free(cluster->replicas);
}
