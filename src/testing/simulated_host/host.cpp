// SPDX-License-Identifier: MIT
#include "host.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <coracle/base/check.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "../../net/socket_address.hpp"
#include "backend.hpp"
#include "open_directory.hpp"
#include "open_watcher.hpp"
#include "sockets.hpp"

namespace coracle::detail::simulated {
using testing::host_operation;

namespace {
/// As on Linux: ip_local_port_range.
constexpr std::uint16_t first_free_port = 32'768, free_ports = 28'232;

/// Returns true if the call is repeated after the error, as system_call.cpp does.
bool is_repeated(host_operation what, int error) noexcept {
  return error == EINTR || (what == host_operation::accept && (error == ECONNABORTED || error == EPROTO));
}
}  // namespace

host::host(std::shared_ptr<network> its_network, const net::ip_address& address, disk& its_disk)
    : network_(std::move(its_network)),
      address_(address),
      disk_(its_disk),
      current_directory_(
          std::make_shared<simulated::open_directory>(*this, its_disk, its_disk.names.root())) {
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
  // What is in progress on paths fails, too.
  current_directory_->lose_power();
  current_directory_ = std::make_shared<simulated::open_directory>(*this, disk_, disk_.names.root());
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

// ---- faults --------------------------------------------------------------------------------------------

void host::fail_next(host_operation what, int error, std::size_t after) {
  CORACLE_REQUIRE(error > 0 && error != EAGAIN, "fail_next() needs an error number, and not EAGAIN");
  const testing::allocations_aside of_the_system;
  faults_.push_back({what, error, after});
}

/// Returns the error of the next call of `what`, and counts the call; 0: none.
int host::next_error(host_operation what) noexcept {
  auto met = faults_.end();
  for (auto each = faults_.begin(); each != faults_.end(); ++each) {
    if (each->what != what) continue;
    if (each->after != 0) {
      --each->after;
    } else if (met == faults_.end()) {
      met = each;
    }
  }
  if (met == faults_.end()) return 0;
  const int error = met->error;
  faults_.erase(met);
  return error;
}

int host::failure_of(host_operation what) noexcept {
  for (;;) {
    const int error = next_error(what);
    if (error == 0) return 0;
    char line[64];
    const int size = std::snprintf(line, sizeof line, "fail_next(): %s", ::strerrorname_np(error));
    sim().note({line, static_cast<std::size_t>(size)});
    if (!is_repeated(what, error)) return -error;
  }
}

// ---- calls ---------------------------------------------------------------------------------------------

template <class Call>
int host::on(int fd, Call call) noexcept {
  const testing::allocations_aside of_the_system;
  const auto found = open_.find(fd);
  return found == open_.end() ? -EBADF : call(*found->second);
}
template <class Call>
int host::on(host_operation what, int fd, Call call) noexcept {
  const int failure = failure_of(what);
  return failure != 0 ? failure : on(fd, call);
}

std::unique_ptr<io_backend> host::backend_for(io_loop& loop) {
  return std::make_unique<simulated_backend>(loop, *this);
}

int host::open(const std::filesystem::path& path, int flags) noexcept {
  const testing::allocations_aside of_the_system;
  if (const int failure = failure_of(host_operation::open); failure != 0) return failure;
  if (sim().fails("open a file")) return -EMFILE;
  constexpr unsigned permissions = 0666;
  return open_name(disk_.names.root(), path.native(), flags, permissions);
}

int host::open_name(const std::shared_ptr<folder>& from, std::string_view path, int flags,
                    unsigned permissions, name_tree::links how) {
  if (open_.size() >= most_descriptors_) return -EMFILE;
  int error = 0;
  std::shared_ptr<node> found = disk_.open(from, path, flags, permissions, how, error);
  if (!found) return error;
  if (found->type == node::kind::folder) {
    return add(std::make_shared<simulated::open_directory>(
        *this, disk_, std::static_pointer_cast<folder>(std::move(found))));
  }
  return add(
      std::make_shared<open_file>(disk_, std::static_pointer_cast<stored_file>(std::move(found)), flags));
}

int host::status(int fd, struct ::stat& about) noexcept {
  return on(host_operation::status, fd, [&](descriptor& its) {
    const auto* const opened = dynamic_cast<const on_disk*>(&its);
    if (!opened) return -EINVAL;
    disk_.describe(opened->what(), about);
    return 0;
  });
}

int host::set_size(int fd, std::uint64_t size) noexcept {
  return on(host_operation::set_size, fd, [&](descriptor& its) {
    auto* const file = dynamic_cast<open_file*>(&its);
    return file ? file->set_size(size) : -EINVAL;
  });
}

int host::lock(int fd, int type) noexcept {
  return on(host_operation::lock, fd, [&](descriptor& its) {
    auto* const file = dynamic_cast<open_file*>(&its);
    return file ? file->lock(type) : -EBADF;
  });
}

int host::open_socket(int family, int type) noexcept {
  const testing::allocations_aside of_the_system;
  if (const int failure = failure_of(host_operation::open_socket); failure != 0) return failure;
  if (open_.size() >= most_descriptors_ || sim().fails("open a socket")) return -EMFILE;
  const bool is_ipv4 = family == AF_INET;
  if (type == SOCK_STREAM) return add(std::make_shared<stream_socket>(*this, is_ipv4));
  return add(std::make_shared<datagram_socket>(*this, is_ipv4));
}

int host::bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  sockaddr_storage storage{};
  std::memcpy(&storage, address, std::min<std::size_t>(size, sizeof storage));
  return on(host_operation::bind, fd, [&](descriptor& its) { return its.bind(from_sockaddr(storage)); });
}
int host::listen(int fd, int backlog) noexcept {
  return on(host_operation::listen, fd, [&](descriptor& its) { return its.listen(backlog); });
}
int host::local_address(int fd, sockaddr_storage& address) noexcept {
  return on(fd, [&](descriptor& its) {
    if (!its.local()) return -ENOTSOCK;
    to_sockaddr(*its.local(), address);
    return 0;
  });
}
int host::shut_down(int fd, int how) noexcept {
  return on(host_operation::shut_down, fd, [&](descriptor& its) { return its.shut_down(how); });
}
int host::dissolve(int fd) noexcept {
  return on(fd, [&](descriptor& its) { return its.dissolve(); });
}
int host::join_datagrams(int fd) noexcept {
  return on(fd, [&](descriptor& its) { return its.join_datagrams(); });
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

int host::open_watcher() noexcept {
  const testing::allocations_aside of_the_system;
  if (const int failure = failure_of(host_operation::open_watcher); failure != 0) return failure;
  if (open_.size() >= most_descriptors_ || sim().fails("open a watcher")) return -EMFILE;
  return add(std::make_shared<simulated::open_watcher>(disk_));
}
int host::watch(int watcher, const char* path, std::uint32_t changes) noexcept {
  return on(host_operation::watch, watcher, [&](descriptor& its) {
    auto* const opened = dynamic_cast<simulated::open_watcher*>(&its);
    if (!opened) return -EINVAL;
    if (sim().fails("watch a file")) return -ENOSPC;
    const name_tree::place at = disk_.names.find(disk_.names.root(), path, name_tree::links::followed);
    if (at.error != 0) return at.error;
    return at.what ? opened->add(at.what, changes) : -ENOENT;
  });
}
int host::unwatch(int watcher, int watch) noexcept {
  return on(watcher, [&](descriptor& its) {
    auto* const opened = dynamic_cast<simulated::open_watcher*>(&its);
    return opened ? opened->remove(watch) : -EINVAL;
  });
}

// ---- calls that block ----------------------------------------------------------------------------------

/// A call on an open file or directory, which the test may make fail.
template <class Opened, class Call>
std::int64_t host::on_opened(host_operation what, const char* name, int fd, Call call) noexcept {
  const testing::allocations_aside of_the_system;
  if (const int failure = failure_of(what); failure != 0) return failure;
  const std::shared_ptr<descriptor> found = find(fd);
  if (!found) return -EBADF;
  auto* const opened = dynamic_cast<Opened*>(found.get());
  if (!opened) return std::is_same_v<Opened, simulated::open_directory> ? -ENOTDIR : -EINVAL;
  if (opened->is_dead() || sim().fails(name)) return -EIO;
  return call(*opened);
}

int host::open_directory(int base, const char* path, bool is_below) noexcept {
  const auto open = [&](const simulated::open_directory& its) -> std::int64_t {
    const auto how = is_below ? name_tree::links::refused : name_tree::links::followed;
    return open_name(its.its_folder(), path, O_RDONLY | O_DIRECTORY, 0, how);
  };
  return static_cast<int>(
      on_opened<simulated::open_directory>(host_operation::open, "open a directory", base, open));
}
std::int64_t host::read_names(int directory, void* to, std::size_t size) noexcept {
  return on_opened<simulated::open_directory>(host_operation::list_directory, "list a directory", directory,
                                              [&](auto& its) { return its.read_names(to, size); });
}
int host::status_of_name(int directory, const char* name, struct ::statx& about) noexcept {
  const auto ask = [&](const simulated::open_directory& its) -> std::int64_t {
    return its.status(name, AT_SYMLINK_NOFOLLOW, &about);
  };
  return static_cast<int>(
      on_opened<simulated::open_directory>(host_operation::status, "ask for a status", directory, ask));
}
std::int64_t host::read_link(int base, const char* path, char* to, std::size_t size) noexcept {
  return on_opened<simulated::open_directory>(
      host_operation::read_link, "read a link", base, [&](auto& its) -> std::int64_t {
        const name_tree::place at = disk_.names.find(its.its_folder(), path, name_tree::links::kept_last);
        if (at.error != 0) return at.error;
        if (!at.what) return -ENOENT;
        if (at.what->type != node::kind::symlink) return -EINVAL;
        return static_cast<std::int64_t>(static_cast<const symlink&>(*at.what).target.copy(to, size));
      });
}

/// By chance refused, as between some file systems.
std::int64_t host::copy_range(int from, int to, std::uint64_t offset, std::size_t size) noexcept {
  const testing::allocations_aside of_the_system;
  if (const int failure = failure_of(host_operation::copy_range); failure != 0) return failure;
  if (sim().random().one_in(4)) return -EXDEV;
  constexpr std::size_t most = std::size_t{64} << 10;
  std::string bytes(std::min(size, most), '\0');
  const std::int64_t got = read_at(from, bytes.data(), bytes.size(), offset);
  return got <= 0 ? got : write_at(to, bytes.data(), static_cast<std::size_t>(got), offset);
}
std::int64_t host::read_at(int fd, void* to, std::size_t size, std::uint64_t offset) noexcept {
  return on_opened<open_file>(host_operation::read, "read from a file", fd,
                              [&](auto& its) { return its.read(offset, to, size); });
}
std::int64_t host::write_at(int fd, const void* from, std::size_t size, std::uint64_t offset) noexcept {
  return on_opened<open_file>(host_operation::write, "write to a file", fd,
                              [&](auto& its) { return its.write(offset, from, size); });
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
void simulated_host::fail_next(host_operation what, int error, std::size_t after) {
  its_->fail_next(what, error, after);
}
std::size_t simulated_host::faults_left() const noexcept { return its_->faults_left(); }
void simulated_host::crash() { its_->crash(); }
}  // namespace coracle::testing
