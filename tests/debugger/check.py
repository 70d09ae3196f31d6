#!/usr/bin/env python3
"""Lets gdb and lldb look at programs that hang, throw, or crash, and compares what the coracle commands print, line by line.

check.py PROGRAM BUILD [--update]
PROGRAM is tests/debugger/stuck.cpp, compiled with debug information; BUILD says how, as g++-O0.
expected/SCENARIO.txt is what every build is to print, unless there is expected/SCENARIO.BUILD.txt. --update writes them.
"""
import ast
import concurrent.futures
import difflib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
COMMANDS = HERE.parent.parent / "tools" / "debugger"
# gdb's worker threads, which read symbols, take more processor time than they save.
SETTINGS = ["maint set worker-threads 0", "set debuginfod enabled off", "set width 0"]
GDB = ["gdb", "-q", "-batch", "-nx", *(part for setting in SETTINGS for part in ("-iex", setting)), "-x", COMMANDS / "coracle_gdb.py"]
LLDB = ["lldb-22", "-b", "-x", "-o", f"command script import {COMMANDS / 'coracle_lldb.py'}"]
LONGEST = 60  # seconds, of one run of a debugger
MOST_SUSPENSIONS = 5  # of a coroutine of the program: its beginning, three awaits, its end

# What the program is to do, how gdb comes to see it, and what is typed.
ATTACHED = ["mutexes", "event", "slow_child", "leak", "half_stuck", "twice", "member", "inside", "timed", "shared", "tasks", "crowd",
            "branches", "conditions", "groups"]
RUN = {"exception": ["catch throw", "run"], "early_exception": ["catch throw", "run"], "crash": ["run"]}
OTHER_PROGRAMS = ["branches", "conditions", "groups", "inside", "timed", "shared", "frames"]  # by themselves: conditions.cpp, inside.cpp ...
TYPED = {
    "mutexes": ["coracle tasks", "coracle why 2", "print *$object", "coracle bt 2", "coracle why"],
    # gdb takes the language of the selected frame, and that may be C, in a C library with debug information.
    "event": ["set language c", "coracle tasks", "coracle why 2", "print *$object", "coracle deadlocks", "show language"],
    "slow_child": ["coracle bt", "coracle why 0", "coracle frame 0"],
    "leak": ["coracle tasks", "coracle why 0", "print *$object", "coracle bt"],
    "twice": ["coracle tasks", "coracle deadlocks"],
    "member": ["coracle why"],
    "timed": ["coracle deadlocks"],
    "shared": ["coracle tasks", "coracle deadlocks"],
    "inside": ["coracle tasks", "coracle why 3", "coracle why 11", "coracle deadlocks"],
    "crowd": ["coracle tasks", "coracle why"],
    "branches": ["coracle tasks", "coracle deadlocks", "coracle why"],
    "conditions": ["coracle tasks", "coracle why"],
    "groups": ["coracle tasks", "coracle deadlocks"],
    "half_stuck": ["coracle why", "coracle deadlocks"],
    "tasks": [f"print global::{each}" for each in ("nothing", "unstarted", "waiting", "ended", "jobs")],
    "exception": ["coracle bt", "coracle frame 1"],
    "early_exception": ["coracle bt", "coracle tasks"],
    "crash": ["coracle bt", "coracle tasks"],
    "no_debug_information": ["coracle tasks", "coracle why 2", "coracle frame 2", "coracle deadlocks"],
    "misuse": ["coracle frame", "coracle why 77", "coracle bt 1+", "coracle frame 0x10"],
}
# Where lldb is to print the same. A core is that of gdb's scenario.
IN_LLDB = {"mutexes": ["-p", "{pid}"], "slow_child": ["-p", "{pid}"], "inside": ["-p", "{pid}"], "tasks": ["-p", "{pid}"],
           "mutexes of a core": ["{program}", "-c", "{folder}/core"]}


def typed(commands):
    """gdb's arguments that print each command, then what it prints."""
    found = []
    for command in commands:
        found += ["-ex", f"echo (gdb) {command}\\n", "-ex", command]
    return found


