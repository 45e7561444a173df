#include "queueing_theory.h"

#include <math.h>

double sli_queue_load_frac(double arrivals_per_s, double service_mean_s, int servers) {
    return arrivals_per_s * service_mean_s / servers;
}

double sli_mm1_wait_s(double arrivals_per_s, double service_mean_s) {
    double load = sli_queue_load_frac(arrivals_per_s, service_mean_s, 1);
    return load < 1 ? load / (1 - load) * service_mean_s : INFINITY;
}

double sli_md1_wait_s(double arrivals_per_s, double service_s) {
    double load = sli_queue_load_frac(arrivals_per_s, service_s, 1);
    return load < 1 ? load / (2 * (1 - load)) * service_s : INFINITY;
}

double sli_mg1_wait_s(double arrivals_per_s, double service_mean_s, double service_cv2) {
    double load = sli_queue_load_frac(arrivals_per_s, service_mean_s, 1);
    double second_moment_s2 = service_mean_s * service_mean_s * (1 + service_cv2);
    return load < 1 ? arrivals_per_s * second_moment_s2 / (2 * (1 - load)) : INFINITY;
}

double sli_erlang_b_frac(int servers, double load_erlang) {
    double blocked = 1; /* without a server everyone is turned away */
    for (int k = 1; k <= servers; k++) {
        blocked = load_erlang * blocked / (k + load_erlang * blocked);
    }
    return blocked;
}

double sli_erlang_c_frac(int servers, double load_erlang) {
    double load = load_erlang / servers;
    if (load >= 1) {
        return 1;
    }
    double blocked = sli_erlang_b_frac(servers, load_erlang);
    return blocked / (1 - load * (1 - blocked));
}

double sli_mmk_wait_s(int servers, double arrivals_per_s, double service_mean_s) {
    double load = sli_queue_load_frac(arrivals_per_s, service_mean_s, servers);
    if (load >= 1) {
        return INFINITY;
    }
    double waits = sli_erlang_c_frac(servers, arrivals_per_s * service_mean_s);
    return waits * service_mean_s / (servers * (1 - load));
}

double sli_little_count(double arrivals_per_s, double stay_mean_s) {
    return arrivals_per_s * stay_mean_s;
}
