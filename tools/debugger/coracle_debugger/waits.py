"""The wait graph: which object each coroutine waits for, who holds it or could wake it, and which waits nothing can end."""
import bisect
import functools
import itertools
import re

from . import memory, names, process
from .branches import Branches
from .continuation import Continuation
from .coroutines import Coroutine

_LOCKABLE = ("async_mutex", "async_semaphore", "async_shared_mutex")
_ALL_HAVE_TO_END = ("when_all()", "async_scope")
_MOST_ROUNDS = 8  # of pointers to pointers
_MOST_PLACES = 20_000
_CLUSTER = 32  # bits: addresses that differ only in these are searched for at once


def below(coroutine):
    """A coroutine and those that it awaits."""
    pending = [coroutine]
    while pending:
        each = pending.pop()
        yield each
        pending.extend(each.children)


def leaves(graph, coroutine):
    """Those of them that wait themselves, or await nothing that is known."""
    return [each for each in below(coroutine) if not each.children or graph.is_waiting(each)]


def lives(coroutine, name):
    """Whether a local is in scope where the coroutine is suspended, as far as anybody can tell."""
    visible = coroutine.function.visible_at(coroutine.address, coroutine.state)
    return visible is None or name in visible


def _stops_at_deadline(function):
    """Whether it is the library's, in timeout() or at the end of async_finally(): what it awaits is stopped in time."""
    symbol = names.symbol_at(function.address) or ""
    return re.search(r"\bcoracle::detail::(limit|run_finally)<|7coracle6detail(5limit|11run_finally)I", symbol) is not None


