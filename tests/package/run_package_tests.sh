#!/usr/bin/env bash
# Builds and runs consumer/, a project outside coracle, in each way a project can come by coracle.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
consumer=$root/tests/package/consumer
export CXX=g++-12 CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL=1

# The subject here is not the compilation itself: a unit a library, unoptimised, and by clang where the compiler is of no account.
unity=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0)
release=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG" "${unity[@]}")
debug=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_CXX_COMPILER=clang++-22 "${unity[@]}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/results" "$work/one"

# A hundred small processes, each of which would load the malloc of ./dev's compilers.
configure() { LD_PRELOAD="" cmake "$@"; }

# Builds and installs coracle below $1.
install_below() {
  local prefix=$1
  shift
  configure -S "$root" -B "$prefix-build" -DCMAKE_INSTALL_PREFIX="$prefix-first" \
    -DCORACLE_BUILD_TESTS=OFF -DCORACLE_BUILD_EXAMPLES=OFF -DCORACLE_BUILD_TOUR=OFF -DCORACLE_BUILD_BENCH=OFF "$@"
  install_and_move "$prefix-build" "$prefix"
}
# Nothing installed may remember where it was.
install_and_move() {
  cmake --build "$1"
  cmake --install "$1"
  mv "$2-first" "$2"
}

build_and_run() {
  local build=$1
  shift
  configure -S "$consumer" -B "$build" "$@"
  cmake --build "$build" --target consumer
  [[ $("$build/consumer") == 42 ]]
}

