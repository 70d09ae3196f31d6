#!/usr/bin/env python3
"""Breaks the protocols one statement at a time, and checks whether the models, and then the unit tests, fail.

    tools/statement_mutants.py [--budget EXECUTIONS] [--jobs N] [--folder BUILD] [--only TEXT] [--all]
    tools/statement_mutants.py --rows

A mutant drops a statement, swaps it with the next one, or moves it behind the next one that other threads observe (a lock, an
access with a tag, a wake-up), if they observe either of the two. All mutants are written into one copy of the sources
(tools/statements.py), each under a number, so that they are compiled once; the number is chosen at run time. Mutants that do
not compile are left out, and remembered in the build folder.

Each program of tests/model first tries the mutants that it reaches, with few executions per case. The unit tests try the
survivors that they reach; the models then try the remaining ones with more executions. The score is the share of the reached
mutants that is killed. The run fails if the score is under LEAST_SCORE, or if a row of docs/design/mutants.md names no survivor;
survivors without a row are listed. With `--only`, only files whose names contain TEXT count, and no score is required.
`--rows` compiles nothing: it tests the parser and checks that each row still names a mutant.

Verdicts are kept in the build folder, so an interrupted campaign continues where it stopped. A verdict is dropped when the
library or its test changes.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from commuting import commute  # noqa: E402
from statements import Writer  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
JUSTIFIED = ROOT / "docs/design/mutants.md"
LEAST_SCORE = 94.0  # nearly what the tests reach today, so that they do not fall behind it; the aim is 95
MOST = 10000
BLOCK = 20
SECONDS = 5
COPIED = ["include", "src", "tests", "compat", "cmake", "tour", "tools/statement_mutants.hpp", "CMakeLists.txt"]
TAG = re.compile(r"/\*[A-Z]\w?\d+\*/")
UNITS = ["tests/unit", "tests/cancellation", "tests/compat"]
FOLDERS = [f"include/coracle/{layer}" for layer in ("base", "core", "generators", "sync", "channels", "compose", "streams", "time", "exec")]
FOLDERS += ["src/core", "src/sync", "src/channels", "src/compose", "src/exec", "src/io", "src/time"]
# Of protocols, too, though none of their own accesses is atomic.
MORE = """core/detail/wait_queue core/detail/queued_waiter core/detail/stoppable_wait core/detail/listener_list
core/detail/choice core/stop core/detail/linked_stop_source sync/single_consumer_event sync/single_producer_sequencer
channels/broadcast channels/watched_value channels/detail/basic_channel channels/detail/channel_buffer compose/async_scope
compose/single_flight compose/detail/run_children compose/detail/siblings compose/detail/siblings_operation compose/detail/race
compose/detail/child streams/detail/stream_children time/timeout time/sleep time/rate_limiter"""
SAMPLE = """
int counter::take(std::size_t most) noexcept {
  const lock_guard lock{mutex_};
  stop_state* const from = stops();  // a declaration
  if (most == 0) return 0;
  while (each) each = each->next;
  fence_.light();
  ++taken_;
  state_.store(free, memory_order_release); /*C1*/
  return taken_;
}
"""
CHANGES = ["dropped: if (most == 0) return 0", "dropped: each = each->next", "dropped: ++taken_",
           "behind state_.store(free, memory_order_release): ++taken_", "dropped: state_.store(free, memory_order_release)"]
# Two statements, and whether their order can be seen.
ORDERS = [("taken_ = 0;", "fast_below_ = 0;", False), ("taken_ = 0;", "first_ = taken_;", True),
          ("ending_ = true;", "wakes_.store(wakes_.load(memory_order_relaxed) + 1, memory_order_relaxed);", False),
          ("ending_ = true;", "wakes_.store(1, memory_order_release);", True), ("*end = &one;", "first_ = nullptr;", True),
          ("taken_ = 0;", "rouse(one);", True), ("taken_ = 0;", "if (taken_) return;", True),
          ("state_.lock();", "wake_list served;", False), ("state_.lock();", "const small_mutex_lock lock{mutex_};", True),
          ("state_.lock();", "sleeper* first = queue_.front();", True), ("++taken_;", "delete this;", True),
          ('CORACLE_REQUIRE(n <= max(), "too many");', "state_.unlock(seen + permits);", False),
          ('CORACLE_REQUIRE(n <= max(), "too many");', "n -= 1;", True),
          ('CORACLE_REQUIRE(waiting_ == 0, "waits");', "state_.unlock(0);", True)]


def protocol_files():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.[hc]pp") if TAG.search(path.read_text())]
    files += [ROOT / f"include/coracle/{name}.hpp" for name in MORE.split()]
    files += [ROOT / f"src/{name}.cpp" for name in ("io/io_loop", "sync/async_mutex", "sync/event_state")]
    return sorted({str(path.relative_to(ROOT)) for path in files })


def write(folder, left_out):
    """Returns the mutants, and writes the mutated sources to `folder` unless it is None. Touches a file only if it changes."""
    mutants, number = [], 1
    for file in protocol_files():
        writer = Writer(file, (ROOT / file).read_text(), number, left_out)
        text = writer.write()
        number = -(-writer.number // BLOCK) * BLOCK  # so a change of one file leaves the next ones as they are
        mutants += writer.mutants
        if folder:
            put(folder / file, text)
    assert number < MOST
    return mutants


def put(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def copy_rest(folder):
    mutated = set(protocol_files())
    for part in COPIED:
        paths = [ROOT / part] if (ROOT / part).is_file() else (ROOT / part).rglob("*")
        for path in paths:
            name = str(path.relative_to(ROOT))
            if path.is_file() and name not in mutated:
                target = folder / name
                if not target.exists() or target.read_bytes() != path.read_bytes():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, target)


def configure(folder):
    flags = f"-w -ferror-limit=0 -Werror=return-type -DCORACLE_STATEMENT_MUTANTS={MOST} -DCORACLE_ENABLE_CHECKS=1 " \
            f"-O1 -include {folder}/tools/statement_mutants.hpp"
    parts = [f"-DCORACLE_BUILD_{part}=OFF" for part in ("EXAMPLES", "TOUR", "BENCH")] + ["-DCORACLE_UNIT_TESTS_TOGETHER=8"]
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++-22",
                    "-DCMAKE_BUILD_TYPE=None", "-DCORACLE_TEST_FLAGS=-O0", f"-DCMAKE_CXX_FLAGS={flags}", *parts],
                   check=True, stdout=subprocess.DEVNULL)


def build(folder, jobs):
    """Compiles; leaves out what does not compile, and starts again. Returns the remaining mutants by number."""
    left_out = read_left_out(folder)
    copy_rest(folder)
    for target in ("models", "unit_tests"):  # the models first: they are few, and nearly all that is wrong shows there
        while wrong := build_target(folder, target, jobs, left_out):
            left_out |= wrong
            write_left_out(folder, left_out)
    mutants = write(folder, left_out)
    print(f"{len(mutants)} mutants compile, {len(left_out)} do not", flush=True)
    return {each.number: each for each in mutants}


def build_target(folder, target, jobs, left_out):
    """Returns the keys of the mutants that do not compile."""
    mutants = write(folder, left_out)
    configure(folder)
    command = ["cmake", "--build", folder / "build", "-j", str(jobs), "--target", target, "--", "-k", "0"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        return set()
    numbers = wrong_lines(folder, result.stdout)
    wrong = {each.key for each in mutants if each.number in numbers}
    if not wrong:
        raise SystemExit(f"does not compile:\n{result.stdout[-6000:]}")
    return wrong


def hash_of(file):
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()


def read_left_out(folder):
    """Returns the mutants that did not compile last time, in files that have not changed since."""
    path = folder / "left_out.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    return {(file, *change) for file in protocol_files() if file in known and known[file]["hash"] == hash_of(file)
            for change in known[file]["changes"]}


def write_left_out(folder, left_out):
    files = {file: {"hash": hash_of(file), "changes": sorted(key[1:] for key in left_out if key[0] == file)}
             for file in {key[0] for key in left_out}}
    (folder / "left_out.json").write_text(json.dumps(files, indent=1, sort_keys=True))


def wrong_lines(folder, output):
    """Returns the numbers of the mutants on the lines that the compiler rejects."""
    numbers = set()
    for file, line in set(re.findall(rf"{re.escape(str(folder))}/([^:\s]+):(\d+):\d+: (?:error|note)", output)):
        text = (folder / file).read_text().splitlines()[int(line) - 1]
        if found := re.match(r"\s*if \(coracle_mutants::is\((\d+)\)\)", text):
            numbers.add(int(found[1]))
    if numbers:
        return numbers
    for file, line in set(re.findall(rf"{re.escape(str(folder))}/([^:\s]+):(\d+):\d+: error", output)):
        for text in reversed((folder / file).read_text().splitlines()[: int(line)]):
            if found := re.search(r"within\((\d+), (\d+)\)", text):
                numbers |= set(range(int(found[1]), int(found[2]) + 1))
                break
    return numbers


class Verdicts:
    """Each test's verdict on each mutant, one per line. Written as it becomes known, read when a campaign begins."""

    def __init__(self, folder):
        self.folder, self.hashes = folder, {}
        programs = {path for part in ("model", *map(os.path.basename, UNITS)) for path in (folder / "tests" / part).glob("*.cpp")}
        common = hashlib.sha256()
        for part in ("include", "src", "tests", "compat"):
            for path in sorted(path for path in (folder / part).rglob("*.[hc]pp") if path not in programs):
                common.update(path.read_bytes())
        for path in programs:
            self.hashes[path.name] = hashlib.sha256(common.digest() + path.read_bytes()).hexdigest()[:16]
        path = folder / "verdicts.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {tuple(key): told for key, told in map(json.loads, lines)}
        self.file, self.lock = path.open("a"), threading.Lock()

    def key(self, source, *what):
        return (source, self.hashes[source], *what)

    def add(self, key, told):
        with self.lock:
            self.known[key] = told
            self.file.write(json.dumps([key, told]) + "\n")
            self.file.flush()


