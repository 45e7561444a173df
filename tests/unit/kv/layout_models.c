#include "layout_models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static sli_arena arena;
static sli_diag diag;

const sli_architecture *model_of(const char *name) {
    sli_catalogue_site site = {0};
    const sli_architecture *model = NULL;
    assert_int_equal(sli_architecture_read(&arena, name, site, &diag, &model), SL_OK);
    return model;
}

const sli_architecture *model_with(const char *mixers, const char *layers) {
    const char *text = sli_arena_printf(&arena,
                                        "{name: M, source: test, hidden: 64, vocab: 100 tokens, "
                                        "context_native: 10000 tokens, attention: {%s}, "
                                        "ffn: {dense: {type: dense, width: 64}}, layers: %s}",
                                        mixers, layers);
    const sli_architecture *model = NULL;
    sli_node *root = NULL;
    assert_non_null(text);
    sl_err err = sli_tree_read_text(&arena, "m.yaml", text, strlen(text), &diag, &root);
    if (err == SL_OK) {
        err = sli_architecture_resolve(&arena, "m", root, &diag, &model);
    }
    sli_diag_print(&diag, stderr);
    assert_int_equal(err, SL_OK);
    return model;
}

sli_layout_options options_of(const sli_architecture *model) {
    return (sli_layout_options){
        .cache = &sli_cache_formats[0],
        .block_tokens = 16,
        .tp = 1,
        .max_batched_tokens = 8192,
        .max_model_tokens = model->context_native_tokens,
    };
}

sli_layout layout_with(const sli_architecture *model, const sli_layout_options *options) {
    sli_layout layout;
    char why[128];
    sl_err err = sli_layout_make(model, options, &layout, why, sizeof why);
    if (err != SL_OK) {
        fail_msg("%s: %s", model->id, why);
    }
    return layout;
}

sli_layout layout_of(const sli_architecture *model) {
    sli_layout_options options = options_of(model);
    return layout_with(model, &options);
}

const sli_group *group_of(const sli_layout *layout, sli_group_kind kind) {
    for (int i = 0; i < layout->group_count; i++) {
        if (layout->groups[i].kind == kind) {
            return &layout->groups[i];
        }
    }
    fail_msg("no group of kind %d", (int)kind);
    return NULL;
}

int free_models(void **state) {
    (void)state;
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return 0;
}
