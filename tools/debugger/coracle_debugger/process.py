"""Every coroutine of the process, who awaits whom, and what the others wait for.

A frame begins with its resume and its destroy function. No other memory does, so the frames are found by looking at all
writable memory; the library keeps no list. A frame that has ended has no resume function, and the recycler overwrites the
first word of those it has freed.
"""
import bisect
import collections
import functools
import itertools
import operator
import re

from . import functions, host, memory, names

_RUN_OF_LISTENER = 24  # in a queued_waiter: behind the handle, the link, and the executor
_CONTENDERS = {"contender<async_mutex>": 104, "contender<async_semaphore>": 104, "async_shared_mutex::request": 112}
_NODE_SIZES = {"queued_waiter": 64, **_CONTENDERS}
_COROUTINE_OF_CONTENDER = 80
_MOST_NESTED = 8  # objects that begin before a member of one of them
_MOST_FRAMES = 100  # of a machine's stack
_QUEUED, _ARRIVING, _PROGRESS, _LINK = 0, 1, 3, 56

# In an io_operation (io/detail/io_operation.hpp). tests/debugger fails if they change.
_RUN_IN_IO, _PROGRESS_IN_IO, _RECORD_IN_IO, _OPCODE_IN_IO, _SUSPENDED_IN_IO = 120, 32, 48, 96, 169
_PENDING = range(2, 5)  # of io_event::state: queued, running, cancelling
_DESCRIPTOR_IN_RECORD = 8
# By io_opcode, as src/io/opcode_name.cpp has them.
_OPCODES = ("read", "receive", "receive datagrams", "accept", "receive descriptors", "receive", "receive datagrams",
            "wait until readable", "write", "send", "send datagrams", "send descriptors", "send", "send datagrams",
            "send a file", "connect", "wait until writable", "read from a file", "write to a file", "read from a file",
            "write to a file", "sync a file", "open a file", "ask for a status", "rename a file", "create a link",
            "create a link", "create a directory", "remove a file")
_PATHS = _OPCODES.index("open a file")  # from here on without a descriptor


class Coroutine:
    """A frame that is suspended or runs."""

    __slots__ = ("address", "function", "parent", "via", "children", "waits", "thread", "runs_at", "is_suspending", "state", "look")

    def __init__(self, address, function, state):
        self.address = address
        self.function = function
        self.state = state
        self.parent = None  # a Coroutine
        self.via = None  # what stands between it and its parent, or is its root: a Continuation
        self.children = self.waits = ()  # the children are a list if there are some
        self.thread = None  # that runs it
        self.runs_at = None  # the address of the instruction
        self.is_suspending = False  # the thread that was found to run it is in an await_suspend()
        self.look = None  # a number: that of those whose trees look the same in a listing

    @property
    def size(self):
        """Of the frame, in bytes."""
        return self.function.size or functions.size_of_block(self.address)

    @property
    def is_started(self):
        return self.thread is not None or self.state is None or self.state != self.function.initial_state

    @property
    def awaited(self):
        """The coroutines for which it waits; none while it waits for something else, though it has spawned some."""
        if all(each.via is not None and each.via.text == "async_scope" for each in self.children):
            return self.children if self.children and self.children[0].via.is_joined_by(self) else []
        return [each for each in self.children if each.via is None or each.via.text != "async_scope"]

    def place(self):
        """(file, line) where it is, or None."""
        if self.runs_at is not None:
            return functions.line_in_function(self.runs_at, self.function.address)
        if self.state is None:
            return None
        return self.function.place(self.address, self.state)


