# To be sourced. make_debian_root SUITE FOLDER PACKAGE...: a minimal Debian in FOLDER, from the same mirror as
# this machine.
make_debian_root() {
  local suite=$1 folder=$2 mirror script=/usr/share/debootstrap/scripts/$1
  shift 2
  if ((EUID != 0)); then
    echo "${0##*/}: run it as root: it makes a system of its own and changes its root to it" >&2
    return 1
  fi
  if ! command -v debootstrap >/dev/null; then
    echo "installing debootstrap"
    apt-get update >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap >/dev/null
  fi
  # As this machine gets its packages: the same mirror, proxy and keys.
  mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Identifier: Packages' | head -n 1)
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  export http_proxy https_proxy
  chmod 755 "$folder"
  # A debootstrap that is older than the suite knows it only as the newest.
  [[ -e $script ]] || script=${script%/*}/sid
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder" "$mirror" "$script" \
    >"$folder/debootstrap.log" || { tail -n 20 "$folder/debootstrap.log" >&2; return 1; }
  cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
  (($# == 0)) || chroot "$folder" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "$@" >"$folder/packages.log" 2>&1 ||
    { tail -n 20 "$folder/packages.log" >&2; return 1; }
}
