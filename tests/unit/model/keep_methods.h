/*
 * Methods that throw tokens out, as their policies say them by default, in plain data.
 */
#ifndef SLUICE_TESTS_KEEP_METHODS_H
#define SLUICE_TESTS_KEEP_METHODS_H

#include "model/keep.h"

static const sli_keep keep_streaming_llm = {
    .name = "streaming_llm",
    .rule = {.is_rolling = true, .share_ppm = SL_WHOLE_PPM, .cap_rows = 2048, .drop_rows = 1},
    .work = {.rotates_keys = true}};

static const sli_keep keep_h2o = {
    .name = "h2o",
    .rule = {.share_ppm = SL_WHOLE_PPM / 5, .cap_rows = INT64_MAX, .row_tokens = INT64_MAX},
    .work = {.has_scores = true, .rescored_share = 1.0}};

static const sli_keep keep_snapkv = {
    .name = "snapkv",
    .rule = {.share_ppm = SL_WHOLE_PPM, .cap_rows = 4096, .row_tokens = 1},
    .work = {.observed_tokens = 32, .pooled_tokens = 5}};

static const sli_keep keep_pyramid_kv = {
    .name = "pyramid_kv",
    .rule = {.share_ppm = SL_WHOLE_PPM, .cap_rows = 2048, .row_tokens = 1},
    .work = {.observed_tokens = 64, .pooled_tokens = 5}};

#endif
