#include "support.h"

#include <string.h>

/* Readers and options on small traces whose outcome can be seen by eye. */

static world open_or_fail(const char *format, const char *trace, const char *options) {
    world w;
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "{source: %s, file: %s%s}", format, temporary_text(trace), options);
    sl_err err = world_open(&w, 1, yaml);
    temporary_remove();
    if (err != SL_OK) {
        fail_msg("%s", world_messages(&w));
    }
    return w;
}

static arrivals replay(const char *format, const char *trace, const char *options) {
    world w = open_or_fail(format, trace, options);
    arrivals list = arrivals_of(&w.source);
    world_close(&w);
    return list;
}

#define ROW(at, in, out) "{\"timestamp\": " at ", \"input_length\": " in ", \"output_length\": " out
#define IDS(ids)         ", \"hash_ids\": [" ids "]}\n"

static void reads_mooncake_rows(void **state) {
    (void)state;
    arrivals list = replay("mooncake",
                           ROW("0", "6758", "500")
                               IDS("0,1,2,3,4,5,6,7,8,9,10,11,12,18446744073709551615")
                                   ROW("3000.25", "512", "1") IDS("9223372036854775808"),
                           "");
    assert_int_equal(list.count, 2);
    const arrival *first = &list.items[0];
    assert_int_equal(first->at_ns, 0);
    assert_int_equal(first->index, 0);
    assert_int_equal(first->desc.prompt_tokens, 6758);
    assert_int_equal(first->desc.output_tokens, 500);
    assert_int_equal(first->desc.max_tokens, 0);
    assert_int_equal(first->desc.priority, 0);
    assert_int_equal(first->desc.content.id_count, 14);
    assert_int_equal(first->desc.content.id_tokens, 512);
    assert_int_equal(first->desc.content.scope, 1);
    assert_true(first->ids[12] == 12);
    assert_true(first->ids[13] == UINT64_MAX);
    assert_int_equal(list.items[1].at_ns, 3000250000);
    assert_true(list.items[1].ids[0] == UINT64_C(9223372036854775808));
    arrivals_free(&list);
}

static void takes_blanks_around_an_object(void **state) {
    (void)state;
    arrivals list = replay("mooncake", "  " ROW("0", "33", "1") ", \"hash_ids\": [1]} \t\r\n", "");
    assert_int_equal(list.count, 1);
    arrivals_free(&list);
}

static void reads_other_block_sizes(void **state) {
    (void)state;
    arrivals list = replay("mooncake", ROW("0", "33", "1") IDS("1, 2, 3"), ", block: 16 tokens");
    assert_int_equal(list.items[0].desc.content.id_tokens, 16);
    arrivals_free(&list);
}

static void reads_azure_rows(void **state) {
    (void)state;
    arrivals list = replay("azure",
                           "\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                           "2023-11-16 18:15:46.6805900,374,44\r\n"
                           "\r\n"
                           "2023-11-16 18:15:50.9951690,396,109",
                           "");
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].at_ns, 0);
    assert_int_equal(list.items[0].desc.prompt_tokens, 374);
    assert_int_equal(list.items[0].desc.output_tokens, 44);
    assert_int_equal(list.items[0].desc.content.id_count, 0);
    assert_int_equal(list.items[1].at_ns, 4314579000); /* 50.9951690 - 46.6805900 s */
    assert_int_equal(list.items[1].desc.prompt_tokens, 396);
    arrivals_free(&list);
}

static void finds_columns_by_name_and_dates_by_the_calendar(void **state) {
    (void)state;
    arrivals list = replay("azure",
                           "GeneratedTokens,Note,TIMESTAMP , ContextTokens\n"
                           "1,x,2024-02-28T23:59:59Z,10\n"
                           "2,,2024-02-29 00:00:00.5+00:00,20\n"
                           "3,,2024-03-01 02:00:00+02:00,30\n"
                           "4,,2024-12-31 23:59:59.999999999,40\n"
                           "5,,2025-01-01 00:00:00,50\n",
                           "");
    assert_int_equal(list.count, 5);
    const int64_t second = 1000000000;
    assert_int_equal(list.items[1].at_ns, second + second / 2);
    assert_int_equal(list.items[2].at_ns, (24 * 3600 + 1) * second);
    /* 29 February and 306 days from 1 March to 31 December. */
    assert_int_equal(list.items[4].at_ns, ((1 + 306) * 86400 + 1) * second);
    assert_int_equal(list.items[4].at_ns - list.items[3].at_ns, 1);
    assert_int_equal(list.items[4].desc.output_tokens, 5);
    assert_int_equal(list.items[4].desc.prompt_tokens, 50);
    arrivals_free(&list);
}

