#!/usr/bin/env bash
# tests/dev/check_lock.sh -- two ./dev unit at once in one tree build one after the other. Nothing is really built: cmake and
# the compiler are scripts, and the first cmake waits until the second ./dev has said that it waits, too.
# SPDX-License-Identifier: MIT
set -euo pipefail
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree/tests/unit" "$work/tree/build/unit" "$work/tools"
cp "$root/dev" "$work/tree/dev"
touch "$work/tree/CMakePresets.json" "$work/tree/tests/unit/some_test.cpp"
mkfifo "$work/began" "$work/go_on"

cat >"$work/tools/dpkg-query" <<'END'
#!/bin/sh
echo installed
END
cat >"$work/tools/cmake" <<END
#!/bin/bash
[[ \$1 == --build ]] || { touch build/unit/build.ninja; exit; }
echo "build begins" >>"$work/log"
if mkdir "$work/first" 2>/dev/null; then echo >"$work/began"; read -r <"$work/go_on"; fi
echo "build ends" >>"$work/log"
END
cat >"$work/tools/g++-12" <<END
#!/bin/bash
printf '#!/bin/sh\nexit 0\n' >build/unit/some_unit_tests
chmod +x build/unit/some_unit_tests
END
chmod +x "$work"/tools/*

unit() { PATH=$work/tools:$PATH "$work/tree/dev" unit some; }
unit &
first=$!
read -r <"$work/began"
exec {second}< <(unit 2>&1 && echo passed)
read -r said <&"$second" || true
echo >"$work/go_on"
wait "$first"
read -r ended <&"$second" || true

status=0
expect() {
  [[ $2 == "$3" ]] || { echo "FAILED $1: $2, not $3"; status=1; }
}
expect "the second says that it waits" "$said" "waiting for another ./dev that builds in build/unit"
expect "the second then runs" "$ended" passed
expect "they build one after the other" "$(tr '\n' ';' <"$work/log")" "build begins;build ends;build begins;build ends;"
((status)) || echo "1 passed, 0 failed"
exit $status
