#include "support.h"

#include <string.h>

/* Bad traces and the exact words about them; FILE stands for the path of the trace. */

typedef struct bad_trace {
    const char *text;
    const char *messages;
} bad_trace;

/* Replaces the path by FILE, so that expectations can be written down. */
static const char *anonymous(const char *messages, const char *path) {
    static char text[65536];
    size_t length = 0;
    while (*messages != '\0') {
        bool is_path = strncmp(messages, path, strlen(path)) == 0;
        const char *piece = is_path ? "FILE" : messages;
        size_t piece_length = is_path ? 4 : 1;
        memcpy(text + length, piece, piece_length);
        length += piece_length;
        messages += is_path ? strlen(path) : 1;
    }
    text[length] = '\0';
    return text;
}

static void assert_refused_bytes(const char *format, const char *options, const char *text,
                                 size_t length, const char *messages) {
    world w;
    char yaml[1024];
    const char *path = temporary_file(text, length);
    snprintf(yaml, sizeof yaml, "{source: %s, file: %s%s}", format, path, options);
    sl_err err = world_open(&w, 1, yaml);
    assert_string_equal(anonymous(world_messages(&w), path), messages);
    assert_int_equal(err, SL_ERR_CONFIG);
    assert_null(w.source.ops);
    world_close(&w);
    temporary_remove();
}

static void assert_refused(const char *format, const char *options, const char *text,
                           const char *messages) {
    assert_refused_bytes(format, options, text, strlen(text), messages);
}

#define GOOD  "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [0]}\n"
#define RANGE "expected a whole number from 1 to 1000000000, found "

#define IDS_ROW(ids)                                                                               \
    "{\"timestamp\": 0, \"input_length\": 1500, \"output_length\": 1, \"hash_ids\": [" ids "]}\n"
#define WITHOUT_IDS "; `hash_mismatch: drop_ids` would go on without them\n"

static const bad_trace mooncake_traces[] = {
    {GOOD "{\"timestamp\": 1, \"input_len", "FILE:2: expected a JSON object, found half of one\n"},
    {GOOD "hello\n", "FILE:2: expected a JSON object: unexpected character at column 1\n"},
    {GOOD "\n[1, 2]\n", "FILE:3: expected a JSON object\n"},
    {"{} {}\n", "FILE:1: expected a JSON object: unexpected character at column 4\n"},
    {"{}\n", "FILE:1: missing key 'timestamp'\n"
             "FILE:1: missing key 'input_length'\n"
             "FILE:1: missing key 'output_length'\n"
             "FILE:1: missing key 'hash_ids'\n"},
    {"{\"timestamp\": -5, \"input_length\": 0, \"output_length\": -1, \"hash_ids\": 7}\n",
     "FILE:1: timestamp: expected a number of milliseconds of at least 0, found -5\n"
     "FILE:1: input_length: " RANGE "0\n"
     "FILE:1: output_length: expected a whole number from 0 to 1000000000, found -1\n"
     "FILE:1: hash_ids: expected a list of ids, found 7\n"},
    {"{\"timestamp\": NaN, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [1]}\n",
     "FILE:1: timestamp: expected a number of milliseconds of at least 0, found NaN\n"},
    {"{\"timestamp\": \"0\", \"input_length\": 9.0, \"output_length\": null, \"hash_ids\": [1]}\n",
     "FILE:1: timestamp: expected a number of milliseconds of at least 0, found \"0\"\n"
     "FILE:1: input_length: " RANGE "9.0\n"
     "FILE:1: output_length: expected a whole number from 0 to 1000000000, found null\n"},
    {"{\"timestamp\": 1e300, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [-1]}\n",
     "FILE:1: timestamp: expected a number of milliseconds of at least 0, found 1e300\n"
     "FILE:1: hash_ids: expected whole numbers from 0 to 18446744073709551615, found -1 at place "
     "1\n"},
    {"{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [1.5]}\n",
     "FILE:1: hash_ids: expected whole numbers from 0 to 18446744073709551615, found 1.5 at place "
     "1\n"},
    {"{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": "
     "[18446744073709551616]}\n",
     "FILE:1: the number 18446744073709551616 is beyond 64 bits\n"},
    {"{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 0, \"hash_ids\": [1]}\n",
     "FILE:1: output of 0 tokens; `zero_output: drop` or `floor` would accept it\n"},
    {"{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [1, 2]}\n",
     "FILE:1: 2 ids of 512 tokens each do not fit a prompt of 9 tokens; is the block size right? "
     "`hash_mismatch: drop_ids` would go on without them\n"},
    {IDS_ROW(""), "FILE:1: hash_ids is empty, though a prompt of 1500 tokens has blocks of 512 "
                  "tokens" WITHOUT_IDS},
    {IDS_ROW("1, 2, 3") IDS_ROW("1, 2, 4") IDS_ROW("1, 3, 4") IDS_ROW("2, 5, 6"),
     "FILE:3: id 3 follows id 1 here and follows id 2 elsewhere" WITHOUT_IDS
     "FILE:4: id 2 begins a prompt here and follows id 1 elsewhere" WITHOUT_IDS},
    {IDS_ROW("1, 2, 3") IDS_ROW("4, 1, 2") IDS_ROW("5, 6, 5") IDS_ROW("7, 7, 7"),
     "FILE:2: id 1 follows id 4 here and begins a prompt elsewhere" WITHOUT_IDS
     "FILE:3: id 5 follows id 6 here and begins a prompt elsewhere" WITHOUT_IDS
     "FILE:4: id 7 follows id 7 here and begins a prompt elsewhere" WITHOUT_IDS},
    {"", "FILE: is empty\n"},
    {"\n \r\n\t\n", "FILE: has blank lines only\n"},
    {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
     "FILE: is a Git LFS pointer, not the trace itself; fetch it with git lfs pull\n"},
};