class Graph:
    """Of a process.Process."""

    def __init__(self, snapshot):
        self.snapshot = snapshot
        self._holders = {}  # by the address of what they hold
        self._circles = self._endless = None  # found when first asked for
        everything = snapshot.coroutines
        kinds = everything.waits.kinds
        # The rows of those that wait themselves, and not for one another.
        parents = kinds.keys() & everything.children.keys()
        self.waiting = set(kinds).difference(everything.running, (row for row in parents if everything.of_row(row).awaited))
        # A WaitKind of each object that is waited for, by its address.
        self.objects = {kind.object: kind for kind in dict.fromkeys(map(kinds.__getitem__, self.waiting)) if kind.object}
        self.joins = self._find_joins()  # the scope whose children it waits for, by a coroutine's row
        # Branches by row, of those that wait for several objects, or for some and for coroutines.
        self.branching = {everything.rows[each]: Branches(snapshot, everything[each]) for each in snapshot.other_waits}
        self.branching = {row: each for row, each in self.branching.items() if each.wait_for_objects}
        for each in self.branching.values():
            self.objects.update((wait.object, wait.kind) for wait in each.waits if wait.object not in self.objects)

    def _find_joins(self):
        everything = self.snapshot.coroutines
        children = [via[0] for via in everything.vias if via is not None and via[1] == "async_scope"]
        joiners = {scope: self.snapshot.owner_of(Continuation.joiner_of(scope) or 0)
                   for scope in set(memory.words(children, Continuation.SCOPE))}
        return {joiner.row: scope for scope, joiner in joiners.items() if joiner is not None}

    @functools.cached_property
    def joined_by_themselves(self):
        """Coroutines that wait for the children of a scope, and are or are awaited by one of them."""
        return [each for each in map(self.snapshot.coroutines.of_row, sorted(self.joins)) if self._is_below(each, self.joins[each.row])]

    @staticmethod
    def _is_below(coroutine, scope):
        while coroutine is not None and (coroutine.via is None or coroutine.via.scope() != scope):
            coroutine = coroutine.parent
        return coroutine is not None

    def is_waiting(self, coroutine):
        """Whether it waits itself, and is no parent of one that does."""
        return coroutine.row in self.waiting

    def holders(self, wait):
        """(coroutine, name of the lock) of each that holds the lock that is waited for."""
        if wait.primitive not in _LOCKABLE or not wait.object:
            return []
        if wait.object not in self._holders:
            self._holders[wait.object] = [(each, name) for each, name in self.snapshot.holders(wait.object)
                                          if name is None or lives(each, name)]
        return self._holders[wait.object]

    def has_unknown_holder(self):
        """Whether a coroutine without debug information may hold a lock that is waited for, and that none is known to hold."""
        if all(point.function.has_types for point in self.snapshot.coroutines.points):
            return False
        return any(kind.primitive in _LOCKABLE and not self.holders(kind) for kind in self.objects.values())

    def referring(self, address):
        """Coroutines that do not wait for the object, and have its address: one of them may be the one that is to wake."""
        waiters = {id(each) for each in self.all_waiters(address)}
        return [each for each in self._referring.get(address, {}).values() if id(each) not in waiters]

    @functools.cached_property
    def _referring(self):
        """{address of an object that is waited for: {address: coroutine} of those that have it}."""
        found, clusters = {address: {} for address in self.objects}, {}
        for address in found:
            clusters.setdefault(address >> _CLUSTER, []).append(address)
        for cluster in clusters.values():
            for place, word in memory.pointers_between(min(cluster), max(cluster) + 1):
                owner = self.snapshot.owner_of(place) if word in found else None
                if owner is not None:
                    found[word][owner.address] = owner
        return found

    def referring_to_whole(self, address):
        """Coroutines that do not wait for the object, and have a reference to one of which it is a member."""
        waiters = {each.address for each in self.all_waiters(address)}
        found = {each.address: each for _, _, referring in self.snapshot.wholes_of(address) for each in referring}
        return [each for each in found.values() if each.address not in waiters]

    def waiters(self, address):
        """Coroutines that wait for the object."""
        return list(map(self.snapshot.coroutines.of_row, self._waiters.get(address, ())))

    def branch_waiters(self, address):
        """Coroutines that wait for the object and for something else, once for each of their waits."""
        return list(map(self.snapshot.coroutines.of_row, self._branch_waiters.get(address, ())))

    def all_waiters(self, address):
        """Both of these."""
        return [*self.waiters(address), *dict.fromkeys(self.branch_waiters(address))]

    def waits_of(self, coroutine):
        """Its Waits for objects."""
        return self.branching[coroutine.row].waits if coroutine.row in self.branching else coroutine.waits[:1]

    @functools.cached_property
    def _branch_waiters(self):
        found = {}
        for row, each in sorted(self.branching.items()):
            for wait in each.waits:
                found.setdefault(wait.object, []).append(row)
        return found

    @functools.cached_property
    def _waiters(self):
        """{address of an object: the rows of those that wait for it}."""
        found, kinds = {}, self.snapshot.coroutines.waits.kinds
        for row in sorted(self.waiting):
            found.setdefault(kinds[row].object, []).append(row)
        return found

    # ---- what cannot go on ----

    def circles(self):
        """Lists of coroutines; each waits for a lock that the next one holds, and the last for one of the first's."""
        if self._circles is None:
            self._circles = self._find_circles()
        return self._circles

    def _find_circles(self):
        found, seen = [], set()
        for start in self._waiting_for_locks():
            path, each = {}, start
            while each is not None and each.address not in seen and self.is_waiting(each):
                seen.add(each.address)
                path[each.address] = each
                each = self._waiting_holder(each)
            if each is not None and each.address in path:
                walked = list(path.values())
                found.append(walked[walked.index(each):])
        return found

    def _waiting_for_locks(self):
        for address, kind in self.objects.items():
            if self.holders(kind):
                yield from self.waiters(address)

    def _waiting_holder(self, coroutine):
        """The one that has to go on before the lock that the coroutine waits for is released, if it waits, too."""
        wait = coroutine.waits[0]
        holders = [holder for holder, _ in self.holders(wait)]
        if wait.primitive == "async_semaphore" and len(holders) != 1:
            return None  # another one may release it
        waiting = (next((leaf for leaf in below(holder) if self.is_waiting(leaf)), None) for holder in holders)
        return next(filter(None, waiting), None)

    def endless(self):
        """The waiting coroutines that nothing can wake which can go on itself. Only a stop request could end their waits.

        What can go on: threads outside the library or in sync_wait() of what is no coroutine, coroutines that run, sleep, are
        queued at an executor, or wait for what is unknown, also as one of several in a when_any(), and what is in a timeout().
        From there, as a garbage collector does: an object of which they have an address can be set, so its waiters can go on,
        and what awaits these. Memory without an owner can be reached by everything that can go on."""
        if self._endless is None:
            self._endless = self._find_endless()
        return self._endless

    def _find_endless(self):
        reached = _Reached(self)
        waiting = dict.fromkeys(each for address in self.objects for each in self.all_waiters(address))
        return [each for each in waiting if each.address not in reached.coroutines]


