#!/usr/bin/env python3
"""Writes what <coracle/coracle.hpp> includes as one header, to try coracle out with nothing to install.

usage: single_header.py FILE

One source file of the program defines CORACLE_IMPLEMENTATION before it includes FILE, as what is in
src/ is compiled there. Everything else about the header is as with <coracle/coracle.hpp>.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'\s*#\s*include\s+(?:<(coracle/[\w/.]+)>|"([\w/.]+)")')


class Writer:
    def __init__(self):
        self.seen, self.lines = set(), []

    def add(self, path):
        """Appends a file, with each first include of a coracle header replaced by that header's text."""
        path = path.resolve()  # one header has a path for each folder that includes it
        if path in self.seen:
            return
        self.seen.add(path)
        self.lines.append(f"// ---- {path.relative_to(ROOT)}")
        for line in path.read_text().splitlines():
            found = INCLUDE.match(line)
            # The model checker's atomics replace the processor's where CORACLE_MODEL is defined, which needs its library.
            included = found and not line.startswith("#include <coracle/testing/") and (
                ROOT / "include" / found[1] if found[1] else path.parent / found[2])
            if included:
                self.add(included)
            elif line not in ("#pragma once", "// SPDX-License-Identifier: MIT"):
                self.lines.append(line)


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    version = re.search(r"project\(coracle VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    writer = Writer()
    writer.add(ROOT / "include/coracle/coracle.hpp")
    declarations, writer.lines = writer.lines, []
    for folder in ("core", "sync", "channels", "compose", "exec", "time", "inspect"):
        for path in sorted((ROOT / "src" / folder).glob("*.cpp")):
            writer.add(path)
    licence = "".join(f"// {line}".rstrip() + "\n" for line in (ROOT / "LICENSE").read_text().splitlines())
    Path(sys.argv[1]).write_text(
        f"// coracle {version} in one header, without I/O: made by tools/single_header.py from the files named below.\n"
        "// Define CORACLE_IMPLEMENTATION in one source file before you include it there.\n//\n"
        f"{licence}// SPDX-License-Identifier: MIT\n#pragma once\n" + "\n".join(declarations) +
        "\n\n#if defined(CORACLE_IMPLEMENTATION)\n" + "\n".join(writer.lines) + "\n#endif  // CORACLE_IMPLEMENTATION\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
