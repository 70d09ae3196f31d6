// examples/42_serve_files.cpp -- a web server for the files of a directory, on all processors.
// SPDX-License-Identifier: MIT
#include <signal.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace fs = coracle::filesystem;
using coracle::task;
using coracle::net::socket;

/// Returns the path that a request line asks for, relative to the directory; empty, which is the directory
/// itself and cannot be opened, if it must not be served.
std::string path_in(std::string_view request) {
  if (!request.starts_with("GET /")) return {};
  request.remove_prefix(5);
  const std::string_view path = request.substr(0, request.find(' '));
  // An absolute path would replace the directory: root / "/etc/passwd" is "/etc/passwd".
  const bool leads_out = path.starts_with('/') || path.find("..") != path.npos;
  return leads_out ? std::string{} : std::string{path};
}

/// Sends the header and the file, which does not pass through this program.
task<> send_page(socket& client, const coracle::read_only_file& page) {
  const std::uint64_t size = page.size();
  const std::string header = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
  co_await client.send_all(header);
  co_await coracle::net::send_file(client, page, 0, size);
}
/// Sends the header and the text with one system call.
task<> send_error(socket& client, std::string_view text) {
  const std::string header =
      "HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n";
  const coracle::const_buffer parts[] = {header, text};
  co_await client.send_all(parts);
}

/// Answers one request after the other, until the client closes the connection or is silent for a minute.
task<> answer(const std::filesystem::path& root, socket client) {
  coracle::io_service& io = client.service();
  std::string received;
  for (;;) {
    const std::size_t size =
        co_await coracle::timeout(client.recv_until(received, "\r\n\r\n", 8192), std::chrono::minutes{1});
    if (size == 0) break;
    const std::string path = path_in(std::string_view{received}.substr(0, size));
    received.erase(0, size);
    const auto page = co_await coracle::as_io_result(fs::open_read_only(io, root / path));
    if (page) {
      co_await send_page(client, *page);
    } else {
      co_await send_error(client, "no such page\n");
    }
  }
}

task<> serve(socket& listener, const std::filesystem::path& root) {
  coracle::io_service_group workers;
  const auto answer_from_root = [&root](socket client) { return answer(root, std::move(client)); };
  co_await coracle::net::serve_on(workers, listener, answer_from_root);
}

/// Asks for the path, and prints the first and the last line of the answer.
task<> ask(socket& server, std::string_view path) {
  const std::string request = "GET " + std::string{path} + " HTTP/1.1\r\n\r\n";
  co_await server.send_all(request);
  std::string received;
  const std::size_t header = co_await server.recv_until(received, "\r\n\r\n", 8192);
  const std::size_t length = received.find("Content-Length: ") + 16;
  const std::size_t rest = header + std::strtoul(received.c_str() + length, nullptr, 10) - received.size();
  std::string body(rest, '\0');
  if (rest != 0) co_await server.recv_exactly(body.data(), rest);
  body.insert(0, received, header);
  std::printf("%s: %s, %zu bytes\n", std::string{path}.c_str(),
              received.substr(9, received.find('\r') - 9).c_str(), body.size());
}
task<> ask_and_interrupt(coracle::io_service& io, coracle::net::ip_endpoint address) {
  socket server = socket::create_tcpv4(io);
  co_await server.connect(address);
  for (const std::string_view path : {"/page", "/nowhere", "/../secret", "//etc/passwd", "/page"})
    co_await ask(server, path);
  raise(SIGINT);  // as if Ctrl-C had been pressed
}

task<> run(coracle::io_service& io, std::filesystem::path root, int port) {
  coracle::signal_set ctrl_c{io, {SIGINT}};
  socket listener = socket::create_tcpv4(io);
  listener.bind(
      coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), static_cast<std::uint16_t>(port)});
  listener.listen();
  const auto serve_until_signal = [&]() -> task<> {
    co_await coracle::when_any(ctrl_c.wait(), serve(listener, root));
  };
  if (port != 0) {
    co_await serve_until_signal();
  } else {  // a free port, and its own client
    co_await coracle::when_all(serve_until_signal(), ask_and_interrupt(io, listener.local_endpoint()));
  }
}

/// 42_serve_files DIRECTORY PORT serves until Ctrl-C.
int main(int argc, char** argv) {
  coracle::io_service io;
  if (argc > 2) {
    io.run(run(io, argv[1], std::atoi(argv[2])));
    return 0;
  }
  const auto root = std::filesystem::temp_directory_path() / "coracle_pages";
  std::filesystem::create_directory(root);
  io.run(fs::write_file(io, root / "page", std::string(3'000'000, '.')));
  io.run(run(io, root, 0));
  std::filesystem::remove_all(root);
}

// Output:
//   /page: 200 OK, 3000000 bytes
//   /nowhere: 404 Not Found, 13 bytes
//   /../secret: 404 Not Found, 13 bytes
//   //etc/passwd: 404 Not Found, 13 bytes
//   /page: 200 OK, 3000000 bytes
