"""The scenarios of bench.py: whole programs, each run in a process of its own, ours and its rivals in turn.

What one run reports are wall-clock and processor time of the measured part, the peak of the resident memory and, where something
waits, the 50th and the 99th percentile of those waits. A scenario that grows also runs once at ten times its size, of which the
table shows how much more time and memory that takes: 10 is linear.
"""
import json
import subprocess

from bench_rows import RIVALS, run, rows_of, spread, summary

FIGURES = {"wall_ms": "wall ms", "p50_us": "p50 us", "p99_us": "p99 us", "cpu_ms": "CPU ms", "peak_mib": "MiB"}
GROWTH = {"wall_ms": "x10 time", "peak_mib": "x10 MiB"}
SECONDS = 120  # for one run
TIE = 1.05     # a rival that is better by less than this does not win


def listed(program):
    """What the program says of itself: the context, and name -> whether it grows."""
    said = json.loads(run(program, "--list").stdout)
    return said["context"], {name: facts["grows"] for name, facts in said["scenarios"].items()}


def run_once(program, name, scale=1):
    try:
        done = run(program, name, *([str(scale)] if scale != 1 else []), seconds=SECONDS)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{name} has run for {SECONDS} s") from None
    return json.loads(done.stdout)


def measured(program, row, kinds, grows, rounds):
    """What results.json has of a scenario: for each figure what a row of bench_micro has, and the growth of each kind."""
    runs = [{kind: run_once(program, name) for kind, name in kinds.items()} for _ in range(rounds)]
    result = scenario_of(row, runs)
    for kind, name in kinds.items():
        if grows[name]:
            result["growth"][kind] = growth_of(result, kind, run_once(program, name, 10))
    return result


def scenario_of(row, runs):
    """`runs` is a list of kind -> figure -> value."""
    figures = {}
    for figure in FIGURES:
        having = [kind for kind in runs[0] if figure in runs[0][kind]]
        if "ours" in having:
            figures[figure] = summary(row, [{kind: each[kind][figure] for kind in having} for each in runs])
    return {"name": row, "kinds": list(runs[0]), "figures": figures, "growth": {}}


def growth_of(result, kind, ten_times):
    return {figure: ten_times[figure] / result["figures"][figure][kind]["median"] for figure in GROWTH}


def lost(result):
    """(figure, rival, ratio) where a rival is better."""
    for figure, row in result["figures"].items():
        # How long a program runs says nothing where it runs for a fixed time and its waits are what is measured.
        if figure == "wall_ms" and "p99_us" in result["figures"]:
            continue
        for kind in RIVALS:
            if kind in row and row[kind]["ours_over_it"]["median"] > TIE:
                yield figure, kind, row[kind]["ours_over_it"]["median"]


def published(scenarios):
    """First those where a rival wins, each group in its order."""
    return sorted(scenarios, key=lambda each: not list(lost(each)))


def shown(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cells(result, kind):
    """Each figure, with the ratio of ours to it."""
    for figure in FIGURES:
        row = result["figures"].get(figure, {})
        if kind not in row:
            yield "-"
        elif kind == "ours":
            yield shown(row[kind]["median"])
        else:
            yield f"{shown(row[kind]['median'])} ({shown(row[kind]['ours_over_it']['median'])})"
    for figure in GROWTH:
        yield shown(result["growth"][kind][figure]) if kind in result["growth"] else "-"


def heading(rounds):
    names = "".join(f"{name:>15}" for name in (*FIGURES.values(), *GROWTH.values()))
    return f"{'scenario, median of %d (ours over it)' % rounds:<38}{names}"


def table_lines(result):
    for kind in result["kinds"]:
        name = result["name"] if kind == "ours" else f"  {kind}"
        yield f"{name:<38}{''.join(f'{cell:>15}' for cell in cells(result, kind))}"


def losses(scenarios):
    """The lines that say where a rival is better."""
    for each in published(scenarios):
        what = ", ".join(f"{FIGURES[figure]} {shown(ratio)} x {kind}" for figure, kind, ratio in lost(each))
        if what:
            yield f"a rival wins: {each['name']}: {what}"


def drawn_row(result):
    """The row that a drawing shows, in nanoseconds: the 99th percentile of the waits, if there are any, else the wall-clock time."""
    figure, factor, words = ("p99_us", 1e3, ", p99") if "p99_us" in result["figures"] else ("wall_ms", 1e6, "")
    row = result["figures"][figure]
    kinds = [kind for kind in row if kind != "name"]
    drawn = {kind: spread([value * factor for value in row[kind]["all"]]) for kind in kinds}
    for kind in kinds:
        if kind != "ours":
            drawn[kind]["ours_over_it"] = row[kind]["ours_over_it"]
    return {"name": result["name"] + words, **drawn}


def works(program, wanted, rounds):
    """What is to be measured: name, and what does it and gives the scenario."""
    _, grows = listed(program)
    for row, kinds in rows_of(list(grows), set(filter(wanted, grows))).items():
        yield row, lambda row=row, kinds=kinds: measured(program, row, kinds, grows, rounds)


def self_test():
    def one(wall, mib, **more):
        return {"wall_ms": wall, "cpu_ms": 2 * wall, "peak_mib": mib, **more}

    faster = scenario_of("a", [{"ours": one(10.0, 4.0), "tbb": one(20.0, 4.0)}, {"ours": one(30.0, 4.0), "tbb": one(60.0, 4.0)}])
    assert faster["figures"]["wall_ms"]["tbb"]["ours_over_it"]["median"] == 0.5 and list(lost(faster)) == []
    assert "p99_us" not in faster["figures"]
    # It runs for a fixed time: only the waits and the memory count. The loop has no waits.
    waits = scenario_of("b", [{"ours": one(9.0, 8.0, p50_us=1.0, p99_us=30.0), "asio": one(1.0, 4.0, p50_us=2.0, p99_us=10.0),
                               "loop": one(9.0, 8.0)}])
    assert list(lost(waits)) == [("p99_us", "asio", 3.0), ("cpu_ms", "asio", 9.0), ("peak_mib", "asio", 2.0)]
    assert [each["name"] for each in published([faster, waits])] == ["b", "a"]
    assert list(losses([faster, waits])) == ["a rival wins: b: p99 us 3.00 x asio, CPU ms 9.00 x asio, MiB 2.00 x asio"]
    faster["growth"]["ours"] = growth_of(faster, "ours", one(400.0, 6.0))
    assert faster["growth"]["ours"] == {"wall_ms": 20.0, "peak_mib": 1.5}
    assert [line.split() for line in table_lines(faster)] == [
        ["a", "20.0", "-", "-", "40.0", "4.00", "20.0", "1.50"],
        ["tbb", "40.0", "(0.50)", "-", "-", "80.0", "(0.50)", "4.00", "(1.00)", "-", "-"]]
    assert [line.split() for line in table_lines(waits)][2] == ["loop", "9.00", "(1.00)", "-", "-", "18.0", "(1.00)", "8.00",
                                                               "(1.00)", "-", "-"]
    assert drawn_row(faster)["ours"]["all"] == [10e6, 30e6] and drawn_row(faster)["tbb"]["ours_over_it"]["median"] == 0.5
    assert drawn_row(waits)["name"] == "b, p99" and list(drawn_row(waits)) == ["name", "ours", "asio"]
    return [faster, waits]