def recorded(output):
    """From the first command on, with what differs from run to run masked."""
    text = output[output.find("(gdb) ") :]
    text = re.sub(r"on descriptor \d+", "on descriptor N", text)
    text = re.sub(r"(\w+\.hpp):\d+", r"\1:LINE", text)  # in the library, which changes more often
    text = re.sub(r"^(\[Inferior .*|warning: .*|\d+\t.*)\n", "", text, flags=re.M)
    return re.sub(r"0x[0-9a-f]{3,}", "0xADDRESS", text)


def as_gdb(output):
    """What lldb prints, as gdb would: `coracle why` ends with what gdb prints as `$object`; a value has its type, not its number."""
    text = output.partition("coracle_lldb.py\n")[2]
    # About g++'s debug information:
    text = re.sub(r"^error: \S+ 0x[0-9a-f]+: DW_TAG_.*\n(Please file a bug .*\n)?", "", text, flags=re.M)
    text = re.sub(r"^  (\(coracle::\S+\)) \$0 = ", r"(gdb) print *$object\n\1 ", text.replace("(lldb) ", "(gdb) "), flags=re.M)
    numbers = itertools.count(1)
    text = re.sub(r"^\(coracle::\S+\) ", lambda _: f"${next(numbers)} = ", text, flags=re.M)
    return recorded(text)


