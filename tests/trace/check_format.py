#!/usr/bin/env python3
"""Checks that a trace is what viewers read: "Trace Event Format", as a JSON object, and no more than coracle uses of it.

check_format.py PROGRAM: PROGRAM FILE writes a trace (traced.cpp)
"""
import copy
import json
import math
import subprocess
import sys
import tempfile

TRACE = {"traceEvents": list, "displayTimeUnit": str, "otherData": dict}
METADATA = {"name": str, "ph": str, "pid": int, "tid": int, "args": dict}
SLICE = {**METADATA, "ts": (int, float), "dur": (int, float)}
ARGUMENTS = {"task": str, "frame": str, "before": str, "queued_us": (int, float)}  # of a slice


def without_duplicates(pairs):
    """For json.loads(), which takes the last of two keys that are the same."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a key comes twice: {[key for key, _ in pairs]}")
    return found


def refuse(constant):
    """For json.loads(), which accepts NaN and Infinity."""
    raise ValueError(f"{constant} is no JSON")


def parse(text):
    """Returns the trace; raises ValueError if it is no JSON."""
    return json.loads(text, object_pairs_hook=without_duplicates, parse_constant=refuse)


def wrong_keys(where, value, types, optional=()):
    """What an object lacks, has in addition, or has of another type."""
    if not isinstance(value, dict):
        yield f"{where}: no object: {value!r}"
        return
    if missing := types.keys() - value.keys() - set(optional):
        yield f"{where}: without {sorted(missing)}: {value}"
    if unknown := value.keys() - types.keys():
        yield f"{where}: with {sorted(unknown)}: {value}"
    for key, kind in types.items():
        if key in value and (not isinstance(value[key], kind) or isinstance(value[key], bool)):
            yield f"{where}: {key} is {value[key]!r}"


def nanoseconds(microseconds):
    """A time as Perfetto takes it."""
    return round(microseconds * 1000)


def nests(slices):
    """Returns true if of two slices of a track, one contains the other or they do not overlap. Perfetto drops a slice that
    overlaps another by a nanosecond."""
    ends = []
    for begin, minus_duration in sorted((nanoseconds(each["ts"]), -nanoseconds(each["dur"])) for each in slices):
        while ends and ends[-1] <= begin:
            ends.pop()
        if ends and begin - minus_duration > ends[-1]:
            return False
        ends.append(begin - minus_duration)
    return True


def wrong_event(where, event):
    """What is wrong with one event by itself."""
    phase = event.get("ph") if isinstance(event, dict) else None
    if phase == "M":
        yield from wrong_keys(where, event, METADATA)
        if event.get("name") not in ("process_name", "thread_name"):
            yield f"{where}: metadata of that name is unknown: {event}"
        yield from wrong_keys(f"{where}, args", event.get("args"), {"name": str})
    elif phase == "X":
        yield from wrong_keys(where, event, SLICE)
        yield from wrong_keys(f"{where}, args", event.get("args"), ARGUMENTS, optional=ARGUMENTS)
        for time in ("ts", "dur"):
            value = event.get(time)
            if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
                yield f"{where}: {time} is no time: {event}"
        if not event.get("name"):
            yield f"{where}: a slice without a name: {event}"
    else:
        yield f"{where}: neither metadata nor a complete event: {event}"


def complaints(trace):
    """What is wrong with a trace, as texts."""
    found = list(wrong_keys("trace", trace, TRACE, optional=("displayTimeUnit", "otherData")))
    if found:
        return found
    if trace.get("displayTimeUnit", "ms") not in ("ms", "ns"):
        found.append(f"displayTimeUnit is {trace['displayTimeUnit']!r}")
    events = trace["traceEvents"]
    for index, event in enumerate(events):
        found += wrong_event(f"event {index}", event)
    return found or wrong_tracks(events)


def wrong_tracks(events):
    """What is wrong with the events together: each has its process and its track, which have one name."""
    found, tracks = [], {}
    names = [(each["name"], each["pid"], each["tid"]) for each in events if each["ph"] == "M"]
    processes = {process for name, process, _ in names if name == "process_name"}
    if len(set(names)) != len(names):
        found.append("a process or a track has two names")
    for each in events:
        if each["ph"] == "X":
            tracks.setdefault((each["pid"], each["tid"]), []).append(each)
    for (process, track), slices in tracks.items():
        if process not in processes or ("thread_name", process, track) not in names:
            found.append(f"track {track} of process {process} has no name")
        if not nests(slices):
            found.append(f"slices of track {track} of process {process} overlap")
    return found


def unnoticed(trace):
    """Breaks a trace in one way after the other. Returns the ways that are not seen."""
    place = next(index for index, each in enumerate(trace["traceEvents"]) if each["ph"] == "X" and each["dur"] > 0.001)
    changes = {"ph": "B", "ts": -1, "dur": "1", "name": "", "pid": 99, "tid": 1.5, "args": {"frame": 1}, "more": 1}
    missed = []
    for key, value in changes.items():
        broken = copy.deepcopy(trace)
        broken["traceEvents"][place][key] = value
        missed += [] if complaints(broken) else [key]
    broken = copy.deepcopy(trace)
    one = trace["traceEvents"][place]
    broken["traceEvents"].append({**one, "ts": one["ts"] + one["dur"] - 0.001, "dur": 0.002})
    return missed + ([] if complaints(broken) else ["overlapping slices"])


def main():
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([sys.argv[1], file.name], check=True, timeout=60)
        text = file.read()
    trace = parse(text.decode("ascii"))
    wrong = complaints(trace)
    for each in wrong[:20]:
        print(each)
    slices = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    if not {"serve", "queued", "sleeps"} <= {each["name"] for each in slices}:
        wrong.append("missing")
        print(f"the trace lacks what the program does: {sorted({each['name'] for each in slices})}")
    for way in unnoticed(trace) if not wrong else []:
        wrong.append(way)
        print(f"a trace that is broken in this way passes: {way}")
    print(f"a trace of {len(slices)} slices: {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
