/*
 * The policies that a scenario may name: those built in, and those of its own plugin.
 *
 * Floor run.
 */
#ifndef SLUICE_RUN_PLUGINS_H
#define SLUICE_RUN_PLUGINS_H

#include "config/schema.h"
#include "plug/loader.h"

/* Also the context of the scenario's schema: it lists the types of named fields. */
typedef struct sli_plugins {
    sli_registry registry;
    sli_plugin plugin;
    sli_named_type *types[SL_POLICY_KIND_COUNT];
    size_t type_count[SL_POLICY_KIND_COUNT];
} sli_plugins;

/* Registers the built-in policies and, unless path is NULL, those of a shared object. The tables
 * live in the arena. Close it in any case. */
SL_NODISCARD sl_err sli_plugins_open(sli_arena *arena, const char *path, sli_mark mark,
                                     sli_diag *diag, sli_plugins *plugins);

void sli_plugins_close(sli_plugins *plugins);

/* For named fields; the context is a sli_plugins. Of kind keep the first is `none`, no policy. */
const sli_named_type *sli_batch_types(const void *context, size_t *count);
const sli_named_type *sli_route_types(const void *context, size_t *count);
const sli_named_type *sli_keep_types(const void *context, size_t *count);

/* What to say of a policy that is not known: how a plugin is named, when none is open. */
const char *sli_plugins_advise(const void *context);

#endif
