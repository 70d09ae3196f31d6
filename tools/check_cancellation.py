#!/usr/bin/env python3
"""Enforces the cancellation contract: each operation that can wait must be in the table that tests/cancellation/ runs
(a stop request before, during and after the wait, and races) and in docs/cancellation.md.

An operation is an awaiter: a class of include/coracle/ with an await_suspend, its own or inherited. Those that never
wait are listed below, with the reason. --list prints the operations found; --self-test checks the parser.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_docs import ROOT  # noqa: E402

# Awaiters that are no operation of their own.
BASE = "a base: those that derive from it are in the table"
CHILD = "runs a child, whose operations obey"
NO_WAIT = "waits for nobody"
STOPPED = "waits for children that it has stopped: they are joined in any case"
NOT_OPERATIONS = {
    "addressed_operation": BASE,
    "async_condition_variable::sleep_operation": BASE,
    "awaits_inside": BASE,
    "blocking_call": BASE,
    "file_operation": BASE,
    "io_operation": BASE,
    "io_operation_inside": BASE,
    "io_result_of_work": CHILD,
    "io_result_operation": CHILD,
    "unless_error_operation": CHILD,
    "open_path_operation": BASE,
    "path_operation": BASE,
    "status_path_operation": BASE,
    "multi_producer_sequencer::claim": BASE,
    "shared_task::awaiter_base": BASE,
    "siblings_operation": BASE,
    "stoppable_wait": BASE,
    "task_awaiter_base": BASE,
    "wait_for_more": BASE,
    "waits_for_sequence": BASE,
    "async_generator::begin_operation": CHILD,
    "async_generator::increment_operation": CHILD,
    "async_generator::next_operation": CHILD,
    "async_generator::step": CHILD,
    "awaiter_reference": CHILD,
    "as_expected_operation": CHILD,
    "as_optional_operation": CHILD,
    "as_outcome_operation": CHILD,
    "attempt_operation": CHILD,
    "ended_work": CHILD,
    "ending_await": CHILD,
    "fmap_awaiter": CHILD,
    "fork_join_operation": CHILD,
    "invocation::operation": CHILD,
    "task": CHILD,
    "passing_operation": CHILD,
    "throwing_operation": CHILD,
    "bridged": CHILD,
    "task_awaiter": CHILD,
    "awaited_task": CHILD,
    "task_ready_awaiter": CHILD,
    "any_awaiter": NO_WAIT,
    "refused_await": NO_WAIT,
    "child_group::stack_operation": NO_WAIT,
    "ends_as_failed": NO_WAIT,
    "ends_as_stopped": NO_WAIT,
    "ends_unless_value": NO_WAIT,
    "parent_of_children": NO_WAIT,
    "stream_children::join_operation": STOPPED,
    "async_generator_promise::yielded_copy": NO_WAIT,
    "continues_parent_by::final_awaiter": NO_WAIT,
    "task_promise::final_awaiter": NO_WAIT,
    "ends_by": NO_WAIT,
    "expected_awaiter": NO_WAIT,
    "generator_end": NO_WAIT,
    "lookup_promise::unlink": NO_WAIT,
    "generator_state::nesting": NO_WAIT,
    "optional_awaiter": NO_WAIT,
    "lookup_turn": NO_WAIT,
    "counted_as_ready": NO_WAIT,
    "read_stacktrace": NO_WAIT,
    "read_environment": NO_WAIT,
    "replace_environment": NO_WAIT,
    "throws_if_stopped": NO_WAIT,
    "starts_eagerly::start_now": NO_WAIT,
    "stays_at_end::final_awaiter": NO_WAIT,
    "transfer_to_itself": NO_WAIT,
    "generator_state::yielded_copy": NO_WAIT,
    "unix_connect_operation": NO_WAIT,
}

NOT_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)
HEAD = re.compile(r"^.*(?<!enum )\b(?:class|struct)\b(?P<rest>[^;{}()=]*(?:\([^()]*\)[^;{}()=]*)*)$", re.DOTALL)
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\bCORACLE_\w+\(\)|\balignas\([^()]*\)", re.DOTALL)
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
NAME = re.compile(r"\s*(?P<name>\w+(?:\s*::\s*\w+)*)\s*(?:final\b)?\s*(?::(?!:)(?P<bases>.*))?$", re.DOTALL)


def without_template_arguments(text):
    while True:
        shorter = TEMPLATE_ARGUMENTS.sub("", text)
        if shorter == text:
            return text
        text = shorter


def head_of(text):
    """(name, bases) of the class whose body opens after `text`, or None."""
    found = HEAD.match(text)
    if not found:
        return None
    parts = NAME.match(without_template_arguments(ATTRIBUTE.sub("", found["rest"])))
    if not parts:
        return None
    bases = re.findall(r"[\w:]+", re.sub(r"\b(?:public|private|protected|virtual|typename)\b", "", parts["bases"] or ""))
    return re.sub(r"\s", "", parts["name"]), [base.split("::")[-1] for base in bases]


def classes(text):
    """Every class of a header: (qualified name, its bases, whether it has an await_suspend of its own)."""
    text = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found, scopes, start = [], [], 0
    for mark in re.finditer(r"[{};]|\bawait_suspend\s*\(", text):
        if mark[0] == "{":
            head = head_of(text[start:mark.start()])
            if head:
                outer = [scope[0] for scope in scopes if scope]
                entry = ["::".join(outer[-1:] + [head[0]]), head[1], False]
                found.append(entry)
                scopes.append(entry)
            else:
                scopes.append(None)
        elif mark[0] == "}":
            if scopes:
                scopes.pop()
        elif mark[0] != ";":
            before = text[:mark.start()].rstrip()
            if scopes and scopes[-1] and not before.endswith((".", "->")):
                scopes[-1][2] = True
            continue
        start = mark.end()
    return found


def operations(headers):
    """The names of all awaiters."""
    every = [entry for text in headers for entry in classes(text)]
    awaiters = {name.split("::")[-1] for name, _, own in every if own}
    while True:
        more = {name.split("::")[-1] for name, bases, _ in every if awaiters & set(bases)}
        if more <= awaiters:
            break
        awaiters |= more
    return sorted({name for name, bases, own in every if own or awaiters & set(bases)})


def self_test():
    text = '''
    namespace n { class a; template <class T> class [[nodiscard("a { b")]] a::op : public base<op<int>>, other {
      public: template <class P> bool await_suspend(std::coroutine_handle<P> h) noexcept { return x.await_suspend(h); } };
    struct caller { void f() { y.await_suspend(h); } };
    struct outer { class inner final : detail::base { }; enum class e { one }; };
    class derived : outer::op {}; }'''
    found = classes(text)
    assert found == [["a::op", ["base", "other"], True], ["caller", [], False], ["outer", [], False],
                     ["outer::inner", ["base"], False], ["derived", ["op"], False]], found
    assert operations([text]) == ["a::op", "derived"], operations([text])
    print("check_cancellation: the parser finds what it should")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) > 1:
        sys.exit("usage: check_cancellation.py [--self-test]")
    headers = sorted((ROOT / "include").rglob("*.hpp"))
    texts = [path.read_text() for path in headers]
    found = operations(texts)
    if "--list" in sys.argv:
        print("\n".join(found))
        return 0
    cases = "\n".join(path.read_text() for path in sorted((ROOT / "tests/cancellation").glob("*_cases.hpp")))
    document = (ROOT / "docs/cancellation.md").read_text()
    tested = set(re.findall(r'\{\s*"([\w:]+(?:\(\))?)"', cases))
    described = set(re.findall(r"`([\w:]+(?:\(\))?)`", document))
    # A function that returns a task, such as timeout(), is tested under its name with parentheses.
    functions = {name for name in tested if name.endswith("()")}
    problems = [f"{name} is tested but no header has a function of that name" for name in sorted(functions)
                if not any(re.search(rf"\b{name.split('::')[-1][:-2]}\(", text) for text in texts)]
    problems += [f"{name} has no row in docs/cancellation.md" for name in sorted(functions - described)]
    tested -= functions
    for name in found:
        if name in NOT_OPERATIONS:
            continue
        if name not in tested:
            problems.append(f"{name} is not in the table of tests/cancellation/: add a case, or say in "
                            "tools/check_cancellation.py why it never waits")
        if name not in described:
            problems.append(f"{name} has no row in docs/cancellation.md")
    problems += [f"{name} is tested but no awaiter of that name exists" for name in sorted(tested - set(found))]
    problems += [f"{name} is both exempt and tested" for name in sorted(tested & set(NOT_OPERATIONS))]
    problems += [f"{name} is exempt but no awaiter of that name exists" for name in sorted(set(NOT_OPERATIONS) - set(found))]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    print(f"check_cancellation: {len(tested) + len(functions)} operations are in the table and the document, "
          f"{len(NOT_OPERATIONS)} awaiters never wait")
    return 0


if __name__ == "__main__":
    sys.exit(main())
