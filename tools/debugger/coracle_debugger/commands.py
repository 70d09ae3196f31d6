"""gdb's commands: coracle bt, tasks, why, deadlocks, frame, json."""
import gc

import gdb

from . import as_json, names, process, report, waits


class _State:
    snapshot = None
    listed = []  # the coroutines of the last listing, by number


def _forget(_event=None):
    _State.snapshot = None
    gc.unfreeze()


def snapshot():
    """That of the process as it stands."""
    if gdb.selected_inferior().pid == 0 or gdb.selected_thread() is None:
        raise gdb.GdbError("no process: run the program, or load a core")
    if _State.snapshot is None:
        gc.disable()  # it would look at each coroutine many times, and all of them stay
        try:
            _State.snapshot = process.Process()
            _State.snapshot.graph = waits.Graph(_State.snapshot)
            gc.freeze()
        finally:
            gc.enable()
    return _State.snapshot


def _named(argument):
    """The coroutine that `argument` says: its number in the last listing, or an expression that gives its frame."""
    taken = snapshot()
    number = argument.lstrip("#")
    if number.isdigit() and int(number) < len(_State.listed):
        return _State.listed[int(number)]
    if number.isdigit() and int(number) < 4096:
        raise gdb.GdbError(f"the last listing has no #{number}")
    try:
        value = gdb.parse_and_eval(argument)
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:  # a std::coroutine_handle, or a task
        address = process.memory.word(int(value.address))
    else:
        address = int(value)
    found = taken.coroutines.get(address) or taken.owner_of(address)
    if found is None:
        raise gdb.GdbError(f"{address:#x} is no frame of a coroutine that is suspended or runs")
    return found


def _show(text, listed):
    if listed:
        _State.listed = listed
    gdb.write(text)


class Prefix(gdb.Command):
    """Look at coroutines: who awaits whom, and what they wait for."""

    def __init__(self):
        super().__init__("coracle", gdb.COMMAND_STACK, prefix=True)


class Backtrace(gdb.Command):
    """The stack of awaits, innermost first.

coracle bt          of the coroutine that runs on this thread, or of those for which this thread waits
coracle bt N        of #N of the last listing
coracle bt FRAME    of a frame's address, or of a std::coroutine_handle"""

    def __init__(self):
        super().__init__("coracle bt", gdb.COMMAND_STACK)

    def invoke(self, argument, _from_tty):
        taken = snapshot()
        if argument:
            _show(*report.backtraces(taken, [_named(argument)]))
            return
        thread = gdb.selected_thread()
        running = [each for each in taken.coroutines.values() if each.thread is not None and each.thread.num == thread.num]
        innermost = [each for each in running if not any(other.parent is each for other in running)]
        if innermost:
            _show(*report.backtraces(taken, innermost))
            return
        waiting = [root for root in taken.roots()
                   if root.via and getattr(taken.stacks.thread_of(root.via.address), "num", None) == thread.num]
        leaves = [leaf for root in waiting for leaf in waits.below(root) if not leaf.children]
        if not leaves:
            gdb.write(f"no coroutine runs on thread {thread.num}, and it waits for none: `coracle tasks` lists them all\n")
            return
        gdb.write(f"no coroutine runs on thread {thread.num}; it waits for\n")
        _show(*report.backtraces(taken, leaves[:8]))
        if len(leaves) > 8:
            gdb.write(f"({len(leaves) - 8} more: `coracle tasks`)\n")


class Tasks(gdb.Command):
    """Every coroutine, as trees: below each those that it awaits.

coracle tasks        trees that look the same once, and at most a hundred lines
coracle tasks all    everything"""

    def __init__(self):
        super().__init__("coracle tasks", gdb.COMMAND_STACK)

    def invoke(self, argument, _from_tty):
        _show(*report.tasks(snapshot(), argument == "all"))


class Why(gdb.Command):
    """What coroutines wait for, who holds that, who else waits, and deadlocks.

coracle why          every object that is waited for; at most fifty
coracle why all      the same, without a limit
coracle why N        of #N of the last listing. Afterwards `$object` points to what it waits for
coracle why FRAME    of a frame's address, or of a std::coroutine_handle"""

    def __init__(self):
        super().__init__("coracle why", gdb.COMMAND_STACK)

    def invoke(self, argument, _from_tty):
        if argument in ("", "all"):
            gdb.write(report.wait_graph(snapshot(), argument == "all"))
            return
        coroutine = _named(argument)
        gdb.write(report.why(snapshot(), coroutine))
        for wait in coroutine.waits[:1]:
            if wait.object:
                self._name_object(wait)

    @staticmethod
    def _name_object(wait):
        try:
            kind = gdb.lookup_type(wait.operation.type_name.rsplit("::", 1)[0]).pointer()
        except gdb.error:
            return
        gdb.set_convenience_variable("object", gdb.Value(wait.object).cast(kind))


class Frame(gdb.Command):
    """The parameters and locals that a frame keeps.

coracle frame N        of #N of the last listing
coracle frame FRAME    of a frame's address, or of a std::coroutine_handle"""

    def __init__(self):
        super().__init__("coracle frame", gdb.COMMAND_STACK)

    def invoke(self, argument, _from_tty):
        if not argument:
            raise gdb.GdbError("coracle frame takes the number of a coroutine in the last listing, or its frame")
        coroutine = _named(argument)
        gdb.write(f"{coroutine.function.name}{report.at_place(coroutine)}, frame {coroutine.address:#x}\n")
        if not coroutine.function.has_types:
            gdb.write("  it was compiled without debug information, so its variables have no names\n")
            return
        variables = coroutine.function.variables()
        for name, field in variables:
            value = gdb.Value(coroutine.address + field.bitpos // 8).cast(field.type.pointer()).dereference()
            try:
                text = value.format_string(max_elements=16, styling=False)
            except gdb.error as error:
                text = f"<{error}>"
            gdb.write(f"  {name} = {text}\n")
        if not variables:
            gdb.write("  its debug information names no parameter and no local in the frame\n")


class Deadlocks(gdb.Command):
    """Circles of coroutines that wait for locks of one another, and waits that nothing can end."""

    def __init__(self):
        super().__init__("coracle deadlocks", gdb.COMMAND_STACK)

    def invoke(self, _argument, _from_tty):
        gdb.write(report.all_deadlocks(snapshot()))


class Json(gdb.Command):
    """Every coroutine, what it waits for, and deadlocks, for programs: docs/debugging.md has the schema."""

    def __init__(self):
        super().__init__("coracle json", gdb.COMMAND_STACK)

    def invoke(self, _argument, _from_tty):
        gdb.write(as_json.text_of(snapshot()))


def register():
    """Adds the commands to gdb."""
    for command in (Prefix, Backtrace, Tasks, Why, Deadlocks, Frame, Json):
        command()
    for event in (gdb.events.cont, gdb.events.memory_changed, gdb.events.exited, gdb.events.inferior_call,
                  gdb.events.register_changed):
        event.connect(_forget)
    gdb.events.new_objfile.connect(lambda _event: (names.forget(), process.forget(), _forget()))
