"""lldb's view of coracle's coroutines: `command script import` this file, then `help coracle` (docs/debugging.md)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from coracle_debugger import commands, host  # noqa: E402


def __lldb_init_module(debugger, _names):
    host.use(debugger)
    commands.register()
