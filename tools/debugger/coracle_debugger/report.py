"""The text that the commands print."""
import collections
import itertools
import re
import time

from . import host, memory, names, waits
from .continuation import Continuation
from .coroutines import Wait

_ACTIONS = {"lock": "waits to lock", "acquire": "waits to acquire", "scoped_acquire": "waits to acquire", "wait": "waits for",
            "wait_until": "waits for",
            "recv": "waits to receive from", "send": "waits to send to", "send_copy": "waits to send to",
            "enter": "waits to lock",
            "join": "waits for the children of", "changed": "waits for a change of", "tick": "waits for a tick of",
            "arrive": "waits for the others at", "number": "waits for a number of", "claim": "waits for a free slot of",
            "claim_one": "waits for a free slot of"}
_WHOLE_TEXTS = {"sleep_operation": "sleeps", "wait_for_more": "waits for the next value of a broadcast or watched_value",
                "blocking_call": "waits for a thread to make its blocking call",
                "running_blocking_call": "waits for its blocking call to return"}
# In a channel<T> (channels/detail/guarded_buffer.hpp, channel_buffer.hpp). tests/debugger fails if they change.
_CAPACITY_IN_CHANNEL, _SIZE_IN_CHANNEL, _CLOSED = 16, 40, 2
_NEVER = (1 << 63) - 1  # of the clock
MOST_LINES = 100
MOST_OBJECTS = 50
NONE_IS_THERE = "no coroutine is suspended or runs.\n"


def place_of(coroutine):
    """file:line, or what is known instead."""
    place = coroutine.place()
    if place is not None:
        return f"{names.file_name(place[0])}:{place[1]}"
    return "line unknown" if coroutine.function.has_types else "no debug information"


def at_place(coroutine):
    """As ` at file:line`; nothing if that is not known."""
    return f" at {place_of(coroutine)}" if coroutine.place() is not None else ""


def primitive_text(wait):
    """As users name it."""
    if wait.primitive == "wait_for_more":
        return "broadcast or watched_value"
    match = re.match(r"basic_channel<(.*), (\w+)<.*> ?>$", wait.primitive)
    kinds = {"ring_buffer": "channel", "chunk_buffer": "unbounded_channel"}
    return f"{kinds.get(match.group(2), 'channel')}<{match.group(1)}>" if match else wait.primitive


def channel_fill(address):
    """(elements, capacity, whether it is closed) of a channel<T>; (None, None, False) if there is no memory."""
    state, capacity, size = (memory.word(address + place) for place in (0, _CAPACITY_IN_CHANNEL, _SIZE_IN_CHANNEL))
    return (size, capacity, state & _CLOSED != 0) if size is not None else (None, None, False)


def fill_of(wait):
    """(elements, capacity) of the channel<T> that is waited for; (None, None) of anything else."""
    has_fill = wait.object and re.match(r"basic_channel<.*\bring_buffer<", wait.primitive)
    return channel_fill(wait.object)[:2] if has_fill else (None, None)


def fill_text(wait):
    """As `, 0 of 2 elements`; nothing for what is no such channel."""
    size, capacity = fill_of(wait)
    return f", {size:,} of {capacity:,} element{'s' if capacity != 1 else ''}" if capacity is not None else ""


def wait_text(snapshot, wait):
    """As `waits to lock async_mutex accounts`."""
    if wait.operation.awaits_shared and wait.object in snapshot.coroutines:
        return f"awaits {snapshot.coroutines[wait.object].function.name}"
    if wait.object in snapshot.flights:
        return f"awaits {Continuation.FLIGHT} of {snapshot.coroutines.of_row(snapshot.flights[wait.object]).function.name}"
    operation = wait.operation.name.rsplit("::", 1)[-1]
    if operation in _WHOLE_TEXTS:
        return _WHOLE_TEXTS[operation]
    action = _ACTIONS.get(operation[: -len("_operation")] if operation.endswith("_operation") else operation, "waits:")
    text = f"{action} {primitive_text(wait)}"
    return f"{text} {snapshot.where_is(wait.object)}" if wait.object else text


def other_waits_text(snapshot, others):
    """As `in when_any(): sleeps, waits for I/O: receive on descriptor 5`."""
    through = others[0].through
    return (f"in {through}: " if through else "") + waits_text(snapshot, others)


def waits_text(snapshot, others):
    """As `sleeps, waits for I/O: receive on descriptor 5`."""
    texts = (wait_text(snapshot, each.what) if isinstance(each.what, Wait) else each.what.text
             for each in sorted(others, key=lambda each: each.node))
    return ", ".join(dict.fromkeys(texts))


