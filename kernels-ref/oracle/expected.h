/*
 * Where an oracle puts its answers: arrays of the shape of a kernel's outputs, the caller's.
 */
#ifndef KREF_ORACLE_EXPECTED_H
#define KREF_ORACLE_EXPECTED_H

typedef struct kref_expected {
    double *outputs;
    double *tolerances; /* of outputs that are not rounded */
} kref_expected;

#endif
