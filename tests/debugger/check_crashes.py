#!/usr/bin/env python3
"""Lets tests/debugger/crashing.cpp crash in several ways, and checks what install_crash_handler() prints: check_crashes.py PROGRAM."""
import re
import shutil
import signal
import subprocess
import sys
import tempfile

AWAITS = ["#0  read_balance", "#1  describe", "    through when_all()", "#2  total", "#3  bank::report", "    sync_wait()"]
# What the program does: the signal that ends it, the first line, the awaits, and functions of the machine's stack.
SCENARIOS = {
    "segmentation": (signal.SIGSEGV, "coracle: SIGSEGV at 0x0, thread N", AWAITS, ["fail"]),
    "division": (signal.SIGFPE, "coracle: SIGFPE at 0xN, thread N", AWAITS, ["fail"]),
    "abort": (signal.SIGABRT, "coracle: SIGABRT, thread N", AWAITS, ["fail"]),
    "check": (signal.SIGABRT, "coracle: a precondition is violated\ncoracle: SIGABRT, thread N", AWAITS, ["fail"]),
    "terminate": (signal.SIGABRT, "coracle: std::terminate(), uncaught exception St13runtime_error: no such account", AWAITS,
                  ["give_up", "fail"]),
    "uncaught": (signal.SIGABRT, "coracle: std::terminate(), uncaught exception St13runtime_error: no such account",
                 ["it came through these awaits, innermost first:", *AWAITS, "no coroutine runs on this thread"], []),
    "overflow": (signal.SIGSEGV, "coracle: SIGSEGV at 0xN, thread N", None, ["overflow_stack"]),
    "outside": (signal.SIGSEGV, "coracle: SIGSEGV at 0x0, thread N", ["no coroutine runs on this thread"], ["fail", "main"]),
    "replaced": (signal.SIGSEGV, "coracle: SIGSEGV at 0x0, thread N", AWAITS, ["fail"]),
    "trace": (0, None, AWAITS, []),
}


def masked(text):
    """Without what differs from run to run, or build to build."""
    text = re.sub(r"0x[1-9a-f][0-9a-f]*", "0xN", text)
    return re.sub(r"thread \d+", "thread N", text)


def names(lines):
    """The lines without what stands in brackets; each coroutine's is to be the program's."""
    for line in lines:
        if line.startswith("#") and "(crashing" not in line:
            yield line + " is not of the program"
        else:
            yield line.split("  (")[0]


def complaints(scenario, run):
    """What is wrong with a run."""
    end, first, awaits, functions = SCENARIOS[scenario]
    if run.returncode != -end:
        yield f"it ended with {run.returncode}, not {-end}"
    head, _, rest = masked(run.stderr).partition("coroutines, innermost first:\n")
    if first is None:
        rest = head
    elif awaits is None or not awaits[0].startswith("#"):
        head, _, rest = masked(run.stderr).partition("\n")
        head += "\n"
    if first is not None and head != first + "\n":
        yield f"it began with {head!r}"
    coroutines, _, machine = rest.partition("machine's stack:\n")
    if awaits is not None and list(names(coroutines.splitlines())) != awaits:
        yield f"awaits:\n{coroutines}"
    if machine and not machine.startswith("#0  "):
        yield f"the machine's stack begins otherwise:\n{machine}"
    shown = [line.split()[1] for line in machine.splitlines()]
    if [name for name in shown if name in functions][: len(functions)] != functions and scenario != "overflow":
        yield f"the machine's stack lacks one of {functions}:\n{machine}"
    if scenario == "overflow" and "overflow_stack" not in shown:
        yield f"the machine's stack lacks overflow_stack:\n{machine}"


def main():
    failed = 0
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(sys.argv[1], folder) if scenario == "replaced" else sys.argv[1]
            run = subprocess.run([program, scenario], capture_output=True, text=True, timeout=60, check=False)
        for complaint in complaints(scenario, run):
            failed += 1
            print(f"{scenario}: {complaint}\n--- all that it printed:\n{run.stderr}")
    print(f"{len(SCENARIOS)} scenarios, {failed} complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
