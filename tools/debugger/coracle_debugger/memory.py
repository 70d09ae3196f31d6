"""The memory of the process, live or in a core: which parts are writable, and words in them."""
import bisect
import collections
import itertools
import operator
import re
import struct

from . import host

WORD = 8
_LONGEST_TEXT = 4096
SYSTEM_LIBRARIES = re.compile(r"^system-supplied DSO|/(ld-linux|libc[.-]|libm[.-]|libstdc\+\+|libgcc_s|libpthread|libc\+\+|libdl|librt)")


class _Copy:
    """Of a range of writable memory, while the process is stopped: a debugger takes long for each word."""

    def __init__(self, start, content):
        self.start, self.end = start, start + len(content)
        self.content = content
        self.words = memoryview(content).cast("Q")


_copies = []
_starts = []
# The range and the words of the copy that was read from most recently: neighbours are read together.
_begin, _end, _words = 0, 0, ()


def keep(ranges, stacks):
    """Copies the ranges, which are in order. What is read from there later comes from the copies."""
    global _begin, _end, _words  # pylint: disable=global-statement
    _copies.clear()
    _begin, _end, _words = 0, 0, ()
    for neighbours in _joined(ranges, stacks):
        if not _keep_all(neighbours[0][0], neighbours[-1][1]):
            for start, end in neighbours:
                _keep_all(start, end)
    _starts[:] = [copy.start for copy in _copies]


def _joined(ranges, stacks):
    """Lists of ranges that touch, as an object may lie in two of them. A stack stays alone."""
    found = []
    for start, end in ranges:
        if found and found[-1][-1][1] == start and not {start, found[-1][-1][0]} & stacks.begins:
            found[-1].append((start, end))
        else:
            found.append([(start, end)])
    return found


def _keep_all(start, end):
    """Returns whether all of the range is readable."""
    try:
        _copies.append(_Copy(start, host.read(start, (end - start) & ~(WORD - 1))))
        return True
    except host.Unreadable:
        return False


def word(address):
    """The word there, or None if there is no memory."""
    global _begin, _end, _words  # pylint: disable=global-statement
    if not address & (WORD - 1):
        if not _begin <= address < _end and _starts and address >= _starts[0]:
            copy = _copies[bisect.bisect_right(_starts, address) - 1]
            _begin, _end, _words = copy.start, copy.end, copy.words
        if _begin <= address < _end:
            return _words[(address - _begin) >> 3]
    try:
        return struct.unpack("<Q", host.read(address, WORD))[0]
    except (host.Unreadable, OverflowError):
        return None


def number(address, size):
    """An unsigned integer of that many bytes, or None."""
    first = address & ~(WORD - 1)
    if address + size <= first + WORD:
        found = word(first)
        return None if found is None else found >> 8 * (address - first) & ((1 << 8 * size) - 1)
    try:
        return int.from_bytes(host.read(address, size), "little")
    except host.Unreadable:
        return None


def text(address):
    """The C string there, or None."""
    found = b""
    while b"\0" not in found and len(found) < _LONGEST_TEXT:
        try:
            found += host.read(address + len(found), 64 - (address + len(found)) % 64)
        except host.Unreadable:
            return None
    return found.partition(b"\0")[0].decode(errors="replace")


def code_ranges():
    """Where functions of the program are, and of the libraries that are not the system's."""
    return [(start, end) for start, end, library in host.code_sections() if not (library and SYSTEM_LIBRARIES.search(library))]


class Stacks:
    """The threads' stacks: what lies on one is part of what runs there."""

    def __init__(self, ranges):
        self.used = []  # (stack pointer, end, thread)
        self.begins = set()  # those of their ranges
        self._unused = []  # (begin, stack pointer)
        for thread, pointer in host.stack_pointers():
            for start, end in ranges:
                if start <= pointer < end:
                    self.used.append((pointer, end, thread))
                    self._unused.append((start, pointer))
                    self.begins.add(start)
        self.used.sort(key=lambda each: each[0])
        self.lowest = self.used[0][0] if self.used else 0
        self.highest = self.used[-1][1] if self.used else 0

    def thread_of(self, address):
        """The thread on whose stack the address is, or None."""
        if self.lowest <= address < self.highest:
            for pointer, end, thread in self.used:
                if pointer <= address < end:
                    return thread
        return None

    def is_unused(self, address):
        """Whether the address is on a stack, but below its stack pointer."""
        return any(begin <= address < pointer for begin, pointer in self._unused)

    def cut_unused(self, start, end):
        """The part of a range that is not below a stack pointer."""
        for pointer, _, _ in self.used:
            if start <= pointer < end:
                return pointer & ~(WORD - 1), end
        return start, end


def pointers_into(code, stacks):
    """(start, words, {value: places}) of each copy: of the words that point into the code, and are in use."""
    for copy in _copies:
        used = stacks.cut_unused(copy.start, copy.end)[0] - copy.start
        for low, high in code:
            places, values = _candidates(copy, low, high)
            if used:
                first = bisect.bisect_left(places, used // WORD)
                places, values = places[first:], values[first:]
            places_of = {value: [] for value in set(values)}
            _do(map(list.append, map(places_of.__getitem__, values), places))
            yield copy.start, copy.words, {value: places for value, places in places_of.items() if low <= value < high}


def pointers_between(low, high):
    """(address, word) of each word in memory that points there."""
    for copy in _copies:
        for place, value in zip(*_candidates(copy, low, high)):
            if low <= value < high:
                yield copy.start + place * WORD, value


def _candidates(copy, low, high):
    """The places, in order, of words that may point there, by one byte of each, and the words."""
    first, last = low.to_bytes(WORD, "little"), (high - 1).to_bytes(WORD, "little")
    differs = next((at for at in reversed(range(WORD)) if first[at] != last[at]), 0)  # behind it all are the same
    is_candidate = bytes(first[differs] <= byte <= last[differs] for byte in range(256))
    places = list(_marked(copy.content[differs::WORD].translate(is_candidate)))
    return places, at(copy.words, places)


def at(words_of_copy, places):
    """The words at the places."""
    return [words_of_copy[place] for place in places]


def _do(calls):
    """Goes through an iterator in C. There may be millions of calls."""
    collections.deque(calls, maxlen=0)


def _marked(marks):
    """Where the bytes are 1, and not 0. What lies between them is counted in C, however few or many they are."""
    lengths = map(len, marks.split(b"\1")[:-1])
    return map(operator.add, itertools.accumulate(lengths), itertools.count())