static void names_mistakes_in_mooncake_traces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mooncake_traces / sizeof mooncake_traces[0]; i++) {
        assert_refused("mooncake", "", mooncake_traces[i].text, mooncake_traces[i].messages);
    }
}

#define HEADER        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define TIME_EXPECTED "TIMESTAMP: expected a time as 2023-11-16 18:15:46.6805900, found "

static const bad_trace azure_traces[] = {
    {"TIMESTAMP,Context,GeneratedTokens\n2023-11-16 18:15:46,1,1\n",
     "FILE:1: missing column 'ContextTokens' in the header\n"},
    {"time\n", "FILE:1: missing column 'TIMESTAMP' in the header\n"
               "FILE:1: missing column 'ContextTokens' in the header\n"
               "FILE:1: missing column 'GeneratedTokens' in the header\n"},
    {HEADER, "FILE: has a header but no rows\n"},
    {HEADER "2023-11-16 18:15:46,5\n", "FILE:2: has no field for column 'GeneratedTokens'\n"},
    {HEADER "2023-11-16 18:15:46,0,x\n",
     "FILE:2: ContextTokens: expected a whole number from 1 to 1000000000, found '0'\n"
     "FILE:2: GeneratedTokens: expected a whole number from 0 to 1000000000, found 'x'\n"},
    {HEADER "2023-11-16 18:15:46,-3,\n",
     "FILE:2: ContextTokens: expected a whole number from 1 to 1000000000, found '-3'\n"
     "FILE:2: GeneratedTokens: expected a whole number from 0 to 1000000000, found ''\n"},
    {HEADER "2023-02-29 00:00:00,1,1\n", "FILE:2: " TIME_EXPECTED "'2023-02-29 00:00:00'\n"},
    {HEADER "2100-02-29 00:00:00,1,1\n", "FILE:2: " TIME_EXPECTED "'2100-02-29 00:00:00'\n"},
    {HEADER "2023-13-01 00:00:00,1,1\n", "FILE:2: " TIME_EXPECTED "'2023-13-01 00:00:00'\n"},
    {HEADER "2023-11-16 24:00:00,1,1\n", "FILE:2: " TIME_EXPECTED "'2023-11-16 24:00:00'\n"},
    {HEADER "2023-11-16 18:60:00,1,1\n", "FILE:2: " TIME_EXPECTED "'2023-11-16 18:60:00'\n"},
    {HEADER "2023-11-16 18:00:60,1,1\n", "FILE:2: " TIME_EXPECTED "'2023-11-16 18:00:60'\n"},
    {HEADER "2023-11-16 18:00:00 PM,1,1\n", "FILE:2: " TIME_EXPECTED "'2023-11-16 18:00:00 PM'\n"},
    {HEADER "2023-11-16 18:00:00+2,1,1\n", "FILE:2: " TIME_EXPECTED "'2023-11-16 18:00:00+2'\n"},
    {HEADER "-5,1,1\nNaN,1,1\n", "FILE:2: " TIME_EXPECTED "'-5'\n"
                                 "FILE:3: " TIME_EXPECTED "'NaN'\n"},
    {HEADER "2023-11-16 18:15:46,1,0\n",
     "FILE:2: output of 0 tokens; `zero_output: drop` or `floor` would accept it\n"},
};

