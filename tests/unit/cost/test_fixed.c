#include "cost/cost.h"
#include "cost/fixed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static int64_t step_ns(const sli_fixed_config *config, int64_t tokens, int64_t sequences) {
    sl_cost_model model = sli_fixed_model(config);
    sl_batch_shape shape = {.tokens = tokens, .sequences = sequences};
    sl_step_cost cost;
    model.ops->step(model.self, &shape, &cost);
    assert_true(cost.cause_ns[SL_CAUSE_ENGINE] == (double)cost.total_ns);
    return cost.total_ns;
}

static void adds_step_tokens_and_sequences(void **state) {
    (void)state;
    sli_fixed_config config = {.step_ns = 10000000, .token_ns = 1000, .sequence_ns = 7};
    assert_int_equal(step_ns(&config, 512, 3), 10000000 + 512 * 1000 + 3 * 7);
}

static void lasts_at_least_one_nanosecond(void **state) {
    (void)state;
    sli_fixed_config config = {0};
    assert_int_equal(step_ns(&config, 1, 1), 1);
    sli_fixed_row falling[] = {{0, 100}, {10, 0}};
    config.table = (sli_table){.rows = falling, .count = 2};
    assert_int_equal(step_ns(&config, 1000, 1), 1);
}

static void saturates_where_time_ends(void **state) {
    (void)state;
    sli_fixed_config config = {.token_ns = INT64_C(1000000000000000)};
    assert_int_equal(step_ns(&config, INT64_C(1) << 40, 1), INT64_MAX);
}

/* Below the first row its time, above the last the last slope: 300 + (50 - 30) x 10 = 500. */
static void table_is_linear_between_and_beyond_its_rows(void **state) {
    (void)state;
    sli_fixed_row rows[] = {{10, 100}, {20, 200}, {30, 300}};
    sli_fixed_config config = {.table = {.rows = rows, .count = 3}};
    assert_int_equal(step_ns(&config, 1, 1), 100);
    assert_int_equal(step_ns(&config, 10, 1), 100);
    assert_int_equal(step_ns(&config, 17, 1), 170);
    assert_int_equal(step_ns(&config, 20, 1), 200);
    assert_int_equal(step_ns(&config, 30, 1), 300);
    assert_int_equal(step_ns(&config, 50, 1), 500);
}

static void table_changes_slope_at_its_rows(void **state) {
    (void)state;
    sli_fixed_row rows[] = {{0, 0}, {100, 1000}, {200, 1000}, {300, 5000}};
    sli_fixed_config config = {.table = {.rows = rows, .count = 4}};
    assert_int_equal(step_ns(&config, 99, 1), 990);
    assert_int_equal(step_ns(&config, 101, 1), 1000);
    assert_int_equal(step_ns(&config, 201, 1), 1040);
    assert_int_equal(step_ns(&config, 301, 1), 5040);
}

static void single_row_is_constant(void **state) {
    (void)state;
    sli_fixed_row rows[] = {{10, 100}};
    sli_fixed_config config = {.step_ns = 5, .table = {.rows = rows, .count = 1}};
    assert_int_equal(step_ns(&config, 1, 1), 105);
    assert_int_equal(step_ns(&config, 1000, 1), 105);
}

/* Over 4 tokens the time rises by 2: 100.5 and 101.5 are ties and go to the even neighbour, up or
 * down; falling tables round the same values the same way. */
static void rounds_ties_to_even(void **state) {
    (void)state;
    sli_fixed_row rising[] = {{10, 100}, {14, 102}};
    sli_fixed_config config = {.table = {.rows = rising, .count = 2}};
    assert_int_equal(step_ns(&config, 11, 1), 100);
    assert_int_equal(step_ns(&config, 12, 1), 101);
    assert_int_equal(step_ns(&config, 13, 1), 102);
    sli_fixed_row falling[] = {{10, 102}, {14, 100}};
    config.table.rows = falling;
    assert_int_equal(step_ns(&config, 11, 1), 102);
    assert_int_equal(step_ns(&config, 13, 1), 100);
}

/* Far beyond 2^53, where doubles would lose the last digits. */
static void is_exact_beyond_doubles(void **state) {
    (void)state;
    sli_fixed_row rows[] = {{0, 1}, {INT64_C(1000000000), INT64_C(1000000000000001)}};
    sli_fixed_config config = {.table = {.rows = rows, .count = 2}};
    assert_int_equal(step_ns(&config, INT64_C(100000000003), 1), INT64_C(100000000003000001));
}

