#!/usr/bin/env python3
"""Opens the inspector's page of a program in Chromium, and checks what a person would.

  check_page.py PROGRAM [FOLDER]    with a folder, screenshots are written there

Nothing is timed: each check waits until what it expects is so, and fails after a minute.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

from chromium import PATIENCE, check, expect

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = os.path.join(HERE, "..", "..", "tools", "debugger", "coracle_ps.py")
sys.path.insert(0, os.path.join(HERE, "..", "trace"))
import check_format  # noqa: E402


TEXT = "return document.getElementById('{}').innerText"


def text_of(browser, name):
    return browser.run(TEXT.format(name))


def check_first_view(browser):
    browser.wait("10,000 coroutines", "return /10,0\\d\\d coroutines/.test(document.getElementById('state').innerText)")
    deadlock = text_of(browser, "deadlocks")
    for part in ("Deadlock: each of these waits for a lock that the next one holds", "debit", "credit", "savings", "checking"):
        expect(part in deadlock, f"the deadlock is shown: {part}")
    browser.run("[...document.querySelectorAll('#deadlocks button')].find(each => /debit/.test(each.innerText)).click()")
    details = text_of(browser, "details")
    expect("debit" in details and "waits to lock async_mutex checking" in details, "a click shows what it waits for")
    expect(re.search(r"program\+0x[0-9a-f]+", details), "and where its function is")
    expect("savings" not in details.split("Awaited by")[0], "of one coroutine, not of the other")


def check_lines(browser, program):
    """The lines of a running program, from a file that appears beside it."""
    hint = text_of(browser, "no-lines")
    expect("coracle-ps --lines" in hint, "the page says how to get lines")
    written = subprocess.run([sys.executable, COMMAND, "--lines", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    with open(program + ".lines", "w", encoding="utf-8") as file:
        file.write(written)
    with open(os.path.join(HERE, "program.cpp"), encoding="utf-8") as source:
        places = [f"program.cpp:{number}" for number, line in enumerate(source, 1) if "co_await to." in line]
    for name, place in zip(("debit", "credit"), places):
        browser.wait(f"{name} at {place}, in the deadlock",
                     f"return document.getElementById('deadlocks').innerText.includes('{name} at {place}')")
        browser.wait(f"{place} in a row",
                     f"return [...document.querySelectorAll('.row .place')].some(each => each.innerText === '{place}')")
    expect(browser.run("return document.getElementById('no-lines').hidden"), "the page no longer says how to get lines")


def check_rendering_is_bounded(browser):
    nodes = "return document.getElementsByTagName('*').length"
    expect(browser.run(nodes) < 1500, "10,000 coroutines that look the same are few elements")
    browser.run("[...document.querySelectorAll('.row.more')].find(each => /9,999/.test(each.innerText)).click()")
    browser.wait("all of them are rows", "return rows.length > 10000")
    expect(browser.run(nodes) < 1500, "10,000 rows are few elements")
    browser.press("End")
    browser.wait("the end of the list", "return list.scrollTop + list.clientHeight >= list.scrollHeight - 1")
    expect(browser.run(nodes) < 1500, "so they are at the end")
    expect(browser.run("return document.querySelectorAll('.row').length") >= 5, "which has rows")
    browser.press("Home")


def check_keyboard(browser):
    """From here on without a pointer."""
    browser.open(browser.run("return location.href"))
    browser.wait("the page again", "return snapshot && rows.length > 0")
    browser.press("/")
    expect(browser.run("return document.activeElement.id") == "search", "/ is for the search")
    browser.press("take_orders")
    browser.wait("the search filters", "return rows.some(row => row.coroutine && row.coroutine.function.includes('take_orders'))"
                 " && !rows.some(row => row.coroutine && row.coroutine.function.includes('customer'))")
    expect(browser.run("return document.querySelectorAll('mark').length") >= 1, "what matches is marked")
    browser.press("Enter", "End")
    browser.wait("the last row is chosen", "return document.getElementById('details').innerText.includes('take_orders')")
    expect("waits to receive from channel" in text_of(browser, "details"), "details of the chosen one")
    browser.press("Escape")
    browser.wait("Escape ends the search", "return filter === '' && rows.length > 5")
    browser.press("Home")
    before = browser.run("return rows.length")
    browser.press("Left")
    browser.wait("Left closes", f"return rows.length < {before}")
    browser.press("Right")
    browser.wait("Right opens", f"return rows.length === {before}")
    browser.press("p")
    browser.wait("p pauses", "return isPaused && document.getElementById('state').innerText.includes('paused')")
    browser.press("p")
    browser.wait("p goes on", "return !isPaused")
    browser.run("document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        browser.press("Tab")
        reached.add(browser.run("const at = document.activeElement; return at.id || at.parentElement.id || at.tagName"))
    expect({"search", "pause", "theme", "list"} <= reached, f"Tab reaches every control: {sorted(reached)}")
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    browser.run("list.focus()")
    browser.press("Down")
    expect(browser.run(outline) != "none", "the focus is seen")


def check_schedulers(browser):
    browser.wait("a row says for which descriptor it waits", "return [...document.querySelectorAll('.row')].some(each =>"
                 " /^.?serve.*waits for I\\/O: accept on descriptor \\d+/s.test(each.innerText))")
    browser.wait("the threads' use is known", "return runtimeBefore && document.querySelectorAll('.bar').length >= 3")
    for name, parts in {"schedulers": ("static_thread_pool 1", "2 threads", "io_service 2", "1 thread", "coracle-inspect"),
                        "timers": ("io_service 2",), "descriptors": ("socket", "accept: ", "serve"),
                        "channels": ("channel", "orders, 0 of 4 elements", "take_orders")}.items():
        browser.wait(f"the section {name}", f"return {json.dumps(parts)}.every(part => "
                     f"document.getElementById('{name}').innerText.includes(part))")
    timer = "return [...document.querySelectorAll('#timers tbody tr')].map(row => row.innerText.split(/\\s+/).join(' '))"
    expect(any(re.fullmatch(r"io_service 2 1 (60|59) min", row) for row in browser.run(timer)), "one timer, in an hour")


def check_memory(browser):
    rows = ("[...document.querySelectorAll('#memory tbody tr')].map(row => [...row.cells]"
            ".map(cell => Number(cell.innerText.replaceAll(',', ''))))")
    browser.wait("the memory of frames has 10,000 in use", f"return {rows}.some(([, used]) => used >= 10000)")
    by_size = {size: counts for size, *counts in browser.run('return ' + rows)}
    expect(by_size.get(1000, [])[1:] == [5, 0], f"and five free ones of another thread: {by_size}")
    heading = text_of(browser, "memory")
    expect(re.search(r"^\d\.\d MB in use; free: \d+\.\d kB in threads, 0 bytes for any thread\.$", heading, re.MULTILINE),
           f"the sums are in bytes: {heading}")


def check_turns(browser):
    browser.wait("long resumptions are one line with the function's name", "return /^compute_totals ← run .*\\d+ times up to \\d\\d+\\.\\d ms$/m"
                 ".test(document.getElementById('long-turns').innerText)")
    link = "document.getElementById('trace')"
    with urllib.request.urlopen(browser.run(f"return {link}.href"), timeout=PATIENCE) as answer:
        trace = check_format.parse(answer.read().decode("ascii"))
    expect(not check_format.complaints(trace), f"the trace is of the format: {check_format.complaints(trace)[:3]}")
    slices = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    runs = [each for each in slices if each["name"] == "compute_totals" and each["pid"] == 2]
    sleeps = [each for each in slices if each["name"] == "sleeps" and each["args"]["task"] == "compute_totals"]
    expect(len(runs) >= 2 and all(each["dur"] >= 50_000 for each in runs[1:-1]), "the task computes for 50 ms, again and again")
    expect(len(sleeps) >= 2, "and sleeps in between")
    with urllib.request.urlopen(browser.run("return document.getElementById('times').href"), timeout=PATIENCE) as answer:
        table = answer.read().decode()
    expect(re.search(r"^compute_totals +1 .* sleeps \d", table, re.MULTILINE), f"the table has the task: {table}")
    browser.run(f"{link}.addEventListener('click', event => event.preventDefault()); {link}.click()")
    expect(browser.run(f"return {link}.innerText") == "Recording for 5 s", "the link says that it records")
    browser.run("document.getElementById('times').click()")
    expect(len(browser.call("GET", "/window/handles")) == 1, "the other does not open meanwhile")
    browser.wait("it ends", f"return {link}.innerText === 'Record a trace'")


COLOUR = "return getComputedStyle(document.body).backgroundColor"


def check_looks(browser, folder):
    for scheme, background in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")):
        browser.prefer(scheme)
        browser.wait(f"{scheme} as the system has it", f"{COLOUR} === '{background}'")
        for width in (320, 1440):
            browser.resize(width, 900)
            overflow = browser.run("return [...document.querySelectorAll('html, body, header, main, aside, #list, #deadlocks')]"
                                   ".filter(each => each.scrollWidth > each.clientWidth).map(each => each.id || each.tagName)")
            expect(overflow == [], f"nothing is wider than {width} pixels: {overflow}")
            if folder:
                browser.screenshot(f"{folder}/{scheme}-{width}.png")
    expect(text_of(browser, "theme") == "light", "the button offers the other theme")
    browser.run("document.getElementById('theme').click()")
    browser.wait("the button overrides it", f"{COLOUR} === 'rgb(255, 255, 255)'")


def check_contrast(browser):
    """Text against what is behind it, as WCAG 2 counts it, with the page's own colours."""
    ratios = browser.run("""
      const style = getComputedStyle(document.documentElement);
      const light = name => {
        const hex = style.getPropertyValue(name).trim().slice(1);
        const all = hex.length === 3 ? [...hex].map(each => each + each) : hex.match(/../g);
        const [r, g, b] = all.map(each => parseInt(each, 16) / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const found = {};
      for (const text of ["--text", "--dim", "--accent", "--bad"])
        for (const back of text === "--bad" ? ["--back", "--bad-back"] : ["--back", "--panel"]) {
          const [a, b] = [light(text), light(back)].sort((x, y) => y - x);
          found[text + " on " + back] = (a + 0.05) / (b + 0.05);
        }
      return found;""")
    for pair, ratio in ratios.items():
        expect(ratio >= 4.5, f"contrast of {pair}: {ratio:.2f}")


