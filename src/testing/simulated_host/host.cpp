// SPDX-License-Identifier: MIT
#include "host.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <coracle/base/check.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <cstring>
#include <system_error>

#include "../../net/socket_address.hpp"
#include "backend.hpp"
#include "open_directory.hpp"
#include "sockets.hpp"

namespace coracle::detail::simulated {
namespace {
/// As on Linux: ip_local_port_range.
constexpr std::uint16_t first_free_port = 32'768, free_ports = 28'232;
}  // namespace

host::host(std::shared_ptr<network> its_network, const net::ip_address& address, disk& its_disk)
    : network_(std::move(its_network)),
      address_(address),
      disk_(its_disk),
      current_directory_(std::make_shared<open_directory>(*this, its_disk, "")) {
  network_->add(*this);
}
host::~host() { network_->remove(*this); }

std::shared_ptr<descriptor> host::find(int fd) const {
  if (fd == AT_FDCWD) return current_directory_;
  const auto found = open_.find(fd);
  return found == open_.end() ? nullptr : found->second;
}
std::shared_ptr<descriptor> host::at(int fd) const {
  std::shared_ptr<descriptor> found = find(fd);
  if (!found) throw std::system_error(EBADF, std::system_category(), "a simulated descriptor");
  return found;
}

int host::add(std::shared_ptr<descriptor> one) noexcept {
  if (open_.size() >= most_descriptors_) return -EMFILE;
  const int fd = network_->new_descriptor();
  open_.emplace(fd, std::move(one));
  return fd;
}

void host::crash() {
  sim().note("host: a loss of power");
  disk_.crash();
  for (const auto& [fd, each] : open_) each->lose_power();
}

bool host::is_taken(const socket& by_others_than, const net::ip_endpoint& address) const noexcept {
  return std::any_of(bound_.begin(), bound_.end(), [&](const socket* each) {
    const net::ip_endpoint& its = *each->local();
    const bool overlap = its.address() == address.address() || its.address().is_unspecified() ||
                         address.address().is_unspecified();
    return each != &by_others_than && each->is_exclusive() && its.port() == address.port() && overlap &&
           each->is_stream() == by_others_than.is_stream() && its.is_ipv4() == address.is_ipv4();
  });
}

std::uint16_t host::free_port(bool is_stream) noexcept {
  const auto is_used = [&](std::uint16_t port) {
    return std::any_of(bound_.begin(), bound_.end(), [&](const socket* each) {
      return each->is_stream() == is_stream && each->local()->port() == port;
    });
  };
  for (;;) {
    const auto port = static_cast<std::uint16_t>(first_free_port + next_port_);
    next_port_ = static_cast<std::uint16_t>((next_port_ + 1) % free_ports);
    if (!is_used(port)) return port;
  }
}

bool host::has(const net::ip_address& address) const noexcept {
  return address == address_ || address.is_loopback() || address.is_unspecified();
}

net::ip_address host::address_towards(const net::ip_endpoint& remote) const noexcept {
  if (remote.address().is_loopback() || remote.is_ipv4() != address_.is_ipv4()) {
    return remote.is_ipv4() ? net::ip_address{net::ipv4_address::loopback()}
                            : net::ip_address{net::ipv6_address::loopback()};
  }
  return address_;
}

socket* host::find(bool is_stream, const net::ip_endpoint& address) const noexcept {
  socket* general = nullptr;
  for (socket* const each : bound_) {
    const net::ip_endpoint& its = *each->local();
    const bool fits = each->is_stream() == is_stream && each->is_exclusive() &&
                      its.port() == address.port() && its.is_ipv4() == address.is_ipv4();
    if (fits && its.address() == address.address()) return each;
    if (fits && its.address().is_unspecified()) general = each;
  }
  return general;
}

testing::simulation::time_point host::next_local_arrival() {
  last_local_arrival_ = std::max(last_local_arrival_, sim().now() + network_->latency(address_, address_));
  return last_local_arrival_;
}

// ---- calls ---------------------------------------------------------------------------------------------

template <class Call>
int host::on(int fd, Call call) noexcept {
  const testing::allocations_aside of_the_system;
  const auto found = open_.find(fd);
  return found == open_.end() ? -EBADF : call(*found->second);
}

std::unique_ptr<io_backend> host::backend_for(io_loop& loop) {
  return std::make_unique<simulated_backend>(loop, *this);
}

int host::open(const std::filesystem::path& path, int flags) noexcept {
  const testing::allocations_aside of_the_system;
  if (sim().fails("open a file")) return -EMFILE;
  return open_name(path.native(), flags);
}

int host::open_name(const std::string& name, int flags) {
  if (open_.size() >= most_descriptors_) return -EMFILE;
  if ((flags & O_DIRECTORY) != 0) {
    if (disk_.find(name)) return -ENOTDIR;
    return add(std::make_shared<open_directory>(*this, disk_, name));
  }
  int error = 0;
  std::shared_ptr<stored_file> file = disk_.open(name, flags, error);
  return file ? add(std::make_shared<open_file>(disk_, std::move(file), flags)) : -error;
}

int host::status(int fd, struct ::stat& about) noexcept {
  return on(fd, [&](descriptor& its) {
    const auto* const file = dynamic_cast<const open_file*>(&its);
    if (!file) return -EINVAL;
    about = {};
    about.st_mode = S_IFREG | 0644;
    about.st_size = static_cast<off_t>(file->size());
    return 0;
  });
}

int host::set_size(int fd, std::uint64_t size) noexcept {
  return on(fd, [&](descriptor& its) {
    auto* const file = dynamic_cast<open_file*>(&its);
    return file ? file->set_size(size) : -EINVAL;
  });
}

int host::lock(int fd, int type) noexcept {
  return on(fd, [&](descriptor& its) {
    auto* const file = dynamic_cast<open_file*>(&its);
    return file ? file->lock(type) : -EBADF;
  });
}

int host::open_socket(int family, int type) noexcept {
  const testing::allocations_aside of_the_system;
  if (open_.size() >= most_descriptors_ || sim().fails("open a socket")) return -EMFILE;
  const bool is_ipv4 = family == AF_INET;
  if (type == SOCK_STREAM) return add(std::make_shared<stream_socket>(*this, is_ipv4));
  return add(std::make_shared<datagram_socket>(*this, is_ipv4));
}

int host::bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  sockaddr_storage storage{};
  std::memcpy(&storage, address, std::min<std::size_t>(size, sizeof storage));
  return on(fd, [&](descriptor& its) { return its.bind(from_sockaddr(storage)); });
}
int host::listen(int fd, int backlog) noexcept {
  return on(fd, [&](descriptor& its) { return its.listen(backlog); });
}
int host::local_address(int fd, sockaddr_storage& address) noexcept {
  return on(fd, [&](descriptor& its) {
    if (!its.local()) return -ENOTSOCK;
    to_sockaddr(*its.local(), address);
    return 0;
  });
}
int host::shut_down(int fd, int how) noexcept {
  return on(fd, [&](descriptor& its) { return its.shut_down(how); });
}
int host::dissolve(int fd) noexcept {
  return on(fd, [&](descriptor& its) { return its.dissolve(); });
}
int host::duplicate(int) noexcept { return -EOPNOTSUPP; }
void host::close(int fd) noexcept {
  if (fd == AT_FDCWD) return;
  const testing::allocations_aside of_the_system;
  const auto found = open_.find(fd);
  CORACLE_REQUIRE(found != open_.end(), "a simulated descriptor was closed twice");
  const std::shared_ptr<descriptor> closed = std::move(found->second);
  open_.erase(found);
  closed->close();
}

