"""What host_gdb.py and host_lldb.py return."""
import collections
import re

Symbol = collections.namedtuple("Symbol", "name offset is_code")
Field = collections.namedtuple("Field", "name offset type is_base")  # of a class, by bytes
Variable = collections.namedtuple("Variable", "name address type")
Instruction = collections.namedtuple("Instruction", "address size text")  # in AT&T's syntax


def as_compiled(symbol):
    """Without what link-time optimisation appends, as the `.lto_priv.0` of g++ and the `.llvm.42` of clang."""
    suffix = r"\.(?:lto_priv|llvm)\.\d+"
    return re.sub(rf" \[clone {suffix}\]| \({suffix}\)|{suffix}", "", symbol)
