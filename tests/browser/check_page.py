#!/usr/bin/env python3
"""Opens the inspector's page of a program in Chromium, and checks what a person would.

  check_page.py PROGRAM [FOLDER]    with a folder, screenshots are written there

Speaks the WebDriver protocol to chromedriver (Debian: chromium, chromium-driver). Nothing is timed: each check waits until
what it expects is so, and fails after a minute.
"""
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND = os.path.join(HERE, "..", "..", "tools", "debugger", "coracle_ps.py")
sys.path.insert(0, os.path.join(HERE, "..", "trace"))
import check_format  # noqa: E402

PATIENCE = 60
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014",
        "Down": "\ue015", "End": "\ue010", "Home": "\ue011"}
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}", flush=True)


class Browser:
    """A session of chromedriver."""

    def __init__(self):
        program = shutil.which("chromedriver")
        if not program or not shutil.which("chromium"):
            sys.exit("check_page: this needs the Debian packages chromium and chromium-driver")
        self.driver = subprocess.Popen([program, "--port=0"], stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.profile = tempfile.mkdtemp(prefix="coracle_browser_")
        port = None
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                port = found[1]
                break
        if not port:
            self.end()
            sys.exit("check_page: chromedriver did not start")
        self.base = f"http://127.0.0.1:{port}/session"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-crash-reporter", "--disable-breakpad",
                     f"--user-data-dir={self.profile}"]
        options = {"args": arguments, "binary": shutil.which("chromium")}
        made = self.call("POST", "", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
        self.base += "/" + made["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            sys.exit(f"check_page: {path}: {error.read().decode()[:400]}")

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script):
        """Returns what the script, the body of a function, returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def press(self, *keys):
        """Each is the name of a key, or text to type."""
        actions = []
        for key in keys:
            for letter in [KEYS[key]] if key in KEYS else key:
                actions += [{"type": "keyDown", "value": letter}, {"type": "keyUp", "value": letter}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def wait(self, what, script):
        """Waits until the script returns something true, and returns it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.run(script)
            if found:
                return found
            time.sleep(0.1)
        expect(False, f"{what}: not within {PATIENCE} s")
        return None

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.wait(f"a width of {width}", f"return innerWidth === {width}")

    def prefer(self, scheme):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        image = self.devtools("Page.captureScreenshot")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))

    def end(self):
        """Ends the driver and all that it has started."""
        os.killpg(self.driver.pid, signal.SIGKILL)
        self.driver.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


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
    browser = None
    try:
        url = program.stdout.readline().strip()
        browser = Browser()
        browser.resize(1440, 900)
        browser.prefer("light")
        browser.open(url)
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
    finally:
        program.kill()
        program.wait()
        if browser:
            browser.end()
        copies.cleanup()
    if failures:
        sys.exit(1)
    print("page: everything as expected")


if __name__ == "__main__":
    main()
