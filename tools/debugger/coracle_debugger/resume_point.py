"""Where a resume function would go on: follows its first instructions, up to the jump that depends on the state.

The state of a frame is a number, and only the code says which place belongs to it. Nothing is executed in the process.
x86-64 only; elsewhere, and where an instruction is unknown, the place stays unknown.
"""
import re

from . import host, memory

_WIDE = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"] + [f"r{n}" for n in range(8, 16)]
_REGISTERS = {name: (name, 8) for name in _WIDE}
for _name in _WIDE[:8]:
    _short = _name[1:]
    _REGISTERS["e" + _short] = (_name, 4)
    _REGISTERS[_short] = (_name, 2)
    _REGISTERS[_short[0] + "l" if _short.endswith("x") else _short + "l"] = (_name, 1)
for _name in _WIDE[8:]:
    for _suffix, _size in (("d", 4), ("w", 2), ("b", 1), ("l", 1)):
        _REGISTERS[_name + _suffix] = (_name, _size)

_SIZES = {"b": 1, "w": 2, "l": 4, "q": 8}
_STACK = 0x7000_0000_0000_0000
_MOST_STEPS = 200
_MOST_STEPS_BEHIND = 12  # a dispatch in several steps has no more between two of them


class Unknown(Exception):
    """An instruction that no dispatch has."""


def _signed(value, size):
    return value - (1 << 8 * size) if value >> (8 * size - 1) & 1 else value


class _Machine:
    """Registers and the stack; each value with whether it depends on the state."""

    def __init__(self, function, frame, state_at, state_size, state):
        self.pc = function
        self.registers = {name: (0, False) for name in _WIDE}
        self.registers["rdi"] = (frame, False)
        self.registers["rsp"] = (_STACK, False)
        self.stack = {}
        self.state_range = frame + state_at, frame + state_at + state_size
        self.state = state
        self.flags = None
        self.next = 0

    def address(self, text):
        match = re.fullmatch(r"(-?0x[0-9a-f]+|-?\d+)?\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)", text)
        if not match:
            raise Unknown(text)
        offset, base, index, scale = match.groups()
        total, tainted = int(offset or "0", 0), False
        if base == "%rip":
            total += self.next
        elif base:
            value, tainted = self.registers[base[1:]]
            total += value
        if index:
            value, depends = self.registers[index[1:]]
            total += value * int(scale or "1")
            tainted = tainted or depends
        return total & (2**64 - 1), tainted

    def get(self, text, size):
        if text.startswith("$"):
            return int(text[1:], 0) & ((1 << 8 * size) - 1), False
        if text.startswith("%"):
            if text[1:] not in _REGISTERS:
                raise Unknown(text)
            name, width = _REGISTERS[text[1:]]
            value, tainted = self.registers[name]
            return value & ((1 << 8 * min(size, width)) - 1), tainted
        address, tainted = self.address(text)
        if address in self.stack:
            value, depends = self.stack[address]
            return value & ((1 << 8 * size) - 1), depends
        if self.state_range[0] <= address < self.state_range[1]:
            return self.state >> 8 * (address - self.state_range[0]) & ((1 << 8 * size) - 1), True
        value = memory.number(address, size)
        if value is None:
            raise Unknown(text)
        return value, tainted

    def put(self, text, size, value, tainted):
        """Returns false for what is not a register or on the stack."""
        value &= (1 << 8 * size) - 1
        if text.startswith("%"):
            name, width = _REGISTERS[text[1:]]
            if width < 4:
                old = self.registers[name][0]
                value |= old & ~((1 << 8 * width) - 1)
            self.registers[name] = (value, tainted)
            return True
        address, _ = self.address(text)
        self.stack[address] = (value, tainted)
        return address > _STACK // 2

    def holds(self, condition):
        """Whether a conditional jump is taken, and whether that depends on the state."""
        if self.flags is None:
            raise Unknown(condition)
        kind, a, b, size, tainted = self.flags
        if kind == "bt":
            carry = a >> (b % (8 * size)) & 1
            result = {"b": carry, "c": carry, "ae": not carry, "nc": not carry}.get(condition)
        else:
            x, y = (a, b) if kind == "cmp" else (a & b, 0)
            sx, sy = _signed(x, size), _signed(y, size)
            result = {"e": x == y, "ne": x != y, "a": x > y, "ae": x >= y, "b": x < y, "be": x <= y, "g": sx > sy,
                      "ge": sx >= sy, "l": sx < sy, "le": sx <= sy, "s": sx < sy, "ns": sx >= sy}.get(condition)
        if result is None:
            raise Unknown(condition)
        return bool(result), tainted


def _split(operands):
    return re.findall(r"(?:[^,(]|\([^)]*\))+", operands)


