"""gdb's view of coracle's coroutines: `source` this file, then `help coracle` (docs/debugging.md)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from coracle_debugger import commands  # noqa: E402

commands.register()