def check_requests(browser, url):
    origin = url.split("/?")[0]
    asked = browser.run("return performance.getEntriesByType('resource').map(each => each.name)")
    expect(all(each.startswith((origin, "data:")) for each in asked), f"no request goes elsewhere: {asked}")
    expect(browser.run("return !/https?:/.test(document.documentElement.innerHTML.replace(/<script>[^]*<.script>/, ''))"),
           "the page refers to nothing elsewhere")


def check_end(browser, program):
    expect(browser.run("return document.getElementById('gone').hidden"), "no banner while the program runs")
    program.kill()
    program.wait()
    browser.wait("a banner", "return !document.getElementById('gone').hidden")
    expect(text_of(browser, "gone").startswith("The program has gone; it was last seen at "), "which says what happened")
    expect("debit" in text_of(browser, "deadlocks"), "the last state stays")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = sys.argv[2] if len(sys.argv) > 2 else None
    copies = tempfile.TemporaryDirectory(prefix="coracle_program_")  # its lines are written beside it
    path = shutil.copy(sys.argv[1], copies.name)
    program = subprocess.Popen([path], stdout=subprocess.PIPE, text=True)
    try:
        url = program.stdout.readline().strip()

        def look(browser):
            check_first_view(browser)
            check_lines(browser, path)
            check_rendering_is_bounded(browser)
            check_keyboard(browser)
            check_schedulers(browser)
            check_memory(browser)
            check_turns(browser)
            check_contrast(browser)
            check_looks(browser, folder)
            check_contrast(browser)
            check_requests(browser, url)
            check_end(browser, program)

        check("page", url, look)
    finally:
        program.kill()
        program.wait()
        copies.cleanup()


if __name__ == "__main__":
    main()