net::ip_endpoint endpoint_of(const io_request& request) noexcept {
  sockaddr_storage storage{};
  std::memcpy(&storage, request.address, std::min<std::size_t>(request.address_size, sizeof storage));
  return from_sockaddr(storage);
}

void tell_endpoint(io_request& request, const net::ip_endpoint& endpoint) noexcept {
  if (!request.address) return;
  sockaddr_storage storage;
  const socklen_t size = to_sockaddr(endpoint, storage);
  std::memcpy(request.address, &storage, std::min<std::size_t>(request.address_size, size));
  request.address_size = size;
}
}  // namespace coracle::detail::simulated

namespace coracle::testing {
namespace {
net::ip_address parsed(std::string_view address) {
  const auto found = net::ip_address::from_string(address);
  CORACLE_REQUIRE(found.has_value(), "the address of a simulated host is neither IPv4 nor IPv6");
  return found.value();
}
}  // namespace

simulated_host::simulated_host(simulated_network& network, std::string_view address)
    : disk_(network.its_->sim),
      its_(std::make_unique<detail::simulated::host>(network.its_, parsed(address), *disk_.its_)),
      io_(std::make_unique<io_service>(*its_)) {}
simulated_host::~simulated_host() = default;

const net::ip_address& simulated_host::address() const noexcept { return its_->address(); }
void simulated_host::limit_descriptors(std::size_t most) noexcept { its_->limit_descriptors(most); }
std::size_t simulated_host::open_descriptors() const noexcept { return its_->descriptors(); }
void simulated_host::crash() { its_->crash(); }
}  // namespace coracle::testing
