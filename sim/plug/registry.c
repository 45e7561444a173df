#include "plug/registry.h"

#include "base/check.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* What a kind asks of its descriptors. */
typedef struct kind_rules {
    const char *name;
    size_t struct_size;
} kind_rules;

static const kind_rules rules[SL_POLICY_KIND_COUNT] = {
    [SL_POLICY_BATCH] = {"batch", sizeof(sl_batch_policy)},
    [SL_POLICY_ROUTE] = {"route", sizeof(sl_route_policy)},
    [SL_POLICY_KEEP] = {"keep", sizeof(sl_keep_policy)},
};

void sli_registry_fini(sli_registry *registry) {
    free(registry->policies);
    *registry = (sli_registry){0};
}

const char *sli_policy_kind_name(sl_policy_kind kind) {
    SL_ASSERT((unsigned)kind < SL_POLICY_KIND_COUNT);
    return rules[kind].name;
}

const sl_policy *sli_registry_find(const sli_registry *registry, sl_policy_kind kind,
                                   const char *name) {
    for (size_t i = 0; i < registry->count; i++) {
        const sl_policy *policy = registry->policies[i];
        if (policy->kind == kind && strcmp(policy->name, name) == 0) {
            return policy;
        }
    }
    return NULL;
}

static bool has_decision(const sl_policy *policy) {
    switch (policy->kind) {
    case SL_POLICY_BATCH:
        return ((const sl_batch_policy *)policy)->plan != NULL;
    case SL_POLICY_ROUTE:
        return ((const sl_route_policy *)policy)->route != NULL;
    case SL_POLICY_KEEP:
        return ((const sl_keep_policy *)policy)->rule != NULL;
    case SL_POLICY_KIND_COUNT:
        break;
    }
    return false;
}

static bool is_name(const char *name) {
    return name != NULL && name[0] >= 'a' && name[0] <= 'z' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* Of the C type that a value has in the instance (sluice/param.h); 0 = there is no such type. */
static size_t value_bytes(sl_type type) {
    switch (type) {
    case SL_TYPE_BOOL:
        return sizeof(bool);
    case SL_TYPE_INT:
        return sizeof(int64_t);
    case SL_TYPE_REAL:
        return sizeof(double);
    case SL_TYPE_CHOICE:
        return sizeof(int);
    case SL_TYPE_STRING:
    case SL_TYPE_PATH:
    case SL_TYPE_NAME_OR_PATH:
        return sizeof(const char *);
    }
    return 0;
}

/* Words for a choice stand for an index of it. */
static bool choices_fit(const sl_param *param) {
    size_t count = 0;
    while (param->choices != NULL && param->choices[count] != NULL) {
        count++;
    }
    bool fit = param->choices != NULL;
    for (const sl_word *word = param->words; word != NULL && word->word != NULL; word++) {
        fit = fit && word->value >= 0.0 && word->value < (double)count;
    }
    return fit;
}

static bool param_fits(const sl_policy *policy, const sl_param *param) {
    size_t bytes = value_bytes(param->type);
    return param->name != NULL && param->help != NULL && bytes > 0 &&
           bytes <= policy->instance_bytes && param->offset <= policy->instance_bytes - bytes &&
           (param->type != SL_TYPE_CHOICE || choices_fit(param));
}

static bool params_fit(const sl_policy *policy) {
    for (size_t i = 0; i < policy->param_count; i++) {
        if (policy->params == NULL || !param_fits(policy, &policy->params[i])) {
            return false;
        }
    }
    return true;
}

/* All that the texts about a method are made of, and nothing that is not asked for. */
static bool is_complete_keep(const sl_keep_policy *keep) {
    return keep->when != NULL && keep->besides != NULL && keep->describe != NULL &&
           keep->policy.init == NULL && keep->policy.fini == NULL;
}

/* NULL, or what is wrong with a descriptor. Checks the ABI first: nothing else can be read. */
static const char *fault_of(const sl_policy *policy) {
    if (policy == NULL || policy->abi != SL_POLICY_ABI) {
        return "was built for another version of the policy interface";
    }
    if ((unsigned)policy->kind >= SL_POLICY_KIND_COUNT) {
        return "is of an unknown kind";
    }
    if (policy->struct_size != rules[policy->kind].struct_size) {
        return "has a descriptor of the wrong size";
    }
    if (!is_name(policy->name) || policy->summary == NULL) {
        return "needs a lower-case name and a summary";
    }
    if (!has_decision(policy)) {
        return "decides nothing: its decision hook is missing";
    }
    if (policy->kind == SL_POLICY_KEEP && !is_complete_keep((const sl_keep_policy *)policy)) {
        return "needs when, besides and describe, and has neither init nor fini";
    }
    return params_fit(policy)
               ? NULL
               : "has a parameter without name, help, type, sound choices or place in its instance";
}

/* `none` is what a scenario says for no policy at all. */
static bool is_taken(const sli_registry *registry, const sl_policy *policy) {
    return strcmp(policy->name, "none") == 0 ||
           sli_registry_find(registry, policy->kind, policy->name) != NULL;
}

static const char *name_of(const sl_policy *policy) {
    bool is_readable = policy != NULL && policy->abi == SL_POLICY_ABI && policy->name != NULL;
    return is_readable ? policy->name : "?";
}

sl_err sli_registry_add(sli_registry *registry, const sl_policy_table *table, const char *origin,
                        sli_diag *diag) {
    sli_mark mark = {.file = origin};
    if (table->abi != SL_POLICY_ABI) {
        sli_diag_error(diag, mark, NULL, "built for policy interface %u, this program has %u",
                       table->abi, SL_POLICY_ABI);
        return SL_ERR_CONFIG;
    }
    SL_TRY(sli_grow(&registry->policies, &registry->capacity, registry->count + table->count,
                    sizeof registry->policies[0]));
    size_t count_before = registry->count;
    for (size_t i = 0; i < table->count; i++) {
        const sl_policy *policy = table->policies[i];
        const char *fault = fault_of(policy);
        if (fault == NULL && is_taken(registry, policy)) {
            fault = "has a name that is taken";
        }
        if (fault != NULL) {
            sli_diag_error(diag, mark, NULL, "policy '%s' %s", name_of(policy), fault);
            registry->count = count_before;
            return SL_ERR_CONFIG;
        }
        registry->policies[registry->count++] = policy;
    }
    return SL_OK;
}
