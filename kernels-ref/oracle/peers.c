#include "oracle/peers.h"

#include "oracle/rounding.h"

#include <math.h>

void kref_peer_sum(const double *const *inputs, int ranks, int elements,
                   const kref_expected *expected) {
    for (int i = 0; i < elements; i++) {
        double sum = 0.0;
        double magnitude = 0.0;
        for (int rank = 0; rank < ranks; rank++) {
            sum += inputs[rank][i];
            magnitude += fabs(inputs[rank][i]);
        }
        expected->outputs[i] = sum;
        expected->tolerances[i] = (ranks - 1) * KREF_F32_UNIT * magnitude;
    }
}
