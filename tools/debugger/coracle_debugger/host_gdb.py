"""What the analysis needs of gdb. host_lldb.py defines the same names; no other module knows a debugger."""
import contextlib
import functools
import re

import gdb
import gdb.printing

from .records import Field, Instruction, Symbol, Variable, as_compiled

Unreadable = gdb.MemoryError  # there is no memory at an address
Failure = gdb.GdbError  # a command cannot do what it should; the text says why

# ---- the process ----

_moment = [0, 0]  # how often symbols have been loaded, and the process has changed


def moment():
    """(that of the symbols, that of the process): while they stay equal, nothing has changed."""
    return tuple(_moment)


def _count(index):
    _moment[index] += 1


def _count_changes():
    for event in (gdb.events.cont, gdb.events.memory_changed, gdb.events.exited, gdb.events.inferior_call,
                  gdb.events.register_changed):
        event.connect(lambda _event: _count(1))
    gdb.events.new_objfile.connect(lambda _event: (_count(0), _count(1)))


def has_process():
    """Whether there is a process to look at, live or in a core."""
    return gdb.selected_inferior().pid != 0 and gdb.selected_thread() is not None


def is_x86_64():
    """Whether the process runs on such a machine."""
    return gdb.selected_inferior().architecture().name().startswith("i386:x86-64")


def read(address, size):
    """The bytes there; raises Unreadable."""
    return bytes(gdb.selected_inferior().read_memory(address, size))


def _mapped():
    """(start, end) of each writable part of a live process on this machine."""
    try:
        with open(f"/proc/{gdb.selected_inferior().pid}/maps", encoding="utf-8") as maps:
            lines = maps.read().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        bounds, rights = line.split(None, 2)[:2]
        if rights.startswith("rw"):
            start, end = bounds.split("-")
            found.append((int(start, 16), int(end, 16)))
    return found


def _dumped():
    """The same of a core."""
    found = []
    for line in gdb.execute("maintenance info sections", to_string=True).splitlines():
        match = re.match(r"\s*\[\d+\]\s+(0x[0-9a-f]+)->(0x[0-9a-f]+) at \S+: load\d+\S*(.*)$", line)
        if match and "READONLY" not in match.group(3):
            found.append((int(match.group(1), 16), int(match.group(2), 16)))
    return found


def is_core():
    """Whether the process is one of a core, which is over."""
    return re.search(r"^Local core dump file", gdb.execute("info files", to_string=True), re.M) is not None


def writable_ranges():
    """(start, end) of each writable part."""
    return _dumped() if is_core() else _mapped()


# ---- threads ----


def selected_thread():
    """The number of the thread that the user looks at."""
    return gdb.selected_thread().num


@contextlib.contextmanager
def _restored():
    """Leaves gdb as it was."""
    selected, level = gdb.selected_thread(), gdb.selected_frame().level()
    try:
        yield
    finally:
        selected.switch()
        gdb.execute(f"frame level {level}", to_string=True)


@contextlib.contextmanager
def _as_cplusplus():
    """Names of types as C++ has them. gdb takes the language of the selected frame, which may be C, in a C library."""
    language = gdb.parameter("language")
    gdb.execute("set language c++", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set language {language}", to_string=True)


def stack_pointers():
    """(thread, stack pointer) of each thread. Each has its number in `num`."""
    found = []
    with _restored():
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda each: each.num):
            thread.switch()
            found.append((thread, int(gdb.newest_frame().read_register("rsp"))))
    return found


@contextlib.contextmanager
def frames_of(thread):
    """The frames of a thread's stack, innermost first."""
    with _restored():
        thread.switch()
        yield _frames()


def _frames():
    frame, has_called = gdb.newest_frame(), False
    while frame is not None and frame.is_valid():
        yield Frame(frame, has_called)
        has_called = has_called or frame.type() != gdb.INLINE_FRAME
        try:
            frame = frame.older()
        except gdb.error:
            return


