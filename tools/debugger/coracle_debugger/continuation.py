"""What goes on when a coroutine ends that no coroutine awaits by itself."""
import functools
import re

from . import functions, host, memory, names


class Continuation:
    """What goes on when a coroutine ends, and is no coroutine. It has no text if it is part of something else."""

    __slots__ = ("address", "text")
    SCOPE = functions.PROMISE  # where the child of an async_scope has its address: the promise begins with it
    OF_ALL = functions.PROMISE  # where one of several children has the address of the frame that they share: likewise
    _CONTINUES, _CONTINUES_OF_ENDED_WORK = 24, 32  # where one of WRAPPERS has the address of what goes on after it
    MARK = memory.WORD  # where a callback frame has the function that refuses to destroy it
    WRAPPERS = ("as_outcome()", "as_optional()", "as_expected()", "throwing()", "")  # through which a coroutine awaits one thing
    FLIGHT = "single_flight"
    IS_ONE_OF_SEVERAL = "one of several children"  # the text is that of the frame that they share
    # In front of template arguments, which may name others of these.
    _TEXTS = ((r"waiting_thread::finished", "sync_wait()"),
              (r"^[^<]*\bsiblings_operation<\S*siblings::rule\)[01], .*child_is_over", "when_all()"),
              (r"^[^<]*\bsiblings_operation<\S*siblings::rule\)[23], .*child_is_over", "when_any()"),
              (r"^[^<]*\bsibling<.*::over", IS_ONE_OF_SEVERAL),
              (r"\bgroup_child::child_ended|^[^<]*\bstream_child<.*::running::resumed", ""),
              (r"^[^<]*\bsingle_flight<.*::flight::work_ended", FLIGHT), (r"^[^<]*\bfork_join_operation<", "fork_join()"),
              (r"^[^<]*\bended_work<\S*?\bas_outcome_operation<", "as_outcome()"),
              (r"^[^<]*\bended_work<\S*?\bas_optional_operation<", "as_optional()"),
              (r"^[^<]*\bended_work<\S*?\bas_expected_operation<", "as_expected()"),
              (r"^[^<]*\bended_work<\S*?\bthrowing_operation<", "throwing()"),
              (r"^[^<]*\bended_work<|\bparent_bridge::|\bwait_until_operation<", ""),
              (r"io_run.*::ended", "io_service::run()"),
              (r"poll.*::completed", "testing::poll()"), (r"simulation::end_of_run::completed", "simulation::run()"),
              # gdb 13 cannot demangle this of clang's.
              (r"virtual_time_loop.*completed", "virtual_time_loop::run()"),
              (r"spawned|\bscope_", "async_scope"))

    def __init__(self, address, text):
        self.address = address
        self.text = text

    @classmethod
    def text_of(cls, function):
        """By the function that is called; None if it is not that of such a frame."""
        symbol = names.symbol_at(function)
        # It looks like a coroutine's frame: a resume function, then one that refuses to destroy it.
        if not symbol or "callback_frame" not in symbol:
            return None
        found = next((text for pattern, text in cls._TEXTS if re.search(pattern, symbol)), None)
        return found if found is not None else names.without_parameters(names.tidy(symbol))

    def is_member(self):
        """Whether it belongs to one of several children."""
        return self.is_mark_of_member(memory.word(self.address + self.MARK))

    @staticmethod
    def is_mark_of_member(function):
        """Whether a callback frame with that mark continues one of several children."""
        return "refuse_destroy_of_member" in (names.symbol_at(function) or "") if function else False

    def wrapped_for(self):
        """The address of what goes on after one of WRAPPERS, which is a coroutine or another callback frame; None of others."""
        if self.text not in self.WRAPPERS or self.is_member():
            return None
        is_ended_work = re.search(r"\bended_work<", names.symbol_at(memory.word(self.address)))
        return memory.word(self.address + (self._CONTINUES_OF_ENDED_WORK if is_ended_work else self._CONTINUES))

    def scope(self):
        """The address of the async_scope that has spawned it."""
        return memory.word(self.address + self.SCOPE) if self.text == "async_scope" else None

    def is_joined_by(self, coroutine):
        """Whether the coroutine waits for all children of that scope. Always false without debug information."""
        joiner = self.joiner_of(self.scope())
        return joiner is not None and coroutine.address <= joiner < coroutine.address + coroutine.size

    @staticmethod
    def joiner_of(scope):
        """The handle of what waits for all children of a scope. None without debug information."""
        place = _place_of_joiner()
        return memory.word(scope + place) if scope and place is not None else None

    def spawned_at(self):
        """file:line of the spawn(), if it is the child of an async_scope."""
        return self.all_spawned_at([self.address])[0] if self.text == "async_scope" else None

    @staticmethod
    def all_spawned_at(addresses):
        """The same of many that are children of scopes."""
        place = _place_in_child("spawned_at")
        if place is None:
            return [None] * len(addresses)
        return list(map(_source_location, memory.words(addresses, place)))


@functools.cache
def _place_in_child(member):
    """Of a member, counted from the callback frame of a child of an async_scope; None without debug information."""
    child = host.find_type("coracle::detail::scope_child")
    if child is None:
        return None
    place = functions.find_field(child, member)
    base = next((field for field in child.fields if re.search("callback_frame|scope_frame", str(field.name))), None)
    return place[0] - base.offset if place and base is not None else None


@functools.cache
def _place_of_joiner():
    """Where an async_scope keeps who joins it; None without debug information."""
    state = host.find_type("coracle::detail::scope_state")
    joiner = functions.find_field(state, "joiner_") if state is not None else None
    handle = functions.find_field(joiner[1], "handle") if joiner else None
    return joiner[0] + handle[0] if handle else None


@functools.cache
def _source_location(address):
    """file:line of what a std::source_location refers to; None if it is not known, or in a header of the library's."""
    at = memory.word(address) if address else None
    file = memory.text(at) if at else None
    if not file or "/coracle/compose/" in file:
        return None
    return f"{names.file_name(file)}:{memory.number(address + 16, 4)}"


def forget():
    """After symbols were loaded."""
    for cached in (_place_in_child, _place_of_joiner, _source_location):
        cached.cache_clear()
