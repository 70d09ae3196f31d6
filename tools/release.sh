#!/usr/bin/env bash
# Makes what a release consists of, from HEAD, in FOLDER: the source archive, its checksum, its bill of materials, the single
# header, and with --debian the Debian packages, built in a clean Debian 12 of their own (as root; some minutes).
# The same commit gives the same bytes. A patch release that breaks the ABI of the release before it is refused.
set -euo pipefail
usage() {
  echo "usage: tools/release.sh FOLDER [--debian]" >&2
  exit 2
}
[[ ${1:-} && $1 != -* && ($# == 1 || ($# == 2 && $2 == --debian)) ]] || usage
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tools/check_abi.py"
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sed -n 's/^project(coracle VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
name=coracle-$version
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)

# gzip -n: neither a name nor a time of its own.
git -C "$root" archive --format=tar --prefix="$name/" HEAD | gzip -n9 >"$out/$name.tar.gz"
"$root/tools/single_header.py" "$out/coracle.hpp"

# SPDX 2.3. coracle is made of its own files alone; what it needs at build time or beside it comes from the system.
commit=$(git -C "$root" rev-parse HEAD)
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
      "downloadLocation": "NOASSERTION",
      "filesAnalyzed": false,
      "licenseConcluded": "MIT",
      "licenseDeclared": "MIT",
      "copyrightText": "Copyright (c) 2026 the coracle authors",
      "checksums": [{ "algorithm": "SHA256", "checksumValue": "$(sha256sum "$out/$name.tar.gz" | cut -d ' ' -f 1)" }]
    }
  ],
  "relationships": [
    { "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-coracle" }
  ]
}
END

if [[ ${2:-} == --debian ]]; then
  "$root/tools/debian_package.sh" "$out/$name.tar.gz" "$out"
fi
cd "$out"
rm -f SHA256SUMS
sums=$(sha256sum -- *)
echo "$sums" | tee SHA256SUMS
