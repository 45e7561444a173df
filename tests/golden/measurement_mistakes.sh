#!/usr/bin/env bash
# Mistakes in a file of measurements: each named with its place, exit 3.
# shellcheck source=tests/golden/lib.sh
. "$(dirname "$0")/lib.sh"

header=format_version,kernel,backend,device,driver,toolkit,date,clock_hz,cache,launch,rows,width
header+=,algorithmic_flops,algorithmic_bytes,samples,time_min_ns,time_median_ns,time_p90_ns
header+=,peak_flops_per_s,peak_bytes_per_s,flops_frac,bytes_frac
row='1,rms_norm,cuda,H200,580.1,CUDA 13.0,2026-11-30T08:00:00Z,1.98e9,flushed,graph,3,64,4000,8000,5,100,200,300,1e12,4e11,0.02,0.1'

title "A good file, and one that is good but for a doubt"
printf '%s\n' "$header" "$row" >good.csv
sluice 0 check good.csv
printf '%s\n' "$header" "${row/,4e11,0.02,0.1/,2e10,0.02,2}" >doubt.csv
sluice 0 check doubt.csv
cp good.csv measured
sluice 0 check measured

title "Not measurements"
sluice 3 check absent.csv
: >empty.csv
sluice 3 check empty.csv
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n' >azure.csv
sluice 3 check azure.csv
cp good.csv good.h5
sluice 0 check good.h5
cp azure.csv azure.h5
sluice 3 check azure.h5
printf '\x89HDF\r\n\x1a\n' >damaged.h5
sluice 3 check damaged.h5

title "Columns"
printf '%s\n' "${header/,rows,/,row,}" "$row" >column.csv
sluice 3 check column.csv
printf '%s\n' "${header/,samples,/,splits,}" "$row" >missing.csv
sluice 3 check missing.csv

title "All mistakes at once"
printf '%s\n' "$header" "${row/cuda/cdua}" "${row/,100,200,/,300,200,}" "${row/H200/\"H200}" >many.csv
sluice 3 check many.csv
printf '%s\n' "$header" "$row" "$row" >twice.csv
sluice 3 check twice.csv

title "Options of scenarios"
sluice 2 check good.csv --set rows=4
sluice 2 check good.csv --resolved

finish
