"""The rules on the text, for where there is no parser: it knows no types, and misses what macros, aliases and other files hide."""
import bisect
import re

from findings import Finding, is_intended

NOT_CODE = re.compile(
    r'R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r"|//[^\n]*|/\*.*?\*/"
    r"|^[ \t]*\#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
CONTROL = r"\b(?:if|while|for|switch)\b(?:\s*constexpr\b)?\s*"
COROUTINE = re.compile(r"\bco_(?:await|yield|return)\b")
AWAIT = re.compile(r"\bco_(?:await|yield)\b")

# What may stand before a `{`, the contents of brackets left out. A head that starts with ( or [ is an argument.
LAMBDA_HEAD = re.compile(
    r"\[\](?:\s*<[^;]*>)?(?:\s*\(\))?\s*(?:(?:mutable|noexcept|constexpr|static|requires|->|\[\]).*)?$", re.DOTALL)
BLOCK_HEAD = re.compile(
    r"(?:^|\b(?:else|do|try)|\b(?:case\b.*|default\s*):|" + CONTROL + r"\(\)|\bcatch\s*\(\)|^\w+\s*\(\))\s*$",
    re.DOTALL)
TYPE_HEAD = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:export\s+|inline\s+|typedef\s+)*"
                       r"(?:(?:class|struct|union|enum|namespace|extern)\b|TEST_SUITE\w*\s*\(\)|$)", re.DOTALL)
FUNCTION_HEAD = re.compile(
    r"\(\)\s*(?:(?:const|noexcept|override|final|volatile|requires|try)\b.*|(?:&|->|:).*)?$", re.DOTALL)

TEMPLATE_ARGUMENTS = r"(?:\s*<(?:[^<>;{}]|<(?:[^<>;{}]|<[^<>;{}]*>)*>)*>)?"
DECLARATION = re.compile(
    r"(?:[;{}]|" + CONTROL + r"\()\s*"
    r"(?:(?:static|const|constexpr|volatile|typename|unsigned|signed|long|short|\[\[\w+\]\])\s+)*"
    r"(?!(?:return|co_return|co_await|co_yield|if|while|for|do|switch|case|default|throw|delete|new|else|goto|break|"
    r"continue|using|typedef|static_assert|catch|try|struct|class|enum|union)\b)"
    r"(?:::)?[A-Za-z_]\w*" + TEMPLATE_ARGUMENTS + r"(?:::\w+" + TEMPLATE_ARGUMENTS + r")*(?:\s+const\b)?"
    r"(?:(?:\s*[&*]+\s*|\s+)[A-Za-z_]\w*\s*(?:[={(;,\[)]|:(?!:))|\s*&{0,2}\s*\[[^\]]*\]\s*[=:{(])"
)


# What shows that a braced argument has members which need a destructor; of names, what the text declares them as.
NEEDS_DESTRUCTOR = re.compile(r"\b(?:move|forward)\s*\(|(?:^|[,={(])\s*(?:\*\s*\w|\")|\bstd::string\b")
OWNER = (r"\b(?:string|vector|deque|list|map|set|unordered_map|unordered_set|function|any|unique_ptr|shared_ptr|optional|task)\b"
         + TEMPLATE_ARGUMENTS + r"(?:\s+const\b)?[\s&]+(?:\w+\s*,\s*)*")
# What may make an object of class type: a call, a braced value, a text beside a std::string.
MAKES = re.compile(r"(?:\w|(?<!_cast)" + TEMPLATE_ARGUMENTS[:-1] + r")\s*[({]")


def blank(text):
    """As many spaces, line ends kept."""
    return re.sub(r"[^\n]", " ", text)


