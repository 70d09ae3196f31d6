// SPDX-License-Identifier: MIT
#include "network.hpp"

#include <coracle/base/check.hpp>
#include <coracle/testing/simulation/simulated_network.hpp>

#include "connection.hpp"
#include "host.hpp"

namespace coracle::detail::simulated {
namespace {
constexpr network::duration least_local_latency{5'000}, most_local_latency{50'000};
constexpr network::duration longest_stall = std::chrono::seconds{30};
}  // namespace

void network::add(host& one) {
  [[maybe_unused]] const bool added = hosts_.emplace(one.address(), &one).second;
  CORACLE_REQUIRE(added, "two hosts of a simulated network have the same address: give each its own");
}
void network::remove(const host& one) noexcept { hosts_.erase(one.address()); }

host* network::find(host& from, const net::ip_address& address) const noexcept {
  if (address.is_loopback() || address.is_unspecified()) return &from;
  return find(address);
}
host* network::find(const net::ip_address& address) const noexcept {
  const auto found = hosts_.find(address);
  return found == hosts_.end() ? nullptr : found->second;
}

std::size_t network::moved(std::size_t possible) {
  return chance(faults.short_transfers) ? sim.random().between(std::size_t{1}, possible) : possible;
}

network::duration network::transfer_time(std::size_t bytes) const noexcept {
  if (faults.bytes_per_second == 0) return {};
  // One send() is at most 64 KiB: no overflow.
  return duration{static_cast<duration::rep>(bytes * std::uint64_t{1'000'000'000} / faults.bytes_per_second)};
}

network::duration network::latency(const net::ip_address& from, const net::ip_address& to) {
  if (from == to) return sim.random().between(least_local_latency, most_local_latency);
  const duration usual = sim.random().between(faults.least_latency, faults.most_latency);
  return chance(faults.stalls) ? usual + sim.random().between(duration{0}, longest_stall) : usual;
}

void network::after_latency(const net::ip_address& from, const net::ip_address& to,
                            std::function<void()> what) {
  sim.at(sim.now() + latency(from, to), std::move(what));
}

bool network::is_parted(const net::ip_address& from, const net::ip_address& to) const {
  return parted_.contains({from, to});
}
void network::part(const net::ip_address& one, const net::ip_address& other) {
  sim.note("net: a partition");
  parted_.insert({one, other});
  parted_.insert({other, one});
}
void network::heal() {
  sim.note("net: healed");
  parted_.clear();
  for (const std::shared_ptr<lane>& each : std::exchange(held_, {})) each->healed();
}
void network::hold(std::shared_ptr<lane> one) { held_.push_back(std::move(one)); }
void network::let_go(const lane& one) noexcept {
  std::erase_if(held_, [&](const std::shared_ptr<lane>& each) { return each.get() == &one; });
}

void network::add(const std::shared_ptr<lane>& one) {
  if (lanes_.size() >= enough_lanes_) {
    std::erase_if(lanes_, [](const std::weak_ptr<lane>& each) { return each.expired(); });
    enough_lanes_ = 2 * lanes_.size() + 8;
  }
  lanes_.push_back(one);
}
void network::reset_connections() {
  for (const std::weak_ptr<lane>& each : std::exchange(lanes_, {})) {
    if (const auto found = each.lock()) found->break_connection();
  }
}
}  // namespace coracle::detail::simulated

namespace coracle::testing {
network_faults network_faults::harsh() noexcept {
  network_faults all;
  all.most_latency = std::chrono::milliseconds{50};
  all.bytes_per_second = 1'000'000;
  all.stalls = 200;
  all.resets = 500;
  all.refusals = 20;
  all.accept_errors = 20;
  all.short_transfers = 3;
  all.lost = 10;
  all.duplicated = 10;
  return all;
}

simulated_network::simulated_network(simulation& sim, const network_faults& faults)
    : its_(std::make_shared<detail::simulated::network>(sim, faults)) {}
simulated_network::~simulated_network() = default;

void simulated_network::set_faults(const network_faults& faults) noexcept { its_->faults = faults; }
void simulated_network::part(const net::ip_address& one, const net::ip_address& other) {
  its_->part(one, other);
}
void simulated_network::heal() { its_->heal(); }
void simulated_network::reset_connections() { its_->reset_connections(); }
}  // namespace coracle::testing
