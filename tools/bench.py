#!/usr/bin/env python3
"""Runs benchmarks, their floors and their rivals, prints the table, writes results.json and results.svg.

  bench.py [OPTION...] [PROGRAM]    PROGRAM: built from bench/micro and bench/rivals, or some of their files
  bench.py --self-test

What --scenarios names comes first: whole programs (bench_scenarios.py). Then the single operations of PROGRAM: a row of the table is a benchmark `x` with `floor_x`, `asio_x` and `tbb_x`, as far as they exist. Each round runs the whole
row in a process of its own, one after the other, so that a ratio is between two figures of the same second: the table
shows the median of the rounds' ratios. What --cache_misses names runs once, if the filter finds "cache_misses"; its figures
are medians already. There the floor is the state machines by hand, and the naive rival one lookup after the other.
"""
import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import bench_plot
import bench_scenarios
from bench_rows import FLOOR, LIBRARIES, RIVALS, rows_of, run, summary


def names_in(program):
    """The benchmarks, without what Google Benchmark appends to a name."""
    found = run(program, "--benchmark_list_tests=true", "--benchmark_filter=.")
    return [line.split("/")[0] for line in found.stdout.splitlines() if line]


def run_once(program, row, min_time):
    """Kind -> nanoseconds."""
    exactly = f"^({'|'.join(row.values())})(/|$)"
    done = json.loads(run(program, "--benchmark_format=json", f"--benchmark_filter={exactly}",
                          f"--benchmark_min_time={min_time}").stdout)
    for each in done["benchmarks"]:
        if each.get("error_occurred"):
            raise RuntimeError(f"{each['name']}: {each['error_message']}")
    times = {each["name"].split("/")[0]: each["real_time"] for each in done["benchmarks"]}
    return {kind: times[name] for kind, name in row.items()}


def table_lines(result):
    def line(name, figures, end=""):
        return f"{name:<38} {figures['median']:>10.2f} {figures['min']:>10.2f} {figures['max']:>10.2f}{end}".rstrip()

    floor = f"{result[FLOOR]['ours_over_it']['median']:>8.2f}" if FLOOR in result else f"{'':>8}"
    rivals = [f"{result[kind]['ours_over_it']['median']:>8.2f} {kind}" for kind in RIVALS if kind in result]
    yield line(result["name"], result["ours"], f" {floor} {' '.join(rivals)}")
    yield from (line(f"  {kind}", result[kind]) for kind in (FLOOR, *RIVALS) if kind in result)


def cache_miss_rows(lines):
    """From bench_cache_misses' table: with the best group of each, and with the one that interleave() finds by itself."""
    name = naive = None
    for line in lines.splitlines():
        if begins := re.match(r"\w+(?: \w+)*(?=:|  )", line):
            name = begins[0].replace(" ", "_")
        if one_by_one := re.search(r"one by one +([\d.]+) ns", line):
            naive = float(one_by_one[1])
        if group := re.search(r"group (best|auto) +by hand +([\d.]+) ns.* interleave +([\d.]+) ns", line):
            times = {"ours": float(group[3]), FLOOR: float(group[2]), "naive": naive}
            yield summary(f"cache_misses_{name}{'_auto' if group[1] == 'auto' else ''}", [times])
    if naive is None:
        raise RuntimeError(f"not understood: {lines}")


def context_of(arguments):
    """The program's context, which Google Benchmark prints only after a measurement, so measure for no time."""
    if arguments.scenarios:
        return bench_scenarios.listed(arguments.scenarios)[0]
    program = arguments.program
    first = names_in(program)[0]
    return json.loads(run(program, "--benchmark_format=json", f"--benchmark_filter=^{first}(/|$)",
                          "--benchmark_min_time=0").stdout)["context"]


