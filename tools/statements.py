"""Finds the statements of C++ functions and writes them so that a number, chosen at run time, drops one or moves it.

It is no full parser: it relies on the layout that clang-format gives to the library's code, and leaves alone what it cannot
read. tools/statement_mutants.py compiles the result, which reveals mistakes.
"""
import re
from dataclasses import dataclass, field

from commuting import commute

NOT_CODE = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
TAG = re.compile(r"/\*[A-Z]\w?\d+\*/")
WORD = re.compile(r"[A-Za-z_]\w*")
JUMP = re.compile(r"(?:\[\[.*?\]\]\s*|CORACLE_MUST_TAIL\(\)\s*)*(?:return|break|continue|co_return|throw|goto)\b")
ENDLESS = re.compile(r"while\s*\(\s*true\s*\)|for\s*\(\s*;\s*;\s*\)")
# Checks; what only passes time; and the light side of an asymmetric fence, which is no instruction, nor anything in a model.
IDLE = re.compile(r"(?:\w+(?:\.|::))?(?:light|light_where_free|spin_pause)\(\);|::sched_yield\(\);|CORACLE_CHECK\(|CORACLE_ASSERT\(|"
                  r"static_assert\b|static_cast<void>\(\w+\);|using\b|;|typedef\b|assert\(")
# What others see, and may act on, once it is done.
PUBLISHES = re.compile(r"\b(?:unlock\w*|wake\w*|post|resume\w*|run_turn|store|publish\w*|notify\w*|release\w*|set|deliver|request\w*|"
                       r"give_back|finish\w*|complete\w*|end|signal|fetch_\w+|(?<!std::)exchange|change\w*|clear|open|lock\w*|load)\(|"
                       r"\w+_lock \w+\{")
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|alignas\([^)]*\)")
DECLARES = re.compile(r"\s*(?:auto\b|const\b|static\b|struct\b|[A-Za-z_]\w*[\s*&]*[\s*&][\s*&]*[A-Za-z_]\w*)")
NO_DECLARATION = re.compile(r"(?:delete|new|co_await|co_yield|return|throw|else|case|default|goto)\b")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def code_of(text):
    """The text with comments, literals and directives blanked, each character in its place."""
    return DIRECTIVE.sub(blank, NOT_CODE.sub(blank, text))


def closing(code, opening):
    """Returns the position behind the bracket that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    raise ValueError(f"nothing closes the bracket at {opening}")


def skip_space(code, at, end):
    while at < end and code[at].isspace():
        at += 1
    return at


@dataclass
class Statement:
    begin: int
    end: int
    blocks: list = field(default_factory=list)  # of those inside, lists of statements
    kind: str = "step"  # step, declaration, jump, idle, opaque


@dataclass
class Function:
    name: str
    body: list


def functions_of(code):
    found = []
    scope(code, 0, len(code), found)
    return found


def scope(code, at, end, found):
    """The functions between `at` and `end`, inside a namespace or class."""
    start = at
    while at < end:
        c = code[at]
        if c == ";":
            start = at + 1
        elif c in "([":
            at = closing(code, at)
            continue
        elif c == "{":
            at = braces(code, start, at, found)
            start = at
            continue
        elif c == "}":
            start = at + 1
        at += 1


def braces(code, start, at, found):
    """What the brace at `at` opens, whose declaration begins at `start`. Returns where to go on."""
    close = closing(code, at)
    head = code[start:at]
    plain_head = re.sub(r"\b(?:public|private|protected)\s*:", " ", head)
    plain_head = re.sub(r"\btemplate\s*<.*?>\s*(?=\w|\[)", " ", plain_head, flags=re.DOTALL)
    plain_head = re.sub(r"\[\[.*?\]\]", " ", plain_head, flags=re.DOTALL)
    first = WORD.search(plain_head)
    words = set(WORD.findall(re.sub(r"\(.*?\)|<.*?>", " ", plain_head, flags=re.DOTALL)))
    if not plain_head.strip() or "namespace" in words or first and first[0] == "extern":
        scope(code, at + 1, close - 1, found)
        return close
    if "enum" in words or "concept" in words:
        return close
    if words & {"class", "struct", "union"} and not re.search(r"\)\s*(?:const|noexcept|override|final|\s)*$", plain_head):
        scope(code, at + 1, close - 1, found)
        return close
    if "(" not in plain_head:
        return close
    body = body_of(code, start, at)
    if body is None:
        return close
    close = closing(code, body)
    if code[close : skip_space(code, close, len(code)) + 1].strip() == ";":
        return close
    name = re.search(r"(operator\s*\S+?|~?\w+)\s*\($", code[start : start + head_parameters(code[start:body])])
    try:
        found.append(Function((name[1] if name else "?") + "()", block(code, body + 1, close - 1)))
    except ValueError:
        pass
    return close


def head_parameters(head):
    """Returns the position behind the opening parenthesis of the parameters."""
    for match in re.finditer(r"([~\w]+|operator\s*\S+?)\s*\(", head):
        if not match[1].startswith(("CORACLE_", "requires", "alignas", "decltype", "noexcept", "explicit")):
            return match.end()
    return 0


def body_of(code, start, at):
    """The brace of the body, if `at` is not yet that but one of a constructor's initialisers or a requires-clause."""
    has_initialisers = re.search(r"\)\s*(?:noexcept\s*(?:\([^{]*\))?\s*)?:(?!:)", code[start:at])
    while True:
        before = code[:at].rstrip()
        is_initialiser = has_initialisers and (before[-1].isalnum() or before[-1] in "_>")
        if not is_initialiser and not re.search(r"requires(?:\s*\([^()]*\))?$", before):
            return at
        at = closing(code, at)
        while at < len(code) and code[at] != "{":
            if code[at] == ";":
                return None
            at = closing(code, at) if code[at] in "([" else at + 1
        if at == len(code):
            return None


