# What the experiments share; sourced by the run.sh of each.
#
#   bash experiments/NN-name/run.sh [SLUICE]    default: build/release/sluice of this checkout
#
# An experiment computes figures with sluice and lays each beside the published one. The call for
# it depends on the class:
#
#   exact       A    arithmetic or logic: equal, to the digits that were published
#   within      B    the effect of a policy on a published or fitted model of time: within a tolerance
#   shape       C    shape only: in the same order, and within a factor of 2
#   turn        C    where a curve has its knee or its maximum: within a factor of 2
#   uncomputed  any  published, but nothing here computes it
#   carried     Q    published about quality: it stands beside the results of a run, as it was given
#   given       -    published, and what the run was told: neither computed nor claimed
#   beside      -    published, and shown beside it, for a reason that the README gives; not claimed
#   unnamed     -    of interest, but nobody published it
#   without     Q    quality: never computed
#
# A figure that misses is shown as one: NOT EQUAL, OUTSIDE or NOT COMPUTED. The README has to give
# the reason, under **Missed.**, and the call says that it is known: `missed within ...`.
#
# `finish` prints the table in Markdown, as it stands in the README of the experiment, and a line
# that counts the verdicts. The exit code is 1 if a figure misses that is not known to, and if one
# holds that is.
#
# shellcheck shell=bash
set -uo pipefail
export LC_ALL=C

usage="usage: bash experiments/NN-name/run.sh [SLUICE]   default: build/release/sluice of this checkout"
if [ "$*" = --help ]; then
    echo "$usage"
    exit 0
fi
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
    echo "$usage" >&2
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

# number PUBLISHED: the first in it, `up to 4` being 4; last_number: the last, of `2.35 to 3.47` the 3.47
number() {
    grep -oE '[0-9]+([.][0-9]+)?' <<<"${1//,/}" | head -n 1
}

last_number() {
    grep -oE '[0-9]+([.][0-9]+)?' <<<"${1//,/}" | tail -n 1
}

known=no      # whether the figure that comes is known to miss
surprises=()  # what nobody knew

# row FIGURE PUBLISHED COMPUTED CLASS TOLERANCE VERDICT
row() {
    local IFS='|' is_missed=no
    rows+=("$*")
    [[ ! $6 =~ ^(NOT EQUAL|OUTSIDE|NOT COMPUTED)$ ]] || is_missed=yes
    [ "$is_missed" = "$known" ] || surprises+=("$1: $6")
}

# missed CALL...: a figure that is known to miss, for the reason that the README gives
missed() {
    known=yes
    "$@"
    known=no
}

# exact FIGURE PUBLISHED COMPUTED [UNIT]
exact() {
    local found verdict=equal published
    published=$(number "$2")
    found=$(like "$published" "$3")
    if [ "${found//,/}" != "$published" ]; then
        found=$(short "$3")
        verdict="NOT EQUAL"
    fi
    row "$1" "$2${4:+ $4}" "$found${4:+ $4}" A 0 "$verdict"
}

# is_around LOW HIGH COMPUTED: all bounds included
is_around() {
    calc_is "$3 >= $1 && $3 <= $2"
}

# within FIGURE PUBLISHED PERCENT COMPUTED [UNIT]: published may be a range, `2.35 to 3.47`
within() {
    local verdict=within
    is_around "$(number "$2") * (1 - $3 / 100)" "$(last_number "$2") * (1 + $3 / 100)" "$4" ||
        verdict=OUTSIDE
    row "$1" "$2${5:+ $5}" "$(short "$4")${5:+ $5}" B "$3 %" "$verdict"
}

# shape FIGURE PUBLISHED COMPUTED [UNIT]: a ratio, which was published as one above 1
shape() {
    local verdict="same shape"
    calc_is "$3 > 1" && is_around "$(number "$2") / 2" "$(last_number "$2") * 2" "$3" ||
        verdict=OUTSIDE
    row "$1" "$2${4:+ $4}" "$(short "$3")${4:+ $4}" C "2 x" "$verdict"
}

# turn FIGURE PUBLISHED COMPUTED [UNIT]: where the knee or the maximum lies
turn() {
    local verdict="same place"
    is_around "$(number "$2") / 2" "$(number "$2") * 2" "$3" || verdict=OUTSIDE
    row "$1" "$2${4:+ $4}" "$(short "$3")${4:+ $4}" C "2 x" "$verdict"
}

# uncomputed FIGURE PUBLISHED CLASS
uncomputed() {
    row "$1" "$2" - "$3" - "NOT COMPUTED"
}

# given FIGURE PUBLISHED INPUT [UNIT]: what a run was told, so that it says the same
given() {
    row "$1" "$2${4:+ $4}" "$(short "$3")${4:+ $4}" - - "an input"
}

# beside FIGURE PUBLISHED COMPUTED [UNIT]
beside() {
    row "$1" "$2${4:+ $4}" "$(short "$3")${4:+ $4}" - - "not claimed"
}

# unnamed FIGURE COMPUTED [UNIT]
unnamed() {
    row "$1" - "$(short "$2")${3:+ $3}" - - "none published"
}

# carried FIGURE PUBLISHED: after `measure`, whose scenario gives it under `quality`
carried() {
    local found verdict=carried
    found=$(metric figure)
    calc_is "${found:-0} == $2" || verdict="NOT EQUAL"
    row "$1" "$2" "${found:--}" Q 0 "$verdict"
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
    if [ ${#surprises[@]} -gt 0 ]; then
        printf 'nobody knew: %s\n' "${surprises[@]}" >&2
        exit 1
    fi
    exit 0
}
