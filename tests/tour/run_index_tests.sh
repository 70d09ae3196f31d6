#!/usr/bin/env bash
# Compares the tour's index with find, wc and grep, on trees with every odd kind of file.
# Usage: run_index_tests.sh PRINT_INDEX
# shellcheck disable=SC2317  # the tests are called by name
set -Eeuo pipefail
export LC_ALL=C
(($# == 1)) || { echo "usage: run_index_tests.sh PRINT_INDEX" >&2; exit 2; }

work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
trap 'echo "  line $LINENO: $BASH_COMMAND"' ERR
chmod 755 "$work"
# A user without privileges may not be able to look where the build is.
cp "$1" "$work/print_index"
chmod 755 "$work/print_index"

# Root may read everything: what is to be unreadable is looked at by a user without privileges.
as_user=()
if ((EUID == 0)); then as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
user() { "${as_user[@]}" "$@"; }

index() { timeout 120 "$work/print_index" "$@"; }

# What find, wc and grep say of the text files below $1, in the words of print_index.
expected() {
  local lines words bytes
  find "$1" -type f -print0 2>/dev/null | xargs -0r grep -LZaP '\x00' 2>/dev/null >"$work/texts" || true
  read -r lines words bytes _ < <(wc -lwc --files0-from="$work/texts" | tail -n 1)
  printf 'files %s\nlines %s\nwords %s\nbytes %s\n' "$(tr -cd '\0' <"$work/texts" | wc -c)" \
    "$lines" "$words" "$bytes"
  xargs -0r grep -aohE '[A-Za-z0-9_]+' <"$work/texts" | awk '/^[^0-9]/ && length($0) <= 255' | sort | uniq -c |
    sort -k1,1nr -k2,2 | awk 'NR <= 10 { print "name", $1, $2 }'
}
same() { diff -u --label expected --label found "$1" "$2"; }

# 300 files of words, punctuation and odd bytes, many of them as long as a read buffer, or one byte off.
make_random_tree() {
  python3 - "$1" <<'END'
import os, random, sys
root = sys.argv[1].encode()
choose = random.Random(2026)
names = [b"int", b"const", b"x1", b"_y", b"9to5", b"a" * 255, b"b" * 256, b"Int", b"\xc3\xa9t\xc3\xa9"]
between = [b" ", b"\n", b"\t", b"\r\n", b"\v", b"\f", b"+", b"->", b"\x01", b"\x7f", b"\xff", b"\xa0", b"{ "]
sizes = [0, 1, 100, 5000, 262143, 262144, 262145, 524288, 524289, 1000003]
for number in range(300):
    folder = os.path.join(root, *[b"d%d" % choose.randrange(4) for _ in range(choose.randrange(4))])
    os.makedirs(folder, exist_ok=True)
    size = choose.choice(sizes)
    piece = b"".join(choose.choice(names) + choose.choice(between) for _ in range(2000))
    with open(os.path.join(folder, b"f%d" % number), "wb") as file:
        file.write((piece * (size // len(piece) + 1))[:size])
END
}

random_tree_equals_wc() {
  mkdir "$work/random"
  make_random_tree "$work/random"
  expected "$work/random" >"$work/wanted"
  local threads
  for threads in 0 1 2 5; do
    index "$threads" "$work/random" >"$work/found"
    same "$work/wanted" "$work/found"
  done
}

make_odd_tree() {
  local tree=$1
  mkdir -p "$tree/sub/empty" "$tree/locked"
  : >"$tree/empty"
  printf 'one two\nthree' >"$tree/no final newline"
  printf '\n\n \n' >"$tree/blank"
  printf 'bad\0file\n' >"$tree/binary"
  { head -c 700000 < <(yes late_name); printf '\0'; } >"$tree/late binary"
  { head -c 262144 < <(yes edge_name); printf '\0'; } >"$tree/binary behind the first buffer"
  head -c 3000000 /dev/zero | tr '\0' x >"$tree/one long word"
  head -c 3000000 < <(yes 'long line') | tr '\n' ' ' >"$tree/one long line"
  printf 'strange name\n' >"$tree/sub/"$'a\nb'
  printf 'stranger name\n' >"$tree/sub/"$'\xff\xfe\x01'
  printf 'b\xc3\xa9 \xc3\xa9 \x01 a\x01b\n' >"$tree/odd bytes"
  printf 'secret words\n' >"$tree/unreadable"
  printf 'hidden words\n' >"$tree/locked/file"
  ln -s nowhere "$tree/dangling"
  ln -s looping "$tree/looping"
  ln -s .. "$tree/sub/up"
  ln -s empty "$tree/link to a file"
  ln "$tree/blank" "$tree/second name of blank"
  mkfifo "$tree/fifo" "$tree/sub/fifo"
  (cd "$tree" && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")')
  chmod 0 "$tree/unreadable" "$tree/locked"
}

odd_files_are_counted_or_skipped_with_a_reason() {
  local tree=$work/odd
  make_odd_tree "$tree"
  declare -f expected >"$work/expected.sh"
  touch "$work/texts"
  chmod 666 "$work/texts"
  # shellcheck disable=SC2016  # expanded by the inner shell
  user env work="$work" bash -c 'source "$work/expected.sh"; expected "$1"' - "$tree" >"$work/wanted"
  cat >>"$work/wanted" <<'END'
skipped 4 symbolic link
skipped 3 binary
skipped 2 FIFO
skipped 1 directory: permission denied
skipped 1 permission denied
skipped 1 socket
END
  grep -qx 'files 9' "$work/wanted"
  local threads
  for threads in 1 2; do
    user timeout 120 "$work/print_index" "$threads" "$tree" >"$work/found"
    same "$work/wanted" "$work/found"
  done
}

is_skipped() {
  printf 'files 0\nlines 0\nwords 0\nbytes 0\nskipped 1 %s\n' "$2" >"$work/wanted"
  index 2 "$1" >"$work/found"
  same "$work/wanted" "$work/found"
}
a_path_that_is_no_directory() {
  local tree=$work/paths
  mkdir "$tree"
  mkfifo "$tree/fifo"
  ln -s nowhere "$tree/dangling"
  is_skipped "$tree/fifo" FIFO
  is_skipped "$tree/dangling" 'not found'
  is_skipped "$tree/nothing" 'not found'
  is_skipped /dev/null device
  is_skipped /proc/self/mem 'Input/output error'

  printf 'just me' >"$tree/file"
  ln -s file "$tree/link"
  printf 'files 1\nlines 0\nwords 2\nbytes 7\nname 1 just\nname 1 me\n' >"$work/wanted"
  local path
  for path in "$tree/file" "$tree/link"; do
    index 2 "$path" >"$work/found"
    same "$work/wanted" "$work/found"
  done
  ln -s . "$tree/here"
  index 2 "$tree/here" >"$work/found"
  grep -qx 'files 1' "$work/found"
}

# 3000 directories deep: the path is longer than the kernel takes in one piece.
deep_tree() {
  python3 - "$work" <<'END'
import os, sys
os.chdir(sys.argv[1])
for _ in range(3000):
    os.mkdir("deep")
    os.chdir("deep")
with open("bottom", "w") as file:
    file.write("at last\n")
END
  printf 'files 1\nlines 1\nwords 2\nbytes 8\nname 1 at\nname 1 last\n' >"$work/wanted"
  index 2 "$work/deep" >"$work/found"
  same "$work/wanted" "$work/found"
}

# For two seconds, files and directories come, go, shrink, and turn into something else.
disturb() {
  python3 - "$1" <<'END'
import os, random, shutil, sys, time
root = sys.argv[1]
choose = random.Random(7)
end = time.monotonic() + 2
def write(path):
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK  # it may be a FIFO by now
    with open(os.open(path, flags, 0o644), "w") as file:
        file.write("some words\n" * choose.choice([1, 100, 100000]))
makers = [write, os.mkdir, os.mkfifo, lambda path: os.symlink("..", path), lambda path: os.truncate(path, 10)]
while time.monotonic() < end:
    path = os.path.join(root, *["n%d" % choose.randrange(6) for _ in range(choose.randrange(1, 4))])
    try:
        if choose.random() < 0.4:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.remove(path)
        elif os.path.lexists(path) and choose.random() < 0.5:
            os.rename(path, path + "x")
            os.rename(path + "x", path)
        else:
            choose.choice(makers)(path)
    except OSError:
        pass
END
}
a_tree_that_changes_meanwhile() {
  local tree=$work/changing disturber runs=0
  mkdir "$tree"
  disturb "$tree" &
  disturber=$!
  while kill -0 "$disturber" 2>/dev/null; do
    index 2 "$tree" >>"$work/changes"
    runs=$((runs + 1))
  done
  wait "$disturber"
  echo "  $runs runs; what they skipped:"
  grep '^skipped' "$work/changes" | cut -d' ' -f3- | sort | uniq -c
  ((runs >= 3))
}

failed=0
for test in random_tree_equals_wc odd_files_are_counted_or_skipped_with_a_reason a_path_that_is_no_directory \
  deep_tree a_tree_that_changes_meanwhile; do
  # A subshell of its own: in a condition, set -e would not end the test at its first failure.
  set +e
  (set -e; $test)
  result=$?
  set -e
  if ((result == 0)); then
    echo "passed: $test"
  else
    echo "FAILED: $test"
    failed=1
  fi
done
exit $failed
