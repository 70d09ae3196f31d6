"""The branches of a when_any(), a select() or a when_all(), which need not be coroutines."""
import collections

from . import memory
from .continuation import Continuation
from .coroutines import Wait

# In a siblings_operation (compose/detail/siblings_operation.hpp), and of divided_start::stage. tests/debugger fails if they change.
_LEFT, _PARENT, _STAGE, _LAST = 136, 144, 184, 2
_ALL, _ANY = "when_all()", "when_any()"


class Branches:
    """Those of a coroutine that have not ended: coroutines, and waits of its own."""

    def __init__(self, snapshot, coroutine):
        self.waits = [each.what for each in snapshot.other_waits.get(coroutine.address, ())]
        children = [child for child in coroutine.awaited if child.via is not None]
        ends = [each.after for each in snapshot.other_waits.get(coroutine.address, ())] + [child.via.address for child in children]
        self.count = len(ends)
        self._texts = {}  # of each operation, by its address
        known = self._count(snapshot, coroutine, ends)
        self.are_known = known is not None and all(_running_in(each) == count for each, count in known.items())
        self.needs_all = all(text == _ALL for text in self._texts.values())
        self._begin = min(self._texts, default=0)
        self._end = max((wait.points_from + memory.WORD for wait in self.waits if isinstance(wait, Wait)), default=0)

    @property
    def wait_for_objects(self):
        """Whether all are known, and each of the waits is for an object that some code has to act on."""
        return self.are_known and all(isinstance(each, Wait) and each.is_sure and each.object for each in self.waits)

    def refers_to_awaited(self, address, place):
        """Whether a word there, which points into that place, is part of the operation and says for what it waits."""
        return self._begin <= address < self._end and any(place[0] <= wait.object < place[1] for wait in self.waits)

    def _count(self, snapshot, coroutine, ends):
        """{operation: how many of its children are known}, from what goes on at the end of each; None if there is something else."""
        pending, known = [], collections.Counter()
        for address in ends:
            pending.append(self._operation(snapshot, address))
            known[pending[-1]] += 1
        pending = list(known)
        while pending:
            each = pending.pop()
            if each is None:
                return None
            parent = memory.word(each + _PARENT)
            if parent == coroutine.address or snapshot.wrapped_in(parent) is coroutine:
                continue
            above = self._operation(snapshot, parent)
            if above not in known:
                pending.append(above)
            known[above] += 1
        return known

    def _operation(self, snapshot, address):
        """The address of the siblings_operation that goes on at the end of the child which continues there; None if there is none."""
        via = snapshot.continuation_at(snapshot.unwrapped(address))
        if via is not None and via.is_member():
            via = snapshot.continuation_at(memory.word(via.address + Continuation.OF_ALL))
        if via is None or via.text not in (_ALL, _ANY):
            return None
        self._texts[via.address] = via.text
        return via.address


def _running_in(operation):
    """How many children of it have not ended."""
    return 1 if memory.number(operation + _STAGE, 1) == _LAST else memory.word(operation + _LEFT)
