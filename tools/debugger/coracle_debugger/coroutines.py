"""The coroutines of a process, as columns.

A program may have a million, so each property of all of them is one list, which is read and compared as a whole. A row is the
number of a coroutine in each of these lists. A Coroutine is made when it is asked for: to be printed, or looked at by itself.
"""
import collections
import functools
import itertools
import operator

from . import functions, memory
from .continuation import Continuation


class Point:
    """Where coroutines of a function are suspended. Those with the same state have the same Point."""

    __slots__ = ("function", "state", "is_start")

    def __init__(self, function, state):
        self.function = function
        self.state = state  # None if it is not known
        self.is_start = state is not None and state == function.initial_state


class WaitKind:
    """What waiters with the same operation have in common if they wait for the same object."""

    __slots__ = ("operation", "object")

    def __init__(self, operation, awaited):
        self.operation = operation
        self.object = awaited  # its address; None if it has none

    @property
    def primitive(self):
        """As async_mutex."""
        return self.operation.primitive


class Wait:
    """A waiter in a coroutine's frame, and the object in whose queue it is."""

    __slots__ = ("node", "kind", "is_sure")

    def __init__(self, node, kind, is_sure):
        self.node = node
        self.kind = kind
        self.is_sure = is_sure  # whether the queue, or the object, refers to the waiter

    operation = property(operator.attrgetter("kind.operation"))
    object = property(operator.attrgetter("kind.object"))
    primitive = property(operator.attrgetter("kind.primitive"))

    @property
    def executor(self):
        """The address of that on which it suspended."""
        return memory.word(self.node + 16)

    @property
    def points_from(self):
        """The address of its pointer to the object."""
        return self.node + (self.operation.place_of_object or 0)


Run = collections.namedtuple("Run", "thread address is_suspending")
Run.__doc__ = """The thread that runs a coroutine, at which instruction, and whether that was found in an await_suspend()."""


class Coroutine:
    """A frame that is suspended or runs."""

    __slots__ = ("row", "address", "function", "state", "_all")

    def __init__(self, everything, row):
        self.row = row
        self.address = everything.addresses[row]
        self.function, self.state = everything.points[row].function, everything.points[row].state
        self._all = everything

    @property
    def parent(self):
        """The Coroutine that awaits it, or has spawned it; None if there is none."""
        row = self._all.parents[self.row]
        return self._all.of_row(row) if row is not None else None

    @property
    def via(self):
        """What stands between it and its parent, or is its root: a Continuation, or None."""
        found = self._all.vias[self.row]
        return Continuation(*found) if found is not None else None

    @property
    def children(self):
        """Those of which it is the parent, by address."""
        return [self._all.of_row(row) for row in self._all.children.get(self.row, ())]

    @property
    def has_children(self):
        """Whether there are some."""
        return self.row in self._all.children

    @property
    def kinds_of_children(self):
        """(the first, how many there are) of the children whose trees look the same."""
        return self._all.counted_below(self.row)

    @property
    def waits(self):
        """What it waits for; of several Waits first those that are sure."""
        return self._all.waits.of(self.row)

    @property
    def thread(self):
        """That runs it, or None."""
        return self._all.running[self.row].thread if self.row in self._all.running else None

    @property
    def runs_at(self):
        """The address of the instruction, or None."""
        return self._all.running[self.row].address if self.row in self._all.running else None

    @property
    def size(self):
        """Of the frame, in bytes."""
        return self.function.size or functions.size_of_block(self.address)

    @property
    def is_started(self):
        """Whether its body has begun."""
        return not self._all.points[self.row].is_start or self.row in self._all.running

    @property
    def is_spawned(self):
        """Whether it is a child of an async_scope."""
        via = self._all.vias[self.row]
        return via is not None and via[1] == "async_scope"

    @property
    def awaited(self):
        """The coroutines for which it waits; none while it waits for something else, though it has spawned some."""
        if not self.has_children:
            return []
        children, idle = self.children, self.idle_generators
        if all(each.is_spawned for each in children):
            return children if children[0].via.is_joined_by(self) else []
        return [each for each in children if not each.is_spawned and each.row not in idle]

    @property
    def idle_generators(self):
        """The rows of those that it has asked for an element before, and does not now: it waits itself, or awaits a task."""
        if self.row not in self._all.may_have_idle_generators:
            return set()
        direct = [row for row in self._all.children[self.row] if self._all.vias[row] is None]
        if self._is_queued():
            return set(direct)
        others = [row for row in direct if not self._all.points[row].function.is_generator]
        return set(direct).difference(others) if others else set()

    @property
    def is_idle_generator(self):
        """Whether it is suspended at a co_yield, for all that is known."""
        return self.parent is not None and self.via is None and self.row in self.parent.idle_generators

    def _is_queued(self):
        """Whether something that it waits for, and that is no shared_task below it, refers to it."""
        waits = self.waits
        return bool(waits) and waits[0].is_sure and not waits[0].operation.awaits_shared

    def place(self):
        """(file, line) where it is, or None."""
        if self.runs_at is not None:
            return functions.line_in_function(self.runs_at, self.function.address)
        if self.state is None:
            return None
        return self.function.place(self.address, self.state)


