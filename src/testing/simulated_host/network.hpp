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

/// No system call takes it for a descriptor of the process itself.
inline constexpr int first_descriptor = 0x4000'0000;

/// The hosts, what lies between them, and the dice.
class network {
 public:
  using duration = std::chrono::nanoseconds;

  network(testing::simulation& its_simulation, const testing::network_faults& its_faults)
      : sim(its_simulation), faults(its_faults) {}

  void add(host& one);
  void remove(const host& one) noexcept;
  /// Whom `from` reaches at `address`; null: nobody is there.
  [[nodiscard]] host* find(host& from, const net::ip_address& address) const noexcept;
  /// Null if no host has this address.
  [[nodiscard]] host* find(const net::ip_address& address) const noexcept;

  [[nodiscard]] bool chance(std::uint32_t one_in) { return one_in != 0 && sim.random().one_in(one_in); }
  /// How many of `possible` bytes are moved at once. Requires: possible != 0.
  [[nodiscard]] std::size_t moved(std::size_t possible);
  /// How long so many bytes keep a connection busy.
  [[nodiscard]] duration transfer_time(std::size_t bytes) const noexcept;
  /// What something that is sent now takes to arrive.
  [[nodiscard]] duration latency(const net::ip_address& from, const net::ip_address& to);
  /// Calls `what` after that.
  void after_latency(const net::ip_address& from, const net::ip_address& to, std::function<void()> what);

  [[nodiscard]] bool is_parted(const net::ip_address& from, const net::ip_address& to) const;
  void part(const net::ip_address& one, const net::ip_address& other);
  void heal();
  /// So that reset_connections() finds it.
  void add(const std::shared_ptr<lane>& one);
  void reset_connections();
  /// Has `one` told of the next heal().
  void hold(std::shared_ptr<lane> one);
  void let_go(const lane& one) noexcept;

  [[nodiscard]] int new_descriptor() noexcept { return next_descriptor_++; }

  testing::simulation& sim;
  testing::network_faults faults;

 private:
  std::map<net::ip_address, host*> hosts_;
  std::set<std::pair<net::ip_address, net::ip_address>> parted_;
  std::vector<std::weak_ptr<lane>> lanes_;  // between two hosts
  std::vector<std::shared_ptr<lane>> held_;
  int next_descriptor_ = first_descriptor;
};
}  // namespace coracle::detail::simulated