def gdb(*arguments):
    """What it prints."""
    output = subprocess.run([*GDB, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=LONGEST, check=False).stdout
    if "ptrace: Operation not permitted" in output:
        raise SystemExit("gdb may not attach to a process here: run this where ptrace is permitted")
    if "(gdb) " not in output:
        raise SystemExit(f"gdb did not come as far as to see the program:\n{output}")
    return output


def lldb(arguments, commands):
    """What it prints."""
    typed_there = [part for command in commands if command != "print *$object" for part in ("-o", command)]
    return subprocess.run([*LLDB, *arguments, *typed_there], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LONGEST, check=False).stdout


def wait_until_asleep(pid):
    """So that no thread is on its way to sleep when gdb comes."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        states = [task.joinpath("stat").read_text().rsplit(")", 1)[1].split()[0]
                  for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
        if all(state == "S" for state in states):
            return
        time.sleep(0.01)
    raise SystemExit(f"the threads of process {pid} do not sleep")


def attach(program, scenario, commands, before=()):
    """Starts the program, waits until it hangs, and has gdb look at it."""
    return while_it_hangs(program, scenario, lambda pid: gdb("-p", str(pid), *before, *typed(commands)))


def program_of(program, scenario):
    """The path of the program that has the scenario."""
    return pathlib.Path(program).with_name(f"{scenario}_{pathlib.Path(program).name}") if scenario in OTHER_PROGRAMS else program


def while_it_hangs(program, scenario, function):
    """Starts the program, waits until it hangs, and calls the function with the number of the process."""
    program = program_of(program, scenario)
    with subprocess.Popen([program, scenario], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            if line != "hangs\n":
                raise SystemExit(f"{program} {scenario} does not hang")
            wait_until_asleep(process.pid)
            return function(process.pid)
        finally:
            process.kill()


def look(program, scenario, folder):
    """What gdb prints, of a process or a core."""
    if scenario in ATTACHED:
        return recorded(attach(program, scenario, TYPED[scenario]))
    if scenario in RUN:
        before = [part for command in RUN[scenario] for part in ("-ex", command)]
        return recorded(gdb(*before, *typed(TYPED[scenario]), "--args", program, scenario))
    if scenario == "misuse":
        return recorded(attach(program, "mutexes", TYPED[scenario]))
    if scenario == "mutexes with -flto":
        return recorded(attach(pathlib.Path(program).with_name(f"linked_{pathlib.Path(program).name}"), "mutexes", TYPED["mutexes"]))
    if scenario == "mutexes of a core":
        core = os.path.join(folder, "core")
        attach(program, "mutexes", ["info threads"], ("-ex", f"generate-core-file {core}"))
        return recorded(gdb(program, core, *typed(TYPED["mutexes"])))
    assert scenario == "no_debug_information"
    stripped = os.path.join(folder, "stuck")
    subprocess.run(["strip", "--strip-debug", "-o", stripped, program], check=True)
    return recorded(attach(stripped, "mutexes", TYPED[scenario]))


def look_with_lldb(program, scenario, folder):
    """The same by lldb."""
    commands = TYPED[scenario.partition(" ")[0]]

    def look_at(pid):
        return lldb([part.format(pid=pid, program=program, folder=folder) for part in IN_LLDB[scenario]], commands)

    return as_gdb(while_it_hangs(program, scenario, look_at) if scenario in ATTACHED else look_at(None))


def run_coracle_ps(program, scenario, *options, environment=None):
    """Of the program while it hangs: the exit code, and what is printed."""
    def run(pid):
        command = [sys.executable, COMMANDS / "coracle_ps.py", *options, str(pid)]
        return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False, env=environment)

    done = while_it_hangs(program, scenario, run)
    return done.returncode, done.stdout + done.stderr


def with_lldb_alone(folder):
    """An environment in which there is no gdb."""
    os.symlink(shutil.which("lldb-22"), os.path.join(folder, "lldb-22"))
    return {**os.environ, "PATH": folder}


def complaints_about_lines(program, coroutines):
    """Whether `coracle-ps --lines` knows, without the process, the lines where these coroutines are."""
    command = [sys.executable, COMMANDS / "coracle_ps.py", "--lines", program]
    head, *rows = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LONGEST, check=True).stdout.splitlines()
    notes = subprocess.run(["readelf", "-n", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    if head != "coracle lines 1 " + re.search(r"Build ID: (\w+)", notes)[1]:
        yield f"coracle-ps --lines begins with {head}"
    known = set()
    for row in rows:
        match = re.fullmatch(r"[0-9a-f]+ \d+ [1248]((?: \d+:\d+)+) (/.*)", row)
        if not match:
            yield f"coracle-ps --lines: {row}"
        elif match[2] == coroutines[0]["file"] and match[1].count(":") > MOST_SUSPENSIONS:
            yield f"coracle-ps --lines has states that no coroutine has: {row}"
        else:
            known |= {(match[2], int(line)) for line in re.findall(r":(\d+)", match[1])}
    unknown = {(each["file"], each["line"]) for each in coroutines} - known
    if unknown:
        yield f"coracle-ps --lines does not know {unknown}"


def complaints_about_errors(program):
    """Whether `coracle-ps` says what is wrong with a file in one line, and no more."""
    with tempfile.TemporaryDirectory() as folder:
        stripped, missing = (os.path.join(folder, name) for name in ("stripped", "missing"))
        subprocess.run(["strip", "--strip-debug", "-o", stripped, program], check=True)
        for arguments, expected in (
                (["--lines", stripped], (1, f"{stripped} has no lines of coroutines: compile it with -g, or keep its debug file")),
                (["--lines", missing], (2, f"{missing}: No such file or directory")),
                ([program, missing], (2, f"{missing}: No such file or directory"))):
            command = [sys.executable, COMMANDS / "coracle_ps.py", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
            if (done.returncode, done.stdout, done.stderr) != (expected[0], "", f"coracle-ps: {expected[1]}\n"):
                yield f"coracle-ps {arguments}: {done}"


def complaints_about_permission():
    """Whether `coracle-ps` says what to do where a debugger may not attach, as these stand-ins for gdb and lldb report it."""
    for name, refusal in (("gdb", "ptrace: Operation not permitted."), ("lldb-22", "error: attach failed: Operation not permitted")):
        with tempfile.TemporaryDirectory() as folder:
            stand_in = pathlib.Path(folder, name)
            stand_in.write_text(f"#!/bin/sh\necho '{refusal}' >&2\n")
            stand_in.chmod(0o755)
            done = subprocess.run([sys.executable, COMMANDS / "coracle_ps.py", "1"], capture_output=True, text=True, timeout=LONGEST,
                                  check=False, env={**os.environ, "PATH": folder})
        said = refusal.removeprefix("error: ").rstrip(".")
        if done.returncode != 1 or not done.stderr.startswith(f"coracle-ps: {said}: use sudo, or "):
            yield f"coracle-ps, where {name} may not attach: {done}"


def complaints_about_pipe():
    """Whether `coracle-ps` ends quietly where nobody reads what it prints, as behind `head`."""
    with tempfile.TemporaryDirectory() as folder:
        stand_in = pathlib.Path(folder, "gdb")
        stand_in.write_text("#!/bin/sh\necho 'coracle-ps: here it begins'; echo 'task 1'\n")
        stand_in.chmod(0o755)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([sys.executable, COMMANDS / "coracle_ps.py", "1"], stdout=writer, stderr=subprocess.PIPE, timeout=LONGEST,
                              check=False, env={**os.environ, "PATH": folder})
        os.close(writer)
    if (done.returncode, done.stderr) != (-signal.SIGPIPE, b""):
        yield f"coracle-ps, where nobody reads what it prints: {done}"


def complaints_about_coracle_ps(program, build):
    """What its options print wrongly."""
    if run_coracle_ps(program, "event") != (0, printed_by("coracle tasks", "event", build)):
        yield "coracle-ps lists something else than `coracle tasks`"
    if run_coracle_ps(program, "event", "--deadlocks") != (3, printed_by("coracle deadlocks", "event", build)):
        yield "coracle-ps --deadlocks finds something else than `coracle deadlocks`"
    with tempfile.TemporaryDirectory() as folder:
        without_gdb = run_coracle_ps(program, "event", "--deadlocks", environment=with_lldb_alone(folder))
    if without_gdb != (3, printed_by("coracle deadlocks", "event", build)):
        yield f"coracle-ps --deadlocks by lldb, where there is no gdb: {without_gdb}"
    code, text = run_coracle_ps(program, "mutexes", "--json")
    found = json.loads(text)
    yield from complaints_about_lines(program, found["coroutines"])
    yield from complaints_about_errors(program)
    yield from complaints_about_permission()
    yield from complaints_about_pipe()
    coroutines = {each["frame"]: each for each in found["coroutines"]}
    objects = {each["address"]: each for each in found["objects"]}
    documented = set(re.findall(r"^\| `(\w+)` +\|", documentation().split("\n## For programs\n")[1], flags=re.M))
    used = {key for row in (found, *found["coroutines"], *found["objects"]) for key in row}
    if code != 0 or found["schema"] != 1 or used != documented:
        yield f"coracle-ps --json: the keys are {sorted(used)}, and docs/debugging.md has {sorted(documented)}"
    if sorted(each["name"] for each in objects.values()) != ["checking", "savings"]:
        yield f"coracle-ps --json: the objects are {objects}"
    for first, second in zip(*found["deadlocks"], reversed(*found["deadlocks"])):
        held = objects[coroutines[first]["waits_for"]]
        if coroutines[first]["line"] != 30 or held["waiters"] != [first] or held["held_by"][0]["frame"] != second:
            yield f"coracle-ps --json: {first} is to wait for what {second} holds:\n{text}"
    if len(found["deadlocks"]) != 1 or sorted(found["stuck"]) != sorted(found["deadlocks"][0]):
        yield f"coracle-ps --json: not one deadlock:\n{text}"
    leaf = coroutines[found["deadlocks"][0][0]]
    names = [leaf["function"], *(coroutines[each]["function"] for each in awaiting(coroutines, leaf))]
    if names[0::2] != ["transfer", "bank"]:
        yield f"coracle-ps --json: the awaits are {names}"


def complaints_about_frame_memory(program):
    """How far `coracle-ps --memory` is from the frames of the scenario: it has made 300 large and 40 small ones. One and two of
    them are in use."""
    text = run_coracle_ps(program, "frames", "--memory")[1]
    found = json.loads(run_coracle_ps(program, "frames", "--memory", "--json")[1])
    large = [row for row in found["sizes"] if row["size"] > 2000]
    small = [row for row in found["sizes"] if row["size"] <= 2000]
    if found["schema"] != 1 or found["threads_not_read"] != 0 or set(found) | set(found["sizes"][0]) != memory_keys():
        yield f"coracle-ps --memory --json: docs/debugging.md has {sorted(memory_keys())}:\n{found}"
    in_threads, for_all = (sum(row[key] for row in large) for key in ("free_in_threads", "free_for_all"))
    if len(large) != 1 or in_threads + for_all != 299 or for_all < 100 or large[0]["live"] != 1:
        yield f"coracle-ps --memory does not find 299 free frames of more than 2000 bytes, and one in use:\n{text}"
    # Two of the small ones are in use again; unoptimised, tell_that_it_hangs() has another, which has ended but is kept.
    waiting = [row for row in small if row["live"] >= 2]
    if not any(row["free_in_threads"] in (37, 38) for row in waiting) or any(row["free_for_all"] for row in small):
        yield f"coracle-ps --memory does not find 40 small frames, two of them in use:\n{text}"
    with tempfile.TemporaryDirectory() as folder:
        in_lldb = run_coracle_ps(program, "frames", "--memory", environment=with_lldb_alone(folder))[1]
        stripped = pathlib.Path(folder, pathlib.Path(program).name)
        subprocess.run(["strip", "--strip-debug", "-o", program_of(stripped, "frames"), program_of(program, "frames")], check=True)
        without = json.loads(run_coracle_ps(stripped, "frames", "--memory", "--json")[1])
    if in_lldb != text:
        yield f"coracle-ps --memory by lldb prints something else:\n{in_lldb}\nthan by gdb:\n{text}"
    if [row["size"] for row in without["sizes"] if row["live"]] != [row["size"] for row in found["sizes"] if row["live"]]:
        yield f"coracle-ps --memory finds frames of other sizes without debug information:\n{without}\nthan with it:\n{text}"


def complaints_about_crowd(program):
    """Whether a million coroutines would take long to list without debug information: few of a crowd are looked at one by one."""
    count_made = ("from coracle_debugger import coroutines, functions",
                  "made, make, measured, measure = [], coroutines.Coroutine, [], functions.block_with",
                  "coroutines.Coroutine = lambda *of: made.append(0) or make(*of)",
                  "functions.block_with = lambda frame: measured.append(0) or measure(frame)")
    before = [part for line in count_made for part in ("-ex", f"python {line}")]
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stuck")
        subprocess.run(["strip", "--strip-debug", "-o", stripped, program], check=True)
        counts = "python print(len(made), len(measured))"
        text = recorded(attach(stripped, "crowd", ["coracle tasks", "coracle memory", counts], before))
    tasks, _, counts = commands_in(text)
    expected, tasks = (re.sub(r"stuck\.cpp:\d+|no debug information", "PLACE", each)
                       for each in (printed_by("coracle tasks", "crowd", ""), tasks.partition("\n")[2]))
    if re.sub(" +", " ", tasks) != re.sub(" +", " ", expected):
        yield f"`coracle tasks` lists a crowd without debug information as\n{tasks}\nand not as\n{expected}"
    made, measured = map(int, counts.split()[-2:])
    if made > 20 or measured > 20:
        yield f"without debug information, {made} of 701 coroutines are looked at one by one, and {measured} blocks of the heap"


def complaints_about_missing_symbols(program):
    """Whether each command says of a program without symbols that they are missing, and none that it has no coroutines."""
    commands = ("tasks", "bt", "why", "deadlocks", "json", "memory", "memory json")
    expected = "no coroutine was found. If the program has some, its symbols are missing: load them with "
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stuck")
        subprocess.run(["strip", "-o", stripped, program], check=True)
        text = recorded(attach(stripped, "mutexes", [f"coracle {each}" for each in commands]))
        by_program = [run_coracle_ps(stripped, "mutexes", option) for option in ("--json", "--deadlocks")]
        only_lldb = with_lldb_alone(folder)  # which ends at the first error
        by_program += [run_coracle_ps(stripped, "mutexes", option, environment=only_lldb)
                       for option in ("--json", "--deadlocks", "--memory", "--why")]
    for each in commands_in(text):
        command, _, said = each.partition("\n")
        if not said.startswith(expected) or said.count("\n") != 1:
            yield f"`{command}` says of a program without symbols\n{said}"
    for code, said in by_program:
        if code != 1 or not said.startswith(f"coracle-ps: {expected}") or said.count("\n") != 1:
            yield f"coracle-ps says of a program without symbols, with exit code {code}:\n{said}"


def complaints_about_probe():
    """Whether the coroutine of core/transfer.hpp would be listed. It has ended before main(), but g++ leaves a copy of its frame."""
    symbol = "coracle::detail::(anonymous namespace)::probe_tail_calls(unsigned long&, unsigned long&) [clone .actor]"
    lines = ("from coracle_debugger import names, process", f"names.symbol_at = {{1: '{symbol}', 2: 'f() [clone .actor]'}}.get",
             "print([process.Process._kind_of(each) for each in (1, 2)])")
    text = recorded(gdb("-ex", r"echo (gdb) \n", *(part for line in lines for part in ("-ex", f"python {line}"))))
    if text != "(gdb) \n[None, 2]\n":
        yield f"the coroutine that g++ runs before main() would be listed:\n{text}"


def complaints_about_roots():
    """Whether the loops of the test bed are named, although gdb 13 cannot demangle the symbol that clang has for one."""
    symbols = {1: "_ZZN7coracle7testing17virtual_time_loop3runITkNS_9awaitableENS_4taskB17compiled_by_clangIvEEEENS_6detail14"
                  "kept_result_ofIT_E4typeEOS7_EN10completion9completedEPNS5_20basic_callback_frameINS5_16callback_promiseEEE",
               2: "coracle::testing::simulation::end_of_run::completed(coracle::detail::basic_callback_frame<x>*)"}
    expected = "['virtual_time_loop::run()', 'simulation::run()']"
    lines = ("from coracle_debugger import continuation, names", f"names.symbol_at = {symbols!r}.get",
             "print([continuation.Continuation.text_of(each) for each in (1, 2)])")
    text = recorded(gdb("-ex", r"echo (gdb) \n", *(part for line in lines for part in ("-ex", f"python exec({line!r})"))))
    if text != f"(gdb) \n{expected}\n":
        yield f"roots are named as\n{text}"


def complaints_about_line_tables():
    """Whether a thread that waits in the library is known as such if that has line tables only: then clang's names have no
    namespace. What is inlined into a template may be the program's."""
    lines = ("from coracle_debugger import host, names, process", "import contextlib, types",
             "def frame(name, inlined, at=0, library=None):\n"
             " return types.SimpleNamespace(name=name, is_inlined=inlined, address=at, library=library)",
             "names.symbol_around = {1: 'coracle::pool::work(x<int>)', 2: 'void coracle::call<int>(int)', 3: 'main'}.get",
             "syscall = frame('syscall', False, 0, '/lib/libc.so.6')",
             "def blocked(*frames):\n host.frames_of = lambda _: contextlib.nullcontext([syscall, *frames])\n"
             " return process.is_blocked_by_coracle(None)",
             "print([blocked(frame('park', True), frame('work', False, at)) for at in (1, 2, 3)])")
    text = recorded(gdb("-ex", r"echo (gdb) \n", *(part for line in lines for part in ("-ex", f"python exec({line!r})"))))
    if text != "(gdb) \n[True, False, False]\n":
        yield f"threads that wait in a library with line tables only are found as\n{text}"


def complaints_about_link_time():
    """Whether symbols lose what link-time optimisation appends, in the forms of gdb and lldb and as the linker has them."""
    expected = {"f() [clone .actor] [clone .lto_priv.0] [clone .cold]": "f() [clone .actor] [clone .cold]",
                "f() (.resume.llvm.77)": "f() (.resume)", "bank (.lto_priv.1)": "bank", "_ZL4bank.lto_priv.1": "_ZL4bank"}
    line = f"from coracle_debugger import records; print([records.as_compiled(each) for each in {list(expected)!r}])"
    text = recorded(gdb("-ex", r"echo (gdb) \n", "-ex", f"python exec({line!r})"))
    if text != f"(gdb) \n{list(expected.values())!r}\n":
        yield f"symbols after link-time optimisation are read as\n{text}"


def complaints_about_guard_pages():
    """Whether memory around guard pages, as in stacks of newer C libraries, is looked at."""
    lines = ("from coracle_debugger import host, memory", "import types",
             "guards = {0x10000, 0x11000, 0x55000}",
             "def read(start, size):\n if any(start < each + 4096 and each < start + size for each in guards): raise host.Unreadable\n"
             " return bytes(size)",
             "host.read = read", "memory.keep([(0x10000, 0x80000)], types.SimpleNamespace(begins={0x10000}))",
             "kept = {page for each in memory._copies for page in range(each.start, each.end, 4096)}",
             "print(kept == set(range(0x10000, 0x80000, 4096)) - guards)")
    text = recorded(gdb("-ex", r"echo (gdb) \n", *(part for line in lines for part in ("-ex", f"python exec({line!r})"))))
    if text != "(gdb) \nTrue\n":
        yield f"memory around guard pages is not looked at:\n{text}"


def memory_keys():
    """Those of `coracle-ps --memory --json` that docs/debugging.md lists."""
    section = documentation().split("\n## The memory of frames\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` +\|", section, flags=re.M))


