#include "cli/options.h"

#include "cli/command.h"

#include <stdio.h>
#include <string.h>

enum { OPTIONS_MAX = 32 };

static void say_unknown(const char *verb, const char *name, size_t length,
                        const sli_option *options) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
             name);
    const char *names[OPTIONS_MAX];
    size_t count = 0;
    for (size_t i = 0; options[i].name != NULL && count < OPTIONS_MAX; i++) {
        if (options[i].refusal == NULL) {
            names[count++] = options[i].name;
        }
    }
    fprintf(stderr, "sluice %s: unknown option '%s'", verb, word);
    sli_suggest(word, names, count);
    fprintf(stderr, "\nsluice help %s lists the options\n", verb);
}

static sli_option *find(sli_option *options, const char *name, size_t length) {
    for (sli_option *option = options; option->name != NULL; option++) {
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

static bool add_value(const char *verb, sli_option *option, const char *value) {
    size_t limit = option->is_repeatable ? SLI_OPTION_VALUES_MAX : 1;
    if (option->count >= limit) {
        if (limit == 1) {
            fprintf(stderr, "sluice %s: %s can be given only once\n", verb, option->name);
        } else {
            fprintf(stderr, "sluice %s: %s can be given at most %zu times\n", verb, option->name,
                    limit);
        }
        return false;
    }
    option->values[option->count++] = value;
    return true;
}

/* Reads one option that starts at argv[*i]; moves *i over a value that stands by itself. */
static bool read_option(const char *verb, int argc, char **argv, int *i, sli_option *options) {
    const char *argument = argv[*i];
    const char *equals = strchr(argument, '=');
    size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    sli_option *option = find(options, argument, length);
    if (option == NULL) {
        say_unknown(verb, argument, length, options);
        return false;
    }
    if (option->refusal != NULL) {
        fprintf(stderr, "sluice %s: there is no %s: %s\n", verb, option->name, option->refusal);
        return false;
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (!option->has_value && value != NULL) {
        fprintf(stderr, "sluice %s: %s takes no value\n", verb, option->name);
        return false;
    }
    if (option->has_value && value == NULL && *i + 1 < argc) {
        value = argv[++*i];
    }
    if (option->has_value && (value == NULL || value[0] == '\0')) {
        fprintf(stderr, "sluice %s: %s needs a value\n", verb, option->name);
        return false;
    }
    return add_value(verb, option, value);
}

bool sli_options_read(const char *verb, int argc, char **argv, sli_option *options, int *rest) {
    bool has_ended = false;
    *rest = 0;
    for (int i = 0; i < argc; i++) {
        bool is_option = !has_ended && argv[i][0] == '-' && argv[i][1] != '\0';
        if (is_option && strcmp(argv[i], "--") == 0) {
            has_ended = true;
        } else if (is_option) {
            if (!read_option(verb, argc, argv, &i, options)) {
                return false;
            }
        } else {
            argv[(*rest)++] = argv[i];
        }
    }
    return true;
}

bool sli_options_are_settings(const char *verb, const sli_option *option) {
    for (size_t i = 0; i < option->count; i++) {
        const char *equals = strchr(option->values[i], '=');
        if (equals == NULL || equals == option->values[i]) {
            fprintf(stderr, "sluice %s: %s needs KEY=VALUE, as %s engine.max_seqs=64; found '%s'\n",
                    verb, option->name, option->name, option->values[i]);
            return false;
        }
    }
    return true;
}

bool sli_options_have_scenario(const char *verb, int rest, char *const *argv) {
    if (rest != 1) {
        fprintf(stderr, "sluice %s: one scenario file is needed\n", verb);
        return false;
    }
    if (argv[0][0] == '\0') {
        fprintf(stderr, "sluice %s: the name of the scenario file is empty\n", verb);
        return false;
    }
    return true;
}

const char *sli_option_value(const sli_option *option) {
    return option->count > 0 ? option->values[0] : NULL;
}
