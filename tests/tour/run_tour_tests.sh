#!/usr/bin/env bash
# tests/tour/run_tour_tests.sh -- runs coracle-tour as its users do and looks at what comes out.
# SPDX-License-Identifier: MIT
# usage: run_tour_tests.sh BINARY
set -uo pipefail
(($# == 1)) || { echo "usage: run_tour_tests.sh BINARY" >&2; exit 2; }
tour=$(readlink -f "$1")
[[ -x $tour ]] || { echo "run_tour_tests.sh: no program $1" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stations=(frame tasks sync context generators memory scope cancellation channels io seed deadlock interleavings index)
failed=0

# check NAME COMMAND...: one line; the command's output only if it fails.
check() {
  local name=$1
  shift
  if "$@" >"$work/check.log" 2>&1; then
    echo "ok    $name"
  else
    echo "FAIL  $name"
    head -n 20 "$work/check.log" | sed 's/^/      /'
    failed=1
  fi
}

make_tree() {
  mkdir -p "$work/tree/below"
  printf 'alpha beta alpha\nbeta alpha\n' >"$work/tree/one.txt"
  printf 'alpha gr\xfc\xdf "quoted" <tag> \\back & \x01\x1b[31mred\n' >"$work/tree/below/two.txt"
  printf 'binary\0file\n' >"$work/tree/below/three.bin"
}

no_controls() { # FILE: nothing below a blank but line ends, nothing invalid
  python3 - "$1" <<'END'
import sys
text = open(sys.argv[1], "rb").read().decode("utf-8")
bad = sorted({hex(ord(c)) for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)})
sys.exit("control characters: " + " ".join(bad) if bad else 0)
END
}
narrow() { # FILE COLUMNS: no line is longer
  python3 - "$1" "$2" <<'END'
import re, sys
text = re.sub(r"\x1b\[[0-9;]*[mK]", "", open(sys.argv[1], encoding="utf-8", newline="").read())
lines = [part for line in text.split("\n") for part in line.split("\r")]
wide = [line for line in lines if len(line) > int(sys.argv[2])]
sys.exit(f"{len(wide)} lines have more than {sys.argv[2]} columns: {wide[0]}" if wide else 0)
END
}
fits_columns() { # COLUMNS: as the environment has them, in a pipe
  COLUMNS=$1 "$tour" "$work/tree" >"$work/columns.txt" && narrow "$work/columns.txt" "$1"
}
fits_terminal() { # COLUMNS: as the terminal has them, with its progress bar
  env -u COLUMNS script -qec "stty cols $1 rows 24; '$tour' '$work/tree'" /dev/null </dev/null >"$work/tty.txt" &&
    narrow "$work/tty.txt" "$1"
}
fills_page() { # COLUMNS LENGTH: so long are the headings
  COLUMNS=$1 "$tour" --only context >"$work/columns.txt" && python3 - "$work/columns.txt" "$2" <<'END'
import sys
heads = [l for l in open(sys.argv[1], encoding="utf-8").read().split("\n") if l.startswith("──")]
sys.exit(0 if heads and all(len(l) == int(sys.argv[2]) for l in heads) else f"{[len(l) for l in heads]}")
END
}
json_is_right() {
  python3 -m json.tool "$1" >/dev/null && python3 - "$1" "${stations[@]}" <<'END'
import json, sys
tour = json.load(open(sys.argv[1], encoding="utf-8"))
names = [s["name"] for s in tour["sections"]]
assert names == sys.argv[2:], names
assert tour["claims_failed"] == 0 and tour["claims_held"] > 0
figures = {s["name"]: s["figures"] for s in tour["sections"]}
for name in figures:
    assert figures[name] or name == "context", "no figures: " + name
index = figures["index"]
assert index["files"]["value"] == 2, index["files"]
assert index["lines"]["value"] == 3, index["lines"]
assert index["skipped"]["value"] == 1, index["skipped"]
assert figures["cancellation"]["naive.lost"]["value"] > 0 and figures["cancellation"]["channel.lost"]["value"] == 0
assert figures["interleavings"]["mutants_killed"]["value"] == 4
assert figures["deadlock"]["seen"]["value"] == 2
kinds = {s["name"]: [i["kind"] for i in s["items"]] for s in tour["sections"]}
for name, kind, count in (("scope", "timeline", 2), ("cancellation", "timeline", 2), ("seed", "timeline", 1),
                          ("interleavings", "timeline", 1), ("channels", "levels", 1), ("frame", "memory", 6)):
    assert kinds[name].count(kind) == count, (name, kind, kinds[name])
for section in tour["sections"]:
    for item in section["items"]:
        times = [e["ns"] for e in item.get("events", [])]
        assert times == sorted(times), ("not in order", item)
END
}
html_is_right() {
  python3 - "$1" "${stations[@]}" <<'END'
import html.parser, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
for name in sys.argv[2:]:
    assert '<section id="%s">' % name in text, "no station " + name
assert text.count("<script>") == 1, "one script, inside the page"
found = re.search(r'(https?:)?//[A-Za-z]|\b(src|srcset)=|url\(|@import|<script[^>]|<link|<iframe|\bfetch\(|XMLHttp|import\(', text)
assert not found, "something from outside: " + text[max(0, found.start() - 40):found.end() + 40]
class Page(html.parser.HTMLParser):
    open_tags = []
    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "line", "polyline", "circle"): self.open_tags.append(tag)
    def handle_startendtag(self, tag, attributes): pass
    def handle_endtag(self, tag):
        assert self.open_tags and self.open_tags[-1] == tag, ("</%s>" % tag, self.open_tags[-3:], self.getpos())
        self.open_tags.pop()
page = Page()
page.feed(text)
assert not page.open_tags, page.open_tags
END
}
page_steps() { # FILE: in a browser, by the buttons and by the keys
  python3 - "$1" "$work/stepped.html" <<'END'
import sys
presses = """<script>
const film = document.querySelector(".film.memory"), seen = [];
const look = () => seen.push(film.querySelector("output").textContent + "/" +
                             [...film.querySelectorAll(".card")].filter(c => getComputedStyle(c).visibility === "visible").length);
const key = name => { document.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true})); look(); };
const click = name => { film.querySelector(`[data-go=${name}]`).click(); look(); };
look(); click("next"); click("next"); click("back");
film.focus(); key("ArrowRight"); key("ArrowLeft"); key("End"); key("ArrowRight"); key("Home");
for (const name of ["cancellation", "interleavings"]) {
  const race = document.querySelector(`#${name} .film.with-code`);
  race.focus();
  document.dispatchEvent(new KeyboardEvent("keydown", {key: "End", bubbles: true}));
  seen.push(race.querySelector(".line.runs").textContent.trim());
}
document.title = seen.join(", ");
</script></body>"""
page = open(sys.argv[1], encoding="utf-8").read()
open(sys.argv[2], "w", encoding="utf-8").write(page.replace("</body>", presses))
END
  timeout 60 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$work/stepped.html" 2>/dev/null | grep -o '<title>.*</title>' >"$work/title.txt"
  cat "$work/title.txt"
  # Then the lines of code at which the two races end.
  local steps="1 of 6/1, 2 of 6/1, 3 of 6/1, 2 of 6/1, 3 of 6/1, 2 of 6/1, 6 of 6/1, 6 of 6/1, 1 of 6/1"
  grep -qxF "<title>$steps, if (token.stop_requested()) return {};, slots_[tail % 2] = element;</title>" "$work/title.txt"
}
needs_its_second_program() {
  local code=0
  mkdir -p "$work/alone"
  cp "$tour" "$work/alone"
  "$work/alone/coracle-tour" --only interleavings >/dev/null 2>"$work/err.txt" || code=$?
  cat "$work/err.txt"
  [[ $code == 1 ]] && grep -q 'alone/coracle-tour-interleavings' "$work/err.txt"
}
runs_with_epoll() { CORACLE_IO=epoll "$tour" --only io >"$work/epoll.txt" && grep -q 'is epoll here' "$work/epoll.txt"; }
runs_alone() { # NAME: that station and no other
  "$tour" --only "$1" "$work/tree" >"$work/only.txt" || { grep -A 3 '^  FAIL' "$work/only.txt"; return 1; }
  grep -c '^── ' "$work/only.txt" | grep -qx 1 && grep -q "^── [0-9]\+ $1: " "$work/only.txt"
}
refuses() { # WORDS ARGUMENT...: exit code 2, nothing on stdout, one line on stderr with these words
  local words=$1 code=0
  shift
  "$tour" "$@" >"$work/out.txt" 2>"$work/err.txt" || code=$?
  cat "$work/err.txt"
  [[ $code == 2 && ! -s $work/out.txt && $(wc -l <"$work/err.txt") == 1 ]] && grep -qF -- "$words" "$work/err.txt"
}
says_full() { # a full disk is an error, not a success
  local code=0
  "$tour" --only context >/dev/full 2>"$work/err.txt" || code=$?
  [[ $code == 1 ]]
}
colours_on_terminal() {
  command -v script >/dev/null || { echo "script is missing (package bsdutils)"; return 1; }
  env -u NO_COLOR script -qec "'$tour' --only context" /dev/null >"$work/tty.txt" </dev/null
  grep -q $'\x1b\[1m' "$work/tty.txt" || return 1
  NO_COLOR=1 script -qec "'$tour' --only context" /dev/null >"$work/tty.txt" </dev/null
  ! grep -q $'\x1b\[1m' "$work/tty.txt"
}
progress_on_terminal() {
  script -qec "'$tour' --only index '$work/tree'" /dev/null </dev/null >"$work/tty.txt"
  grep -q $'\r\x1b\[K' "$work/tty.txt"
}
help_is_right() { "$tour" --help >"$work/help.txt" && grep -q -- '--only NAME' "$work/help.txt" && narrow "$work/help.txt" 80; }
dev_has_the_help() { # without packages, and before anything is built
  local dev
  dev=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../dev
  mkdir -p "$work/tools"
  ln -sf "$(command -v bash)" "$(command -v cat)" "$(command -v dirname)" "$(command -v readlink)" "$(command -v nproc)" "$work/tools"
  PATH=$work/tools bash "$dev" demo --only frame --help | diff - <("$tour" --help | sed '1s|coracle-tour|./dev demo|')
}
keeps_file() { # a refused command line leaves the output file alone
  echo kept >"$work/kept.json"
  "$tour" --json "$work/kept.json" --only nothing 2>/dev/null
  grep -qx kept "$work/kept.json"
}

make_tree
check "the whole tour ends well" env -u COLUMNS "$tour" --json "$work/tour.json" --html "$work/tour.html" "$work/tree"
cp "$work/check.log" "$work/tour.txt"
check "the text in a pipe has no control characters" no_controls "$work/tour.txt"
check "no line of the text is longer than 100 columns" narrow "$work/tour.txt" 100
for columns in 48 61 80 99; do check "the text fits $columns columns" fits_columns "$columns"; done
for columns in 80 120; do check "it fits a terminal of $columns columns" fits_terminal "$columns"; done
check "its headings fill 80 columns" fills_page 80 80
check "a wider page has 100 columns" fills_page 120 100
check "the JSON is well-formed and holds what was measured" json_is_right "$work/tour.json"
check "the HTML holds every station and nothing from outside" html_is_right "$work/tour.html"
check "the HTML has no control characters" no_controls "$work/tour.html"
if command -v chromium >/dev/null; then
  check "the page can be stepped through" page_steps "$work/tour.html"
else
  echo "left out: the page can be stepped through (there is no chromium)"
fi
check "the io station runs with epoll, too" runs_with_epoll
check "a missing model checker is an error" needs_its_second_program
for name in "${stations[@]}"; do check "--only $name runs that station alone" runs_alone "$name"; done
check "--help explains the options" help_is_right
check "./dev demo --help says the same without packages and a build" dev_has_the_help
check "an unknown option is refused" refuses "unknown option '--nonsense'" --nonsense
check "an unknown station is refused" refuses "no station 'nonsense'" --only nonsense
check "an option without its value is refused" refuses "--json needs a value" --json
check "an option in place of a value is refused" refuses "--only needs a value" --only --html
check "an option given twice is refused" refuses "given twice" --only frame --only tasks
check "an unwritable file is refused" refuses "cannot write" --json "$work/missing/tour.json"
check "a directory in place of a file is refused" refuses "cannot write" --html "$work/tree"
check "one file for two outputs is refused" refuses "same file" --json "$work/x" --html "$work/x"
check "a path that does not exist is refused" refuses "no such directory" "$work/missing"
check "a path that is no directory is refused" refuses "not a directory" "$work/tree/one.txt"
check "a second path is refused" refuses "one PATH at most" "$work" "$work"
check "control characters of an argument are not repeated" refuses '\x1b' --only $'\e[31m'
check "a refused command line leaves the output file alone" keeps_file
check "output that cannot be written is an error" says_full
check "colours on a terminal, and none with NO_COLOR" colours_on_terminal
check "a progress bar on a terminal" progress_on_terminal
exit "$failed"