def about(context, arguments):
    """What the figures depend on."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    libraries = {kind: context.get(kind, "left out, the program was built without it").replace("_", ".") for kind in LIBRARIES}
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "cpu": cpu[1] if cpu else platform.machine(), "cpus": os.cpu_count(), "kernel": platform.release(),
            "load_at_start": round(os.getloadavg()[0], 2), "compiler": context.get("compiler"),
            "flags": context.get("flags"), "rivals": libraries, "rounds": arguments.benchmark_repetitions,
            "min_time_s": arguments.benchmark_min_time, "unit": "ns"}


def regex(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def parsed_arguments():
    parser = argparse.ArgumentParser(prog="bench", allow_abbrev=False, description="Runs benchmarks beside floors and rivals.")
    parser.add_argument("--benchmark_filter", default=".", type=regex, metavar="REGEX",
                        help="only rows in which this finds a benchmark")
    parser.add_argument("--benchmark_repetitions", default=7, type=int, metavar="N", help="rounds, 7 if not said")
    parser.add_argument("--benchmark_min_time", default=0.1, type=float, metavar="SECONDS",
                        help="of each benchmark in a round, 0.1 if not said")
    parser.add_argument("--cache_misses", type=Path, metavar="PROGRAM", help="bench_cache_misses")
    parser.add_argument("--out", default=Path("."), type=Path, metavar="FOLDER", help="for results.json and results.svg")
    parser.add_argument("--scenarios", type=Path, metavar="PROGRAM", help="bench_scenarios")
    parser.add_argument("program", type=Path, nargs="?")
    arguments = parser.parse_args()
    if arguments.benchmark_repetitions < 1:
        parser.error("--benchmark_repetitions: at least 1")
    if not (arguments.program or arguments.scenarios):
        parser.error("no program to run")
    for name in ("program", "scenarios"):
        if given := getattr(arguments, name):
            setattr(arguments, name, given.resolve())
    return arguments


class Report:
    """What was measured: printed as it comes, written at the end."""

    def __init__(self, arguments):
        self.about = about(context_of(arguments), arguments)
        self.scenarios, self.rows, self.headed = [], [], None
        print(f"{self.about['compiler']}, {self.about['flags']}; {self.about['cpu']}, {self.about['cpus']} CPUs; "
              f"{self.about['date']}")
        print("; ".join(f"{LIBRARIES[kind]} {said}" for kind, said in self.about["rivals"].items()))

    def head(self, line):
        """Before the first line of each kind."""
        if self.headed != line:
            print(line)
            self.headed = line

    def add_scenario(self, scenario):
        self.scenarios.append(scenario)
        self.head(bench_scenarios.heading(self.about["rounds"]))
        print("\n".join(bench_scenarios.table_lines(scenario)), flush=True)

    def add(self, row):
        self.rows.append(row)
        self.head(f"{'ns/op, of %d rounds' % self.about['rounds']:<38} {'median':>10} {'min':>10} {'max':>10}  x floor  x rival")
        print("\n".join(table_lines(row)), flush=True)

    def results(self):
        return {"about": self.about, "scenarios": bench_scenarios.published(self.scenarios), "rows": self.rows}

    def write(self, folder):
        print("\n".join(bench_scenarios.losses(self.scenarios)))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(json.dumps(self.results()) + "\n")
        (folder / "results.svg").write_text(bench_plot.drawn(self.results()))
        print(f"{folder}/results.json, {folder}/results.svg")


def works(arguments, report):
    """What is to be measured: name, and what does it and reports."""
    wanted, rounds = arguments.benchmark_filter.search, arguments.benchmark_repetitions
    if arguments.scenarios:
        for row, work in bench_scenarios.works(arguments.scenarios, wanted, rounds):
            yield row, lambda work=work: report.add_scenario(work())
    if arguments.program:
        program, names = arguments.program, names_in(arguments.program)
        for row, kinds in rows_of(names, set(filter(wanted, names))).items():
            yield row, lambda row=row, kinds=kinds: report.add(
                summary(row, [run_once(program, kinds, arguments.benchmark_min_time) for _ in range(rounds)]))
    if arguments.cache_misses and wanted("cache_misses"):
        yield "cache_misses", lambda: [report.add(row) for row in cache_miss_rows(run(arguments.cache_misses).stdout)]


def measure(arguments, report):
    """Returns whether all went well."""
    well = True
    for name, work in works(arguments, report):
        try:
            work()
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name}: FAILED: {error} {getattr(error, 'stderr', '')}", file=sys.stderr)
            well = False
    return well


def self_test():
    names = ["a", "floor_a", "tbb_a", "floor_call", "b", "asio_other"]
    assert rows_of(names, {"floor_a", "b"}) == {"a": {"ours": "a", "floor": "floor_a", "tbb": "tbb_a"}, "b": {"ours": "b"}}
    assert rows_of(names, {"floor_call", "asio_other"}) == {"floor_call": {"ours": "floor_call"},
                                                            "asio_other": {"ours": "asio_other"}}
    # The machine is three times slower in the second round: the ratio is not.
    row = summary("a", [{"ours": 2.0, "floor": 1.0}, {"ours": 6.0, "floor": 3.0}, {"ours": 2.0, "floor": 2.0}])
    assert row["ours"]["median"] == 2.0 and row["floor"]["median"] == 2.0 and row["floor"]["max"] == 3.0
    assert row["floor"]["ours_over_it"]["median"] == 2.0
    assert [line.split() for line in table_lines(row)] == [["a", "2.00", "2.00", "6.00", "2.00"],
                                                           ["floor", "2.00", "1.00", "3.00"]]
    misses = list(cache_miss_rows("hash probe:\n  one by one     53.0 ns\n"
                                  "  group 8    by hand     40.5 ns x1.31   interleave     50.0 ns x1.06   ratio 0.81\n"
                                  "  group best by hand     27.5 ns x1.93   interleave     55.0 ns x0.96   ratio 0.50\n"
                                  "  group auto by hand     27.5 ns x1.93   interleave     110.0 ns x0.48   ratio 0.25\n"))
    assert [each["name"] for each in misses] == ["cache_misses_hash_probe", "cache_misses_hash_probe_auto"]
    assert [each["floor"]["ours_over_it"]["median"] for each in misses] == [2.0, 4.0]
    facts = about({}, argparse.Namespace(benchmark_repetitions=3, benchmark_min_time=0.1))
    scenarios = bench_scenarios.self_test()
    for rows in ([], [row], [row, summary("b", [{"ours": 5.0}]), *misses]):
        for these in ([], scenarios):
            drawing = ElementTree.fromstring(bench_plot.drawn({"about": facts, "scenarios": these, "rows": rows}))
            labels = [each.text for each in drawing.iter("{http://www.w3.org/2000/svg}text")]
            assert labels.count("a") == (row in rows) + bool(these) and "b" not in labels
            assert ("b, p99" in labels) == bool(these)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    arguments = parsed_arguments()
    report, well = Report(arguments), False
    try:
        well = measure(arguments, report)
    except KeyboardInterrupt:
        print("stopped: these rows are what was done")
    if not (report.scenarios or report.rows):
        print("bench: nothing was measured", file=sys.stderr)
        return 1
    report.write(arguments.out)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
