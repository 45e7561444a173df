#include "cli/estimate_keep.h"

#include "cli/numbers.h"
#include "cli/policy_text.h"
#include "model/growth.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const sli_field keep_fields[] = {
    {.name = "keep",
     .kind = SLI_FIELD_NAMED,
     .help = "the method",
     .name_key = "method",
     .types = sli_keep_types},
};

static const sli_section keep_section = {
    .fields = keep_fields,
    .field_count = COUNT_OF(keep_fields),
    .struct_size = sizeof(sli_named),
};

/* ---- As a scenario has it ---- */

/* Of a method that there is; NULL = it has no such parameter. */
static const sl_param *find_param(const sli_plugins *plugins, const char *method,
                                  size_t method_length, const char *name, size_t length) {
    size_t count = 0;
    const sli_named_type *types = sli_keep_types(plugins, &count);
    for (size_t i = 0; i < count; i++) {
        const sli_section *section = types[i].section;
        bool is_it = strlen(types[i].name) == method_length &&
                     strncmp(types[i].name, method, method_length) == 0;
        for (size_t j = 0; is_it && section != NULL && j < section->param_count; j++) {
            const char *found = section->params[j].name;
            if (strlen(found) == length && strncmp(found, name, length) == 0) {
                return &section->params[j];
            }
        }
    }
    return NULL;
}

/* `snapkv:capacity=2Ki`, as far as it is read. */
typedef struct reader {
    sli_arena *arena;
    const sli_plugins *plugins;
    const char *text;
    size_t name_length;
    const char *yaml;
} reader;

/* `capacity=2Ki` as `, capacity: 2048 tokens`; SL_ERR_USAGE when it is no setting. */
static sl_err add_setting(reader *r, const char *text, size_t size) {
    size_t length = strcspn(text, "=:");
    if (text[length] != '=') {
        return SL_ERR_USAGE;
    }
    const char *value = sli_arena_copy(r->arena, text + length + 1, size - length - 1);
    const sl_param *param = find_param(r->plugins, r->text, r->name_length, text, length);
    int64_t tokens = 0;
    if (value == NULL) {
        return SL_ERR_NOMEM;
    }
    bool is_amount = param != NULL && param->dim == SL_DIM_TOKENS &&
                     sli_read_amount(value, SL_DIM_TOKENS, &tokens);
    r->yaml = is_amount
                  ? sli_arena_printf(r->arena, "%s, %.*s: %lld tokens", r->yaml, (int)length, text,
                                     (long long)tokens)
                  : sli_arena_printf(r->arena, "%s, %.*s: %s", r->yaml, (int)length, text, value);
    return r->yaml != NULL ? SL_OK : SL_ERR_NOMEM;
}

/* `keep={method: ...}`; SL_ERR_USAGE when it is no such text. Nothing in it may mean something in
 * YAML. */
static sl_err to_yaml(reader *r) {
    if (r->name_length == 0 || r->text[strcspn(r->text, "{}[],#&*!|>'\"%@` \t\n")] != 0) {
        return SL_ERR_USAGE;
    }
    r->yaml = sli_arena_printf(r->arena, "keep={method: %.*s", (int)r->name_length, r->text);
    if (r->yaml == NULL) {
        return SL_ERR_NOMEM;
    }
    for (const char *at = r->text + r->name_length; *at == ':';) {
        at++;
        size_t size = strcspn(at, ":");
        SL_TRY(add_setting(r, at, size));
        at += size;
    }
    r->yaml = sli_arena_printf(r->arena, "%s}", r->yaml);
    return r->yaml != NULL ? SL_OK : SL_ERR_NOMEM;
}

/* ---- Reading ---- */

static sl_err open_methods(sli_estimate_keep *keep, sli_arena *arena, sli_diag *diag) {
    if (keep->is_open) {
        return SL_OK;
    }
    keep->is_open = true;
    return sli_plugins_open(arena, NULL, (sli_mark){0}, diag, &keep->plugins);
}

static sl_err say(sli_estimate_keep *keep, sli_arena *arena, const char *text) {
    const sl_keep_policy *method = sli_keep_method(&keep->method);
    char words[128];
    keep->text = NULL;
    if (method == NULL) {
        return SL_OK;
    }
    method->describe(keep->method.values, words, sizeof words);
    keep->text = sli_arena_strdup(arena, text);
    keep->words = sli_arena_strdup(arena, words);
    return keep->text != NULL && keep->words != NULL ? SL_OK : SL_ERR_NOMEM;
}

/* The text that stands for the option was typed by nobody, so its mark is not told; keys are. */
static void tell(const sli_diag *said, sli_diag *diag) {
    for (const sli_diag_entry *entry = said->first; entry != NULL; entry = entry->next) {
        if (entry->severity == SLI_ERROR) {
            sli_diag_error(diag, (sli_mark){0}, entry->path, "%s", entry->message);
        } else {
            sli_diag_warning(diag, (sli_mark){0}, entry->path, "%s", entry->message);
        }
    }
}

static sl_err resolve(sli_estimate_keep *keep, sli_arena *arena, const char *yaml, sli_diag *diag) {
    sli_node *root = sli_arena_alloc(arena, sizeof *root);
    if (root == NULL) {
        return SL_ERR_NOMEM;
    }
    root->kind = SLI_NODE_MAP;
    SL_TRY(sli_tree_set(arena, root, yaml, diag));
    keep->method = (sli_named){0};
    SL_TRY(sli_schema_resolve(arena, &keep_section, &keep->plugins, root, diag, &keep->method));
    keep->method.mark = (sli_mark){0};
    return SL_OK;
}

sl_err sli_estimate_keep_set(sli_estimate_keep *keep, sli_arena *arena, const char *text,
                             sli_diag *diag) {
    SL_TRY(open_methods(keep, arena, diag));
    reader r = {arena, &keep->plugins, text, strcspn(text, ":"), NULL};
    SL_TRY(to_yaml(&r));
    sli_diag said = {0};
    sl_err err = resolve(keep, arena, r.yaml, &said);
    tell(&said, diag);
    sli_diag_fini(&said);
    return err == SL_OK ? say(keep, arena, text) : err;
}

sl_err sli_estimate_keep_apply(const sli_estimate_keep *keep, sli_arena *arena, sli_diag *diag,
                               sli_estimate_query *query) {
    query->keep = keep->text;
    query->keep_words = keep->words;
    return keep->text != NULL ? sli_keep_apply(arena, &keep->method, SLI_GROWTH_TOKENS_MAX, diag,
                                               &query->architecture)
                              : SL_OK;
}

void sli_estimate_keep_fini(sli_estimate_keep *keep) {
    if (keep->is_open) {
        sli_plugins_close(&keep->plugins);
    }
}

/* ---- The page ---- */

/* `capacity 4096 tokens, observation 32 tokens`: what they are when nothing is said. */
static void describe_method(const sl_policy *policy) {
    printf("    %-18s %s\n    %-18s ", policy->name, policy->summary, "");
    for (size_t i = 0; i < policy->param_count; i++) {
        const sl_param *param = &policy->params[i];
        printf("%s%s %s", i > 0 ? ", " : "", param->name, param->fallback);
    }
    putchar('\n');
}

static void describe_methods(const sli_plugins *plugins) {
    for (size_t i = 0; i < plugins->type_count[SL_POLICY_KEEP]; i++) {
        const sl_keep_policy *method = plugins->types[SL_POLICY_KEEP][i].item;
        if (method != NULL) {
            describe_method(&method->policy);
        }
    }
}

sl_err sli_estimate_keep_describe(void) {
    return sli_policies_tell(describe_methods);
}
