/* The prefix index: keys against contents compared token by token, the index against a list. */
#include "kernel/rng.h"
#include "kv/prefix.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_key(sli_block_key key, uint64_t id, uint32_t scope, uint32_t end_block) {
    assert_int_equal(key.id, id);
    assert_int_equal(key.scope, scope);
    assert_int_equal(key.end_block, end_block);
}

/* Units of 4 tokens, a prompt of 10: ids 70 (0-3), 71 (4-7), 72 (8-9, partly filled). */
static void names_a_block_by_the_unit_of_its_last_token(void **state) {
    (void)state;
    const uint64_t ids[] = {70, 71, 72};
    sli_content_view view = {.content = {ids, 3, 4, 5}, .request = 9, .prompt_tokens = 10};
    assert_key(sli_block_key_of(&view, 1, 3), 70, 5, 1);  /* ends with token 2 */
    assert_key(sli_block_key_of(&view, 2, 3), 71, 5, 2);  /* 5, of the second unit */
    assert_key(sli_block_key_of(&view, 3, 3), 72, 5, 3);  /* 8 */
    assert_key(sli_block_key_of(&view, 1, 4), 70, 5, 1);  /* 3, the last of its unit */
    assert_key(sli_block_key_of(&view, 1, 10), 72, 5, 1); /* 9, the last of the prompt */
    assert_key(sli_block_key_of(&view, 10, 1), 72, 5, 10);
}

static void names_private_contents_by_the_request(void **state) {
    (void)state;
    const uint64_t ids[] = {70, 71, 72};
    sli_content_view view = {.content = {ids, 3, 4, 5}, .request = 9, .prompt_tokens = 10};
    /* Token 10 is generated, though the third unit would reach to token 11. */
    assert_key(sli_block_key_of(&view, 11, 1), 9, 0, 11);
    assert_key(sli_block_key_of(&view, 3, 4), 9, 0, 3);
    view.content.id_count = 2; /* the ids end at token 7, the prompt does not */
    assert_key(sli_block_key_of(&view, 8, 1), 71, 5, 8);
    assert_key(sli_block_key_of(&view, 9, 1), 9, 0, 9);
    view.content = (sl_content){0};
    assert_key(sli_block_key_of(&view, 1, 1), 9, 0, 1);
}

/* ---- Keys against contents ---- */

enum {
    REQUESTS = 7,
    UNIT_CHOICES = 2, /* few, so that prompts share much */
    MAX_UNITS = 12,
};

typedef struct prompt {
    uint64_t ids[MAX_UNITS];
    sli_content_view view;
} prompt;

/* The id of a unit spells the path to it, so that ids are prefix-cumulative by construction. */
static uint64_t child_id(sli_rng *rng, uint64_t parent) {
    uint64_t choice = sli_rng_below(rng, 8) == 0 ? sli_rng_below(rng, UNIT_CHOICES) : 0;
    return parent * (UNIT_CHOICES + 1) + choice + 1;
}

/* The last unit is partly filled or not; its id says how far, as other contents would. */
static void draw_prompt(sli_rng *rng, int64_t unit_tokens, uint64_t request, prompt *drawn) {
    int64_t count = 1 + (int64_t)sli_rng_below(rng, MAX_UNITS);
    int64_t last_tokens = 1 + (int64_t)sli_rng_below(rng, (uint64_t)unit_tokens);
    uint64_t path = 0;
    for (int64_t i = 0; i < count; i++) {
        path = child_id(rng, path);
        drawn->ids[i] = path << 10;
    }
    drawn->ids[count - 1] += (uint64_t)(last_tokens % unit_tokens);
    drawn->view = (sli_content_view){
        .content = {drawn->ids, count, unit_tokens, 1},
        .request = request,
        .prompt_tokens = (count - 1) * unit_tokens + last_tokens,
    };
}

/* Token by token: each is known by the id that it lies in. */
static int64_t common_tokens(const sli_content_view *a, const sli_content_view *b) {
    int64_t unit_tokens = a->content.id_tokens;
    int64_t token = 0;
    while (token < a->prompt_tokens && token < b->prompt_tokens &&
           a->content.ids[token / unit_tokens] == b->content.ids[token / unit_tokens]) {
        token++;
    }
    return token;
}

static int64_t found_tokens(const sli_prefix *prefix, const sli_content_view *view,
                            int64_t block_tokens) {
    int64_t end_block = 1;
    while (end_block * block_tokens <= view->prompt_tokens &&
           sli_prefix_find(prefix, sli_block_key_of(view, (uint32_t)end_block, block_tokens)) !=
               SLI_NO_BLOCK) {
        end_block++;
    }
    return (end_block - 1) * block_tokens;
}

