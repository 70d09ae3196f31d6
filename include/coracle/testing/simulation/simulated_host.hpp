// coracle/testing/simulation/simulated_host.hpp -- a simulated machine: an address, a disk and an io_service.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/io_service.hpp>
#include <coracle/testing/simulation/simulated_disk.hpp>
#include <coracle/testing/simulation/simulated_network.hpp>
#include <cstddef>
#include <memory>
#include <string_view>

namespace coracle::detail::simulated {
class host;
}  // namespace coracle::detail::simulated

namespace coracle::testing {
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
/// Limits   native_handle() is a number that no system call accepts. No socket options, Unix sockets, pipes or
///          processes.
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

  /// Simulates a power loss and a restart: unsynced writes may be lost; connections vanish without notice to
  /// the peer; open files and sockets of this host fail (EIO, ENETDOWN) and can only be closed.
  void crash();

 private:
  simulated_disk disk_;
  std::unique_ptr<detail::simulated::host> its_;
  std::unique_ptr<io_service> io_;
};
}  // namespace coracle::testing
