#include "cli/policy_text.h"

#include <stdio.h>

void sli_policies_list(const sli_plugins *plugins, sl_policy_kind kind) {
    printf("%s\n", sli_policy_kind_name(kind));
    for (size_t i = 0; i < plugins->type_count[kind]; i++) {
        const sl_policy *policy = plugins->types[kind][i].item;
        printf("  %-18s %s\n", plugins->types[kind][i].name,
               policy != NULL ? policy->summary : "all tokens");
    }
}

static void explain_capabilities(uint32_t capabilities) {
    if ((capabilities & SL_CAP_NO_TOKEN_BUDGET) != 0) {
        puts("is not bound by engine.max_batched_tokens");
    }
    if ((capabilities & SL_CAP_RESERVES_MAX_LEN) != 0) {
        puts("reserves blocks for the longest context; needs prefix.index: none");
    }
}

static void explain_keep(const sl_keep_policy *method) {
    printf("throws tokens out %s\n", method->when);
    printf("counted besides: %s\n", method->besides);
    puts("what stays cannot be shared with other requests; quality is not simulated");
}

void sli_policy_explain(const sli_named_type *type) {
    const sl_policy *policy = type->item;
    printf("%s (%s): %s\n", policy->name, sli_policy_kind_name(policy->kind), policy->summary);
    if (policy->paper != NULL) {
        printf("source: %s\n", policy->paper);
    }
    explain_capabilities(policy->capabilities);
    if (policy->kind == SL_POLICY_KEEP) {
        explain_keep((const sl_keep_policy *)policy);
    }
    if (policy->param_count > 0) {
        puts("\nkeys:");
        sli_schema_describe(type->section, NULL, stdout);
    }
}

sl_err sli_policies_tell(void (*tell)(const sli_plugins *plugins)) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    sli_plugins plugins;
    sl_err err = sli_plugins_open(&arena, NULL, (sli_mark){0}, &diag, &plugins);
    if (err == SL_OK) {
        tell(&plugins);
    }
    sli_plugins_close(&plugins);
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return err;
}