static void names_mistakes_in_azure_traces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof azure_traces / sizeof azure_traces[0]; i++) {
        assert_refused("azure", "", azure_traces[i].text, azure_traces[i].messages);
    }
}

static const bad_trace sluice_traces[] = {
    {"{\"timestamp_ns\": 0, \"input_length\": 64, \"output_length\": 1, \"hash_ids\": [1, 2], "
     "\"block_size\": 64}\n",
     "FILE:1: 2 ids of 64 tokens each do not fit a prompt of 64 tokens; is the block size right? "
     "`hash_mismatch: drop_ids` would go on without them\n"},
    {"{\"timestamp_ns\": 0, \"input_length\": 64, \"output_length\": 1, \"hash_ids\": [1], "
     "\"block_size\": 0, \"priority\": 2147483648, \"max_tokens\": -1}\n",
     "FILE:1: priority: expected a whole number from -2147483648 to 2147483647, found 2147483648\n"
     "FILE:1: max_tokens: expected a whole number from 0 to 1000000000, found -1\n"},
    {"{\"timestamp_ns\": 0, \"input_length\": 64, \"output_length\": 1, \"hash_ids\": [1], "
     "\"block_size\": 0}\n",
     "FILE:1: 1 ids of 0 tokens each do not fit a prompt of 64 tokens; is the block size right? "
     "`hash_mismatch: drop_ids` would go on without them\n"},
    {"{\"timestamp_ns\": 0, \"input_length\": 64, \"output_length\": 1, \"hash_ids\": [1], "
     "\"block_size\": 64}\n"
     "{\"timestamp_ns\": 0, \"input_length\": 64, \"output_length\": 1, \"hash_ids\": [1], "
     "\"block_size\": 16}\n",
     "FILE:2: id 1 stands for 16 tokens here and for 64 elsewhere" WITHOUT_IDS},
};

static void names_mistakes_in_its_own_traces(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof sluice_traces / sizeof sluice_traces[0]; i++) {
        assert_refused("sluice", "", sluice_traces[i].text, sluice_traces[i].messages);
    }
}

#define OWN                                                                                        \
    "{\"timestamp_ns\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [], "          \
    "\"block_size\": 0}\n"

/* Every line would be wrong; one message says what is wrong with all of them. */
static void names_the_format_that_a_trace_is_in(void **state) {
    (void)state;
    assert_refused("mooncake", "", HEADER "2023-11-16 18:15:46,1,1\n",
                   "FILE:1: looks like a trace of format azure, not mooncake; set "
                   "workload.source: azure\n");
    assert_refused("mooncake", "", OWN OWN,
                   "FILE:1: looks like a trace of format sluice, not mooncake; set "
                   "workload.source: sluice\n");
    assert_refused("azure", "", "\n\n" GOOD GOOD,
                   "FILE:3: looks like a trace of format mooncake, not azure; set "
                   "workload.source: mooncake\n");
    assert_refused("azure", "", "{\"timestamp\": 0, \"note\": \"TIMESTAMP\"}\n",
                   "FILE:1: looks like a trace of format mooncake, not azure; set "
                   "workload.source: mooncake\n");
    assert_refused("azure", "", OWN,
                   "FILE:1: looks like a trace of format sluice, not azure; set "
                   "workload.source: sluice\n");
    assert_refused("sluice", "", "\xef\xbb\xbf" HEADER,
                   "FILE:1: looks like a trace of format azure, not sluice; set "
                   "workload.source: azure\n");
    assert_refused("sluice", "", GOOD,
                   "FILE:1: looks like a trace of format mooncake, not sluice; set "
                   "workload.source: mooncake\n");
}

