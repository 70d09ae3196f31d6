"""What debug information says of a coroutine's function: its frame, its promise, its places."""
import bisect
import re

import gdb

from . import gcc_lines, memory, names, resume_point

PROMISE = 16  # both compilers put the promise behind the resume and the destroy function
_INTERNAL = re.compile(r"^(_Coro_|Aw\d+_|Yd\d+_|D\.\d+_|Is_|Fs_|T\d{3}_|__|PointerType_|class_|struct_|union_|Struct)")


def find_field(of, name, offset=0):
    """(offset, type) of a member, also of a base class, or None."""
    for field in of.strip_typedefs().fields():
        if not hasattr(field, "bitpos"):
            continue
        at = offset + field.bitpos // 8
        if field.name == name:
            return at, field.type
        if field.is_base_class:
            found = find_field(field.type, name, at)
            if found:
                return found
    return None


def member_at(of, offset):
    """The member there, as `.first.second`; nothing for what is the library's."""
    of = of.strip_typedefs()
    if of.code != gdb.TYPE_CODE_STRUCT or str(of).startswith("coracle::"):
        return ""
    for field in of.fields():
        if not hasattr(field, "bitpos") or field.is_base_class:
            continue
        begin = field.bitpos // 8
        if begin <= offset < begin + field.type.sizeof:
            return f".{field.name}{member_at(field.type, offset - begin)}"
    return ""


def has_base(of, name):
    """Whether a class has a base of that name."""
    return any(field.is_base_class and (str(field.name).endswith(name) or has_base(field.type.strip_typedefs(), name))
               for field in of.fields())


