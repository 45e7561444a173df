/* sluice trace: looks at trace files. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "workloads/trace_info.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_BLOCK, OPTION_JSON, OPTION_COUNT };

enum { MOONCAKE_BLOCK_TOKENS = 512 };

static int print_info(const char *path, int64_t block_tokens, bool as_json) {
    sli_diag diag = {0};
    sli_trace_info info;
    sl_err err = sli_trace_info_read(path, block_tokens, &diag, &info);
    int code;
    if (err != SL_OK) {
        code = sli_report_failure(err, &diag);
    } else {
        sli_diag_print(&diag, stderr);
        err = as_json ? sli_trace_info_print_json(&info, stdout)
                      : sli_trace_info_print(&info, stdout);
        code = sli_exit_code(err);
    }
    sli_diag_fini(&diag);
    return code;
}

static bool read_block(const char *text, int64_t *block_tokens) {
    if (text == NULL) {
        return true;
    }
    if (sli_parse_int(text, SL_DIM_TOKENS, block_tokens) == SLI_UNIT_OK && *block_tokens >= 1) {
        return true;
    }
    fprintf(stderr,
            "sluice trace info: --block needs a number of tokens, as '512 tokens'; "
            "found '%s'\n",
            text);
    return false;
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_BLOCK] = {.name = "--block", .has_value = true},
        [OPTION_JSON] = {.name = "--json"},
    };
    int rest;
    int64_t block_tokens = MOONCAKE_BLOCK_TOKENS;
    if (!sli_options_read("trace", argc, argv, options, &rest) ||
        !read_block(sli_option_value(&options[OPTION_BLOCK]), &block_tokens)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (rest != 2 || strcmp(argv[0], "info") != 0) {
        fputs("sluice trace: usage: sluice trace info FILE [--block '512 tokens'] [--json]\n",
              stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    return print_info(argv[1], block_tokens, options[OPTION_JSON].count > 0);
}

const sli_command sli_cmd_trace = {
    .name = "trace",
    .summary = "look at a trace file",
    .usage = "trace info FILE [--block '512 tokens'] [--json]",
    .run = run,
};
