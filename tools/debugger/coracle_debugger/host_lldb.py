"""What the analysis needs of lldb. host_gdb.py defines the same names; no other module knows a debugger."""
import bisect
import collections
import contextlib
import functools
import itertools
import re

import lldb

from .records import Field, Instruction, Symbol, Variable, as_compiled

_LONGEST_INSTRUCTION = 15  # of x86-64
_MOST_ELEMENTS = 16  # of a value that is printed
_DEEPEST = 3  # member of a member
_MOST_ROWS_WITHOUT_LINE = 4  # in front of a place, where clang has made code that belongs to no line


class Unreadable(Exception):
    """There is no memory at an address."""


class Failure(Exception):
    """A command cannot do what it should; the text says why."""


Thread = collections.namedtuple("Thread", "num given")

# ---- the process ----


class _Session:
    debugger = None  # in which a command was typed, or a value printed


def _target():
    return _Session.debugger.GetSelectedTarget()


def _process():
    return _target().GetProcess()


def moment():
    """(that of the symbols, that of the process): while they stay equal, nothing has changed."""
    process = _process()
    return (process.GetUniqueID(), _target().GetNumModules()), process.GetStopID(True)


def has_process():
    """Whether there is a process to look at, live or in a core."""
    return _process().GetState() in (lldb.eStateStopped, lldb.eStateCrashed, lldb.eStateSuspended)


def is_core():
    """Whether the process is one of a core, which is over."""
    return _process().GetPluginName() == "elf-core"


def is_x86_64():
    """Whether the process runs on such a machine."""
    return _target().GetTriple().startswith("x86_64")


def read(address, size):
    """The bytes there; raises Unreadable."""
    if 0 <= address < 1 << 64:
        for memory, at in ((_process(), address), (_target(), _at(address))):  # a core lacks what is in the program's file
            found = memory.ReadMemory(at, size, lldb.SBError())  # the target sets an error although it has read the file
            if found is not None and len(found) == size:
                return found
    raise Unreadable(f"{address:#x}")


def writable_ranges():
    """(start, end) of each writable part."""
    regions, region = _process().GetMemoryRegions(), lldb.SBMemoryRegionInfo()
    for index in range(regions.GetSize()):
        if regions.GetMemoryRegionAtIndex(index, region) and region.IsWritable() and region.IsReadable():
            yield region.GetRegionBase(), region.GetRegionEnd()


# ---- threads ----


def selected_thread():
    """The number of the thread that the user looks at."""
    return _process().GetSelectedThread().GetIndexID()


def stack_pointers():
    """(thread, stack pointer) of each thread. Each has its number in `num`."""
    threads = sorted((Thread(each.GetIndexID(), each) for each in _process()), key=lambda each: each.num)
    return [(each, each.given.GetFrameAtIndex(0).GetSP()) for each in threads]


@contextlib.contextmanager
def frames_of(thread):
    """The frames of a thread's stack, innermost first."""
    yield _frames(thread.given)


def _frames(thread):
    index, frame, has_called = 0, thread.GetFrameAtIndex(0), False
    while frame.IsValid():
        yield Frame(frame, has_called)
        has_called = has_called or not frame.IsInlined()
        index += 1
        frame = thread.GetFrameAtIndex(index)


class Frame:
    """One function on a thread's stack."""

    def __init__(self, frame, has_called):
        self._frame = frame
        self.name = frame.GetFunctionName() or ""
        self.is_inlined = frame.IsInlined()
        self.address = frame.GetPC() - has_called  # that of the instruction at which it is, or of the call that it has made

    @property
    def library(self):
        """The path of the shared library whose function it is; None if it is the program's."""
        return _path_of_library(self._frame.GetModule())

    def register(self, name):
        """As the function has it, where it is known."""
        return self._frame.FindRegister(name).GetValueAsUnsigned()

    def variables(self):
        """Its parameters and locals that are in memory."""
        for value in self._frame.GetVariables(True, True, False, True):
            address = value.GetLoadAddress()
            if address != lldb.LLDB_INVALID_ADDRESS:
                yield Variable(value.GetName(), address, Type(value.GetType()))


