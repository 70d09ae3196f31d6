#!/usr/bin/env python3
"""Opens a trace in a viewer, and compares what that has read with the file.

  check_trace_viewer.py PROGRAM [FOLDER]    PROGRAM FILE writes a trace (tests/trace/traced.cpp); with a folder, a screenshot
                                            is written there

The viewer is that of chrome://tracing, which Chromium no longer has; Go's sources do (Debian: golang-src).
"""
import glob
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

from chromium import check, expect

VIEWER = "/usr/share/go-*/src/**/static/trace_viewer_full.html"
PAGE = """<!DOCTYPE html><meta charset="utf-8"><script src="webcomponents.min.js"></script>
<link rel="import" href="trace_viewer_full.html">
<style>html, body { margin: 0; height: 100% } body { display: flex } #viewer { flex: 1 1 auto }</style>
<body><script>
document.addEventListener('WebComponentsReady', async () => {
  const view = document.createElement('tr-ui-timeline-view');
  view.track_view_container = document.createElement('track-view-container');
  view.track_view_container.id = 'track_view_container';
  Polymer.dom(view).appendChild(view.track_view_container);
  view.id = 'viewer';
  view.globalMode = true;
  Polymer.dom(document.body).appendChild(view);
  const options = new tr.importer.ImportOptions();
  options.shiftWorldToZero = false;
  const model = new tr.Model();
  try {
    const text = await (await fetch('trace.json')).text();
    await new tr.importer.Import(model, options).importTracesWithProgressDialog([text]);
    view.model = model;
    window.shown = {
      problems: model.importWarnings.map(each => each.message),
      slices: model.getAllProcesses().flatMap(process => Object.values(process.threads).flatMap(thread =>
          thread.sliceGroup.slices.map(each => [process.name, thread.name, each.title, each.start, each.duration, each.args])))
    };
  } catch (problem) {
    window.shown = {problems: [String(problem)], slices: []};
  }
});
</script>
"""


def serve(files):
    """A server of the texts or bytes, by their paths."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if self.path.endswith(".js") else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def written(trace):
    """(process, track, title, begin, duration, arguments) of each slice in the file, by milliseconds."""
    names = {(each["name"], each["pid"], each["tid"]): each["args"]["name"] for each in trace["traceEvents"] if each["ph"] == "M"}
    return [[names["process_name", each["pid"], 0], names["thread_name", each["pid"], each["tid"]], each["name"], each["ts"] / 1000,
             each["dur"] / 1000, each["args"]] for each in trace["traceEvents"] if each["ph"] == "X"]


def sorted_slices(slices):
    """To the nanosecond."""
    return sorted([process, track, title, round(begin * 1e6), round(duration * 1e6), sorted(arguments.items())]
                  for process, track, title, begin, duration, arguments in slices)


def check_slices(browser, trace):
    shown = browser.wait("the viewer reads the trace", "return window.shown")
    expect(shown["problems"] == [], f"the viewer has nothing to complain of: {shown['problems']}")
    in_file, in_viewer = sorted_slices(written(trace)), sorted_slices(shown["slices"])
    expect(len(in_file) > 100, f"the program does something: {len(in_file)} slices")
    expect(in_file == in_viewer, f"the viewer has the {len(in_file)} slices of the file: {len(in_viewer)}, of which "
                                 f"{[each for each in in_viewer if each not in in_file][:3]} are others")
    tracks = {(each["pid"], each["tid"]) for each in trace["traceEvents"] if each["ph"] == "X"}
    names = [each["args"]["name"] for each in trace["traceEvents"]
             if each["name"] == "thread_name" and (each["pid"], each["tid"]) in tracks]
    browser.wait("the view has a track for each thread and each task", f"""
      const seen = document.body.innerText.split('\\n').map(each => each.replace(/^\\W+/, ''));
      const count = (list, name) => list.filter(each => each === name).length;
      return {json.dumps(names)}.every((name, _, names) => count(seen, name) === count(names, name));""")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = sorted(glob.glob(VIEWER, recursive=True))
    if not found:
        sys.exit("check_trace_viewer: this needs the Debian package golang-src")
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([sys.argv[1], file.name], check=True, timeout=60)
        text = file.read()
    files = {"/": PAGE.encode(), "/trace.json": text}
    for name in ("trace_viewer_full.html", "webcomponents.min.js"):
        with open(os.path.join(os.path.dirname(found[-1]), name), "rb") as file:
            files["/" + name] = file.read()
    server = serve(files)

    def look(browser):
        check_slices(browser, json.loads(text))
        if len(sys.argv) > 2:
            browser.screenshot(os.path.join(sys.argv[2], "trace.png"))

    try:
        check("trace viewer", f"http://127.0.0.1:{server.server_port}/", look)
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
