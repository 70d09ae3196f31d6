// coracle/testing/simulation/simulated_host.hpp -- a simulated machine: an address, a disk and an io_service.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/io_service.hpp>
#include <coracle/testing/simulation/simulated_disk.hpp>
#include <coracle/testing/simulation/simulated_network.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::detail::simulated {
class host;
}  // namespace coracle::detail::simulated

namespace coracle::testing {
/// What simulated_host::fail_next() makes fail, with the system calls that it stands for.
enum class host_operation : std::uint8_t {
  receive,           ///< recv(2), recvfrom(2), recvmsg(2), recvmmsg(2)
  send,              ///< send(2), sendto(2), sendmsg(2), sendmmsg(2), sendfile(2)
  accept,            ///< accept4(2)
  connect,           ///< connect(2)
  open_socket,       ///< socket(2)
  bind,              ///< bind(2)
  listen,            ///< listen(2)
  shut_down,         ///< shutdown(2)
  open,              ///< open(2), openat(2), openat2(2): of a file or a directory
  read,              ///< pread(2), preadv(2)
  write,             ///< pwrite(2), pwritev(2)
  sync,              ///< fsync(2)
  set_size,          ///< ftruncate(2)
  lock,              ///< fcntl(2) with F_OFD_SETLK
  copy_range,        ///< copy_file_range(2)
  status,            ///< statx(2), fstat(2)
  rename,            ///< renameat2(2)
  link,              ///< linkat(2), symlinkat(2)
  read_link,         ///< readlinkat(2)
  create_directory,  ///< mkdirat(2)
  remove,            ///< unlinkat(2)
  list_directory,    ///< getdents64(2)
  open_watcher,      ///< inotify_init1(2)
  watch,             ///< inotify_add_watch(2)
  read_changes       ///< read(2) of a file_watcher
};

/// A machine with its own io_service. Sockets and files opened on it are simulated; the code that uses them
/// is the shipped code.
///
///     coracle::testing::simulation sim{seed};
///     coracle::testing::simulated_network network{sim, coracle::testing::network_faults::harsh()};
///     coracle::testing::simulated_host server{network, "10.0.0.1"}, client{network, "10.0.0.2"};
///     sim.run(serve_and_ask(server.io(), client.io()));
///
/// The simulation processes the events of io(), like a thread in process_events(), until io().stop(). Code
/// with its own loop may still call io().run() or process_events(): they drive the simulation.
///
/// Threads  that of the simulation.
/// Limits   native_handle() is a number that no system call accepts. No socket options, Unix sockets, pipes
///          or processes.
class simulated_host {
 public:
  /// Requires: `address` is an IPv4 or IPv6 address that no other host of the network has. Loopback addresses
  /// are local to each host.
  simulated_host(simulated_network& network, std::string_view address);
  simulated_host(const simulated_host&) = delete;
  simulated_host& operator=(const simulated_host&) = delete;
  /// Requires: as ~io_service().
  ~simulated_host();

  [[nodiscard]] io_service& io() noexcept { return *io_; }
  [[nodiscard]] const net::ip_address& address() const noexcept;
  [[nodiscard]] simulated_disk& disk() noexcept { return disk_; }

  /// Limits the number of open sockets and files (initially 1024); beyond it, operations fail with EMFILE.
  void limit_descriptors(std::size_t most) noexcept;
  [[nodiscard]] std::size_t open_descriptors() const noexcept;

  /// Makes the next call of `what` on this host fail, or, with `after`, the one after that many others. The
  /// call has no other effect, and the library handles the error as on Linux: after EINTR it repeats the
  /// call, and after ECONNABORTED or EPROTO it accepts the next connection. A call that is already waiting
  /// does not fail. Several faults may be pending at once; each counts calls independently.
  ///
  ///     host.fail_next(host_operation::write, ENOSPC, 2);  // the third write
  ///
  /// Requires: `error` is an error number of errno(3), but not EAGAIN, after which an operation would wait.
  void fail_next(host_operation what, int error, std::size_t after = 0);
  /// Returns the number of fail_next() faults that have not occurred yet.
  [[nodiscard]] std::size_t faults_left() const noexcept;

  /// Simulates a power loss and a restart: unsynced writes may be lost; connections vanish without notice to
  /// the peer; open files and sockets of this host fail (EIO, ENETDOWN) and can only be closed.
  void crash();

 private:
  simulated_disk disk_;
  std::unique_ptr<detail::simulated::host> its_;
  std::unique_ptr<io_service> io_;
};
}  // namespace coracle::testing
