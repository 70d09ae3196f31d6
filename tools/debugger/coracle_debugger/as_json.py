"""The same as the other commands print, for programs. docs/debugging.md states the schema; SCHEMA changes with it."""
import json

from . import report

SCHEMA = 1


def _address(coroutine):
    return f"{coroutine.address:#x}" if coroutine is not None else None


def _coroutine(snapshot, each):
    place, via, parent, thread = each.place(), each.via, each.parent, each.thread
    wait = each.waits[0] if snapshot.graph.is_waiting(each) else None
    return {
        "frame": _address(each),
        "function": each.function.name,
        "file": place[0] if place else None,
        "line": place[1] if place else None,
        "does": report.state_text(snapshot, each),
        "thread": thread.num if thread is not None else None,
        "awaited_by": _address(parent),
        "through": (via.text or None) if via is not None else None,
        "spawned_at": via.spawned_at() if via is not None else None,
        "waits_for": f"{wait.object:#x}" if wait and wait.object else None,
        "executor": snapshot.executor(wait.executor) if wait else None,
    }


def _object(snapshot, address, kind):
    holders = snapshot.graph.holders(kind)
    elements, capacity = report.fill_of(kind)
    return {
        "address": f"{address:#x}",
        "type": report.primitive_text(kind),
        "name": snapshot.where_is(address),
        "elements": elements,
        "capacity": capacity,
        "waiters": [_address(each) for each in snapshot.graph.all_waiters(address)],
        "held_by": [{"frame": _address(each), "variable": name} for each, name in holders],
        "address_in": [] if holders else [_address(each) for each in snapshot.graph.referring(address)],
        "member_in": [] if holders else [_address(each) for each in snapshot.graph.referring_to_whole(address)],
    }


def text_of(snapshot):
    """One line for each coroutine and each object, so that much of it can be read at once."""
    coroutines = [_coroutine(snapshot, each) for each in sorted(snapshot.coroutines.values(), key=lambda each: each.address)]
    objects = [_object(snapshot, address, kind) for address, kind in snapshot.graph.objects.items()]
    found = {
        "deadlocks": [[_address(each) for each in circle] for circle in snapshot.graph.circles()],
        "stuck": [_address(each) for each in snapshot.graph.endless()],
    }
    return (f'{{"schema": {SCHEMA},\n"coroutines": [{_lines(coroutines)}],\n"objects": [{_lines(objects)}],\n'
            f'"deadlocks": {json.dumps(found["deadlocks"])},\n"stuck": {json.dumps(found["stuck"])}}}\n')


def _lines(rows):
    return ",".join("\n  " + json.dumps(row) for row in rows)
