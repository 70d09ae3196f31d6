"""What debug information says of a coroutine's function: its frame, its promise, its places."""
import bisect
import itertools
import re

from . import gcc_lines, host, memory, names, resume_point

PROMISE = 16  # both compilers put the promise behind the resume and the destroy function
_INTERNAL = re.compile(r"^(_Coro_|Aw\d+_|Yd\d+_|D\.\d+_|Is_|Fs_|T\d{3}_|__|PointerType_|class_|struct_|union_|Struct)")


def find_field(of, name, offset=0):
    """(offset, type) of a member, also of a base class, or None."""
    for field in of.fields:
        at = offset + field.offset
        if field.name == name:
            return at, field.type
        if field.is_base:
            found = find_field(field.type, name, at)
            if found:
                return found
    return None


def member_at(of, offset):
    """The member there, as `.first.second`; nothing for what is the library's."""
    if of.name.startswith("coracle::"):
        return ""
    for field in of.fields:
        if not field.is_base and field.offset <= offset < field.offset + field.type.size:
            return f".{field.name}{member_at(field.type, offset - field.offset)}"
    return ""


def has_base(of, name):
    """Whether a class has a base of that name."""
    return any(field.is_base and (str(field.name).endswith(name) or has_base(field.type, name)) for field in of.fields)


class Function:
    """A coroutine function, known by its resume function."""

    def __init__(self, address, symbol):
        self.address = address
        self.name = names.of_coroutine(symbol)
        self.is_gcc = symbol.endswith((".actor]", ".actor"))
        self.file = self.frame_type = self.promise_type = None
        self.size = None  # of its frames, if debug information says
        self.parent = None  # where in the frame the promise keeps it
        self.state = None  # where the frame keeps it: (offset, size)
        self.state_bits = None  # the same in words of the frame: (place, shift, mask)
        self.labels = {}
        self.initial_state = None  # that of a frame that was not started; None if it starts at once
        self._places, self._visible = {}, {}  # by state
        self._lines = self._variables = self._by_offset = self._parts = self._references = None  # found when first asked for
        self.block = function_block(address)
        if self.block is not None:
            self._read_types(self.block)

    @property
    def has_types(self):
        """Whether it was compiled with debug information."""
        return self.frame_type is not None

    @property
    def is_generator(self):
        """Whether it is an async_generator, as far as debug information says."""
        return self.promise_type is not None and "async_generator_promise<" in self.promise_type.name

    def _read_types(self, block):
        self.file = block.file
        types = block.types()
        self.frame_type = types["frame_ptr"].target() if "frame_ptr" in types else types.get("__coro_frame")
        self.promise_type = types.get("_Coro_promise") or types.get("__promise")
        self.labels = {int(name.rsplit("_", 1)[1]): line for name, line in block.labels().items()
                       if name.startswith("__coro_resume_")}
        if self.frame_type is None:
            return
        self.size = self.frame_type.size
        state = find_field(self.frame_type, "_Coro_resume_index" if self.is_gcc else "__coro_index") or _state_by_layout(types)
        if state:
            offset, size = self.state = state[0], state[1].size
            self.state_bits = offset // memory.WORD, 8 * (offset % memory.WORD), (1 << 8 * size) - 1
        if self.promise_type is not None:
            parent = find_field(self.promise_type, "parent_")
            if parent:
                self.parent = PROMISE + parent[0]
            if has_base(self.promise_type, "starts_lazily"):
                self.initial_state = 2 if self.is_gcc else 0

    def place(self, frame, state):
        """(file, line) of the suspension point, or None."""
        if state not in self._places:
            self._places[state] = self._find_place(frame, state)
        return self._places[state]

    def _find_place(self, frame, state):
        if state in self.labels and self.labels[state]:
            return self.file, self.labels[state]
        if self.is_gcc:
            line = self.lines_by_state().get(state)
            return (self.file, line) if line else None
        address = self._resume_address(frame, state)
        if address is None:
            return None
        return line_in_function(address if state == self.initial_state else host.row_from(address), self.address)

    def lines_by_state(self):
        """Of a function that g++ compiled."""
        if self._lines is None:
            self._lines = gcc_lines.read(self)
        return self._lines

    def _resume_address(self, frame, state):
        return resume_point.find(self.address, frame, *self.state, state)

    def visible_at(self, frame, state):
        """The names of the locals in scope at a suspension point, or None if nobody can tell."""
        if self.state is None or not self.has_types:
            return None
        if state not in self._visible:
            address = self._resume_address(frame, state)
            blocks = host.blocks_at(address) if address is not None else []
            self._visible[state] = {name for block in blocks for name in block.names()} or None
        return self._visible[state]

    def awaiter(self, state):
        """The type of what the suspension point awaits, as far as g++ says: its awaiters have numbers."""
        if not self.is_gcc or not self.has_types or state is None or state < 4:
            return None
        for field in self.frame_type.fields:
            if field.name and re.match(rf"(Aw|Yd){state // 2 - 2}_", field.name):
                name = field.type.name
                return (names.template_arguments(name, "awaiter_reference") or [name])[0]
        return None

    def variables(self):
        """(name, field) of each parameter and local that the frame keeps."""
        if self._variables is None:
            self._variables = []
            named = self.block.types() if self.has_types else {}
            for field in self.frame_type.fields if self.has_types else []:
                # clang keeps the `this` of functions that it has inlined, too.
                if field.name and not _INTERNAL.match(field.name) and (field.name != "this" or "this" in named):
                    self._variables.append((re.sub(r"(_\d+)+$", "", field.name) if self.is_gcc else field.name, field))
        return self._variables

    def variable_at(self, offset):
        """(name, field) of the variable that has this offset in the frame, or None."""
        if self._by_offset is None:
            self._by_offset = sorted(self.variables(), key=lambda each: each[1].offset)
        at = bisect.bisect_right(self._by_offset, offset, key=lambda each: each[1].offset) - 1
        found = self._by_offset[at] if at >= 0 else None
        return found if found is not None and offset < found[1].offset + max(found[1].type.size, 1) else None

    def references(self):
        """(name, offset, type of the object) of each variable that refers or points to an object of a class of the program's."""
        if self._references is None:
            self._references = []
            for name, field in self.variables():
                if field.type.is_reference or field.type.is_pointer:
                    target = field.type.target()
                    if target.is_class and not target.name.startswith(("coracle::", "std::")) and target.size:
                        self._references.append((name, field.offset, target))
        return self._references

    def part_at(self, offset):
        """(begin, end) of the part of the frame that has this offset: a variable, a temporary, the promise."""
        if self._parts is None:
            fields = self.frame_type.fields if self.has_types else []
            self._parts = sorted((field.offset, field.offset + field.type.size) for field in fields)
        at = bisect.bisect_right(self._parts, (offset, 1 << 64)) - 1
        return self._parts[at] if at >= 0 and offset < self._parts[at][1] else None

    def locks(self):
        """(name or None, offset) of each lock or permit that the frame may keep."""
        found = []
        for field in self.frame_type.fields if self.has_types else []:
            text = f"{field.name or ''} {field.type.name}"
            if re.search(r"async_mutex_lock|async_semaphore_permit|async_shared_mutex_(shared_)?lock", text):
                name = None if _INTERNAL.match(field.name or "_") else re.sub(r"(_\d+)+$", "", field.name)
                found.append((name, field.offset))
        return found


