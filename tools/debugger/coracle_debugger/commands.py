"""The commands: coracle bt, tasks, why, deadlocks, frame, json. Each takes its argument and returns a text."""
import gc

from . import as_json, continuation, frame_memory, host, names, printers, process, program_lines, report, waits


class _State:
    snapshot = None
    moment = (None, None)  # of the debugger, when the snapshot was taken
    listed = []  # the coroutines of the last listing, by number


def snapshot():
    """That of the process as it stands."""
    if not host.has_process():
        raise host.Failure("no process: run the program, or load a core")
    moment = host.moment()
    if moment[0] != _State.moment[0]:
        names.forget()
        continuation.forget()
    if moment != _State.moment:
        _State.snapshot = None
        gc.unfreeze()
    if _State.snapshot is None:
        gc.disable()  # it would look at each coroutine many times, and all of them stay
        try:
            _State.snapshot = process.Process()
            _State.snapshot.graph = waits.Graph(_State.snapshot)
            _State.moment = moment
            gc.freeze()
        finally:
            gc.enable()
    return _State.snapshot


def _with_symbols():
    """That snapshot, for the commands."""
    taken = snapshot()
    if not taken.functions:
        raise host.Failure("no coroutine was found. If the program has some, its symbols are missing: load them with "
                           f"{host.LOADING_SYMBOLS}")
    return taken


def _named(argument):
    """The coroutine that `argument` says: its number in the last listing, or an expression that gives its frame."""
    taken = _with_symbols()
    number = argument.lstrip("#")
    if number.isdigit() and int(number) < len(_State.listed):
        return _State.listed[int(number)]
    if number.isdigit() and int(number) < 4096:
        raise host.Failure(f"the last listing has no #{number}")
    address = host.evaluate(argument)  # the first word of a std::coroutine_handle, or of a task, is the frame's address
    found = taken.coroutines.get(address) or taken.owner_of(address)
    if found is None:
        raise host.Failure(f"{address:#x} is no frame of a coroutine that is suspended or runs")
    return found


def _show(text, listed):
    if listed:
        _State.listed = listed
    return text


def _backtrace(argument):
    """The stack of awaits, innermost first.

coracle bt          of the coroutine that runs on this thread, or of those for which this thread waits
coracle bt N        of #N of the last listing
coracle bt FRAME    of a frame's address, or of a std::coroutine_handle"""
    taken = _with_symbols()
    if argument:
        return _show(*report.backtraces(taken, [_named(argument)]))
    if not taken.coroutines:
        return report.NONE_IS_THERE
    thread = host.selected_thread()
    running = [each for each in map(taken.coroutines.of_row, taken.coroutines.running) if each.thread.num == thread]
    innermost = [each for each in running if not any(other.parent is each for other in running)]
    if innermost:
        return _show(*report.backtraces(taken, innermost))
    waiting = [root for root in taken.coroutines.roots()
               if root.via and getattr(taken.stacks.thread_of(root.via.address), "num", None) == thread]
    leaves = [leaf for root in waiting for leaf in waits.below(root) if not leaf.children]
    if not leaves:
        return f"no coroutine runs on thread {thread}, and it waits for none: `coracle tasks` lists them all\n"
    text = f"no coroutine runs on thread {thread}; it waits for\n" + _show(*report.backtraces(taken, leaves[:8]))
    return text + (f"({len(leaves) - 8} more: `coracle tasks`)\n" if len(leaves) > 8 else "")


def _tasks(argument):
    """Every coroutine, as trees: below each those that it awaits.

coracle tasks        trees that look the same once, and at most a hundred lines
coracle tasks all    everything"""
    return _show(*report.tasks(_with_symbols(), argument == "all"))


def _why(argument):
    """What coroutines wait for, who holds that, who else waits, and deadlocks.

coracle why          every object that is waited for; at most fifty
coracle why all      the same, without a limit
coracle why N        of #N of the last listing. {offer}
coracle why FRAME    of a frame's address, or of a std::coroutine_handle"""
    if argument in ("", "all"):
        return report.wait_graph(_with_symbols(), argument == "all")
    coroutine = _named(argument)
    text = report.why(_with_symbols(), coroutine)
    for wait in coroutine.waits[:1]:
        if wait.object:
            text += host.offer(wait.object, wait.operation.type_name.rsplit("::", 1)[0])
    return text


def _frame(argument):
    """The parameters and locals that a frame keeps.

coracle frame N        of #N of the last listing
coracle frame FRAME    of a frame's address, or of a std::coroutine_handle"""
    if not argument:
        raise host.Failure("coracle frame takes the number of a coroutine in the last listing, or its frame")
    coroutine = _named(argument)
    text = f"{coroutine.function.name}{report.at_place(coroutine)}, frame {coroutine.address:#x}\n"
    if not coroutine.function.has_types:
        return text + "  it was compiled without debug information, so its variables have no names\n"
    variables = coroutine.function.variables()
    for name, field in variables:
        text += f"  {name} = {host.text_of(coroutine.address + field.offset, field.type)}\n"
    return text if variables else text + "  its debug information names no parameter and no local in the frame\n"


def _deadlocks(_argument):
    """Circles of coroutines that wait for locks of one another, and waits that nothing can end."""
    return report.all_deadlocks(_with_symbols())


def _json(_argument):
    """Every coroutine, what it waits for, and deadlocks, for programs: docs/debugging.md has the schema."""
    return as_json.text_of(_with_symbols())


def _lines(_argument):
    """The lines of suspension points, from the program's file alone, for an inspector (docs/debugging.md)."""
    return program_lines.text_of()


def _memory(argument):
    """The memory of frames by size: frames in use, and free ones that each thread keeps or that any may take.

coracle memory         a table
coracle memory json    the same for programs: docs/debugging.md has the keys"""
    return (frame_memory.json_of if argument == "json" else frame_memory.text_of)(_with_symbols())


def register():
    """Adds the commands and the printers to the debugger."""
    _why.__doc__ = _why.__doc__.format(offer=host.OFFER)
    named = [("bt", _backtrace), ("tasks", _tasks), ("why", _why), ("deadlocks", _deadlocks), ("frame", _frame),
             ("memory", _memory), ("json", _json), ("lines", _lines)]
    host.register("Look at coroutines: who awaits whom, and what they wait for.", named, printers.of(snapshot))
