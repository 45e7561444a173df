#!/usr/bin/env bash
# sluice models import as it is used: what it prints, refuses, and never overwrites.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

cat >config.json <<'JSON'
{
  "model_type": "qwen3_moe",
  "hidden_size": 2048,
  "num_hidden_layers": 4,
  "num_attention_heads": 32,
  "num_key_value_heads": 4,
  "head_dim": 128,
  "vocab_size": 151936,
  "max_position_embeddings": 40960,
  "intermediate_size": 6144,
  "num_experts": 128,
  "num_experts_per_tok": 8,
  "moe_intermediate_size": 768,
  "mlp_only_layers": [0],
  "rope_scaling": null,
  "favourite_colour": "blue"
}
JSON
# with KEY VALUE: config.json with another value, as other.json
with() {
    sed "s/\"$1\": .*[^,]/\"$1\": $2/" config.json >other.json
}

title "A model file on the standard output, with a warning"
sluice 0 models import config.json --name "Small MoE"

title "Into a file, once"
sluice 0 models import config.json -o mine.yaml
cp mine.yaml kept.yaml
sluice 7 models import config.json --name other -o mine.yaml
cmp -s mine.yaml kept.yaml || fail "mine.yaml was overwritten"
sluice 7 models import config.json -o no/such/folder/out.yaml
"$sluice_program" models import config.json 2>/dev/null | cmp -s - mine.yaml ||
    fail "the file is not what the standard output has"

title "It explains itself as any model does"
only='parameters|source|moe|dense' sluice 0 models ./mine.yaml

title "Wrong use"
sluice 2 models import
sluice 2 models import config.json other.json
sluice 2 models import config.json --kv fp8
sluice 2 models import config.json --famly llama
sluice 2 models import config.json --family lama
sluice 2 models llama-3.1-8b -o out.yaml

title "Files that are none"
head -c 100 config.json >cut.json
sluice 3 models import cut.json -o out.yaml
sluice 3 models import mine.yaml
sluice 3 models import absent.json
sluice 3 models import .
: >empty.json
sluice 3 models import empty.json

title "Fields that are wrong, or not understood"
with num_key_value_heads 5
sluice 3 models import other.json -o out.yaml
with hidden_size '"wide"'
sluice 3 models import other.json
with mlp_only_layers '[4]'
sluice 3 models import other.json
with favourite_colour '1, "kv_lora_rank": 512'
sluice 3 models import other.json
with model_type '"qwen3_mo"'
sluice 3 models import other.json

title "A family that the file is known not to be"
with rope_scaling null
sluice 0 models import other.json --family qwen2_moe
sluice 0 models import config.json --family qwen3_moe

title "A file that has to be imported first, and one that is a model and no scenario"
sluice 3 models config.json
sluice 3 run config.json
cp "$scenarios/small.yaml" .
sluice 3 check small.yaml --set model=./config.json
sluice 3 run mine.yaml

title "The page knows the families"
for family in $(sed -n '/^    llama, Yi/,/^$/p' "$golden_dir"/../../sim/cli/pages/models.md | tr -d ','); do
    "$sluice_program" models import config.json --family "$family" >.said 2>&1 || true
    ! grep -q 'there is no family' .said || fail "the page lists $family"
done

# The file stands in a scenario as a name of the catalogue does, and costs the same time.
cat >plain.json <<'JSON'
{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
 "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
 "max_position_embeddings": 131072}
JSON
quiet 0 models import plain.json -o plain.yaml
sed '/^cost:/d' "$scenarios/small.yaml" >named.yaml
digest_with() {
    quiet 0 run named.yaml --set "model=$1"
    grep -o 'digest [0-9a-f]*' .said
    rm -rf out
}
named=$(digest_with llama-3.1-8b)
[ "$named" != "$(digest_with qwen3-32b)" ] || fail "the digest does not depend on the model"
equal "the digest with an imported llama-3.1-8b" "$(digest_with ./plain.yaml)" "$named"

finish
