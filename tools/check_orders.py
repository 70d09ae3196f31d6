#!/usr/bin/env python3
"""Checks the tables of memory orders above atomic state against the code.

    //   [M1] free -> held  acquire  sees the last holder's writes  pairs with M2
    ...
    state_.compare_exchange_strong(seen, held, memory_order_acquire, memory_order_relaxed) /*M1*/

In include/ and src/ each memory order has a tag: the next one in its statement or after it on the line, otherwise the last
before it there. The row of that name is in the same file or in a header that it includes, and its first line names exactly
the orders of its accesses; the failure order of a compare_exchange needs to be named only if it is not relaxed. There is no
unused row, no access without an order, and no atomic outside the seam, base/atomic.hpp and
base/builtin_atomic.hpp.

Two kinds of relaxed loads need no row, because nothing depends on them: those in a CORACLE_REQUIRE or CORACLE_CHECK, and the
first guess of a loop that changes the word by compare_exchange (`seen = word.load(relaxed)`, where `seen` is then the expected
value). --self-test checks the parser.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_docs import ROOT  # noqa: E402

SEAM = {"include/coracle/base/atomic.hpp", "include/coracle/base/asymmetric_fence.hpp",
        "include/coracle/base/builtin_atomic.hpp"}
OUTSIDE = "/testing/"  # the checker itself, and what is made for tests

ROW = re.compile(r"^[ \t]*///?[ \t]*\[(\w+)\][ \t]+(.*)$", re.MULTILINE)
ORDER = re.compile(r"\b(relaxed|acquire|release|acq_rel|seq_cst)\b")
INCLUDE = re.compile(r'^#include (?:<(coracle/[^>]+)>|"([^"]+)")', re.MULTILINE)
NOT_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?!\w+\*/).*?\*/', re.DOTALL)
NAMED = re.compile(r"\bmemory_order_(\w+)|\bmemory_order::(\w+)"
                   r"|(?:\.|->)(?:load|store|exchange|add|subtract)_(relaxed|acq_rel)\(")  # a builtin_atomic's
TAG = re.compile(r"/\*(\w+)\*/")
ACCESS = re.compile(
    r"(?:\.|->)(?:load|store|exchange|fetch_(?:add|sub|or|and|xor)|compare_exchange_(?:weak|strong))\s*\(")
GUESS = re.compile(r"\b(\w+) = [\w.>()-]*\bload\((?:detail::)?$")
ATOMIC_NAME = re.compile(r"\batomic<[^;(){}]*>\s+(\w+_?)\s*[;{\[]")
PAST_SEAM = re.compile(r"\bstd::atomic(?:_\w+)?\b|\b__atomic_\w+")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def matching(code, opening):
    """Returns the position of the bracket that closes the one at `opening`."""
    depth = 0
    for i in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return i
    return len(code)


class Source:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.code = NOT_CODE.sub(blank, text)
        self.rows = {match[1]: set(ORDER.findall(match[2])) for match in ROW.finditer(text)}
        self.row_lines = {match[1]: self.line(match.start()) for match in ROW.finditer(text)}

    def line(self, position):
        return self.text.count("\n", 0, position) + 1

    def statement(self, position):
        """Returns the range from the end of the previous statement to the end of the line on which this one ends."""
        begin = max(self.code.rfind(end, 0, position) for end in ";{}") + 1
        end = re.compile(r"[;{}]").search(self.code, position)
        end_of_line = self.code.find("\n", end.start() if end else position)
        return begin, end_of_line if end_of_line != -1 else len(self.code)

    def tag_at(self, position):
        begin, end = self.statement(position)
        if after := TAG.search(self.code, position, end):
            return after[1]
        before = TAG.findall(self.code, begin, position)
        return before[-1] if before else None

    def is_failure(self, position):
        """Returns True if this is the failure order of a compare_exchange: the second one in its parentheses."""
        begin, _ = self.statement(position)
        calls = [each.end() - 1 for each in re.finditer(r"compare_exchange_\w+\s*\(", self.code[begin:position])]
        return bool(calls) and len(NAMED.findall(self.code, begin + calls[-1], position)) + len(
            re.findall(r"\border\b", self.code[begin + calls[-1] : position])) == 1

    def needs_no_row(self, position):
        """Returns True if this relaxed load is in a CORACLE_REQUIRE or CORACLE_CHECK, or a first guess (see above)."""
        begin, _ = self.statement(position)
        before = self.code[begin:position]
        if "CORACLE_REQUIRE(" in before or "CORACLE_CHECK(" in before:
            return True
        guess = GUESS.search(before)
        line = self.code[self.code.rfind("\n", 0, position) + 1 : position]
        inside = len(line) - len(line.lstrip())
        end_of_block = re.compile(rf"^ {{0,{inside - 1}}}}}", re.MULTILINE).search(self.code, position)
        rest = self.code[position : end_of_block.start() if end_of_block else None]
        return bool(guess) and bool(re.search(rf"(?:\bchange|\bcompare_exchange_\w+)\({guess[1]}\b", rest))

    def uses(self):
        """(line, tag, order, whether it is the order of a failure)"""
        for match in NAMED.finditer(self.code):
            place, order = match.start(), match[1] or match[2] or match[3]
            tag = self.tag_at(place)
            of_failure = self.is_failure(place)
            if tag or order != "relaxed" or not (of_failure or self.needs_no_row(place)):
                yield self.line(place), tag, order, of_failure

    def without_order(self):
        for match in ACCESS.finditer(self.code):
            inside = self.code[match.end() : matching(self.code, match.end() - 1)]
            if not re.search(r"\bmemory_order|\border\b|\bsuccess\b", inside):
                yield self.line(match.start()), "an access that names no memory order"
        for name in set(ATOMIC_NAME.findall(self.code)):
            own = r"\b" if name.endswith("_") else r"(?:\.|->)"  # else it may be a local variable
            for match in re.finditer(rf"(?:\+\+|--)\s*{own}{name}\b|{own}{name}\s*(?:\+\+|--|[-+|&^]?=(?!=))", self.code):
                yield self.line(match.start()), f"{name} is atomic: an operator is seq_cst"
        for match in PAST_SEAM.finditer(self.code):
            yield self.line(match.start()), f"{match[0]}: atomics go through base/atomic.hpp"


def included(source, sources):
    for match in INCLUDE.finditer(source.text):
        path = f"include/{match[1]}" if match[1] else str(Path(source.path).parent / match[2])
        if path in sources:
            yield sources[path]


def check(sources):
    """Returns (path, line, what is wrong) for each mistake in `sources`, a dictionary from path to Source."""
    mistakes = []
    used = {}  # (path of the row, tag) -> orders
    for source in sources.values():
        mistakes += [(source.path, line, what) for line, what in source.without_order()]
        for line, tag, order, of_failure in source.uses():
            if not tag:
                mistakes.append((source.path, line, f"{order}: no tag /*X1*/ that says which row this is"))
                continue
            owner = next((each for each in [source, *included(source, sources)] if tag in each.rows), None)
            if not owner:
                mistakes.append((source.path, line, f"no row [{tag}]"))
                continue
            orders = used.setdefault((owner.path, tag), set())
            if not (of_failure and order == "relaxed"):
                orders.add(order)
                if order not in owner.rows[tag]:
                    mistakes.append((source.path, line, f"{order}: the row [{tag}] does not name it"))
    for source in sources.values():
        for tag, named in source.rows.items():
            orders = used.get((source.path, tag))
            if orders is None:
                mistakes.append((source.path, source.row_lines[tag], f"row [{tag}] without a use"))
            elif named - orders:
                mistakes.append((source.path, source.row_lines[tag],
                                 f"row [{tag}] names {', '.join(sorted(named - orders))}: no access has it"))
    return sorted(mistakes)


def read_all():
    files = [path for folder in ("include", "src") for path in sorted((ROOT / folder).rglob("*.?pp"))]
    names = [str(path.relative_to(ROOT)) for path in files]
    return {name: Source(name, (ROOT / name).read_text())
            for name in names if OUTSIDE not in name and name not in SEAM}


GOOD = """
//   [A1] free -> held  acquire  pairs with A2
//   [A2] held -> free  release
//   [A3] load          relaxed  a guess
struct lock {
  void take() {
    int seen = word_.load(memory_order_relaxed); /*A3*/
    while (!word_.compare_exchange_weak(seen, held, memory_order_acquire, /*A1*/
                                        memory_order_relaxed)) {
    }
  }
  void give() { word_.store(free, memory_order_release); } /*A2*/
  atomic<int> word_{0};
  void other() {
    // a builtin_atomic
  }
};
"""
WRONG = {
    "release: no tag": ("; } /*A2*/", "; }"),
    "no row [A9]": ("; } /*A2*/", "; } /*A9*/"),
    "does not name it": ("memory_order_acquire", "memory_order_acq_rel"),
    "names release: no access has it": ("free, memory_order_release", "free, memory_order_relaxed"),
    "without a use": ("//   [A3]", "//   [A4] load  relaxed  a guess\n//   [A3]"),
    "names no memory order": ("load(memory_order_relaxed)", "load()"),
    "relaxed: no tag": ("int seen = word_.load(memory_order_relaxed); /*A3*/", "if (word_.load(memory_order_relaxed) > 0) return;"),
    "an operator is seq_cst": ("word_.store(free, memory_order_release);", "word_ = free;"),
    "acq_rel: no tag": ("// a builtin_atomic", "other_.exchange_acq_rel(0);"),
    "relaxed: the row [A2] does not name it": ("// a builtin_atomic", "other_.add_relaxed(1); /*A2*/"),
    "go through base/atomic.hpp": ("  atomic<int>", "  std::atomic<int>"),
}


def self_test():
    failed = [f"a mistake in the good case: {each}" for each in check({"a.hpp": Source("a.hpp", GOOD)})]
    for wanted, (old, new) in WRONG.items():
        text = GOOD.replace(old, new)
        found = [what for _, _, what in check({"a.hpp": Source("a.hpp", text)})]
        if text == GOOD or not any(wanted in what for what in found):
            failed.append(f"not found: {wanted}; found {found}")
    guess = GOOD.replace(" /*A3*/", "").replace("//   [A3] load          relaxed  a guess\n", "")
    failed += [f"a first guess: {each}" for each in check({"a.hpp": Source("a.hpp", guess)})]
    elsewhere = {"src/a.hpp": Source("src/a.hpp", GOOD),
                 "src/a.cpp": Source("src/a.cpp", '#include "a.hpp"\nvoid f() { w.store(0, memory_order_release); } /*A2*/\n')}
    failed += [f"a row in an included file: {each}" for each in check(elsewhere)]
    print("\n".join(failed) or f"check_orders: {len(WRONG) + 3} cases passed")
    return bool(failed)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) > 1:
        sys.exit("usage: check_orders.py [--self-test]")
    sources = read_all()
    mistakes = check(sources)
    for path, line, what in mistakes:
        print(f"{path}:{line}: {what}")
    if not mistakes:
        rows = sum(len(each.rows) for each in sources.values())
        print(f"check_orders: {sum(1 for each in sources.values() for _ in each.uses())} orders in {rows} rows")
    return bool(mistakes)


if __name__ == "__main__":
    sys.exit(main())
