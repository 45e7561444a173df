#!/usr/bin/env bash
# The whole conversation trace on four replicas: every request is served, and its hits stay below
# those of an unlimited cache (0.3736 of the prompt tokens).
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
public_trace mooncake-fast25/conversation_trace.jsonl

cat >whole.yaml <<END
model: llama-3.1-8b
hardware: h100-sxm
replicas: {count: 4}
workload: {source: mooncake, file: $(realpath "$trace")}
END
quiet 0 run whole.yaml --out whole
equal "finished" "$(metric whole requests_finished_count)" 12031
between "hits" "$(metric whole prefix_hit_frac)" 0.001 0.3736

finish