# ---- code ----


def _at(address):
    return _target().ResolveLoadAddress(address)


def _load_address(address):
    return address.GetLoadAddress(_target())


def _path_of_library(module):
    path = module.GetFileSpec().fullpath
    return None if path == _target().GetExecutable().fullpath else path


def code_sections():
    """(start, end, path of the shared library or None) of each."""
    for module in _target().module_iter():
        section = module.FindSection(".text")
        start = section.GetLoadAddress(_target()) if section.IsValid() else lldb.LLDB_INVALID_ADDRESS
        if start != lldb.LLDB_INVALID_ADDRESS:
            yield start, start + section.GetByteSize(), _path_of_library(module)


def symbol(address):
    """The symbol that has the address, demangled, or None."""
    found = _at(address).GetSymbol()
    if not found.IsValid() or not found.GetName():
        return None
    is_code = found.GetType() in (lldb.eSymbolTypeCode, lldb.eSymbolTypeTrampoline, lldb.eSymbolTypeResolver)
    return Symbol(_with_clones(as_compiled(found.GetName())), address - _load_address(found.GetStartAddress()), is_code)


def _with_clones(name):
    """`f() [clone .actor] [clone .cold]` of `f() (.actor.cold)`, as gdb has it."""
    match = re.match(r"(.*) \(((?:\.\w+)+)\)$", name, re.S)
    return match[1] + "".join(f" [clone {each}]" for each in re.findall(r"\.[a-z_]\w*(?:\.\d+)*", match[2])) if match else name


def disassemble(begin, end=None):
    """The instructions from one address up to another, excluded; that at the address if there is no other."""
    content = read(begin, _LONGEST_INSTRUCTION if end is None else end - begin)  # ReadInstructions() reads no file of a core
    found = _target().GetInstructionsWithFlavor(_at(begin), "att", content)
    return [Instruction(_load_address(each.GetAddress()), each.GetByteSize(),
                        f"{each.GetMnemonic(_target())} {each.GetOperands(_target())}".replace(", ", ","))
            for each in itertools.islice(found, 1 if end is None else None)]


class Block:
    """A function, one that is inlined, or a block of either. Its symbols are variables and labels."""

    def __init__(self, block, address):
        self._block = block
        self._address = address
        self.is_function = block.IsInlined() or not block.GetParent().IsValid()
        self.start, self.end = _range_of(block, _load_address(address))

    @property
    def file(self):
        """The path of the function's source."""
        if self._block.IsInlined():
            return self._block.GetInlinedCallSiteFile().fullpath
        return self._address.GetFunction().GetStartAddress().GetLineEntry().GetFileSpec().fullpath

    @property
    def line(self):
        """That of the call of an inlined function."""
        return self._block.GetInlinedCallSiteLine() if self._block.IsInlined() else 0

    def names(self):
        """Those of its own symbols."""
        return {each.GetName() for each in _variables_of(self._block)}

    def types(self):
        """{name: Type} of the variables of a function: its own first."""
        found, pending = {}, [self._block]
        for block in pending:
            for each in _variables_of(block):
                found.setdefault(each.GetName(), Type(each.GetType()))
            pending += [inner for inner in _blocks_in(block) if not inner.IsInlined()]
        return found

    def labels(self):
        """{name: line} of the labels of a function: lldb reads none."""
        return {}

    def rows(self, begin):
        """(address, line) of each row of its source in the line table, from an address on, in order."""
        unit, file, found = self._address.GetCompileUnit(), self.file, []
        entries = range(unit.GetNumLineEntries())
        first = bisect.bisect_left(entries, _at(begin).GetFileAddress(),
                                   key=lambda index: unit.GetLineEntryAtIndex(index).GetStartAddress().GetFileAddress())
        for index in entries[first:]:
            entry = unit.GetLineEntryAtIndex(index)
            address = _load_address(entry.GetStartAddress())
            if address >= self.end:
                break
            if entry.GetLine() and entry.GetFileSpec().fullpath == file:
                found.append((address, entry.GetLine()))
        return sorted(found)