static void names_unsorted_rows(void **state) {
    (void)state;
    assert_refused("azure", ", unsorted: error",
                   HEADER "2023-11-16 18:15:47,1,1\n\n2023-11-16 18:15:46,1,1\n",
                   "FILE:4: is earlier than line 2; `unsorted: sort` would sort the rows\n");
}

static void names_a_window_without_rows(void **state) {
    (void)state;
    assert_refused("azure", ", window: {from: 5 s}", HEADER "2023-11-16 18:15:47,1,1\n",
                   "FILE: no rows are left to replay\n");
}

static void names_binary_data(void **state) {
    (void)state;
    const char gzip[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00";
    assert_refused_bytes("mooncake", "", gzip, sizeof gzip - 1,
                         "FILE:1: expected a text file, found binary data\n");
    const char zero[] = GOOD "{\"timestamp\": \0 1}\n" GOOD;
    assert_refused_bytes("mooncake", "", zero, sizeof zero - 1,
                         "FILE:2: expected a text file, found binary data\n");
}

#define NAME_OF_50 "0123456789abcdefghijklmnopqrstuvwxyz.jsonl_0123456"

static void names_files_that_cannot_be_read(void **state) {
    (void)state;
    const struct {
        const char *yaml;
        const char *messages;
    } cases[] = {
        {"{source: mooncake, file: /nonexistent/trace.jsonl}",
         "s.yaml:1:36: workload.file: cannot read '/nonexistent/trace.jsonl': No such file or "
         "directory\n"},
        {"{source: mooncake, file: /nonexistent/" NAME_OF_50 NAME_OF_50 "}",
         "s.yaml:1:36: workload.file: cannot read '/nonexistent/" NAME_OF_50
         "0123456789abc...': No such file or directory\n"},
        {"{source: azure, file: /tmp}", "/tmp: cannot read the trace: Is a directory\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w;
        assert_int_equal(world_open(&w, 1, cases[i].yaml), SL_ERR_CONFIG);
        assert_string_equal(world_messages(&w), cases[i].messages);
        world_close(&w);
    }
}

static void names_a_window_that_ends_before_it_begins(void **state) {
    (void)state;
    world w;
    const char *yaml = "{source: azure, file: /tmp/x, window: {from: 2 s, to: 2 s}}";
    assert_int_equal(world_open(&w, 1, yaml), SL_ERR_CONFIG);
    assert_string_equal(world_messages(&w),
                        "s.yaml:1:49: workload.window: ends before it begins\n");
    world_close(&w);
}

static void lists_twenty_mistakes_and_counts_the_rest(void **state) {
    (void)state;
    char text[2048] = HEADER;
    char messages[8192] = "";
    for (int line = 2; line <= 34; line++) {
        strcat(text, "2023-11-16 18:15:46,1,x\n");
        if (line <= 21) {
            size_t length = strlen(messages);
            snprintf(
                messages + length, sizeof messages - length,
                "FILE:%d: GeneratedTokens: expected a whole number from 0 to 1000000000, found "
                "'x'\n",
                line);
        }
    }
    strcat(messages, "FILE: and 13 more like these\n");
    assert_refused("azure", "", text, messages);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_mistakes_in_mooncake_traces),
        cmocka_unit_test(names_mistakes_in_azure_traces),
        cmocka_unit_test(names_mistakes_in_its_own_traces),
        cmocka_unit_test(names_the_format_that_a_trace_is_in),
        cmocka_unit_test(names_unsorted_rows),
        cmocka_unit_test(names_a_window_without_rows),
        cmocka_unit_test(names_binary_data),
        cmocka_unit_test(names_files_that_cannot_be_read),
        cmocka_unit_test(names_a_window_that_ends_before_it_begins),
        cmocka_unit_test(lists_twenty_mistakes_and_counts_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
