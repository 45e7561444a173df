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
sluice 2 run small.yaml --out ""

title "An export that cannot be made"
sluice 7 run small.yaml --set output.dir=none --set output.trace=file/out.jsonl
sluice 7 run small.yaml --set output.trace=absent/out.jsonl
mkdir folder
sluice 7 run small.yaml --set output.trace=folder --force

title "An export in the folder that the result replaces"
sluice 7 run small.yaml --set output.trace=out/arrivals.jsonl
sluice 7 run small.yaml --set output.trace=./out.part
[ ! -e arrivals.jsonl.part ] || fail "a refusal left a part"

title "An export never destroys what the scenario is read from"
printf '%s\n' 'model: llama-3.1-8b' 'hardware: h100-sxm' >base.yaml
printf '%s\n' 'extends: base.yaml' 'workload: {source: sluice, file: arrivals.jsonl}' >again.yaml
quiet 0 run small.yaml --set output.dir=none --set output.trace=arrivals.jsonl
ln arrivals.jsonl same.jsonl
cksum ./*.yaml arrivals.jsonl >before
sluice 7 run again.yaml --force --set output.trace=again.yaml
sluice 7 run again.yaml --force --set output.trace=./base.yaml
sluice 7 run again.yaml --force --set output.trace=same.jsonl
cksum ./*.yaml arrivals.jsonl | diff before - || fail "an export destroyed an input"

title "An earlier export is replaced on request only"
sluice 7 run small.yaml --set output.dir=none --set output.trace=arrivals.jsonl --set seed=2
cksum ./*.yaml arrivals.jsonl | diff before - || fail "a refusal touched the export"
quiet 0 run small.yaml --set output.dir=none --set output.trace=arrivals.jsonl --set seed=2 --force
! cksum ./*.yaml arrivals.jsonl | diff -q before - >/dev/null || fail "--force replaced no export"

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

title "A link to a folder stands for the folder"
mkdir disk && ln -s disk/result linked && ln -s nowhere astray
sluice 7 run small.yaml --out linked
mkdir disk/result
quiet 0 run small.yaml --out linked
[ -f disk/result/run.sqlite ] || fail "no result where the link leads"
[ -L linked ] || fail "the link was replaced"

title "A folder has one writer"
"$sluice_program" run small.yaml --set workload.requests=1000000000 --set "run.time_limit=2500 h" \
    --out busy >/dev/null 2>&1 &
for _ in $(seq 100); do
    [ -f busy.part/run.sqlite ] && break
    sleep 0.1
done
sluice 7 run small.yaml --out busy
kill -KILL $! && wait $! 2>/dev/null
[ -f busy.part/run.sqlite ] || fail "the second run took the part of the first"
quiet 0 run small.yaml --out busy
[ -f busy/run.sqlite ] && [ ! -e busy.part ] || fail "the rest of a killed run is in the way"

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
# unread ARGUMENT...: onto a standard output that is full
unread() {
    "$sluice_program" "$@" >/dev/full 2>said
    equal "exit of sluice $* with standard output full" $? 7
    equal "what it says" "$(cat said)" "sluice: the standard output could not be written"
}
unread run small.yaml --set output.dir=none
unread run small.yaml --set output.dir=none --json
unread check small.yaml
unread check small.yaml --resolved
unread trace info arrivals.jsonl
unread trace info arrivals.jsonl --json
unread estimate llama-3.1-8b
unread models
unread hardware
unread policies
unread help
unread help run
unread --version

# A closed loop offers no rate of its own.
quiet 0 run "$scenarios/closed.yaml" --set output.dir=none
grep -q '^  throughput .* req/s · ' .said || fail "no throughput"
! grep -q offered .said || fail "a closed loop is offered a rate"

finish
