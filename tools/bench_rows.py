"""Common code for the rows of bench.py: ours, a floor and rivals, and ratios between figures of the same round."""
import statistics
import subprocess

FLOOR = "floor"
LIBRARIES = {"asio": "Boost.Asio", "tbb": "oneTBB"}
RIVALS = [*LIBRARIES, "threads", "loop", "naive"]


def run(program, *arguments, seconds=None):
    return subprocess.run([program, *arguments], check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=seconds)


def rows_of(names, wanted):
    """Row -> kind -> benchmark, of each row in which one is wanted. The kind of ours is "ours"."""
    rows = {}
    if len(names) != len(set(names)):
        raise SystemExit(f"bench: two benchmarks have one name: {[name for name in set(names) if names.count(name) > 1]}")
    for name in names:
        kind, _, rest = name.partition("_")
        if kind not in (FLOOR, *RIVALS) or rest not in names:
            kind, rest = "ours", name
        rows.setdefault(rest, {})[kind] = name
    order = ["ours", FLOOR, *RIVALS]
    return {row: {kind: rows[row][kind] for kind in order if kind in rows[row]}
            for row in rows if not wanted.isdisjoint(rows[row].values())}


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
