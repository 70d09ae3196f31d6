"""Every coroutine of the process, who awaits whom, and what the others wait for.

A frame begins with its resume and its destroy function. No other memory does, so the frames are found by looking at all
writable memory; the library keeps no list. A frame that has ended has no resume function, and the recycler overwrites the
first word of those it has freed.
"""
import bisect
import collections
import itertools
import operator
import re

from . import functions, host, memory, names
from .continuation import Continuation
from .coroutines import Coroutines, Point, Run, Wait, WaitKind

_EXECUTOR, _RUN_OF_LISTENER = 16, 24  # in a queued_waiter: behind the handle and the link
_CONTENDERS = {"contender<async_mutex>": 104, "contender<async_semaphore>": 104, "async_shared_mutex::request": 112}
_NODE_SIZES = {"queued_waiter": 64, **_CONTENDERS, "async_condition_variable::sleeper": 112,
               "sequence_waiter": 104}  # with what waits_for_sequence has behind it
_COROUTINE_OF_CONTENDER = 80
# The body in the awaiter of a shared_task, and where its promise keeps its queue (core/shared_task.hpp). tests/debugger fails if
# they change.
_SHARED_IN_AWAITER, _QUEUE_END = 64, 24
_ENDED_IN_FLIGHT = 32  # of a single_flight (compose/single_flight.hpp): what its callers wait for. tests/debugger fails if it changes.
_PROBE = "probe_tail_calls"  # of core/transfer.hpp. It has ended before main(), but leaves a copy of its frame on the stack.
_MOST_NESTED = 8  # objects that begin before a member of one of them
_MOST_FRAMES = 100  # of a machine's stack
_SEARCHED_OF_PROMISE = 64  # bytes, where the promise of a function without debug information may keep its parent
_LARGEST_PARENT = 1 << 20  # bytes that are searched of one, which may have buffers among its locals
_QUEUED, _ARRIVING, _PROGRESS, _LINK = 0, 1, 3, 56

# In an io_operation (io/detail/io_operation.hpp). tests/debugger fails if they change.
_RUN_IN_IO, _PROGRESS_IN_IO, _RECORD_IN_IO, _OPCODE_IN_IO, _SUSPENDED_IN_IO = 120, 32, 48, 96, 169
_PENDING = range(2, 5)  # of io_event::state: queued, running, cancelling
_DESCRIPTOR_IN_RECORD = 8
# In an io_service::timed_schedule_operation (io/io_service.hpp). tests/debugger fails if they change.
_RUN_IN_TIMER, _DUE_IN_TIMER, _PROGRESS_IN_TIMER, _SUSPENDED_IN_TIMER = 88, 64, 80, 137
_TIMER_WAITS = 1  # of timer::state
_STATE_OF_CALLBACK, _IS_SUSPENDED, _FLAGS_OF_CALLBACK = 56, 1, 3  # in a callback_meeting (compose/completion.hpp)
# The functions that block a thread until an awaitable is done, as far as they are not inlined.
_AWAITS = re.compile(r"\bwaiting_thread::wait\b|\bprocess_until_over\b|\bio_loop::run\(coracle::detail::io_run")
_CALL_IN_BLOCKING, _SERVED = 72, 2  # in a blocking_call (exec/blocking.hpp)
_DUE_IN_SLEEP = 80  # in a sleep_operation (time/sleep.hpp)
# By io_opcode, as src/io/opcode_name.cpp has them.
_OPCODES = ("read", "receive", "receive datagrams", "accept", "receive descriptors", "receive", "receive datagrams",
            "wait until readable", "write", "send", "send datagrams", "send descriptors", "send", "send datagrams",
            "send a file", "connect", "wait until writable", "read from a file", "write to a file", "read from a file",
            "write to a file", "sync a file", "open a file", "ask for a status", "rename a file", "create a link",
            "create a link", "create a directory", "remove a file")
_PATHS = _OPCODES.index("open a file")  # from here on without a descriptor


