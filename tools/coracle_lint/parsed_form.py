"""The rules on the syntax tree of libclang, which sees through names, aliases and conversions."""
import ctypes
import functools
import sys
from pathlib import Path

from findings import Finding, is_intended

try:
    from clang import cindex
except ImportError:  # a Python that is not Debian's does not look where Debian's packages are
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        from clang import cindex
    except ImportError:
        cindex = None

# Coroutines that have run to their end when their call returns.
RUNS_IN_ITS_CALL = {"optional", "expected"}
# Their arguments outlive the full expression.
KEEPS_ITS_ARGUMENT = {"spawn", "spawn_future", "push_back", "emplace_back", "emplace", "insert", "push"}


@functools.cache
def why_missing():
    """Why there is no parser; empty if there is one."""
    if cindex is None:
        return "no Python bindings of libclang (Debian: python3-clang-22 or python3-clang-19)"
    library = cindex.conf.get_filename()
    for name in (library, library + ".1"):  # the first comes with the package for developers
        cindex.Config.library_file = name
        try:
            cindex.Index.create()
            return ""
        except cindex.LibclangError as error:
            why = str(error).split("To provide")[0].strip()
    return why


class DoesNotParse(Exception):
    pass


def parse(path, flags, text=None, language="c++"):
    """Raises DoesNotParse, with the first error."""
    unsaved = [(path, text)] if text is not None else None
    # The rules look at templates as they are written, so their bodies need not be instantiated at the end of the unit.
    how = cindex.TranslationUnit.PARSE_INCOMPLETE
    try:
        # Declarations from a precompiled header are left out: findings() does not look at them, and to list them takes longer than
        # to parse a small file.
        unit = cindex.Index.create(excludeDecls=True).parse(path, ["-x", language, *flags, "-w", "-ferror-limit=1"], unsaved, how)
    except cindex.TranslationUnitLoadError:
        raise DoesNotParse("libclang cannot read it") from None
    for found in unit.diagnostics:
        if found.severity >= cindex.Diagnostic.Error:
            raise DoesNotParse(f"{found.location.file}:{found.location.line}: {found.spelling}")
    return unit


def findings(path, flags, text=None, is_ours=None):
    """(finding, intended) of each in the unit `path`, and in the headers of which `is_ours(name)` is true."""
    unit = parse(path, flags, text)
    sources = Sources(path, text)
    found = set()
    for cursor in unit.cursor.get_children():
        file = cursor.location.file
        if file and (file.name == path or (is_ours and is_ours(file.name))):
            found |= set(Declarations(sources).visit(cursor))
    return [(finding, is_intended(sources.lines(finding.path), finding.line)) for finding in sorted(found)]


def precompile(header, flags):
    """Parses a header once. Gives the flags for the units that are to have all of it."""
    unit = parse(header, flags, language="c++-header")
    unit.save(header + ".pch")
    return [*flags, "-include-pch", header + ".pch"]


