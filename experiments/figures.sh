# What the experiments share; sourced by the run.sh of each.
#
#   bash experiments/NN-name/run.sh [SLUICE]    default: build/release/sluice of this checkout
#
# An experiment computes figures with sluice and lays each beside the published one. The call for
# it depends on the class:
#
#   exact     A  arithmetic or logic: equal, to the digits that were published
#   within    B  the effect of a policy on a published or fitted model of time: within a tolerance
#   more      C  shape only: the ratio is above 1, as the published one; how far is not claimed
#   beside    -  published, and shown beside it, for a reason that the README gives; not claimed
#   unnamed   -  of interest, but nobody published it
#   without   Q  quality, or what no model here can say: never computed
#
# `finish` prints the table in Markdown, as it stands in the README of the experiment, and a line
# that counts the verdicts. The exit code is 1 if a figure is not equal, outside or not above 1.
#
# shellcheck shell=bash
set -uo pipefail
export LC_ALL=C

if [ $# -gt 1 ]; then
    echo "usage: run.sh [SLUICE]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
sluice=$(realpath -m "${1:-$here/../../build/release/sluice}")
if [ ! -x "$sluice" ]; then
    echo "$sluice is not there: experiments/quickstart.sh builds it" >&2
    exit 2
fi
cd "$here" || exit 1

rows=()

# ---- asking sluice ----

# member NAME: the first value of that name in a JSON text
member() {
    sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" | head -n 1
}

# failed COMMAND...: says so, and ends the experiment, from within a substitution too
trap 'exit 1' TERM
failed() {
    echo "this failed: $*" >&2
    kill -s TERM $$
    exit 1
}

# estimate NAME ARGUMENT...: a figure of `sluice estimate`; what does not fit has figures too
estimate() {
    local name=$1 said status=0
    shift
    said=$("$sluice" estimate "$@" --json) || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ] || failed sluice estimate "$@"
    member "$name" <<<"$said"
}

# measure ARGUMENT...: runs a scenario, for `metric NAME` to ask
measure() {
    said=$("$sluice" run "$@" --set output.dir=none --json) || failed sluice run "$@"
}

metric() {
    member "$1" <<<"$said"
}

# at_once N ARGUMENT...: whether N users who come together are served together. Each reserves all
# that it will ever need, so nobody is thrown out, and one for whom there is no room waits until
# another has ended. Steps of a fixed time: this asks about room.
at_once() {
    local users=$1
    shift
    measure "$@" --set workload.concurrency="$users" --set workload.requests="$users" \
        --set engine.max_seqs="$users" --set engine.policy=orca --set prefix.index=none \
        --set 'cost={fixed: {step: 1 ms}}'
    [ "$(metric requests_finished_count)" = "$users" ] || return 1
    calc_is "$(metric queue_delay_max_ns) < $(metric phase_decode_mean_ns)"
}

# seats ARGUMENT...: the most users who are served together, 0 if not even one is
seats() {
    local low=0 high=1 middle
    while at_once "$high" "$@"; do
        low=$high
        high=$((2 * high))
    done
    while [ $((high - low)) -gt 1 ]; do
        middle=$(((low + high) / 2))
        if at_once "$middle" "$@"; then low=$middle; else high=$middle; fi
    done
    echo "$low"
}

# token_steps OUTPUT ARGUMENT...: tokens that one user's request holds, summed over its steps
token_steps() {
    measure "${@:2}" --set "workload.output={fixed: $1 tokens}" \
        --set workload.concurrency=1 --set workload.requests=1 \
        --set engine.policy=vllm_v1 --set 'engine.max_batched_tokens=1000000 tokens' \
        --set 'engine.block=1 tokens' --set memory.kv_blocks=1000000 \
        --set 'cost={fixed: {step: 1 ms}}'
    calc "1000000 * $(metric kv_mean_frac) * $(metric step_count)"
}

# held_tokens OUTPUT ARGUMENT...: that a request holds in its last step, which a shorter output lacks
held_tokens() {
    calc "int($(token_steps "$1" "${@:2}") - $(token_steps $(($1 - 1)) "${@:2}") + 0.5)"
}

# ---- arithmetic ----

# calc EXPRESSION, of as many lines as it takes
calc() {
    awk "BEGIN { printf \"%.15g\", ${*//$'\n'/ } }"
}

