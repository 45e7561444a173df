/* sluice models: lists the architectures, explains one (what its layers keep and read), or makes a
 * model file of a config.json. */
#include "base/units.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/options.h"
#include "import/families.h"
#include "import/import.h"
#include "model/params.h"
#include "model/placement.h"
#include "model/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int64_t lengths[] = {1, 32768, 131072}; /* tokens */
enum { LENGTHS = sizeof lengths / sizeof lengths[0], LABEL_COLUMNS = 20 };

/* ---- The list ---- */

/* `24 gdn, 8 full`: mixers in the order of the file, those of the backbone only. */
static void say_layers(const sli_architecture *architecture, char *text, size_t size) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < architecture->attention.count && length < size; i++) {
        const sli_layer_part *part = &architecture->mixer_parts[i];
        int64_t layers = sli_architecture_layers_of(architecture, part);
        if (layers > 0) {
            length += (size_t)snprintf(text + length, size - length, "%s%lld %s",
                                       length > 0 ? ", " : "", (long long)layers, part->name);
        }
    }
}

static const char *say_confidence(const sli_architecture *architecture) {
    return architecture->confidence == SLI_CONFIDENCE_SOLID ? "solid" : "mixed";
}

enum { NAME_COLUMNS = 25 };

static sli_number say_context(const sli_architecture *architecture) {
    int64_t tokens = architecture->context_native_tokens;
    return tokens == SLI_GROWTH_TOKENS_MAX ? (sli_number){"any"} : sli_say_tokens_short(tokens);
}

static void print_row(const sli_architecture *architecture, const sli_cache_format *format) {
    char layers[64];
    say_layers(architecture, layers, sizeof layers);
    sli_state_bytes state = sli_state_kept(architecture, format, 1);
    double growth_bytes = sli_state_growth(architecture, format);
    printf("%-*s%7s%7s%12s%11s%9s  %-7s%s\n", NAME_COLUMNS, architecture->id,
           sli_say_billions((double)sli_params_total(architecture)).text,
           sli_say_billions((double)sli_params_matmul(architecture)).text,
           growth_bytes > 0.0 ? sli_say_count((int64_t)(growth_bytes + 0.5)).text : "-",
           sli_say_bytes((double)state.fixed).text, say_context(architecture).text,
           say_confidence(architecture), layers);
}

static int list_all(const sli_cache_format *format) {
    printf("%-*s%7s%7s%12s%11s%9s  %-7s%s\n", NAME_COLUMNS, "model", "params", "active",
           "B a token", "fixed", "context", "", "layers");
    for (const sli_embedded *file = sli_model_files; file->name != NULL; file++) {
        sli_arena arena = {0};
        sli_diag diag = {0};
        const sli_architecture *architecture = NULL;
        sl_err err = sli_architecture_read(&arena, file->name, (sli_catalogue_site){0}, &diag,
                                           &architecture);
        int code = 0;
        if (err == SL_OK) {
            print_row(architecture, format);
        } else {
            code = sli_report_failure(err, &diag);
        }
        sli_diag_fini(&diag);
        sli_arena_fini(&arena);
        if (code != 0) {
            return code;
        }
    }
    printf(
        "\nparams, active: billions of parameters, all and those that a token is multiplied with\n"
        "B a token: what a token adds to a cache in %s when all windows are full\n"
        "fixed: state that a request keeps at any length\n"
        "solid: from the published configuration; mixed: some figures are assumed\n",
        format->name);
    return 0;
}

/* ---- One model ---- */

enum { TEXT_COLUMN = 14 };

static void print_name(const char *name) {
    printf("  %-*s", TEXT_COLUMN - 2, name);
}

/* Nothing when there is none. */
static void print_text(const char *name, const char *text) {
    if (text != NULL && text[0] != '\0') {
        print_name(name);
        sli_print_wrapped(stdout, TEXT_COLUMN, text);
    }
}

static void print_published(const sli_architecture *architecture) {
    if (architecture->published_params > 0.0) {
        print_name("published");
        printf("%s billion", sli_say_billions(architecture->published_params).text);
        if (architecture->published_active_params > 0.0) {
            printf(", %s active", sli_say_billions(architecture->published_active_params).text);
        }
        putchar('\n');
        print_text("difference", architecture->published_difference);
    }
}

