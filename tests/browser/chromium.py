"""A page in Chromium, and what is expected of it.

Speaks the WebDriver protocol to chromedriver (Debian: chromium, chromium-driver).
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
            sys.exit("chromium: this needs the Debian packages chromium and chromium-driver")
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
            sys.exit("chromium: chromedriver did not start")
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
            sys.exit(f"chromium: {path}: {error.read().decode()[:400]}")

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


def check(name, url, look):
    """Has a function look at the page in a browser, and ends the program unless everything is as expected."""
    browser = Browser()
    try:
        browser.resize(1440, 900)
        browser.prefer("light")
        browser.open(url)
        look(browser)
    finally:
        browser.end()
    if failures:
        sys.exit(1)
    print(f"{name}: everything as expected")
