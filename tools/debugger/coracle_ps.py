"""Every coroutine of a process or a core, or what they wait for (docs/debugging.md).

coracle-ps [OPTION] PID, or coracle-ps [OPTION] PROGRAM CORE
  --all        also trees that look the same as others, and any number of lines
  --why        each object that is waited for, who waits, who holds it or has its address; then deadlocks
  --deadlocks  deadlocks alone; exit code 3 if there are some
  --json       all of it, for programs
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "coracle-ps: here it begins"


COMMANDS = {(): "tasks", ("--all",): "tasks all", ("--why",): "why", ("--all", "--why"): "why all",
            ("--deadlocks",): "deadlocks", ("--json",): "json"}  # by the options


def main(arguments):
    """Returns the exit code: 0; 1: nothing is to be seen; 2: the arguments are wrong; 3: --deadlocks has found some."""
    command = COMMANDS.get(tuple(sorted({each for each in arguments if each.startswith("-")})))
    named = [each for each in arguments if not each.startswith("-")]
    is_process, is_core = len(named) == 1 and named[0].isdigit(), len(named) == 2 and all(map(os.path.exists, named))
    if command is None or not (is_process or is_core):
        print(__doc__, end="", file=sys.stderr)
        return 2
    if shutil.which("gdb") is None:
        print("coracle-ps: it needs gdb, version 13 or later (Debian: gdb)", file=sys.stderr)
        return 1
    target = ["-p", named[0]] if is_process else named
    run = subprocess.run(["gdb", "-q", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set width 0", "-x",
                          os.path.join(HERE, "coracle_gdb.py"), *target, "-ex", f"echo {MARK}\\n", "-ex",
                          f"coracle {command}"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    shown = run.stdout.partition(MARK + "\n")[2]
    shown = "".join(line for line in shown.splitlines(True) if not line.startswith("[Inferior "))
    if not shown:
        said = run.stderr.strip().splitlines() or ["gdb shows nothing"]
        print(f"coracle-ps: {said[0]}", file=sys.stderr)
        return 1
    sys.stdout.write(shown)
    return 3 if command == "deadlocks" and shown.startswith(("DEADLOCK", "STUCK")) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
