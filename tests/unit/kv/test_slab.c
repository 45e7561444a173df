/* The slab: nodes that stay, come back zeroed, and are used again before new ones are made. */
#include "kv/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 3000, NODE_BYTES = 40 };

static void assert_zeroed(const unsigned char *node) {
    static const unsigned char zeros[NODE_BYTES];
    assert_memory_equal(node, zeros, NODE_BYTES);
}

static void nodes_are_zeroed_and_apart(void **state) {
    (void)state;
    static unsigned char *nodes[NODES];
    sli_slab slab;
    sli_slab_init(&slab, NODE_BYTES);
    for (int i = 0; i < NODES; i++) {
        nodes[i] = sli_slab_take(&slab);
        assert_non_null(nodes[i]);
        assert_zeroed(nodes[i]);
        memset(nodes[i], 1 + i % 250, NODE_BYTES);
    }
    for (int i = 0; i < NODES; i++) {
        for (int byte = 0; byte < NODE_BYTES; byte++) {
            assert_int_equal(nodes[i][byte], 1 + i % 250);
        }
    }
    sli_slab_fini(&slab);
}

static void what_was_given_back_comes_again_zeroed_last_first(void **state) {
    (void)state;
    sli_slab slab;
    sli_slab_init(&slab, NODE_BYTES);
    unsigned char *nodes[4];
    for (int i = 0; i < 4; i++) {
        nodes[i] = sli_slab_take(&slab);
        memset(nodes[i], 0xff, NODE_BYTES);
    }
    sli_slab_give(&slab, nodes[2]);
    sli_slab_give(&slab, nodes[0]);
    sli_slab_give(&slab, nodes[3]);
    const int expected[] = {3, 0, 2};
    for (int i = 0; i < 3; i++) {
        unsigned char *node = sli_slab_take(&slab);
        assert_ptr_equal(node, nodes[expected[i]]);
        assert_zeroed(node);
    }
    for (int i = 0; i < 4; i++) {
        assert_ptr_not_equal(sli_slab_take(&slab), nodes[i]);
    }
    assert_int_equal(nodes[1][0], 0xff); /* never given back, never touched */
    sli_slab_fini(&slab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_zeroed_and_apart),
        cmocka_unit_test(what_was_given_back_comes_again_zeroed_last_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
