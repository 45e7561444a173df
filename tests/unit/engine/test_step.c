/* The step: what it sums up for the cost model, against a count of every key that a row sees. */
#include "engine/step.h"

#include "kernel/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 12, BATCHES = 400 };

typedef struct batch {
    sl_request requests[ROWS];
    sli_core core; /* nothing in it but the running list */
} batch;

static void add_row(batch *it, int64_t computed_tokens, int64_t planned_tokens,
                    int64_t known_tokens) {
    sl_request *request = &it->requests[it->core.running];
    request->computed_tokens = computed_tokens;
    request->planned_tokens = planned_tokens;
    request->known_tokens = known_tokens;
    sli_core_seat(&it->core, request);
}

static int64_t max_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Row by row and key by key, as the definitions in sluice/cost.h say; tiles are left out. */
static sl_batch_shape count_shape(const batch *it) {
    sl_batch_shape shape = {0};
    for (int64_t i = 0; i < it->core.running; i++) {
        const sl_request *request = &it->requests[i];
        int64_t end_tokens = request->computed_tokens + request->planned_tokens;
        bool is_decode = request->planned_tokens == 1 && request->computed_tokens > 0;
        if (request->planned_tokens == 0) {
            continue;
        }
        shape.sequences++;
        shape.emitting += end_tokens == request->known_tokens ? 1 : 0;
        for (int64_t row = request->computed_tokens; row < end_tokens; row++) {
            shape.tokens++;
            shape.prefill_tokens += is_decode ? 0 : 1;
            for (int64_t key = 0; key <= row; key++) {
                *(is_decode ? &shape.decode_kv_tokens : &shape.prefill_pairs) += 1;
            }
        }
        if (is_decode) {
            shape.decodes++;
            shape.decode_kv_max = max_of(shape.decode_kv_max, end_tokens);
        } else {
            shape.prefills++;
            shape.prefill_kv_tokens += end_tokens;
            shape.prefill_kv_max = max_of(shape.prefill_kv_max, end_tokens);
        }
    }
    return shape;
}

static sl_batch_shape shape_of(const batch *it) {
    sli_step_shape shape;
    sli_core_shape(&it->core, &shape);
    return shape.whole;
}

static int64_t below(sli_rng *rng, uint64_t bound) {
    return (int64_t)sli_rng_below(rng, bound);
}

static void shape_counts_every_key_that_a_row_sees(void **state) {
    (void)state;
    sli_rng rng;
    sli_rng_init(&rng, 1, "batches", 0, 0);
    int64_t decodes = 0;
    int64_t prefills = 0;
    for (int i = 0; i < BATCHES; i++) {
        batch it;
        memset(&it, 0, sizeof it);
        int64_t rows = below(&rng, ROWS + 1);
        for (int64_t row = 0; row < rows; row++) {
            int64_t computed_tokens = below(&rng, 3) * below(&rng, 60);
            int64_t planned_tokens = below(&rng, 2) == 0 ? below(&rng, 2) : below(&rng, 200);
            int64_t known_tokens = computed_tokens + planned_tokens + below(&rng, 2);
            add_row(&it, computed_tokens, planned_tokens, known_tokens);
        }
        sl_batch_shape shape = shape_of(&it);
        sl_batch_shape expected = count_shape(&it);
        expected.prefill_tile_pairs_x2 = shape.prefill_tile_pairs_x2;
        assert_memory_equal(&shape, &expected, sizeof shape);
        decodes += shape.decodes;
        prefills += shape.prefills;
    }
    assert_true(decodes > BATCHES / 2 && prefills > BATCHES / 2);
}

/* 128 query rows share a tile, which computes all keys up to its last row. */
static void tiles_of_whole_chunks_count_what_they_compute(void **state) {
    (void)state;
    for (int64_t tiles = 1; tiles <= 5; tiles++) {
        for (int64_t past_tokens = 0; past_tokens < 400; past_tokens += 57) {
            batch it;
            memset(&it, 0, sizeof it);
            add_row(&it, past_tokens, 128 * tiles, past_tokens + 128 * tiles);
            int64_t pairs = 0;
            for (int64_t tile = 1; tile <= tiles; tile++) {
                pairs += 128 * (past_tokens + 128 * tile);
            }
            sl_batch_shape shape = shape_of(&it);
            assert_int_equal(shape.prefill_tile_pairs_x2, 2 * pairs);
        }
    }
}

/* By hand: a chunk of 5 over 10 fills one tile, 128 (2 * 10 + 5 + 128); one of 130 over 0 fills
 * two, 256 (130 + 128); a decode none. */
static void partial_tiles_are_padded(void **state) {
    (void)state;
    batch it;
    memset(&it, 0, sizeof it);
    add_row(&it, 10, 5, 15);
    add_row(&it, 0, 130, 200);
    add_row(&it, 77, 1, 78);
    sl_batch_shape shape = shape_of(&it);
    assert_int_equal(shape.prefill_tile_pairs_x2, 19584 + 66048);
    assert_int_equal(shape.emitting, 2);
    assert_int_equal(shape.decode_kv_max, 78);
}

/* A first token alone has no past to decode on; the last one of a chunked prompt has. */
static void single_token_is_a_decode_only_over_a_past(void **state) {
    (void)state;
    batch it;
    memset(&it, 0, sizeof it);
    add_row(&it, 0, 1, 1);
    add_row(&it, 8, 1, 9);
    sl_batch_shape shape = shape_of(&it);
    assert_int_equal(shape.prefills, 1);
    assert_int_equal(shape.prefill_pairs, 1);
    assert_int_equal(shape.decodes, 1);
    assert_int_equal(shape.decode_kv_tokens, 9);
    assert_int_equal(shape.emitting, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_counts_every_key_that_a_row_sees),
        cmocka_unit_test(tiles_of_whole_chunks_count_what_they_compute),
        cmocka_unit_test(partial_tiles_are_padded),
        cmocka_unit_test(single_token_is_a_decode_only_over_a_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