find_package_static() { build_and_run "$work/a" -DCORACLE_BY=find_package -DCMAKE_PREFIX_PATH="$work/static"; }
find_package_component() {
  build_and_run "$work/b-$1" -DCORACLE_BY=find_package -DCORACLE_COMPONENTS="$1" -DCMAKE_PREFIX_PATH="$work/static"
}
find_package_testing() { find_package_component testing; }
find_package_io() { find_package_component io; }
# What g++ has built is good for clang too, and so are the tasks that it gives.
find_package_io_clang() {
  build_and_run "$work/b-clang" -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=io -DCMAKE_PREFIX_PATH="$work/static" \
    -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_BUILD_TYPE=Release
}
find_package_cppcoro() { find_package_component cppcoro; }
find_package_model() { find_package_component model; }
# The model checker and clang's ThreadSanitizer each have an operator new.
find_package_model_tsan() {
  build_and_run "$work/b-tsan" -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=model -DCMAKE_PREFIX_PATH="$work/static" \
    -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_CXX_FLAGS=-fsanitize=thread
}
# The program names nothing of the library: the variable that looks at the environment is linked all the same.
find_package_inspect() {
  find_package_component inspect
  [[ $(CORACLE_INSPECT=nowhere "$work/b-inspect/consumer" 2>&1) == *"cannot listen on 'nowhere'"*42 ]]
}
find_package_tls() { find_package_component tls; }
# Without it the rest needs no OpenSSL, and a program that asks for it is told why it is not there.
without_tls() {
  local output
  configure -S "$root" -B "$work/n" -DCORACLE_TLS=OFF -DCORACLE_BUILD_TESTS=OFF -DCORACLE_BUILD_EXAMPLES=OFF \
    -DCORACLE_BUILD_TOUR=OFF -DCORACLE_BUILD_BENCH=OFF
  [[ ! -e $work/n/coracle-tls.pc ]]
  output=$(configure -S "$consumer" -B "$work/n/consumer" -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=tls \
    -Dcoracle_DIR="$work/n" 2>&1) && return 1
  echo "$output"
  [[ $(tr -s '[:space:]' ' ' <<<"$output") == *"coracle has no component 'tls'"*"built without OpenSSL 3"* ]]
}
openssl_missing() {
  local output
  output=$(configure -S "$root" -B "$work/o" -DCORACLE_TLS=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON 2>&1) && return 1
  echo "$output"
  [[ $output == *"CORACLE_TLS needs OpenSSL 3"* ]]
}
# A plugin and the program that loads it, both of which link the shared libraries in $1.
loads_plugin() {
  local flags libraries
  libraries=$(dirname "$(find "$1" -name libcoracle.so)")
  flags=$(PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config --cflags --libs coracle)
  # shellcheck disable=SC2086  # the flags are words
  g++-12 -std=c++20 -O1 -fPIC -shared -fvisibility=hidden "$consumer/plugin.cpp" $flags -o "$work/plugin.so"
  # shellcheck disable=SC2086
  g++-12 -std=c++20 -O1 -fvisibility=hidden "$consumer/loads_plugin.cpp" $flags -o "$work/loads_plugin"
  [[ $(LD_LIBRARY_PATH=$libraries "$work/loads_plugin" "$work/plugin.so") == 42 ]]
}
# All of coracle in another project, which hides its symbols, and what that one installs of it. What the archive lacked
# would be undefined.
add_subdirectory_shared() {
  local source=$root
  ((!is_checkout)) || source=$(unpacked_archive)
  build_and_run "$work/d" -DCORACLE_BY=add_subdirectory -DCORACLE_SOURCE="$source" -DBUILD_SHARED_LIBS=ON \
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--no-undefined -DCMAKE_CXX_VISIBILITY_PRESET=hidden \
    -DCMAKE_INSTALL_PREFIX="$work/shared-first" "${debug[@]}"
  install_and_move "$work/d" "$work/shared"
  mv "$work/d" "$work/d-moved"
  build_and_run "$work/c" -DCORACLE_BY=find_package -DCMAKE_PREFIX_PATH="$work/shared"
  loads_plugin "$work/shared"
}
# What the presets set, a project without a preset lacks.
without_preset() { configure -S "$root" -B "$work/l"; }
# As Nix and Guix configure it.
absolute_folders() {
  configure -S "$root" -B "$work/m" -DCMAKE_INSTALL_PREFIX=/opt/coracle -DCMAKE_INSTALL_LIBDIR=/opt/coracle/lib64 \
    -DCMAKE_INSTALL_INCLUDEDIR=/opt/coracle-headers -DCORACLE_BUILD_TESTS=OFF -DCORACLE_BUILD_EXAMPLES=OFF \
    -DCORACLE_BUILD_TOUR=OFF -DCORACLE_BUILD_BENCH=OFF
  # shellcheck disable=SC2016  # pkg-config expands it
  grep -Fx 'libdir=${prefix}/lib64' "$work/m/coracle-io.pc"
  # shellcheck disable=SC2016
  grep -Fx 'includedir=${prefix}/../coracle-headers/coracle-cppcoro' "$work/m/coracle-cppcoro.pc"
}
# The project itself does not look for OpenSSL, and asks for no warnings.
fetch_content() {
  build_and_run "$work/e" -DCORACLE_BY=fetch_content -DCORACLE_COMPONENTS=tls -DCORACLE_SOURCE="$root" "${debug[@]}" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  ! grep -e -Wconversion "$work/e/compile_commands.json"
}

unknown_component() {
  local output
  output=$(cmake -S "$consumer" -B "$work/f" -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=oar \
    -DCMAKE_PREFIX_PATH="$work/static" 2>&1) && return 1
  echo "$output"
  # On one line: CMake breaks long messages.
  output=$(tr -s '[:space:]' ' ' <<<"$output")
  [[ $(grep -o "coracle has no component 'oar'; it has: coracle, testing, io, testing_io, cppcoro, model, inspect, tls" \
    <<<"$output" | wc -l) == 1 ]]
}

# vcpkg and Conan are not in Debian: stand-ins run the recipes, with the build of `install` in place of a new one.
vcpkg_port() {
  cmake -DPORTFILE="$root/packaging/vcpkg/coracle/portfile.cmake" -DBUILT="$work/static-build" -DPACKAGES="$work/vcpkg" \
    -P "$root/tests/package/recipes/vcpkg.cmake"
  build_and_run "$work/k" -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=io -DCMAKE_PREFIX_PATH="$work/vcpkg"
}
conan_recipe() { "$root/tests/package/recipes/check_conan.py" "$work/static-build" "$work/conan"; }

