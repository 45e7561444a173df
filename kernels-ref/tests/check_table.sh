#!/usr/bin/env bash
# check_table.sh PRINT_TABLE README.md: fails unless the table under "Work" in README.md is what the
# program prints.
set -euo pipefail
diff <("$1") <(awk '/^## / { in_table = $0 ~ /^## Work/ } in_table && /^\|/' "$2") ||
    { echo "README.md, section Work: the lines with '>' are there, those with '<' belong there" && exit 1; }
