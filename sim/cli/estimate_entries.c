/* sluice estimate entries: how many rows each kind of layer keeps and reads at a length. */
#include "cli/command.h"
#include "cli/estimate_query.h"
#include "cli/estimators.h"
#include "cli/numbers.h"
#include "cli/options.h"
#include "out/json.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_TOKENS, OPTION_JSON, OPTION_COUNT };

/* Tokens that become one row, where rows are for several; 0 where they are not. */
static int64_t row_tokens(const sli_store *store) {
    const sli_growth *kept = &store->kept;
    return kept->kind == SLI_GROWTH_STEPS && kept->step_tokens > 1 ? kept->step_tokens : 0;
}

enum { LABEL_COLUMNS = 28, ROWS_COLUMNS = 14 };

static void print_store(const sli_store *store, int64_t tokens) {
    int64_t read = sli_growth_at(&store->read, tokens);
    printf("    %-*s%*s%*s", LABEL_COLUMNS, store->name, ROWS_COLUMNS,
           sli_say_count(sli_growth_at(&store->kept, tokens)).text, ROWS_COLUMNS,
           read > 0 ? sli_say_count(read).text : "-");
    int64_t step = row_tokens(store);
    if (step > 0) {
        printf("   one for %s tokens", sli_say_count(step).text);
    }
    if (step > 0 && tokens % step > 0) {
        printf(", %s wait", sli_say_count(tokens % step).text);
    }
    putchar('\n');
}

static void print_text(const sli_estimate_query *query) {
    const sli_architecture *model = query->architecture;
    printf("%s · %s tokens\n\n", model->name, sli_say_count(query->tokens).text);
    printf("  %-*s%*s%*s\n", LABEL_COLUMNS + 2, "rows of a layer, in each head", ROWS_COLUMNS,
           "kept", ROWS_COLUMNS, "a step reads");
    for (size_t i = 0; i < model->attention.count; i++) {
        const sli_layer_part *part = &model->mixer_parts[i];
        int64_t layers = sli_architecture_layers_of(model, part);
        if (layers > 0) {
            printf("  %s × %s\n", sli_say_count(layers).text, part->name);
        }
        for (int j = 0; layers > 0 && j < part->facts.store_count; j++) {
            print_store(&part->facts.stores[j], query->tokens);
        }
    }
}

static void put_store(sli_json *json, const sli_store *store, int64_t tokens) {
    int64_t step = row_tokens(store);
    sli_json_open_object(json, NULL);
    sli_json_string(json, "name", store->name);
    sli_json_int(json, "heads", store->heads);
    sli_json_int(json, "kept_rows", sli_growth_at(&store->kept, tokens));
    sli_json_int(json, "read_rows", sli_growth_at(&store->read, tokens));
    sli_json_int(json, "row_tokens", step > 0 ? step : 1);
    sli_json_int(json, "waiting_tokens", step > 0 ? tokens % step : 0);
    sli_json_close_object(json);
}

static void put_part(sli_json *json, const sli_layer_part *part, int64_t layers, int64_t tokens) {
    sli_json_open_object(json, NULL);
    sli_json_string(json, "kind", part->name);
    sli_json_int(json, "layers", layers);
    sli_json_open_array(json, "rows");
    for (int i = 0; i < part->facts.store_count; i++) {
        put_store(json, &part->facts.stores[i], tokens);
    }
    sli_json_close_array(json);
    sli_json_close_object(json);
}

static sl_err print_json(const sli_estimate_query *query) {
    const sli_architecture *model = query->architecture;
    sli_json json;
    sli_json_init(&json, stdout);
    sli_json_open_object(&json, NULL);
    sli_json_string(&json, "model", model->id);
    sli_json_int(&json, "tokens", query->tokens);
    sli_json_open_array(&json, "kinds");
    for (size_t i = 0; i < model->attention.count; i++) {
        const sli_layer_part *part = &model->mixer_parts[i];
        int64_t layers = sli_architecture_layers_of(model, part);
        if (layers > 0) {
            put_part(&json, part, layers, query->tokens);
        }
    }
    sli_json_close_array(&json);
    sli_json_close_object(&json);
    return sli_json_finish(&json);
}

static int read_query(sli_estimate_input *input, const char *model, const char *tokens) {
    int code = sli_estimate_input_set(input, &sli_estimate_settings[0], model);
    if (code == 0 && tokens != NULL) {
        const sli_estimate_setting *setting = sli_estimate_setting_find("tokens", strlen("tokens"));
        code = sli_estimate_input_set(input, setting, tokens);
    }
    return code;
}

static int run(int argc, char **argv) {
    sli_option options[OPTION_COUNT + 1] = {
        [OPTION_TOKENS] = {.name = "--tokens", .has_value = true},
        [OPTION_JSON] = {.name = "--json"},
    };
    int rest;
    if (!sli_options_read("estimate entries", argc, argv, options, &rest)) {
        return sli_exit_code(SL_ERR_USAGE);
    }
    if (rest != 1) {
        fputs("sluice estimate entries: one model is needed; sluice models lists them\n", stderr);
        return sli_exit_code(SL_ERR_USAGE);
    }
    sli_estimate_input input;
    sli_estimate_input_init(&input);
    int code = read_query(&input, argv[0], sli_option_value(&options[OPTION_TOKENS]));
    if (code == 0 && options[OPTION_JSON].count > 0) {
        code = sli_exit_code(print_json(&input.query));
    } else if (code == 0) {
        print_text(&input.query);
    }
    sli_estimate_input_fini(&input);
    return code;
}

const sli_estimator sli_estimator_entries = {.name = "entries", .run = run};