def block(code, at, end):
    statements = []
    at = skip_space(code, at, end)
    while at < end:
        one = statement(code, at, end)
        statements.append(one)
        at = skip_space(code, one.end, end)
    return statements


def statement(code, at, end):
    word = WORD.match(code, at)
    word = word[0] if word else ""
    if code[at] == "{":
        close = closing(code, at)
        return Statement(at, close, [block(code, at + 1, close - 1)])
    if word in ("if", "while", "for"):
        return governed(code, at, end, word)
    if word in ("try", "CORACLE_TRY"):
        one = Statement(at, at, kind="opaque")
        rest = at
        while True:
            brace = code.index("{", rest)
            one.end = closing(code, brace)
            one.blocks.append(block(code, brace + 1, one.end - 1))
            rest = skip_space(code, one.end, end)
            if not code.startswith(("catch", "CORACLE_CATCH_ALL"), rest):
                return one
    if word in ("switch", "struct", "class", "union", "enum", "case", "default", "do"):
        brace = code.index("{", at)
        close = closing(code, brace)
        return Statement(at, code.index(";", close) + 1 if word not in ("switch",) else close, kind="opaque")
    close = at
    while code[close] != ";":
        close = closing(code, close) if code[close] in "([{" else close + 1
        if close >= end:
            raise ValueError("no end of a statement")
    text = code[at : close + 1]
    if JUMP.match(text):
        return Statement(at, close + 1, kind="jump")
    if IDLE.match(text):
        return Statement(at, close + 1, kind="idle")
    if declares(text):
        return Statement(at, close + 1, kind="declaration")
    return Statement(at, close + 1)


def declares(text):
    """Returns True if two words follow each other with nothing but * and & between them."""
    text = ATTRIBUTE.sub(" ", text).strip()
    while (shorter := re.sub(r"<[^<>;={}]*>|::", "", text)) != text:
        text = shorter
    return bool(DECLARES.match(text)) and not NO_DECLARATION.match(text)


def governed(code, at, end, word):
    one = Statement(at, at)
    condition = code.index("(", at)
    inner = skip_space(code, closing(code, condition), end)
    attribute = re.match(r"(?:\[\[\w+\]\]\s*)+", code[inner:end])
    if attribute:
        inner += attribute.end()
    one.end = governed_part(code, inner, end, one)
    rest = skip_space(code, one.end, end)
    if word == "if" and re.match(r"else\b", code[rest:end]):
        inner = skip_space(code, rest + 4, end)
        attribute = re.match(r"(?:\[\[\w+\]\]\s*)+", code[inner:end])
        if attribute:
            inner += attribute.end()
        one.end = governed_part(code, inner, end, one)
    if ENDLESS.match(code[at : one.end]):
        one.kind = "opaque"
    return one


def governed_part(code, at, end, one):
    inner = statement(code, at, end)
    if code[at] == "{":
        one.blocks += inner.blocks
    else:
        one.blocks.append([inner])
    return inner.end


@dataclass
class Mutant:
    number: int
    file: str
    line: int
    function: str
    change: str

    @property
    def key(self):
        return self.file, self.function, self.change


