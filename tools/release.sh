#!/usr/bin/env bash
# Makes what a release consists of, from HEAD, in FOLDER: the source archive, its checksum, its bill of
# materials, the single header, and with --debian the Debian packages, built in a clean Debian 12 of their own
# (as root; some minutes). The same commit gives the same bytes, except for .buildinfo, which says when it was
# built, and .changes with its checksum. Refuses
# - a working tree with changes, and files that disagree about the version;
# - a patch release that breaks the ABI of the release before it;
# - a tag v0.1.0 on a commit whose changelogs do not call it released.
set -euo pipefail
usage() {
  echo "usage: tools/release.sh FOLDER [--debian]" >&2
  exit 2
}
[[ ${1:-} && $1 != -* && ($# == 1 || ($# == 2 && $2 == --debian)) ]] || usage
root=$(cd "$(dirname "$0")/.." && pwd)
fail() {
  echo "release.sh: $1" >&2
  exit 1
}
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$root"
[[ -z $(git status --porcelain --untracked-files=no) ]] || fail "there are changes that are not committed"
version=$(sed -n 's/^project(coracle VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=coracle-$version
for file in CHANGELOG.md docs/install.md tools/{coracle_lint/coracle-lint,debugger/coracle-ps}.1 \
  packaging/{conan/conanfile.py,debian/changelog,vcpkg/coracle/vcpkg.json}; do
  grep -qF "$version" "$file" || fail "$file does not name version $version"
done
if [[ $(git tag --points-at HEAD) == *"v$version"* ]]; then
  ! grep -q 'not released yet' CHANGELOG.md || fail "CHANGELOG.md says that $version is not released yet"
  ! grep -q UNRELEASED packaging/debian/changelog || fail "packaging/debian/changelog says UNRELEASED"
fi
tools/check_abi.py
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)

# gzip -n: neither a name nor a time of its own.
git archive --format=tar --prefix="$name/" HEAD | gzip -n9 >"$out/$name.tar.gz"
tools/single_header.py "$out/coracle.hpp"

# SPDX 2.3. coracle is made of its own files alone; what it needs at build time or beside it comes from the
# system.
commit=$(git rev-parse HEAD)
sum=$(sha256sum "$out/$name.tar.gz" | cut -d ' ' -f 1)
cat >"$out/$name.spdx.json" <<END
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "$name",
  "documentNamespace": "urn:coracle:$version:$commit",
  "creationInfo": {
    "created": "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)",
    "creators": ["Organization: the coracle authors"]
  },
  "packages": [
    {
      "SPDXID": "SPDXRef-coracle",
      "name": "coracle",
      "versionInfo": "$version",
      "supplier": "Organization: the coracle authors",
      "primaryPackagePurpose": "LIBRARY",
      "downloadLocation": "NOASSERTION",
      "filesAnalyzed": false,
      "licenseConcluded": "MIT",
      "licenseDeclared": "MIT",
      "copyrightText": "Copyright (c) 2026 the coracle authors",
      "checksums": [{ "algorithm": "SHA256", "checksumValue": "$sum" }]
    }
  ],
  "relationships": [
    {
      "spdxElementId": "SPDXRef-DOCUMENT",
      "relationshipType": "DESCRIBES",
      "relatedSpdxElement": "SPDXRef-coracle"
    }
  ]
}
END

if [[ ${2:-} == --debian ]]; then
  tools/debian_package.sh "$out/$name.tar.gz" "$out"
fi
cd "$out"
rm -f SHA256SUMS
sums=$(sha256sum -- *)
echo "$sums" | tee SHA256SUMS
