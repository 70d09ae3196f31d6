"""The lines of suspension points, where g++ made the code.

g++ 12 gives much of what surrounds an await the line of the function's closing brace, so the line where a frame would
continue says little. But the store of the state stands in the middle of the await: the last line before it is right, or
the next one if there is none since the store of another await.
"""
import bisect
import re

from . import host, names

_MEMBER = r"(-?0x[0-9a-f]+)\(%(\w+)\)"


def read(function):
    """The line of each suspension point, by its state."""
    block = function.block
    rows = block.rows(function.address)
    # What is seldom executed may lie elsewhere, and other functions between. Their blocks overlap, their symbols do not.
    name = names.symbol_at(function.address)
    inside = bisect.bisect_left(rows, True, key=lambda row: names.symbol_around(row[0]) != name)
    end = rows[inside][0] if inside < len(rows) else block.end
    rows = [row for row in rows if row[0] < end]
    if not rows:
        return {}
    instructions = host.disassemble(function.address, end)
    stores, dispatch = _uses_of_state(instructions, function.state[0])
    first = rows[0][1]
    last = _line_at(rows, dispatch) if dispatch is not None else None
    if last is None or last <= first:
        return dict.fromkeys(stores, first)  # all in one line
    found = {}
    rows = [row for row in rows if first < row[1] < last]
    previous = 0
    for state, address in sorted(stores.items(), key=lambda each: each[1]):
        before = [line for pc, line in rows if pc <= address]
        own = [line for pc, line in rows if previous < pc <= address]  # those before belong to an earlier await
        after = [line for pc, line in rows if address < pc <= address + 128]
        found[state] = next((lines[place] for lines, place in ((own, -1), (after, 0), (before, -1)) if lines), None)
        previous = address
    return found


def _line_at(rows, address):
    return next((line for pc, line in reversed(rows) if pc <= address), None)


def _uses_of_state(instructions, offset):
    """({state: address of its store}, address of the first load)."""
    stores, dispatch, constants, parts = {}, None, {}, {}

    def is_state(displacement, base):
        """Relative to the frame, or to a part of it whose address the function has computed."""
        return int(displacement, 16) in (offset, offset - parts.get(base, 0))

    for each in instructions:
        text = re.sub(r"\s+", " ", each.text)
        store = re.match(rf"movw? (\$0x[0-9a-f]+|%\w+),{_MEMBER}", text)
        load = re.match(rf"(?:movz|cmp|test)\w* .*{_MEMBER}", text)
        constant = re.match(r"mov\w* \$(0x[0-9a-f]+),%(\w+)$", text)
        part = re.match(rf"leaq? {_MEMBER},%(\w+)$", text)
        if constant:
            constants[_base(constant.group(2))] = int(constant.group(1), 16)
        elif part:
            parts[part.group(3)] = int(part.group(1), 16)
        elif store and is_state(*store.group(2, 3)):
            value = store.group(1)
            state = int(value[1:], 16) if value[0] == "$" else constants.get(_base(value[1:]))
            if state is not None and state % 2 == 0:
                stores.setdefault(state, each.address)
        elif load and dispatch is None and is_state(*load.groups()):
            dispatch = each.address
    return stores, dispatch


def _base(register):
    """The same name for all widths of a register."""
    return re.sub(r"^[er](?=[a-z])|[dwb]$", "", register)
