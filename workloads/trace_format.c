#include "workloads/trace_format.h"

#include <string.h>

static const sli_trace_format *const formats[] = {&sli_mooncake_format, &sli_azure_format,
                                                  &sli_sluice_format};

bool sli_trace_format_fits(const sli_trace_format *format, const char *line) {
    bool is_json = line[strspn(line, " \t")] == '{';
    return is_json == format->is_json && strstr(line, format->mark) != NULL;
}

const sli_trace_format *sli_trace_format_find(const char *line) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (sli_trace_format_fits(formats[i], line)) {
            return formats[i];
        }
    }
    return NULL;
}