def _state_by_layout(types):
    """(offset, type) of the state, where gdb does not find the members of g++'s frame: in function templates.

    The frame begins with the variables that the resume function has, in their order: pointers to functions, the promise,
    the handle, the parameters, the state."""
    offset, names_in_frame = 0, itertools.dropwhile(lambda name: name != "_Coro_resume_fn", types)
    for name in names_in_frame:
        offset += -offset % min(types[name].alignment, memory.WORD)  # gdb takes that of std::function for 16
        if name == "_Coro_resume_index":
            return offset, types[name]
        offset += types[name].size
    return None


def function_block(address):
    """The block of the function that contains the address, if it was compiled with debug information.

    It is the outermost that does: functions inlined there lie inside. A local class's function lies inside another, too,
    elsewhere, and where g++ has cut functions into parts, gdb finds some inside of others that lie elsewhere."""
    found = None
    for block in host.blocks_at(address):
        if block.is_function and block.start <= address < block.end:
            found = block
    return found


def line_in_function(address, function):
    """(file, line) of the address in the function that begins there, whatever was inlined."""
    outermost, call = function_block(address), None
    # gdb may find what was inlined, but in another function into which g++ has inlined the same.
    is_found = outermost is not None and outermost.start <= function < outermost.end
    for block in host.blocks_at(address) if outermost is not None else []:
        if is_found and (block.start, block.end) == (outermost.start, outermost.end):
            break
        if block.is_function and block.line and block.start <= address < block.end:
            call = block
    return (call.file, call.line) if call is not None else host.line_at(address)


def size_of_block(frame):
    """At least the size of a frame without debug information: up to the end of its block of the heap."""
    return block_with(frame)[1] - frame


def block_with(frame):
    """(begin, end) of the block of the heap that has the frame, if it looks like one."""
    for begin in (frame, memory.word(frame - 8)):  # in front of a large frame stands where its block begins
        if begin is None or not frame - 64 <= begin <= frame:
            continue
        header = memory.word(begin - 8)
        if header and 32 <= (header & ~7) <= 1 << 20 and (header & ~7) % 16 == 0:
            return begin, begin + (header & ~7) - 8
    return frame, frame + 512