# $1: the package; $2: what of consumer/ is compiled with it; then the compiler's flags.
by_pkg_config() {
  local flags package=$1 source=$2
  shift 2
  flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$work/static" -name coracle.pc)") pkg-config --cflags --libs "$package")
  echo "$flags"
  # shellcheck disable=SC2086  # the flags are words
  g++-12 -std=c++20 -O1 "$@" "$consumer/$source.cpp" $flags -o "$work/by_$package$*"
  [[ $(LD_PRELOAD="" "$work/by_$package$*") == 42 ]] # AddressSanitizer refuses to come second
}
pkg_config() { by_pkg_config coracle coracle; }
pkg_config_cppcoro() { by_pkg_config coracle-cppcoro cppcoro; }
pkg_config_testing() { by_pkg_config coracle-testing testing; }
pkg_config_tls() { by_pkg_config coracle-tls tls; }
pkg_config_model() { by_pkg_config coracle-model model; }
# The program and the library keep free frames in lists of different kinds, and each destroys tasks of the other.
address_sanitizer() { by_pkg_config coracle-io stopped -fsanitize=address; }

# What only the parser can find, with the flags of the compilation: it fails if it runs without one.
finds_in_wrong() {
  local output
  output=$("$@" 2>&1) && return 1
  echo "$output"
  grep -q 'wrong.cpp:10: aggregate' <<<"$output"
}
# The commands for gdb and lldb find the rest of themselves where they were installed.
debugger_commands_installed() {
  gdb -q -batch -nx -x "$work/static/share/coracle/debugger/coracle_gdb.py" -ex 'help coracle' | grep '^coracle tasks -- '
  lldb-22 -b -x -o "command script import $work/static/share/coracle/debugger/coracle_lldb.py" -o 'help coracle' | grep '^ *tasks *-- '
  { "$work/static/bin/coracle-ps" 2>&1 || true; } | grep '^coracle-ps \[OPTION\] PID'
}
lint_by_cmake() {
  local build=$1
  shift
  configure -S "$consumer" -B "$build" "$@"
  cmake --build "$build" --target consumer_lint
  finds_in_wrong cmake --build "$build" --target wrong_lint
}
lint_installed() { lint_by_cmake "$work/h" -DCORACLE_BY=find_package -DCMAKE_PREFIX_PATH="$work/static"; }
lint_from_source() { lint_by_cmake "$work/i" -DCORACLE_BY=add_subdirectory -DCORACLE_SOURCE="$root"; }
lint_on_command_line() {
  finds_in_wrong "$work/static/bin/coracle-lint" --require-parser "$consumer/wrong.cpp" -- -I"$work/static/include" \
    -DELEMENT=std::string
}

clang_tidy() {
  local output
  output=$(clang-tidy-22 --config-file="$work/static/share/coracle/coracle.clang-tidy" "$consumer/holds_a_lock.cpp" -- \
    -std=c++20 -I"$work/static/include" 2>&1) && return 1
  echo "$output"
  grep -q "holds_a_lock.cpp:11.*'held' persists across a suspension point" <<<"$output"
}

# import coracle; without CMake, which could before 3.28 not either.
module_by_hand() {
  local flags=(-std=c++20 -Wall -Wextra -Werror)
  "$root/tools/module_unit.py" --check
  clang++-22 "${flags[@]}" -I"$root/include" --precompile "$root/modules/coracle.cppm" -o "$work/coracle.pcm"
  clang++-22 "${flags[@]}" -c "$work/coracle.pcm" -o "$work/coracle_module.o"
  clang++-22 "${flags[@]}" -fmodule-file=coracle="$work/coracle.pcm" -c "$consumer/module.cpp" -o "$work/imports.o"
  clang++-22 "$work/imports.o" "$work/coracle_module.o" "$(find "$work/static" -name libcoracle.a)" -pthread -o "$work/imports"
  [[ $("$work/imports") == 42 ]]
}
# With a CMake that can.
module() {
  local by=(-DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_BUILD_TYPE=Release)
  install_below "$work/with_module" -DCORACLE_BUILD_MODULE=ON "${by[@]}"
  build_and_run "$work/j" -DCORACLE_BY=find_package -DCORACLE_COMPONENTS=module -DCMAKE_PREFIX_PATH="$work/with_module" \
    -DCMAKE_CXX_SCAN_FOR_MODULES=ON "${by[@]}"  # as it is anyway for whoever requires CMake 3.28
}