class Writer:
    """Writes one file with all its mutants, but for those in `left_out` (by key), which do not compile."""

    def __init__(self, file, text, first_number, left_out):
        self.file, self.text, self.code = file, text, code_of(text)
        self.number, self.left_out = first_number, left_out
        self.mutants, self.function, self.counts = [], "", {}

    def write(self):
        pieces, at = [], 0
        for function in sorted(functions_of(self.code), key=lambda each: each.body[0].begin if each.body else 0):
            if not function.body or self.has_directive(function.body[0].begin, function.body[-1].end):
                continue
            self.function = function.name
            begin, end = function.body[0].begin, function.body[-1].end
            pieces += [self.text[at:begin], self.block(function.body)]
            at = end
        return "".join(pieces) + self.text[at:]

    def has_directive(self, begin, end):
        return DIRECTIVE.search(NOT_CODE.sub(blank, self.text[begin:end])) is not None

    def brief(self, one, most=70):
        text = " ".join(re.sub(r"//[^\n]*", " ", self.text[one.begin : one.end]).split())
        text = TAG.sub("", text).rstrip("; ")
        return text if len(text) <= most else text[: most - 3] + "..."

    def new(self, one, change):
        count = self.counts[(self.function, change)] = self.counts.get((self.function, change), 0) + 1
        if count > 1:
            change += f" ({count})"
        mutant = Mutant(self.number, self.file, self.text.count("\n", 0, one.begin) + 1, self.function, change)
        self.number += 1  # also of one that is left out: the other files stay as they are
        if mutant.key in self.left_out:
            return None
        self.mutants.append(mutant)
        return mutant.number

    def copy(self, one, number):
        """Of the statement as it is, on one line."""
        text = re.sub(r"//[^\n]*", " ", self.text[one.begin : one.end])
        return f"if (coracle_mutants::is({number})) {{ {' '.join(text.split())} }}\n"

    def block(self, statements):
        """The text from the first statement's begin to the last one's end."""
        before = [[] for _ in statements]
        after = [[] for _ in statements]
        numbers = [[] for _ in statements]
        for i, one in enumerate(statements):
            if one.kind != "step":
                continue
            self.mutate(statements, i, before, after, numbers)
        pieces = []
        for i, one in enumerate(statements):
            pieces += ["\n" + self.copy(*each) for each in before[i]]
            inner = self.inner(one)
            if numbers[i]:
                inner = f"if (!coracle_mutants::within({numbers[i][0]}, {numbers[i][-1]})) {{ {inner} }}"
            pieces.append(inner)
            pieces += ["\n" + self.copy(*each) for each in after[i]]
            if i + 1 < len(statements):
                pieces.append(self.text[one.end : statements[i + 1].begin])
        return "".join(pieces)

    def mutate(self, statements, i, before, after, numbers):
        one = statements[i]

        def add(change):
            number = self.new(one, change)
            if number is not None:
                numbers[i].append(number)
            return number

        # An `if` over one plain step is dropped with that step.
        is_dropped_inside = len(one.blocks) == 1 and len(one.blocks[0]) == 1 and one.blocks[0][0].kind == "step"
        is_last_word = i + 1 == len(statements) and self.returns(one)
        if not is_dropped_inside and not is_last_word:
            add(f"dropped: {self.brief(one)}")
        if i and statements[i - 1].kind == "declaration" and not self.uses(one, statements[i - 1]) and \
                self.matters(statements[i - 1], one) and not self.commutes(one, statements[i - 1 : i]):
            number = add(f"before {self.brief(statements[i - 1], 40)}: {self.brief(one, 50)}")
            if number is not None:
                before[i - 1].append((one, number))
        targets = []
        if i + 1 < len(statements) and statements[i + 1].kind in ("step", "declaration", "opaque") and \
                self.matters(one, statements[i + 1]):
            targets.append(i + 1)
        publishing = next((j for j in range(i + 1, len(statements)) if self.publishes(statements[j])), i + 1)
        if publishing > i + 1 and statements[publishing].kind != "jump":
            targets.append(publishing)
        for j in targets:
            if self.commutes(one, statements[i + 1 : j + 1]):
                continue
            number = add(f"behind {self.brief(statements[j], 40)}: {self.brief(one, 50)}")
            if number is not None:
                after[j].append((one, number))

    def publishes(self, one):
        """Returns True if other threads observe the statement and may act on it, or are kept out by it, as by a lock."""
        line_end = self.text.find("\n", one.end)
        return bool(PUBLISHES.search(self.code[one.begin : one.end]) or TAG.search(self.text[one.begin : line_end]))

    def matters(self, one, other):
        """Returns True if other threads can observe the order of the two. Otherwise swapping them rarely changes anything."""
        return self.publishes(one) or self.publishes(other)

    def commutes(self, one, others):
        return all(commute(self.line(one), self.line(other)) for other in others)

    def line(self, one):
        return " ".join(self.code[one.begin : one.end].split())

    def returns(self, one):
        return re.search(r"\breturn\b[^;]", self.code[one.begin : one.end]) is not None

    def uses(self, one, declaration):
        """Returns True if the statement may name something that the declaration declares."""
        declared = re.split(r"[={(;]", self.code[declaration.begin : declaration.end], maxsplit=1)[0]
        names = WORD.findall(declared.split(":")[-1])[-3:]
        return bool(set(names) & set(WORD.findall(self.code[one.begin : one.end])))

    def inner(self, one):
        """The statement, with mutants of those inside it."""
        if not one.blocks:
            return self.text[one.begin : one.end]
        pieces, at = [], one.begin
        for inside in one.blocks:
            if not inside:
                continue
            begin, end = inside[0].begin, inside[-1].end
            is_braced = self.code[:begin].rstrip()[-1] in "{" or len(inside) > 1
            text = self.block(inside)
            pieces += [self.text[at:begin], text if is_braced else f"{{ {text} }}"]
            at = end
        return "".join(pieces) + self.text[at : one.end]