def state_text(snapshot, coroutine):
    """What a coroutine does, in a few words."""
    if coroutine.thread is not None and not coroutine.has_children:
        return f"runs on thread {coroutine.thread.num}"
    if not coroutine.is_started:
        return "not started"
    kinds, idle = coroutine.kinds_of_children, coroutine.idle_generators
    spawned = sum(count for each, count in kinds if each.is_spawned)
    awaited = [each for each, _ in kinds if not each.is_spawned and each.row not in idle]
    if awaited:
        through = {each.via.text for each in awaited if each.via is not None and each.via.text}
        called = ", ".join(dict.fromkeys(each.function.name for each in awaited))
        beside = snapshot.other_waits.get(coroutine.address)
        return (f"awaits {' '.join(sorted(through)) + ' of ' if through else ''}{called}"
                f"{'; ' + waits_text(snapshot, beside) if beside else ''}")
    if coroutine.waits:
        return wait_text(snapshot, coroutine.waits[0])
    if spawned:
        return f"its async_scope has {spawned:,} child{'ren' if spawned != 1 else ''}"
    if coroutine.row in snapshot.graph.joins:
        return f"waits for the children of async_scope {snapshot.where_is(snapshot.graph.joins[coroutine.row])}"
    others = snapshot.other_waits.get(coroutine.address)
    if others:
        return other_waits_text(snapshot, others)
    if coroutine.is_idle_generator:
        return "suspended at a co_yield"
    awaiter = coroutine.function.awaiter(coroutine.state)
    if awaiter:
        return "suspended in " + names.tidy(awaiter)
    return "suspended"


def root_text(snapshot, coroutine):
    """What a tree hangs from."""
    via = coroutine.via
    if via is None:
        return "awaited by nothing that is known"
    thread = snapshot.stacks.thread_of(via.address)
    if thread is not None:
        return f"{via.text} on thread {thread.num}"
    spawned_at = via.spawned_at()
    return f"spawned at {spawned_at}" if spawned_at else f"in {via.text}" if via.text == "async_scope" else via.text


class Listing:
    """Lines of coroutines, in columns. Each has a number, which the other commands understand."""

    def __init__(self, snapshot):
        self.snapshot = snapshot
        self.rows = []  # text, or (indentation, coroutine)

    def add(self, row):
        self.rows.append(row)

    def tree(self, coroutine, depth=0, folds=True):
        """The coroutine and all below it. Neighbours whose trees look the same are shown once."""
        pending = [(coroutine, depth)]
        while pending:
            each, at = pending.pop()
            if isinstance(each, str):
                self.add(each)
                continue
            self.add((at, each))
            pending.extend(reversed(self.level(each.kinds_of_children if folds else [(child, 1) for child in each.children], at + 1)))

    @staticmethod
    def level(counted, depth):
        """(coroutine, depth) of each, and behind it how many others look the same."""
        shown = []
        for each, count in counted:
            shown.append((each, depth))
            if count > 1:
                shown.append((f"    {'  ' * depth}({count - 1:,} more like this)", depth))
        return shown

    def write(self, most=MOST_LINES):
        """Returns the text and the coroutines by their numbers."""
        shown = self.rows
        rows = [row if isinstance(row, str) else self._cells(row) for row in shown[:most]]
        cells = [row for row in rows if not isinstance(row, str)]
        widths = [max((len(row[column]) for row in cells), default=0) for column in range(2)]
        lines, numbered = [], []
        for row, source in zip(rows, shown):
            if isinstance(row, str):
                lines.append(row)
            else:
                lines.append(f"#{len(numbered):<3}{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}".rstrip())
                numbered.append(source[1])
        if len(shown) > most:
            lines.append(f"({len(shown) - most} more lines: `coracle tasks all`)")
        return "\n".join(lines) + "\n", numbered

    def _cells(self, row):
        depth, coroutine = row
        spawned_at = coroutine.parent and coroutine.via and coroutine.via.spawned_at()
        state = state_text(self.snapshot, coroutine) + (f" (spawned at {spawned_at})" if spawned_at else "")
        return "  " * depth + coroutine.function.name, place_of(coroutine), state