def _size_of(name, operands, stem):
    for operand in reversed(operands):
        if operand.startswith("%") and operand[1:] in _REGISTERS:
            return _REGISTERS[operand[1:]][1]
    return _SIZES.get(name[len(stem):], 8)


_ARITHMETIC = {"sub": lambda a, b: a - b, "add": lambda a, b: a + b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
               "xor": lambda a, b: a ^ b, "shl": lambda a, b: a << (b & 63), "shr": lambda a, b: a >> (b & 63),
               "sal": lambda a, b: a << (b & 63)}


def _step(machine, name, operands):
    """Executes an instruction that is no jump. Returns false if it ends the dispatch."""
    if name in ("nop", "nopw", "nopl", "endbr64", "cs", "data16", "xchg"):
        return True
    if name in ("push", "pushq"):
        pointer = machine.registers["rsp"][0] - 8
        machine.registers["rsp"] = (pointer, False)
        machine.stack[pointer] = machine.get(operands[0], 8)
        return True
    if name in ("cltq", "cwtl"):
        size = 4 if name == "cltq" else 2
        value, tainted = machine.get("%eax" if size == 4 else "%ax", size)
        machine.put("%rax" if size == 4 else "%eax", size * 2, _signed(value, size), tainted)
        return True
    match = re.fullmatch(r"mov([sz])([bwl])([wlq])", name)
    if match or name in ("movslq", "movabs", "movabsq"):
        if name.startswith("movabs"):
            return machine.put(operands[1], 8, *machine.get(operands[0], 8))
        size = _SIZES[match.group(2)]
        value, tainted = machine.get(operands[0], size)
        if match.group(1) == "s":
            value = _signed(value, size)
        return machine.put(operands[1], _SIZES[match.group(3)], value, tainted)
    if re.fullmatch(r"mov[bwlq]?", name):
        size = _size_of(name, operands, "mov")
        return machine.put(operands[1], size, *machine.get(operands[0], size))
    if re.fullmatch("lea[wlq]?", name):
        return machine.put(operands[1], _size_of(name, operands, "lea"), *machine.address(operands[0]))
    for kind in ("cmp", "test", "bt"):
        if re.fullmatch(kind + "[bwlq]?", name):
            size = _size_of(name, operands, kind)
            b, b_tainted = machine.get(operands[0], size)
            a, a_tainted = machine.get(operands[1], size)
            machine.flags = (kind, a, b, size, a_tainted or b_tainted)
            return True
    for stem, function in _ARITHMETIC.items():
        if re.fullmatch(stem + "[bwlq]?", name):
            if len(operands) == 1:
                operands = ["$1", operands[0]]
            size = _size_of(name, operands[1:], stem)
            b, b_tainted = machine.get(operands[0], size)
            a, a_tainted = machine.get(operands[1], size)
            tainted = a_tainted or b_tainted
            if stem == "xor" and operands[0] == operands[1]:
                tainted = False
            result = function(a, b)
            if stem == "sub":
                machine.flags = ("cmp", a, b, size, tainted)
            else:
                machine.flags = ("test", result & ((1 << 8 * size) - 1), (1 << 8 * size) - 1, size, tainted)
            return machine.put(operands[1], size, result, tainted)
    raise Unknown(name)


def find(function, frame, state_at, state_size, state):
    """The address at which `function` would continue the frame in that state, or None."""
    return _follow(_Machine(function, frame, state_at, state_size, state)) if host.is_x86_64() else None


def _follow(machine):
    """The target of the last jump that depends on the state."""
    found, behind = None, 0
    for _ in range(_MOST_STEPS):
        if found is not None:
            behind += 1
            if behind > _MOST_STEPS_BEHIND:
                break
        try:
            instruction = host.disassemble(machine.pc)[0]
            machine.next = machine.pc + instruction.size
            words = re.sub(r"\s*[#<].*", "", instruction.text).split(None, 1)
            while words and words[0] in ("notrack", "bnd", "repz", "cs") and len(words) > 1:
                words = words[1].split(None, 1)
            name, operands = words[0], _split(words[1].replace(" ", "")) if len(words) > 1 else []
            if name in ("jmp", "jmpq"):
                target, tainted = operands[0], False
                if target.startswith("*"):
                    target, tainted = machine.get(target[1:], 8)
                else:
                    target = int(target, 0)
                machine.pc = target
                if tainted or behind == 1:  # a jump to the place itself belongs to the dispatch
                    found, behind = target, 0
            elif name.startswith("j"):
                taken, tainted = machine.holds(name[1:])
                machine.pc = int(operands[0], 0) if taken else machine.next
                if tainted:
                    found, behind = machine.pc, 0
            elif not _step(machine, name, operands):
                break
            else:
                machine.pc = machine.next
        except (Unknown, host.Unreadable, KeyError, ValueError, IndexError):
            break
    return found
