#!/usr/bin/env python3
"""Prints the tables of results of bench/README.md, from a results.json of bench.py for each compiler; the scenarios first.

  bench_table.py RESULTS.JSON...
"""
import json
import sys
from pathlib import Path

import bench_scenarios
from bench_rows import RIVALS


def shown(value):
    return f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def cells(row):
    """Median and spread, the ratio to the floor, and that to the rival."""
    if row is None:
        return ["-"] * 3
    ours = row["ours"]
    ratios = {kind: shown(row[kind]["ours_over_it"]["median"]) for kind in row if kind not in ("name", "ours")}
    floor = ratios.pop("floor", "-")
    rivals = ", ".join(f"{ratio} {kind}" for kind, ratio in ratios.items())
    return [f"{shown(ours['median'])} ({shown(ours['min'])}..{shown(ours['max'])})", floor, rivals or "-"]


def lines(runs):
    rows = [{row["name"]: row for row in run["rows"]} for run in runs]
    names = dict.fromkeys(name for row in rows for name in row)
    compilers = [cell for run in runs for cell in (" ".join(run["about"]["compiler"].split()[:2]), "x floor", "x rival")]
    yield ["ns/op: median (min..max)", *compilers]
    yield ["---"] * (1 + len(compilers))
    for name in names:
        yield [f"`{name}`", *(cell for row in rows for cell in cells(row.get(name)))]


def scenario_lines(run):
    yield [" ".join(run["about"]["compiler"].split()[:2]), "", *bench_scenarios.FIGURES.values(), *bench_scenarios.GROWTH.values()]
    yield ["---"] * (2 + len(bench_scenarios.FIGURES) + len(bench_scenarios.GROWTH))
    for scenario in run["scenarios"]:
        for kind in scenario["kinds"]:
            name = f"`{scenario['name']}`" if kind == "ours" else ""
            yield [name, kind if kind in RIVALS else "", *bench_scenarios.cells(scenario, kind)]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: bench_table.py RESULTS.JSON...")
    runs = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    tables = [scenario_lines(run) for run in runs if run["scenarios"]]
    if measured := [run for run in runs if run["rows"]]:
        tables.append(lines(measured))
    for table in tables:
        for line in table:
            print(f"| {' | '.join(line)} |")
        print()