class Source:
    def __init__(self, text):
        self.lines = text.splitlines()
        self.raw = text
        self.text = NOT_CODE.sub(lambda found: blank(found[0]), text)
        self.line_starts = [0] + [found.end() for found in re.finditer("\n", text)]
        self.match = {}
        self.match_brackets()
        self.braces = sorted(position for position in self.match if self.text[position] == "{")
        self.kinds = {}  # of each `{`: function, lambda, block, type or value
        self.classify_braces()

    def match_brackets(self):
        partner, waiting = {")": "(", "]": "[", "}": "{"}, []
        for position, char in enumerate(self.text):
            if char in "([{":
                waiting.append(position)
            elif char in partner:
                while waiting and self.text[waiting[-1]] != partner[char]:
                    waiting.pop()
                if waiting:
                    self.match[position] = waiting[-1]
                    self.match[waiting.pop()] = position

    def head(self, brace):
        """What stands before a `{` in its statement, with the contents of brackets left out."""
        parts, position = [], brace - 1
        while position >= 0 and self.text[position] not in ";{}":
            char = self.text[position]
            if char in ")]" and position in self.match:
                parts.append("()" if char == ")" else "[]")
                position = self.match[position]
            else:
                parts.append(char)
                if char in "([":
                    break
            position -= 1
        return "".join(reversed(parts)).strip()

    def classify_braces(self):
        enclosing = []
        for brace in self.braces:
            while enclosing and self.match[enclosing[-1]] < brace:
                enclosing.pop()
            scopes = [self.kinds[outer] for outer in enclosing if self.kinds[outer] != "value"]
            inside_function = bool(scopes) and scopes[-1] != "type"
            self.kinds[brace] = self.classify(self.head(brace), inside_function)
            enclosing.append(brace)

    @staticmethod
    def classify(head, inside_function):
        if LAMBDA_HEAD.search(head):
            return "lambda"
        if inside_function and BLOCK_HEAD.search(head):
            return "block"
        if TYPE_HEAD.search(head):
            return "type"
        if not inside_function and FUNCTION_HEAD.search(head):
            return "function"
        return "value"

    def line_of(self, position):
        return bisect.bisect_right(self.line_starts, position)

    def own_text(self, start, end):
        """The text of [start, end) without the bodies of the functions and types inside."""
        parts, position = [], start
        for brace in self.braces[bisect.bisect_right(self.braces, start):bisect.bisect_left(self.braces, end)]:
            if brace >= position and self.kinds[brace] in ("function", "lambda", "type"):
                parts += [self.text[position:brace], blank(self.text[brace:self.match[brace]])]
                position = self.match[brace]
        return "".join(parts) + self.text[position:end]

    def conditions(self):
        """Positions of the awaits in conditions of coroutines without a local variable."""
        for brace, kind in self.kinds.items():
            if kind not in ("function", "lambda"):
                continue
            body = self.own_text(brace, self.match[brace] + 1)
            if not COROUTINE.search(body) or DECLARATION.search(body):
                continue
            for control in re.finditer(CONTROL + r"\(", body):
                opening = control.end() - 1
                closing = self.match.get(brace + opening, brace + opening) - brace
                if AWAIT.search(body, opening, closing):
                    yield brace + control.start()

    def temporary_lambdas(self):
        """Positions of the capturing lambdas that are arguments in an expression that awaits, or called in it."""
        for found in re.finditer(r"(?:(?<=[(,])|\bco_(?:await|yield))\s*\[(?!\[)", self.text):
            opening = found.end() - 1
            closing = self.match.get(opening)
            if closing is None or not self.text[opening + 1:closing].strip():
                continue
            if AWAIT.search(self.own_text(*self.full_expression(opening))):
                yield opening

    def temporaries_of_conditionals(self):
        """Positions of the ?: in an expression that awaits, of which an operand makes what may be a temporary."""
        for found in re.finditer(r"\?", self.text):
            start, end = self.full_expression(found.start())
            if not AWAIT.search(self.own_text(start, end)):
                continue
            last = self.end_of_conditional(found.end(), end)
            if AWAIT.search(self.text, found.end(), last):
                continue  # what is awaited in an operand may be a number
            texts = [operand.strip().startswith('"') for operand in re.split(r"(?<!:):(?!:)", self.raw[found.end():last], 1)]
            if MAKES.search(self.text, found.end(), last) or any(texts) and not all(texts):
                yield found.start()

    def braced_arguments(self):
        """Positions of the arguments in bare braces, in an expression that awaits, that may need a destructor."""
        for brace in self.braces:
            before = self.text[:brace].rstrip()
            if self.kinds[brace] != "value" or not before.endswith(("(", ",", "co_yield")):
                continue
            inside = self.raw[brace + 1:self.match[brace]]
            if not NEEDS_DESTRUCTOR.search(inside) and not self.names_owner(inside):
                continue
            if AWAIT.search(self.own_text(*self.full_expression(brace))):
                yield brace

    def names_owner(self, elements):
        """Whether an element is a name that the text declares as a string, a container, a smart pointer or the like."""
        names = [element.rpartition("=")[2].strip() for element in elements.split(",")]
        return any(name.isidentifier() and re.search(OWNER + name + r"\b", self.text) for name in names)

    def dangling_lambdas(self):
        """Positions of the capturing lambdas, called where they stand, whose coroutine is kept for later."""
        for found in re.finditer(r"(?:=|\breturn|\b(?:spawn|spawn_future|push_back|emplace_back)\s*\()\s*(?=\[(?!\[))", self.text):
            opening = found.end()
            closing = self.match.get(opening)
            if closing is None or not self.text[opening + 1:closing].strip():
                continue
            brace = next((at for at in self.braces[bisect.bisect(self.braces, closing):] if self.kinds[at] == "lambda"), None)
            if brace is None or ";" in self.text[closing:brace] or not COROUTINE.search(self.own_text(brace, self.match[brace])):
                continue
            if re.match(r"\s*\(", self.text[self.match[brace] + 1:]):
                yield opening

    def end_of_conditional(self, position, end):
        while position < end and self.text[position] not in ")]},;":
            position = (self.match.get(position, position) if self.text[position] in "([{" else position) + 1
        return position

    def full_expression(self, inside):
        start, end = inside - 1, inside
        while start >= 0 and not self.ends_expression(start, skipped=")]}"):
            start = (self.match.get(start, start) if self.text[start] in ")]}" else start) - 1
        while end < len(self.text) and not self.ends_expression(end, skipped="([{"):
            end = (self.match.get(end, end) if self.text[end] in "([{" else end) + 1
        return start + 1, end

    def ends_expression(self, position, skipped):
        """Whether a full expression ends here; `skipped` are the brackets that do not enclose it."""
        char = self.text[position]
        if char in "{}":
            kind = self.kinds.get(min(position, self.match.get(position, position)))
            return kind != "value" and not (kind == "lambda" and char in skipped)
        if char in "()":
            opening = min(position, self.match.get(position, position))
            return bool(re.search(CONTROL + "$", self.text[max(0, opening - 40):opening]))
        return char == ";"


def findings(path, text):
    """(finding, intended) of each."""
    source = Source(text)
    places = {
        "condition": source.conditions(),
        "lambda": source.temporary_lambdas(),
        "conditional": source.temporaries_of_conditionals(),
        "aggregate": source.braced_arguments(),
        "dangling_lambda": source.dangling_lambdas(),
    }
    found = sorted({Finding(path, source.line_of(place), rule) for rule, all_of_it in places.items() for place in all_of_it})
    return [(finding, is_intended(source.lines, finding.line)) for finding in found]
