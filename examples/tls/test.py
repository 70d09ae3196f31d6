#!/usr/bin/env python3
"""Does the example speak TLS with somebody else's implementation, and refuse what it must?

usage: test.py TLS

Python's ssl module is the other side; everything is on loopback, with certificates that the example makes.
"""
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

DEMONSTRATION = """\
localhost: TLSv1.3
no line within 20 ms
answer: NOBODY READS THIS ON THE WAY
example.org: the certificate is not accepted: hostname mismatch
localhost: the certificate is not accepted: self-signed certificate
"""
TIMEOUT_SECONDS = 30


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def run(*command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS)


class Server:
    """The example's server, which tells its port, and of connections that failed."""

    def __init__(self, program, certificate, key):
        self.process = subprocess.Popen([program, "serve", certificate, key], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().removeprefix("port "))

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.settimeout(TIMEOUT_SECONDS)
        return connection

    def tells(self, *reasons):
        line = self.process.stdout.readline()
        expect(any(each in line for each in reasons), f"the server tells {' or '.join(reasons)}: {line}")

    def stop(self):
        self.process.terminate()
        expect(self.process.wait(TIMEOUT_SECONDS) == 0, "the server ends well")


def trusting(certificate):
    return ssl.create_default_context(cafile=certificate)


def check_server(server, certificate):
    for version in ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2:
        context = trusting(certificate)
        context.minimum_version = context.maximum_version = version
        with context.wrap_socket(server.connect(), server_hostname="localhost") as secure:
            # More than one record and more than one read at a time, but no more than a socket keeps: an SSLSocket must not be
            # read and written by two threads.
            lines = [f"line {number} ".encode() + b"x" * (number * 370 % 15000) for number in range(100)]
            with secure.makefile("rb") as answers:
                for batch in (lines[at:at + 4] for at in range(0, len(lines), 4)):
                    secure.sendall(b"\n".join(batch) + b"\n")
                    for line in batch:
                        expect(answers.readline() == line.upper() + b"\n", f"an answer over {secure.version()}")
            secure.unwrap()  # fails unless the server ends its stream too


def check_refusals(server, certificate):
    # A client that does not trust the server.
    try:
        ssl.create_default_context().wrap_socket(server.connect(), server_hostname="localhost")
        sys.exit("failed: a client that trusts nobody has connected")
    except ssl.SSLCertVerificationError:
        server.tells("alert unknown ca")
    # One that speaks something else.
    with server.connect() as plain:
        plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
        server.tells("http request")
    # One that vanishes in the middle of the handshake, and one after it.
    server.connect().close()
    server.tells("ended without")
    secure = trusting(certificate).wrap_socket(server.connect(), server_hostname="localhost")
    secure.sendall(b"half a line")
    socket.socket.close(secure)  # without the end of the stream, and perhaps with something unread
    server.tells("ended without", "reset by peer")
    # One that says nothing.
    with server.connect():
        server.tells("timed out")


def serve_once(listener, certificate, key, is_ended):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    connection, _ = listener.accept()
    connection.settimeout(TIMEOUT_SECONDS)
    try:
        secure = context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=False)
        request = secure.recv(4096)
        secure.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + request.split(b"\r\n")[1] + b"\n" + b"y" * 100_000)
        if is_ended:
            secure.unwrap()
        secure.close()
    except (ssl.SSLError, OSError):
        connection.close()  # the client has refused


def get(program, host, certificate, key, is_ended=True):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve_once, args=(listener, certificate, key, is_ended))
        server.start()
        got = run(program, "get", host, str(listener.getsockname()[1]), certificate)
        server.join()
    return got


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    demonstration = run(program)
    expect(demonstration.stdout == DEMONSTRATION, f"the demonstration:\n{demonstration.stdout}{demonstration.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = str(Path(folder, "certificate.pem")), str(Path(folder, "key.pem"))
        expect(run(program, "certificate", "localhost", certificate, key).returncode == 0, "a certificate is made")
        expect(Path(key).stat().st_mode & 0o077 == 0, "nobody else can read the key")
        server = Server(program, certificate, key)
        try:
            check_server(server, certificate)
            check_refusals(server, certificate)
            check_server(server, certificate)  # it serves on
            server.stop()
        finally:
            server.process.kill()
        got = get(program, "localhost", certificate, key)
        expect(got.returncode == 0 and "Host: localhost\n" in got.stdout and got.stdout.endswith("y" * 100_000),
               f"the client gets everything: {got.stderr}")
        broken = Path(folder, "broken.pem")
        broken.write_text(Path(certificate).read_text() + "-----BEGIN CERTIFICATE-----\nno base64\n")
        for bad in str(broken), "/dev/null":
            expect("tls: certificate: " in run(program, "get", "localhost", "1", bad).stderr, f"{bad} is refused")
        expect("ended without" in get(program, "localhost", certificate, key, is_ended=False).stderr,
               "a stream that was cut is an error")
        other, other_key = str(Path(folder, "other.pem")), str(Path(folder, "other_key.pem"))
        run(program, "certificate", "example.org", other, other_key)
        expect("hostname mismatch" in get(program, "localhost", other, other_key).stderr, "a wrong host is refused")
    print("TLS 1.2 and 1.3 with Python's ssl, as server and as client")


main()
