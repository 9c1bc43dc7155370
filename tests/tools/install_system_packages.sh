#!/usr/bin/env bash
# Installs the Debian packages named as arguments that are missing; asks apt-get for nothing when all are there.
# `a|b` is the first of these that apt-get knows; where nothing can be installed, any of them that is there will do.
set -euo pipefail

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

missing=() needed=()
for choice in "$@"; do
    IFS='|' read -ra packages <<<"$choice"
    is_installed "${packages[0]}" && continue
    missing+=("$choice")
    is_there=
    for package in "${packages[@]:1}"; do
        ! is_installed "$package" || is_there=1
    done
    [ -n "$is_there" ] || needed+=("${packages[0]}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    [ "${#needed[@]}" -gt 0 ] || exit 0
    echo "These packages are missing, and there is no apt-get to install them: ${needed[*]}" >&2
    echo "Install what they hold with this system's own package manager, then run make again." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        [ "${#needed[@]}" -gt 0 ] || exit 0
        echo "These packages are missing: ${needed[*]}" >&2
        echo "Run as root: apt-get install ${needed[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "Installing system packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT

install() {
    "${as_root[@]}" apt-get update || return
    local wanted=()
    for choice in "${missing[@]}"; do
        IFS='|' read -ra packages <<<"$choice"
        for package in "${packages[@]}"; do
            if [ "${#packages[@]}" = 1 ] || apt-cache show "$package" >/dev/null 2>&1; then
                wanted+=("$package")
                break
            fi
        done
    done
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install --yes --no-install-recommends "${wanted[@]}"
}

if ! install >"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    [ "${#needed[@]}" -eq 0 ] || exit 1
    echo "The tests do without them." >&2
fi