def tasks(snapshot, shows_all=False):
    """`coracle tasks`."""
    if not snapshot.coroutines:
        return NONE_IS_THERE, []
    listing, by_name, by_root = Listing(snapshot), {}, {}
    for root in snapshot.coroutines.roots():  # by address
        by_name.setdefault((root.via is None, root.function.name), []).append(root)
    for _, named in sorted(by_name.items()):
        for root in named:
            by_root.setdefault(root_text(snapshot, root), []).append(root)
    for text, roots in by_root.items():
        listing.add(text)
        counted = [(root, 1) for root in roots] if shows_all else snapshot.coroutines.counted(roots)
        for root, depth in listing.level(counted, 0):
            if isinstance(root, str):
                listing.add(root)
            else:
                listing.tree(root, depth, not shows_all)
    text, numbered = listing.write(10**9 if shows_all else MOST_LINES)
    waiting = len(snapshot.graph.waiting) + len(snapshot.graph.branching)
    running, count = len(snapshot.coroutines.running), len(snapshot.coroutines)
    head = f"{count:,} coroutine{'s' if count != 1 else ''}: {running:,} running, {waiting:,} waiting for an object\n"
    return head + text + deadlocks(snapshot), numbered


def backtraces(snapshot, coroutines):
    """`coracle bt`: innermost first, as gdb's."""
    listing = Listing(snapshot)
    for coroutine in coroutines:
        while True:
            listing.add((0, coroutine))
            if coroutine.parent is None:
                break
            if coroutine.via is not None and coroutine.via.text:
                listing.add(f"    through {coroutine.via.text}")
            coroutine = coroutine.parent
        listing.add(f"    {root_text(snapshot, coroutine)}")
    return listing.write()


# ---- who waits for whom ----


def in_line(coroutine):
    """As `transfer at stuck.cpp:30`."""
    return coroutine.function.name + at_place(coroutine)


def deadlocks(snapshot):
    """The circles of coroutines that wait for locks of one another, and those that wait for their own end."""
    text = "".join(_circle_text(snapshot, circle) for circle in snapshot.graph.circles())
    for each in snapshot.graph.joined_by_themselves:
        text += "DEADLOCK: this waits for the children of an async_scope, and is one of them or is awaited by one\n"
        text += f"    {in_line(each)} {state_text(snapshot, each)}\n"
    return text


def _circle_text(snapshot, circle):
    if len(circle) == 1:
        (holder, name), *_ = snapshot.graph.holders(circle[0].waits[0])
        where = f", in {name}" if name else ""
        text = f"DEADLOCK: this waits for a lock that is held above it, by {in_line(holder)}{where}\n"
        if holder is circle[0]:
            text = f"DEADLOCK: this waits for a lock that it holds itself{where}\n"
    else:
        text = "DEADLOCK: each of these waits for a lock that the next one holds\n"
    objects = {each.waits[0].object for each in circle}
    are_alike = len({snapshot.where_is(each) for each in objects}) < len(objects)  # as the same member of several objects
    for each in circle:
        at = f" at {each.waits[0].object:#x}" if are_alike else ""
        text += f"    {in_line(each)} {wait_text(snapshot, each.waits[0])}{at}\n"
    return text


def stuck(snapshot):
    """The waits that nothing can end, and that are in no circle."""
    in_circles = {each.address for circle in snapshot.graph.circles() for each in circle}
    endless = [each for each in snapshot.graph.endless() if each.address not in in_circles]
    counts = _counted(snapshot, endless, lambda each: f"{in_line(each)} {state_text(snapshot, each)}")
    if not counts:
        return ""
    head = "STUCK: nothing that can go on has the address of what these wait for; only a stop request could end the waits\n"
    return head + "".join(f"    {each}\n" for each in counts)


def all_deadlocks(snapshot):
    """`coracle deadlocks`."""
    if not snapshot.coroutines:
        return NONE_IS_THERE
    found = deadlocks(snapshot) + stuck(snapshot)
    if not found and snapshot.graph.has_unknown_holder():
        return "no deadlock was found; but coroutines without debug information (-g) may hold what others wait to lock\n"
    return found or "no deadlock was found\n"


def why(snapshot, coroutine):
    """`coracle why N`."""
    text = f"{in_line(coroutine)}, frame {coroutine.address:#x}\n"
    text += f"  {state_text(snapshot, coroutine)}\n"
    if coroutine.children and not snapshot.graph.is_waiting(coroutine):
        for leaf in waits.leaves(snapshot.graph, coroutine):
            text += f"  at the bottom of that, {in_line(leaf)} {state_text(snapshot, leaf)}\n"
        return text
    for wait in snapshot.graph.waits_of(coroutine):
        executor = snapshot.executor(wait.executor)
        text += f"  resumes {'on ' + executor if executor else 'on the thread that wakes it: it has no executor'}\n"
        if wait.object:
            text += f"  {primitive_text(wait)} at {wait.object:#x}{fill_text(wait)}\n"
        if wait.object and not wait.is_sure:
            text += "  (it may have been woken already: nothing in the object refers to it)\n"
        others = [each for each in snapshot.graph.all_waiters(wait.object) if wait.object and each is not coroutine]
        text += grouped(snapshot, "  also waiting for it: {}\n", others)
        text += wakers_text(snapshot, wait, "  ")
    if not host.is_core():
        text += "".join(f"  {due_text(due)}\n" for due in snapshot.due_times(coroutine))
    return text + deadlocks_of(snapshot, coroutine)


