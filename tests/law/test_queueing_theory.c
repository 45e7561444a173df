/*
 * The closed forms against textbook examples, against the Markov chains that they solve, and
 * against each other in their limits.
 */
#include "queueing_theory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double loads[] = {0.05, 0.3, 0.5, 0.7, 0.9, 0.95};
enum { LOAD_COUNT = sizeof loads / sizeof loads[0] };

static void assert_close(double actual, double expected, double relative) {
    if (!(fabs(actual - expected) <= relative * fabs(expected))) {
        fail_msg("%.17g is not within %g of %.17g", actual, relative, expected);
    }
}

/* Gross, Shortle, Thompson, Harris, Fundamentals of Queueing Theory, 4th edition, 2008, chapter 2:
 * a hairdresser, 5 customers an hour, 10 minutes each. L = 5, Lq = 25/6, so the wait is 5/6 hour.
 */
static void hairdresser_keeps_customers_waiting_fifty_minutes(void **state) {
    (void)state;
    double arrivals_per_s = 5.0 / 3600;
    double wait_s = sli_mm1_wait_s(arrivals_per_s, 600);
    assert_close(wait_s, 50 * 60, 1e-12);
    assert_close(sli_little_count(arrivals_per_s, wait_s), 25.0 / 6, 1e-12);
    assert_close(sli_little_count(arrivals_per_s, wait_s + 600), 5, 1e-12);
}

/* The same book, chapter 2: an eye clinic with three doctors, 6 patients an hour, 20 minutes each.
 * p0 = 1/9 and Lq = 8/9; the chance to wait is r^3 p0 / (3! (1 - 2/3)) = 4/9; stay 28.9 minutes. */
static void eye_clinic_keeps_patients_twenty_nine_minutes(void **state) {
    (void)state;
    double arrivals_per_s = 6.0 / 3600;
    double wait_s = sli_mmk_wait_s(3, arrivals_per_s, 1200);
    assert_close(sli_erlang_c_frac(3, 2), 4.0 / 9, 1e-12);
    assert_close(sli_little_count(arrivals_per_s, wait_s), 8.0 / 9, 1e-12);
    assert_close((wait_s + 1200) / 60, 28.9, 0.05 / 28.9);
}

/* By hand: one server 2/3, two (2 * 2/3) / (2 + 2 * 2/3) = 2/5, three (2 * 2/5) / (3 + 4/5). */
static void two_erlang_block_as_counted_by_hand(void **state) {
    (void)state;
    assert_close(sli_erlang_b_frac(0, 2), 1, 1e-15);
    assert_close(sli_erlang_b_frac(1, 2), 2.0 / 3, 1e-12);
    assert_close(sli_erlang_b_frac(2, 2), 2.0 / 5, 1e-12);
    assert_close(sli_erlang_b_frac(3, 2), 4.0 / 19, 1e-12);
}

/* Erlang's own form: (a^k / k!) / sum over i <= k of a^i / i!. */
static void erlang_b_recursion_equals_the_sum(void **state) {
    (void)state;
    for (int servers = 1; servers <= 40; servers++) {
        for (double load_erlang = 0.25; load_erlang < 50; load_erlang *= 1.7) {
            double term = 1;
            double sum = 1;
            for (int i = 1; i <= servers; i++) {
                term *= load_erlang / i;
                sum += term;
            }
            assert_close(sli_erlang_b_frac(servers, load_erlang), term / sum, 1e-12);
        }
    }
}

/* The chain of the number present: up by the arrivals, down by the busy servers. */
static double mmk_wait_of_chain_s(int servers, double arrivals_per_s, double service_mean_s) {
    double probability = 1; /* of the state, not yet normalised */
    double total = 1;
    double waiting = 0;
    for (int present = 1; present < 20000; present++) {
        int busy = present < servers ? present : servers;
        probability *= arrivals_per_s * service_mean_s / busy;
        total += probability;
        waiting += (present - busy) * probability;
    }
    return waiting / total / arrivals_per_s;
}

static void mmk_equals_its_markov_chain(void **state) {
    (void)state;
    const double service_mean_s = 0.02;
    for (int servers = 1; servers <= 16; servers++) {
        for (int i = 0; i < LOAD_COUNT; i++) {
            double arrivals_per_s = loads[i] * servers / service_mean_s;
            assert_close(sli_mmk_wait_s(servers, arrivals_per_s, service_mean_s),
                         mmk_wait_of_chain_s(servers, arrivals_per_s, service_mean_s), 1e-9);
        }
    }
}

/*
 * The chain of the number left behind by a departure. While one service lasts, `a` requests arrive,
 * Poisson distributed around the load. What crosses from at most n to above n in one step must come
 * back, and only from n + 1, when nobody arrives:
 *   p(n + 1) P(a = 0) = p(0) P(a > n) + sum over 1 <= i <= n of p(i) P(a > n - i + 1),
 * with p(0) = 1 - load. Departures see what an outsider sees, so the mean number present follows.
 */
