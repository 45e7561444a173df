# What the golden tests share; sourced by each of them.
#
#   bash NAME.sh SLUICE             compares
#   bash NAME.sh SLUICE --refresh   writes what it compares with anew: look at the difference
#
# A test runs the program in an empty folder. `sluice CODE ARGUMENT...` asserts the exit code and
# adds a transcript of the call, which has to equal expected/NAME.txt at the end. A transcript is
# compared as text, so it holds messages and no simulated figures: those are compared with figures
# from outside by `equal` and `between`.
#
# shellcheck shell=bash disable=SC2034 # some names are used by the tests only
set -uo pipefail

golden_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
golden_name=$(basename "$0" .sh)
golden_failures=0

if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "usage: $golden_name.sh SLUICE [--refresh]" >&2
    exit 2
fi
sluice_program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
golden_refreshes=${2:-}
scenarios=$golden_dir/scenarios

golden_work=$(realpath "$(mktemp -d)")
golden_transcript=$(mktemp)
trap 'rm -rf "$golden_work" "$golden_transcript"' EXIT
cd "$golden_work" || exit 1

fail() {
    echo "FAILED: $*"
    golden_failures=$((golden_failures + 1))
}

# equal WHAT FOUND WANTED
equal() {
    [ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}

# between WHAT FOUND LOW HIGH, in reals
between() {
    awk -v x="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(x != "" && low <= x && x <= high) }' ||
        fail "$1 is '$2', not between $3 and $4"
}

# title TEXT: a heading in the transcript
title() {
    [ ! -s "$golden_transcript" ] || echo >>"$golden_transcript"
    echo "# $*" >>"$golden_transcript"
}

# The arguments as somebody would type them
as_typed() {
    local word
    for word in "$@"; do
        case $word in
        '' | *[!A-Za-z0-9_./=,:-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
}

# Drops what depends on where and when a test runs, and the figures that a simulation found.
without_circumstances() {
    sed -e "s|$golden_work/||g" -e 's/ · [^·]* simulated in .*//'
}

# sluice CODE ARGUMENT...: runs it and writes the transcript, of the lines only that match $only.
# What is refused must leave nothing behind.
sluice() {
    local wanted=$1 code
    shift
    "$sluice_program" "$@" >"$golden_work/.said" 2>&1 </dev/null
    code=$?
    {
        echo "\$ sluice$(as_typed "$@")"
        grep -aE "${only:-}" "$golden_work/.said" | without_circumstances
        echo "exit $code"
    } >>"$golden_transcript"
    [ "$code" -eq "$wanted" ] || {
        fail "sluice $*: exit $code, not $wanted"
        cat "$golden_work/.said"
    }
    case $wanted in 2 | 3 | 4 | 7) nothing_written "sluice $*" ;; esac
}

# quiet CODE ARGUMENT...: as sluice, without a transcript
quiet() {
    local wanted=$1 code
    shift
    "$sluice_program" "$@" >"$golden_work/.said" 2>&1 </dev/null
    code=$?
    [ "$code" -eq "$wanted" ] || {
        fail "sluice $*: exit $code, not $wanted"
        cat "$golden_work/.said"
    }
}

# No result, whole or half, under any of the names that the tests give to results.
nothing_written() {
    local found
    found=$(compgen -G 'out*')
    [ -z "$found" ] || fail "$1 left $found"
}

# metric DIR NAME
metric() {
    sqlite3 "$1/run.sqlite" "SELECT value FROM metric WHERE name = '$2'"
}

# digest DIR
digest() {
    sqlite3 "$1/run.sqlite" "SELECT digest FROM run"
}

# requests DIR: the whole request table as text, in one order
requests() {
    sqlite3 "$1/run.sqlite" "SELECT * FROM request ORDER BY source, idx"
}

# The scenarios that the tests on digests and sameness run.
scenario_names="small poisson closed priority orca shared system_prompts truncate conversations table"

# copy_scenarios: all of scenarios/ into the working folder, and the traces that they replay
copy_scenarios() {
    cp "$scenarios"/*.yaml .
    # 40 conversations of 5 turns; turn k repeats the k - 1 blocks before it, and all share block 1.
    awk 'BEGIN {
        for (i = 0; i < 200; i++) {
            turn = int(i / 40) + 1
            ids = "1"
            for (k = 1; k <= turn; k++) {
                ids = ids ", " (100 + 10 * (i * 7 % 40) + k)
            }
            printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d, ", \
                int(i * i / 4), 512 * turn + 1 + i * 37 % 512, 1 + i * 13 % 90
            printf "\"hash_ids\": [%s]}\n", ids
        }
    }' >conversations.jsonl
    awk 'BEGIN {
        printf "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        for (i = 0; i < 200; i++) {
            printf "2023-11-16 18:%02d:%02d.%07d,%d,%d\r\n", \
                15 + int(i / 40), i % 40, i * 7919 % 10000000, 1 + i * 97 % 3000, 1 + i * 31 % 250
        }
    }' >table.csv
}

# public_trace SOURCE/FILE: sets $trace. Without SLUICE_DATA the test is skipped; a file that is
# missing there is a failure.
public_trace() {
    if [ -z "${SLUICE_DATA:-}" ]; then
        echo "SLUICE_DATA is not set"
        exit 77
    fi
    trace=$SLUICE_DATA/traces/$1
    [ -f "$trace" ] || {
        echo "FAILED: $trace is missing"
        exit 1
    }
}

# The last call of a test.
finish() {
    local expected=$golden_dir/expected/$golden_name.txt
    if [ -s "$golden_transcript" ]; then
        if [ "$golden_refreshes" = --refresh ]; then
            cp "$golden_transcript" "$expected"
        else
            diff -u "$expected" "$golden_transcript" || fail "the transcript differs"
        fi
    fi
    [ "$golden_failures" -eq 0 ]
    exit
}