def _range_of(block, address):
    """(start, end) of the part that contains the address. lldb's own search expects the parts in order; g++'s are not."""
    for index in range(block.GetNumRanges()):
        start, end = _load_address(block.GetRangeStartAddress(index)), _load_address(block.GetRangeEndAddress(index))
        if start <= address < end:
            return start, end
    return address, address


def _variables_of(block):
    return block.GetVariables(_target(), True, True, True)


def _blocks_in(block):
    inner = block.GetFirstChild()
    while inner.IsValid():
        yield inner
        inner = inner.GetSibling()


def blocks_at(address):
    """The blocks that contain the address, innermost first."""
    at = _at(address)
    block = at.GetBlock()
    while block.IsValid():
        yield Block(block, at)
        block = block.GetParent()


def line_at(address):
    """(file, line) of the line table, or None."""
    entry = _at(row_from(address)).GetLineEntry()
    return (entry.GetFileSpec().fullpath, entry.GetLine()) if entry.IsValid() and entry.GetLine() else None


def row_from(address):
    """The address, or that of the next row of the line table that has a line."""
    for _ in range(_MOST_ROWS_WITHOUT_LINE):
        entry = _at(address).GetLineEntry()
        if not entry.IsValid() or entry.GetLine():
            break
        address = _load_address(entry.GetEndAddress())
    return address


# ---- types and values ----


class Type:
    """Of a variable, whatever it is called there."""

    def __init__(self, given):
        self.given = given
        self._type = given.GetCanonicalType()
        kind = self._type.GetTypeClass()
        self.is_class = kind in (lldb.eTypeClassStruct, lldb.eTypeClassClass)
        self.is_reference = kind == lldb.eTypeClassReference
        self.is_pointer = kind == lldb.eTypeClassPointer

    @property
    def name(self):
        """As the compiler has it."""
        return self._type.GetName()

    @property
    def size(self):
        """In bytes."""
        return self._type.GetByteSize()

    @property
    def alignment(self):
        """In bytes."""
        return 8 if self.is_reference else self._type.GetByteAlign()

    def target(self):
        """What a pointer or reference refers to."""
        target = self._type.GetDereferencedType() if self.is_reference else self._type.GetPointeeType()
        return Type(target.GetCanonicalType().GetUnqualifiedType())

    @functools.cached_property
    def fields(self):
        """The bases and members of a class, except static ones."""
        if not self.is_class:
            return []
        bases = [self._type.GetDirectBaseClassAtIndex(index) for index in range(self._type.GetNumberOfDirectBaseClasses())]
        members = [self._type.GetFieldAtIndex(index) for index in range(self._type.GetNumberOfFields())]
        found = [Field(each.GetType().GetName(), each.GetOffsetInBytes(), Type(each.GetType()), True) for each in bases]
        return found + [Field(each.GetName(), each.GetOffsetInBytes(), Type(each.GetType()), False) for each in members]


def find_type(name):
    """By its full name, or None."""
    for spelling in (name, re.sub(r">(?=>)", "> ", name)):  # as clang and as g++ writes it
        found = _target().FindFirstType(spelling)
        if found.IsValid():
            return Type(found)
    return None


def _value_at(name, address, kind):
    return _target().CreateValueFromAddress(name, lldb.SBAddress(address, _target()), kind.given)


def text_of(address, kind):
    """A variable as lldb prints it, in one line."""
    return _text(_value_at("variable", address, kind), _DEEPEST)


