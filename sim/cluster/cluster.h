/*
 * The cluster: replicas, the queue that they may share, and the way of a request to one of them.
 *
 * Floor cluster. A request arrives, is refused if it can never be served, is routed, and is told to
 * its source when it has ended. Owns the requests; borrows policies and sources.
 */
#ifndef SLUICE_CLUSTER_CLUSTER_H
#define SLUICE_CLUSTER_CLUSTER_H

#include "cluster/arrivals.h"
#include "engine/domain.h"

typedef enum sli_over_length {
    SLI_OVER_LENGTH_REJECT,
    SLI_OVER_LENGTH_TRUNCATE, /* cut the output; a prompt at the limit is refused all the same */
} sli_over_length;

typedef struct sli_cluster_config {
    uint32_t replica_count; /* >= 1 */
    sli_engine_config engine;
    sli_over_length over_length;
    const sl_batch_policy *batch;
    void *const *batch_selves; /* one instance a replica */
    const sl_route_policy *route;
    void *route_self;
    sl_cost_model cost;
    sl_source source;
} sli_cluster_config;

typedef struct sli_replica {
    sli_domain domain;
    int64_t outstanding; /* requests sent here that have not ended */
} sli_replica;

typedef struct sli_cluster {
    sli_world *world;
    const sli_cluster_config *config;
    sli_replica *replicas;
    sli_queue shared;
    sli_arrivals arrivals;
    uint64_t arrival_count;
    int64_t servable_tokens; /* most that a request may ever hold at once, for the pool; means
                                nothing where the layout asks for the prompt too */
    int64_t live_count;      /* requests in the system */
    int64_t too_long_count;  /* requests refused for the limit of contexts, not for the cache */
    bool has_prefix_ids;     /* a request said what its prompt shares with others */
} sli_cluster;

/* Posts the first arrival. World and config outlive the cluster, which must not move. */
SL_NODISCARD sl_err sli_cluster_init(sli_cluster *cluster, sli_world *world,
                                     const sli_cluster_config *config);

/*
 * Closes the books when the loop has ended: checks the conservation of blocks, says (as a fault of
 * the world) who holds and who waits if `is_drained` and requests are left, and ends those that are
 * left as unfinished.
 */
void sli_cluster_close(sli_cluster *cluster, bool is_drained);

/* After sli_cluster_close. */
void sli_cluster_fini(sli_cluster *cluster);

#endif
