#!/usr/bin/env python3
"""Checks that a build with CORACLE_USDT has the probes of docs/debugging.md, with two arguments each, and that no other has any."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTED = set(re.findall(r"^\| `coracle:(\w+)` \|", (ROOT / "docs/debugging.md").read_text(), re.MULTILINE))


def probes(*flags):
    """The probes of an object, each with the number of its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/turn_watch.o"
        subprocess.run(["g++-12", "-std=c++20", "-O2", f"-I{ROOT}/include", *flags, "-c", str(ROOT / "src/core/turn_watch.cpp"),
                        "-o", target], check=True)
        notes = subprocess.run(["readelf", "-nW", target], check=True, capture_output=True, text=True).stdout
    return {name: len(arguments.split()) for name, arguments in
            re.findall(r"Provider: coracle\s+Name: (\w+)\s.*?Arguments: ([^\n]*)", notes, re.DOTALL)}


def main():
    found, others = probes("-DCORACLE_ENABLE_USDT"), probes()
    wrong = [f"a build without CORACLE_USDT has the probe {name}" for name in others]
    wrong += [f"no probe {name}" for name in DOCUMENTED - set(found)]
    wrong += [f"docs/debugging.md does not state {name}" for name in set(found) - DOCUMENTED]
    wrong += [f"{name} has {count} arguments" for name, count in found.items() if count != 2]
    print("\n".join(wrong) if wrong else f"{len(found)} probes")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
