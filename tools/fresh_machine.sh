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
if ((EUID != 0)); then
  echo "fresh_machine: run it as root: it makes a system of its own and changes its root to it" >&2
  exit 1
fi
for program in debootstrap git unshare; do
  command -v "$program" >/dev/null && continue
  echo "installing debootstrap, git, util-linux"
  apt-get update >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap git util-linux >/dev/null
  break
done

# As this machine gets its packages: the same mirror, proxy and keys.
mirror=$(apt-get indextargets --format "\$(RELEASE) \$(REPO_URI)" 'Identifier: Packages' |
  awk -v suite=$suite '$1 == suite { print $2; exit }')
if [[ -z $mirror ]]; then
  echo "fresh_machine: no source of $suite in this machine's apt configuration" >&2
  exit 1
fi
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
export http_proxy https_proxy

machine=$(mktemp -d /var/tmp/fresh-machine.XXXXXX)
chmod 755 "$machine"
remove_machine() {
  if ((keep)); then
    echo "kept: $machine"
  else
    rm -rf --one-file-system "$machine"
  fi
}
trap remove_machine EXIT

make_machine() {
  debootstrap --variant=minbase --include=git,ca-certificates $suite "$machine" "$mirror" >"$machine/debootstrap.log" ||
    { tail -n 20 "$machine/debootstrap.log" >&2; return 1; }
  local apt=$machine/etc/apt
  rm -f "$apt/sources.list"
  cp -a /etc/apt/sources.list "$apt/" 2>/dev/null || true
  cp -a /etc/apt/sources.list.d /etc/apt/trusted.gpg.d "$apt/"
  cp -a /usr/share/keyrings "$machine/usr/share/"
  apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries|Languages)' >"$apt/apt.conf.d/90as-host" || true
  cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
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