# Two files of a program, one of which has the implementation, without exceptions by both compilers and with them by one: every
# build compiles the same code with exceptions.
single_header() {
  local by
  "$root/tools/single_header.py" "$work/one/coracle.hpp"
  sed 's,<coracle/.*>,"coracle.hpp",' "$consumer/coracle.cpp" >"$work/one/user.cpp"
  printf '#define CORACLE_IMPLEMENTATION\n#include "coracle.hpp"\n' >"$work/one/implementation.cpp"
  for by in g++-12 "g++-12 -fno-exceptions -fno-rtti" "clang++-22 -fno-exceptions -fno-rtti"; do
    # shellcheck disable=SC2086  # a compiler and its flags
    $by -std=c++20 -Wall -Wextra -Werror "$work/one/user.cpp" "$work/one/implementation.cpp" -pthread -o "$work/one/user"
    [[ $("$work/one/user") == 42 ]]
  done
}

# Prints the folder with what a source archive holds: the working tree as git would archive it, with no .git around.
unpacked_archive() {
  local index=$work/index objects=$work/objects tree
  mkdir "$objects" "$work/unpacked"
  in_git() {
    GIT_INDEX_FILE=$index GIT_OBJECT_DIRECTORY=$objects \
      GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git -C "$root" rev-parse --path-format=absolute --git-path objects) \
      git -C "$root" "$@"
  }
  in_git add -A
  tree=$(in_git write-tree)
  in_git archive "$tree" | tar -x -C "$work/unpacked"
  echo "$work/unpacked"
}

run_case() {
  local name=$1 status=0
  # In a shell of its own: `set -e` has no effect inside a condition.
  (set -x; "$name") >"$work/results/$name.log" 2>&1 &
  wait $! || status=$?
  if ((status == 0)); then
    echo "pass  $name"
  else
    touch "$work/results/$name.failed"
    echo "FAIL  $name"
    tail -n 25 "$work/results/$name.log" | sed 's/^/      /'
  fi
}

if ! CMAKE_BUILD_PARALLEL_LEVEL=2 install_below "$work/static" "${release[@]}" >"$work/install.log" 2>&1; then
  echo "FAIL  install"
  tail -n 25 "$work/install.log"
  echo "0 passed, 1 failed"
  exit 1
fi
cases=(find_package_static find_package_testing find_package_io find_package_io_clang find_package_cppcoro find_package_model find_package_model_tsan find_package_inspect find_package_tls without_tls openssl_missing unknown_component
  add_subdirectory_shared fetch_content without_preset absolute_folders pkg_config pkg_config_cppcoro pkg_config_testing pkg_config_tls pkg_config_model address_sanitizer
  vcpkg_port conan_recipe debugger_commands_installed lint_installed lint_from_source lint_on_command_line clang_tidy single_header module_by_hand)
skipped=0
if [[ $(printf '%s\n' "$(cmake --version | grep -oE '[0-9.]+' -m 1)" 3.28 | sort -V | head -n 1) == 3.28 ]]; then
  cases+=(module)
else
  skipped=1
  echo "skip  module: $(cmake --version | head -n 1) is older than 3.28"
fi
is_checkout=1
if ! git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  is_checkout=0
  skipped=$((skipped + 1))
  echo "skip  the archive of add_subdirectory_shared: this is no git checkout"
fi
started=0
for name in "${cases[@]}"; do
  ((started < 2)) || wait -n || true
  started=$((started + 1))
  run_case "$name" &
done
wait

failed=$(find "$work/results" -name '*.failed' | wc -l)
summary="$((${#cases[@]} - failed)) passed, $failed failed"
((skipped == 0)) || summary+=", $skipped skipped"
echo "$summary"
((failed == 0))
