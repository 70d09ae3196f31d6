#!/usr/bin/env python3
"""Finds coroutines that g++ miscompiles, and tasks that dangle with every compiler.

usage: coracle-lint [--require-parser] FILE... [-- FLAG...]
       coracle-lint [--require-parser] -p BUILD [FILE...]

It parses each FILE with libclang (Debian: python3-clang-22 or python3-clang-19), with the FLAGs of its compilation, or
with those in compile_commands.json of the folder BUILD (without FILE: all files there). It checks FILE and the
headers in the same folder that FILE includes. Without libclang, or if a file does not parse, it says so and matches the text
without types, which finds less; --require-parser makes that an error.

`// lint: intended` on a line suppresses its findings. The exit status is 1 if there are findings, 2 if the check could not
run. Findings:

"""
import signal
import sys
from pathlib import Path

import compile_flags
import parsed_form
import text_form
from findings import MESSAGES


def look(path, flags, require_parser):
    """The findings in a file; None where it had to be parsed and could not."""
    why = parsed_form.why_missing()
    if not why:
        folder = f"{Path(path).resolve().parent}/"
        try:
            return parsed_form.findings(path, flags, is_ours=lambda name: str(Path(name).resolve()).startswith(folder))
        except parsed_form.DoesNotParse as error:
            why = f"it does not parse: {error}"
            if flags == compile_flags.for_parser([]):
                why += "; give the flags of its compilation, with -- FLAG... or -p BUILD"
        except OSError as error:
            why = str(error)
            require_parser = True
    print(f"{path}: {'error' if require_parser else 'looked at as text only'}: {why}", file=sys.stderr)
    if require_parser:
        return None
    return text_form.findings(path, Path(path).read_text(errors="replace"))


def arguments(words):
    """(files with their flags, whether the parser is required); raises ValueError."""
    words, _, flags = (words[:words.index("--")], "", words[words.index("--") + 1:]) if "--" in words else (words, "", [])
    require_parser = "--require-parser" in words
    words = [word for word in words if word != "--require-parser"]
    known = {}
    if "-p" in words:
        at = words.index("-p")
        known = compile_flags.of_build(words[at + 1])
        del words[at:at + 2]
        words = words or list(known)
    if not words or any(word.startswith("-") for word in words):
        raise ValueError
    own = compile_flags.for_parser(flags)
    return [(word, known.get(str(Path(word).resolve()), own)) for word in words], require_parser


def usage():
    return __doc__ + "\n".join(f"  {rule}\n      {message}" for rule, message in MESSAGES.items())


def main():
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(usage())
        return 0
    try:
        files, require_parser = arguments(sys.argv[1:])
    except (ValueError, IndexError, OSError) as error:
        print(error if isinstance(error, OSError) else "\n".join(__doc__.splitlines()[2:4]), file=sys.stderr)
        return 2
    found, failed = set(), False
    for path, flags in files:
        of_file = look(path, flags, require_parser)
        failed |= of_file is None
        found |= {finding for finding, intended in of_file or [] if not intended}
    for finding in sorted(found):
        print(finding)
    print(f"{len(files)} files, {len(found)} findings", file=sys.stderr)
    return 2 if failed else 1 if found else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the reader of the output may need only its beginning, as `head` does
    sys.exit(main())
