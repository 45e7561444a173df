/*
 * The loader: policies from shared objects.
 *
 * Floor plug. A shared object exports one table, sl_policies (see SL_EXPORT_POLICIES).
 */
#ifndef SLUICE_PLUG_LOADER_H
#define SLUICE_PLUG_LOADER_H

#include "plug/registry.h"

/* An open shared object; zeroed = none. */
typedef struct sli_plugin {
    void *handle;
} sli_plugin;

/*
 * Opens the file and adds its policies. A file that is no such object is described in diag at
 * `mark`. On success the caller owns the plugin and keeps it open while the registry is in use.
 */
SL_NODISCARD sl_err sli_plugin_open(const char *path, sli_mark mark, sli_registry *registry,
                                    sli_diag *diag, sli_plugin *plugin);

void sli_plugin_close(sli_plugin *plugin);

#endif
