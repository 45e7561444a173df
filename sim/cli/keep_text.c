#include "cli/keep_text.h"

#include <stdio.h>

const char sli_keep_kind[] = "keep";

void sli_keep_list(void) {
    size_t count;
    const sli_named_type *types = sli_keep_types(NULL, &count);
    puts(sli_keep_kind);
    for (size_t i = 0; i < count; i++) {
        const sli_keep_method *method = types[i].item;
        printf("  %-18s %s\n", types[i].name, method != NULL ? method->summary : "all tokens");
    }
}

void sli_keep_explain(const sli_keep_method *method) {
    printf("%s (%s): %s\n", method->name, sli_keep_kind, method->summary);
    printf("source: %s\n", method->paper);
    printf("throws tokens out %s\n", method->when);
    printf("counted besides: %s\n", method->work);
    puts("what stays cannot be shared with other requests; quality is not simulated");
    puts("\nkeys:");
    sli_schema_describe(method->section, NULL, stdout);
}

void sli_keep_explain_all(void) {
    size_t count;
    const sli_named_type *types = sli_keep_types(NULL, &count);
    for (size_t i = 0; i < count; i++) {
        if (types[i].item != NULL) {
            putchar('\n');
            sli_keep_explain(types[i].item);
        }
    }
}
