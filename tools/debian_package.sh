#!/usr/bin/env bash
# Builds the Debian packages of a source archive in a new, minimal Debian 12, checks them with lintian,
# installs them there, and compiles and runs a program with them.
#
# usage: tools/debian_package.sh ARCHIVE FOLDER    as root; the packages come to FOLDER
set -euo pipefail
if (($# != 2)) || [[ ! -f $1 || ! -d $2 ]]; then
  echo "usage: tools/debian_package.sh ARCHIVE FOLDER" >&2
  exit 2
fi
archive=$(readlink -f "$1")
out=$(cd "$2" && pwd)
. "$(dirname "$0")/debian_root.sh"

machine=$(mktemp -d /var/tmp/debian-package.XXXXXX)
trap 'rm -rf --one-file-system "$machine"' EXIT
make_debian_root bookworm "$machine" build-essential debhelper lintian cmake ninja-build libssl-dev python3 \
  pkg-config
version=$(basename "$archive" .tar.gz | cut -d - -f 2)
mkdir "$machine/build"
cp "$archive" "$machine/build/coracle_$version.orig.tar.gz"
tar -xzf "$archive" -C "$machine/build"
mv "$machine/build/coracle-$version/packaging/debian" "$machine/build/coracle-$version/debian"
cat >"$machine/build/build.sh" <<'END'
set -e
cd /build/coracle-*
export DEB_BUILD_OPTIONS=parallel=2
dpkg-buildpackage -us -uc
cd ..
# Who packages it for Debian has a number of a bug to close, and an address.
lintian --fail-on error,warning \
  --suppress-tags initial-upload-closes-no-bugs,bogus-mail-host-in-debian-changelog ./*.changes
dpkg -i ./*.deb
printf '%s\n' '#include <coracle/coracle.hpp>' '#include <cstdio>' \
  'coracle::task<int> answer() { co_return 42; }' \
  'int main() { std::printf("%d\n", coracle::sync_wait(answer())); }' >/build/app.cpp
g++ -std=c++20 -O2 /build/app.cpp $(pkg-config --cflags --libs coracle-io) -o /build/app
[ "$(/build/app)" = 42 ]
g++ -std=c++20 /build/coracle-*/tests/package/consumer/tls.cpp $(pkg-config --cflags --libs coracle-tls) -o /build/tls
[ "$(/build/tls)" = 42 ]
END
chroot "$machine" bash /build/build.sh
cp "$machine"/build/*.{deb,dsc,changes,buildinfo,orig.tar.gz,debian.tar.xz} "$out"