static void reads_its_own_rows(void **state) {
    (void)state;
    arrivals list = replay("sluice",
                           "{\"timestamp_ns\": 9007199254740993, \"input_length\": 100, "
                           "\"output_length\": 7, \"hash_ids\": [5], \"block_size\": 64}\n"
                           "{\"timestamp_ns\": 9007199254740994, \"input_length\": 9, "
                           "\"output_length\": 1, \"hash_ids\": [], \"block_size\": 0, "
                           "\"priority\": -2, \"max_tokens\": 30}\n",
                           "");
    assert_int_equal(list.items[0].at_ns, 9007199254740993);
    assert_int_equal(list.items[0].desc.content.id_count, 1);
    assert_int_equal(list.items[0].desc.content.id_tokens, 64);
    assert_int_equal(list.items[1].desc.priority, -2);
    assert_int_equal(list.items[1].desc.max_tokens, 30);
    arrivals_free(&list);
}

/* Prompts name the rows: a = 1, b = 2, ... */
static const char *order_of(const arrivals *list) {
    static char text[64];
    for (size_t i = 0; i < list->count; i++) {
        text[i] = (char)('a' + list->items[i].desc.prompt_tokens - 1);
        assert_int_equal(list->items[i].index, i);
        assert_true(i == 0 || list->items[i].at_ns >= list->items[i - 1].at_ns);
    }
    text[list->count] = '\0';
    return text;
}

#define A ROW("10", "1", "5") IDS("1")
#define B ROW("30", "2", "5") IDS("2")
#define C ROW("20", "3", "5") IDS("3")
#define D ROW("30", "4", "5") IDS("4")
#define E ROW("20", "5", "5") IDS("5")
#define F ROW("90", "6", "5") IDS("6")

static void sorts_stably_and_says_so(void **state) {
    (void)state;
    world w = open_or_fail("mooncake", A B C D E F, "");
    arrivals list = arrivals_of(&w.source);
    assert_string_equal(order_of(&list), "acebdf");
    assert_int_equal(w.diag.error_count, 0);
    assert_int_equal(w.diag.warning_count, 1);
    assert_string_equal(w.diag.first->message,
                        "2 rows earlier than the row before; all rows were sorted by time");
    arrivals_free(&list);
    world_close(&w);
}

static void window_comes_before_limit_and_moves_time(void **state) {
    (void)state;
    arrivals list = replay("mooncake", A C E B D F, ", window: {from: 20 ms, to: 90 ms}, limit: 3");
    assert_string_equal(order_of(&list), "ceb");
    assert_int_equal(list.items[0].at_ns, 0);
    assert_int_equal(list.items[2].at_ns, 10000000);
    arrivals_free(&list);
}

static void window_leaves_its_end_out(void **state) {
    (void)state;
    arrivals list = replay("mooncake", A C E B D F, ", window: {from: 20 ms, to: 90 ms}");
    assert_string_equal(order_of(&list), "cebd");
    arrivals_free(&list);
}

static void rate_scale_divides_times(void **state) {
    (void)state;
    arrivals list = replay("mooncake", A F, ", rate_scale: 2.5");
    assert_int_equal(list.items[0].at_ns, 4000000);
    assert_int_equal(list.items[1].at_ns, 36000000);
    arrivals_free(&list);
}

static void output_tokens_take_the_place_of_outputs(void **state) {
    (void)state;
    arrivals list = replay("mooncake", A ROW("50", "9", "0") IDS("1"), ", output_tokens: 3 tokens");
    assert_int_equal(list.items[0].desc.output_tokens, 3);
    assert_int_equal(list.items[1].desc.output_tokens, 3);
    arrivals_free(&list);
}

static void drops_or_floors_zero_outputs(void **state) {
    (void)state;
    const char *trace = A ROW("15", "9", "0") IDS("1") C;
    arrivals dropped = replay("mooncake", trace, ", zero_output: drop");
    assert_int_equal(dropped.count, 2);
    assert_string_equal(order_of(&dropped), "ac");
    arrivals floored = replay("mooncake", trace, ", zero_output: floor");
    assert_int_equal(floored.count, 3);
    assert_int_equal(floored.items[1].desc.output_tokens, 1);
    assert_int_equal(floored.items[0].desc.output_tokens, 5);
    arrivals_free(&dropped);
    arrivals_free(&floored);
    world w = open_or_fail("mooncake", trace, ", zero_output: floor");
    assert_string_equal(w.diag.first->message, "1 row without output; made 1 token long");
    world_close(&w);
}

