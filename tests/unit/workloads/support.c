#include "support.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct scenario {
    sli_named workload;
} scenario;

static const sli_field scenario_fields[] = {
    {.name = "workload",
     .kind = SLI_FIELD_NAMED,
     .help = "where requests come from",
     .offset = offsetof(scenario, workload),
     .name_key = "source",
     .types = sli_source_names},
};

static const sli_section scenario_section = {
    .fields = scenario_fields,
    .field_count = 1,
    .struct_size = sizeof(scenario),
};

sl_err world_open(world *w, uint64_t seed, const char *workload_yaml) {
    *w = (world){0};
    char *text = sli_arena_printf(&w->arena, "workload: %s\n", workload_yaml);
    sli_node *root = NULL;
    scenario values = {0};
    sl_err err = sli_tree_read_text(&w->arena, "s.yaml", text, strlen(text), &w->diag, &root);
    if (err == SL_OK) {
        err = sli_schema_resolve(&w->arena, &scenario_section, NULL, root, &w->diag, &values);
    }
    if (err != SL_OK) {
        return err;
    }
    const sli_source_type *type = values.workload.type->item;
    const sli_source_env env = {
        .arena = &w->arena,
        .seed = seed,
        .diag = &w->diag,
        .root = root,
        .path = "workload",
    };
    return type->create(values.workload.values, &env, &w->source);
}

void world_close(world *w) {
    if (w->source.ops != NULL) {
        w->source.ops->destroy(w->source.self);
    }
    sli_diag_fini(&w->diag);
    sli_arena_fini(&w->arena);
}

const char *diag_messages(const sli_diag *diag) {
    static char text[65536];
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    sli_diag_print(diag, file);
    fclose(file);
    return text;
}

const char *world_messages(const world *w) {
    return diag_messages(&w->diag);
}

arrivals arrivals_copy_one(arrivals list, const arrival *item) {
    assert_int_equal(sli_grow(&list.items, &list.capacity, list.count + 1, sizeof *list.items),
                     SL_OK);
    arrival *added = &list.items[list.count++];
    *added = *item;
    size_t id_count = (size_t)item->desc.content.id_count;
    added->ids = malloc((id_count + 1) * sizeof *added->ids);
    assert_non_null(added->ids);
    if (id_count > 0) {
        memcpy(added->ids, item->desc.content.ids, id_count * sizeof *added->ids);
    }
    added->desc.content.ids = added->ids;
    return list;
}

arrivals arrivals_of(sl_source *source) {
    arrivals list = {0};
    arrival next = {0};
    while (source->ops->peek(source->self, &next.at_ns) == SL_SOURCE_ARRIVAL) {
        source->ops->pop(source->self, &next.index, &next.desc);
        list = arrivals_copy_one(list, &next);
    }
    return list;
}

void arrivals_free(arrivals *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].ids);
    }
    free(list->items);
    *list = (arrivals){0};
}

void assert_same_arrivals(const arrivals *a, const arrivals *b) {
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const arrival *x = &a->items[i];
        const arrival *y = &b->items[i];
        assert_int_equal(x->at_ns, y->at_ns);
        assert_int_equal(x->index, y->index);
        assert_int_equal(x->desc.prompt_tokens, y->desc.prompt_tokens);
        assert_int_equal(x->desc.output_tokens, y->desc.output_tokens);
        assert_int_equal(x->desc.max_tokens, y->desc.max_tokens);
        assert_int_equal(x->desc.priority, y->desc.priority);
        assert_int_equal(x->desc.content.id_count, y->desc.content.id_count);
        assert_int_equal(x->desc.content.id_tokens, y->desc.content.id_tokens);
        assert_int_equal(x->desc.content.scope, y->desc.content.scope);
        assert_memory_equal(x->ids, y->ids, (size_t)x->desc.content.id_count * sizeof *x->ids);
    }
}

static char temporary_path[64];

void temporary_remove(void) {
    if (temporary_path[0] != '\0') {
        unlink(temporary_path);
        temporary_path[0] = '\0';
    }
}

const char *temporary_file(const char *text, size_t length) {
    temporary_remove();
    strcpy(temporary_path, "/tmp/sluice-trace-XXXXXX");
    int descriptor = mkstemp(temporary_path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return temporary_path;
}

const char *temporary_text(const char *text) {
    return temporary_file(text, strlen(text));
}

const char *public_trace(const char *name) {
    static char path[1024];
    const char *data = getenv("SLUICE_DATA");
    if (data == NULL || data[0] == '\0') {
        print_message("SLUICE_DATA is not set: no public traces, %s is not tested\n", name);
        skip();
    }
    snprintf(path, sizeof path, "%s/traces/%s", data != NULL ? data : "", name);
    return path;
}
