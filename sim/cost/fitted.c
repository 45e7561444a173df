#include "cost/fitted.h"

#include "model/kinds.h"
#include "model/parallel.h"

#include <string.h>

const sli_weight_format *const sli_fitted_weights = &sli_weight_formats[0];
const sli_cache_format *const sli_fitted_cache = &sli_cache_formats[0];

bool sli_is_fitted(const sli_cost_subject *subject) {
    return sli_architecture_unplain(subject->architecture) == NULL &&
           sli_weights_are(&subject->weights, sli_fitted_weights) &&
           subject->cache == sli_fitted_cache && subject->attention.kernel == NULL &&
           !subject->attention.is_copied && subject->architecture->keep == NULL &&
           sli_parallel_is_even(subject->architecture, subject->tp);
}

/* A text that grows by phrases; NULL once memory is out. */
typedef struct draft {
    sli_arena *arena;
    const char *text;
} draft;

static void put(draft *it, const char *between, const char *phrase) {
    if (it->text != NULL && phrase != NULL) {
        it->text = sli_arena_printf(it->arena, "%s%s%s", it->text,
                                    it->text[0] != '\0' ? between : "", phrase);
    } else {
        it->text = NULL;
    }
}

/* `dsa (mla)`, and `moe` where the kind says no more; a part that is none lacks what it stands for.
 */
static const char *part_text(sli_arena *arena, const sli_layer_part *part, const char *role) {
    if (part->kind == &sli_none_kind) {
        return sli_arena_printf(arena, "without %s", role);
    }
    bool is_same = strcmp(part->name, part->kind->name) == 0;
    return is_same ? part->name : sli_arena_printf(arena, "%s (%s)", part->name, part->kind->name);
}

static void put_parts(draft *names, const sli_architecture *architecture,
                      const sli_layer_part *parts, size_t count, const char *role) {
    for (size_t i = 0; i < count; i++) {
        bool is_used = sli_architecture_layers_of(architecture, &parts[i]) > 0;
        if (is_used && !sli_layer_part_is_plain(&parts[i])) {
            put(names, ", ", part_text(names->arena, &parts[i], role));
        }
    }
}

static void put_layers(draft *it, const sli_architecture *architecture) {
    draft names = {it->arena, ""};
    put_parts(&names, architecture, architecture->mixer_parts, architecture->attention.count,
              "attention");
    put_parts(&names, architecture, architecture->ffn_parts, architecture->ffns.count,
              "feed-forward");
    if (names.text == NULL || names.text[0] != '\0') {
        put(it, "; ",
            names.text != NULL ? sli_arena_printf(it->arena, "layers %s", names.text) : NULL);
    }
}

const char *sli_unfitted_text(sli_arena *arena, const sli_cost_subject *subject) {
    const sli_architecture *architecture = subject->architecture;
    draft it = {arena, ""};
    put_layers(&it, architecture);
    if (architecture->keep != NULL) {
        put(&it, "; ", sli_arena_printf(arena, "attention of %s", architecture->keep));
    }
    if (!sli_weights_are(&subject->weights, sli_fitted_weights)) {
        put(&it, "; ",
            sli_arena_printf(arena, "weights in %s", sli_weights_say(&subject->weights).text));
    }
    if (subject->cache != sli_fitted_cache) {
        put(&it, "; ", sli_arena_printf(arena, "a cache in %s", subject->cache->name));
    }
    if (subject->attention.kernel != NULL) {
        put(&it, "; ", sli_arena_printf(arena, "attention by %s", subject->attention.kernel->name));
    }
    if (subject->attention.is_copied) {
        put(&it, "; ", "a cache that is copied");
    }
    bool is_plain = sli_architecture_unplain(architecture) == NULL;
    if (is_plain && !sli_parallel_is_even(architecture, subject->tp)) {
        put(&it, "; ",
            sli_arena_printf(arena, "heads that are copied at tp %lld", (long long)subject->tp));
    }
    return it.text;
}