calc_is() {
    awk "BEGIN { exit !($*) }"
}

# with_commas NUMBER
with_commas() {
    sed -E ':again; s/^(-?[0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"
}

# like PUBLISHED NUMBER: the number with as many decimals as the published one
like() {
    local decimals=0
    [[ $1 != *.* ]] || decimals=${1##*.}
    [[ $1 != *.* ]] || decimals=${#decimals}
    with_commas "$(awk "BEGIN { printf \"%.${decimals}f\", $2 }")"
}

# short NUMBER: three digits that count, or all before the point
short() {
    with_commas "$(awk "BEGIN {
        x = $1
        form = x >= 100 ? \"%.0f\" : x >= 10 ? \"%.1f\" : \"%.2f\"
        printf form, x
    }")"
}

# ---- figures ----

# row FIGURE PUBLISHED COMPUTED CLASS TOLERANCE VERDICT
row() {
    local IFS='|'
    rows+=("$*")
}

# exact FIGURE PUBLISHED COMPUTED [UNIT]
exact() {
    local found verdict=equal
    found=$(like "${2//,/}" "$3")
    [ "${found//,/}" = "${2//,/}" ] || verdict="NOT EQUAL"
    row "$1" "$2${4:+ $4}" "$found${4:+ $4}" A 0 "$verdict"
}

# within FIGURE PUBLISHED PERCENT COMPUTED [UNIT]
within() {
    local verdict=within
    calc_is "$4 >= $2 * (1 - $3 / 100) && $4 <= $2 * (1 + $3 / 100)" || verdict=OUTSIDE
    row "$1" "$2${5:+ $5}" "$(short "$4")${5:+ $5}" B "$3 %" "$verdict"
}

# more FIGURE PUBLISHED COMPUTED [UNIT]: a ratio, which was published as one above 1
more() {
    local verdict="above 1 too"
    calc_is "$3 > 1" || verdict="NOT ABOVE 1"
    row "$1" "$2${4:+ $4}" "$(short "$3")${4:+ $4}" C "> 1" "$verdict"
}

# beside FIGURE PUBLISHED COMPUTED [UNIT]
beside() {
    row "$1" "$2${4:+ $4}" "$(short "$3")${4:+ $4}" - - "not claimed"
}

# unnamed FIGURE COMPUTED [UNIT]
unnamed() {
    row "$1" - "$(short "$2")${3:+ $3}" - - "none published"
}

# without FIGURE PUBLISHED
without() {
    row "$1" "$2" - Q - "not simulated"
}

# table: the rows in columns, in Markdown
table() {
    printf '%s\n' "figure|published|computed|class|tolerance|verdict" "${rows[@]}" | awk -F '|' '
        {
            for (i = 1; i <= NF; i++) {
                cell[NR, i] = $i
                if (length($i) > width[i]) width[i] = length($i)
            }
        }
        function line(n,   i, side) {
            for (i = 1; i <= NF; i++) {
                side = i == 2 || i == 3 ? "" : "-"
                printf "| %" side width[i] "s ", cell[n, i]
            }
            print "|"
        }
        function rule(   i, dashes) {
            for (i = 1; i <= NF; i++) {
                dashes = sprintf("%" width[i] "s", "")
                gsub(/ /, "-", dashes)
                if (i == 2 || i == 3) sub(/-$/, ":", dashes)
                printf "| %s ", dashes
            }
            print "|"
        }
        END {
            line(1)
            rule()
            for (n = 2; n <= NR; n++) line(n)
        }'
}

# tally: how often there is each verdict
tally() {
    printf '%s\n' "${rows[@]##*|}" | awk '
        !seen[$0]++ { order[++kinds] = $0 }
        { count[$0]++ }
        END {
            printf "%d figures:", NR
            for (i = 1; i <= kinds; i++) {
                printf "%s %d %s", (i > 1 ? "," : ""), count[order[i]], order[i]
            }
            print ""
        }'
}

# finish TITLE: the last call
finish() {
    printf '%s\n\n' "$1"
    table
    echo
    tally
    ! grep -qE '[|](NOT EQUAL|OUTSIDE|NOT ABOVE 1)$' <<<"$(printf '%s\n' "${rows[@]}")"
    exit
}
