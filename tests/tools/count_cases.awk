# Counts test cases in ctest's JUnit report: prints "passed failed skipped".
#
# For an executable of cmocka each of its cases counts. What it announced and neither passed nor
# skipped has failed: the case that crashed or hung, and those it kept from running. If ctest calls
# it failed though all its cases passed (a leak found at exit, say), that is one failure more.
# Any other test is one case.

/<testcase / {
    status = $0
    sub(/.* status="/, "", status)
    sub(/".*/, "", status)
    announced = ok = skips = 0
    has_cases = in_group = is_skip = 0
}

/<skipped message="SKIP_/ { is_skip = 1 }

/\[==========\] Running [0-9]+ test/ {
    count = $0
    sub(/.*\[==========\] Running /, "", count)
    announced += count + 0
    has_cases = in_group = 1
}

# After the last case a group lists its skipped cases once more.
/\[==========\] [0-9]+ test\(s\) run/ { in_group = 0 }
in_group && /\[       OK \]/ { ok++ }
in_group && /\[  SKIPPED \]/ { skips++ }

/<\/testcase>/ {
    if (has_cases) {
        lost = announced - ok - skips
        if (lost <= 0 && status != "run") {
            lost = 1
        }
        passed += ok
        failed += lost
        skipped += skips
    } else if (status == "run") {
        passed++
    } else if (is_skip) {
        skipped++
    } else {
        failed++
    }
}

END { print passed + 0, failed + 0, skipped + 0 }
