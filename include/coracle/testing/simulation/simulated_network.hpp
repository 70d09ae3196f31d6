// coracle/testing/simulation/simulated_network.hpp -- the network of a simulation, and its faults.
// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <coracle/net/ip_address.hpp>
#include <cstdint>
#include <memory>

namespace coracle::detail::simulated {
class network;
}  // namespace coracle::detail::simulated

namespace coracle::testing {
class simulation;

/// The properties of a simulated network. Each count n means one in n; 0: never.
struct network_faults {
  std::chrono::nanoseconds least_latency{50'000};  ///< one way, between two hosts
  std::chrono::nanoseconds most_latency{2'000'000};
  std::uint64_t bytes_per_second = 0;  ///< of one direction of a TCP connection; 0: no limit
  std::uint32_t stalls = 0;            ///< a send takes up to 30 s longer
  std::uint32_t resets = 0;            ///< a send breaks its connection; only one side may notice
  std::uint32_t refusals = 0;          ///< connect() is refused
  std::uint32_t accept_errors = 0;     ///< accept() runs out of descriptors or memory
  std::uint32_t short_transfers = 0;   ///< send() and recv() move fewer bytes than they could
  std::uint32_t lost = 0;              ///< a datagram
  std::uint32_t duplicated = 0;        ///< a datagram

  /// All faults, often enough that most runs encounter some.
  [[nodiscard]] static network_faults harsh() noexcept;
};

/// Connects the hosts of a simulation: TCP and UDP over IPv4 or IPv6. Only a stream preserves order.
///
///     coracle::testing::simulation sim{seed};
///     coracle::testing::simulated_network network{sim};
///     coracle::testing::simulated_host server{network, "10.0.0.1"}, client{network, "10.0.0.2"};
///
/// A partition delays stream data until it heals, as TCP retransmits; after 15 minutes the sender gives up
/// (ETIMEDOUT). Datagrams are lost. Traffic within a host has no faults except short transfers.
///
/// Threads  the simulation's; the simulation outlives it.
class simulated_network {
 public:
  explicit simulated_network(simulation& sim, const network_faults& faults = {});
  simulated_network(const simulated_network&) = delete;
  simulated_network& operator=(const simulated_network&) = delete;
  /// Requires: its hosts have been destroyed.
  ~simulated_network();

  /// Applies from now on.
  void set_faults(const network_faults& faults) noexcept;
  /// Partitions the two hosts: nothing passes in either direction.
  void part(const net::ip_address& one, const net::ip_address& other);
  /// Undoes every part().
  void heal();
  /// Breaks every connection between two hosts; by chance, one side does not notice until it sends.
  void reset_connections();

 private:
  friend class simulated_host;
  std::shared_ptr<detail::simulated::network> its_;
};
}  // namespace coracle::testing
