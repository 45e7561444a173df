/*
 * What the tests of layouts share: models, and layouts with the options of a scenario that says
 * nothing.
 */
#ifndef SLUICE_TESTS_KV_LAYOUT_MODELS_H
#define SLUICE_TESTS_KV_LAYOUT_MODELS_H

#include "kv/layout.h"

/* 2 x 2 x 16 x 2 = 128 bytes a token, and what else there is on top of it. */
#define GQA    "type: gqa, q_heads: 4, kv_heads: 2, head_dim: 16"
#define FULL   "full: {" GQA "}"
#define WINDOW "window: {" GQA ", window: 40 tokens}"
#define CHUNK  "chunk: {" GQA ", chunk: 96 tokens}"
/* An index key of 8 elements: 144 bytes. */
#define SPARSE                                                                                     \
    "sparse: {" GQA ", sparse: {block: 16 tokens, top_blocks: 2, index_heads: 1, index_dim: 8}}"
/* 4 x 8 x 8 x 4 + 3 x (2 x 2 x 8 + 4 x 8) x 2 = 1,024 + 384 = 1,408 bytes. */
#define STATE                                                                                      \
    "state: {type: recurrent, rule: gdn, heads: 4, key_heads: 2, key_dim: 8, value_dim: 8, "       \
    "conv: 4, gate: full}"

/* By name. A failure of any of these fails the test; all that is read lives until free_models. */
const sli_architecture *model_of(const char *name);

/* A model of these mixers (the braces of `attention` left out) and layers. */
const sli_architecture *model_with(const char *mixers, const char *layers);

/* bf16, blocks of 16 tokens, one rank, steps of 8,192 tokens, windows freed, states saved. */
sli_layout_options options_of(const sli_architecture *model);

sli_layout layout_with(const sli_architecture *model, const sli_layout_options *options);
sli_layout layout_of(const sli_architecture *model);

/* The first one of a kind. */
const sli_group *group_of(const sli_layout *layout, sli_group_kind kind);

/* For cmocka_run_group_tests. */
int free_models(void **state);

#endif