class Continuation:
    """What goes on when a coroutine ends, and is no coroutine. It has no text if it is part of something else."""

    __slots__ = ("address", "text")
    _TEXTS = ((r"waiting_thread::finished", "sync_wait()"), (r"siblings::rule\)[01], .*child_is_over", "when_all()"),
              (r"siblings::rule\)[23], .*child_is_over|\bsibling<.*::over", "when_any()"),
              (r"\bfork_join_operation<", "fork_join()"), (r"\bended_work<.*?\bas_outcome_operation<", "as_outcome()"),
              (r"\bended_work<.*?\bas_optional_operation<", "as_optional()"),
              (r"\bended_work<.*?\bas_expected_operation<", "as_expected()"),
              (r"\bended_work<.*?\bthrowing_operation<", "throwing()"), (r"\bended_work<", ""), (r"io_run.*::ended", "io_service::run()"),
              (r"poll.*::completed", "testing::poll()"), (r"virtual_time_loop.*::completed", "virtual_time_loop"),
              (r"spawned|\bscope_", "async_scope"))

    def __init__(self, address, text):
        self.address = address
        self.text = text

    @classmethod
    def text_of(cls, function):
        """By the function that is called; None if it is not that of such a frame."""
        symbol = names.symbol_at(function)
        # It looks like a coroutine's frame: a resume function, then one that refuses to destroy it.
        if not symbol or "callback_frame" not in symbol:
            return None
        found = next((text for pattern, text in cls._TEXTS if re.search(pattern, symbol)), None)
        return found if found is not None else names.without_parameters(names.tidy(symbol))

    def scope(self):
        """The address of the async_scope that has spawned it."""
        return memory.word(self.address + 16) if self.text == "async_scope" else None  # the promise begins with it

    def is_joined_by(self, coroutine):
        """Whether the coroutine waits for all children of that scope. Always false without debug information."""
        scope, place = self.scope(), _place_of_joiner()
        joiner = memory.word(scope + place) if scope and place is not None else None
        return joiner is not None and coroutine.address <= joiner < coroutine.address + coroutine.size

    def spawned_at(self):
        """file:line of the spawn(), if it is the child of an async_scope."""
        if self.text != "async_scope":
            return None
        place = _place_in_child("spawned_at")
        return _source_location(memory.word(self.address + place)) if place is not None else None


@functools.cache
def _place_in_child(member):
    """Of a member, counted from the callback frame of a child of an async_scope; None without debug information."""
    child = host.find_type("coracle::detail::scope_child")
    if child is None:
        return None
    place = functions.find_field(child, member)
    base = next((field for field in child.fields if re.search("callback_frame|scope_frame", str(field.name))), None)
    return place[0] - base.offset if place and base is not None else None


@functools.cache
def _place_of_joiner():
    """Where an async_scope keeps who joins it; None without debug information."""
    state = host.find_type("coracle::detail::scope_state")
    joiner = functions.find_field(state, "joiner_") if state is not None else None
    handle = functions.find_field(joiner[1], "handle") if joiner else None
    return joiner[0] + handle[0] if handle else None


@functools.cache
def _source_location(address):
    """file:line of what a std::source_location refers to; None if it is not known, or in a header of the library's."""
    at = memory.word(address) if address else None
    file = memory.text(at) if at else None
    if not file or "/coracle/compose/" in file:
        return None
    return f"{names.file_name(file)}:{memory.number(address + 16, 4)}"


class Operation:
    """What a waiter does, by its stop_requested()."""

    def __init__(self, name, kind, type_name):
        self.name = name  # as async_mutex::lock_operation
        self.type_name = type_name  # the same as debug information has it
        self.primitive = re.sub(r"::[a-z_]*_operation$", "", name)  # as async_mutex
        self.is_contender = kind in _CONTENDERS
        self.place_of_object = _place_of_object(type_name, kind)


class Wait:
    """A waiter in a coroutine's frame, and the object in whose queue it is."""

    __slots__ = ("node", "operation", "object", "is_sure")

    def __init__(self, node, operation, awaited, is_sure):
        self.node = node
        self.operation = operation
        self.object = awaited  # its address
        self.is_sure = is_sure  # whether the queue, or the object, refers to the waiter

    @property
    def executor(self):
        """The address of that on which it suspended."""
        return memory.word(self.node + 16)

    @property
    def primitive(self):
        """As async_mutex."""
        return self.operation.primitive

    @property
    def points_from(self):
        """The address of its pointer to the object."""
        return self.node + (self.operation.place_of_object or 0)


