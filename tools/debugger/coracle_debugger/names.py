"""Names of symbols as a person would write them."""
import re

from . import host

_symbols = {}


def symbol_at(address):
    """The demangled symbol that begins there, or None."""
    if address not in _symbols:
        found = host.symbol(address)
        _symbols[address] = found.name if found is not None and not found.offset else None
    return _symbols[address]


def symbol_around(address):
    """The demangled symbol that has the address, or None."""
    found = host.symbol(address)
    return found.name if found is not None else None


def object_at(address):
    """The global object there, as `bank` or `bank + 24`, or None."""
    found = host.symbol(address)
    if found is None or found.is_code:
        return None
    name = _of_mangled(found.name) if found.name.startswith("_Z") else found.name
    return tidy(name) + (f" + {found.offset}" if found.offset else "")


def forget():
    """After symbols were loaded."""
    _symbols.clear()


def tidy(name):
    """Without what the library adds for the linker."""
    name = re.sub(r"\[abi:\w+\]|\(anonymous namespace\)::", "", name)
    name = re.sub(r"\bstd::__(n4861|cxx11)::", "std::", name)
    name = re.sub(r"\bstd::basic_string<char, std::char_traits<char>, std::allocator<char> ?>", "std::string", name)
    name = name.replace("async_barrier<coracle::detail::nothing_to_complete>", "async_barrier<>")
    return re.sub(r"\bcoracle::(detail::)?(links_of_one_word::|native::)?", "", name)


def without_parameters(name):
    """`f` of `f(int)`, and `main::{lambda(int)#1}::operator()` of such an operator."""
    name = re.sub(r"( const)?( &&?)?( noexcept)?$", "", name)
    if not name.endswith(")"):
        return name
    depth = 0
    for index in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[index], 0)
        if depth == 0:
            return name if index == 0 or name[:index].endswith("operator") else name[:index]
    return name


def of_coroutine(symbol, clones=(".resume", ".actor")):
    """The function of which this is the resume function, as clang and g++ call it, or None."""
    function, _, clone = (symbol or "").rpartition(" [clone ")
    if clone.removesuffix("]") in clones:
        return short(_without_arguments_of_classes(without_parameters(tidy(function))))
    mangled, dot, clone = (symbol or "").rpartition(".")
    return tidy(_of_mangled(mangled)) if mangled.startswith("_Z") and dot + clone in clones else None


def _without_arguments_of_classes(name):
    """`single_flight::run` of `single_flight<int, page>::run`."""
    kept, depth, begin = "", 0, 0
    for index, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "<" and depth == 1:
            kept, begin = kept + name[begin:index], index
        elif letter == ">" and depth == 0 and name.startswith("::", index + 1):
            begin = index + 1
    return kept + name[begin:] if "operator" not in name else name


def _of_mangled(mangled):
    """The name of a function, of a symbol that the debugger cannot demangle: gdb 13 those of clang's constrained templates."""
    rest, parts = re.sub("^_Z(N[rVKRO]*|L)?", "", mangled), []
    while number := re.match(r"(?:L|St)?(\d+)", rest):
        end = number.end() + int(number[1])
        parts.append(rest[number.end():end])
        rest = re.sub(r"^(B\d+[a-z_]+)+", "", rest[end:])
    return "::".join(part for part in parts if part != "_GLOBAL__N_1") or mangled


def of_destroyed(symbol):
    """The coroutine function of which this is the destroy function, or None."""
    return of_coroutine(symbol, (".destroy", ".cleanup"))


def short(name):
    """`lambda in f` of the operator of a lambda in `f(int)`; `f` of `task<int> f<int>`."""
    of_lambda = re.match(r"(.*?)::(\{lambda\(.*|\$_\d+|'lambda\d*'.*)::operator\(\)(<.*>)?$", name)
    if of_lambda and of_lambda.group(1).count("<") == of_lambda.group(1).count(">"):  # not within template arguments
        return "lambda in " + short(without_parameters(of_lambda.group(1)))
    if name.endswith(">") and not name.endswith("operator>"):
        depth = 0
        for index in range(len(name) - 1, -1, -1):
            depth += {">": 1, "<": -1}.get(name[index], 0)
            if depth == 0:
                name = name[:index]
                break
    # What is left before the last space outside of brackets is the type that it returns.
    depth = 0
    for index in range(len(name) - 1, -1, -1):
        depth += (name[index] in ">)]}") - (name[index] in "<([{")
        if name[index] == " " and depth == 0 and "operator" not in name[:index].rsplit("::", 1)[-1]:
            return name[index + 1:]
    return name


def short_type(name):
    """Without what the library adds, and without template arguments."""
    return re.sub(r"<.*>$", "", tidy(name))


def template_arguments(name, template):
    """The arguments of the first `template<...>` in a name."""
    begin = name.find(template + "<")
    if begin < 0:
        return []
    found, depth, start = [], 0, begin + len(template) + 1
    for index in range(start, len(name)):
        letter = name[index]
        if letter in "<({[":
            depth += 1
        elif letter in ")}]" or (letter == ">" and depth):
            depth -= 1
        elif letter == ">" or (letter == "," and depth == 0):
            found.append(name[start:index].strip())
            start = index + 1
            if letter == ">":
                return found
    return found


def file_name(path):
    """Without its folders."""
    return path.rsplit("/", 1)[-1]
