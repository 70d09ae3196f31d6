#!/usr/bin/env bash
# Runs the unit tests on platforms that ./dev test leaves out: `./dev platforms [NAME...]`, all of them
# without names.
#
#   release    g++ 12 -O2: all unit tests, of which ./dev test takes those of coroutines
#   clang      clang 22 -O2: likewise
#   clang-19   the oldest clang that is supported: all unit tests, and the probes
#   libcxx     clang 22 with libc++
#   aarch64    g++ 12 for AArch64, run by qemu
#   trixie     g++ 14 of Debian 13, as C++23; also with clang 19 `import coracle;` (as root)
#   forky      g++ 15 or later of the Debian to come, as C++26; also `import coracle;` (as root)
#
# The last two are made by debootstrap in /var/tmp/coracle-NAME, and kept for the next time. There all headers
# are compiled as C++20, 23 and 26, too, the library is installed as README.md says, and a program linked with
# it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
. tools/debian_root.sh

# unit_tests PRESET [LEFT_OUT]
unit_tests() {
  cmake --preset "$1" && cmake --build --preset "$1" -j "$(nproc)" --target unit_tests &&
    ctest --test-dir "build/$1" -L '^unit$' -E "${2:-^$}" --no-tests=error --output-on-failure -j "$(nproc)"
}

# in_debian SUITE STANDARD [COMMAND PACKAGE...]: the unit tests with the g++ of another Debian; the command.
in_debian() {
  local suite=$1 standard=$2 also=${3:-true} machine=/var/tmp/coracle-$1
  if [[ ! -e $machine/complete ]]; then
    rm -rf --one-file-system "$machine"
    mkdir "$machine"
    make_debian_root "$suite" "$machine" g++ cmake ninja-build doctest-dev libssl-dev python3 \
      "${@:4}"
    touch "$machine/complete"
  fi
  rm -rf "$machine/root/coracle"
  mkdir "$machine/root/coracle"
  git ls-files -z | tar --null -T - -c | tar -x -C "$machine/root/coracle"
  cat >"$machine/root/run.sh" <<END
set -e
cd /root/coracle
for standard in 20 23 26; do
  printf '#include <coracle/%s.hpp>\n' coracle io testing tls/connect |
    g++ -std=c++\$standard -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ -
done
# Each file by itself, so that what it forgets to include shows.
cmake --preset install -DCMAKE_UNITY_BUILD=OFF
cmake --build --preset install
cmake --install build/install --prefix installed
cmake -S tests/package/consumer -B consumer -G Ninja -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=io \
  -DCMAKE_PREFIX_PATH=/root/coracle/installed
cmake --build consumer --target consumer
[ "\$(consumer/consumer)" = 42 ]
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS_DEBUG="-O1 -foptimize-sibling-calls --param=ggc-min-heapsize=1000000" \
  -DCMAKE_CXX_STANDARD=$standard -DCMAKE_UNITY_BUILD=ON -DCORACLE_UNIT_TESTS_TOGETHER=16 \
  -DCORACLE_BUILD_BENCH=OFF
cmake --build build -j "$(nproc)" --target unit_tests
ctest --test-dir build -L '^unit\$' --no-tests=error --output-on-failure
$also
END
  # Its mounts and what it starts end with it.
  unshare --mount --pid --fork --kill-child --propagation private bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$1" \
      env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 bash /root/run.sh' - "$machine"
}

release() { unit_tests release; }
clang() { unit_tests clang-all; }
clang_19() {
  unit_tests clang-19 && cmake --build --preset clang-19 -j "$(nproc)" --target probes &&
    ctest --test-dir build/clang-19 -L '^probe$' --no-tests=error --output-on-failure -j "$(nproc)"
}
libcxx() { unit_tests libcxx; }
aarch64() { unit_tests aarch64 epoll; }  # the others use epoll there, too: qemu emulates no io_uring
# For in_debian, behind a `by=` with CMake's arguments.
import_module='
cmake -S . -B module $by -DCMAKE_UNITY_BUILD=ON -DCORACLE_BUILD_MODULE=ON \
  -DCMAKE_INSTALL_PREFIX=/root/coracle/with_module \
  -DCORACLE_BUILD_TESTS=OFF -DCORACLE_BUILD_EXAMPLES=OFF -DCORACLE_BUILD_TOUR=OFF -DCORACLE_BUILD_BENCH=OFF
cmake --build module
cmake --install module
cmake -S tests/package/consumer -B imports $by -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=module \
  -DCMAKE_PREFIX_PATH=/root/coracle/with_module -DCMAKE_CXX_SCAN_FOR_MODULES=ON
cmake --build imports --target consumer
[ "$(imports/consumer)" = 42 ]'
trixie() {
  in_debian trixie 23 'by="-G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_BUILD_TYPE=Release"'"$import_module" \
    clang-19 clang-tools-19
}
forky() { in_debian forky 26 'by="-G Ninja -DCMAKE_BUILD_TYPE=Release"'"$import_module"; }

names=(release clang clang-19 libcxx aarch64 trixie forky)
(($#)) || set -- "${names[@]}"
for name in "$@"; do
  [[ " ${names[*]} " == *" $name "* ]] || {
    echo "dev platforms: no platform $name; there are ${names[*]}" >&2
    exit 2
  }
done
mkdir -p build/platforms
failed=0
for name in "$@"; do
  start=$SECONDS result=passed
  printf '%s ... ' "$name"
  # In a shell of its own: `set -e` has no effect inside a condition.
  (set -e; "${name/-/_}") >"build/platforms/$name.log" 2>&1 &
  wait $! || result=FAILED
  echo "$result, $((SECONDS - start)) s"
  [[ $result == passed ]] || { failed=1; tail -n 40 "build/platforms/$name.log"; }
done
exit "$failed"