static void drops_ids_that_do_not_fit(void **state) {
    (void)state;
    world w = open_or_fail("mooncake", ROW("0", "513", "1") IDS("1") B,
                           ", hash_mismatch: drop_ids");
    arrivals list = arrivals_of(&w.source);
    assert_int_equal(list.items[0].desc.content.id_count, 0);
    assert_int_equal(list.items[0].desc.content.scope, 0);
    assert_int_equal(list.items[1].desc.content.id_count, 1);
    assert_true(list.items[1].ids[0] == 2);
    assert_string_equal(
        w.diag.first->message,
        "1 row with ids that do not fit the prompt or other rows; replayed without ids");
    arrivals_free(&list);
    world_close(&w);
}

/* The third row says that 3 stands behind 1, the fourth that 2 begins a prompt; the fifth is fine.
 */
static void drops_ids_that_contradict_other_rows(void **state) {
    (void)state;
    world w = open_or_fail("mooncake",
                           ROW("0", "1024", "1") IDS("1, 2") ROW("1", "1536", "1") IDS("1, 2, 3")
                               ROW("2", "1536", "1") IDS("1, 3, 4") ROW("3", "9", "1") IDS("2")
                                   ROW("4", "1500", "1") IDS("1, 2, 9"),
                           ", hash_mismatch: drop_ids");
    const int64_t id_counts[] = {2, 3, 0, 0, 3};
    arrivals list = arrivals_of(&w.source);
    assert_int_equal(list.count, 5);
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.items[i].desc.content.id_count, id_counts[i]);
    }
    assert_string_equal(w.diag.first->message,
                        "2 rows with ids that do not fit the prompt or other rows; replayed "
                        "without ids");
    arrivals_free(&list);
    world_close(&w);
}

/* 400 rows at one tick, then 400 at the next: spread fills the ticks and keeps the multiset. */
static void spread_moves_arrivals_within_the_tick(void **state) {
    (void)state;
    enum { ROWS = 800 };
    static char trace[ROWS * 128];
    size_t length = 0;
    for (int i = 0; i < ROWS; i++) {
        length += (size_t)snprintf(trace + length, sizeof trace - length,
                                   ROW("%d", "%d", "1") IDS("%d"), i < 400 ? 0 : 3000, i % 512 + 1,
                                   i);
    }
    arrivals list = replay("mooncake", trace, ", spread: 3 s");
    arrivals twice = replay("mooncake", trace, ", spread: 3 s, rate_scale: 2");
    assert_int_equal(list.count, ROWS);
    size_t first_half_count = 0;
    uint64_t id_sum = 0;
    for (size_t i = 0; i < ROWS; i++) {
        int64_t at_ns = list.items[i].at_ns;
        int64_t tick_ns = list.items[i].ids[0] < 400 ? 0 : 3000000000;
        assert_in_range(at_ns, tick_ns, tick_ns + 2999999999);
        assert_true(i == 0 || at_ns >= list.items[i - 1].at_ns);
        assert_int_equal(twice.items[i].ids[0], list.items[i].ids[0]);
        assert_in_range(twice.items[i].at_ns, at_ns / 2, at_ns / 2 + 1); /* spread, then scaled */
        first_half_count += at_ns - tick_ns < 1500000000;
        id_sum += list.items[i].ids[0];
    }
    assert_int_equal(id_sum, ROWS * (ROWS - 1) / 2);
    assert_in_range(first_half_count, 400 - 57, 400 + 57); /* 4 sqrt(800 / 4) */
    arrivals_free(&list);
    arrivals_free(&twice);
}

static void options_that_keep_all_keep_quiet(void **state) {
    (void)state;
    world w = open_or_fail("mooncake", A C B,
                           ", unsorted: error, zero_output: error, hash_mismatch: error");
    assert_string_equal(world_messages(&w), "");
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_mooncake_rows),
        cmocka_unit_test(takes_blanks_around_an_object),
        cmocka_unit_test(reads_other_block_sizes),
        cmocka_unit_test(reads_azure_rows),
        cmocka_unit_test(finds_columns_by_name_and_dates_by_the_calendar),
        cmocka_unit_test(reads_its_own_rows),
        cmocka_unit_test(sorts_stably_and_says_so),
        cmocka_unit_test(window_comes_before_limit_and_moves_time),
        cmocka_unit_test(window_leaves_its_end_out),
        cmocka_unit_test(rate_scale_divides_times),
        cmocka_unit_test(output_tokens_take_the_place_of_outputs),
        cmocka_unit_test(drops_or_floors_zero_outputs),
        cmocka_unit_test(drops_ids_that_do_not_fit),
        cmocka_unit_test(drops_ids_that_contradict_other_rows),
        cmocka_unit_test(spread_moves_arrivals_within_the_tick),
        cmocka_unit_test(options_that_keep_all_keep_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