class Function:
    """A coroutine function, known by its resume function."""

    def __init__(self, address, symbol):
        self.address = address
        self.name = names.of_coroutine(symbol)
        self.is_gcc = symbol.endswith(".actor]")
        self.file = self.line = self.frame_type = self.promise_type = None
        self.size = None  # of its frames, if debug information says
        self.parent = None  # where in the frame the promise keeps it
        self.state = None  # where the frame keeps it: (offset, size)
        self.labels = {}
        self.initial_state = None  # that of a frame that was not started; None if it starts at once
        self._places = {}
        self._parts = self._references = None  # found when first asked for
        self.block = function_block(address)
        if self.block is not None:
            self._read_types(self.block)

    @property
    def has_types(self):
        """Whether it was compiled with debug information."""
        return self.frame_type is not None

    def _read_types(self, block):
        self.file, self.line = block.function.symtab.fullname(), block.function.line
        for symbol in block:
            if symbol.name == "frame_ptr":
                self.frame_type = symbol.type.target().strip_typedefs()
            elif symbol.name == "__coro_frame":
                self.frame_type = symbol.type.strip_typedefs()
            elif symbol.name in ("_Coro_promise", "__promise"):
                self.promise_type = symbol.type.strip_typedefs()
            elif symbol.name.startswith("__coro_resume_"):
                self.labels[int(symbol.name.rsplit("_", 1)[1])] = symbol.line
        if self.frame_type is None:
            return
        self.size = self.frame_type.sizeof
        state = find_field(self.frame_type, "_Coro_resume_index" if self.is_gcc else "__coro_index")
        if state:
            self.state = state[0], state[1].sizeof
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
            line = gcc_lines.line_of(self, state)
            return (self.file, line) if line else None
        address = self._resume_address(frame, state)
        return line_in_function(address) if address is not None else None

    def _resume_address(self, frame, state):
        return resume_point.find(self.address, frame, *self.state, state)

    def visible_at(self, frame, state):
        """The names of the locals in scope at a suspension point, or None if nobody can tell."""
        if self.state is None or not self.has_types:
            return None
        address = self._resume_address(frame, state)
        block = gdb.block_for_pc(address) if address is not None else None
        found = set()
        while block is not None and not block.is_static and not block.is_global:
            found.update(symbol.name for symbol in block)
            block = block.superblock
        return found or None

    def awaiter(self, state):
        """The type of what the suspension point awaits, as far as g++ says: its awaiters have numbers."""
        if not self.is_gcc or not self.has_types or state is None or state < 4:
            return None
        for field in self.frame_type.fields():
            if field.name and re.match(rf"(Aw|Yd){state // 2 - 2}_", field.name):
                name = str(field.type.strip_typedefs())
                return (names.template_arguments(name, "awaiter_reference") or [name])[0]
        return None

    def variables(self):
        """(name, field) of each parameter and local that the frame keeps."""
        found = []
        named = {symbol.name for symbol in self.block} if self.has_types else set()
        for field in self.frame_type.fields() if self.has_types else []:
            # clang keeps the `this` of functions that it has inlined, too.
            if field.name and not _INTERNAL.match(field.name) and (field.name != "this" or "this" in named):
                found.append((re.sub(r"(_\d+)+$", "", field.name) if self.is_gcc else field.name, field))
        return found

    def references(self):
        """(name, offset, type of the object) of each variable that refers or points to an object of a class of the program's."""
        if self._references is None:
            self._references = []
            for name, field in self.variables():
                kind = field.type.strip_typedefs()
                if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF, gdb.TYPE_CODE_PTR):
                    target = kind.target().strip_typedefs().unqualified()
                    is_of_program = target.code == gdb.TYPE_CODE_STRUCT and not str(target).startswith(("coracle::", "std::"))
                    if is_of_program and target.sizeof:
                        self._references.append((name, field.bitpos // 8, target))
        return self._references

    def part_at(self, offset):
        """(begin, end) of the part of the frame that has this offset: a variable, a temporary, the promise."""
        if self._parts is None:
            fields = self.frame_type.fields() if self.has_types else []
            self._parts = sorted((field.bitpos // 8, field.bitpos // 8 + field.type.sizeof) for field in fields)
        at = bisect.bisect_right(self._parts, (offset, 1 << 64)) - 1
        return self._parts[at] if at >= 0 and offset < self._parts[at][1] else None

    def locks(self):
        """(name or None, offset) of each lock or permit that the frame may keep."""
        found = []
        for field in self.frame_type.fields() if self.has_types else []:
            text = f"{field.name or ''} {field.type}"
            if re.search(r"async_mutex_lock|async_semaphore_permit|async_shared_mutex_lock", text):
                name = None if _INTERNAL.match(field.name or "_") else re.sub(r"(_\d+)+$", "", field.name)
                found.append((name, field.bitpos // 8))
        return found


def _blocks_at(address):
    """The blocks that contain the address, innermost first."""
    block = gdb.block_for_pc(address)
    while block is not None and not block.is_static and not block.is_global:
        yield block
        block = block.superblock


def function_block(address):
    """The block of the function that contains the address, if it was compiled with debug information.

    It is the outermost: functions inlined there lie inside. A local class's function lies inside another, too, elsewhere."""
    found = None
    for block in _blocks_at(address):
        if block.function is not None and block.start <= address < block.end:
            found = block
    return found


def line_in_function(address):
    """(file, line) in the function that contains the address, whatever was inlined there."""
    outermost, call = function_block(address), None
    for block in _blocks_at(address) if outermost is not None else []:
        if (block.start, block.end) == (outermost.start, outermost.end):
            break
        if block.function is not None:
            call = block.function  # of an inlined function gdb keeps the line of the call
    if call is not None and call.line:
        return call.symtab.fullname(), call.line
    place = gdb.find_pc_line(address)
    return (place.symtab.fullname(), place.line) if place.symtab and place.line else None


def size_of_block(frame):
    """At least the size of a frame without debug information: that of its block of the heap, if it looks like one."""
    for begin in (frame, memory.word(frame - 8)):  # in front of a large frame stands where its block begins
        if begin is None or not frame - 64 <= begin <= frame:
            continue
        header = memory.word(begin - 8)
        if header and 32 <= (header & ~7) <= 1 << 20 and (header & ~7) % 16 == 0:
            return begin + (header & ~7) - 8 - frame
    return 512