class IoWait:
    """An I/O operation that the system has not completed."""

    __slots__ = ("opcode", "descriptor")

    def __init__(self, opcode, descriptor):
        self.opcode = opcode
        self.descriptor = descriptor

    @property
    def text(self):
        """As `receive on descriptor 5`."""
        name = _OPCODES[self.opcode] if self.opcode < len(_OPCODES) else f"operation {self.opcode}"
        return name if self.opcode >= _PATHS or self.descriptor is None else f"{name} on descriptor {self.descriptor}"


_IO = object()  # the kind of io_operation::stopped


def _place_of_object(operation, kind):
    """Where an operation keeps the address of the object for which it waits, or None."""
    found = host.find_type(operation)
    if found is not None:
        return _first_reference(found)
    has_object = re.search(r"(event|mutex|semaphore|channel)\b.*_operation$", operation)
    return _NODE_SIZES.get(kind) if has_object else None


def _first_reference(operation):
    """The offset of the member that refers to the object, as `mutex_`."""
    for field in operation.fields:
        if field.is_base:
            found = _first_reference(field.type) if str(field.name).endswith("_operation") else None
            if found is not None:
                return field.offset + found
        elif field.type.is_reference or field.type.is_pointer:
            return field.offset
    return None


class Process:
    """A snapshot. It is taken when the first command asks, and forgotten when the process goes on."""

    def __init__(self):
        self.functions = {}
        self.coroutines = {}
        ranges = sorted(host.writable_ranges())
        self.stacks = memory.Stacks(ranges)
        memory.keep(ranges, self.stacks)
        self.names_of_executors = {}
        self._nearest = 0, 0, None  # what owner_of() has found last: neighbours are asked for together
        self._whereabouts = {}
        self._referred = self._begins = None  # the objects to which coroutines refer; collected when first asked for
        self._texts = {}  # of Continuations, by their functions
        self.other_waits = {}  # by a coroutine's address: (place, what it awaits through or None, Wait or IoWait)
        self._scopes = {}  # the coroutine that has an async_scope, by the scope's address
        self._ties = {}  # (Continuation, coroutine in whose frame it is): the children of a when_all() have the same
        self.looks = {}  # the numbers of looks, by what makes them different
        self.graph = None  # a waits.Graph
        self._holders = None  # of each lockable object; collected when first asked for
        self._to_link = []  # (Function, coroutines, the word for its parent in each frame)
        self._find()
        self._find_running()
        for each in self._to_link:
            self._link(*each)
        self._to_link.clear()
        for parent in set(map(_PARENT, self.coroutines.values())) - {None}:
            parent.children.sort(key=_ADDRESS)
            if parent.thread is not None and any(child.via is None for child in parent.children):
                # A thread that is still in an earlier await_suspend() is about to leave it.
                parent.thread = parent.runs_at = None

    def _find(self):
        """A program may have a million frames: what is the same for all of a function or an operation is looked up once."""
        kinds, waiters = {}, []
        for start, words, places_of in memory.pointers_into(memory.code_ranges(), self.stacks):
            for value, places in places_of.items():
                if value not in kinds:
                    kinds[value] = self._kind_of(value)
                kind = kinds[value]
                if isinstance(kind, Operation) or kind is _IO:
                    waiters.append((kind, start, words, places))
                elif kind is not None:
                    self._add_frames(kind, start, words, places)
        self._addresses = sorted(self.coroutines)
        for kind, *copied in waiters:
            if kind is _IO:
                self._add_io(*copied)
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
        addresses = [start + place * memory.WORD for place in places]
        states = itertools.repeat(None)
        if function.state is not None:
            at, shift, mask = function.state_bits
            states = [word >> shift & mask for word in _column(words, places, at)]
        coroutines = list(map(Coroutine, addresses, itertools.repeat(function), states))
        self.coroutines.update(zip(addresses, coroutines))
        parents = _column(words, places, function.parent // memory.WORD) if function.parent else None
        self._to_link.append((function, coroutines, parents))

    def _add_waits(self, operation, start, words, places):
        """Of a copy, the waiters with that operation. A frame keeps what is left of waits that have ended."""
        coroutines, end = self.coroutines, start + len(words) * memory.WORD
        firsts = [place - _RUN_OF_LISTENER // memory.WORD for place in places]
        waiting = map(coroutines.get, _column(words, firsts, 0))
        if operation.is_contender:
            others = map(coroutines.get, _column(words, firsts, _COROUTINE_OF_CONTENDER // memory.WORD))
            waiting = (each or other for each, other in zip(waiting, others))
        links = _column(words, firsts, _LINK // memory.WORD)
        objects = itertools.repeat(None)
        if operation.place_of_object is not None:
            objects = _column(words, firsts, operation.place_of_object // memory.WORD)
        for first, coroutine, link, awaited in zip(firsts, waiting, links, objects):
            if link & _PROGRESS > _ARRIVING:
                continue
            node, is_sure = start + first * memory.WORD, False
            if link > _ARRIVING:
                is_sure = node == (words[(link - start) >> 3] if start <= link < end and not link & 7 else memory.word(link))
                if not is_sure:
                    continue
            elif link == _QUEUED and awaited is not None:
                value = memory.word(awaited) or 0
                is_sure = value == node
                if not (is_sure or operation.is_contender and value & 4):
                    continue
            # With _ARRIVING alone it is in no queue, as one that waits for a timer.
            wait = Wait(node, operation, awaited, is_sure)
            if coroutine is None:
                self._add_other_wait(node, words[first], wait)
            elif coroutine.waits:
                coroutine.waits = tuple(sorted((*coroutine.waits, wait), key=lambda each: not each.is_sure))
            else:
                coroutine.waits = (wait,)

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

    def _add_other_wait(self, node, waiting, wait):
        """Of a coroutine, or of something inside its frame: an operation in a when_any(), or a coroutine that clang put there."""
        coroutine, through = self.coroutines.get(waiting), None
        if coroutine is None:
            coroutine, via = self.owner_of(node), self._continuation(waiting)
            if coroutine is None or self.owner_of(waiting) is not coroutine:
                return
            through = via.text if via is not None else None
        self.other_waits.setdefault(coroutine.address, []).append((node, through, wait))

    @staticmethod
    def _kind_of(value):
        """The address of a resume function; the Operation, of the stop_requested() of its waiters; None of others."""
        symbol = names.symbol_at(value)
        if symbol is None:
            return None
        if names.of_coroutine(symbol):
            return value
        if re.search(r"\bio_operation::stopped\b", symbol):
            return _IO
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
        return (before.address, min(end, next_begin), before) if address < end else (end, next_begin, None)

    def _find_running(self):
        for _, _, thread in self.stacks.used:
            for address, coroutine, is_suspending in _running_on(thread, self.coroutines):
                # As soon as an await_suspend() has passed the coroutine on, another thread may run it.
                if coroutine.thread is None or coroutine.is_suspending and not is_suspending:
                    coroutine.thread, coroutine.runs_at, coroutine.is_suspending = thread, address, is_suspending

    # ---- who awaits whom ----

    def _link(self, function, coroutines, parents):
        if parents is not None:
            initial, found, ties, begin = function.initial_state, self.coroutines.get, self._ties, 0
            for coroutine, address in zip(coroutines, parents):
                if not address or coroutine.state == initial and not coroutine.is_started:
                    continue
                parent = found(address - begin)
                if parent is not None and (begin == 0 or parent.function is outer):
                    _adopt(parent, coroutine)
                elif address in ties:
                    coroutine.via, parent = ties[address]
                    if parent is not None:
                        _adopt(parent, coroutine)
                elif self._link_to(coroutine, address) and coroutine.via is None and coroutine.parent is not None:
                    # Most calls of a function are folded into the same place of the same function.
                    outer, begin = coroutine.parent.function, address - coroutine.parent.address
        elif not function.has_types:
            for coroutine in coroutines:
                any(self._link_to(coroutine, address) for address in self._parent_words(coroutine))

    def _parent_words(self, coroutine):
        """The parent is one of the first words of the promise: behind an environment and perhaps a result."""
        for offset in range(functions.PROMISE, functions.PROMISE + 64, 8):
            address = memory.word(coroutine.address + offset)
            if not address:
                continue
            if (address & ~7) in self.coroutines:
                if self._refers_to(self.coroutines[address & ~7], coroutine):
                    yield address
            elif self._continuation(address & ~7):
                yield address
            elif address & 4 and self.owner_of(address & ~7) not in (None, coroutine):
                yield address

    def _refers_to(self, parent, child):
        try:
            return child.address.to_bytes(8, "little") in host.read(parent.address, min(parent.size, 4096))
        except host.Unreadable:
            return False

    def _continuation(self, address):
        function = memory.word(address)
        if not function:
            return None
        if function not in self._texts:
            self._texts[function] = Continuation.text_of(function)
        text = self._texts[function]
        return Continuation(address, text) if text is not None else None

    def _link_to(self, coroutine, address):
        folds, address = address & 4 != 0, address & ~7
        parent = self.coroutines.get(address)
        if parent is None and folds:
            parent = self.owner_of(address)
        if parent is None:
            coroutine.via = self._continuation(address)
            if coroutine.via is None:
                return False
            scope = coroutine.via.scope() if coroutine.via.text == "async_scope" else None
            if scope:  # many have the same
                if scope not in self._scopes:
                    self._scopes[scope] = self.owner_of(scope)
                parent = self._scopes[scope]
            else:
                parent = self.owner_of(address)
                self._ties[address] = coroutine.via, parent
        if parent is not None:
            _adopt(parent, coroutine)
        return True

    def roots(self):
        """Those that no coroutine awaits, by address."""
        return sorted((each for each in self.coroutines.values() if each.parent is None), key=_ADDRESS)

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
        for begin, kind, _ in self.wholes_of(address):
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


_ADDRESS, _PARENT = operator.attrgetter("address"), operator.attrgetter("parent")


def _column(words, places, offset):
    """The word at that offset from each place; 0 beyond the end."""
    if places and offset >= 0 and places[-1] + offset < len(words):
        return memory.at(words[offset:], places)
    return [words[place + offset] if 0 <= place + offset < len(words) else 0 for place in places]


def _adopt(parent, coroutine):
    if parent is not coroutine and not (coroutine.children and _is_below(parent, coroutine)):
        coroutine.parent = parent
        if parent.children:
            parent.children.append(coroutine)
        else:
            parent.children = [coroutine]


def _is_below(coroutine, other):
    """Whether `coroutine` is `other` or awaited by it: a word that is no parent could close a circle."""
    seen = set()
    while coroutine is not None and coroutine.address not in seen:
        if coroutine is other:
            return True
        seen.add(coroutine.address)
        coroutine = coroutine.parent
    return False


def forget():
    """After symbols were loaded."""
    for cached in (_place_in_child, _place_of_joiner, _source_location):
        cached.cache_clear()


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
    """Whether a thread sleeps inside the library: in sync_wait(), or without work. It goes on when a coroutine does."""
    with host.frames_of(thread) as frames:
        for index, frame in enumerate(itertools.islice(frames, _MOST_FRAMES)):
            if index == 0 and not re.search("syscall|futex|wait|poll|sleep", frame.name):
                return False  # it may be on its way back to the program
            if frame.name and not (frame.library and memory.SYSTEM_LIBRARIES.search(frame.library)):
                return re.search(r"^(void |bool )?coracle::", frame.name) is not None
    return False


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