/* All prompts are put in, one after the other; before that, each is looked for. */
static void compare_hits(const prompt *prompts, int64_t block_tokens) {
    int64_t block_count = 0;
    for (int i = 0; i < REQUESTS; i++) {
        block_count += prompts[i].view.prompt_tokens / block_tokens;
    }
    sli_prefix prefix;
    assert_int_equal(sli_prefix_init(&prefix, (uint32_t)block_count + 1), SL_OK);
    uint32_t next_block = 0;
    for (int i = 0; i < REQUESTS; i++) {
        const sli_content_view *view = &prompts[i].view;
        int64_t most_tokens = 0;
        for (int j = 0; j < i; j++) {
            int64_t tokens = common_tokens(view, &prompts[j].view);
            most_tokens = tokens > most_tokens ? tokens : most_tokens;
        }
        int64_t whole_blocks_tokens = most_tokens / block_tokens * block_tokens;
        assert_int_equal(found_tokens(&prefix, view, block_tokens), whole_blocks_tokens);
        for (int64_t end = 1; end * block_tokens <= view->prompt_tokens; end++) {
            sli_block_key key = sli_block_key_of(view, (uint32_t)end, block_tokens);
            sli_prefix_insert(&prefix, next_block++, key, 1);
        }
    }
    sli_prefix_fini(&prefix);
}

/* Exact whatever the block size is to the unit: hits are the common tokens, rounded down. */
static void finds_the_common_tokens_at_any_block_size(void **state) {
    (void)state;
    const int64_t units_tokens[] = {1, 7, 16, 512};
    for (size_t i = 0; i < sizeof units_tokens / sizeof units_tokens[0]; i++) {
        sli_rng rng;
        sli_rng_init(&rng, 1, "test-prompts", 0, i);
        prompt prompts[REQUESTS];
        for (uint64_t r = 0; r < REQUESTS; r++) {
            draw_prompt(&rng, units_tokens[i], r, &prompts[r]);
        }
        for (int64_t block_tokens = 1; block_tokens <= 1024; block_tokens++) {
            compare_hits(prompts, block_tokens);
        }
    }
}

/* ---- The index against a list ---- */

/* Twice as many keys as buckets, so that those which differ in one field alone meet in one. */
enum { LIST_BLOCKS = 32, DISTINCT_KEYS = 64 };

typedef struct listed {
    bool is_findable;
    int key;
    int since; /* when it was inserted */
} listed;

/* Keys that differ in one field alone. */
static sli_block_key key_number(int number) {
    uint64_t part = (uint64_t)(number / 3);
    switch (number % 3) {
    case 0:
        return (sli_block_key){part + 1, 1, 1, 0};
    case 1:
        return (sli_block_key){1, (uint32_t)part + 2, 1, 0};
    default:
        return (sli_block_key){1, 1, (uint32_t)part + 2, 0};
    }
}

/* Low numbers come often, so that there are copies. */
static int draw_key(sli_rng *rng) {
    return (int)sli_rng_below(rng, 1 + sli_rng_below(rng, DISTINCT_KEYS));
}

static uint32_t oldest_copy(const listed *list, int key) {
    uint32_t oldest = SLI_NO_BLOCK;
    for (uint32_t block = 0; block < LIST_BLOCKS; block++) {
        if (list[block].is_findable && list[block].key == key &&
            (oldest == SLI_NO_BLOCK || list[block].since < list[oldest].since)) {
            oldest = block;
        }
    }
    return oldest;
}

static void finds_the_oldest_of_equal_copies(void **state) {
    (void)state;
    sli_rng rng;
    sli_rng_init(&rng, 1, "test-index", 0, 0);
    sli_prefix prefix;
    assert_int_equal(sli_prefix_init(&prefix, LIST_BLOCKS), SL_OK);
    listed list[LIST_BLOCKS] = {0};
    int choices = 0; /* lookups that had more than one copy to choose from */
    for (int now = 0; now < 4000; now++) {
        uint32_t block = (uint32_t)sli_rng_below(&rng, LIST_BLOCKS);
        if (list[block].is_findable) {
            sli_prefix_remove(&prefix, block);
            list[block].is_findable = false;
        } else {
            list[block] = (listed){true, draw_key(&rng), now};
            choices += oldest_copy(list, list[block].key) != block;
            sli_prefix_insert(&prefix, block, key_number(list[block].key), 1);
        }
        for (int key = 0; key < DISTINCT_KEYS; key++) {
            assert_int_equal(sli_prefix_find(&prefix, key_number(key)), oldest_copy(list, key));
        }
    }
    assert_true(choices > 500);
    sli_prefix_fini(&prefix);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_a_block_by_the_unit_of_its_last_token),
        cmocka_unit_test(names_private_contents_by_the_request),
        cmocka_unit_test(finds_the_common_tokens_at_any_block_size),
        cmocka_unit_test(finds_the_oldest_of_equal_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