def due_text(due):
    """As `due in 24 h`, of nanoseconds of the clock."""
    if due >= _NEVER:
        return "never due"
    left = due - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    unit, size = next(each for each in (("d", 86400e9), ("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6))
                      if abs(left) >= 2 * each[1] or each[0] == "ms")
    return f"due in {left / size:,.0f} {unit}" if left >= 0 else f"was due {-left / size:,.0f} {unit} ago"


def wakers_text(snapshot, wait, indentation):
    """Who holds what is waited for, or has its address."""
    text, holding = "", snapshot.graph.holders(wait)
    for each, name in holding:
        text += f"{indentation}held by {in_line(each)}{f', in {name}' if name else ''}\n"
        for leaf in waits.leaves(snapshot.graph, each):
            text += f"{indentation}  {'which' if leaf is each else leaf.function.name} {state_text(snapshot, leaf)}\n"
    if holding or not wait.object:
        return text
    found = grouped(snapshot, indentation + "its address is in the frame of {}\n", snapshot.graph.referring(wait.object))
    found += grouped(snapshot, indentation + "a member of what {} refers to\n", snapshot.graph.referring_to_whole(wait.object),
                     indentation + "a member of what {} refer to\n")
    return found or f"{indentation}no other coroutine has its address\n"


def wait_graph(snapshot, shows_all=False):
    """`coracle why`: each object that is waited for, who waits, and who holds it or could wake them."""
    if not snapshot.coroutines:
        return NONE_IS_THERE
    objects = snapshot.graph.objects.values()
    texts = []
    for each in objects if shows_all else itertools.islice(objects, MOST_OBJECTS):
        text = f"{primitive_text(each)} {snapshot.where_is(each.object)}{fill_text(each)}\n"
        text += grouped(snapshot, "    {} waits\n", snapshot.graph.waiters(each.object), "    {} wait\n")
        text += branches_text(snapshot, dict.fromkeys(snapshot.graph.branch_waiters(each.object)))
        texts.append(text + wakers_text(snapshot, each, "    "))
    if len(texts) < len(objects):
        texts.append(f"({len(objects) - len(texts):,} more objects: `coracle why all`)\n")
    others = {}  # those that wait for something else, by what that is
    for each in snapshot.coroutines.without_object():
        if not each.awaited and each.thread is None and each.is_started and each.row not in snapshot.graph.branching:
            others.setdefault(state_text(snapshot, each), []).append(each)
    texts += [f"{what}\n" + grouped(snapshot, "    {}\n", alike) for what, alike in others.items()]
    return "".join(sorted(texts)) + deadlocks(snapshot) + stuck(snapshot)


def branches_text(snapshot, coroutines):
    """Those that wait for an object in a combinator."""
    by_through = {}
    for each in coroutines:
        by_through.setdefault(snapshot.other_waits[each.address][0].through, []).append(each)
    return "".join(grouped(snapshot, f"    {{}} waits in {through}\n", alike, f"    {{}} wait in {through}\n")
                   for through, alike in sorted(by_through.items()))


def _counted(snapshot, coroutines, text_of):
    """The text of each once, with how often it came if that was more than once."""
    return [text if count == 1 else f"{text} ({count:,} of them)" for text, count in _counts(snapshot, coroutines, text_of)]


def _counts(snapshot, coroutines, text_of):
    """(text, how many have it), in order. Those whose trees look the same have the same."""
    found = collections.Counter()
    for each, count in snapshot.coroutines.counted(coroutines):
        found[text_of(each)] += count
    return sorted(found.items())


def grouped(snapshot, line, coroutines, line_of_several=None):
    """The line with each function and place once, and how many there are."""
    return "".join(line.format(text) if count == 1 else (line_of_several or line).format(f"{text} ({count:,} of them)")
                   for text, count in _counts(snapshot, coroutines, in_line))


def deadlocks_of(snapshot, coroutine):
    """Why the wait of a coroutine does not end, if that is certain."""
    for circle in snapshot.graph.circles():
        if coroutine in circle:
            return _circle_text(snapshot, circle)
    is_stuck = coroutine in snapshot.graph.endless()
    return "STUCK: nothing that can go on has its address; only a stop request could end the wait\n" if is_stuck else ""
