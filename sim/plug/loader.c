#include "plug/loader.h"

#include <dlfcn.h>
#include <string.h>

sl_err sli_plugin_open(const char *path, sli_mark mark, sli_registry *registry, sli_diag *diag,
                       sli_plugin *plugin) {
    /* Without a slash dlopen would search the system's libraries instead of opening the file. */
    char *file = strchr(path, '/') != NULL ? sli_arena_strdup(&diag->arena, path)
                                           : sli_arena_printf(&diag->arena, "./%s", path);
    if (file == NULL) {
        return SL_ERR_NOMEM;
    }
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        sli_diag_error(diag, mark, NULL, "cannot load the policy file: %s", dlerror());
        return SL_ERR_CONFIG;
    }
    const sl_policy_table *table = dlsym(handle, "sl_policies");
    if (table == NULL) {
        sli_diag_error(diag, mark, NULL,
                       "'%s' exports no sl_policies; was it built with -DSL_POLICY_PLUGIN?", path);
        dlclose(handle);
        return SL_ERR_CONFIG;
    }
    sl_err err = sli_registry_add(registry, table, path, diag);
    if (err != SL_OK) {
        dlclose(handle);
        return err;
    }
    plugin->handle = handle;
    return SL_OK;
}

void sli_plugin_close(sli_plugin *plugin) {
    if (plugin->handle != NULL) {
        dlclose(plugin->handle);
        plugin->handle = NULL;
    }
}
