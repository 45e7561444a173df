#!/usr/bin/env bash
# Where results go: a whole result or none, and nothing of others is ever replaced (exit 7).
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .

title "A directory that cannot be made (below a file: root may write anywhere else)"
: >file
sluice 7 run small.yaml --out file/out
sluice 7 run small.yaml --out file
sluice 7 run small.yaml --out .
sluice 3 run small.yaml --out ""

title "An export that cannot be made"
sluice 7 run small.yaml --set output.dir=none --set output.trace=file/out.jsonl
sluice 7 run small.yaml --set output.trace=absent/out.jsonl

# Missing folders above a result are made; a refused run does not make them.
sluice 4 run small.yaml --out deep/down/result --set memory.utilization=0.1
[ ! -e deep ] || fail "a refused run made folders"
quiet 0 run small.yaml --out deep/down/result
[ -f deep/down/result/run.sqlite ] || fail "no result in folders that were missing"

title "Things of others are never replaced"
mkdir mine && echo precious >mine/notes.txt
sluice 7 run small.yaml --out mine
sluice 7 run small.yaml --out mine --force
equal "notes" "$(cat mine/notes.txt)" precious

title "An earlier result is replaced on request only"
quiet 0 run small.yaml --out result
first=$(digest result)
sluice 7 run small.yaml --out result --set seed=2
equal "the digest after a refusal" "$(digest result)" "$first"
quiet 0 run small.yaml --out result --set seed=2 --force
[ "$(digest result)" != "$first" ] || fail "--force replaced nothing"

title "Refused before the result is touched"
sluice 4 run small.yaml --out result --force --set memory.utilization=0.1
[ -f result/run.sqlite ] || fail "a refusal removed the result"

# on_full_disk CODE ARGUMENT...: as sluice, where no file may grow beyond 64 KiB; the request table
# of 5,000 requests and their export pass that with ease.
on_full_disk() {
    (
        ulimit -f 64
        golden_failures=0
        sluice "$@"
        [ "$golden_failures" -eq 0 ]
    ) || fail "a full disk: sluice $*"
}
many=(--set workload.requests=5000 --set output.requests=on)

title "A disk that is full: the database"
on_full_disk 7 run small.yaml "${many[@]}"

title "A disk that is full: the export"
on_full_disk 7 run small.yaml "${many[@]}" --set output.dir=none --set output.trace=out.jsonl

title "A disk that is full keeps the earlier result"
before=$(digest result)
on_full_disk 7 run small.yaml "${many[@]}" --out result --force
equal "the digest after a full disk" "$(digest result)" "$before"
equal "what a full disk left" "$(compgen -G 'result.*')" ""

title "Results that nobody can read any more"
"$sluice_program" run small.yaml --set output.dir=none >/dev/full 2>said
equal "exit with standard output full" $? 7
equal "what it says" "$(cat said)" "sluice run: the results could not be printed"

finish
