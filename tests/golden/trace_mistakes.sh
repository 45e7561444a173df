#!/usr/bin/env bash
# Mistakes in a trace: the line is named, exit 3, nothing written.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

# replay SOURCE FILE: a scenario that replays the file, in replay.yaml
replay() {
    cat >replay.yaml <<END
model: llama-3.1-8b
hardware: h100-sxm
cost: {fixed: {step: 1 ms}}
workload: {source: $1, file: $2}
END
}

good='{"timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": [1, 2]}'

title "No file, and a file of nothing"
replay mooncake absent.jsonl
sluice 3 run replay.yaml
: >empty.jsonl
replay mooncake empty.jsonl
sluice 3 run replay.yaml
: >empty.csv
replay azure empty.csv
sluice 3 run replay.yaml
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n' >header.csv
replay azure header.csv
sluice 3 run replay.yaml

title "A trace in another format than the scenario says"
for _ in $(seq 30); do echo "$good"; done >mooncake.jsonl
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n' >azure.csv
echo '{"timestamp_ns": 0, "input_length": 7, "output_length": 5, "hash_ids": [], "block_size": 0}' >own.jsonl
replay azure mooncake.jsonl
sluice 3 run replay.yaml
replay mooncake azure.csv
sluice 3 run replay.yaml
replay mooncake own.jsonl
sluice 3 run replay.yaml

title "A line that is not JSON, one that is cut short, and one without a length"
{
    echo "$good"
    echo 'hello'
    echo "$good"
    echo '{"timestamp": 3000, "input_length": 700, "output_'
    echo '{"timestamp": 3000, "output_length": 5, "hash_ids": []}'
} >lines.jsonl
replay mooncake lines.jsonl
sluice 3 run replay.yaml
sluice 3 trace info lines.jsonl

title "Times that are negative or undefined"
{
    echo '{"timestamp": -1, "input_length": 700, "output_length": 5, "hash_ids": [1, 2]}'
    echo '{"timestamp": NaN, "input_length": 700, "output_length": 5, "hash_ids": [1, 2]}'
    echo '{"timestamp": 1e999, "input_length": 700, "output_length": 5, "hash_ids": [1, 2]}'
    echo '{"timestamp": null, "input_length": 700, "output_length": 5, "hash_ids": [1, 2]}'
} >times.jsonl
replay mooncake times.jsonl
sluice 3 run replay.yaml

title "Prompts of nothing, lengths below zero, ids that are no 64-bit numbers"
{
    echo '{"timestamp": 0, "input_length": 0, "output_length": 5, "hash_ids": []}'
    echo '{"timestamp": 0, "input_length": -7, "output_length": 5, "hash_ids": []}'
    echo '{"timestamp": 0, "input_length": 7, "output_length": 1.5, "hash_ids": [1]}'
    echo '{"timestamp": 0, "input_length": 7, "output_length": 5, "hash_ids": [-1]}'
    echo '{"timestamp": 0, "input_length": 7, "output_length": 5, "hash_ids": [18446744073709551616]}'
    echo '{"timestamp": 0, "input_length": 7, "output_length": 5, "hash_ids": ["1"]}'
} >numbers.jsonl
replay mooncake numbers.jsonl
sluice 3 run replay.yaml

title "No output, refused unless the scenario says what to do with it"
echo '{"timestamp": 0, "input_length": 7, "output_length": 0, "hash_ids": [1]}' >no_output.jsonl
replay mooncake no_output.jsonl
sluice 3 run replay.yaml

title "Ids that do not fit the prompt"
echo '{"timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": [1, 2, 3]}' >ids.jsonl
replay mooncake ids.jsonl
sluice 3 run replay.yaml
echo '{"timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": []}' >no_ids.jsonl
replay mooncake no_ids.jsonl
sluice 3 run replay.yaml

title "Earlier than the line before, where the scenario wants order"
{
    echo '{"timestamp": 3000, "input_length": 7, "output_length": 1, "hash_ids": [1]}'
    echo '{"timestamp": 1000, "input_length": 7, "output_length": 1, "hash_ids": [1]}'
} >unsorted.jsonl
replay mooncake unsorted.jsonl
sluice 3 run replay.yaml --set workload.unsorted=error

title "Rows of a table that are no rows"
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\r\n%s\r\n%s\r\n%s\r\n%s\r\n' \
    '2023-11-16 18:15:46.6805900,374,44' \
    '2023-11-16 18:15:50.9951690,396' \
    '2023-11-16 25:15:51.2224670,879,55' \
    '2023-11-16 18:15:52.0000000,many,55' >rows.csv
replay azure rows.csv
sluice 3 run replay.yaml
printf 'time,prompt,output\n1,2,3\n' >columns.csv
replay azure columns.csv
sluice 3 run replay.yaml

title "A large file that was not fetched, and binary data"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3029533\n' >pointer.jsonl
replay mooncake pointer.jsonl
sluice 3 run replay.yaml
printf '\0\001\002\377\n' >binary.jsonl
replay mooncake binary.jsonl
sluice 3 run replay.yaml

title "More mistakes than anybody wants to read"
{ echo "$good"; for _ in $(seq 100); do echo 'hello'; done; } >many.jsonl
replay mooncake many.jsonl
sluice 3 run replay.yaml

title "No JSON at all"
{ echo 'time,prompt,output'; for i in $(seq 100); do echo "$i,2,3"; done; } >table.csv
replay mooncake table.csv
sluice 3 run replay.yaml

title "A window that holds nothing, and one that ends before it begins"
echo "$good" >good.jsonl
replay mooncake good.jsonl
sluice 3 run replay.yaml --set "workload.window.from=10 s"
sluice 3 run replay.yaml --set "workload.window.from=10 s" --set "workload.window.to=5 s"

finish
