"""The lines of a program's suspension points, from its file alone. docs/debugging.md states the format.

What an inspector inside the program cannot know without debug information: where a frame keeps its state, and which line each
state stands for.
"""
import re

from . import functions, host, names

FORMAT = 1


def _states(function):
    """The states that a frame may have."""
    if function.is_gcc:
        return set(function.lines_by_state()) - {0}  # which is stored before the last suspension
    return range(max({0, *function.labels, *_stored(function)}) + 1)


def _stored(function):
    """The states that clang's code stores: those of the first and the last suspension have no label."""
    store = re.compile(rf"mov[bwl]\s+\$(0x[0-9a-f]+),{function.state[0]:#x}\(%")
    found = (store.match(each.text) for each in host.disassemble(function.address, function.block.end))
    return {int(each[1], 16) for each in found if each}


def _row(address, symbol):
    """As `3a10 48 2 2:41 4:43 /src/server.cpp`: the function, the place and the size of its state, and the lines; or None."""
    function = functions.Function(address, symbol)
    if function.state is None:
        return None
    places = {state: function.place(0, state) for state in _states(function)}
    lines = [f"{state}:{place[1]}" for state, place in sorted(places.items())
             if place and place[0] == function.file and state < 1 << 8 * function.state[1]]
    return f"{address:x} {function.state[0]} {function.state[1]} {' '.join(lines)} {function.file}" if lines else None


def text_of():
    """The format's number and the file's build ID, then a line for each coroutine function with debug information."""
    build_id = host.build_id()
    if build_id is None:
        raise host.Failure("the program has no build ID: link it with -Wl,--build-id")
    rows = [f"coracle lines {FORMAT} {build_id}"]
    for address, symbol in host.functions_named(r"\.(?:resume|actor)\b"):
        if names.of_coroutine(symbol):
            rows.append(_row(address, symbol))
    return "".join(f"{row}\n" for row in rows if row)