class Waits:
    """What coroutines wait for. These columns have a row for each waiter."""

    def __init__(self):
        self._nodes, self._kinds, self._is_sure = [], [], []
        self._first = {}  # of a coroutine, by its row
        self._others = {}  # lists of those that it has in addition
        self._made = {}  # what of() has returned, by row
        self._known = {}  # each WaitKind, by its operation and object

    def add(self, rows, operation, nodes, objects, is_sure):
        """Of the coroutines in these rows."""
        kinds = {each: self._known.setdefault((operation.name, each), WaitKind(operation, each)) for each in set(objects)}
        begin = len(self._nodes)
        self._nodes += nodes
        self._kinds += map(kinds.__getitem__, objects)
        self._is_sure += is_sure
        for row, waiter in zip(rows, itertools.count(begin)):
            other = self._first.setdefault(row, waiter)
            if other != waiter:
                if self._is_sure[waiter] and not self._is_sure[other]:
                    self._first[row], waiter = waiter, other
                self._others.setdefault(row, []).append(waiter)

    def of(self, row):
        """A tuple of Waits."""
        if row not in self._made:
            waiters = [self._first[row], *self._others.get(row, ())] if row in self._first else []
            found = [Wait(self._nodes[each], self._kinds[each], self._is_sure[each]) for each in waiters]
            self._made[row] = tuple(sorted(found, key=lambda each: not each.is_sure) if len(found) > 1 else found)
        return self._made[row]

    def sure(self):
        """The rows of coroutines that surely wait for a known object."""
        return {row for row, waiter in self._first.items() if self._is_sure[waiter] and self._kinds[waiter].object}

    @functools.cached_property
    def kinds(self):
        """{row: WaitKind} of the first wait of each coroutine that has some."""
        return dict(zip(self._first, map(self._kinds.__getitem__, self._first.values())))


