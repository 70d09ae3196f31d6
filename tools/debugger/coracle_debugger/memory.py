"""The memory of the process, live or in a core: which parts are writable, and words in them."""
import bisect
import collections
import itertools
import re
import struct

from . import host

WORD = 8
_LONGEST_TEXT = 4096
_TRIES, _TRIES_IN_A_ROW, _LONGEST_STEP, _SHORTEST_RUN = 64, 16, 1024, 64
_LOWEST = 4096  # address of memory; what is less is another number
_PAGE, _PARTS = 4096, 128  # into how many parts a range is divided at most; one with more unreadable ones is of a device
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
                _keep_readable(start, end, iter(range(_PARTS)))
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


def _keep_readable(start, end, attempts):
    """Copies what is readable, by halves: a stack may begin with guard pages."""
    if next(attempts, None) is None or _keep_all(start, end):
        return
    middle = (start + end) // 2 & ~(_PAGE - 1)
    if start < middle:
        _keep_readable(start, middle, attempts)
        _keep_readable(middle, end, attempts)


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
    if address < _LOWEST:
        return None
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


def words(addresses, offset=0):
    """What word() returns at that offset from each address. Most are near one another."""
    if addresses:
        word(max(addresses) + offset)  # the heap lies above most
    start, end, near = _begin - offset, _end - offset, _words
    return [near[(each - start) >> 3] if start <= each < end and not each & (WORD - 1) else word(each + offset) for each in addresses]


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


def pointers_into(code, stacks, matters):
    """(start, words, {value: places}) of copies: of the words in use that point into the code, to what matters.

    The places are a list or a range, in order."""
    for copy in _copies:
        used = stacks.cut_unused(copy.start, copy.end)[0] - copy.start
        for low, high in code:
            marks = _marks(copy, low, high)
            if not used:
                yield from ((copy.start, copy.words, {value: places})
                            for value, places in _take_runs(copy, marks) if low <= value < high and matters(value))
            places = _marked(marks)
            if used:
                places = places[bisect.bisect_left(places, used // WORD) :]
            values = at(copy.words, places)
            places_of = {value: [] for value in set(values) if low <= value < high and matters(value)}
            _do(map(list.append, map(places_of.get, values, itertools.repeat([])), places))
            yield copy.start, copy.words, places_of


def _take_runs(copy, marks):
    """(word, range of its places) of marked words that repeat at equal distances. Removes their marks.

    So lie the frames of tasks that were created one after the other, and no list of a million places is needed. Runs are looked
    for in a thousand places."""
    for begin in range(0, len(marks), len(marks) // _TRIES + 1):
        place = begin
        for _ in range(_TRIES_IN_A_ROW):
            place = marks.find(1, place, begin + _LONGEST_STEP)
            if place < 0:
                break
            run = _run_around(copy, place)
            if len(run) >= _SHORTEST_RUN and all(marks[run.start : run.stop : run.step]):
                yield copy.words[place], run
                marks[run.start : run.stop : run.step] = bytes(len(run))
            place += 1


def _run_around(copy, place):
    """The range of places at equal distances that have the same word as this one."""
    begin, word = place * WORD, copy.content[place * WORD : place * WORD + WORD]
    step = (copy.content.find(word, begin + WORD, begin + _LONGEST_STEP * WORD) - begin) // WORD
    if step <= 0:
        return range(place, place + 1)
    behind = _equal(copy.words[place::step], word)
    before = _equal(copy.words[place::-step], word)
    return range(place - (before - 1) * step, place + behind * step, step)


def _equal(words_of_copy, word):
    """How many of the words equal this one, before the first that does not."""
    count, size = 0, 1
    while size:
        part = words_of_copy[count : count + size]
        is_equal = part.tobytes() == word * size
        count += size * is_equal
        size = size * 2 if is_equal and count == 2 * size - 1 else size // 2
    return count


def pointers_between(low, high):
    """(address, word) of each word in memory that points there."""
    for copy in _copies:
        places = _marked(_marks(copy, low, high))
        for place, value in zip(places, at(copy.words, places)):
            if low <= value < high:
                yield copy.start + place * WORD, value


def _marks(copy, low, high):
    """A byte for each word, 1 if it may point there. It depends on one byte of the word."""
    first, last = low.to_bytes(WORD, "little"), (high - 1).to_bytes(WORD, "little")
    differs = next((at for at in reversed(range(WORD)) if first[at] != last[at]), 0)  # behind it all are the same
    is_candidate = bytes(first[differs] <= byte <= last[differs] for byte in range(256))
    return bytearray(copy.content[differs::WORD].translate(is_candidate))


def at(words_of_copy, places):
    """The words at the places."""
    if isinstance(places, range):
        return words_of_copy[places.start : places.stop : places.step].tolist()
    return [words_of_copy[place] for place in places]


def moved(places, distance):
    """The places that are this many words further on."""
    if isinstance(places, range):
        return range(places.start + distance, places.stop + distance, places.step)
    return [place + distance for place in places]


def addresses(start, places):
    """Those of words of a copy that begins there."""
    if isinstance(places, range):
        return list(range(start + places.start * WORD, start + places.stop * WORD, places.step * WORD))
    return [start + place * WORD for place in places]


def _do(calls):
    """Goes through an iterator in C. There may be millions of calls."""
    collections.deque(calls, maxlen=0)


def _marked(marks):
    """Where the bytes are 1, and not 0."""
    return [match.start() for match in re.finditer(b"\1", marks)]