static void print_params(const sli_architecture *architecture) {
    print_name("parameters");
    printf("%s billion, a token is multiplied with %s",
           sli_say_billions((double)sli_params_total(architecture)).text,
           sli_say_billions((double)sli_params_matmul(architecture)).text);
    int64_t mtp_params = sli_params_mtp(architecture);
    if (mtp_params > 0) {
        printf("; multi-token prediction has %s more", sli_say_billions((double)mtp_params).text);
    }
    putchar('\n');
    print_published(architecture);
}

/* `mxfp4 experts, bf16 else; 65.17 GB`: decimal, as checkpoints are advertised. */
static void print_weights(const sli_architecture *architecture) {
    int64_t bytes = sli_placement_weights_bytes(architecture, &architecture->weights,
                                                &sli_placement_alone, 0);
    print_name("weights");
    printf("%s; %s as published\n", sli_weights_say(&architecture->weights).text,
           sli_say_decimal_bytes((double)bytes).text);
}

static void print_context(const sli_architecture *architecture) {
    int64_t tokens = architecture->context_native_tokens;
    print_name("context");
    if (tokens == SLI_GROWTH_TOKENS_MAX) {
        puts("any length");
    } else {
        printf("%s tokens\n", sli_say_count(tokens).text);
    }
}

static void print_heading(const sli_architecture *architecture) {
    printf("%s (%s)\n\n", architecture->name, architecture->id);
    print_params(architecture);
    print_weights(architecture);
    print_context(architecture);
    print_text("confidence", say_confidence(architecture));
    print_text("note", architecture->note);
    print_text("source", architecture->source);
}

/* Which rows of a store are kept or read. */
static void print_growth(const sli_growth *growth) {
    sli_number cap = sli_say_count(growth->cap_rows);
    sli_number step = sli_say_count(growth->step_tokens);
    if (growth->cap_rows == 0) {
        fputs("nothing", stdout);
    } else if (growth->kind == SLI_GROWTH_CONSTANT) {
        printf("%s row%s", cap.text, growth->cap_rows == 1 ? "" : "s");
    } else if (growth->kind == SLI_GROWTH_SAWTOOTH) {
        printf("chunks of %s tokens", step.text);
    } else if (growth->cap_rows != INT64_MAX) {
        printf("at most %s", cap.text);
    } else if (growth->step_tokens > 1) {
        printf("one in %s tokens", step.text);
    } else {
        fputs("every token", stdout);
    }
}

static void print_padded(const char *text, int width) {
    int padding = width - sli_columns(text);
    printf("%s%*s", text, padding > 0 ? padding : 1, "");
}

static bool is_same_growth(const sli_growth *a, const sli_growth *b) {
    return a->kind == b->kind && a->step_tokens == b->step_tokens && a->cap_rows == b->cap_rows;
}

static void print_store(const sli_store *store, const sli_cache_format *format) {
    char shape[96];
    int64_t heads = store->heads;
    int64_t bytes = store->element_bytes > 0
                        ? heads * store->elements * store->element_bytes
                        : sli_format_row_bytes(format, store->sort, heads, store->elements);
    snprintf(shape, sizeof shape, "%lld × %lld, %s B each", (long long)heads,
             (long long)store->elements, sli_say_number((double)bytes / (double)heads).text);
    fputs("      ", stdout);
    print_padded(store->name, 24);
    print_padded(shape, 28);
    fputs("keeps ", stdout);
    print_growth(&store->kept);
    if (!is_same_growth(&store->kept, &store->read)) {
        fputs(", reads ", stdout);
        print_growth(&store->read);
    }
    puts(store->is_rewritten ? ", rewritten each time" : "");
}

typedef int64_t (*part_bytes)(const sli_part_facts *facts, const sli_cache_format *format,
                              int64_t tokens);

static int64_t kept_bytes(const sli_part_facts *facts, const sli_cache_format *format,
                          int64_t tokens) {
    sli_state_bytes state = sli_state_part(facts, format, tokens);
    return state.cached + state.fixed;
}

