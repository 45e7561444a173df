#include "run/plugins.h"

extern const sl_policy_table *const sl_builtin_policies[];

static sl_err register_all(const char *path, sli_mark mark, sli_diag *diag, sli_plugins *plugins) {
    for (size_t i = 0; sl_builtin_policies[i] != NULL; i++) {
        SL_TRY(sli_registry_add(&plugins->registry, sl_builtin_policies[i], "built-in policies",
                                diag));
    }
    if (path == NULL) {
        return SL_OK;
    }
    return sli_plugin_open(path, mark, &plugins->registry, diag, &plugins->plugin);
}

static sl_err section_of(sli_arena *arena, const sl_policy *policy, const sli_section **section) {
    sli_section *made = sli_arena_alloc(arena, sizeof *made);
    if (made == NULL) {
        return SL_ERR_NOMEM;
    }
    *made = (sli_section){
        .params = policy->params,
        .param_count = policy->param_count,
        .struct_size = policy->instance_bytes,
    };
    *section = made;
    return SL_OK;
}

static sl_err list_types(sli_arena *arena, sl_policy_kind kind, sli_plugins *plugins) {
    const sli_registry *registry = &plugins->registry;
    sli_named_type *types = sli_arena_array(arena, registry->count + 1, sizeof *types);
    if (types == NULL) {
        return SL_ERR_NOMEM;
    }
    size_t count = 0;
    if (kind == SL_POLICY_KEEP) {
        types[count++] = (sli_named_type){.name = "none"};
    }
    for (size_t i = 0; i < registry->count; i++) {
        const sl_policy *policy = registry->policies[i];
        if (policy->kind == kind) {
            types[count] = (sli_named_type){.name = policy->name, .item = policy};
            SL_TRY(section_of(arena, policy, &types[count].section));
            count++;
        }
    }
    plugins->types[kind] = types;
    plugins->type_count[kind] = count;
    return SL_OK;
}

sl_err sli_plugins_open(sli_arena *arena, const char *path, sli_mark mark, sli_diag *diag,
                        sli_plugins *plugins) {
    *plugins = (sli_plugins){0};
    SL_TRY(register_all(path, mark, diag, plugins));
    for (int kind = 0; kind < SL_POLICY_KIND_COUNT; kind++) {
        SL_TRY(list_types(arena, (sl_policy_kind)kind, plugins));
    }
    return SL_OK;
}

void sli_plugins_close(sli_plugins *plugins) {
    sli_registry_fini(&plugins->registry);
    sli_plugin_close(&plugins->plugin);
}

static const sli_named_type *types_of(const void *context, sl_policy_kind kind, size_t *count) {
    const sli_plugins *plugins = context;
    *count = plugins->type_count[kind];
    return plugins->types[kind];
}

const sli_named_type *sli_batch_types(const void *context, size_t *count) {
    return types_of(context, SL_POLICY_BATCH, count);
}

const sli_named_type *sli_route_types(const void *context, size_t *count) {
    return types_of(context, SL_POLICY_ROUTE, count);
}

const sli_named_type *sli_keep_types(const void *context, size_t *count) {
    return types_of(context, SL_POLICY_KEEP, count);
}

const char *sli_plugins_advise(const void *context) {
    const sli_plugins *plugins = context;
    bool has_plugin = plugins->plugin.handle != NULL;
    return has_plugin ? "" : "; a policy of your own needs plugin: FILE.so";
}
