"""Decides whether any thread can observe the order of two statements: if none can, swapping them is no mutant.

A compiler may swap two plain or relaxed accesses to different objects, or move the declaration of a local that starts with a
constant past anything that does not name it, so no test can detect either. Nor can a test detect where a precondition on locals
is checked: a program that violates it ends either way. Anything this does not recognise counts as seen: any other call, an
access with a stronger order, a write through a pointer, a jump, a loop.
"""
import re

NAME = re.compile(r"[A-Za-z_]\w*")
PATH = r"((?:\w+(?:\.|->))*\w+)"
CALL = re.compile(r"((?:\w+(?:::|\.|->))*)(\w+)(?:<[^<>()]*>)?\s*\(")
WRITES = re.compile(rf"{PATH}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|(?:\+\+|--)\s*{PATH}|{PATH}\s*(?:\+\+|--)|"
                    rf"std::exchange\(\s*{PATH}\s*,|{PATH}(?:\.|->)store\(")
INDIRECT = re.compile(r"(?:^|[=(;]\s*)\*|\)\s*=(?!=)|\]\s*=(?!=)|&\s*\w+\s*=")
UNKNOWN = re.compile(r"[{}\[\]]|\b(?:if|while|for|do|switch|try|new|delete|return|break|continue|throw|goto|co_\w+)\b|"
                     r"memory_order_(?!relaxed)")
NEUTRAL = {"static_cast", "reinterpret_cast", "sizeof", "load", "store", "move", "exchange", "min", "max"}
CONSTANT = re.compile(r"(?!(?:delete|return|throw|goto|co_\w+)\b)[\w:]+(?:<[^;={}()]*>)?[\s*]+(\w+)"
                      r"(?:\s*=\s*(?:nullptr|true|false|\d+|\w+::\w+))?;")
# A check of names that are no members, and of constants.
CHECK = re.compile(r"CORACLE_REQUIRE\(((?:\w+\b(?<!_)|max\(\)|[\s()&|!=<>+*/%-]|::)+?),.*\);")


def declared_constant(text):
    """Returns the local that the statement declares if its initialiser is a constant or missing; otherwise None."""
    found = CONSTANT.fullmatch(text.strip())
    return found[1] if found else None


def accesses(text):
    """Returns what the statement writes and everything that it names, or None if it may do anything else."""
    if UNKNOWN.search(text) or INDIRECT.search(text):
        return None
    for objects, function in CALL.findall(text):
        is_atomic = function in ("load", "store")
        if function not in NEUTRAL or is_atomic != bool(re.search(r"\.|->", objects)):
            return None
    if len(re.findall(r"\b(?:load|store)\(", text)) != text.count("memory_order_relaxed"):
        return None
    written = {re.split(r"\.|->", path)[-1] for paths in WRITES.findall(text) for path in paths if path}
    return written, set(NAME.findall(text))


def commute(one, other):
    for local, rest in ((declared_constant(one), other), (declared_constant(other), one)):
        if local:
            return local not in NAME.findall(rest)
    for check, rest in ((CHECK.fullmatch(one), other), (CHECK.fullmatch(other), one)):
        if check and "->" not in check[1]:
            written = {re.split(r"\.|->", path)[-1] for paths in WRITES.findall(rest) for path in paths if path}
            return not written & set(NAME.findall(check[1]))
    first, second = accesses(one), accesses(other)
    return first is not None and second is not None and not (first[0] & second[1] or second[0] & first[1])