static void print_bytes(const sli_part_facts *facts, const sli_cache_format *format, int64_t layers,
                        part_bytes bytes_of) {
    for (int i = 0; i < LENGTHS; i++) {
        printf("%12s", sli_say_bytes((double)(layers * bytes_of(facts, format, lengths[i]))).text);
    }
}

static void print_label(const sli_layer_part *part, int64_t layers) {
    char label[96];
    snprintf(label, sizeof label, "%lld × %s", (long long)layers, part->name);
    fputs("  ", stdout);
    print_padded(label, LABEL_COLUMNS);
}

static void print_part(const sli_layer_part *part, int64_t layers, const sli_cache_format *format) {
    print_label(part, layers);
    print_bytes(&part->facts, format, layers, kept_bytes);
    fputs("  ", stdout);
    print_bytes(&part->facts, format, layers, sli_state_part_read);
    putchar('\n');
    for (int i = 0; i < part->facts.store_count; i++) {
        print_store(&part->facts.stores[i], format);
    }
    if (part->facts.is_borrower) {
        puts("      reads what an earlier layer keeps");
    }
}

static void print_sum(const sli_architecture *architecture, const sli_cache_format *format) {
    printf("  %-20s", "all layers");
    for (int i = 0; i < LENGTHS; i++) {
        sli_state_bytes state = sli_state_kept(architecture, format, lengths[i]);
        printf("%12s", sli_say_bytes((double)(state.cached + state.fixed)).text);
    }
    fputs("  ", stdout);
    for (int i = 0; i < LENGTHS; i++) {
        printf("%12s",
               sli_say_bytes((double)sli_state_read(architecture, format, lengths[i])).text);
    }
    putchar('\n');
}

static void print_mixers(const sli_architecture *architecture, const sli_cache_format *format) {
    char title[64];
    snprintf(title, sizeof title, "a request keeps, in %s", format->name);
    printf("\n  %-20s%36s  %36s\n  %-20s", "", title, "a decode step moves", "tokens");
    for (int i = 0; i < 2 * LENGTHS; i++) {
        printf("%s%12s", i == LENGTHS ? "  " : "", sli_say_tokens_short(lengths[i % LENGTHS]).text);
    }
    putchar('\n');
    for (size_t i = 0; i < architecture->attention.count; i++) {
        const sli_layer_part *part = &architecture->mixer_parts[i];
        int64_t layers = sli_architecture_layers_of(architecture, part);
        if (layers > 0) {
            print_part(part, layers, format);
        }
    }
    print_sum(architecture, format);
}

static void print_ffns(const sli_architecture *architecture) {
    bool has_heading = false;
    for (size_t i = 0; i < architecture->ffns.count; i++) {
        const sli_layer_part *part = &architecture->ffn_parts[i];
        int64_t layers = sli_architecture_layers_of(architecture, part);
        int64_t params = layers * sli_params_part(&part->facts);
        if (params == 0) {
            continue;
        }
        if (!has_heading) {
            printf("\n  %-*s%24s%24s\n", LABEL_COLUMNS, "", "billion parameters", "a token meets");
            has_heading = true;
        }
        print_label(part, layers);
        int64_t active = layers * sli_params_part_active(&part->facts);
        printf("%24s%24s\n", sli_say_billions((double)params).text,
               sli_say_billions((double)active).text);
    }
}

static int explain(const char *name, const sli_cache_format *format) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    const sli_architecture *architecture = NULL;
    sl_err err = sli_architecture_read(&arena, name, (sli_catalogue_site){0}, &diag, &architecture);
    int code = 0;
    if (err == SL_OK) {
        print_heading(architecture);
        print_mixers(architecture, format);
        print_ffns(architecture);
    } else {
        code = sli_report_failure(err, &diag);
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return code;
}

/* ---- Import ---- */

