#!/usr/bin/env python3
"""Prints the table of results of bench/README.md, from a results.json of bench.py for each compiler.

  bench_table.py RESULTS.JSON...
"""
import json
import sys
from pathlib import Path


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


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: bench_table.py RESULTS.JSON...")
    for line in lines([json.loads(Path(path).read_text()) for path in sys.argv[1:]]):
        print(f"| {' | '.join(line)} |")