static void rows_must_increase(void **state) {
    (void)state;
    sli_diag diag = {0};
    sli_mark mark = {"s.yaml", 4, 8};
    sli_fixed_row rows[] = {{10, 100}, {20, 200}, {20, 300}};
    sli_cost_config config = {.kind = SLI_COST_FIXED, .fixed.table = {.rows = rows, .count = 2}};
    sli_cost_subject unknown = {0};
    assert_int_equal(sli_cost_check(&config, &unknown, mark, "cost", &diag), SL_OK);
    config.fixed.table.count = 3;
    assert_int_equal(sli_cost_check(&config, &unknown, mark, "cost", &diag), SL_ERR_CONFIG);
    assert_non_null(strstr(diag.first->message, "row 3 has 20 after 20"));
    assert_int_equal(diag.first->mark.line, 4);
    sli_diag_fini(&diag);
}

/* The field as a scenario embeds it: not at the start of the struct. */
typedef struct scenario {
    int64_t other;
    sli_cost_config cost;
} scenario;

static const sli_field scenario_fields[] = {SLI_COST_FIELD(scenario, cost)};
static const sli_section scenario_section = {
    .fields = scenario_fields,
    .field_count = 1,
    .struct_size = sizeof(scenario),
};

static sl_err read_scenario(sli_arena *arena, sli_diag *diag, const char *text, scenario *values) {
    sli_node *root = NULL;
    SL_TRY(sli_tree_read_text(arena, "s.yaml", text, strlen(text), diag, &root));
    return sli_schema_resolve(arena, &scenario_section, NULL, root, diag, values);
}

static void scenario_chooses_the_model(void **state) {
    (void)state;
    sli_arena arena = {0};
    sli_diag diag = {0};
    scenario read = {0};
    assert_int_equal(read_scenario(&arena, &diag, "{}", &read), SL_OK);
    assert_int_equal(read.cost.kind, SLI_COST_AUTO);
    assert_int_equal(read_scenario(&arena, &diag, "cost: pnorm", &read), SL_OK);
    assert_int_equal(read.cost.kind, SLI_COST_PNORM);
    assert_int_equal(read_scenario(&arena, &diag, "cost: roofline", &read), SL_OK);
    assert_int_equal(read.cost.kind, SLI_COST_ROOFLINE);
    assert_int_equal(read_scenario(&arena, &diag, "cost: auto", &read), SL_OK);
    assert_int_equal(read.cost.kind, SLI_COST_AUTO);

    scenario fixed = {0};
    assert_int_equal(
        read_scenario(&arena, &diag, "cost: {fixed: {step: 10 ms, token: 1 us}}", &fixed), SL_OK);
    assert_int_equal(fixed.cost.kind, SLI_COST_FIXED);
    assert_int_equal(step_ns(&fixed.cost.fixed, 3, 1), 10003000);

    scenario table = {0};
    assert_int_equal(read_scenario(&arena, &diag,
                                   "cost: {fixed: {table: [[1 tokens, 1 ms], [101 tokens, 2 ms]]}}",
                                   &table),
                     SL_OK);
    assert_int_equal(step_ns(&table.cost.fixed, 51, 1), 1500000);
    assert_int_equal(diag.error_count, 0);

    assert_int_equal(read_scenario(&arena, &diag, "cost: {fixed: {step: 10}}", &fixed),
                     SL_ERR_CONFIG);
    assert_int_equal(read_scenario(&arena, &diag, "cost: {fixed: {step: 1 ms}, pnorm: {}}", &fixed),
                     SL_ERR_CONFIG);
    sli_arena_fini(&arena);
    sli_diag_fini(&diag);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_step_tokens_and_sequences),
        cmocka_unit_test(lasts_at_least_one_nanosecond),
        cmocka_unit_test(saturates_where_time_ends),
        cmocka_unit_test(table_is_linear_between_and_beyond_its_rows),
        cmocka_unit_test(table_changes_slope_at_its_rows),
        cmocka_unit_test(single_row_is_constant),
        cmocka_unit_test(rounds_ties_to_even),
        cmocka_unit_test(is_exact_beyond_doubles),
        cmocka_unit_test(rows_must_increase),
        cmocka_unit_test(scenario_chooses_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
