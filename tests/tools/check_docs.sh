#!/usr/bin/env bash
# Runs the examples of the documentation: check_docs.sh ROOT SLUICE [PAGE.md...]
#
# Without pages: README.md, sim/README.md, experiments/ and sim/cli/pages/. The examples of a page
# run in order, in a folder of their own in which the sources stand as in a checkout, the program
# is build/release/sluice, and `sluice` alone is found too. What the words behind a fence mean:
#
#   ```yaml          a whole scenario: saved under the name in its first line, `# NAME.yaml`, and
#                    checked; without a name a part of one, checked on top of a small scenario
#   ```c             a file, saved under the name in its first line, `/* NAME.c */`
#   ```sh            commands, run one by one by bash: each has to succeed, or to end with the code
#                    in its comment, `# exit 3`
#   ```text output   what the commands before have printed, to the character; digests and wall
#                    times aside
#   ```text excerpt  the same with lines left out
#   data             needs public traces: skipped unless SLUICE_DATA names the folder above traces/
#   sqlite3          needs that program: skipped where it is not installed
#   untested         installs, downloads or takes minutes: not run
#
# Any other fence is text for people.
set -euo pipefail

root=$(realpath "${1:?usage: check_docs.sh ROOT SLUICE [PAGE.md...]}")
program=$(realpath "${2:?usage: check_docs.sh ROOT SLUICE [PAGE.md...]}")
shift 2
pages=("$@")
[ ${#pages[@]} -gt 0 ] ||
    pages=("$root"/README.md "$root"/sim/README.md "$root"/experiments/*/README.md
        "$root"/sim/cli/pages/*.md)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$program" "$scratch/bin/sluice"
export PATH="$scratch/bin:$PATH"

examples=0 skipped=0 faults=0
fault() {
    printf '%s:%s: %s\n' "${page#"$root"/}" "$line" "$1"
    faults=$((faults + 1))
}

# A checkout to stand in, without what earlier builds and runs left in the real one.
make_checkout() {
    rm -rf "$scratch/checkout"
    mkdir -p "$scratch/checkout/build/release"
    cd "$scratch/checkout"
    local entry
    for entry in "$root"/*; do
        case ${entry##*/} in
        build | out | traces) ;;
        *) ln -s "$entry" . ;;
        esac
    done
    ln -s "$program" build/release/sluice
    [ -z "${SLUICE_DATA:-}" ] || ln -s "$SLUICE_DATA/traces" traces
    cat >base.yaml <<'YAML'
model: llama-3.1-8b
hardware: h100-sxm
workload: {source: poisson, rate: 1 /s, requests: 10, prompt: {fixed: 100 tokens}, output: {fixed: 10 tokens}}
YAML
}

check_yaml() {
    local file=part.yaml
    if [[ $(head -n 1 "$scratch/block") =~ ^#\ ([A-Za-z0-9_-]+\.yaml)$ ]]; then
        file=${BASH_REMATCH[1]}
        cp "$scratch/block" "$file"
    else
        { echo "extends: base.yaml" && cat "$scratch/block"; } >"$file"
    fi
    sluice check "$file" >"$scratch/said" 2>&1 || fault "$(cat "$scratch/said")"
}

save_c() {
    if [[ $(head -n 1 "$scratch/block") =~ ^/\*\ ([A-Za-z0-9_-]+\.c)\ \*/$ ]]; then
        cp "$scratch/block" "${BASH_REMATCH[1]}"
    else
        fault "a file in C needs its name in the first line"
    fi
}

run_commands() {
    local command wanted code
    : >"$scratch/printed"
    while IFS= read -r command || [ -n "$command" ]; do
        while [[ $command == *\\ ]] && IFS= read -r more; do
            command=${command%\\}$more
        done
        wanted=0
        [[ $command =~ \#\ exit\ ([0-9]+) ]] && wanted=${BASH_REMATCH[1]}
        code=0
        bash -c "$command" >>"$scratch/printed" 2>"$scratch/said" </dev/null || code=$?
        [ "$code" -eq "$wanted" ] || fault "exit $code: $command
$(cat "$scratch/said")"
    done <"$scratch/block"
}

without_circumstances() {
    sed -E -e 's/digest [0-9a-f]{16}/digest/' -e 's/ simulated in .*/ simulated/' "$1"
}

# compare_output KIND: an output has no other lines, an excerpt none that was not printed.
compare_output() {
    diff <(without_circumstances "$scratch/block") <(without_circumstances "$scratch/printed") \
        >"$scratch/said" || true
    local strange='^[<>]'
    [ "$1" = output ] || strange='^<'
    ! grep -q "$strange" "$scratch/said" || fault "the output is another:
$(cat "$scratch/said")"
}

# run_block KIND WORD...
run_block() {
    local kind=$1 words=" ${*:2} "
    case $kind$words in
    *" untested "*) return ;;
    *" data "*) [ -n "${SLUICE_DATA:-}" ] || { skipped=$((skipped + 1)) && return; } ;;
    *" sqlite3 "*) command -v sqlite3 >/dev/null || { skipped=$((skipped + 1)) && return; } ;;
    esac
    case $kind in
    yaml) check_yaml ;;
    c) save_c ;;
    sh) run_commands ;;
    text)
        case $words in
        *" output "*) compare_output output ;;
        *" excerpt "*) compare_output excerpt ;;
        *) return ;;
        esac
        ;;
    *) return ;;
    esac
    examples=$((examples + 1))
}

run_page() {
    local text fence="" number=0
    while IFS= read -r text || [ -n "$text" ]; do
        number=$((number + 1))
        if [[ $text =~ ^\`\`\`(.*)$ ]]; then
            if [ -z "$fence" ]; then
                fence=${BASH_REMATCH[1]:-text} line=$number
                : >"$scratch/block"
            else
                # shellcheck disable=SC2086 # words
                run_block $fence
                fence=""
            fi
        elif [ -n "$fence" ]; then
            printf '%s\n' "$text" >>"$scratch/block"
        fi
    done <"$page"
    [ -z "$fence" ] || fault "this fence is not closed"
}

for page in "${pages[@]}"; do
    line=1
    page=$(realpath "$page")
    make_checkout
    run_page
done
echo "${#pages[@]} pages, $examples examples, $skipped skipped, $faults faults"
[ "$examples" -gt 0 ] && [ "$faults" -eq 0 ]