static double md1_wait_of_chain_s(double arrivals_per_s, double service_s) {
    enum { STATES = 600 };
    double load = arrivals_per_s * service_s;
    double above[STATES + 1]; /* P(a > n) */
    double term = exp(-load);
    for (int n = 0; n <= STATES; n++) {
        /* Summed from the far end, for what remains of 1 after a subtraction is noise. */
        double tail = 0;
        double next = term;
        for (int m = n + 1; m <= n + 80; m++) {
            next *= load / m;
            tail += next;
        }
        above[n] = tail;
        term *= load / (n + 1);
    }
    double p[STATES + 1] = {1 - load};
    double present = 0;
    for (int n = 0; n < STATES; n++) {
        double crossing = p[0] * above[n];
        for (int i = 1; i <= n; i++) {
            crossing += p[i] * above[n - i + 1];
        }
        p[n + 1] = crossing / exp(-load);
        present += (n + 1) * p[n + 1];
    }
    return present / arrivals_per_s - service_s;
}

static void md1_equals_its_markov_chain(void **state) {
    (void)state;
    const double service_s = 0.02;
    for (int i = 0; i < LOAD_COUNT; i++) {
        double arrivals_per_s = loads[i] / service_s;
        assert_close(sli_md1_wait_s(arrivals_per_s, service_s),
                     md1_wait_of_chain_s(arrivals_per_s, service_s), 1e-9);
    }
}

static void one_server_of_many_is_mm1(void **state) {
    (void)state;
    for (int i = 0; i < LOAD_COUNT; i++) {
        assert_close(sli_mmk_wait_s(1, loads[i] / 0.3, 0.3), sli_mm1_wait_s(loads[i] / 0.3, 0.3),
                     1e-12);
        assert_close(sli_erlang_c_frac(1, loads[i]), loads[i], 1e-12);
    }
}

static void constant_service_halves_the_wait(void **state) {
    (void)state;
    for (int i = 0; i < LOAD_COUNT; i++) {
        assert_close(2 * sli_md1_wait_s(loads[i] / 0.3, 0.3), sli_mm1_wait_s(loads[i] / 0.3, 0.3),
                     1e-12);
    }
}

static void any_service_contains_the_constant_and_the_exponential(void **state) {
    (void)state;
    for (int i = 0; i < LOAD_COUNT; i++) {
        double arrivals_per_s = loads[i] / 0.3;
        assert_close(sli_mg1_wait_s(arrivals_per_s, 0.3, 0), sli_md1_wait_s(arrivals_per_s, 0.3),
                     1e-12);
        assert_close(sli_mg1_wait_s(arrivals_per_s, 0.3, 1), sli_mm1_wait_s(arrivals_per_s, 0.3),
                     1e-12);
    }
}

/* A request in an almost empty system waits only if another one is there, which has the chance
 * `load`, and then for the rest of its service: E[S^2] / (2 E[S]). */
static void light_load_leaves_the_rest_of_one_service(void **state) {
    (void)state;
    const double load = 1e-9;
    const double cv2s[] = {0, 0.5, 1, 4};
    for (int i = 0; i < 4; i++) {
        double rest_s = 2 * (1 + cv2s[i]) / 2;
        assert_close(sli_mg1_wait_s(load / 2, 2, cv2s[i]), load * rest_s, 1e-8);
    }
    assert_true(sli_mmk_wait_s(4, load, 1) < 1e-30);
}

static void pooled_servers_wait_less_than_separate_ones(void **state) {
    (void)state;
    for (int servers = 2; servers <= 16; servers++) {
        for (int i = 0; i < LOAD_COUNT; i++) {
            assert_true(sli_mmk_wait_s(servers, servers * loads[i], 1) <
                        sli_mmk_wait_s(servers - 1, (servers - 1) * loads[i], 1));
        }
    }
}

static void full_load_never_settles(void **state) {
    (void)state;
    for (double load = 1; load <= 2; load += 0.5) {
        assert_true(isinf(sli_mm1_wait_s(load, 1)));
        assert_true(isinf(sli_md1_wait_s(load, 1)));
        assert_true(isinf(sli_mg1_wait_s(load, 1, 2)));
        assert_true(isinf(sli_mmk_wait_s(4, 4 * load, 1)));
        assert_close(sli_erlang_c_frac(4, 4 * load), 1, 1e-15);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hairdresser_keeps_customers_waiting_fifty_minutes),
        cmocka_unit_test(eye_clinic_keeps_patients_twenty_nine_minutes),
        cmocka_unit_test(two_erlang_block_as_counted_by_hand),
        cmocka_unit_test(erlang_b_recursion_equals_the_sum),
        cmocka_unit_test(mmk_equals_its_markov_chain),
        cmocka_unit_test(md1_equals_its_markov_chain),
        cmocka_unit_test(one_server_of_many_is_mm1),
        cmocka_unit_test(constant_service_halves_the_wait),
        cmocka_unit_test(any_service_contains_the_constant_and_the_exponential),
        cmocka_unit_test(light_load_leaves_the_rest_of_one_service),
        cmocka_unit_test(pooled_servers_wait_less_than_separate_ones),
        cmocka_unit_test(full_load_never_settles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