class Operation:
    """What a waiter does, by its stop_requested()."""

    def __init__(self, name, kind, type_name):
        name = re.sub(r"_operation<.*>$", "_operation", name)
        name = re.sub(r"^sequence_wait<(\w+)<.*", r"\1::number_operation", name)
        name = re.sub(r"^(multi_producer_sequencer)<.*>::", r"\1::", name)
        self.name = name  # as async_mutex::lock_operation
        self.type_name = type_name  # the same as debug information has it, with template arguments
        self.primitive = re.sub(r"::([a-z_]*_operation|awaiter_base)$", "", name)  # as async_mutex
        self.is_contender = kind in _CONTENDERS
        self.awaits_shared = re.fullmatch(r"shared_task<.*>::awaiter_base", name) is not None  # then its object is a frame
        self.place_of_object = _SHARED_IN_AWAITER if self.awaits_shared else _place_of_object(type_name, kind)


class IoWait:
    """An I/O operation that the system has not completed."""

    __slots__ = ("opcode", "descriptor")

    def __init__(self, opcode, descriptor):
        self.opcode = opcode
        self.descriptor = descriptor

    @property
    def text(self):
        """As `waits for I/O: receive on descriptor 5`."""
        name = _OPCODES[self.opcode] if self.opcode < len(_OPCODES) else f"operation {self.opcode}"
        at = "" if self.opcode >= _PATHS or self.descriptor is None else f" on descriptor {self.descriptor}"
        return f"waits for I/O: {name}{at}"


class TimerWait:
    """A schedule_after() or schedule_at() that is not due."""

    text = "waits for a timer"


OtherWait = collections.namedtuple("OtherWait", "node through what after")
OtherWait.__doc__ = """A wait in an operation inside a coroutine's frame: where, through what or None, a Wait or what is like
one, and what goes on at its end."""
class CallbackWait:
    """A from_callback() whose operation has not completed."""

    text = "waits for an operation of from_callback()"


# The kinds of io_operation::stopped, timed_schedule_operation::stopped and callback_awaiter::stop_requested.
_IO, _TIMER, _CALLBACK = object(), object(), object()


def _place_of_object(operation, kind):
    """Where an operation keeps the address of the object for which it waits, or None."""
    found = host.find_type(operation)
    if found is not None:
        return _first_reference(found)
    has_object = re.search(r"(event|mutex|semaphore|channel|condition_variable|barrier|sequencer)\b.*_operation(<.*>)?$|"
                           r"\bsequence_wait<", operation)
    return _NODE_SIZES.get(kind) if has_object else None


# A base class that has what its operation refers to.
_OPERATION = re.compile(r"[\w:]*_operation(<|$)|[\w:]*\bmulti_producer_sequencer<.*>::claim<")


def _first_reference(operation):
    """The offset of the member that refers to the object, as `mutex_`."""
    for field in operation.fields:
        if field.is_base:
            found = _first_reference(field.type) if re.match(_OPERATION, str(field.name)) else None
            if found is not None:
                return field.offset + found
        elif field.type.is_reference or field.type.is_pointer:
            return field.offset
    return None


