"""Finds and describes suspended coroutines from outside the process: it only reads memory and symbols.

All that it needs of a debugger is `host`: host_gdb.py or host_lldb.py, which define the same names."""
try:
    from . import host_gdb as host
except ImportError:  # there is no module `gdb` outside of gdb
    from . import host_lldb as host
