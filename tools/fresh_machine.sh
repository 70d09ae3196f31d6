#!/usr/bin/env bash
# Proves that a checkout works on a fresh Debian 12: makes a minimal system in a new folder, clones HEAD into it,
# runs `./dev demo` twice and `./dev test` once there, and prints how long each took. --keep leaves the folder.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm

keep=0
case "$#:${1:-}" in
  0:) ;;
  1:--keep) keep=1 ;;
  *)
    echo "usage: tools/fresh_machine.sh [--keep]" >&2
    exit 2
    ;;
esac
. "$checkout/tools/debian_root.sh"

machine=$(mktemp -d /var/tmp/fresh-machine.XXXXXX)
remove_machine() {
  if ((keep)); then
    echo "kept: $machine"
  else
    rm -rf --one-file-system "$machine"
  fi
}
trap remove_machine EXIT

make_machine() {
  make_debian_root "$suite" "$machine" git
  local apt=$machine/etc/apt
  rm -f "$apt/sources.list"
  cp -a /etc/apt/sources.list "$apt/" 2>/dev/null || true
  cp -a /etc/apt/sources.list.d /etc/apt/trusted.gpg.d "$apt/"
  cp -a /usr/share/keyrings "$machine/usr/share/"
  apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries|Languages)' >"$apt/apt.conf.d/90as-host" || true
  git clone --quiet --no-hardlinks "$checkout" "$machine/root/coracle"
}

# Runs a command in the new machine's checkout. The mounts end with it: they are in a namespace of its own.
inside() {
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --pid --fork --kill-child --propagation private bash -c '
    set -euo pipefail
    machine=$1
    shift
    mount -t proc proc "$machine/proc"
    mount --rbind /dev "$machine/dev"
    exec chroot "$machine" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      LC_ALL=C.UTF-8 http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" \
      sh -c "cd /root/coracle && exec \"\$@\"" sh "$@"
  ' inside "$machine" "$@"
}

rows=()
failed=0
timed() {
  local name=$1 start status=0
  shift
  start=$(date +%s%N)
  echo "== $name"
  "$@" </dev/null || status=$?
  rows+=("$(printf '%-18s %8s.%s s   exit status %d' "$name" \
    $((($(date +%s%N) - start) / 1000000000)) $((($(date +%s%N) - start) / 100000000 % 10)) "$status")")
  ((status == 0)) || failed=1
}

if [[ -n $(git -C "$checkout" status --porcelain) ]]; then
  echo "the checkout holds changes that are not committed; they take no part"
fi
start=$SECONDS
make_machine
echo "fresh $suite made in $((SECONDS - start)) s, $(nproc) processors"
timed "dev demo" inside ./dev demo
timed "dev demo again" inside ./dev demo
timed "dev test" inside ./dev test
printf '\n'
printf '%s\n' "${rows[@]}"
((failed == 0))
