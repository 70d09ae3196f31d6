// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ip_endpoint.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "../../exec/turn_order.hpp"
#include "../../io/io_system.hpp"
#include "descriptor.hpp"
#include "disk.hpp"
#include "network.hpp"

namespace coracle::detail::simulated {
class socket;
class stream_socket;
class datagram_socket;
class open_directory;

/// The system under a simulated io_service: descriptors and ports.
class host final : public io_system {
 public:
  host(std::shared_ptr<network> its_network, const net::ip_address& address, disk& its_disk);
  ~host();

  [[nodiscard]] const net::ip_address& address() const noexcept { return address_; }
  [[nodiscard]] const std::shared_ptr<network>& net() const noexcept { return network_; }
  [[nodiscard]] testing::simulation& sim() const noexcept { return network_->sim; }

  /// Returns null if there is none of that number.
  [[nodiscard]] std::shared_ptr<descriptor> find(int fd) const;
  /// The same, but throws std::system_error.
  [[nodiscard]] std::shared_ptr<descriptor> at(int fd) const;
  /// Returns its number, or -EMFILE.
  int add(std::shared_ptr<descriptor> one) noexcept;
  [[nodiscard]] std::size_t descriptors() const noexcept { return open_.size(); }
  void limit_descriptors(std::size_t most) noexcept { most_descriptors_ = most; }
  void crash();
  void fail_next(testing::host_operation what, int error, std::size_t after);
  [[nodiscard]] std::size_t faults_left() const noexcept { return faults_.size(); }
  /// Call where an operation begins. Returns -errno if fail_next() makes it fail, otherwise 0.
  [[nodiscard]] int failure_of(testing::host_operation what) noexcept;

  /// Registers a socket as long as it has an address.
  void bound(socket& one) { bound_.push_back(&one); }
  void unbound(const socket& one) noexcept { std::erase(bound_, &one); }
  [[nodiscard]] bool is_taken(const socket& by_others_than, const net::ip_endpoint& address) const noexcept;
  [[nodiscard]] std::uint16_t free_port(bool is_stream) noexcept;
  /// Returns the local address from which `remote` is reached.
  [[nodiscard]] net::ip_address address_towards(const net::ip_endpoint& remote) const noexcept;
  [[nodiscard]] bool has(const net::ip_address& address) const noexcept;
  /// Returns when a datagram sent now to this host itself arrives: after the previous ones.
  [[nodiscard]] testing::simulation::time_point next_local_arrival();
  /// Returns the socket with this address, or null.
  [[nodiscard]] socket* find(bool is_stream, const net::ip_endpoint& address) const noexcept;

  std::chrono::steady_clock::time_point now() noexcept override { return sim().now(); }
  /// Virtual time stands still during a turn, so each read of this clock advances it.
  std::uint64_t ticks() noexcept override { return looks_ += turn_order::slice / 64; }
  std::unique_ptr<io_backend> backend_for(io_loop& loop) override;
  int open(const std::filesystem::path& path, int flags) noexcept override;
  /// As openat(2).
  int open_name(const std::shared_ptr<folder>& from, std::string_view path, int flags, unsigned permissions,
                name_tree::links how = name_tree::links::followed);
  int status(int fd, struct ::stat& about) noexcept override;
  int set_size(int fd, std::uint64_t size) noexcept override;
  int lock(int fd, int type) noexcept override;
  int open_socket(int family, int type) noexcept override;
  int bind(int fd, const sockaddr* address, socklen_t size) noexcept override;
  void reuse_address(int) noexcept override {}
  int listen(int fd, int backlog) noexcept override;
  int local_address(int fd, sockaddr_storage& address) noexcept override;
  int shut_down(int fd, int how) noexcept override;
  int dissolve(int fd) noexcept override;
  int join_datagrams(int fd) noexcept override;
  int duplicate(int fd) noexcept override;
  void close(int fd) noexcept override;
  int open_watcher() noexcept override;
  int watch(int watcher, const char* path, std::uint32_t changes) noexcept override;
  int unwatch(int watcher, int watch) noexcept override;
  blocking_service* blocking_calls() noexcept override { return sim().blocking_calls(); }
  int open_directory(int base, const char* path, bool is_below) noexcept override;
  std::int64_t read_names(int directory, void* to, std::size_t size) noexcept override;
  int status_of_name(int directory, const char* name, struct ::statx& about) noexcept override;
  std::int64_t read_link(int base, const char* path, char* to, std::size_t size) noexcept override;
  int share_blocks(int, int) noexcept override { return -EOPNOTSUPP; }
  std::int64_t copy_range(int from, int to, std::uint64_t offset, std::size_t size) noexcept override;
  /// Files have no holes.
  std::int64_t seek(int, std::uint64_t, int) noexcept override { return -EINVAL; }
  std::int64_t read_at(int fd, void* to, std::size_t size, std::uint64_t offset) noexcept override;
  std::int64_t write_at(int fd, const void* from, std::size_t size, std::uint64_t offset) noexcept override;

 private:
  struct fault {
    testing::host_operation what;
    int error;
    std::size_t after;
  };

  [[nodiscard]] int next_error(testing::host_operation what) noexcept;
  template <class Call>
  int on(int fd, Call call) noexcept;
  template <class Call>
  int on(testing::host_operation what, int fd, Call call) noexcept;
  template <class Opened, class Call>
  std::int64_t on_opened(testing::host_operation what, const char* name, int fd, Call call) noexcept;

  std::shared_ptr<network> network_;
  const net::ip_address address_;
  disk& disk_;
  std::shared_ptr<simulated::open_directory> current_directory_;
  std::map<int, std::shared_ptr<descriptor>> open_;
  std::size_t most_descriptors_ = 1024;
  std::vector<socket*> bound_;
  std::vector<fault> faults_;
  std::uint16_t next_port_ = 0;
  std::uint64_t looks_ = 0;
  testing::simulation::time_point last_local_arrival_{};
};

/// Returns the endpoint that an io_request refers to as a sockaddr.
[[nodiscard]] net::ip_endpoint endpoint_of(const io_request& request) noexcept;
/// Fills in the peer address for accept() and recvfrom().
void tell_endpoint(io_request& request, const net::ip_endpoint& endpoint) noexcept;
}  // namespace coracle::detail::simulated