def place(location):
    """(file, line, offset) where it is written, in the argument of a macro too; no file: nowhere."""
    file, line, column, offset = cindex.c_object_p(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    cindex.conf.lib.clang_getFileLocation(location, *map(ctypes.byref, (file, line, column, offset)))
    if not file:
        return "", 0, 0
    return cindex.File(file).name, line.value, offset.value


class Sources:
    """The text that the places of a syntax tree refer to."""

    def __init__(self, path, text):
        self.texts = {} if text is None else {path: text.encode()}

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = Path(name).read_bytes()
        return self.texts[name]

    def lines(self, name):
        return self.text(name).decode(errors="replace").splitlines()

    def starts_with(self, cursor, words):
        """`words`: one, or a tuple of which one is enough."""
        file, _, start = place(cursor.extent.start)
        return bool(file) and self.text(file).startswith(words, start)

    def is_followed_by(self, cursor, word):
        file, _, end = place(cursor.extent.end)
        return bool(file) and self.text(file)[end:end + 200].lstrip().startswith(word)

    def is_argument(self, cursor):
        file, _, start = place(cursor.extent.start)
        return bool(file) and self.text(file)[max(0, start - 200):start].rstrip().endswith((b"(", b","))

    def between(self, first, second):
        (file, _, end), (_, _, start) = place(first.extent.end), place(second.extent.start)
        return self.text(file)[end:start].decode(errors="replace").strip(" \t\n()") if file else ""

    def of(self, cursor):
        (file, _, start), (_, _, end) = place(cursor.extent.start), place(cursor.extent.end)
        return self.text(file)[start:end].decode(errors="replace") if file else ""


# ---- types ---------------------------------------------------------------------------------------------

def template_of(cursor):
    """What an instantiation is made of; none: it is not one."""
    found = cindex.conf.lib.clang_getSpecializedCursorTemplate(cursor)
    if found is None or found == cindex.conf.lib.clang_getNullCursor():
        return None
    found._tu = cursor._tu  # which keeps it alive
    return found


def declaration(of_type):
    return of_type.get_canonical().get_declaration()


def needs_destructor(of_type, depth=0):
    """Whether an object of the type has a destructor that does something. False where that is not known."""
    of_type = of_type.get_canonical()
    if of_type.kind == cindex.TypeKind.CONSTANTARRAY:
        return needs_destructor(of_type.element_type, depth)
    return record_needs_destructor(declaration(of_type), of_type, depth)


@functools.lru_cache(maxsize=None)
def _known(usr, spelling):
    return []


def record_needs_destructor(record, of_type, depth):
    records = (cindex.CursorKind.STRUCT_DECL, cindex.CursorKind.CLASS_DECL, cindex.CursorKind.UNION_DECL,
               cindex.CursorKind.CLASS_TEMPLATE, cindex.CursorKind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION)
    if depth > 12 or record.kind not in records:
        return False
    known = _known(record.get_usr(), of_type.spelling)
    if not known:
        known.append(compute_needs_destructor(record, of_type, depth))
    return known[0]


def compute_needs_destructor(record, of_type, depth):
    # What an implicit instantiation declares stands in its template.
    pattern = template_of(record) or record
    declared = list((pattern.get_definition() or pattern).get_children())
    if any(child.kind == cindex.CursorKind.DESTRUCTOR and not child.is_default_method() for child in declared):
        return True
    fields = list(of_type.get_fields()) or [c for c in declared if c.kind == cindex.CursorKind.FIELD_DECL]
    bases = [c for c in declared if c.kind == cindex.CursorKind.CXX_BASE_SPECIFIER]
    if hasattr(of_type, "get_bases"):
        bases = list(of_type.get_bases()) or bases
    return any(needs_destructor(part.type, depth + 1) for part in fields + bases)


def is_reference(of_type):
    return of_type.get_canonical().kind in (cindex.TypeKind.LVALUEREFERENCE, cindex.TypeKind.RVALUEREFERENCE)


def runs_later(of_type):
    """Whether a coroutine that returns this goes on after its call."""
    record = declaration(of_type)
    return bool(record.spelling) and record.spelling not in RUNS_IN_ITS_CALL


# ---- the tree ------------------------------------------------------------------------------------------

class Declarations:
    """Visits what is declared, down to the bodies of functions."""

    def __init__(self, sources):
        self.sources = sources

    def visit(self, cursor):
        body = self.body(cursor)
        if body:
            yield from Body(self.sources, cursor, *body).findings()
            return
        if cursor.kind.is_expression():
            for part in self.lambdas(cursor):
                yield from self.visit(part)
            return
        for child in cursor.get_children():
            yield from self.visit(child)

    def lambdas(self, cursor):
        for child in cursor.walk_preorder():
            if child.kind == cindex.CursorKind.LAMBDA_EXPR:
                yield child

    @staticmethod
    def body(cursor):
        """(the outermost block, whether it is a coroutine) of what has one."""
        if not (cursor.kind.is_declaration() or cursor.kind == cindex.CursorKind.LAMBDA_EXPR):
            return None
        if cursor.kind in (cindex.CursorKind.NAMESPACE, cindex.CursorKind.LINKAGE_SPEC, cindex.CursorKind.VAR_DECL):
            return None
        for child in cursor.get_children():
            if child.kind == cindex.CursorKind.COMPOUND_STMT:
                return child, False
            if child.kind == cindex.CursorKind.CXX_TRY_STMT:
                return child, False
            if child.kind == cindex.CursorKind.UNEXPOSED_STMT:
                block = next(child.get_children(), None)
                # Behind the block stand what the promise does, which nobody wrote.
                if block and block.kind in (cindex.CursorKind.COMPOUND_STMT, cindex.CursorKind.CXX_TRY_STMT):
                    return block, True
        return None


class Body:
    """The body of one function; those of the functions inside are visited as their own."""

    def __init__(self, sources, function, block, is_coroutine):
        self.sources, self.function, self.block, self.is_coroutine = sources, function, block, is_coroutine
        self.declares = False
        self.awaiting_conditions = []
        self.found = []

    def findings(self):
        self.statement(self.block)
        yield from self.found
        if not self.declares:
            for place in self.awaiting_conditions:
                yield self.finding(place, "condition")

    @staticmethod
    def finding(cursor, rule):
        file, line, _ = place(cursor.extent.start)
        return Finding(file, line, rule)

    def add(self, cursor, rule):
        self.found.append(self.finding(cursor, rule))

    # ---- statements ------------------------------------------------------------------------------------

    def statement(self, cursor):
        kinds = cindex.CursorKind
        for child in cursor.get_children():
            if child.kind.is_expression():
                self.full_expression(child, cursor)
            elif child.kind == kinds.DECL_STMT:
                self.declaration_statement(child)
            elif child.kind == kinds.VAR_DECL:  # of a condition, a range-for or a handler
                self.declares = True
                self.variable(child, cursor)
            elif child.kind.is_declaration():
                self.found += Declarations(self.sources).visit(child)
            else:
                self.statement(child)

    def declaration_statement(self, cursor):
        kinds = cindex.CursorKind
        for child in cursor.get_children():
            if child.kind == kinds.STATIC_ASSERT:
                continue
            self.declares = True
            if child.kind == kinds.VAR_DECL:
                self.variable(child, cursor)
            elif child.kind.is_expression():  # of a structured binding
                self.full_expression(child, cursor, stored=True)
            else:
                self.found += Declarations(self.sources).visit(child)

    def variable(self, cursor, statement):
        for child in cursor.get_children():
            if child.kind.is_expression():
                self.full_expression(child, statement, stored=True)

    def full_expression(self, root, statement, stored=False):
        kinds = cindex.CursorKind
        nodes = list(self.nodes(root))
        awaits = [node for node, _ in nodes if self.suspends(node)]
        returned = statement.kind == kinds.RETURN_STMT or self.sources.starts_with(statement, b"co_return")
        if awaits:
            self.awaiting(root, statement, nodes, awaits)
            self.evaluated_early(nodes, initialises=stored)
        if statement.kind == kinds.CXX_FOR_RANGE_STMT:
            stored = True
        for node, parents in nodes:
            if node.kind == kinds.LAMBDA_EXPR:
                self.found += Declarations(self.sources).visit(node)
            elif node.kind == kinds.CALL_EXPR and self.outlives(parents, stored or returned, awaits):
                self.call_that_outlives(node)

    def nodes(self, cursor, parents=()):
        """Each expression of a full expression with those around it; of what is awaited, what is written."""
        yield cursor, parents
        if cursor.kind == cindex.CursorKind.LAMBDA_EXPR:
            captured = [child for child in cursor.get_children() if child.kind.is_expression()]
            inside = captured
        elif self.suspends(cursor):
            inside = [next(cursor.get_children())]
        else:
            inside = cursor.get_children()
        for child in inside:
            if child.kind.is_expression():
                yield from self.nodes(child, (*parents, cursor))

    def suspends(self, cursor):
        """A co_await or co_yield: what libclang has no name for, and begins before what is awaited."""
        if cursor.kind != cindex.CursorKind.UNEXPOSED_EXPR:
            return False
        if not self.sources.starts_with(cursor, (b"co_await", b"co_yield")):
            return False
        operand = next(cursor.get_children(), None)
        if operand is None:
            return False
        if operand.kind == cindex.CursorKind.CALL_EXPR and operand.spelling == "yield_value":
            return True  # this call, whose argument is written, begins where the co_yield does
        return place(operand.extent.start)[2] > place(cursor.extent.start)[2]

    # ---- what g++ 12 breaks ----------------------------------------------------------------------------

    def awaiting(self, root, statement, nodes, awaits):
        kinds = cindex.CursorKind
        if self.is_condition(root, statement):
            self.awaiting_conditions.append(root)
        if statement.kind == kinds.FOR_STMT and self.sources.is_followed_by(root, b")"):
            if any(self.is_dependent_increment(node) for node in awaits):
                self.add(root, "step")
        for node, parents in nodes:
            if node.kind == kinds.CALL_EXPR and any(map(needs_destructor, self.default_aggregates(node))):
                self.add(root, "aggregate")
            if node.kind == kinds.INIT_LIST_EXPR or self.is_parenthesized_aggregate(node):
                self.braces(node, parents)
            elif node.kind == kinds.LAMBDA_EXPR:
                if any(needs_destructor(captured.type) for captured in node.type.get_fields()):
                    self.add(node, "lambda")
            elif node.kind == kinds.CONDITIONAL_OPERATOR and self.makes_object(node):
                self.add(node, "conditional")

    @staticmethod
    def default_aggregates(call):
        """The types of the aggregates that default arguments of the call make, which stand nowhere in it."""
        called = call.referenced
        if called is None:
            return
        for argument, parameter in zip(call.get_arguments(), called.get_arguments()):
            if argument is not None and not place(argument.extent.start)[0]:
                for part in parameter.walk_preorder():
                    if part.kind == cindex.CursorKind.INIT_LIST_EXPR:
                        yield part.type

    def is_condition(self, root, statement):
        """Whether an expression stands in the condition, not as the statement behind it."""
        kinds = cindex.CursorKind
        if statement.kind == kinds.DO_STMT:
            return list(statement.get_children())[-1] == root
        if statement.kind == kinds.FOR_STMT:
            file, _, start = place(statement.extent.start)
            before = self.sources.text(file)[start:place(root.extent.start)[2]]
            return list(statement.get_children())[-1] != root and before.count(b";") == 1
        return (statement.kind in (kinds.IF_STMT, kinds.WHILE_STMT, kinds.SWITCH_STMT) and
                self.sources.is_followed_by(root, b")"))

    def is_dependent_increment(self, node):
        operand = self.sources.of(next(node.get_children()))
        return node.type.kind == cindex.TypeKind.DEPENDENT and operand.startswith("++")

    def is_parenthesized_aggregate(self, node):
        """`T(a, b)`, which C++20 initialises as `T{a, b}`: no constructor is called."""
        return (node.kind == cindex.CursorKind.CXX_FUNCTIONAL_CAST_EXPR and self.sources.of(node).endswith(")") and
                any(child.kind == cindex.CursorKind.UNEXPOSED_EXPR and needs_destructor(child.type) and
                    not child.spelling and self.sources.of(child).startswith("(") for child in node.get_children()))

    def braces(self, node, parents):
        if parents and any(parent.kind == cindex.CursorKind.INIT_LIST_EXPR for parent in parents):
            return  # a part of what is found
        spelling = node.type.get_canonical().spelling
        # Around the array stand its materialisation, the binding of its destructor, if it has one, and the list.
        if any("initializer_list<" in parent.type.get_canonical().spelling for parent in parents[-3:]):
            self.add(node, "initializer_list")
        elif needs_destructor(node.type):
            self.add(node, "aggregate")
        elif spelling == "void" and self.sources.is_argument(node):
            # In a template the type is not known. It may be an aggregate.
            if any(needs_destructor(part.type) for part in node.get_children()):
                self.add(node, "aggregate")

    def makes_object(self, conditional):
        """Whether the ?: makes an object of its own, and does not name one of two others."""
        operands = list(conditional.get_children())[1:]
        return needs_destructor(conditional.type) and not all(map(self.is_lvalue, operands))

    # ---- what every g++ breaks -------------------------------------------------------------------------

    def evaluated_early(self, nodes, initialises):
        """Finds operands that are evaluated only after an await beside them, or never, and make temporaries."""
        for node, _ in nodes:
            children = list(node.get_children())
            if node.kind == cindex.CursorKind.BINARY_OPERATOR and len(children) == 2:
                operator = self.sources.between(*children)
                if operator not in ("&&", "||", "and", "or") and (operator != "," or initialises):
                    continue
            elif node.kind != cindex.CursorKind.CONDITIONAL_OPERATOR or initialises:
                continue
            if not self.awaits_in(children[0]) or any(map(self.awaits_in, children[1:])):
                continue  # where an operand awaits, g++ is right
            if any(self.is_varying_temporary(*each) for child in children[1:] for each in self.nodes(child)):
                self.add(children[1], "early")

    def awaits_in(self, cursor):
        return any(self.suspends(inner) for inner, _ in self.nodes(cursor))

    def is_varying_temporary(self, node, parents):
        """An object that an expression makes, or a value that a reference parameter needs in memory, unless it is constant."""
        if self.is_lvalue(node):
            return False
        if node.kind == cindex.CursorKind.CALL_EXPR and node.type.get_canonical().kind == cindex.TypeKind.RECORD:
            return self.varies(node)
        return bool(parents) and self.is_bound(node, parents[-1]) and self.varies(node)

    @staticmethod
    def is_bound(node, call):
        """Whether it is the argument of a parameter that is a reference."""
        called = call.referenced if call.kind == cindex.CursorKind.CALL_EXPR else None
        function = called and called.type.get_canonical()
        if not function or function.kind != cindex.TypeKind.FUNCTIONPROTO:
            return False
        return any(argument == node and is_reference(parameter)
                   for argument, parameter in zip(call.get_arguments(), function.argument_types()))

    def varies(self, node):
        """Whether the value may be another after the await: it is made of more than constants."""
        for inner, _ in self.nodes(node):
            if inner.kind == cindex.CursorKind.CALL_EXPR and not self.is_construction(inner):
                called = inner.referenced
                if called is None or not called.spelling.startswith(('operator""', 'operator ""')):
                    return True
            if inner.kind in (cindex.CursorKind.DECL_REF_EXPR, cindex.CursorKind.MEMBER_REF_EXPR):
                named = inner.referenced
                variables = (cindex.CursorKind.VAR_DECL, cindex.CursorKind.PARM_DECL, cindex.CursorKind.FIELD_DECL)
                if named is not None and named.kind in variables and not named.type.is_const_qualified():
                    return True
        return False

    # ---- what dangles ----------------------------------------------------------------------------------

    def outlives(self, parents, stored, awaits):
        """Whether what a call returns is used after its full expression, as far as that can be seen."""
        for parent in reversed(parents):
            if parent.kind == cindex.CursorKind.CALL_EXPR:
                if parent.spelling in KEEPS_ITS_ARGUMENT:
                    return True
                if parent.spelling == "operator=":
                    return not awaits
                if parent.spelling not in ("move", "forward") and not self.is_construction(parent):
                    return False
            elif parent.kind not in (cindex.CursorKind.UNEXPOSED_EXPR, cindex.CursorKind.PAREN_EXPR,
                                     cindex.CursorKind.INIT_LIST_EXPR, cindex.CursorKind.CONDITIONAL_OPERATOR):
                return False
        return stored and not awaits

    @staticmethod
    def is_construction(call):
        called = call.referenced
        return called is not None and called.kind == cindex.CursorKind.CONSTRUCTOR

    def call_that_outlives(self, call):
        called = call.referenced
        if called is None or not runs_later(call.type):
            return
        children = list(call.get_children())
        if not children:
            return
        object_of_call = self.object_of(call, called, children)
        if object_of_call is not None and object_of_call.kind == cindex.CursorKind.LAMBDA_EXPR:
            body = Declarations.body(object_of_call)
            if body and body[1] and list(object_of_call.type.get_fields()):
                self.add(object_of_call, "dangling_lambda")
        if not self.is_lazy_coroutine(called, call.type):
            return
        function = called.type.get_canonical()  # not the type with attributes, which has no parameters
        if function.kind != cindex.TypeKind.FUNCTIONPROTO:
            return
        parameters = list(function.argument_types())
        # Before the arguments of operator() stands its object.
        given = list(call.get_arguments())[-len(parameters):] if parameters else []
        for argument, parameter in zip(given, parameters):
            if is_reference(parameter) and place(argument.extent.start)[0] and not self.is_lvalue(argument):
                self.add(argument, "dangling_argument")

    @staticmethod
    def object_of(call, called, children):
        """The object of a call of a lambda, which stands before the function."""
        if called.spelling != "operator()":
            return None
        inner = children[0]
        while inner.kind in (cindex.CursorKind.UNEXPOSED_EXPR, cindex.CursorKind.PAREN_EXPR):
            inner = next(inner.get_children(), None)
            if inner is None:
                return None
        return inner

    @staticmethod
    def is_lazy_coroutine(called, returned):
        if declaration(returned).spelling not in ("task", "shared_task", "generator", "recursive_generator",
                                                  "async_generator"):
            return False
        definition, pattern = called.get_definition(), template_of(called)
        # A member template of a class template is made of one that is itself made of another.
        while definition is None and pattern:
            definition, pattern = pattern.get_definition(), template_of(pattern)
        if definition is None:
            return True
        body = Declarations.body(definition)
        return body is None or body[1]

    def is_lvalue(self, cursor):
        """As far as it is known: a name, a member, an element, what a reference refers to."""
        kinds = cindex.CursorKind
        while cursor.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR):
            inner = next(cursor.get_children(), None)
            if inner is None:
                return False
            cursor = inner
        if cursor.kind == kinds.UNARY_OPERATOR:
            return self.sources.of(cursor).startswith(("*", "++", "--"))
        if cursor.kind == kinds.CALL_EXPR:
            called = cursor.referenced
            return called is None or called.kind != kinds.CONSTRUCTOR and is_reference(called.result_type)
        if cursor.kind == kinds.CONDITIONAL_OPERATOR:
            return all(self.is_lvalue(operand) for operand in list(cursor.get_children())[1:])
        if cursor.kind == kinds.BINARY_OPERATOR:
            return self.sources.between(*cursor.get_children()) in ("=", ",", "->*", ".*")
        return cursor.kind in (kinds.DECL_REF_EXPR, kinds.MEMBER_REF_EXPR, kinds.ARRAY_SUBSCRIPT_EXPR,
                               kinds.CXX_STATIC_CAST_EXPR, kinds.CXX_THIS_EXPR, kinds.STRING_LITERAL,
                               kinds.COMPOUND_ASSIGNMENT_OPERATOR)
