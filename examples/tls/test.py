#!/usr/bin/env python3
"""Does the example speak TLS with somebody else's implementation, and refuse what it must?

usage: test.py TLS

Python's ssl module and the commands of OpenSSL are the other side; everything is on loopback, with certificates that
`openssl req` makes.
"""
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

TIMEOUT_SECONDS = 30


def expect(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS, **options)


def identity(folder, name):
    """The paths of a certificate, signed by its own key, and of that key."""
    certificate, key = str(Path(folder, f"{name}.pem")), str(Path(folder, f"{name}_key.pem"))
    made = run("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "1", "-subj", f"/CN={name}",
               "-addext", f"subjectAltName=DNS:{name}", "-out", certificate, "-keyout", key)
    expect(made.returncode == 0, made.stderr)
    return certificate, key


class Server:
    """The example's server, which tells its port, and of connections that failed."""

    def __init__(self, program, *files):
        self.process = subprocess.Popen([program, "serve", *files], stdout=subprocess.PIPE, text=True)
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

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()


def trusting(certificate):
    return ssl.create_default_context(cafile=certificate)


def check_server(server, certificate):
    for version in ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2:
        context = trusting(certificate)
        context.minimum_version = context.maximum_version = version
        context.set_alpn_protocols(["http/1.1", "shout"])
        with context.wrap_socket(server.connect(), server_hostname="localhost") as secure:
            expect(secure.selected_alpn_protocol() == "shout", "the server's preferred protocol is chosen")
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


def check_client_certificates(program, folder):
    certificate, key = identity(folder, "localhost")
    alice, alice_key = identity(folder, "alice")
    mallory, mallory_key = identity(folder, "mallory")
    with Server(program, certificate, key, alice) as server:
        context, session = trusting(certificate), None
        context.load_cert_chain(alice, alice_key)
        for resumed in False, True:
            with context.wrap_socket(server.connect(), server_hostname="localhost", session=session) as secure:
                secure.sendall(b"hello\n")
                expect(secure.recv(100) == b"HELLO\n", "the server answers a client that it knows")
                expect(secure.session_reused == resumed, f"the session is resumed: {resumed}")
                server.tells("CN=alice")
                session = secure.session
                secure.unwrap()
        # In TLS 1.3 a client's handshake is over before the server looks at its certificate.
        for known, reason in (mallory, "the certificate is not accepted"), (None, "peer did not return a certificate"):
            context = trusting(certificate)
            if known:
                context.load_cert_chain(known, mallory_key)
            try:
                with context.wrap_socket(server.connect(), server_hostname="localhost") as secure:
                    secure.recv(100)
                sys.exit("failed: the server serves a client that it does not know")
            except ssl.SSLError as refused:
                expect("alert" in str(refused), f"the client is told why: {refused}")
            server.tells(reason)
    got = get(program, "localhost", certificate, key, clients=alice, presents=(alice, alice_key))
    expect(got.returncode == 0 and "TLSv1.3 http/1.1" in got.stderr, f"the client presents its certificate: {got.stderr}")
    got = get(program, "localhost", certificate, key, clients=alice, presents=(mallory, mallory_key))
    # The server closes while the request is on its way, and the alert may be lost.
    expect(got.returncode == 1 and ("alert" in got.stderr or "reset by peer" in got.stderr or "Broken pipe" in got.stderr),
           f"one that the server does not know fails: {got.stderr}")


def check_openssl(program, folder):
    """OpenSSL's own client and server."""
    certificate, key = identity(folder, "localhost")
    with Server(program, certificate, key) as server:
        got = run("openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-servername", "localhost", "-CAfile", certificate,
                  "-verify_return_error", "-verify_hostname", "localhost", "-tls1_3", "-alpn", "shout", "-nocommands", input="hello\n")
        expect("ALPN protocol: shout" in got.stdout and "Verify return code: 0" in got.stdout, f"s_client: {got.stdout}{got.stderr}")
        secure = subprocess.Popen(["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{server.port}", "-CAfile", certificate,
                                   "-tls1_3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        secure.stdin.write("one\n")
        secure.stdin.flush()
        expect(secure.stdout.readline() == "ONE\n", "s_client gets its answer")
        secure.kill()
        secure.wait()
        server.stop()
    serving = subprocess.Popen(["openssl", "s_server", "-www", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = ""
        while not line.startswith("ACCEPT "):
            line = serving.stdout.readline()
            expect(line, "s_server tells its port")
        got = run(program, "get", "localhost", line.rstrip().rpartition(":")[2], certificate)
        expect("HTTP/1.0 200 ok" in got.stdout, f"s_server: {got.stdout}{got.stderr}")
    finally:
        serving.kill()
        serving.wait()


def serve_once(listener, certificate, key, is_ended, clients):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
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


def get(program, host, certificate, key, is_ended=True, clients=None, presents=()):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve_once, args=(listener, certificate, key, is_ended, clients))
        server.start()
        got = run(program, "get", host, str(listener.getsockname()[1]), certificate, *presents)
        server.join()
    return got


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = identity(folder, "localhost")
        with Server(program, certificate, key) as server:
            check_server(server, certificate)
            check_refusals(server, certificate)
            check_server(server, certificate)  # it serves on
            server.stop()
        got = get(program, "localhost", certificate, key)
        expect(got.returncode == 0 and "Host: localhost\n" in got.stdout and got.stdout.endswith("y" * 100_000),
               f"the client gets everything: {got.stderr}")
        for bad in "/dev/null", key:
            expect("tls: certificate: " in run(program, "get", "localhost", "1", bad).stderr, f"{bad} is refused")
        expect("ended without" in get(program, "localhost", certificate, key, is_ended=False).stderr,
               "a stream that was cut is an error")
        expect("hostname mismatch" in get(program, "localhost", *identity(folder, "example.org")).stderr, "a wrong host is refused")
        check_client_certificates(program, folder)
        check_openssl(program, folder)
    print("TLS 1.2 and 1.3 with Python's ssl and OpenSSL's commands, as server and as client")


main()
