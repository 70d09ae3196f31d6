"""The memory of coroutines' frames by the sizes to which it is rounded up: what is in use, and what the recycler keeps.

It counts nothing itself: the free frames are read off its lists."""
import collections
import json

from . import functions, host, memory, report

# As in core/detail/frame_sizes.hpp, frame_link.hpp and frame_cache.hpp. tests/debugger fails if they change.
_SMALL, _STEPS = 65, 8
_CLASSES = _SMALL + 8 * _STEPS
_LISTS = _CLASSES + _SMALL
_BUDGET = 256 * 1024  # bytes, in the first list of a small class
_LINE = 64  # bytes that a frame with cache lines of its own takes in addition
_ROOM, _TAGS = 0xffff, 7
_RECYCLER = "coracle::detail::links_of_one_word::"

Row = collections.namedtuple("Row", "size live free_in_threads free_for_all")
Row.__doc__ = """How many frames of a size are in use, free in the lists of threads, and free for whichever thread needs them."""


def class_of(size):
    """The class of a frame of that many bytes; None if the heap alone keeps such frames."""
    if (size + 7) // 16 < _SMALL:
        return (size + 7) // 16
    shift = (size - 9).bit_length() - 4
    found = _SMALL + (shift - 7) * _STEPS + ((size - 9) >> shift) - _STEPS
    return found if found < _CLASSES else None


def size_of(index):
    """The bytes of each frame of a class, or of a list."""
    if index >= _CLASSES:
        return size_of(index - _CLASSES)
    if index < _SMALL:
        return max(index, 1) * 16 + 8
    octave, step = divmod(index - _SMALL, _STEPS)
    return ((_STEPS + 1 + step) << (7 + octave)) + 8


def _size_by_block(frame):
    """Of a frame without debug information, as the heap has it."""
    begin, end = functions.block_with(frame)
    return end - begin - (_LINE if begin != frame else 0)


def _live(snapshot):
    """How many frames of each size there are."""
    found = collections.Counter()
    for function, count in collections.Counter(point.function for point in snapshot.coroutines.points).items():
        if function.size:
            found[function.size] += count
    frames = [address for address, point in zip(snapshot.coroutines.addresses, snapshot.coroutines.points) if not point.function.size]
    in_front = memory.words(frames, -memory.WORD)  # where that is equal, the heap's blocks are of the same size
    sizes = {word: _size_by_block(frame) for word, frame in dict(zip(in_front, frames)).items()}
    found.update(map(sizes.__getitem__, in_front))
    rounded = collections.Counter()
    for size, count in found.items():
        index = class_of(size)
        rounded[size if index is None else size_of(index)] += count
    return rounded


def _free_in_thread(lists):
    """How many free frames of each size a thread keeps; its lists are at that address."""
    found = collections.Counter()
    for index in range(_LISTS):
        word = memory.word(lists + index * memory.WORD) or 0
        if word > _ROOM:
            found[size_of(index)] += _BUDGET // size_of(index) - (word & _ROOM) if index < _SMALL else word & _ROOM
    return found


def _free_for_all(depot):
    """The same of what any thread may take."""
    found = collections.Counter()
    for index in range(_SMALL, _LISTS):
        first = (memory.word(depot + (index - _SMALL) * memory.WORD) or 0) & ~_TAGS
        if first:
            found[size_of(index)] += ((memory.word(first) or 0) & _ROOM) + 1
    return found


def read(snapshot):
    """(a Row for each size, by size; the number of threads whose lists cannot be read)."""
    live, in_threads, for_all = _live(snapshot), collections.Counter(), collections.Counter()
    threads, missing = host.addresses_in_threads(_RECYCLER + "frames_of_this_thread")
    for lists in threads:
        in_threads += _free_in_thread(lists)
    if depot := host.address_of(_RECYCLER + "frames_for_others"):
        for_all = _free_for_all(depot)
    return [Row(size, live[size], in_threads[size], for_all[size]) for size in sorted(live | in_threads | for_all)], missing


def text_of(snapshot):
    """`coracle memory`."""
    rows, missing = read(snapshot)
    unknown = f"the free frames of {missing} thread{'s' if missing != 1 else ''} are not known\n" if missing else ""
    if not rows:
        return report.NONE_IS_THERE + unknown if missing else "no frame is in use, and none is kept\n"
    columns = ("size", "live", "bytes", "free in threads", "bytes", "free for any", "bytes")
    lines = [columns]
    counts = [(row.size, row[1:]) for row in rows]
    for size, of_size in counts:
        lines.append((f"{size:,}", *(f"{each:,}" for count in of_size for each in (count, count * size))))
    sums = [(sum(of_size[at] for _, of_size in counts), sum(of_size[at] * size for size, of_size in counts)) for at in range(3)]
    lines.append(("all", *(f"{each:,}" for pair in sums for each in pair)))
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    text = "".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) + "\n" for line in lines)
    return text + unknown


def json_of(snapshot):
    """The same for programs."""
    rows, missing = read(snapshot)
    found = {"schema": 1, "threads_not_read": missing, "sizes": [row._asdict() for row in rows]}
    return json.dumps(found) + "\n"