def awaiting(coroutines, each):
    """The frames of those that await one, innermost first."""
    while each["awaited_by"]:
        yield each["awaited_by"]
        each = coroutines[each["awaited_by"]]


def printed_by(command, scenario, build):
    """What a command is to print."""
    parts = commands_in(expected_file(scenario, build).read_text())
    return next(part.partition("\n")[2] for part in parts if part.startswith(f"(gdb) {command}\n"))


def documentation():
    """The page with the sessions and the schema."""
    return (HERE.parent.parent / "docs" / "debugging.md").read_text()


def expected_file(scenario, build):
    """That of the build, if it has one of its own."""
    scenario = scenario.partition(" ")[0]
    own = HERE / "expected" / f"{scenario}.{build}.txt"
    return own if own.exists() else HERE / "expected" / f"{scenario}.txt"


def update(scenario, build, text):
    """Writes what every build prints, or what this one prints instead."""
    common = HERE / "expected" / f"{scenario}.txt"
    own = HERE / "expected" / f"{scenario}.{build}.txt"
    own.unlink(missing_ok=True)
    if not common.exists():
        common.write_text(text)
    elif common.read_text() != text:
        own.write_text(text)


def commands_in(text):
    """Each command with its output."""
    return ["(gdb) " + part for part in text.split("(gdb) ")[1:]]


