"""How gdb prints what coroutines wait for: its state, and who waits."""
import gdb
import gdb.printing

from . import commands, memory

_MOST_NAMED = 8


def _waiting_text(address):
    """As `, 2 waiting: transfer, transfer`; nothing if nobody waits."""
    taken = commands.snapshot()
    waiting = [each.function.name for each in taken.coroutines.values()
               if not each.children and any(wait.object == address for wait in each.waits)]
    if not waiting:
        return ""
    more = ", ..." if len(waiting) > _MOST_NAMED else ""
    return f", {len(waiting):,} waiting: {', '.join(waiting[:_MOST_NAMED])}{more}"


class _Object:
    """One whose first word is its state."""

    def __init__(self, value):
        self.address = int(value.address)

    def to_string(self):
        word = memory.number(self.address, 8)
        if word is None:
            return "<no memory>"
        return self.state(word & ~1) + _waiting_text(self.address)


class Mutex(_Object):
    """An async_mutex."""

    @staticmethod
    def state(word):
        """The last bits say that a woken waiter is on its way, and whether it is held meanwhile."""
        return "free" if word == 0 or word & 6 == 4 else "held"


class Event(_Object):
    """An event for any number of waiters."""

    @staticmethod
    def state(word):
        """2: it is set; anything else than 0 stands for waiters."""
        return "set" if word == 2 else "not set"


class Channel:
    """A channel with a buffer of fixed size."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        """How many elements it has of how many, and who waits."""
        elements = self.value["elements_"]
        buffer = elements["buffer_"]
        closed = "closed, " if memory.number(int(elements["state_"].address), 4) & 2 else ""
        return f"{closed}{int(buffer['size_'])} of {int(buffer['capacity_'])}{_waiting_text(int(self.value.address))}"


def register():
    """Adds them to gdb."""
    printers = gdb.printing.RegexpCollectionPrettyPrinter("coracle")
    printers.add_printer("async_mutex", r"^coracle::async_mutex$", Mutex)
    printers.add_printer("event", r"^coracle::(async_manual_reset|async_auto_reset)_event$", Event)
    printers.add_printer("channel", r"^coracle::detail::basic_channel<.*ring_buffer<.*> >$", Channel)
    gdb.printing.register_pretty_printer(None, printers, replace=True)
