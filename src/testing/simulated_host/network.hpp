// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/simulation/simulated_network.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::detail::simulated {
class host;
class lane;

/// Beyond any descriptor of the process itself.
inline constexpr int first_descriptor = 0x4000'0000;

/// The hosts, the connections between them, and the source of randomness.
class network {
 public:
  using duration = std::chrono::nanoseconds;

  network(testing::simulation& its_simulation, const testing::network_faults& its_faults)
      : sim(its_simulation), faults(its_faults) {}

  void add(host& one);
  void remove(const host& one) noexcept;
  /// Returns the host that `from` reaches at `address`, or null.
  [[nodiscard]] host* find(host& from, const net::ip_address& address) const noexcept;
  /// Returns null if no host has this address.
  [[nodiscard]] host* find(const net::ip_address& address) const noexcept;

  [[nodiscard]] bool chance(std::uint32_t one_in) { return one_in != 0 && sim.random().one_in(one_in); }
  /// Returns how many of `possible` bytes are moved at once. Requires: possible != 0.
  [[nodiscard]] std::size_t moved(std::size_t possible);
  /// Returns how long that many bytes keep a connection busy.
  [[nodiscard]] duration transfer_time(std::size_t bytes) const noexcept;
  /// Returns the latency of a message sent now.
  [[nodiscard]] duration latency(const net::ip_address& from, const net::ip_address& to);
  /// Calls `what` after that latency.
  void after_latency(const net::ip_address& from, const net::ip_address& to, std::function<void()> what);

  [[nodiscard]] bool is_parted(const net::ip_address& from, const net::ip_address& to) const;
  void part(const net::ip_address& one, const net::ip_address& other);
  void heal();
  /// Registers it for reset_connections().
  void add(const std::shared_ptr<lane>& one);
  void reset_connections();
  /// Registers `one` for notification of the next heal().
  void hold(std::shared_ptr<lane> one);
  void let_go(const lane& one) noexcept;

  [[nodiscard]] int new_descriptor() noexcept { return next_descriptor_++; }

  testing::simulation& sim;
  testing::network_faults faults;

 private:
  std::map<net::ip_address, host*> hosts_;
  std::set<std::pair<net::ip_address, net::ip_address>> parted_;
  std::vector<std::weak_ptr<lane>> lanes_;  // between two hosts
  std::size_t enough_lanes_ = 8;            // from here on those that are gone are removed
  std::vector<std::shared_ptr<lane>> held_;
  int next_descriptor_ = first_descriptor;
};
}  // namespace coracle::detail::simulated
