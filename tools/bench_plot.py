#!/usr/bin/env python3
"""Draws results.json of bench.py: what has a floor or a rival beside it, a row each, time on a logarithmic scale; first the
scenarios, then the single operations, each with a scale of its own.

  bench_plot.py RESULTS.JSON > RESULTS.SVG
"""
import json
import math
import sys
from html import escape
from pathlib import Path

import bench_scenarios

WIDTH, LEFT, RIGHT, TOP, HEAD, ROW = 1120, 310, 810, 70, 56, 22
KINDS = {"ours": "coracle", "floor": "floor, by hand", "asio": "Boost.Asio", "tbb": "oneTBB", "threads": "std::thread",
         "loop": "plain loop", "naive": "one lookup after the other"}
# Of light and of dark surroundings; the same hues apart from grey, told apart by shape too.
COLOURS = {"paper": ("#ffffff", "#15181c"), "stripe": ("#f3f5f7", "#1d2126"), "ink": ("#1b1f24", "#e6e9ec"),
           "faint": ("#68717b", "#98a1ab"), "grid": ("#d5dae0", "#353b42"), "ours": ("#0a62c4", "#62aeff"),
           "floor": ("#4e565f", "#b9c1c9"), "asio": ("#c2510a", "#ff9d57"), "tbb": ("#8132a8", "#d391f5"), "naive": ("#1a7a4c", "#5fce97"),
           "threads": ("#a01c4f", "#ff86b0"), "loop": ("#7a6a00", "#d8c34a")}


def style(index):
    return "".join(f".{name}{{fill:{both[index]};stroke:{both[index]}}}" for name, both in COLOURS.items())


def text(x, y, words, kind="ink", anchor="start", size=12):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1, y1, x2, y2, kind, width=1.0):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width}"/>'


def mark(kind, x, y):
    if kind == "ours":
        return f'<circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    if kind == "floor":
        return line(x, y - 7, x, y + 7, "floor", 3)
    if kind == "asio":
        return f'<path class="asio" d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"/>'
    if kind == "naive":
        return f'<path class="naive" d="M{x:.1f} {y - 6:.1f}l6 11l-12 0z"/>'
    if kind == "threads":
        return f'<path class="threads" d="M{x:.1f} {y + 6:.1f}l6 -11l-12 0z"/>'
    if kind == "loop":
        return line(x - 6, y, x + 6, y, "loop", 4)
    return f'<rect class="tbb" x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"/>'


def shown_time(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1)):
        if ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns:g} ns"


class Scale:
    """From nanoseconds to a place; whole decades."""

    def __init__(self, times):
        self.first = math.floor(math.log10(min(times)))
        self.last = max(math.ceil(math.log10(max(times))), self.first + 1)

    def __call__(self, ns):
        return LEFT + (RIGHT - LEFT) * (math.log10(ns) - self.first) / (self.last - self.first)

    def grid(self, top, bottom):
        for decade in range(self.first, self.last + 1):
            x = self(10.0**decade)
            yield line(x, top - 4, x, bottom, "grid")
            for y in (top - 10, bottom + 16):
                yield text(x, y, shown_time(10.0**decade), "faint", "middle", 11)


def row_lines(result, kinds, y, scale):
    yield text(LEFT - 14, y + 4, result["name"], anchor="end")
    medians = [scale(result[kind]["median"]) for kind in kinds]
    yield line(min(medians), y, max(medians), y, "grid", 2)
    for kind in reversed(kinds):  # ours on top
        figures = result[kind]
        yield line(scale(figures["min"]), y, scale(figures["max"]), y, kind, 1.5)
        yield mark(kind, scale(figures["median"]), y)
    x = RIGHT + 85
    if "floor" in result:
        yield text(x, y + 4, f"{result['floor']['ours_over_it']['median']:.2f}", anchor="end")
    for kind in [kind for kind in kinds if kind not in ("ours", "floor")]:
        x += 65
        yield text(x, y + 4, f"{result[kind]['ours_over_it']['median']:.2f}", kind, "end")


def legend(about, kinds):
    yield text(20, 26, f"{about['compiler']}, {about['flags']}; {about['cpu']}, {about['cpus']} CPUs; {about['date']}; "
               f"{about['rounds']} rounds", "faint", size=11)
    x = 26
    for kind in kinds:
        yield mark(kind, x, 46)
        name = f"{KINDS[kind]} {about['rivals'].get(kind, '')}".strip()
        yield text(x + 12, 50, name)
        x += 36 + 7 * len(name)


def block(title, rows, top):
    """Rows below a title, with a scale of their own; their last line is at top + HEAD + ROW * len(rows)."""
    yield text(20, top + 20, title, size=15)
    top += HEAD
    bottom = top + ROW * len(rows)
    yield text(RIGHT + 85, top - 10, "x floor", "faint", "end", 11)
    yield text(RIGHT + 150, top - 10, "x rival", "faint", "end", 11)
    for i in range(0, len(rows), 2):
        yield f'<rect class="stripe" x="0" y="{top + ROW * i}" width="{WIDTH}" height="{ROW}"/>'
    scale = Scale([row[kind][end] for row, kinds in rows for kind in kinds for end in ("min", "max")])
    yield from scale.grid(top, bottom)
    for i, (row, kinds) in enumerate(rows):
        yield from row_lines(row, kinds, top + ROW * (i + 0.5), scale)


def compared(rows):
    """Rows with their kinds, without those that have nothing to compare to."""
    rows = [(row, [kind for kind in KINDS if kind in row]) for row in rows]
    return [(row, kinds) for row, kinds in rows if len(kinds) > 1 and all(row[kind]["min"] > 0 for kind in kinds)]


def drawn(results):
    """The SVG."""
    blocks = [("Scenarios, wall-clock time or 99th percentile of waits: median, and least to greatest",
               compared(map(bench_scenarios.drawn_row, results["scenarios"]))),
              ("Nanoseconds for one operation: median, and least to greatest", compared(results["rows"]))]
    parts, top = [], TOP
    for title, rows in blocks:
        if rows:
            parts += block(title, rows, top)
            top += HEAD + ROW * len(rows) + 40
    kinds = [kind for kind in KINDS if any(kind in kinds for _, rows in blocks for _, kinds in rows)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
        ' font-family="system-ui, Helvetica, Arial, sans-serif">',
        f"<style>{style(0)}@media (prefers-color-scheme: dark){{{style(1)}}}text{{stroke:none!important}}</style>",
        '<rect class="paper" width="100%" height="100%"/>', *legend(results["about"], kinds), *parts, "</svg>\n"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: bench_plot.py RESULTS.JSON > RESULTS.SVG")
    print(drawn(json.loads(Path(sys.argv[1]).read_text())), end="")