class Coroutines:
    """{address of the frame: Coroutine}, and the columns of which they are made."""

    def __init__(self):
        self.addresses = []
        self.points = []
        self.parents = []  # the row of the coroutine that awaits it, or None
        self.vias = []  # (address, text) of a Continuation, or None
        self.rows = {}  # by address
        self.running = {}  # a Run, by row
        self.waits = Waits()
        self._made = {}  # Coroutines, by row
        self._counted = {}  # what counted_below() has returned, by row

    def add(self, addresses, points):
        """Returns their rows."""
        rows = range(len(self.addresses), len(self.addresses) + len(addresses))
        self.addresses += addresses
        self.points += points
        self.parents += itertools.repeat(None, len(rows))
        self.vias += itertools.repeat(None, len(rows))
        self.rows.update(zip(addresses, rows))
        return rows

    # ---- as a dictionary ----

    def __len__(self):
        return len(self.addresses)

    def __contains__(self, address):
        return address in self.rows

    def __getitem__(self, address):
        return self.of_row(self.rows[address])

    def get(self, address):
        """The Coroutine, or None."""
        row = self.rows.get(address)
        return self.of_row(row) if row is not None else None

    def values(self):
        """Every Coroutine."""
        return list(map(self.of_row, range(len(self))))

    def of_row(self, row):
        """The same object each time."""
        if row not in self._made:
            self._made[row] = Coroutine(self, row)
        return self._made[row]

    # ---- trees ----

    def complete(self):
        """To be called when all parents are known."""
        while len(self.children) != sum(map(len, self._parents_by_level)):
            self._cut_circles()
            del self.children, self._parents_by_level

    @functools.cached_property
    def children(self):
        """{row of a parent: the rows of its children by address}."""
        rows = [row for row, parent in enumerate(self.parents) if parent is not None]
        found = {parent: [] for parent in set(self.parents) if parent is not None}
        _do(map(list.append, map(found.__getitem__, map(self.parents.__getitem__, rows)), rows))
        for siblings in found.values():
            if len(siblings) > 1:
                siblings.sort(key=self.addresses.__getitem__)
        return found

    @functools.cached_property
    def may_have_idle_generators(self):
        """The rows of parents that wait themselves, or all parents if there are generators."""
        has_some = any(each.function.is_generator for each in set(self.points))
        return self.children.keys() if has_some else self.children.keys() & self.waits.kinds.keys()

    def roots(self):
        """Those that no coroutine awaits, by address."""
        rows = [row for row, parent in enumerate(self.parents) if parent is None]
        return list(map(self.of_row, sorted(rows, key=self.addresses.__getitem__)))

    @functools.cached_property
    def _parents_by_level(self):
        """Lists of rows: the parents without a parent, those among their children, and so on."""
        found, level = [], [row for row in self.children if self.parents[row] is None]
        while level:
            found.append(level)
            level = [child for row in level for child in self.children[row] if child in self.children]
        return found

    def unstarted(self):
        """Those whose body has not begun."""
        rows = [row for row, point in enumerate(self.points) if point.is_start]
        return [self.of_row(row) for row in rows if row not in self.running]

    def without_object(self):
        """Those that wait for no known object."""
        kinds = self.waits.kinds
        return [self.of_row(row) for row in range(len(self)) if row not in kinds or not kinds[row].object]

    def _cut_circles(self):
        """A word that is no parent may close a circle."""
        seen = set(itertools.chain.from_iterable(self._parents_by_level))
        for row in self.children:
            path = set()
            while row is not None and row not in seen:
                seen.add(row)
                path.add(row)
                row = self.parents[row]
            if row in path:
                self.parents[row] = None

    # ---- trees that look the same ----

    @functools.cached_property
    def looks(self):
        """A number for each row, which is equal for trees that look the same."""
        numbers = collections.defaultdict(itertools.count().__next__)
        rows, through = range(len(self)), (via and via[1] for via in self.vias)
        apart = {row: each.address for row, each in self.running.items()}
        apart.update(self._spawned_at())
        looks = zip(self.points, map(self.waits.kinds.get, rows), through, map(apart.get, rows))
        found = list(map(numbers.__getitem__, looks))
        for parents in reversed(self._parents_by_level):  # those below first
            for row in parents:
                found[row] = numbers[found[row], self._looks_below(row, found)]
        return found

    def _looks_below(self, row, looks):
        children = self.children[row]
        return looks[children[0]] if len(children) == 1 else tuple(sorted({looks[child] for child in children}))

    def _spawned_at(self):
        """(row, where it was spawned) of the children of scopes."""
        rows = [row for row, via in enumerate(self.vias) if via is not None and via[1] == "async_scope"]
        return zip(rows, Continuation.all_spawned_at([self.vias[row][0] for row in rows]))

    def counted(self, coroutines):
        """(the first, how many there are) of those whose trees look the same."""
        return self._counted_rows([each.row for each in coroutines])

    def counted_below(self, row):
        """The same of the children."""
        if row not in self._counted and row in self.children:
            self._counted[row] = self._counted_rows(self.children[row])
        return self._counted.get(row, ())

    def _counted_rows(self, rows):
        looks = list(map(self.looks.__getitem__, rows))
        first = dict(zip(reversed(looks), reversed(rows)))
        return [(self.of_row(first[look]), count) for look, count in collections.Counter(looks).items()]


def _do(calls):
    """Goes through an iterator in C. There may be millions of calls."""
    collections.deque(calls, maxlen=0)
