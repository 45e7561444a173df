#!/usr/bin/env bash
# The small sums of sluice estimate, and the plots of its sweeps: refusals, figures of the guide, and
# that a plot is whole or absent.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

title "A number in few bits: wrong use"
sluice 2 estimate rounding
sluice 2 estimate rounding 0.7 0.8
sluice 2 estimate rounding much
sluice 2 estimate rounding 0.7 --bits 17
sluice 2 estimate rounding 0.7 --bits 2,,4
sluice 2 estimate rounding 0.7 --bits 2.5
sluice 2 estimate rounding 0.7 --range 1,0
sluice 2 estimate rounding 0.7 --range 1
sluice 2 estimate rounding 0.7 --bit 2

title "A block of a draft: wrong use"
sluice 2 estimate draft
sluice 2 estimate draft --accepted 2
sluice 2 estimate draft --block 4
sluice 2 estimate draft --block 4 --accepted 5
sluice 2 estimate draft --block 4 --accepted 2 --acceptance 0.5
sluice 2 estimate draft --block 257 --accepted 2
sluice 2 estimate draft --block 4 --acceptance 1.5
sluice 2 estimate draft --survival 0.5,0.7
sluice 2 estimate draft --block 2 --survival 0.7,0.5,0.4
sluice 2 estimate draft --block 4 --accepted 2 --draft-time 3
sluice 2 estimate draft 4

title "Rows at a length: wrong use"
sluice 2 estimate entries
sluice 2 estimate entries deepseek-v4-pro --tokens 0
quiet 3 estimate entries deepseek-v4-por

# json NAME [N]: the N-th value of that name in the last call
json() {
    sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" .said | sed -n "${2:-1}p"
}

# The guide, chapter 10: 0.70 in two bits is 2/3, 0.033 off, at 1/8 of 16 bits
quiet 0 estimate rounding 0.70 --bits 2 --json
between "0.70 in two bits" "$(json value)" 0.66666 0.66667
between "its error" "$(json error)" 0.03333 0.03334
equal "its size" "$(json size_frac)" 0.125
quiet 0 estimate rounding --range=-1,1 --bits 1,4 --json -- -0.4
equal "the lower of two levels" "$(json value)" -1.0
between "-0.4 in four bits" "$(json value 2)" -0.46667 -0.33333

# Chapter 21: A and B accepted, C replaced, D dropped
quiet 0 estimate draft --block 4 --accepted 2 --json
equal "tokens" "$(json tokens)" 3.0
equal "replaced and dropped" "$(json replaced) $(json dropped)" "1 1"
equal "positions" "$(json verified)" 5
equal "without times" "$(json token_ns) $(json speedup)" "null null"
# (1 - 0.8^8) / (1 - 0.8) tokens a round: of one pass of the draft, or of one for each candidate
timed=(estimate draft --block 7 --acceptance 0.8 --json)
timed+=(--draft-time '3 ms' --verify-time '25 ms' --step-time '20 ms')
quiet 0 "${timed[@]}"
between "tokens" "$(json tokens)" 4.16113 4.16114
equal "a round of 3 + 25 ms" "$(json round_ns)" 28000000.0
between "a token" "$(json token_ns)" 6728926.5 6728926.6
between "20 ms against it" "$(json speedup)" 2.97224 2.97225
quiet 0 "${timed[@]}" --serial
equal "a round of 7 x 3 + 25 ms" "$(json round_ns)" 46000000.0
quiet 0 estimate draft --survival 0.9,0.7,0.5 --json
between "1 + 0.9 + 0.7 + 0.5" "$(json tokens)" 3.0999 3.1001

# Chapter 20: a quarter of the positions, and one in 128
quiet 0 estimate entries deepseek-v4-pro --tokens 1Mi --json
equal "entries of CSA" "$(json kept_rows 2) $(json read_rows 2)" "262144 1024"
equal "entries of HCA" "$(json kept_rows 7) $(json read_rows 7)" "8192 8192"
quiet 0 estimate entries deepseek-v4-pro --tokens 131 --json
equal "tokens that wait" "$(json waiting_tokens 2) $(json waiting_tokens 7)" "3 3"

title "Plots: wrong use, and what is in the way"
sluice 2 estimate qwen3-32b --plot out.svg
sluice 2 estimate qwen3-32b --sweep tokens=1,two --plot out.svg
quiet 3 estimate --sweep model=qwen3-8b,qwen3-9b --plot out.svg
nothing_written "an unknown model"
sluice 7 estimate qwen3-32b --sweep tokens=1,2 --plot absent/out.svg
mkdir folder && echo precious >mine.svg
sluice 7 estimate qwen3-32b --sweep tokens=1,2 --plot folder --force
sluice 7 estimate qwen3-32b --sweep tokens=1,2 --plot mine.svg
equal "what was there" "$(cat mine.svg)" precious

# A grid, its file read by another program where there is one; the same bytes each time
grid=(estimate qwen3-32b --hardware h200 --sweep "tokens=1Ki,32Ki,128Ki" --sweep "kv=bf16,fp8")
quiet 0 "${grid[@]}"
cp .said without
quiet 0 "${grid[@]}" --plot mine.svg --force
cmp -s .said without || fail "a plot changes what is printed"
quiet 0 "${grid[@]}" --plot again.svg
cmp mine.svg again.svg || fail "two plots of one sweep differ"
! command -v xmllint >/dev/null || xmllint --noout mine.svg || fail "mine.svg is no XML"
equal "points of three panels" "$(grep -c '<circle' mine.svg)" 18
equal "the last of a panel" "$(grep -c '>bf16, 131,072: 32 GiB<' mine.svg)" 1
[ ! -e mine.svg.part ] || fail "a part was left"

# Lines run along the axis with numbers; names alone, and numbers that do not rise, make bars
quiet 0 estimate --sweep model=qwen3-8b,qwen3-4b --sweep tokens=1Ki,2Ki --plot turned.svg
equal "points" "$(grep -c '<circle' turned.svg)" 4
quiet 0 estimate qwen3-8b --sweep tokens=2Ki,1Ki --plot falling.svg
equal "bars" "$(grep -c '<rect class="mark"' falling.svg)" 2
quiet 0 estimate qwen3-8b --tokens 4Ki --sweep shared-prefix=0,1Ki --plot prefix.svg
equal "a prefix of nothing" "$(grep -c '<title>0: ' prefix.svg)" 1

finish
