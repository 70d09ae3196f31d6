"""Every coroutine of a process or a core, or what they wait for (docs/debugging.md).

coracle-ps [OPTION] PID, coracle-ps [OPTION] PROGRAM CORE, or coracle-ps --lines PROGRAM >PROGRAM.lines
  --all        also trees that look the same as others, and any number of lines
  --why        each object that is waited for, who waits, who holds it or has its address; then deadlocks
  --deadlocks  deadlocks alone; exit code 3 if there are some
  --memory     the memory of frames by size: in use, and free ones that are kept; with --json for programs
  --json       all of it, for programs
  --lines      the lines where coroutines may be suspended, for an inspector in the program; without a process
"""
import errno
import os
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "coracle-ps: here it begins"


COMMANDS = {(): "tasks", ("--all",): "tasks all", ("--why",): "why", ("--all", "--why"): "why all",
            ("--deadlocks",): "deadlocks", ("--json",): "json", ("--memory",): "memory",
            ("--json", "--memory"): "memory json", ("--lines",): "lines"}  # by the options
DEBUGGERS = ("gdb", "lldb-22", "lldb")  # the first that is there
NO_PROCESS = "no process: run the program, or load a core"  # as coracle_debugger/commands.py says
MAY_NOT_ATTACH = "Operation not permitted"
HOW_TO_ATTACH = "use sudo, or sysctl kernel.yama.ptrace_scope=0; for a container, --cap-add=SYS_PTRACE"


def gdb(named, is_process, command):
    """Its arguments."""
    return ["-q", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set width 0", "-x",
            os.path.join(HERE, "coracle_gdb.py"), *(["-p"] if is_process else []), *named, "-ex", f"echo {MARK}\\n", "-ex",
            f"coracle {command}"]


def lldb(named, is_process, command):
    """Its arguments."""
    return ["-b", "-x", *(["-p", named[0]] if is_process else [named[0], "-c", named[1]]),
            "-o", f"command script import '{os.path.join(HERE, 'coracle_lldb.py')}'", "-o", f"script print('{MARK}', flush=True)",
            "-o", f"coracle {command}"]


def main(arguments):
    """Returns the exit code: 0; 1: nothing is to be seen; 2: the arguments are wrong; 3: --deadlocks has found some."""
    command = COMMANDS.get(tuple(sorted({each for each in arguments if each.startswith("-")})))
    named = [each for each in arguments if not each.startswith("-")]
    is_program = command == "lines" and len(named) == 1
    is_process, is_core = not is_program and len(named) == 1 and named[0].isdigit(), len(named) == 2
    if command is None or not (is_program if command == "lines" else is_process or is_core):
        print(__doc__, end="", file=sys.stderr)
        return 2
    missing = [each for each in named if not is_process and not os.path.exists(each)]
    if missing:
        print(f"coracle-ps: {missing[0]}: {os.strerror(errno.ENOENT)}", file=sys.stderr)
        return 2
    debugger = next((each for each in DEBUGGERS if shutil.which(each)), None)
    if debugger is None or command == "lines" and debugger != "gdb":
        others = ", or lldb, version 22" if command != "lines" else ""
        print(f"coracle-ps: it needs gdb, version 13 or later (Debian: gdb){others}", file=sys.stderr)
        return 1
    run = subprocess.run([debugger, *(gdb if debugger == "gdb" else lldb)(named, is_process, command)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    shown = run.stdout.partition(MARK + "\n")[2]
    shown = "".join(line for line in shown.splitlines(True) if not line.startswith(("[Inferior ", "(lldb) ")))
    if not shown:
        lines = run.stderr.strip().splitlines() or [f"{debugger} shows nothing"]
        said = lines[0 if lines[-1].endswith(NO_PROCESS) else -1].rstrip(".")  # the command's error, or why there is no process
        said = said.removeprefix("error: ")  # as lldb begins one
        advice = f": {HOW_TO_ATTACH}" if said.endswith(MAY_NOT_ATTACH) else ""
        print(f"coracle-ps: {said}{advice}", file=sys.stderr)
        return 1
    if command == "lines" and shown.count("\n") == 1:
        print(f"coracle-ps: {named[0]} has no lines of coroutines: compile it with -g, or keep its debug file", file=sys.stderr)
        return 1
    sys.stdout.write(shown)
    return 3 if command == "deadlocks" and shown.startswith(("DEADLOCK", "STUCK")) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the reader of the output may need only its beginning, as `head` does
    sys.exit(main(sys.argv[1:]))
