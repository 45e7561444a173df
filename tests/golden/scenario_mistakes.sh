#!/usr/bin/env bash
# Mistakes in a scenario: each named with its place and its cure, exit 3, nothing written.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"
cp "$scenarios/small.yaml" .

title "A key that does not exist"
cat >unknown.yaml <<'END'
extends: small.yaml
engine:
  max_seq: 64
output: {dri: out}
END
sluice 3 run unknown.yaml

title "A unit of the wrong kind, and one that does not exist"
cat >unit.yaml <<'END'
extends: small.yaml
engine: {max_batched_tokens: 8 GiB}
run: {warmup: 10 fortnights}
END
sluice 3 run unit.yaml

title "A number without its unit"
cat >bare.yaml <<'END'
extends: small.yaml
slo: {ttft: 500}
workload:
  rate: 10
END
sluice 3 run bare.yaml

title "The same key twice"
cat >twice.yaml <<'END'
extends: small.yaml
seed: 1
seed: 2
END
sluice 3 run twice.yaml

title "A tab"
printf 'extends: small.yaml\nengine:\n\tmax_seqs: 4\n' >tab.yaml
sluice 3 run tab.yaml

title "A file cut short"
printf 'extends: small.yaml\nengine: {max_seqs: 4,\n' >short.yaml
sluice 3 run short.yaml

title "Binary data"
printf '\177ELF\002\001\001\000\000\377\376' >binary.yaml
sluice 3 run binary.yaml

title "An empty file, and none"
: >empty.yaml
sluice 3 run empty.yaml
sluice 3 run absent.yaml

title "A list where a mapping belongs"
printf -- '- sluice: 1\n' >list.yaml
sluice 3 run list.yaml

title "Anchors, and extends that go in a circle"
printf 'extends: small.yaml\nengine: &e {max_seqs: 4}\n' >anchor.yaml
sluice 3 run anchor.yaml
printf 'extends: b.yaml\n' >a.yaml
printf 'extends: a.yaml\n' >b.yaml
sluice 3 run a.yaml

title "Values out of range, and words that are no choice"
cat >range.yaml <<'END'
extends: small.yaml
replicas: {count: 0, tp: 3}
memory: {utilization: 1.5}
engine: {order: fifo, policy: vllm}
END
sluice 3 run range.yaml

title "A prompt of no tokens, and no requests at all"
cat >zero.yaml <<'END'
extends: small.yaml
workload: {prompt: {fixed: 0 tokens}, requests: 0}
END
sluice 3 run zero.yaml

title "Negative and undefined numbers"
cat >nan.yaml <<'END'
extends: small.yaml
workload: {rate: nan /s}
run: {warmup: -1 s, time_limit: inf s}
END
sluice 3 run nan.yaml

title "A run that ends before it measures"
sluice 3 check small.yaml --set run.warmup='10 s' --set run.until='10 s'
sluice 3 check small.yaml --set run.warmup='10 s' --set run.time_limit='5 s'
sluice 3 check small.yaml --set run.warmup='10 s' --set run.until='11 s' --set run.time_limit='5 s'
sluice 0 check small.yaml --set run.warmup='10 s' --set run.until='11 s'

title "A context that the model was not made for"
sluice 0 check small.yaml --set engine.max_model_len='131072 tokens'
sluice 0 check small.yaml --set engine.max_model_len='131073 tokens'

title "Two things where one is asked for"
cat >both.yaml <<'END'
extends: small.yaml
workload: {prompt: {fixed: 10 tokens, uniform: {min: 1 tokens, max: 2 tokens}}}
END
sluice 3 run both.yaml

title "What is left out is missed where it would stand"
sluice 3 check small.yaml --set workload.system_prompts='{count: 3}'

title "A length alone, where a kind of lengths is asked for"
sluice 3 run small.yaml --set "workload.prompt=1000 tokens"

title "What is needed and not given"
printf 'sluice: 1\n' >bare_bones.yaml
sluice 3 run bare_bones.yaml

title "On the command line"
sluice 3 run small.yaml --set engine.max_seq=4
sluice 2 run small.yaml --set engine.max_seqs
sluice 3 run small.yaml --set seed=x --set engine.block=0

title "Parallelism that runs do not have"
for key in pp ep dp cp; do
    sluice 3 check small.yaml --set replicas.$key=2
done
sluice 0 check small.yaml --set replicas.pp=1
sluice 3 check small.yaml --set replicas.pp=0 --set engine.async_depth=2

title "Keys of a method that are not known, of no method, and of a mapping within itself"
sluice 3 check small.yaml --set 'keep={method: h2o, hevy: 0.1}'
sluice 3 check small.yaml --set 'keep={method: h2o, budget: 0.1}'
sluice 3 check small.yaml --set 'keep={heavy: 0.1}'
sluice 3 check small.yaml --set 'keep={keep: h2o}'
sluice 3 check small.yaml --set model.model=llama-3.1-8b
sluice 3 check small.yaml --set 'cost={roofline: {share: 1}}'

title "Models, devices and policies that are not known"
sluice 3 run small.yaml --set model=llama-3.1-9b
sluice 3 run small.yaml --set hardware=h100
sluice 3 run small.yaml --set route=roundrobin
sluice 3 run small.yaml --set engine.policy=mine

title "Model, device, policy and trace, all of them wrong"
mkdir deep
cat >deep/all.yaml <<'END'
model: lama-3.1-8b
hardware: H100-SMX
engine: {policy: orca}
workload: {source: azure, file: ../absent.csv}
END
sluice 3 check deep/all.yaml
sluice 3 check deep/all.yaml --set model=llama-3.1-8b --set replicas.tp=3

title "A key beside a model that was named in short"
sluice 3 check small.yaml --set model.weights=int3
sluice 3 check small.yaml --set model.kv=kivi
sluice 0 check small.yaml --set model.kv=kivi2
sluice 0 check small.yaml --set model.weights=bf16 --set route.policy=round_robin
sluice 3 check small.yaml --set hardware.tp=2

title "Kernels of attention and ways of latents"
sluice 3 check small.yaml --set attention.kernel=flash
sluice 3 check small.yaml --set attention.kernel=fa4
sluice 3 check small.yaml --set attention.mla_decode=absorb
sluice 3 check small.yaml --set attention.append=copied
sluice 3 check small.yaml --set attention.append=copy --set cost=pnorm
sluice 3 check small.yaml --set attention.mla_prefill=expanded
sluice 3 check small.yaml --set attention.kernel=fa2 --set cost=pnorm

title "Files that a scenario names and that are not there"
printf '%s\n' 'extends: ../small.yaml' 'model: ./mine.yaml' 'hardware: ./ours.yaml' >deep/absent.yaml
sluice 3 check deep/absent.yaml

title "The nearest of many names is said once"
sluice 3 check small.yaml --set model=gpt-oss-120

title "The same mistakes are found without running"
sluice 3 check unknown.yaml

finish
