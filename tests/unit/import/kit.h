/*
 * What the tests of the importer share: texts that are imported, refused, or read back.
 *
 * Texts are written as configs.h says. All that is answered lives in the arena of the world.
 */
#ifndef SLUICE_TESTS_IMPORT_KIT_H
#define SLUICE_TESTS_IMPORT_KIT_H

#include "configs.h"
#include "import/import.h"
#include "model/architecture.h"

typedef struct world {
    sli_arena arena;
    sli_diag diag;
} world;

/* For cmocka; the state is a world. */
int set_up_world(void **state);
int tear_down_world(void **state);

/* As sli_import_text; `family` and `name` may be NULL. */
sl_err import_as(world *w, const char *text, const char *family, const char *name,
                 const char **yaml);

/* The model file of a text that must be right. */
const char *yaml_of(world *w, const char *text);

/* The model that a model file says. */
const sli_architecture *resolve_yaml(world *w, const char *yaml);

/* Both at once. */
const sli_architecture *model_of(world *w, const char *text);

/* A small Llama in lines of its own, with one of them replaced: 2 to 8 and 10 have a field, 9 is
 * free; 0 = none is. */
const char *llama_with(world *w, int line, const char *text);

/* Fails unless there is an error about that path whose message has these words. */
void has_error(const world *w, const char *path, const char *words);

/* The same of a text that is refused for this reason and no other. */
void refuses(world *w, const char *text, const char *path, const char *words);

#endif
