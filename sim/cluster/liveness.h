/*
 * Verdicts: why a system that ought to move does not, and whether its books are right.
 *
 * Floor cluster.
 */
#ifndef SLUICE_CLUSTER_LIVENESS_H
#define SLUICE_CLUSTER_LIVENESS_H

#include "cluster/cluster.h"

/* Nothing can happen any more and requests are left: fails the world, naming who holds and who
 * waits for what. */
void sli_report_deadlock(sli_cluster *cluster);

/* Recounts every pool: an error is a bug of the engine, reported as a fault of the world. */
void sli_check_conservation(sli_cluster *cluster);

#endif