class Process:
    """A snapshot. It is taken when the first command asks, and forgotten when the process goes on."""

    def __init__(self):
        self.functions = {}
        self.coroutines = Coroutines()
        ranges = sorted(host.writable_ranges())
        self.stacks = memory.Stacks(ranges)
        memory.keep(ranges, self.stacks)
        self.names_of_executors = {}
        self._nearest = 0, 0, None  # what owner_of() has found last: neighbours are asked for together
        self._whereabouts = {}
        self._referred = self._begins = None  # the objects to which coroutines refer; collected when first asked for
        self._texts = {}  # of Continuations, by their functions
        self.other_waits = {}  # OtherWaits, by a coroutine's address
        self.graph = None  # a waits.Graph
        self._holders = None  # of each lockable object; collected when first asked for
        self._points = {}  # {state: Point} of each Function
        self._to_link = []  # (Function, rows of its frames, the words of a copy, places of the frames in it)
        self.flights = {}  # the row of the work of a single_flight, by the address of what its callers wait for
        self._awaiting_shared = {}  # (row or None, Continuation or None) of what first awaits a shared_task, by the body's address
        self._find()
        self._find_running()
        for each in self._to_link:
            self._link(*each)
        self._to_link.clear()
        self._link_shared()
        self._link_flights()
        self.coroutines.complete()
        for parent in [self.coroutines.of_row(row) for row in self.coroutines.running]:
            if any(child.via is None for child in parent.children):
                # A thread that is still in an earlier await_suspend() is about to leave it.
                del self.coroutines.running[parent.row]

    def _find(self):
        """A program may have a million frames: what is the same for all of a function or an operation is looked up once."""
        kinds, waiters = {}, []

        def matters(value):
            if value not in kinds:
                kinds[value] = self._kind_of(value)
            return kinds[value] is not None

        for start, words, places_of in memory.pointers_into(memory.code_ranges(), self.stacks, matters):
            for value, places in places_of.items():
                kind = kinds[value]
                if isinstance(kind, Operation) or kind in (_IO, _TIMER, _CALLBACK):
                    waiters.append((kind, start, words, places))
                else:
                    self._add_frames(kind, start, words, places)
        self._addresses = sorted(self.coroutines.addresses)
        for kind, *copied in waiters:
            if kind is _IO:
                self._add_io(*copied)
            elif kind is _TIMER:
                self._add_timers(*copied)
            elif kind is _CALLBACK:
                self._add_callbacks(*copied)
            elif kind.name == "blocking_call":
                self._add_blocking(kind, *copied)
            else:
                self._add_waits(kind, *copied)

    def _add_frames(self, resume, start, words, places):
        """Of a copy, the frames among the places of the words that have the address of this resume function."""
        destroys = _column(words, places, 1)
        different = set(destroys)
        ends = {each for each in different if names.of_destroyed(names.symbol_at(each))}
        if not ends:
            return
        if ends != different:
            places = [place for place, destroy in zip(places, destroys) if destroy in ends]
        if resume not in self.functions:
            self.functions[resume] = functions.Function(resume, names.symbol_at(resume))
        function = self.functions[resume]
        rows = self.coroutines.add(memory.addresses(start, places), self._points_of(function, words, places))
        self._to_link.append((function, rows, words, places))

    def _points_of(self, function, words, places):
        """The Point of each of its frames at these places."""
        states = [None] * len(places)
        if function.state is not None:
            at, shift, mask = function.state_bits
            states = [word >> shift & mask for word in _column(words, places, at)]
        points = self._points.setdefault(function, {})
        points.update((state, Point(function, state)) for state in set(states) - points.keys())
        return map(points.__getitem__, states)

    def _add_waits(self, operation, start, words, places):
        """Of a copy, the waiters with that operation. A frame keeps what is left of waits that have ended."""
        firsts = memory.moved(places, -_RUN_OF_LISTENER // memory.WORD)
        nodes = memory.addresses(start, firsts)
        waiting = _column(words, firsts, 0)
        rows = list(map(self.coroutines.rows.get, waiting))
        if operation.is_contender:
            others = map(self.coroutines.rows.get, _column(words, firsts, _COROUTINE_OF_CONTENDER // memory.WORD))
            rows = [other if row is None else row for row, other in zip(rows, others)]
        links = _column(words, firsts, _LINK // memory.WORD)
        objects = [None] * len(nodes)
        if operation.place_of_object is not None:
            objects = _column(words, firsts, operation.place_of_object // memory.WORD)
        is_sure = list(map(operator.eq, nodes, memory.words(links)))
        if None in rows or operation.awaits_shared or not all(is_sure):
            found = []
            for at, (node, link, awaited) in enumerate(zip(nodes, links, objects)):
                if not is_sure[at]:
                    value = memory.word(awaited) or 0 if link == _QUEUED and awaited is not None else None
                    is_sure[at] = value == node
                    # With _ARRIVING alone, or without an object, it is in no queue, as one that waits for a timer.
                    if link > _ARRIVING or value is not None and not (is_sure[at] or operation.is_contender and value & 4):
                        continue
                is_first = operation.awaits_shared and is_sure[at] and 0 <= link - awaited < functions.PROMISE + _QUEUE_END
                if is_first and self._add_shared(awaited, node, waiting[at], rows[at]):
                    continue
                if rows[at] is None:
                    rows[at] = self._row_of_wrapped(node, waiting[at])
                if rows[at] is None:
                    self._add_other_wait(node, waiting[at], Wait(node, WaitKind(operation, awaited), is_sure[at]))
                else:
                    found.append(at)
            rows, nodes, objects, is_sure = ([column[at] for at in found] for column in (rows, nodes, objects, is_sure))
        self.coroutines.waits.add(rows, operation, nodes, objects, is_sure)

    def _row_of_wrapped(self, node, waiting):
        """The row of the coroutine that waits alone, but through something as as_outcome(); None if that is not so."""
        coroutine = self.wrapped_in(waiting)
        return coroutine.row if coroutine is not None and self.owner_of(node) is coroutine else None

    def wrapped_in(self, address):
        """The coroutine that awaits one thing, through something as as_outcome() that continues here; None if that is not so."""
        owner = self.owner_of(address)
        return owner if owner is not None and self.unwrapped(address) == owner.address else None

    def unwrapped(self, address):
        """What goes on in the end, where something as as_outcome() may continue: a coroutine, or another callback frame."""
        while (via := self.continuation_at(address)) is not None and (after := via.wrapped_for()):
            address = after
        return address

    def _add_shared(self, body, node, waiting, row):
        """The first waiter for a shared_task: it is shown as what awaits it, since a coroutine has one parent. False if unknown."""
        via = None
        if row is None:
            row, via = self._row_around(node), self.continuation_at(waiting)
            if row != self._row_around(waiting) or row is None and via is None:
                return False
        if body in self.coroutines.rows:
            self._awaiting_shared[body] = row, via
        return body in self.coroutines.rows

    def _link_shared(self):
        everything = self.coroutines
        for body, (parent, via) in self._awaiting_shared.items():
            row = everything.rows[body]
            everything.parents[row], everything.vias[row] = parent, (via.address, via.text) if via is not None else None

    def _link_flights(self):
        """The work of a single_flight is shown below one of its callers."""
        everything = self.coroutines
        if Continuation.FLIGHT in self._texts.values():
            self.flights = {via[0] + _ENDED_IN_FLIGHT: row for row, via in enumerate(everything.vias)
                            if via is not None and via[1] == Continuation.FLIGHT}
            for row, kind in everything.waits.kinds.items():
                if kind.object in self.flights and everything.parents[self.flights[kind.object]] is None:
                    everything.parents[self.flights[kind.object]] = row

    def _add_io(self, start, words, places):
        """Of a copy, the I/O operations. A frame keeps what is left of those that have completed."""
        for place in places:
            node = start + place * memory.WORD - _RUN_IN_IO
            progress, suspended = (memory.number(node + at, 1) for at in (_PROGRESS_IN_IO, _SUSPENDED_IN_IO))
            if progress not in _PENDING or suspended != 1:
                continue
            descriptor = memory.number((memory.word(node + _RECORD_IN_IO) or 0) + _DESCRIPTOR_IN_RECORD, 4)
            self._add_other_wait(node, words[place - _RUN_IN_IO // memory.WORD],
                                 IoWait(memory.number(node + _OPCODE_IN_IO, 1), descriptor))

    def _add_timers(self, start, words, places):
        """Of a copy, the timers of io_services. A frame keeps what is left of those that are over."""
        for place in places:
            node = start + place * memory.WORD - _RUN_IN_TIMER
            progress, suspended = (memory.number(node + at, 1) for at in (_PROGRESS_IN_TIMER, _SUSPENDED_IN_TIMER))
            if (progress, suspended) == (_TIMER_WAITS, 1):
                self._add_other_wait(node, words[place - _RUN_IN_TIMER // memory.WORD], TimerWait())

    def _add_callbacks(self, start, words, places):
        """Of a copy, the operations of from_callback(). A frame keeps what is left of those that have completed."""
        for place in places:
            node = start + place * memory.WORD - _RUN_OF_LISTENER
            if (memory.number(node + _STATE_OF_CALLBACK, 4) or 0) & _FLAGS_OF_CALLBACK == _IS_SUSPENDED:
                self._add_other_wait(node, words[place - _RUN_OF_LISTENER // memory.WORD], CallbackWait())

    def _add_blocking(self, operation, start, words, places):
        """Of a copy, the blocking() whose calls have not returned. The wait may end by itself, so it has no object."""
        running = Operation(f"running_{operation.name}", "queued_waiter", "")
        for place in places:
            node = start + place * memory.WORD - _RUN_OF_LISTENER
            link = memory.word(node + _LINK) or 0
            is_running = link == _SERVED and bool(memory.word(node + _CALL_IN_BLOCKING))  # null once it has returned
            if not is_running and (link & _PROGRESS != _QUEUED or memory.word(link) != node):
                continue
            does, waiting = running if is_running else operation, words[place - _RUN_OF_LISTENER // memory.WORD]
            if waiting in self.coroutines.rows:
                self.coroutines.waits.add([self.coroutines.rows[waiting]], does, [node], [None], [False])
            else:
                self._add_other_wait(node, waiting, Wait(node, WaitKind(does, None), False))

    def _add_other_wait(self, node, waiting, wait):
        """Of a coroutine, or of something inside its frame: an operation in a when_any(), or a coroutine that clang put there."""
        coroutine, through = self.coroutines.get(waiting), None
        if coroutine is None:
            coroutine, via = self.owner_of(node), self.continuation_at(self.unwrapped(waiting))
            if coroutine is None or self.owner_of(waiting) is not coroutine:
                return
            through = via.text if via is not None else None
        self.other_waits.setdefault(coroutine.address, []).append(OtherWait(node, through, wait, waiting))

    @staticmethod
    def _kind_of(value):
        """The address of a resume function; the Operation, of the stop_requested() of its waiters; None of others."""
        symbol = names.symbol_at(value)
        if symbol is None:
            return None
        if names.of_coroutine(symbol):
            return None if _PROBE in symbol else value
        if re.search(r"\bio_operation::stopped\b", symbol):
            return _IO
        if re.search(r"\btimed_schedule_operation::stopped\b", symbol):
            return _TIMER
        if re.search(r"\bcallback_awaiter<.*>::stop_requested\b", symbol):
            return _CALLBACK
        if "stoppable_wait<" in symbol and ">::stop_requested" in symbol:
            arguments = names.template_arguments(names.tidy(symbol), "stoppable_wait")
            if len(arguments) == 2:
                return Operation(*arguments, names.template_arguments(symbol, "stoppable_wait")[0])
        return None

    def owner_of(self, address):
        """The coroutine in whose frame the address is, or None."""
        begin, end, owner = self._nearest
        if not begin <= address < end:
            begin, end, owner = self._nearest = self._find_owner(address)
        return owner

    def _find_owner(self, address):
        """(begin, end, owner) of the memory around an address that has the same owner, or none."""
        index = bisect.bisect_right(self._addresses, address)
        before = self.coroutines[self._addresses[index - 1]] if index else None
        next_begin = self._addresses[index] if index < len(self._addresses) else 1 << 64
        if before is None:
            return 0, next_begin, None
        end = before.address + before.size
        if address < end:
            return before.address, min(end, next_begin), before
        # clang puts frames into others, which go on behind them.
        for outer in reversed(self._addresses[max(0, index - 1 - _MOST_NESTED):index - 1]):
            around = self.coroutines[outer]
            if around.function.has_types and address < outer + around.size:
                return end, min(outer + around.size, next_begin), around
        return end, next_begin, None

    def _find_running(self):
        for _, _, thread in self.stacks.used:
            for address, coroutine, is_suspending in _running_on(thread, self.coroutines):
                # As soon as an await_suspend() has passed the coroutine on, another thread may run it.
                found = self.coroutines.running.get(coroutine.row)
                if found is None or found.is_suspending and not is_suspending:
                    self.coroutines.running[coroutine.row] = Run(thread, address, is_suspending)

    # ---- who awaits whom ----

    def _link(self, function, rows, words, places):
        """Finds who awaits the coroutines of a function, whose frames are at these places of a copy."""
        if function.has_types:
            if function.parent:
                self._link_by(_column(words, places, function.parent // memory.WORD), function, rows)
            return
        left = rows
        for offset in range(functions.PROMISE, functions.PROMISE + _SEARCHED_OF_PROMISE, memory.WORD):
            column = _column(words, places, offset // memory.WORD)
            if len(left) < len(rows):
                column = [column[row - rows.start] for row in left]
            left = self._link_by_one_of(column, left)
            if not left:
                break

    def _link_by(self, column, function, rows):
        """By the word of each that refers to what goes on after it."""
        everything = self.coroutines
        if function.initial_state in self._points[function]:
            column = [0 if everything.points[row].is_start and row not in everything.running else word
                      for row, word in zip(rows, column)]
        everything.parents[rows.start:rows.stop], everything.vias[rows.start:rows.stop] = self._after(column)

    def _link_by_one_of(self, column, rows):
        """Without debug information: by one of the first words of the promise, behind an environment and perhaps a result.

        Returns the rows of which this is not the word."""
        everything, left, place_in = self.coroutines, [], {}
        for row, word, parent, via in zip(rows, column, *self._after(column)):
            is_inside = parent is not None and everything.addresses[parent] != word & ~7
            if via or parent not in (None, row) and (is_inside or self._refers_to(parent, row, place_in)):
                everything.parents[row], everything.vias[row] = parent, via
            else:
                left.append(row)
        return left

    def _after(self, words):
        """(row of the parent, (address, text) of the Continuation), each in a list, to which each of the words refers."""
        parents, vias = list(map(self.coroutines.rows.get, words)), [None] * len(words)
        if None in parents:
            rest = list(dict.fromkeys(word for word, parent in zip(words, parents) if parent is None and word))
            of_rest, vias_of_rest = self._behind(rest)
            of_rest = dict(zip(rest, of_rest))
            parents = [of_rest.get(word) if parent is None else parent for word, parent in zip(words, parents)]
            vias = list(map(dict(zip(rest, vias_of_rest)).get, words))
        return parents, vias

    def _behind(self, words):
        """The same of words that are no address of a frame."""
        parents, vias = list(self._rows_of_flagged(words)), [None] * len(words)
        addresses = [word & ~7 for word in words]
        calls, marks, shared = (memory.words(addresses, place) for place in (0, Continuation.MARK, Continuation.OF_ALL))
        members = set(filter(Continuation.is_mark_of_member, set(marks)))
        texts = {call: self._text_of_continuation(call) for call in set(calls)}
        texts = [self._text_of_one_of_several(address) if text is Continuation.IS_ONE_OF_SEVERAL else text
                 for address, text in zip(addresses, map(texts.__getitem__, calls))]
        # One of several children may be in a vector; what they share is in the frame of the coroutine that awaits them.
        places = [of_all if text == "async_scope" or mark in members else address
                  for address, text, mark, of_all in zip(addresses, texts, marks, shared)]
        around = {place: self._row_around(place) for place, text in zip(places, texts) if text is not None}
        for at, (address, text, place) in enumerate(zip(addresses, texts, places)):
            if text is not None and parents[at] is None:
                parents[at], vias[at] = around[place], (address, text)
        return parents, vias

    def _rows_of_flagged(self, words):
        """The row of the parent to which each of the words refers beside its flags, or None."""
        outer, begin, everything = None, 0, self.coroutines
        for word in words:
            row = None
            if word & 7:
                address = word & ~7
                row = everything.rows.get(address)
                if row is None and word & 4:  # it is folded into the parent: most into the same place of the same function
                    row = everything.rows.get(address - begin)
                    if row is None or everything.points[row].function is not outer:
                        row = self._row_around(address)
                        if row is not None:
                            outer, begin = everything.points[row].function, address - everything.addresses[row]
            yield row

    def _row_around(self, address):
        owner = self.owner_of(address)
        return owner.row if owner is not None else None

    def _refers_to(self, parent, child, place_in):
        """Whether the frame of a parent has the address of that of its child: most have it where others of the function do."""
        address, function = self.coroutines.addresses[child], self.coroutines.points[parent].function
        begin = self.coroutines.addresses[parent]
        if memory.word(begin + place_in.get(function, 0)) == address:
            return True
        try:
            frame = host.read(begin, min(self.coroutines.of_row(parent).size, _LARGEST_PARENT))
        except host.Unreadable:
            return False
        place = frame.find(address.to_bytes(memory.WORD, "little"))
        if place >= 0:
            place_in[function] = place
        return place >= 0

    def _text_of_continuation(self, function):
        if function not in self._texts:
            self._texts[function] = Continuation.text_of(function) if function else None
        return self._texts[function]

    def _text_of_one_of_several(self, address):
        of_all = memory.word(address + Continuation.OF_ALL)
        return self._text_of_continuation(memory.word(of_all)) or "when_any()"

    def continuation_at(self, address):
        """A Continuation, or None."""
        text = self._text_of_continuation(memory.word(address))
        if text is Continuation.IS_ONE_OF_SEVERAL:
            text = self._text_of_one_of_several(address)
        return Continuation(address, text) if text is not None else None

    # ---- for reports ----

    def executor(self, address):
        """As `static_thread_pool`, by the name of its class; None if it has none."""
        if not address:
            return None
        if address not in self.names_of_executors:
            table = memory.word(address)
            symbol = names.symbol_around(table) if table else None
            is_table = symbol is not None and symbol.startswith("vtable for ")
            name = names.tidy(symbol.removeprefix("vtable for ")) if is_table else f"executor {address:#x}"
            self.names_of_executors[address] = re.sub(r"::(impl|state|executor|posts?_?to.*)$", "", name)
        return self.names_of_executors[address]

    def due_times(self, coroutine):
        """When the timers that it waits for are due, by the system's steady clock and in its nanoseconds."""
        waits = [(wait.node, wait) for wait in coroutine.waits[:1]]
        waits += [(each.node, each.what) for each in self.other_waits.get(coroutine.address, ())]
        found = []
        for node, wait in waits:
            is_sleep = isinstance(wait, Wait) and wait.operation.name == "sleep_operation"
            if is_sleep and (self.executor(memory.word(node + _EXECUTOR)) or "").startswith("testing::"):
                continue  # it has a clock of its own
            if is_sleep or isinstance(wait, TimerWait):
                found.append(memory.word(node + (_DUE_IN_SLEEP if is_sleep else _DUE_IN_TIMER)))
        return found

    def where_is(self, address):
        """An object as a person would name it: `bank`, or where it is."""
        return self.whereabouts(address).text

    def whereabouts(self, address):
        """The variable that an object is, or is part of."""
        if address not in self._whereabouts:
            self._whereabouts[address] = self._find_whereabouts(address)
        return self._whereabouts[address]

    def _find_whereabouts(self, address):
        owner = self.owner_of(address)
        if owner is not None:
            found = owner.function.variable_at(address - owner.address)
            if found is not None:
                name, field = found
                begin = owner.address + field.offset
                member = functions.member_at(field.type, address - begin)
                return Whereabouts(f"{name}{member} in {owner.function.name}", owner, begin, begin + max(field.type.size, 1), True)
            # A pointer to the frame itself is a handle, and says nothing of what lies in it.
            begin, end = owner.function.part_at(address - owner.address) or (1, owner.size)
            return Whereabouts(f"in the frame of {owner.function.name}", owner, owner.address + begin, owner.address + end, False)
        for begin, end, thread in self.stacks.used:
            if begin <= address < end:
                found = local_of_thread(thread, address)
                return found or Whereabouts(f"on the stack of thread {thread.num}", thread, begin, end, False)
        text = names.object_at(address) or self._member_of_referred(address) or f"at {address:#x}"
        return Whereabouts(text, None, address, address + 1, False)

    def _member_of_referred(self, address):
        """As `jobs of state`, if a coroutine has a reference to the object of which it is a member."""
        wholes = self.wholes_of(address)
        if address in self._referred:
            wholes.append(self._referred[address])  # which may be a reference to its first member
        for begin, kind, _ in wholes:
            member = functions.member_at(kind, address - begin)
            if member:
                return f"{member[1:]} of {names.short_type(kind.name)}"
        return None

    def wholes_of(self, address):
        """(address, type, coroutines) of each object of which it may be a member, and to which these coroutines refer."""
        if self._referred is None:
            self._referred = {}
            for each in self.coroutines.values():
                for _, offset, kind in each.function.references():
                    begin = memory.word(each.address + offset)
                    if begin:
                        self._referred.setdefault(begin, (begin, kind, []))[2].append(each)
            self._begins = sorted(self._referred)
        after = bisect.bisect_left(self._begins, address)
        candidates = (self._referred[begin] for begin in self._begins[max(0, after - _MOST_NESTED):after])
        return [whole for whole in candidates if address < whole[0] + whole[1].size]

    def holders(self, lockable):
        """(coroutine, name of the lock) of each frame that keeps a lock of that object."""
        if self._holders is None:
            self._holders = {}
            for each in self.coroutines.values():
                for name, offset in each.function.locks():
                    held = memory.word(each.address + offset)
                    if held:
                        self._holders.setdefault(held, []).append((each, name))
        return self._holders.get(lockable, [])


Whereabouts = collections.namedtuple("Whereabouts", "text owner begin end is_named")
Whereabouts.__doc__ = """Where an object is: in a part of a coroutine's frame or of a thread's stack; else it has no owner."""


def _column(words, places, offset):
    """The word at that offset from each place; 0 beyond the end."""
    if places and places[0] >= 0 <= offset < len(words) - places[-1]:
        return memory.at(words, memory.moved(places, offset)) if isinstance(places, range) else memory.at(words[offset:], places)
    return [words[place + offset] if 0 <= place + offset < len(words) else 0 for place in places]


def local_of_thread(thread, address):
    """The variable of a function on that stack, as `queue in main`, or None."""
    with host.frames_of(thread) as frames:
        for frame in itertools.islice(frames, _MOST_FRAMES):
            for name, begin, kind in frame.variables():
                if begin <= address < begin + kind.size:
                    function = names.without_parameters(names.tidy(frame.name))
                    text = f"{name}{functions.member_at(kind, address - begin)} in {function}"
                    return Whereabouts(text, thread, begin, begin + kind.size, True)
    return None


def is_blocked_by_coracle(thread):
    """Whether a thread sleeps inside the library: in sync_wait(), or without work."""
    has_inlined = False
    with host.frames_of(thread) as frames:
        for index, frame in enumerate(itertools.islice(frames, _MOST_FRAMES)):
            if index == 0 and not re.search("syscall|futex|wait|poll|sleep", frame.name):
                return False  # it may be on its way back to the program
            if frame.name and not (frame.library and memory.SYSTEM_LIBRARIES.search(frame.library)):
                name = _name_of(frame)
                is_coracles = re.search(r"^(void |bool )?coracle::", name) is not None
                if frame.is_inlined and not is_coracles:
                    has_inlined = True  # with clang's -g1 a function of the library has no namespace, where it is inlined
                else:
                    return is_coracles and not (has_inlined and "<" in name.partition("(")[0])
    return False


def _name_of(frame):
    """That of the symbol table, where there is one: with clang's -g1, the debugger's has no namespace."""
    return frame.name if frame.is_inlined else names.symbol_around(frame.address) or frame.name or ""


def awaits_in_plain_code(thread):
    """Whether a thread is blocked in sync_wait() or io_service::run()."""
    with host.frames_of(thread) as frames:
        return any(_AWAITS.search(_name_of(frame) or "") for frame in itertools.islice(frames, _MOST_FRAMES))


def _running_on(thread, coroutines):
    """(address of the instruction, coroutine, whether it is in an await_suspend()) of each on the thread, innermost first."""
    found, is_suspending = [], False
    with host.frames_of(thread) as frames:
        for frame in itertools.islice(frames, _MOST_FRAMES):
            is_suspending = is_suspending or "await_suspend" in frame.name
            coroutine = _coroutine_of(frame, coroutines) if not frame.is_inlined else None
            if coroutine is not None:
                found.append((frame.address, coroutine, is_suspending))
                is_suspending = False
    return found


def _coroutine_of(frame, coroutines):
    """The coroutine whose body the machine's frame runs: a register that it saves, or its stack, has the address."""
    symbol = (names.symbol_around(frame.address) or "").removesuffix(" [clone .cold]")
    if not names.of_coroutine(symbol):
        return None
    for register in ("rbx", "rbp", "r12", "r13", "r14", "r15", "rdi"):
        found = coroutines.get(frame.register(register))
        if found is not None and names.symbol_at(found.function.address) == symbol:
            return found
    pointer = frame.register("rsp")
    for slot in range(pointer, pointer + 2048, 8):
        found = coroutines.get(memory.word(slot))
        if found is not None and names.symbol_at(found.function.address) == symbol:
            return found
    return None
