// SPDX-License-Identifier: MIT
#include "io_system.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "../exec/turn_order.hpp"
#include "engine_choice.hpp"

namespace coracle::detail {
namespace {
/// Repeats the call as long as signals interrupt it.
template <class Call>
auto call(Call system_call) noexcept -> decltype(system_call()) {
  for (;;) {
    const auto result = system_call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}
constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;

/// Opens a directory below `base`, through no symbolic link.
int open_below(int base, const char* path) noexcept {
  struct ::open_how how{};
  how.flags = directory_flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd = call([&] { return ::syscall(SYS_openat2, base, path, &how, sizeof how); });
  if (fd >= 0 || (fd != -ENOSYS && fd != -EPERM)) return static_cast<int>(fd);
  // Before Linux 5.6, or where a filter refuses it, only the last part of the path is sure to be no link.
  return call([&] { return ::openat(base, path, directory_flags | O_NOFOLLOW); });
}
off_t offset_of(std::uint64_t position) noexcept { return static_cast<off_t>(position); }
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
  int join_datagrams(int fd) noexcept override {
    const int on = 1;
    const int result = call([&] { return ::setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on); });
    return result == -ENOPROTOOPT ? -EOPNOTSUPP : result;
  }
  int duplicate(int fd) noexcept override {
    return call([&] { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); });
  }
  void close(int fd) noexcept override { ::close(fd); }
  int open_watcher() noexcept override {
    return call([&] { return ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK); });
  }
  int watch(int watcher, const char* path, std::uint32_t changes) noexcept override {
    return call([&] { return ::inotify_add_watch(watcher, path, changes); });
  }
  int unwatch(int watcher, int watch) noexcept override {
    return call([&] { return ::inotify_rm_watch(watcher, watch); });
  }

  int open_directory(int base, const char* path, bool is_below) noexcept override {
    if (is_below) return open_below(base, path);
    return call([&] { return ::openat(base, path, directory_flags); });
  }
  std::int64_t read_names(int directory, void* to, std::size_t size) noexcept override {
    return call([&] { return ::syscall(SYS_getdents64, directory, to, size); });
  }
  int status_of_name(int directory, const char* name, struct ::statx& about) noexcept override {
    constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    return call([&] { return ::statx(directory, name, flags, STATX_BASIC_STATS, &about); });
  }
  std::int64_t read_link(int base, const char* path, char* to, std::size_t size) noexcept override {
    return call([&] { return ::readlinkat(base, path, to, size); });
  }
  int share_blocks(int from, int to) noexcept override {
    return call([&] { return ::ioctl(to, FICLONE, from); });
  }
  std::int64_t copy_range(int from, int to, std::uint64_t offset, std::size_t size) noexcept override {
    return call([&] {
      ::off_t from_at = offset_of(offset), to_at = from_at;
      return ::copy_file_range(from, &from_at, to, &to_at, size, 0);
    });
  }
  std::int64_t seek(int fd, std::uint64_t offset, int whence) noexcept override {
    return call([&] { return ::lseek(fd, offset_of(offset), whence); });
  }
  std::int64_t read_at(int fd, void* to, std::size_t size, std::uint64_t offset) noexcept override {
    return call([&] { return ::pread(fd, to, size, offset_of(offset)); });
  }
  std::int64_t write_at(int fd, const void* from, std::size_t size, std::uint64_t offset) noexcept override {
    return call([&] { return ::pwrite(fd, from, size, offset_of(offset)); });
  }
};
}  // namespace

io_system& io_system::linux_system() noexcept {
  static linux_io_system instance;
  return instance;
}
}  // namespace coracle::detail
