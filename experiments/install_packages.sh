#!/usr/bin/env bash
# Installs the Debian packages that sluice needs, the missing ones only; silent when none is missing.
#
#   install_packages.sh --for run     what the program needs to be built
#   install_packages.sh --for tests   that, and what the tests need
set -euo pipefail

run_packages=(
    gcc libc6-dev cmake ninja-build pkg-config
    libgsl-dev libyaml-dev libsqlite3-dev libjson-c-dev libhdf5-dev
)
test_packages=(g++ clang clang-format libcmocka-dev sqlite3 valgrind)

say() { printf '%s\n' "$*" >&2; }

usage() {
    say "usage: install_packages.sh --for run|tests"
    exit 2
}

case "$*" in
"--for run") wanted=("${run_packages[@]}") ;;
"--for tests") wanted=("${run_packages[@]}" "${test_packages[@]}") ;;
*) usage ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This system has no apt-get, so nothing is installed here. Needed, by their Debian names:"
    say "  ${wanted[*]}"
    exit 0
fi

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        say "These packages are missing, and installing them takes root or sudo. Please run as root:"
        say "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        exit 1
    fi
    as_root=(sudo)
fi

say "installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >>"$log" 2>&1; }

# Older lists may still serve, so an unreachable mirror is fatal only if the installation fails too.
apt update || say "apt-get update failed; trying with the package lists at hand"
if ! apt install -y --no-install-recommends "${missing[@]}"; then
    cat "$log" >&2
    say "The packages could not be installed; the lines above are what apt-get said."
    exit 1
fi