def _text(value, depth):
    if value.GetType().IsReferenceType():
        return f"@{value.GetValueAsUnsigned():#x}: {_text(value.Dereference(), depth)}"
    shown = " ".join(part.strip() for part in (value.GetValue(), value.GetSummary()) if part)
    is_container = value.IsSynthetic() and value.GetNumChildren() != 0
    if shown and not is_container:
        return shown
    if depth == 0:
        return shown or "{...}"
    members = [value.GetChildAtIndex(index) for index in range(min(value.GetNumChildren(), _MOST_ELEMENTS))]
    texts = [f"{each.GetName()} = {_text(each, depth - 1)}" for each in members]
    more = ["..."] if value.GetNumChildren() > _MOST_ELEMENTS else []
    return (shown + " " if shown else "") + "{" + ", ".join(texts + more) + "}"


def evaluate(expression):
    """The number that an expression of the user's gives, or the first word of the object; raises Failure."""
    options = lldb.SBExpressionOptions()
    options.SetLanguage(lldb.eLanguageTypeC_plus_plus)
    options.SetSuppressPersistentResult(True)
    value = _process().GetSelectedThread().GetSelectedFrame().EvaluateExpression(expression, options)
    if value.GetError().Fail():
        text = value.GetError().GetCString()
        match = re.search(r"^error: <user expression \d+>:[\d:]+ (.*)$", text, re.M)
        raise Failure(match[1] if match else text)
    if not Type(value.GetType()).is_class:
        return value.GetValueAsUnsigned()
    error = lldb.SBError()
    word = value.GetData().GetUnsignedInt64(error, 0)
    if error.Fail():
        raise Failure(f"{expression} is no object of a known size")
    return word


def address_of(name):
    """The address of a variable that all threads share, by its symbol, or None."""
    for found in _target().FindSymbols(name, lldb.eSymbolTypeData):
        address = _load_address(found.symbol.addr)
        if address != lldb.LLDB_INVALID_ADDRESS:
            return address
    return None


def addresses_in_threads(name):
    """(the address of a variable in each thread that has it, the number of threads where it is not found)."""
    values = [thread.GetFrameAtIndex(0).EvaluateExpression(f"&{name}") for thread in _process()]
    found = [value.GetValueAsUnsigned() for value in values if value.GetError().Success()]
    return found, len(values) - len(found)


LOADING_SYMBOLS = "`target symbols add`"
OFFER = "The last line names what it waits for, to print it again"


def offer(address, type_name):
    """Makes an object available to the user's expressions. Returns what is to be printed of that."""
    kind = find_type(type_name)
    if kind is None:
        return ""
    value = _value_at("object", address, kind).Persist()
    return f"  ({kind.name}) {value.GetName()} = {_text(value, _DEEPEST)}\n"


# ---- commands and printers ----


def register(help_text, commands, printers):
    """Adds commands, as (name, function of the argument that returns a text), which document themselves, and printers, as
    (name, pattern of types, function of address and Type that returns a text).

    lldb finds them by their names in this module, which is `coracle_lldb.host` to it."""
    run = _Session.debugger.HandleCommand
    run(f"command container add -o -h '{help_text}' coracle")
    for name, function in commands:
        globals()["command_" + name] = functools.partial(_Command, function)
        run(f"command script add -o -c coracle_lldb.host.command_{name} coracle {name}")
    for name, pattern, function in printers:
        globals()["summary_" + name] = functools.partial(_summary, function)
        run(f"type summary add -w coracle --skip-pointers -x '{pattern}' -F coracle_lldb.host.summary_{name}")
    run("type category enable coracle")


def use(debugger):
    """From now on, that is the one to look at."""
    _Session.debugger = debugger


class _Command:
    def __init__(self, function, _debugger, _names):
        self._function = function

    def __call__(self, debugger, argument, _context, result):
        use(debugger)
        try:
            result.PutCString(self._function(argument.strip()))
        except Failure as failure:
            result.SetError(str(failure))

    def get_short_help(self):
        """The first line."""
        return self._function.__doc__.partition("\n")[0]

    def get_long_help(self):
        """All of it."""
        return self._function.__doc__ + "\n"


def _summary(function, value, _names):
    use(value.GetTarget().GetDebugger())
    value = value.GetNonSyntheticValue()
    if value.GetType().IsReferenceType():
        value = value.Dereference()
    return function(value.GetLoadAddress(), Type(value.GetType()))
