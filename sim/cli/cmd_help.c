/* sluice help: the verbs, or the page of one. */
#include "calib/measurements.h"
#include "cli/command.h"
#include "cli/estimate_query.h"
#include "cli/estimators.h"
#include "cli/policy_text.h"
#include "run/scenario.h"

#include <stdio.h>
#include <string.h>

static int list_verbs(void) {
    puts("sluice simulates LLM serving.\n\nusage:");
    for (size_t i = 0; sli_commands[i] != NULL; i++) {
        printf("  sluice %s\n", sli_commands[i]->usage);
    }
    puts("\nverbs:");
    for (size_t i = 0; sli_commands[i] != NULL; i++) {
        printf("  %-10s %s\n", sli_commands[i]->name, sli_commands[i]->summary);
    }
    puts("\ntopics:\n  scenario      every key of a scenario file\n"
         "  keep          methods that throw tokens out of a cache, and what is counted for them\n"
         "  estimators    sums beside sluice estimate MODEL: rounding, draft, entries\n"
         "  measurements  every column of a file of measurements");
    puts("\nsluice help PAGE prints the page of a verb or topic; sluice --version the version");
    return 0;
}

static int say_unknown(const char *name) {
    enum { PAGES_MAX = 32 };
    const char *names[PAGES_MAX];
    size_t count = 0;
    for (; sli_pages[count].name != NULL && count < PAGES_MAX; count++) {
        names[count] = sli_pages[count].name;
    }
    fprintf(stderr, "sluice help: there is no page '%s'", name);
    sli_suggest(name, names, count);
    fputs("\nthe pages are", stderr);
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "%s %s", i > 0 ? "," : "", names[i]);
    }
    fputc('\n', stderr);
    return sli_exit_code(SL_ERR_USAGE);
}

/* ---- What pages end with, which stands in tables ---- */

static void list_scenario_keys(const sli_plugins *plugins) {
    sli_schema_describe(&sli_scenario_section, plugins, stdout);
}

static void explain_keep_policies(const sli_plugins *plugins) {
    for (size_t i = 0; i < plugins->type_count[SL_POLICY_KEEP]; i++) {
        const sli_named_type *type = &plugins->types[SL_POLICY_KEEP][i];
        if (type->item != NULL) {
            putchar('\n');
            sli_policy_explain(type);
        }
    }
}

static sl_err describe_scenario(void) {
    return sli_policies_tell(list_scenario_keys);
}

static sl_err describe_keep(void) {
    return sli_policies_tell(explain_keep_policies);
}

static sl_err describe_measurements(void) {
    sli_measurements_describe(stdout);
    return SL_OK;
}

static const struct {
    const char *page;
    sl_err (*describe)(void);
} endings[] = {
    {"scenario", describe_scenario},
    {"estimate", sli_estimate_describe_choices},
    {"measurements", describe_measurements},
    {"keep", describe_keep},
};

static sl_err print_page(const sli_embedded *page) {
    fputs(page->text, stdout);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(page->name, endings[i].page) == 0) {
            return endings[i].describe();
        }
    }
    return SL_OK;
}

/* `estimate draft` is on the page of all estimators. */
static const char *page_name(int argc, char *const *argv) {
    bool is_estimator = argc > 1 && strcmp(argv[0], "estimate") == 0 &&
                        sli_estimator_find(argv[1]) != NULL;
    return is_estimator ? "estimators" : argv[0];
}

static int run(int argc, char **argv) {
    if (argc == 0) {
        return list_verbs();
    }
    const char *name = page_name(argc, argv);
    const sli_embedded *page = sli_embedded_find(sli_pages, name);
    if (page == NULL) {
        return say_unknown(argv[0]);
    }
    return sli_exit_code(print_page(page));
}

const sli_command sli_cmd_help = {
    .name = "help",
    .summary = "print the page of a verb or topic",
    .usage = "help [PAGE]",
    .run = run,
};
