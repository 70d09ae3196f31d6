#!/usr/bin/env python3
"""Runs benchmarks beside their floors and rivals, prints the table, writes results.json and results.svg.

  bench.py [OPTION...] PROGRAM      PROGRAM: made of bench/micro and bench/rivals, or of some of their files
  bench.py --self-test

A row of the table is a benchmark `x` with `floor_x`, `asio_x` and `tbb_x`, as far as they exist. Each round runs the whole
row in a process of its own, one after the other, so that a ratio is between two figures of the same second: the table
shows the median of the rounds' ratios.
"""
import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import bench_plot

FLOOR = "floor"
RIVALS = {"asio": "Boost.Asio", "tbb": "oneTBB"}


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def names_in(program, pattern):
    """The benchmarks that Google Benchmark's filter finds, without what it appends to a name."""
    found = run(program, "--benchmark_list_tests=true", f"--benchmark_filter={pattern}")
    return [line.split("/")[0] for line in found.stdout.splitlines() if line]


def rows_of(names, wanted):
    """Row -> kind -> benchmark, of each row in which one is wanted. The kind of ours is "ours"."""
    rows = {}
    for name in names:
        kind, _, rest = name.partition("_")
        if kind not in (FLOOR, *RIVALS) or rest not in names:
            kind, rest = "ours", name
        rows.setdefault(rest, {})[kind] = name
    order = ["ours", FLOOR, *RIVALS]
    return {row: {kind: rows[row][kind] for kind in order if kind in rows[row]}
            for row in rows if not wanted.isdisjoint(rows[row].values())}


def run_once(program, row, min_time):
    """Kind -> nanoseconds, and what the program says of itself."""
    exactly = f"^({'|'.join(row.values())})(/|$)"
    done = json.loads(run(program, "--benchmark_format=json", f"--benchmark_filter={exactly}",
                          f"--benchmark_min_time={min_time}").stdout)
    for each in done["benchmarks"]:
        if each.get("error_occurred"):
            raise RuntimeError(f"{each['name']}: {each['error_message']}")
    times = {each["name"].split("/")[0]: each["real_time"] for each in done["benchmarks"]}
    return {kind: times[name] for kind, name in row.items()}, done["context"]


def spread(values):
    rounded = [round(value, 4) for value in values]
    return {"median": statistics.median(rounded), "min": min(rounded), "max": max(rounded), "all": rounded}


def summary(row, rounds):
    """What results.json has of a row; `rounds` is a list of kind -> nanoseconds."""
    result = {"name": row}
    for kind in rounds[0]:
        result[kind] = spread([times[kind] for times in rounds])
        if kind != "ours":
            ratios = [times["ours"] / times[kind] if times[kind] else 0.0 for times in rounds]
            result[kind]["ours_over_it"] = spread(ratios)
    return result


def table_lines(result):
    def line(name, figures, end=""):
        return f"{name:<38} {figures['median']:>10.2f} {figures['min']:>10.2f} {figures['max']:>10.2f}{end}".rstrip()

    floor = f"{result[FLOOR]['ours_over_it']['median']:>8.2f}" if FLOOR in result else f"{'':>8}"
    rivals = [f"{result[kind]['ours_over_it']['median']:>8.2f} {kind}" for kind in RIVALS if kind in result]
    yield line(result["name"], result["ours"], f" {floor} {' '.join(rivals)}")
    yield from (line(f"  {kind}", result[kind]) for kind in (FLOOR, *RIVALS) if kind in result)


def about(context, rounds, min_time):
    """What the figures depend on."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    libraries = {kind: context.get(kind, "left out, the program was built without it").replace("_", ".") for kind in RIVALS}
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "cpu": cpu[1] if cpu else platform.machine(), "cpus": os.cpu_count(), "kernel": platform.release(),
            "load_at_start": round(os.getloadavg()[0], 2), "compiler": context.get("compiler"),
            "flags": context.get("flags"), "rivals": libraries, "rounds": rounds, "min_time_s": min_time, "unit": "ns"}


def parsed_arguments():
    parser = argparse.ArgumentParser(prog="bench", allow_abbrev=False, description="Runs benchmarks beside floors and rivals.")
    parser.add_argument("--benchmark_filter", default=".", metavar="REGEX", help="only rows in which this finds a benchmark")
    parser.add_argument("--benchmark_repetitions", default=7, type=int, metavar="N", help="rounds, 7 if not said")
    parser.add_argument("--benchmark_min_time", default=0.1, type=float, metavar="SECONDS",
                        help="of each benchmark in a round, 0.1 if not said")
    parser.add_argument("--out", default=Path("."), type=Path, metavar="FOLDER", help="for results.json and results.svg")
    parser.add_argument("program", type=Path)
    arguments = parser.parse_args()
    if arguments.benchmark_repetitions < 1:
        parser.error("--benchmark_repetitions: at least 1")
    return arguments


def measure(arguments, rows, results):
    """Appends to the rows of `results` as they are done, and prints them. Returns whether one failed."""
    program, rounds, min_time = arguments.program.resolve(), arguments.benchmark_repetitions, arguments.benchmark_min_time
    failed = False
    for row, kinds in rows.items():
        try:
            times, contexts = zip(*[run_once(program, kinds, min_time) for _ in range(rounds)])
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{row}: FAILED: {error} {getattr(error, 'stderr', '')}", file=sys.stderr)
            failed = True
            continue
        if "about" not in results:
            results |= {"about": about(contexts[0], rounds, min_time), "rows": []}
            facts = results["about"]
            print(f"{facts['compiler']}, {facts['flags']}; {facts['cpu']}, {facts['cpus']} CPUs; {facts['date']}")
            print("; ".join(f"{RIVALS[kind]} {said}" for kind, said in facts["rivals"].items()))
            print(f"{'ns/op, of %d rounds' % rounds:<38} {'median':>10} {'min':>10} {'max':>10}  x floor  x rival")
        results["rows"].append(summary(row, times))
        print("\n".join(table_lines(results["rows"][-1])), flush=True)
    return failed


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
    for rows in ([], [row], [row, summary("b", [{"ours": 5.0}])]):
        drawing = ElementTree.fromstring(bench_plot.drawn({"about": about({}, 3, 0.1), "rows": rows}))
        labels = [each.text for each in drawing.iter("{http://www.w3.org/2000/svg}text")]
        assert ("a" in labels) == (row in rows) and "b" not in labels


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    arguments = parsed_arguments()
    program = arguments.program.resolve()
    rows = rows_of(names_in(program, "."), set(names_in(program, arguments.benchmark_filter)))
    if not rows:
        print(f"bench: {arguments.benchmark_filter} finds no benchmark", file=sys.stderr)
        return 1
    results, failed = {}, True
    try:
        failed = measure(arguments, rows, results)
    except KeyboardInterrupt:
        print("stopped: these rows are what was done")
    if results:
        (arguments.out / "results.json").write_text(json.dumps(results) + "\n")
        (arguments.out / "results.svg").write_text(bench_plot.drawn(results))
        print(f"{arguments.out}/results.json, {arguments.out}/results.svg")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
