#include "oracle/elementwise.h"

#include "oracle/rounding.h"

#include <math.h>
#include <stddef.h>

void kref_rms_norm_row(double *stream, const double *update, const double *weight, int width,
                       double epsilon, double *normed, double *tolerances) {
    double squares = 0.0;
    for (int i = 0; i < width; i++) {
        if (update != NULL) {
            stream[i] = kref_round_bf16(stream[i] + update[i]);
        }
        squares += stream[i] * stream[i];
    }
    double root = sqrt(squares / width + epsilon);
    for (int i = 0; i < width; i++) {
        normed[i] = stream[i] / root * weight[i];
        tolerances[i] = fabs(normed[i]) * (KREF_BF16_UNIT + (width + 16) * KREF_F32_UNIT);
    }
}

void kref_rope_head(const double *head, int head_dim, int position, double base, double *turned,
                    double *tolerances) {
    int half = head_dim / 2;
    for (int i = 0; i < half; i++) {
        double angle = position * pow(base, -2.0 * i / head_dim);
        double x = head[i];
        double y = head[i + half];
        turned[i] = x * cos(angle) - y * sin(angle);
        turned[i + half] = y * cos(angle) + x * sin(angle);
        double slack = 8.0 * KREF_F32_UNIT * (fabs(x) + fabs(y));
        tolerances[i] = KREF_BF16_UNIT * fabs(turned[i]) + slack;
        tolerances[i + half] = KREF_BF16_UNIT * fabs(turned[i + half]) + slack;
    }
}

double kref_activate(kref_activation kind, double x, double up, double *tolerance) {
    double activated = 0.0;
    switch (kind) {
    case KREF_SILU:
        activated = x / (1.0 + exp(-x));
        break;
    case KREF_GELU_TANH: {
        double root = sqrt(2.0 / acos(-1.0));
        activated = 0.5 * x * (1.0 + tanh(root * (x + 0.044715 * x * x * x)));
        break;
    }
    }
    double result = activated * up;
    *tolerance = KREF_BF16_UNIT * fabs(result) + 16.0 * KREF_F32_UNIT * fabs(x * up);
    return result;
}
