"""What host_gdb.py and host_lldb.py return."""
import collections

Symbol = collections.namedtuple("Symbol", "name offset is_code")
Field = collections.namedtuple("Field", "name offset type is_base")  # of a class, by bytes
Variable = collections.namedtuple("Variable", "name address type")
Instruction = collections.namedtuple("Instruction", "address size text")  # in AT&T's syntax
