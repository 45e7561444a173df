/*
 * What queueing theory says of a replica with a simple clock.
 *
 * Closed forms of mean waiting times, for the law tests to hold the simulator against. They know
 * nothing of the simulator. Requests arrive as a Poisson stream and are served in the order of
 * arrival; the wait is the time in the queue, without the service, in seconds and in the long run.
 * A queue that is offered its capacity or more has no long run: the wait is INFINITY. Arguments are
 * finite and positive, where nothing else is said; nothing is allocated, nothing fails.
 *
 * Sources: Kleinrock, Queueing Systems, volume 1, 1975, chapters 3 and 5; Cooper, Introduction to
 * Queueing Theory, 2nd edition, 1981, chapter 3; Little, Operations Research 9 (3), 1961.
 */
#ifndef SLUICE_TESTS_LAW_QUEUEING_THEORY_H
#define SLUICE_TESTS_LAW_QUEUEING_THEORY_H

/* The share of the servers' time that is asked for; below 1 in a stable queue. */
double sli_queue_load_frac(double arrivals_per_s, double service_mean_s, int servers);

/* M/M/1: one server, exponential service. Kleinrock, section 3.2. */
double sli_mm1_wait_s(double arrivals_per_s, double service_mean_s);

/* M/D/1: one server, every service takes the same time. */
double sli_md1_wait_s(double arrivals_per_s, double service_s);

/*
 * M/G/1: one server, any service, by Pollaczek and Khinchine; Kleinrock, section 5.6. Of the
 * service only the mean and the squared coefficient of variation (variance / mean^2, >= 0) matter.
 */
double sli_mg1_wait_s(double arrivals_per_s, double service_mean_s, double service_cv2);

/* Erlang B: the chance that a request finds k servers without a queue all busy, when `load_erlang`
 * (arrival rate times mean service) is offered. By the recursion in k, O(k); Cooper, chapter 3. */
double sli_erlang_b_frac(int servers, double load_erlang);

/* Erlang C: the chance that a request has to wait for one of k servers; 1 in an unstable queue. */
double sli_erlang_c_frac(int servers, double load_erlang);

/* M/M/k: k servers that pull from one queue. Kleinrock, section 3.5. */
double sli_mmk_wait_s(int servers, double arrivals_per_s, double service_mean_s);

/* Little's law: the mean number present, when each stays `stay_mean_s` on average. Holds for the
 * queue (waits) and for the whole system (waits and services) alike. */
double sli_little_count(double arrivals_per_s, double stay_mean_s);

#endif
