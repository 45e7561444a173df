#!/usr/bin/env bash
# Loads that memory cannot bear still end, and say so.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

# 20 contexts of 20,000 tokens want 25,000 blocks of 16 and get 2,500, room for two of them.
cat >thrash.yaml <<'END'
model: llama-3.1-8b
hardware: h100-sxm
memory: {kv_blocks: 2500}
workload:
  source: deterministic
  rate: 1000000 /s
  requests: 20
  prompt: {fixed: 12000 tokens}
  output: {fixed: 8000 tokens}
END

# thrash INDEX LOW HIGH: the share of computed tokens that were computed again, and its warning
thrash() {
    local share percent
    quiet 0 run thrash.yaml --set prefix.index="$1" --out "$1.result"
    equal "finished with index $1" "$(metric "$1.result" requests_finished_count)" 20
    share=$(metric "$1.result" reprefilled_frac)
    between "re-prefilled with index $1" "$share" "$2" "$3"
    percent=$(awk -v x="$share" 'BEGIN { printf "%.1f %%", 100 * x }')
    grep -qF "thrashing: $percent of all computed tokens had been computed before" .said ||
        fail "the summary with index $1 does not warn of $percent"
}
thrash none 0.9 1 # a preempted request finds nothing again
thrash hash 0.1 0.4

# Four times as much as one device can serve: 180 s of arrivals, ended long after.
cat >overload.yaml <<'END'
model: llama-3.1-8b
hardware: h100-sxm
memory: {kv_blocks: 4719}
workload:
  source: poisson
  rate: 110 /s
  requests: 19800
  prompt: {fixed: 1000 tokens}
  output: {fixed: 200 tokens}
END
quiet 0 run overload.yaml --out overload
equal "finished of 19,800" "$(metric overload requests_finished_count)" 19800

finish