class Frame:
    """One function on a thread's stack."""

    def __init__(self, frame, has_called):
        self._frame = frame
        self.name = frame.name() or ""
        self.is_inlined = frame.type() == gdb.INLINE_FRAME
        self.address = frame.pc() - has_called  # that of the instruction at which it is, or of the call that it has made

    @property
    def library(self):
        """The path of the shared library whose function it is; None if it is the program's."""
        return gdb.solib_name(self._frame.pc())

    def register(self, name):
        """As the function has it, where it is known."""
        return int(self._frame.read_register(name)) & (2**64 - 1)

    def variables(self):
        """Its parameters and locals that are in memory."""
        try:
            block = self._frame.block()
        except RuntimeError:  # a function without debug information
            return
        while block is not None and not block.is_static and not block.is_global:
            for symbol in block:
                if symbol.is_variable and symbol.needs_frame:
                    try:
                        value = symbol.value(self._frame)
                        address = int(value.address) if value.address is not None else 0
                    except (gdb.error, RuntimeError):
                        continue
                    yield Variable(symbol.name, address, Type(value.type))
            if block.function is not None:
                return
            block = block.superblock


# ---- code ----


def code_sections():
    """(start, end, path of the shared library or None) of each."""
    for line in gdb.execute("info files", to_string=True).splitlines():
        match = re.match(r"\s*(0x[0-9a-f]+) - (0x[0-9a-f]+) is \.text(?: in (.*))?$", line)
        if match:
            yield int(match.group(1), 16), int(match.group(2), 16), match.group(3)


def symbol(address):
    """The symbol that has the address, demangled, or None."""
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    match = re.match(r"(.*?)(?: \+ (\d+))? in section (\S+)(?: of .*)?$", text.strip(), re.S)
    return Symbol(as_compiled(match[1]), int(match[2] or 0), match[3].startswith((".text", ".plt"))) if match else None


def functions_named(pattern):
    """(address, demangled symbol) of each function whose symbol has the pattern, in the program's file."""
    listing = gdb.execute("maint print msymbols", to_string=True)
    for address, mangled in re.findall(r"^\[ *\d+\] [tT] (0x[0-9a-f]+) (\S+)", listing, re.M):
        found = symbol(int(address, 16)) if re.search(pattern, mangled) else None
        if found is not None and not found.offset:
            yield int(address, 16), found.name


def build_id():
    """That of the program's file, or None."""
    files = gdb.objfiles()
    return files[0].build_id if files else None


def disassemble(begin, end=None):
    """The instructions from one address up to another, excluded; that at the address if there is no other."""
    flavor = gdb.parameter("disassembly-flavor")
    if flavor != "att":
        gdb.execute("set disassembly-flavor att", to_string=True)
    try:
        found = gdb.selected_inferior().architecture().disassemble(begin, begin if end is None else end - 1)
    finally:
        if flavor != "att":
            gdb.execute(f"set disassembly-flavor {flavor}", to_string=True)
    return [Instruction(each["addr"], each["length"], each["asm"]) for each in found]


class Block:
    """A function, one that is inlined, or a block of either. Its symbols are variables and labels."""

    def __init__(self, block):
        self._block = block
        self.start, self.end = block.start, block.end
        self.is_function = block.function is not None

    @property
    def file(self):
        """The path of the function's source."""
        function = self._block.function
        file = function.symtab
        if file.filename == "<artificial>":  # with g++'s link-time optimisation, it may be in a unit that has no file
            file = _file_at(int(function.value().address)) or file
        return file.fullname()

    @property
    def line(self):
        """That of the function; of an inlined one that of the call."""
        return self._block.function.line

    def names(self):
        """Those of its own symbols."""
        return {each.name for each in self._block}

    def types(self):
        """{name: Type} of the variables of a function."""
        return {each.name: Type(each.type) for each in self._block if each.is_variable or each.is_argument}

    def labels(self):
        """{name: line} of the labels of a function."""
        return {each.name: each.line for each in self._block if each.addr_class == gdb.SYMBOL_LOC_LABEL}

    def rows(self, begin):
        """(address, line) of each row of its source in the line table, from an address on, in order."""
        # Not the file of the function: with g++'s link-time optimisation that may have no line table, which crashes gdb 13.
        file = _file_at(begin)
        return sorted((row.pc, row.line) for row in file.linetable() if row.line and begin <= row.pc < self.end) if file else []


def blocks_at(address):
    """The blocks that contain the address, innermost first."""
    block = gdb.block_for_pc(address)
    while block is not None and not block.is_static and not block.is_global:
        yield Block(block)
        block = block.superblock


def _file_at(address):
    """Of the code there: its line table has the address. None if none does."""
    return gdb.find_pc_line(address).symtab


