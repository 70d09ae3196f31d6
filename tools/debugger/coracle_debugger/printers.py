"""How the debugger prints tasks, and what coroutines wait for: its state, and who waits."""
from . import memory, names, report

_MOST_NAMED = 8


def _waiting_text(taken, address):
    """As `, 2 waiting: transfer, transfer`; nothing if nobody waits."""
    waiting = [each.function.name for each in taken.coroutines.values()
               if not each.children and any(wait.object == address for wait in each.waits)]
    if not waiting:
        return ""
    more = ", ..." if len(waiting) > _MOST_NAMED else ""
    return f", {len(waiting):,} waiting: {', '.join(waiting[:_MOST_NAMED])}{more}"


def _mutex(taken, address, _type):
    """Its last bits say that a woken waiter is on its way, and whether it is held meanwhile."""
    word = memory.number(address, 8)
    if word is None:
        return "<no memory>"
    return ("free" if word & ~1 == 0 or word & 6 == 4 else "held") + _waiting_text(taken, address)


def _event(taken, address, _type):
    """Its first word is 2 if it is set; anything else than 0 stands for waiters."""
    word = memory.number(address, 8)
    if word is None:
        return "<no memory>"
    return ("set" if word & ~1 == 2 else "not set") + _waiting_text(taken, address)


def _channel(taken, address, _type):
    """How many elements a channel with a buffer of fixed size has of how many."""
    size, capacity, is_closed = report.channel_fill(address)
    if size is None:
        return "<no memory>"
    return f"{'closed, ' if is_closed else ''}{size} of {capacity}{_waiting_text(taken, address)}"


def _task(taken, address, _type):
    """A handle. Of a coroutine that has ended its destroy function is left."""
    frame = memory.word(address)
    if not frame:
        return "empty" if frame == 0 else "<no memory>"
    if frame in taken.coroutines:
        coroutine = taken.coroutines[frame]
        return f"{report.in_line(coroutine)}, {report.state_text(taken, coroutine)}"
    function = names.of_destroyed(names.symbol_at(memory.word(frame + memory.WORD) or 0))
    return f"{function}, ended" if function and memory.word(frame) == 0 else f"<no coroutine at {frame:#x}>"


def of(snapshot):
    """(name, pattern of types, function of the address and the Type that returns a text) of each.

    `snapshot` returns the process.Process."""
    found = []
    for name, pattern, function in (
            ("task", r"^coracle::task<.*>$", _task),
            ("async_mutex", r"^coracle::async_mutex$", _mutex),
            ("event", r"^coracle::(async_manual_reset|async_auto_reset)_event$", _event),
            ("channel", r"^coracle::(channel<.*>|detail::(basic|bounded)_channel<.*ring_buffer<.*> ?>)$", _channel)):
        found.append((name, pattern, lambda address, kind, function=function: function(snapshot(), address, kind)))
    return found
