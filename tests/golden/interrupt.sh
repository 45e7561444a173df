#!/usr/bin/env bash
# Runs that end early: by a signal, at the time limit, at the planned end.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .

# partial DIR: what the database says of it
partial() {
    sqlite3 "$1/run.sqlite" "SELECT is_partial, partial_reason FROM run"
}

# A run of hours by the wall clock, so that a signal always finds it at work.
endless=(--set workload.requests=1000000000 --set "run.time_limit=2500 h")

# interrupt SIGNAL DIR: starts it, waits until it has begun to write, sends the signal
interrupt() {
    local code
    "$sluice_program" run small.yaml "${endless[@]}" --out "$2" >said 2>&1 &
    local child=$!
    for _ in $(seq 100); do
        [ -d "$2.part" ] && break
        sleep 0.1
    done
    sleep 0.3
    kill -s "$1" "$child"
    wait "$child"
    code=$?
    equal "exit after $1" "$code" 6
    equal "what is marked after $1" "$(partial "$2")" "1|interrupted"
    grep -q partial said || fail "the summary after $1 does not say that it is partial"
    ! grep -q "press again" said || fail "a log has what is meant for a terminal"
    [ ! -e "$2.part" ] || fail "$1 left $2.part"
}
interrupt INT stopped
interrupt TERM ended

# Somebody who watches is told that the signal came.
if command -v script >/dev/null; then
    {
        echo 'echo $$ >pid'
        printf 'exec %q' "$sluice_program" && printf ' %q' run small.yaml "${endless[@]}" --out seen
    } >watched.sh
    script -qec "bash watched.sh" /dev/null >said </dev/null &
    for _ in $(seq 100); do
        [ -f seen.part/run.sqlite ] && break
        sleep 0.1
    done
    kill -s INT "$(cat pid)"
    wait $!
    equal "exit in a terminal" $? 6
    grep -q "stopping; press again to kill" said || fail "nothing is said in a terminal"
fi

title "The time limit is an accident: partial results, exit 6"
only='partial|warning' sluice 6 run small.yaml --set "run.time_limit=5 s" --out limit
between "finished within 5 s" "$(metric limit requests_finished_count)" 1 99

title "The planned end is none: exit 0"
only='partial|warning' sluice 0 run small.yaml --set "run.until=5 s" --out until
equal "requests of both" "$(metric until requests_finished_count)" \
    "$(metric limit requests_finished_count)"

finish