/* False after a message. What was there before is never touched, half a file never left behind. */
static bool save(const char *path, const char *text) {
    FILE *file = fopen(path, "wx");
    if (file == NULL) {
        fprintf(stderr, "sluice models: cannot write '%s': %s\n", path, strerror(errno));
        return false;
    }
    bool is_written = fputs(text, file) >= 0;
    is_written = fclose(file) == 0 && is_written;
    if (!is_written) {
        fprintf(stderr, "sluice models: cannot write '%s': %s\n", path, strerror(errno));
        (void)remove(path);
    }
    return is_written;
}

/* Whether the family is known; false after a message. */
static bool has_family(sli_arena *arena, const char *family) {
    if (family == NULL || sli_family_find(family) != NULL) {
        return true;
    }
    size_t count = 0;
    const char *const *names = sli_family_names(arena, &count);
    fprintf(stderr, "sluice models: there is no family '%s'", family);
    if (names != NULL) {
        sli_suggest(family, names, count);
    }
    fputs("\nsluice help models lists them\n", stderr);
    return false;
}

static int import(const sli_import_request *request, const char *out) {
    sli_arena arena = {0};
    sli_diag diag = {0};
    const char *yaml = NULL;
    int code = sli_exit_code(SL_ERR_USAGE);
    if (has_family(&arena, request->family)) {
        sl_err err = sli_import_file(&arena, request, &diag, &yaml);
        code = 0;
        if (err != SL_OK) {
            code = sli_report_failure(err, &diag);
        } else {
            sli_diag_print(&diag, stderr);
        }
    }
    if (yaml != NULL && out == NULL) {
        fputs(yaml, stdout);
    } else if (yaml != NULL && !save(out, yaml)) {
        code = sli_exit_code(SL_ERR_IO);
    }
    sli_diag_fini(&diag);
    sli_arena_fini(&arena);
    return code;
}

/* ---- The verb ---- */

enum { OPTION_KV, OPTION_NAME, OPTION_FAMILY, OPTION_OUT, OPTION_COUNT };

static int run_import(int rest, char **argv, const sli_option *options) {
    if (rest != 2 || options[OPTION_KV].count > 0) {
        fputs("sluice models: usage: sluice models import CONFIG.json [--name NAME] "
              "[--family FAMILY] [-o FILE]\n",
              stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    sli_import_request request = {
        .path = argv[1],
        .name = sli_option_value(&options[OPTION_NAME]),
        .family = sli_option_value(&options[OPTION_FAMILY]),
    };
    return import(&request, sli_option_value(&options[OPTION_OUT]));
}

static int run_list(int rest, char **argv, const sli_option *options) {
    for (int i = OPTION_NAME; i <= OPTION_OUT; i++) {
        if (options[i].count > 0) {
            fprintf(stderr, "sluice models: %s is for sluice models import\n", options[i].name);
            return sli_exit_code(SL_ERR_USAGE);
        }
    }
    const char *format_name = sli_option_value(&options[OPTION_KV]);
    const sli_cache_format *format = format_name != NULL ? sli_cache_format_find(format_name)
                                                         : &sli_cache_formats[0];
    if (format == NULL) {
        fprintf(stderr,
                "sluice models: there is no cache format '%s'; sluice help estimate lists "
                "them\n",
                format_name);
        return sli_exit_code(SL_ERR_USAGE);
    }
    int code = rest == 0 ? list_all(format) : 0;
    for (int i = 0; i < rest && code == 0; i++) {
        fputs(i > 0 ? "\n" : "", stdout);
        code = explain(argv[i], format);
    }
    return code;
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_KV] = {.name = "--kv", .has_value = true},
        [OPTION_NAME] = {.name = "--name", .has_value = true},
        [OPTION_FAMILY] = {.name = "--family", .has_value = true},
        [OPTION_OUT] = {.name = "-o", .has_value = true},
    };
    int rest;
    if (!sli_options_read("models", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    return rest > 0 && strcmp(argv[0], "import") == 0 ? run_import(rest, argv, options)
                                                      : run_list(rest, argv, options);
}

const sli_command sli_cmd_models = {
    .name = "models",
    .summary = "list the models, explain what the layers of one keep, or import one",
    .usage = "models [NAME]... [--kv FORMAT] | models import CONFIG.json [-o FILE]",
    .run = run,
};