def line_at(address):
    """(file, line) of the line table, or None."""
    place = gdb.find_pc_line(address)
    return (place.symtab.fullname(), place.line) if place.symtab and place.line else None


def row_from(address):
    """The address, or that of the next row of the line table if none begins there.

    clang begins a block with a row of line 0 if it knows no line, and gdb adds what is there to the block in front."""
    place = gdb.find_pc_line(address)
    return address if place.last is None or place.pc == address else place.last + 1


# ---- types and values ----


class Type:
    """Of a variable, whatever it is called there."""

    def __init__(self, given):
        self.given = given
        self._type = given.strip_typedefs()
        self.is_class = self._type.code == gdb.TYPE_CODE_STRUCT
        self.is_reference = self._type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
        self.is_pointer = self._type.code == gdb.TYPE_CODE_PTR

    @property
    def name(self):
        """As the compiler has it."""
        return str(self._type)

    @property
    def size(self):
        """In bytes."""
        return self._type.sizeof

    @property
    def alignment(self):
        """In bytes."""
        return 8 if self.is_reference else self._type.alignof

    def target(self):
        """What a pointer or reference refers to."""
        return Type(self._type.target().strip_typedefs().unqualified())

    @functools.cached_property
    def fields(self):
        """The bases and members of a class, except static ones."""
        if not self.is_class:
            return []
        return [Field(field.name, field.bitpos // 8, Type(field.type), field.is_base_class)
                for field in self._type.fields() if hasattr(field, "bitpos")]


def find_type(name):
    """By its full name, or None."""
    try:
        return Type(gdb.lookup_type(name))
    except gdb.error:
        return None


def text_of(address, kind):
    """A variable as gdb prints it."""
    value = gdb.Value(address).cast(kind.given.pointer()).dereference()
    try:
        return value.format_string(max_elements=16, styling=False)
    except gdb.error as error:
        return f"<{error}>"


def evaluate(expression):
    """The number that an expression of the user's gives, or the first word of the object; raises Failure."""
    try:
        value = gdb.parse_and_eval(expression)
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT and value.address is not None:
            value = value.address.cast(gdb.lookup_type("unsigned long").pointer()).dereference()
        return int(value)
    except gdb.error as error:
        raise Failure(str(error)) from None


def address_of(name):
    """The address of a variable that all threads share, by its symbol, or None."""
    try:
        return int(gdb.parse_and_eval(f"(unsigned long)&'{name}'"))
    except gdb.error:
        return None


def addresses_in_threads(name):
    """(the address of a variable in each thread that has it, the number of threads where it is not found)."""
    found, missing = [], 0
    with _restored():
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            try:
                found.append(int(gdb.parse_and_eval(f"(unsigned long)&'{name}'")))
            except gdb.error:
                missing += 1
    return found, missing


LOADING_SYMBOLS = "`symbol-file` or `add-symbol-file`"
OFFER = "Afterwards `$object` points to what it waits for"


def offer(address, type_name):
    """Makes an object available to the user's expressions. Returns what is to be printed of that."""
    kind = find_type(type_name)
    if kind is not None:
        gdb.set_convenience_variable("object", gdb.Value(address).cast(kind.given.pointer()))
    return ""


# ---- commands and printers ----


def register(help_text, commands, printers):
    """Adds commands, as (name, function of the argument that returns a text), which document themselves, and printers, as
    (name, pattern of types, function of address and Type that returns a text)."""
    type("Prefix", (gdb.Command,), {"__doc__": help_text})("coracle", gdb.COMMAND_STACK, prefix=True)
    for name, function in commands:
        members = {"__doc__": function.__doc__, "invoke": functools.partialmethod(_invoke, function)}
        type(name, (gdb.Command,), members)(f"coracle {name}", gdb.COMMAND_STACK)
    collection = gdb.printing.RegexpCollectionPrettyPrinter("coracle")
    for name, pattern, function in printers:
        collection.add_printer(name, pattern, functools.partial(_Printer, function))
    gdb.printing.register_pretty_printer(None, collection, replace=True)
    _count_changes()


def _invoke(_command, function, argument, _from_tty):
    with _as_cplusplus():
        text = function(argument)
    gdb.write(text)


class _Printer:
    def __init__(self, function, value):
        self._function, self._value = function, value

    def to_string(self):
        """What gdb prints."""
        with _as_cplusplus():
            return self._function(int(self._value.address), Type(self._value.type))
