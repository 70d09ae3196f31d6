// tests/support/raw_client.hpp -- sends bytes to a server, right or wrong, and reads what it answers.
// SPDX-License-Identifier: MIT
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace coracle_test {
/// A connection that fails rather than to wait for long.
class client {
 public:
  explicit client(const sockaddr* to, socklen_t size) : socket_(::socket(to->sa_family, SOCK_STREAM, 0)) {
    const timeval most{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    static_cast<void>(::connect(socket_, to, size));  // if it fails, read() returns nothing
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() { ::close(socket_); }

  void send(std::string_view text) const { (void)::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// Reads up to and with `end`, or to the end.
  [[nodiscard]] std::string read(std::string_view end = {}) {
    std::string text;
    for (char bytes[4096]; end.empty() || text.find(end) == std::string::npos;) {
      const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR) continue;  // io_uring may interrupt a call with a time limit
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int socket_;
};

struct tcp_client : client {
  explicit tcp_client(unsigned short port)
      : client(reinterpret_cast<const sockaddr*>(&to(port)), sizeof(sockaddr_in)) {}

 private:
  static const sockaddr_in& to(unsigned short port) {
    static sockaddr_in address;
    address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
};
struct unix_client : client {
  explicit unix_client(const std::string& path)
      : client(reinterpret_cast<const sockaddr*>(&to(path)), sizeof(sockaddr_un)) {}

 private:
  static const sockaddr_un& to(const std::string& path) {
    static sockaddr_un address;
    address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
  }
};

inline std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1\r\nHost: here\r\n\r\n"; }
/// Asks once, of a client that connects to this place.
template <class Client, class Where>
std::string answer_to(const Where& where, const std::string& request) {
  Client asks(where);
  asks.send(request);
  return asks.read();
}
}  // namespace coracle_test