def unknown_sessions():
    """What docs/debugging.md shows and no build prints."""
    known = {part for file in (HERE / "expected").glob("*.txt") for part in commands_in(file.read_text())}
    blocks = re.findall(r"^```gdb\n(.*?)^```", documentation(), flags=re.M | re.S)
    return [part for block in blocks for part in commands_in(recorded(block)) if part not in known]


def names_of_operations():
    """By io_opcode, from the sources: the debugger knows them by heart."""
    root = HERE.parent.parent
    enum = (root / "include/coracle/io/detail/io_request.hpp").read_text().partition("enum class io_opcode")[2].partition("};")[0]
    names, waiting = {}, []
    for opcode, name in re.findall(r"case io_opcode::(\w+):|return \"(.*)\";", (root / "src/io/opcode_name.cpp").read_text()):
        waiting += [opcode] if opcode else []
        if name:
            names.update(dict.fromkeys(waiting, name))
            waiting = []
    return tuple(names[opcode] for opcode in re.findall(r"^  (\w+),? +///<", enum, flags=re.M))


def operations_of_debugger():
    """The same, as the debugger has them."""
    source = (COMMANDS / "coracle_debugger" / "process.py").read_text()
    return ast.literal_eval(re.search(r"^_OPCODES = (\(.*?\))$", source, flags=re.M | re.S)[1])


