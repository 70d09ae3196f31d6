#!/usr/bin/env python3
"""Is the server what clients of Redis expect, and does a kill lose nothing that it has answered?

usage: test.py REDIS_SERVER

Kills servers of its own with SIGKILL in the middle of their work. Also lets redis-cli and redis-benchmark talk to
one, if they are installed (Debian: redis-tools).
"""
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

KILLS = 12
CLIENTS = 4
ANSWERS_BEFORE_KILL = 150  # of one client
PINGS_PER_COMPACTION = 200


class Server:
    def __init__(self, program, *arguments):
        self.process = subprocess.Popen([program, "0", *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        check("a server ends at SIGTERM", self.process.wait(10), 0)


class Client:
    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        text = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        self.socket.sendall(text)

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server is gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return (kind + rest).decode()

    def __call__(self, *words):
        self.send(*words)
        return self.reply()


def check(what, got, expected):
    if got != expected:
        sys.exit(f"{what}: {got!r} instead of {expected!r}")


WRONG_TYPE = "-WRONGTYPE Operation against a key holding the wrong kind of value"
NO_NUMBER = "-ERR value is not an integer or out of range"
TALK = [  # a command, and its reply
    ("PING", "+PONG"), ("PING hello", "hello"), ("ECHO hi", "hi"), ("GET none", None),
    ("SET a 1", "+OK"), ("GET a", "1"), ("INCR a", 2), ("INCRBY a 40", 42), ("DECR a", 41),
    ("APPEND a 0", 3), ("STRLEN a", 3), ("SET a 7 NX", None), ("SET b 7 XX", None),
    ("SET b 7 NX", "+OK"), ("MGET a b none", ["410", "7", None]),
    ("SET big 9223372036854775807", "+OK"), ("INCR big", "-ERR increment or decrement would overflow"),
    ("SET t text", "+OK"), ("INCR t", NO_NUMBER), ("MSET x 1 y 2", "+OK"), ("EXISTS x y z", 2),
    ("DEL x y z", 2), ("RPUSH l 1 2 3", 3), ("LPUSH l a b", 5),
    ("LRANGE l 0 -1", ["b", "a", "1", "2", "3"]), ("LRANGE l 1 1", ["a"]),
    ("LRANGE l -2 9", ["2", "3"]), ("LRANGE l 3 2", []), ("LPOP l", "b"), ("RPOP l", "3"),
    ("LLEN l", 3), ("LPUSH a 1", WRONG_TYPE), ("GET l", WRONG_TYPE), ("TYPE l", "+list"),
    ("TYPE a", "+string"), ("TYPE none", "+none"), ("RPUSH m 1", 1), ("LPOP m", "1"), ("EXISTS m", 0),
    ("TTL a", -1), ("TTL none", -2), ("EXPIRE a 100", 1), ("TTL a", 100), ("PERSIST a", 1),
    ("TTL a", -1), ("EXPIRE none 100", 0), ("SET e 1 EX 100", "+OK"), ("TTL e", 100),
    ("SET e 2 KEEPTTL", "+OK"), ("TTL e", 100), ("SET e 3", "+OK"), ("TTL e", -1), ("PEXPIREAT e 1", 1),
    ("GET e", None), ("EXPIRE a -1", 1), ("EXISTS a", 0),
    ("SET a 1 EX 0", "-ERR invalid expire time in 'set' command"), ("SET a 1 NO", "-ERR syntax error"),
    ("GET", "-ERR wrong number of arguments for 'GET' command"),
    ("NONE", "-ERR unknown command 'NONE'"), ("FLUSHALL", "+OK"), ("DBSIZE", 0),
]


def test_commands(program):
    server = Server(program)
    client = Client(server)
    for words, expected in TALK:
        check(words, client(*words.split()), expected)
    client.socket.sendall(b"PING\r\n  SET typed 1 \n")
    check("typed commands", [client.reply(), client.reply()], ["+PONG", "+OK"])
    text = bytes(range(256)) * 1000
    check("any bytes are stored", client("SET", "binary", text), "+OK")
    check("any bytes are stored", client("STRLEN", "binary"), len(text))
    client.socket.sendall(b"*1\r\n$4\r\nPING\r\n" * 10_000)
    check("pipelining", {client.reply() for _ in range(10_000)}, {"+PONG"})
    check("QUIT", client("QUIT"), "+OK")
    check("QUIT", client.file.read(), b"")
    for wrong in (b"*1\r\n!", b"*-1\r\n", b"*1\r\n$99999999999\r\n", b"x" * 100_000):
        client = Client(server)
        client.socket.sendall(wrong + b"\r\n")
        check(wrong[:20], client.reply().split(":")[0], "-ERR Protocol error")
    server.stop()


def test_pub_sub(program):
    server = Server(program)
    first, second, speaker = (Client(server) for _ in range(3))
    check("subscribe", first("SUBSCRIBE", "a"), ["subscribe", "a", 1])
    check("subscribe", second("SUBSCRIBE", "a", "b"), ["subscribe", "a", 1])
    check("subscribe", second.reply(), ["subscribe", "b", 2])
    check("publish", speaker("PUBLISH", "a", "hi"), 2)
    check("publish", speaker("PUBLISH", "none", "hi"), 0)
    check("message", [first.reply(), second.reply()], [["message", "a", "hi"]] * 2)
    check("unsubscribe", second("UNSUBSCRIBE", "a"), ["unsubscribe", "a", 1])
    check("publish", speaker("PUBLISH", "a", "again"), 1)
    first.socket.close()
    first.file.close()
    while speaker("PUBLISH", "a", "to nobody"):
        pass
    # A subscriber that reads nothing is disconnected; nobody else waits for it.
    slow = Client(server)
    check("subscribe", slow("SUBSCRIBE", "much"), ["subscribe", "much", 1])
    sent = 0
    while speaker("PUBLISH", "much", "x" * 1_000_000):
        sent += 1
        if sent > 200:
            sys.exit("a subscriber that reads nothing was kept")
    server.stop()


def work(server, number, state):
    """Counts and appends until the server is gone. `state` says how much it was asked for, and how much was answered."""
    try:
        client = Client(server)
        while True:
            state["asked"] += 1
            client.send("INCR", f"count{number}")
            client.send("RPUSH", f"list{number}", state["asked"] - 1)
            client.reply()
            client.reply()
            state["answered"] += 1
            if state["answered"] == state["goal"]:
                state["reached"].set()
    except OSError:
        pass


def compact_again_and_again(server):
    try:
        client = Client(server)
        while client("BGREWRITEAOF").startswith("+Background"):
            for _ in range(PINGS_PER_COMPACTION):
                client("PING")
    except OSError:
        pass


def test_kills(program, folder, *options, compacts=False):
    file = Path(folder, "kills.aof")
    states = [{"asked": 0, "answered": 0} for _ in range(CLIENTS)]
    for _ in range(KILLS // 3 if compacts else KILLS):
        server = Server(program, file, *options)
        client = Client(server)
        for number, state in enumerate(states):
            count = int(client("GET", f"count{number}") or 0)
            items = client("LRANGE", f"list{number}", 0, -1)
            check("a list has no gap", items, [str(item) for item in range(len(items))])
            # A kill may come between the two commands, or between the file and the answer.
            if not state["answered"] <= len(items) <= count <= state["asked"]:
                sys.exit(f"{state} has become {count} and {len(items)}")
            if count != len(items):
                check("the list", client("RPUSH", f"list{number}", len(items)), count)
            state.update(asked=count, answered=count, goal=count + ANSWERS_BEFORE_KILL, reached=threading.Event())
        workers = [threading.Thread(target=work, args=(server, number, state)) for number, state in enumerate(states)]
        if compacts:
            workers.append(threading.Thread(target=compact_again_and_again, args=(server,)))
        for worker in workers:
            worker.start()
        if not states[0]["reached"].wait(60):
            sys.exit("the server does not answer")
        server.kill()
        for worker in workers:
            worker.join()
    file.unlink()
    Path(f"{file}.new").unlink(missing_ok=True)  # of a kill during a compaction


def test_reads(program, folder):
    file = Path(folder, "reads.aof")
    server = Server(program, file)
    writer, reader = Client(server), Client(server)
    for number in range(4):
        check("SET", writer("SET", f"big{number}", "x" * (8 << 20)), "+OK")
    check("BGREWRITEAOF", reader("BGREWRITEAOF")[:1], "+")  # commits wait until it has ended
    writer.send("SET", "key", "new")
    while reader("GET", "key") is None:
        pass
    server.kill()
    server = Server(program, file)
    check("a kill loses nothing that was read", Client(server)("GET", "key"), "new")
    server.stop()
    file.unlink()
    Path(f"{file}.new").unlink(missing_ok=True)


def test_compaction(program, folder):
    file = Path(folder, "compact.aof")
    server = Server(program, file)
    client = Client(server)
    client("RPUSH", "list", *range(2500))
    client("SET", "late", "1", "EX", 1000)
    client("EXPIRE", "list", 1000)
    for _ in range(3000):
        client("SET", "key", "x" * 1000)
    # Without being asked, it has rewritten a file of 3 MB.
    check("a file that has grown is compacted", file.stat().st_size < 2_500_000, True)
    client("BGREWRITEAOF")
    while file.stat().st_size > 50_000:
        client("PING")
    check("SET after a compaction", client("SET", "key", "new"), "+OK")
    server.kill()
    server = Server(program, file)
    client = Client(server)
    check("a list", client("LRANGE", "list", 0, -1), [str(item) for item in range(2500)])
    check("the last value", client("GET", "key"), "new")
    check("deadlines", [990 <= client("TTL", key) <= 1000 for key in ("list", "late", "key")], [True, True, False])
    check("nothing else", client("DBSIZE"), 3)
    server.stop()
    file.unlink()


def test_file(program, folder):
    file = Path(folder, "file.aof")
    server = Server(program, file)
    client = Client(server)
    check("SET", client("SET", "gone", 1, "PX", 1), "+OK")
    check("SET", client("SET", "stays", 1, "EX", 1000), "+OK")
    while client("EXISTS", "gone"):
        pass
    check("a new key", client("INCR", "gone"), 1)
    check("LPUSH", client("LPUSH", "l", 1, 2, 3), 3)
    server.kill()
    whole = file.read_bytes()
    for cut in (1, 2, 7, 20):  # the last command is there in part
        file.write_bytes(whole[:-cut])
        server = Server(program, file)
        client = Client(server)
        check("an unfinished command is dropped", client("EXISTS", "l"), 0)
        check("a file that was cut grows", client("LPUSH", "l", 1, 2, 3), 3)
        server.kill()
        check("the file", file.read_bytes(), whole)
    server = Server(program, file)
    client = Client(server)
    check("an expired key does not come back", client("GET", "gone"), "1")
    check("its successor does not expire", client("TTL", "gone"), -1)
    check("times go on while the server is away", 990 <= client("TTL", "stays") <= 1000, True)
    check("a list", client("LRANGE", "l", 0, -1), ["3", "2", "1"])
    server.stop()
    last = whole.rindex(b"LPUSH")
    for damaged in (whole + b"*1\r\n?\r\n", whole[:last] + b"lpuSH" + whole[last + 5:], whole + bytes(5000)):
        file.write_bytes(damaged)
        server = Server(program, file)
        check("what is not complete is not executed", Client(server)("LLEN", "l"), 0 if len(damaged) == len(whole) else 3)
        server.stop()
        check("what is not complete is cut off", whole.startswith(file.read_bytes()), True)
    first_mark = whole.index(b"PING")
    for place in (whole.index(b"stays"), first_mark + len("PING\r\n$20\r\n"), last - 20):
        damaged = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:]
        file.write_bytes(damaged)
        result = subprocess.run([program, "0", str(file)], capture_output=True, text=True, timeout=20)
        begin = max((mark.end() for mark in re.finditer(rb"PING\r\n.*\r\n.*\r\n", whole) if mark.end() <= place), default=0)
        expected = f"redis_server: {file} is damaged at byte {begin}, and complete writes follow"
        check("damage in the middle is reported", (result.returncode, result.stderr[:len(expected)]), (1, expected))
        check("a damaged file is left alone", file.read_bytes(), damaged)


def test_tools(program):
    tools = [shutil.which(name) for name in ("redis-cli", "redis-benchmark")]
    if None in tools:
        print("redis-tools is not installed: redis-cli and redis-benchmark are left out")
        return
    server = Server(program)
    run = lambda *command: subprocess.run(command, capture_output=True, text=True, timeout=60)  # noqa: E731
    cli = (tools[0], "-p", str(server.port))
    check("redis-cli", run(*cli, "SET", "a", "from the shell").stdout, "OK\n")
    check("redis-cli", run(*cli, "GET", "a").stdout, "from the shell\n")
    tests = "ping_inline,ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,lrange_100,mset"
    for pipeline in ("1", "16"):
        result = run(tools[1], "-p", str(server.port), "-q", "-n", "2000", "-P", pipeline, "-t", tests)
        check("redis-benchmark", (result.returncode, "rror from server" in result.stdout), (0, False))
        check("redis-benchmark's tests", result.stdout.count("requests per second") >= 10, True)
    server.stop()


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        test_commands(program)
        test_pub_sub(program)
        test_file(program, folder)
        test_kills(program, folder)
        test_kills(program, folder, "sync")
        test_kills(program, folder, compacts=True)
        test_kills(program, folder, "sync", compacts=True)
        test_reads(program, folder)
        test_compaction(program, folder)
        test_tools(program)


if __name__ == "__main__":
    main(sys.argv[1])
