#!/usr/bin/env python3
"""Three workers, one of which is killed in the middle of a job, and a server that is restarted: is each job done?

usage: test.py JOB_WORKER

Starts a nats-server of its own on loopback, with its files in a temporary folder.
"""
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JOBS = 60
POISON = {str(number) for number in range(20, JOBS + 1, 20)}  # those that can never be done; given up after five attempts
TIMEOUT_SECONDS = 60


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class Server:
    def __init__(self, folder):
        self.port, self.folder = free_port(), folder
        self.url = f"nats://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        log = open(Path(self.folder, "server.log"), "a")
        self.process = subprocess.Popen(["nats-server", "-js", "-sd", self.folder, "-a", "127.0.0.1", "-p", str(self.port)],
                                        stdout=log, stderr=log)
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0, "the server listens")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Worker:
    def __init__(self, program, url, log):
        self.log = Path(log)
        self.process = subprocess.Popen([program, "work", url], stdout=open(log, "w"), stderr=subprocess.STDOUT)

    def done(self):
        return re.findall(r"^done (\d+) \d+$", self.log.read_text(), re.MULTILINE)


def wait_until(holds, what):
    end = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not after {TIMEOUT_SECONDS} s: {what}")
        time.sleep(0.02)


def run(program, folder):
    server = Server(folder)
    workers = []
    try:
        workers = [Worker(program, server.url, f"{folder}/worker{number}") for number in range(3)]
        subprocess.run([program, "add", server.url, str(JOBS)], check=True, timeout=30)

        def all_done():
            return [number for worker in workers for number in worker.done()]

        # Each has eight jobs at a time and writes a line for each that it has done: it has others in hand now.
        wait_until(lambda: workers[0].done(), "the first worker has done a job")
        workers[0].process.kill()
        wait_until(lambda: len(set(all_done())) > JOBS // 2, "half of the jobs are done")
        server.stop()
        server.start()
        wait_until(lambda: set(all_done()) >= {str(number) for number in range(1, JOBS + 1)} - POISON, "each job is done")
        wait_until(lambda: sum(worker.log.read_text().count("is given up") for worker in workers) >= len(POISON),
                   "what cannot be done is given up")
        for worker in workers[1:]:
            worker.process.send_signal(signal.SIGTERM)
        for worker in workers[1:]:
            assert worker.process.wait(30) == 0, "a worker that is told to stop ends in order"
            assert worker.log.read_text().endswith("stopped\n"), worker.log.read_text()
        done = all_done()
        assert not POISON & set(done), "what cannot be done is not done"
        print(f"{len(set(done))} jobs were done, {len(done) - len(set(done))} of them twice or more; "
              f"{len(POISON)} that cannot be done were given up")
    except BaseException:
        for path in sorted(Path(folder).glob("worker*")):
            print(f"== {path.name}\n{path.read_text()}", file=sys.stderr)
        raise
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
        server.process.kill()
        server.process.wait()


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        run(sys.argv[1], folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
