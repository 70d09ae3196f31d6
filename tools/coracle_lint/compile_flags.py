"""The flags that a file is compiled with, as far as a parser needs them."""
import json
import shlex
from pathlib import Path

# With the argument behind them.
WITH_ARGUMENT = {"-I", "-isystem", "-iquote", "-idirafter", "-D", "-U", "-include", "-isysroot", "--sysroot"}
BEGINNINGS = ("-I", "-D", "-U", "-std=", "-isystem", "-iquote", "-stdlib=", "-m", "--sysroot=")
WHOLE = {"-pthread", "-fno-exceptions", "-fexceptions", "-fno-rtti", "-frtti", "-fchar8_t", "-fno-char8_t"}


def for_parser(flags):
    """Those of `flags` that change what a program means; g++ has others that clang refuses."""
    kept, rest = [], iter(flags)
    for flag in rest:
        if flag in WITH_ARGUMENT:
            kept += [flag, next(rest, "")]
        elif flag in WHOLE or flag.startswith(BEGINNINGS):
            kept.append(flag)
    if not any(flag.startswith("-std=") for flag in kept):
        kept.append("-std=c++20")
    return kept


def of_build(folder):
    """Of each file in the compile_commands.json of a build: its flags."""
    database = Path(folder)
    if database.is_dir():
        database /= "compile_commands.json"
    flags = {}
    for entry in json.loads(database.read_text()):
        words = entry.get("arguments") or shlex.split(entry["command"])
        path = Path(entry["directory"], entry["file"]).resolve()
        flags[str(path)] = [*for_parser(words[1:]), f"-working-directory={entry['directory']}"]
    return flags
