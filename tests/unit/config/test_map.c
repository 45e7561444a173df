#include "fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A mapping of one to three names, each of something round or square. */
typedef struct square {
    int64_t side;
} square;

typedef struct drawing {
    sli_map_values shapes;
} drawing;

static const sl_param square_params[] = {
    {.name = "side",
     .type = SL_TYPE_INT,
     .min = 1,
     .max = 9,
     .fallback = "2",
     .help = "of each of four",
     .offset = offsetof(square, side)},
};
static const sli_section square_section = {
    .params = square_params, .param_count = 1, .struct_size = sizeof(square)};

static const sli_named_type *shape_types(const void *context, size_t *count) {
    static const sli_named_type types[] = {{"round", NULL, NULL},
                                           {"square", &square_section, NULL}};
    (void)context;
    *count = 2;
    return types;
}

static const sli_field drawing_fields[] = {
    {.name = "shapes",
     .kind = SLI_FIELD_MAP,
     .help = "what is drawn",
     .name_key = "type",
     .types = shape_types,
     .min_rows = 1,
     .max_rows = 3,
     .offset = offsetof(drawing, shapes)},
};
static const sli_section drawing_section = {
    .fields = drawing_fields, .field_count = 1, .struct_size = sizeof(drawing)};

static sl_err resolve_text(test_bed *bed, const char *text, drawing *values) {
    *values = (drawing){0};
    sl_err err = read_text(bed, text);
    if (err != SL_OK) {
        return err;
    }
    return sli_schema_resolve(&bed->arena, &drawing_section, NULL, bed->root, &bed->diag, values);
}

static int64_t side_of(const sli_named_entry *entry) {
    return ((const square *)entry->value.values)->side;
}

static void entries_keep_keys_order_and_values(void **state) {
    (void)state;
    test_bed bed = {0};
    drawing values;
    assert_int_equal(resolve_text(&bed,
                                  "shapes:\n  zig: {type: square, side: 7}\n  ball: round\n"
                                  "  a b: {type: square}\n",
                                  &values),
                     SL_OK);
    assert_int_equal(values.shapes.count, 3);
    const sli_named_entry *entries = values.shapes.entries;
    assert_string_equal(entries[0].key, "zig");
    assert_string_equal(entries[0].value.type->name, "square");
    assert_int_equal(side_of(&entries[0]), 7);
    assert_string_equal(entries[1].key, "ball");
    assert_string_equal(entries[1].value.type->name, "round");
    assert_null(entries[1].value.values);
    assert_string_equal(entries[2].key, "a b");
    assert_int_equal(side_of(&entries[2]), 2);
    assert_int_equal(entries[2].value.mark.line, 4);
    test_bed_fini(&bed);
}

static void mistakes_name_the_entry(void **state) {
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"shapes: round", "9: shapes: expected a mapping of names, found 'round'"},
        {"shapes: [round]", "9: shapes: expected a mapping of names, found a list"},
        {"shapes: {}", "9: shapes: must have between 1 and 3 names, found 0"},
        {"shapes: {a: round, b: round, c: round, d: round}",
         "9: shapes: must have between 1 and 3 names, found 4"},
        {"shapes: {a: rond}", "13: shapes.a: expected one of round, square; found 'rond'; did you "
                              "mean 'round'?"},
        {"shapes: {a: round, b: {side: 3}}", "23: shapes.b: missing required key 'type'"},
        {"shapes: {a: {type: square, side: 10}}", "34: shapes.a.side: "},
        {"shapes: {a: {type: square, sid: 1}}",
         "28: shapes.a: unknown key 'sid'; expected one of type, side; did you mean 'side'?"},
        {"shapes: {a: {type: round, side: 1}}", "27: shapes.a: unknown key 'side'; expected type"},
        {"shapes: {a: [round]}", "13: shapes.a: expected a name or {type: ...}, found a list"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_bed bed = {0};
        drawing values;
        assert_int_equal(resolve_text(&bed, cases[i].text, &values), SL_ERR_CONFIG);
        assert_int_equal(bed.diag.error_count, 1);
        if (strstr(messages_of(&bed), cases[i].message) == NULL) {
            fail_msg("%s: %s", cases[i].text, messages_of(&bed));
        }
        test_bed_fini(&bed);
    }
}

static void one_bad_entry_does_not_hide_the_others(void **state) {
    (void)state;
    test_bed bed = {0};
    drawing values;
    assert_int_equal(
        resolve_text(&bed, "shapes: {a: rond, b: {type: square, side: 0}, c: {}}", &values),
        SL_ERR_CONFIG);
    assert_int_equal(bed.diag.error_count, 3);
    test_bed_fini(&bed);
}

static void resolved_maps_read_back(void **state) {
    (void)state;
    test_bed bed = {0};
    test_bed again = {0};
    drawing values;
    assert_int_equal(resolve_text(&bed, "shapes: {a: round, b: {type: square}}", &values), SL_OK);
    const char *written = written_of(&bed);
    assert_non_null(strstr(written, "side: 2"));
    assert_int_equal(resolve_text(&again, written, &values), SL_OK);
    assert_int_equal(values.shapes.count, 2);
    assert_string_equal(values.shapes.entries[0].value.type->name, "round");
    assert_int_equal(side_of(&values.shapes.entries[1]), 2);
    test_bed_fini(&again);
    test_bed_fini(&bed);
}

static void description_shows_what_an_entry_takes(void **state) {
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    sli_schema_describe(&drawing_section, NULL, file);
    fclose(file);
    assert_non_null(strstr(text, "a mapping of names of your own (required)\n"));
    assert_non_null(strstr(text, "what is drawn\n"));
    assert_non_null(strstr(text, "shapes.NAME"));
    assert_non_null(strstr(text, "one of round, square (required)\n"));
    assert_non_null(strstr(text, "  with shapes.NAME.type: square\n"));
    assert_non_null(strstr(text, "shapes.NAME.side"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_keep_keys_order_and_values),
        cmocka_unit_test(mistakes_name_the_entry),
        cmocka_unit_test(one_bad_entry_does_not_hide_the_others),
        cmocka_unit_test(resolved_maps_read_back),
        cmocka_unit_test(description_shows_what_an_entry_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
