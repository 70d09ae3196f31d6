"""coracle-ps [--all] PID, or coracle-ps [--all] PROGRAM CORE: every coroutine of a process or a core (docs/debugging.md)."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "coracle-ps: here it begins"


def main(arguments):
    """Returns the exit code: 0; 1 if there is nothing to be seen; 2 if the arguments are wrong."""
    shows_all = "--all" in arguments
    named = [each for each in arguments if each != "--all"]
    if not (len(named) == 1 and named[0].isdigit()) and not (len(named) == 2 and all(map(os.path.exists, named))):
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("gdb") is None:
        print("coracle-ps: it needs gdb, version 13 or later (Debian: gdb)", file=sys.stderr)
        return 1
    target = ["-p", named[0]] if len(named) == 1 else named
    run = subprocess.run(["gdb", "-q", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set width 0", "-x",
                          os.path.join(HERE, "coracle_gdb.py"), *target, "-ex", f"echo {MARK}\\n", "-ex",
                          "coracle tasks all" if shows_all else "coracle tasks"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    shown = run.stdout.partition(MARK + "\n")[2]
    shown = "".join(line for line in shown.splitlines(True) if not line.startswith("[Inferior "))
    if not shown:
        said = run.stderr.strip().splitlines() or ["gdb shows nothing"]
        print(f"coracle-ps: {said[0]}", file=sys.stderr)
        return 1
    sys.stdout.write(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
