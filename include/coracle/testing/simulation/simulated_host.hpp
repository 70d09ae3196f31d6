// coracle/testing/simulation/simulated_host.hpp -- a machine of a simulation: an address, a disk, and an io_service.
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
/// A machine with an io_service of its own. The sockets and files that are opened on that are simulated, and the code
/// that uses them is the code that is shipped.
///
///     coracle::testing::simulation sim{seed};
///     coracle::testing::simulated_network network{sim, coracle::testing::network_faults::harsh()};
///     coracle::testing::simulated_host server{network, "10.0.0.1"}, client{network, "10.0.0.2"};
///     sim.run(serve_and_ask(server.io(), client.io()));
///
/// The simulation processes the events of io(), as a thread in process_events() would, until its stop(). Code that has
/// a loop of its own may call io().run() or process_events() all the same: they drive the simulation.
///
/// Threads  that of the simulation.
/// Limits   native_handle() is a number that no system call knows. No socket options, no folders, no file locks.
class simulated_host {
 public:
  /// Requires: `address` is an IPv4 or IPv6 address that no other host of the network has. The loopback addresses are
  /// each host's own.
  simulated_host(simulated_network& network, std::string_view address);
  simulated_host(const simulated_host&) = delete;
  simulated_host& operator=(const simulated_host&) = delete;
  /// Requires: as ~io_service().
  ~simulated_host();

  [[nodiscard]] io_service& io() noexcept { return *io_; }
  [[nodiscard]] const net::ip_address& address() const noexcept;
  [[nodiscard]] simulated_disk& disk() noexcept { return disk_; }

  /// So many sockets and files may be open at once; beyond, EMFILE. At first 1024.
  void limit_descriptors(std::size_t most) noexcept;
  [[nodiscard]] std::size_t open_descriptors() const noexcept;

  /// A loss of power, and a start anew: writes that were not synced are lost, or not; connections are gone without a
  /// word to the other side; whatever is open here ends in errors (EIO, ENETDOWN), and can only be closed.
  void crash();

 private:
  simulated_disk disk_;
  std::unique_ptr<detail::simulated::host> its_;
  std::unique_ptr<io_service> io_;
};
}  // namespace coracle::testing
