/* sluice hardware: lists the devices, or explains one: each figure and where it comes from. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/options.h"
#include "hw/device.h"

#include <stdio.h>
#include <string.h>

/* ---- Every figure of a device ---- */

/* Where a walk over the figures stands. */
typedef struct walk {
    bool is_printed;
    const sli_sourced *last; /* the origin of the figure before */
    int figures;
    int assumed;
} walk;

static void say_value(const sl_param *param, const char *values, char *text, size_t size) {
    const char *place = values + param->offset;
    if (param->type == SL_TYPE_INT) {
        int64_t value;
        memcpy(&value, place, sizeof value);
        sli_format_int(value, param->dim, text, size);
    } else {
        double value;
        memcpy(&value, place, sizeof value);
        sli_format_real(value, param->dim, text, size);
    }
}

static bool is_same(const sli_sourced *a, const sli_sourced *b) {
    return a != NULL && strcmp(a->source, b->source) == 0 && strcmp(a->date, b->date) == 0 &&
           a->is_assumed == b->is_assumed;
}

static void print_figure(walk *w, const sli_field *field, const sli_sourced *origin,
                         const char *values, int indent) {
    char value[48];
    say_value(&field->section->params[0], values, value, sizeof value);
    printf("  %*s%-*s%-14s", indent, "", 20 - indent, field->name, value);
    if (is_same(w->last, origin)) {
        puts("\"");
    } else {
        char text[512];
        snprintf(text, sizeof text, "%s%s, %s", origin->is_assumed ? "assumed: " : "",
                 origin->source, origin->date);
        sli_print_wrapped(stdout, 36, text);
    }
    w->last = origin;
}

/* Groups are one level deep; the figures of a group lie in its own struct. */
static void walk_section(walk *w, const sli_section *section, const char *values, int indent) {
    for (size_t i = 0; i < section->field_count; i++) {
        const sli_field *field = &section->fields[i];
        if (field->kind == SLI_FIELD_SECTION) {
            w->last = NULL;
            if (w->is_printed) {
                printf("  %-20s%s\n", field->name, field->help);
            }
            walk_section(w, field->section, values + field->offset, indent + 2);
        } else if (field->kind == SLI_FIELD_SOURCED) {
            const sli_sourced *origin = (const void *)(values + field->offset);
            w->figures++;
            w->assumed += origin->is_assumed;
            if (w->is_printed) {
                print_figure(w, field, origin, values, indent);
            }
        }
    }
}

static walk walk_device(const sli_device *device, bool is_printed) {
    walk w = {.is_printed = is_printed};
    walk_section(&w, &sli_device_section, (const char *)device, 0);
    return w;
}

/* ---- The list ---- */

static void print_row(const sli_device *device) {
    char peak[40];
    sli_format_real(device->bf16_flops_per_s.value, SL_DIM_FLOPS_PER_S, peak, sizeof peak);
    walk w = walk_device(device, false);
    printf("%-12s%-30s%11s%13s%13s%11s  %d of %d\n", device->id, device->name,
           sli_say_bytes((double)device->memory_bytes.value).text,
           sli_say_bandwidth(device->memory_bytes_per_s.value).text, peak,
           sli_say_bandwidth(device->link_bytes_per_s.value).text, w.assumed, w.figures);
}

static void explain_one(const sli_device *device) {
    printf("%s (%s)\n\n", device->name, device->id);
    walk w = walk_device(device, true);
    printf("\n  %d of %d figures are assumed\n", w.assumed, w.figures);
}

static int with_device(const char *name, void (*print)(const sli_device *device)) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    const sli_device *device = NULL;
    sl_err err = sli_device_read(&arena, name, (sli_catalogue_site){0}, &diag, &device);
    int code = 0;
    if (err == SL_OK) {
        print(device);
    } else {
        code = sli_report_failure(err, &diag);
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return code;
}

static int list_all(void) {
    printf("%-12s%-30s%11s%13s%13s%11s  %s\n", "hardware", "device", "memory", "bandwidth", "bf16",
           "link", "assumed");
    int code = 0;
    for (const sli_embedded *file = sli_device_files; file->name != NULL && code == 0; file++) {
        code = with_device(file->name, print_row);
    }
    return code;
}

static int run(int argc, char **argv) {
    sli_option options[] = {{.name = NULL}};
    int rest;
    if (!sli_options_read("hardware", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    int code = rest == 0 ? list_all() : 0;
    for (int i = 0; i < rest && code == 0; i++) {
        fputs(i > 0 ? "\n" : "", stdout);
        code = with_device(argv[i], explain_one);
    }
    return code;
}

const sli_command sli_cmd_hardware = {
    .name = "hardware",
    .summary = "list the devices, or explain the figures of one and where they come from",
    .usage = "hardware [NAME]...",
    .run = run,
};