def is_other_than_expected(title, text, file):
    """Shows the difference, if there is one."""
    lines = file.read_text().splitlines() if file.exists() else []
    difference = list(difflib.unified_diff(lines, text.splitlines(), str(file), title, lineterm=""))
    print("\n".join(difference) if difference else f"{title}: as in {file.name}")
    return bool(difference)


def main():
    updates = "--update" in sys.argv
    program, build = [argument for argument in sys.argv[1:] if argument != "--update"]
    scenarios = [*TYPED, "mutexes of a core", *(["mutexes with -flto"] if build == "g++-O2" else [])]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for debugger, function, looked_at in (("gdb", look, scenarios), ("lldb", look_with_lldb, IN_LLDB)):
            for scenario, text in zip(looked_at, pool.map(lambda each, f=function: f(program, each, folder), looked_at)):
                if updates and debugger == "gdb" and scenario in TYPED:
                    update(scenario, build, text)
                failed += is_other_than_expected(f"{scenario} in {debugger}", text, expected_file(scenario, build))
    for complaint in (*complaints_about_coracle_ps(program, build), *complaints_about_frame_memory(program),
                      *complaints_about_crowd(program), *complaints_about_missing_symbols(program), *complaints_about_probe(), *complaints_about_roots(), *complaints_about_line_tables(),
                      *complaints_about_guard_pages(), *complaints_about_link_time()):
        failed += 1
        print(complaint)
    if operations_of_debugger() != names_of_operations():
        failed += 1
        print(f"process.py, _OPCODES is not {names_of_operations()}")
    for part in unknown_sessions():
        failed += 1
        print(f"docs/debugging.md shows what no build prints:\n{part}")
    print(f"{len(scenarios) + len(IN_LLDB)} scenarios with {build}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
