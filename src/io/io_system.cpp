// SPDX-License-Identifier: MIT
#include "io_system.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>

#include "../exec/turn_order.hpp"
#include "engine_choice.hpp"

namespace coracle::detail {
namespace {
/// Repeats the call as long as signals interrupt it.
template <class Call>
int call(Call system_call) noexcept {
  for (;;) {
    const int result = system_call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}
sockaddr* as_sockaddr(sockaddr_storage& storage) noexcept { return reinterpret_cast<sockaddr*>(&storage); }

class linux_io_system final : public io_system {
 public:
  std::chrono::steady_clock::time_point now() noexcept override { return std::chrono::steady_clock::now(); }
  std::uint64_t ticks() noexcept override { return turn_clock(); }
  std::unique_ptr<io_backend> backend_for(io_loop& loop) override { return chosen_backend(loop); }

  int open(const std::filesystem::path& path, int flags) noexcept override {
    constexpr mode_t mode = 0666;
    return call([&] { return ::open(path.c_str(), flags, mode); });
  }
  int status(int fd, struct ::stat& about) noexcept override {
    return call([&] { return ::fstat(fd, &about); });
  }
  int set_size(int fd, std::uint64_t size) noexcept override {
    return call([&] { return ::ftruncate(fd, static_cast<off_t>(size)); });
  }
  int lock(int fd, int type) noexcept override {
    struct ::flock whole_file{};
    whole_file.l_type = static_cast<short>(type);
    whole_file.l_whence = SEEK_SET;
    return call([&] { return ::fcntl(fd, F_OFD_SETLK, &whole_file); });
  }
  int open_socket(int family, int type) noexcept override {
    const int fd = call([&] { return ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
    const int on = 1;
    if (fd >= 0 && type == SOCK_STREAM && family != AF_UNIX)
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  }
  int bind(int fd, const sockaddr* address, socklen_t size) noexcept override {
    return call([&] { return ::bind(fd, address, size); });
  }
  void reuse_address(int fd) noexcept override {
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  int listen(int fd, int backlog) noexcept override {
    return call([&] { return ::listen(fd, backlog); });
  }
  int local_address(int fd, sockaddr_storage& address) noexcept override {
    socklen_t size = sizeof address;
    return call([&] { return ::getsockname(fd, as_sockaddr(address), &size); });
  }
  int shut_down(int fd, int how) noexcept override {
    return call([&] { return ::shutdown(fd, how); });
  }
  int dissolve(int fd) noexcept override {
    sockaddr_storage unspecified{};
    unspecified.ss_family = AF_UNSPEC;
    return call([&] { return ::connect(fd, as_sockaddr(unspecified), sizeof(sa_family_t)); });
  }
  int duplicate(int fd) noexcept override {
    return call([&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); });
  }
  void close(int fd) noexcept override { ::close(fd); }
};
}  // namespace

io_system& io_system::linux_system() noexcept {
  static linux_io_system instance;
  return instance;
}
}  // namespace coracle::detail