class _Reached:
    """The coroutines that can go on, or may have to later.

    A party is a coroutine (by its frame's address) or a thread (by its number, negated). A place is a range of memory, that of
    a variable where it is known. Who has a pointer into a place reaches what is there, and what the pointers there lead to."""

    def __init__(self, graph):
        self.graph = graph
        self.coroutines = set()  # the parties that can go on
        self._pending = []
        self._awaiting = {}  # the address of the coroutine that awaits a child, by the child's
        self._unfinished = {}  # how many of its children have to end before a coroutine goes on
        self._idle = {}  # generators that go on only when a coroutine does, by its address
        self._races = set()  # those that then request the others to stop
        self._leads_to = {}  # places, by the party or the place that has a pointer into them; None: by memory without an owner
        self._found_at = {}  # objects and coroutines that were not started, by their place
        self._begin()
        if self._pending:
            self._find_pointers()
            self._reach(None)
            self._spread()

    def _begin(self):
        everything, stacks = self.graph.snapshot.coroutines, self.graph.snapshot.stacks
        ends_of_trees = [via[0] for via, parent in zip(everything.vias, everything.parents) if via is not None and parent is None]
        await_coroutines = {thread.num for thread in map(stacks.thread_of, ends_of_trees) if thread is not None}
        for _, _, thread in stacks.used:
            waits_for_other = thread.num not in await_coroutines and process.awaits_in_plain_code(thread)
            if waits_for_other or not process.is_blocked_by_coracle(thread):
                self._go_on(-thread.num)
        waiting, timed = self.graph.waiting & everything.waits.sure() | self.graph.branching.keys(), []
        waiting.update(each.row for each in self.graph.joined_by_themselves)
        with_deadline = set(filter(_stops_at_deadline, self.graph.snapshot.functions.values()))
        for row in everything.children.keys() | self.graph.branching.keys():
            each, branches = everything.of_row(row), self.graph.branching.get(row)
            awaited = each.awaited
            self._awaiting.update((child.address, each.address) for child in awaited)
            waits_for_all = all(child.via is None or child.via.text in _ALL_HAVE_TO_END for child in awaited)
            if branches is not None:
                waits_for_all = branches.needs_all
            self._unfinished[each.address] = (branches.count if branches else len(awaited)) if waits_for_all else 1
            if not waits_for_all:
                self._races.add(each.address)
            if awaited:
                waiting.add(each.row)
            if each.function in with_deadline or (not waits_for_all and self._races_unknown(each)):
                timed.append(each)  # then what it awaits gets a stop request
        for each in everything.running.values():
            self._go_on(-each.thread.num)
        for each in map(everything.of_row, everything.may_have_idle_generators):
            self._idle[each.address] = [everything.addresses[row] for row in each.idle_generators]
            waiting.update(each.idle_generators)
        for each in map(everything.of_row, set(range(len(everything))) - waiting):
            if each.is_started:
                self._go_on(each.address)
        for each in itertools.chain.from_iterable(map(below, timed)):
            self._go_on(each.address)

    def _races_unknown(self, coroutine):
        """Whether something that it awaits beside its children may end, of which nothing is known."""
        if coroutine.row in self.graph.branching:
            return False
        snapshot, vias = self.graph.snapshot, {child.via.text for child in coroutine.awaited if child.via is not None}
        return coroutine.address in snapshot.other_waits or "when_any()" in vias and not Branches(snapshot, coroutine).are_known

    # ---- who has pointers to what ----

    def _find_pointers(self):
        snapshot = self.graph.snapshot
        for address in self.graph.objects:
            self._add_target(address, snapshot.whereabouts(address))
        for each in snapshot.coroutines.unstarted():
            self._found_at.setdefault((each.address, each.address + 1), []).append(each.address)
        searched, places = set(), set(self._found_at)
        for _ in range(_MOST_ROUNDS):
            if not places or len(places) > _MOST_PLACES:
                break
            searched |= places
            places = self._find_pointers_into(sorted(places)) - searched
        for place in places:  # to be on the safe side
            self._lead(None, place)

    def _add_target(self, address, at):
        self._found_at.setdefault((at.begin, at.end), []).append(address)
        holders = self._sure_holders(address)
        for each in holders:
            self._lead(each, (at.begin, at.end))
        if not holders:
            self._lead(self._party(at.owner), (at.begin, at.end))

    def _sure_holders(self, address):
        """Of a lock whose holders are known for sure, only they matter. Any code may release a semaphore."""
        if self.graph.objects[address].primitive == "async_semaphore":
            return []
        holders = self.graph.holders(self.graph.objects[address])
        if all(name and each.function.visible_at(each.address, each.state) for each, name in holders):
            return [each.address for each, _ in holders]
        return []

    def _find_pointers_into(self, places):
        """The places that have pointers into these, and an owner that cannot go on."""
        found, clusters = set(), {}
        for place in places:
            clusters.setdefault(place[0] >> _CLUSTER, []).append(place)
        for cluster in clusters.values():
            begins, longest = [begin for begin, _ in cluster], max(end - begin for begin, end in cluster)
            for address, word in memory.pointers_between(begins[0], max(end for _, end in cluster)):
                at = bisect.bisect_right(begins, word) - 1
                while at >= 0 and begins[at] > word - longest:
                    if word < cluster[at][1]:
                        found |= self._add_pointer(address, cluster[at])
                    at -= 1
        return found

    def _add_pointer(self, address, to):
        """Returns the place of the pointer, if it has an owner."""
        snapshot = self.graph.snapshot
        owner = snapshot.owner_of(address) or snapshot.stacks.thread_of(address)
        if owner is None:
            if not snapshot.stacks.is_unused(address):
                self._lead(None, to)
            return set()
        if isinstance(owner, Coroutine) and self._is_of_wait(owner, address, to):
            return set()  # the waiter's own pointer to what it waits for
        self._lead(self._party(owner), to)
        at = snapshot.whereabouts(address)
        is_temporary = not (at.is_named or isinstance(owner, Coroutine))  # of plain code
        place = (address, address + memory.WORD) if is_temporary else (at.begin, at.end)
        self._lead(place, to)
        return {place}

    def _is_of_wait(self, coroutine, address, to):
        branches = self.graph.branching.get(coroutine.row)
        if branches is not None:
            return branches.refers_to_awaited(address, to)
        return any(address == wait.points_from for wait in coroutine.waits)

    def _lead(self, key, place):
        if key != place:
            self._leads_to.setdefault(key, set()).add(place)

    @staticmethod
    def _party(owner):
        return None if owner is None else owner.address if isinstance(owner, Coroutine) else -owner.num

    # ---- who goes on ----

    def _go_on(self, party):
        if party not in self.coroutines:
            self.coroutines.add(party)
            self._pending.append(party)

    def _spread(self):
        coroutines = self.graph.snapshot.coroutines
        while self._pending:
            party = self._pending.pop()
            self._reach(party)
            for each in self._idle.get(party, ()):
                self._go_on(each)
            if party in coroutines:
                self._go_on_after(coroutines[party])

    def _reach(self, key):
        places = [key]
        while places:
            place = places.pop()
            for address in self._found_at.pop(place, []):
                self._wake(address)
            places.extend(self._leads_to.pop(place, ()))

    def _wake(self, address):
        if address in self.graph.snapshot.coroutines:
            self._go_on(address)
        for each in self.graph.waiters(address):
            self._go_on(each.address)
        for each in self.graph.branch_waiters(address):
            self._one_ends(each)

    def _go_on_after(self, coroutine):
        """What awaits it: a coroutine, or a thread."""
        if coroutine.address in self._awaiting:
            self._one_ends(self.graph.snapshot.coroutines[self._awaiting[coroutine.address]])
        elif coroutine.parent is None and coroutine.via is not None:
            thread = self.graph.snapshot.stacks.thread_of(coroutine.via.address)
            if thread is not None:
                self._go_on(-thread.num)

    def _one_ends(self, awaiting):
        """Of several that a coroutine awaits."""
        self._unfinished[awaiting.address] -= 1
        if self._unfinished[awaiting.address] == 0:
            for each in below(awaiting) if awaiting.address in self._races else ():
                self._go_on(each.address)
            self._go_on(awaiting.address)
