/*
 * The list of all source types: one line a type, one file a type.
 *
 * Part workloads. A new source is a file that defines its section, describe and create, a line
 * here, with whether it is closed (workloads/source.h), and a line in CMakeLists.txt.
 */
#ifndef WORKLOADS_SOURCES_H
#define WORKLOADS_SOURCES_H

#include "workloads/source.h"

#define SLI_SOURCE_LIST(X)                                                                         \
    X(poisson, false, "independent requests at random times with a mean rate")                     \
    X(deterministic, false, "requests at equal distances in time")                                 \
    X(closed, true, "a fixed number of users, each waiting for its answer before asking again")    \
    X(mooncake, false, "a trace in the JSONL format of Mooncake, with ids of prompt blocks")       \
    X(azure, false, "a trace in the CSV format of the Azure LLM inference traces")                 \
    X(sluice, false, "a trace that sluice itself has exported")

#define SLI_SOURCE_DECLARE(name, is_closed, summary)                                               \
    extern const sli_section sli_##name##_section;                                                 \
    void sli_##name##_describe(const void *values, char *text, size_t size);                       \
    sl_err sli_##name##_create(const void *values, const sli_source_env *env, sl_source *source);
SLI_SOURCE_LIST(SLI_SOURCE_DECLARE)
#undef SLI_SOURCE_DECLARE

#endif