class Campaign:
    def __init__(self, folder, mutants, jobs):
        self.folder, self.mutants, self.jobs = folder, mutants, jobs
        self.verdicts = Verdicts(folder)
        self.killed, self.met = {}, set()

    def models(self, budget):
        programs = sorted((self.folder / "build/tests").glob("model_*"), key=lambda each: each.name)
        programs = [each for each in programs if each.is_file() and os.access(each, os.X_OK)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(lambda each: self.model(each, budget), programs))

    def model(self, program, budget):
        source = program.name.removeprefix("model_") + ".cpp"
        alive = {number for number in self.mutants if number not in self.killed}
        if not alive <= set(self.verdicts.known.get(self.verdicts.key(source, budget), [])):
            self.run_model(program, source, budget, alive)
        for number in self.mutants:
            told = self.verdicts.known.get(self.verdicts.key(source, budget, number))
            if told is not None:
                self.met.add(number)
                if told:
                    self.killed.setdefault(number, f"{program.name}: {told}")

    def run_model(self, program, source, budget, alive):
        """The program prints a line as soon as it has tried a mutant."""
        def key(number):
            return self.verdicts.key(source, budget, number)

        with tempfile.NamedTemporaryFile("w") as file:
            file.writelines(f"{each}\n" for each in range(1, MOST) if each not in alive or key(each) in self.verdicts.known)
            file.flush()
            command = [program, "--mutants", str(budget), file.name]
            ran = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
            lines = []
            for line in ran.stdout:
                lines.append(line)
                if found := re.match(r"(killed|survived)\t(\d+)\t(.*)", line):
                    self.verdicts.add(key(int(found[2])), found[3] or "fails" if found[1] == "killed" else "")
        if ran.wait() != 0:
            raise SystemExit(f"{program} fails as it is:\n{''.join(lines)}")
        self.verdicts.add(self.verdicts.key(source, budget), sorted(alive))

    def units(self):
        """Each file of unit tests tries the mutants that it reaches. A test that fails without a mutant does not count."""
        program = self.folder / "build/tests/unit_tests"
        files = sorted(path.name for folder in UNITS for path in (ROOT / folder).glob("*_test.cpp"))
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            met = dict(zip(files, pool.map(lambda file: self.met_by_unit(program, file), files)))
            alive = [number for number in self.mutants if number not in self.killed]
            list(pool.map(lambda number: self.unit(program, number, [f for f in files if number in met[f][1]], met), alive))

    def met_by_unit(self, program, file):
        """Returns how many seconds it takes, and which mutants it reaches."""
        key = self.verdicts.key(file, "meets")
        if key not in self.verdicts.known:
            with tempfile.NamedTemporaryFile("r") as met:
                environment, began = {**os.environ, "CORACLE_MUTANTS_MET": met.name}, time.monotonic()
                if not passes([program, f"--source-file=*/{file}"], environment, 40 * SECONDS):
                    print(f"{file} fails as it is: it does not count", flush=True)
                    return 0, set()
                self.verdicts.add(key, [time.monotonic() - began, [int(line) for line in met.read().split()]])
        seconds, numbers = self.verdicts.known[key]
        numbers = set(numbers) & self.mutants.keys()
        self.met |= numbers
        return seconds, numbers

    def unit(self, program, number, files, met):
        """First those that have killed most of the mutants beside it, and of them the fastest."""
        killers = collections.Counter(self.killed[each].removeprefix("unit_tests: ") for each in list(self.killed)
                                      if self.mutants[each].file == self.mutants[number].file)
        for file in sorted(files, key=lambda file: (-killers[file], met[file][0])):
            key = self.verdicts.key(file, number)
            if key not in self.verdicts.known:
                environment = {**os.environ, "CORACLE_MUTANT": str(number)}
                command = [program, f"--source-file=*/{file}", "--abort-after=1"]
                self.verdicts.add(key, "" if passes(command, environment, max(SECONDS, 10 * met[file][0])) else "fails")
            if self.verdicts.known[key]:
                self.killed[number] = f"unit_tests: {file}"
                return


