#include "model/draft.h"

#include "base/check.h"

sli_draft_round sli_draft_round_of(int64_t block_tokens, int64_t accepted) {
    SL_ASSERT(accepted >= 0 && accepted <= block_tokens);
    int64_t replaced = accepted < block_tokens;
    return (sli_draft_round){
        .verified = block_tokens + 1,
        .accepted = accepted,
        .replaced = replaced,
        .dropped = block_tokens - accepted - replaced,
        .tokens = accepted + 1,
        .kept = accepted + 1,
        .given_up = block_tokens - accepted,
    };
}

double sli_draft_mean(const double *survival, size_t block_tokens) {
    double tokens = 1.0;
    for (size_t i = 0; i < block_tokens; i++) {
        tokens += survival[i];
    }
    return tokens;
}

void sli_draft_survival(double chance, double *survival, size_t block_tokens) {
    double reached = 1.0;
    for (size_t i = 0; i < block_tokens; i++) {
        reached *= chance;
        survival[i] = reached;
    }
}
