// SPDX-License-Identifier: MIT
#include "endpoint.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace coracle::detail {
namespace {
constexpr int backlog = 128;

/// An address of any family.
struct socket_address {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  template <class T>
  T& as() noexcept {
    size = sizeof(T);
    return reinterpret_cast<T&>(bytes);
  }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&bytes); }
};

[[noreturn]] void fail(const std::string& where) {
  throw std::system_error(errno, std::system_category(), "coracle::inspector cannot listen on " + where);
}
[[noreturn]] void reject(const std::string& where) {
  throw std::invalid_argument("coracle::inspector cannot listen on '" + where +
                              "': give 127.0.0.1:PORT, [::1]:PORT or unix:PATH");
}

/// Parses `127.0.0.1:80` or `[::1]:80`.
socket_address parse_address(const std::string& where) {
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos) reject(where);
  std::uint16_t port = 0;
  const char* const end = where.data() + where.size();
  const auto [parsed, error] = std::from_chars(where.data() + colon + 1, end, port);
  if (error != std::errc{} || parsed != end) reject(where);
  const bool is_bracketed = colon >= 2 && where[0] == '[' && where[colon - 1] == ']';
  const std::string host = is_bracketed ? where.substr(1, colon - 2) : where.substr(0, colon);
  socket_address found;
  if (is_bracketed) {
    auto& address = found.as<sockaddr_in6>();
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.c_str(), &address.sin6_addr) != 1) reject(where);
  } else {
    auto& address = found.as<sockaddr_in>();
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) reject(where);
  }
  return found;
}

/// Returns the address with the port that the system has chosen.
std::string bound_address(int socket) {
  socket_address bound;
  bound.size = sizeof bound.bytes;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size);
  char host[INET6_ADDRSTRLEN] = "";
  if (bound.bytes.ss_family == AF_INET6) {
    const auto& address = bound.as<sockaddr_in6>();
    ::inet_ntop(AF_INET6, &address.sin6_addr, host, sizeof host);
    return '[' + std::string(host) + "]:" + std::to_string(ntohs(address.sin6_port));
  }
  const auto& address = bound.as<sockaddr_in>();
  ::inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
  return std::string(host) + ':' + std::to_string(ntohs(address.sin_port));
}

inspector_descriptor open_socket(int family, const std::string& where) {
  inspector_descriptor opened(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (opened.get() < 0) fail(where);
  return opened;
}

std::string random_token() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw std::system_error(errno, std::system_category(), "coracle::inspector cannot choose a token");
  std::string token;
  for (const unsigned char each : bytes) {
    token += "0123456789abcdef"[each >> 4];
    token += "0123456789abcdef"[each & 15];
  }
  return token;
}

/// Returns true if the file is a socket at which no process listens any more.
bool is_left_over(const socket_address& at, const char* path) {
  struct stat file;
  if (::lstat(path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  const inspector_descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), at.get(), at.size) != 0 && errno == ECONNREFUSED;
}
}  // namespace

inspector_descriptor& inspector_descriptor::operator=(inspector_descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
inspector_descriptor::~inspector_descriptor() {
  if (number_ >= 0) ::close(number_);
}

inspector_endpoint::inspector_endpoint(const std::string& where) {
  constexpr std::string_view prefix = "unix:";
  if (where.compare(0, prefix.size(), prefix) == 0) {
    listen_at_path(where.substr(prefix.size()));
  } else {
    listen_at_address(where);
  }
}

void inspector_endpoint::listen_at_path(const std::string& path) {
  url_ = "unix:" + path;
  socket_address at;
  auto& address = at.as<sockaddr_un>();
  if (path.empty() || path.size() >= sizeof address.sun_path) reject(url_);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  socket_ = open_socket(AF_UNIX, url_);
  // bind() gives the file the mode of the socket.
  if (::fchmod(socket(), S_IRUSR | S_IWUSR) != 0) fail(url_);
  if (::bind(socket(), at.get(), at.size) != 0) {
    if (errno != EADDRINUSE) fail(url_);
    if (!is_left_over(at, path.c_str())) {
      errno = EADDRINUSE;
      fail(url_);
    }
    ::unlink(path.c_str());
    if (::bind(socket(), at.get(), at.size) != 0) fail(url_);
  }
  if (::listen(socket(), backlog) != 0) fail(url_);
  struct stat file;
  if (::lstat(path.c_str(), &file) != 0) fail(url_);
  path_ = path;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

void inspector_endpoint::listen_at_address(const std::string& where) {
  const socket_address at = parse_address(where);
  socket_ = open_socket(at.get()->sa_family, where);
  const int yes = 1;  // a port that a former run of the program used is free
  ::setsockopt(socket(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket(), at.get(), at.size) != 0 || ::listen(socket(), backlog) != 0) fail(where);
  token_ = random_token();
  url_ = "http://" + bound_address(socket()) + "/?token=" + token_;
}

void inspector_endpoint::remove_file() noexcept {
  struct stat file;
  const bool is_own =
      !path_.empty() && ::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
  if (is_own) ::unlink(path_.c_str());
}
}  // namespace coracle::detail