def passes(command, environment, seconds=SECONDS):
    """A program that hangs fails; then timeout also ends the children that it has started."""
    command = ["timeout", "--signal=KILL", str(seconds), *command]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment).returncode == 0


def justified():
    """The rows `| file | function() | mutant | why |` of the table."""
    rows = set()
    for line in JUSTIFIED.read_text().splitlines():
        cells = [cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if len(cells) == 4 and re.match(r"(?:dropped|before .*|behind .*): ", cells[2]):
            rows.add((cells[0], cells[1], cells[2]))
    return rows


def check_rows():
    sample = Writer("sample", SAMPLE, 1, set())
    sample.write()
    made = {each.change for each in sample.mutants}
    if any("light" in change for change in made):
        print(f"the parser makes mutants of what does nothing: {made}")
        return 1
    if lost := set(CHANGES) - made:
        print(f"the parser does not find in its sample: {lost}; it finds {made}")
        return 1
    for one, other, is_seen in ORDERS:
        if commute(one, other) == is_seen:
            print(f"the order of `{one}` and `{other}` is taken for one that can{'' if not is_seen else 'not'} be seen")
            return 1
    known = {each.key for each in write(None, set())}
    lost = sorted(justified() - known)
    for row in lost:
        print(f"a row of {JUSTIFIED.relative_to(ROOT)} names no mutant: {' | '.join(row)}")
    print(f"{len(known)} mutants of statements; {len(justified())} rows")
    return 1 if lost else 0


def report(campaign, only, show_all, by_models):
    mutants = [each for each in campaign.mutants.values() if only in each.file]
    met = [each for each in mutants if each.number in campaign.met]
    survivors = [each for each in met if each.number not in campaign.killed]
    known = {row for row in justified() if only in row[0]}
    for each in mutants if show_all else []:
        told = campaign.killed.get(each.number)
        verdict = f"killed    {told}" if told else "survived" if each.number in campaign.met else "met by none"
        print(f"{each.file}:{each.line}: {each.function} {each.change}\n    {verdict}")
    unexplained = [each for each in survivors if each.key not in known]
    for each in unexplained:
        print(f"survived: {each.file}:{each.line}: {each.function} {each.change}")
    idle = known - {each.key for each in survivors}
    for row in sorted(idle):
        print(f"a row of {JUSTIFIED.relative_to(ROOT)} that no survivor needs: {' | '.join(row)}")
    score = 100 * (len(met) - len(survivors)) / max(len(met), 1)
    for kind in ("dropped", "before", "behind"):
        those = [each for each in met if each.change.startswith(kind)]
        lives = [each for each in those if each.number not in campaign.killed]
        models = [each for each in those if each.number in by_models]
        print(f"{kind}: {len(those)}, {len(models)} killed by models, "
              f"{len(those) - len(lives) - len(models)} by unit tests, {len(lives)} survive")
    killed = len(met) - len(survivors)
    print(f"{len(mutants)} mutants of statements in {len({each.file for each in mutants})} files, "
          f"{len(mutants) - len(met)} met by no test; of the others {score:.1f} % killed, {len(survivors)} survive, "
          f"{len(survivors) - len(unexplained)} of them justified; "
          f"of those without a row {100 * killed / max(killed + len(unexplained), 1):.1f} % killed")
    return 1 if not only and (idle or score < LEAST_SCORE) else 0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--budget", type=int, default=3_000, help="executions a case and mutant")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/statement_mutants")
    options.add_argument("--only", default="")
    options.add_argument("--all", action="store_true", help="print the killed ones, too, and by what")
    options.add_argument("--rows", action="store_true")
    arguments = options.parse_args()
    if arguments.rows:
        return check_rows()
    mutants = build(arguments.folder.resolve(), arguments.jobs)
    mutants = {number: each for number, each in mutants.items() if arguments.only in each.file}
    campaign = Campaign(arguments.folder.resolve(), mutants, arguments.jobs)
    campaign.models(arguments.budget // 10 + 1)
    by_models = set(campaign.killed)
    print(f"{len(campaign.met)} met by models, {len(by_models)} killed by few executions", flush=True)
    campaign.units()
    by_units = set(campaign.killed) - by_models
    campaign.models(arguments.budget)
    by_models = set(campaign.killed) - by_units
    return report(campaign, arguments.only, arguments.all, by_models)


if __name__ == "__main__":
    sys.exit(main())
