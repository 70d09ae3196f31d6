// SPDX-License-Identifier: MIT
#include "sockets.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../../io/system_call.hpp"
#include "host.hpp"
#include "parts.hpp"

namespace coracle::detail::simulated {
namespace {
/// How often Linux retries an unanswered connect (tcp_syn_retries), after 1, 2, 4 ... seconds.
constexpr int most_knocks = 6;
constexpr std::uint32_t most_backlog = 4096;

net::ip_endpoint unspecified(bool is_ipv4) noexcept {
  return is_ipv4 ? net::ip_endpoint{net::ipv4_endpoint{}} : net::ip_endpoint{net::ipv6_endpoint{}};
}
}  // namespace

socket::socket(host& its_host, bool is_stream, bool is_ipv4)
    : host_(its_host), is_stream_(is_stream), local_(unspecified(is_ipv4)) {
  host_.bound(*this);
}
socket::~socket() { host_.unbound(*this); }

network& socket::net() const noexcept { return *host_.net(); }

int socket::bind(const net::ip_endpoint& address) {
  if (!has_family_of(address)) return -EAFNOSUPPORT;
  if (is_bound()) return -EINVAL;
  if (!host_.has(address.address())) return -EADDRNOTAVAIL;
  const std::uint16_t port = address.port() != 0 ? address.port() : host_.free_port(is_stream_);
  const net::ip_endpoint wanted{address.address(), port};
  if (host_.is_taken(*this, wanted)) return -EADDRINUSE;
  local_ = wanted;
  return 0;
}

void socket::bind_to_reach(const net::ip_endpoint& remote) {
  const std::uint16_t port = is_bound() ? local_.port() : host_.free_port(is_stream_);
  const bool has_address = !local_.address().is_unspecified();
  local_ = net::ip_endpoint{has_address ? local_.address() : host_.address_towards(remote), port};
}

// ---- TCP -----------------------------------------------------------------------------------------------

stream_socket::stream_socket(host& its_host, std::shared_ptr<connection_end> end,
                             const net::ip_endpoint& local)
    : socket(its_host, true, local.is_ipv4()), state_(state::connected), end_(std::move(end)) {
  set_local(local);
  end_->belongs_to(this);
}

std::int64_t stream_socket::try_now(io_request& request) {
  if (state_ == state::dead) return -ENETDOWN;
  const bool drops = (request.flags & MSG_TRUNC) != 0;
  switch (request.opcode) {
    case io_opcode::accept:
      return accept(request);
    case io_opcode::connect:
      return connect(request);
    case io_opcode::send:
    case io_opcode::send_to:
      return state_ == state::connected ? end_->send(request.buffer, request.size) : -EPIPE;
    case io_opcode::send_parts:
    case io_opcode::receive_parts:
      return transfer_parts(request);
    case io_opcode::send_file:
      return state_ == state::connected ? send_file(request) : -EPIPE;
    case io_opcode::receive_from:
      request.address_size = 0;  // as on Linux: a stream has one sender only
      [[fallthrough]];
    case io_opcode::receive:
      return state_ == state::connected ? end_->receive(request.buffer, request.size, drops) : -ENOTCONN;
    default:
      return -EINVAL;
  }
}

std::int64_t stream_socket::transfer_parts(const io_request& request) {
  if (request.size > most_parts) return -EMSGSIZE;
  if (request.opcode == io_opcode::send_parts) {
    const std::string all = gathered(request, connection_end::most_unread);
    return state_ == state::connected ? end_->send(all.data(), all.size()) : -EPIPE;
  }
  if (state_ != state::connected) return -ENOTCONN;
  return read_parts(request, [&](void* to, std::size_t size) { return end_->receive(to, size, false); });
}

std::int64_t stream_socket::send_file(const io_request& request) {
  if (end_->has_no_room()) return not_ready;
  const std::shared_ptr<descriptor> file = its_host().find(request.flags);
  if (!file) return -EBADF;
  constexpr std::size_t most_at_once = std::size_t{64} << 10;
  std::string bytes(std::min(request.size, most_at_once), '\0');
  io_request read{request.record, io_opcode::read_at, bytes.data(), bytes.size()};
  read.offset = request.offset;
  const std::int64_t got = file->try_now(read);
  return got <= 0 ? got : end_->send(bytes.data(), static_cast<std::size_t>(got));
}

std::int64_t stream_socket::fault(const io_request& request) {
  if (request.opcode == io_opcode::accept) return -EMFILE;
  if (request.opcode == io_opcode::connect) return -ECONNREFUSED;
  if (!end_) return -ENOBUFS;
  end_->fail(0);
  return -ECONNRESET;
}

int stream_socket::listen(int backlog) {
  if (state_ == state::dead) return -ENETDOWN;
  if (state_ != state::fresh && state_ != state::listening) return -EINVAL;
  if (!is_bound()) bind_to_reach(*local());
  if (its_host().is_taken(*this, *local())) return -EADDRINUSE;
  most_arrived_ = std::min(static_cast<std::uint32_t>(backlog), most_backlog) + std::size_t{1};
  state_ = state::listening;
  return 0;
}

std::int64_t stream_socket::accept(io_request& request) {
  if (state_ != state::listening) return -EINVAL;
  if (arrived_.empty()) return not_ready;
  if (net().chance(net().faults.accept_errors)) {
    constexpr int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
    return -errors[net().sim.random().below(std::size(errors))];
  }
  const arrival& first = arrived_.front();
  const auto accepted = std::make_shared<stream_socket>(its_host(), first.end, first.local);
  const int fd = its_host().add(accepted);
  if (fd < 0) {
    first.end->belongs_to(nullptr);
    return fd;
  }
  tell_endpoint(request, first.remote);
  arrived_.pop_front();
  return fd;
}

std::int64_t stream_socket::connect(io_request& request) {
  if (!request.begun) {
    const std::int64_t result = begin_connect(request);
    request.begun = result == not_ready;
    return result;
  }
  if (state_ == state::connecting) return not_ready;
  request.begun = false;
  if (state_ == state::connected) return 0;
  state_ = state::fresh;
  return -error_;
}

std::int64_t stream_socket::begin_connect(const io_request& request) {
  if (state_ == state::connecting) return -EALREADY;
  if (state_ != state::fresh && state_ != state::failed) return -EISCONN;
  remote_ = endpoint_of(request);
  if (!has_family_of(remote_)) return -EAFNOSUPPORT;
  bind_to_reach(remote_);
  state_ = state::connecting;
  knock(0);
  return not_ready;
}

void stream_socket::knock(int attempt) {
  if (attempt == most_knocks) return end_connect(ETIMEDOUT);
  net().after_latency(local()->address(), remote_.address(), [socket = weak_from_this(), attempt] {
    const auto self = socket.lock();
    if (self && self->state_ == state::connecting) self->knocked(attempt);
  });
}

/// Runs on the listening host.
void stream_socket::knocked(int attempt) {
  host* const there = net().find(its_host(), remote_.address());
  if (!there || net().is_parted(local()->address(), remote_.address())) return knock_again(attempt);
  auto* const found = static_cast<stream_socket*>(there->find(true, remote_));
  const bool is_loopback = there == &its_host();
  if (!found || (!is_loopback && net().chance(net().faults.refusals))) {
    return net().after_latency(remote_.address(), local()->address(), [socket = weak_from_this()] {
      if (const auto self = socket.lock()) self->end_connect(ECONNREFUSED);
    });
  }
  if (!meet(*found)) knock_again(attempt);
}

void stream_socket::knock_again(int attempt) {
  const auto later = net().sim.now() + std::chrono::seconds{std::int64_t{1} << attempt};
  net().sim.at(later, [socket = weak_from_this(), attempt] {
    const auto self = socket.lock();
    if (self && self->state_ == state::connecting) self->knock(attempt + 1);
  });
}

void stream_socket::end_connect(int error) {
  if (state_ != state::connecting) return;
  state_ = state::failed;
  error_ = error;
  may_be_written();
}

/// Returns false if it has no room for another connection.
bool stream_socket::meet(stream_socket& listener) {
  if (listener.arrived_.size() == listener.most_arrived_) return false;
  const auto& net = its_host().net();
  const auto outward = std::make_shared<lane>(net, local()->address(), remote_.address());
  const auto inward = std::make_shared<lane>(net, remote_.address(), local()->address());
  end_ = std::make_shared<connection_end>(net, outward, inward);
  const auto other = std::make_shared<connection_end>(net, inward, outward);
  outward->connect(end_, other);
  inward->connect(other, end_);
  end_->belongs_to(this);
  listener.arrived_.push_back({other, remote_, *local()});
  inward->send({segment::kind::established});
  listener.may_be_read();
  return true;
}

void stream_socket::established() {
  if (state_ != state::connecting) return;
  state_ = state::connected;
  may_be_written();
}

void stream_socket::received() {
  if (state_ == state::connecting && end_->is_broken()) return end_connect(ECONNRESET);
  may_be_read();
}

int stream_socket::shut_down(int how) {
  if (state_ == state::listening) {
    if (how != SHUT_WR) stop_listening();
    return 0;
  }
  if (state_ != state::connected) return -ENOTCONN;
  if (how != SHUT_RD) {
    if (const int result = end_->stop_sending(); result < 0) return result;
  }
  return how == SHUT_WR ? 0 : end_->stop_receiving();
}

/// It remains bound, and can listen again.
void stream_socket::stop_listening() {
  state_ = state::fresh;
  for (const arrival& each : std::exchange(arrived_, {})) each.end->abandon();
  may_be_read();
}

void stream_socket::close() {
  state_ = state::dead;
  if (end_) {
    end_->belongs_to(nullptr);
    end_->close();
  }
  for (const arrival& each : arrived_) each.end->abandon();
}

void stream_socket::lose_power() {
  state_ = state::dead;
  if (end_) end_->vanish();
  for (const arrival& each : arrived_) each.end->vanish();
  arrived_.clear();
  may_be_read();
  may_be_written();
}

// ---- UDP -----------------------------------------------------------------------------------------------

std::int64_t datagram_socket::try_now(io_request& request) {
  if (dead_) return -ENETDOWN;
  switch (request.opcode) {
    case io_opcode::connect:
      return connect(request);
    case io_opcode::send:
    case io_opcode::send_to:
    case io_opcode::send_parts:
      return send(request);
    case io_opcode::receive:
    case io_opcode::receive_from:
    case io_opcode::receive_parts:
      return receive(request);
    case io_opcode::send_batch:
    case io_opcode::receive_batch:
      return transfer_batch(request);
    case io_opcode::send_message:
      return send_segments(request);
    case io_opcode::receive_message:
      return receive_segments(request);
    default:
      return -EOPNOTSUPP;
  }
}

std::int64_t datagram_socket::fault(const io_request& request) {
  return request.opcode == io_opcode::connect ? -ENETUNREACH : -ENOBUFS;
}

std::int64_t datagram_socket::connect(const io_request& request) {
  const net::ip_endpoint remote = endpoint_of(request);
  if (!has_family_of(remote)) return -EAFNOSUPPORT;
  bind_to_reach(remote);
  remote_ = remote;
  return 0;
}

int datagram_socket::dissolve() {
  remote_ = unspecified(local()->is_ipv4());
  return 0;
}

int datagram_socket::shut_down(int how) {
  if (remote_.port() == 0) return -ENOTCONN;
  if (how != SHUT_WR) receiving_ = false;
  may_be_read();
  return 0;
}

std::int64_t datagram_socket::send(const io_request& request) {
  if (error_ != 0) return -std::exchange(error_, 0);
  const bool has_address = request.opcode == io_opcode::send_to;
  if (!has_address && remote_.port() == 0) return -EDESTADDRREQ;
  const net::ip_endpoint to = has_address ? endpoint_of(request) : remote_;
  if (!has_family_of(to)) return -EAFNOSUPPORT;
  const bool has_parts = request.opcode == io_opcode::send_parts;
  const std::size_t size = total_size(request);
  if (size > largest || (has_parts && request.size > most_parts)) return -EMSGSIZE;
  if (!is_bound()) bind_to_reach(to);
  transmit(to, has_parts ? gathered(request) : std::string(static_cast<const char*>(request.buffer), size));
  return static_cast<std::int64_t>(size);
}

void datagram_socket::transmit(const net::ip_endpoint& to, const std::string& bytes) {
  const net::ip_endpoint from{
      local()->address().is_unspecified() ? its_host().address_towards(to) : local()->address(),
      local()->port()};
  const net::ip_address home = its_host().address();
  const auto arrive = [net = its_host().net(), sender = weak_from_this(), home, from, to, bytes] {
    host* const sending = net->find(home);
    host* const there = sending ? net->find(*sending, to.address()) : nullptr;
    if (there && !net->is_parted(home, there->address()))
      datagram_socket::arrive(*there, sender, to, {from, bytes});
  };
  if (net().find(its_host(), to.address()) == &its_host()) {
    return net().sim.at(its_host().next_local_arrival(), arrive);  // in order
  }
  int copies = 1;
  if (net().chance(net().faults.duplicated)) ++copies;
  if (net().chance(net().faults.lost)) --copies;
  for (; copies != 0; --copies) net().after_latency(from.address(), to.address(), arrive);
}

/// Notifies `sender` if there is no receiver and it is connected.
void datagram_socket::arrive(host& there, const std::weak_ptr<datagram_socket>& sender,
                             const net::ip_endpoint& to, datagram what) {
  auto* const found = static_cast<datagram_socket*>(there.find(false, to));
  if (found) return found->take(std::move(what));
  const auto from = sender.lock();
  if (!from || from->remote_ != to) return;
  there.net()->after_latency(to.address(), what.from.address(), [sender] {
    const auto self = sender.lock();
    if (!self) return;
    self->error_ = ECONNREFUSED;
    self->may_be_read();
  });
}

void datagram_socket::take(datagram what) {
  if (remote_.port() != 0 && remote_ != what.from) return;
  if (unread_ + what.bytes.size() > most_unread) return;
  unread_ += what.bytes.size();
  received_.push_back(std::move(what));
  may_be_read();
}

std::int64_t datagram_socket::receive(io_request& request) {
  if (request.opcode == io_opcode::receive_parts && request.size > most_parts) return -EMSGSIZE;
  if (error_ != 0) return -std::exchange(error_, 0);
  if (received_.empty()) {
    if (receiving_) return not_ready;
    request.address_size = 0;
    joined_from_ = 0;
    return 0;
  }
  const datagram first = joins_ ? take_joined() : take_first();
  joined_from_ = first.joined_from;
  const bool has_parts = request.opcode == io_opcode::receive_parts;
  const std::size_t taken =
      has_parts ? scatter(request, first.bytes) : std::min(request.size, first.bytes.size());
  if (taken != 0 && !has_parts) std::memcpy(request.buffer, first.bytes.data(), taken);
  if (request.opcode == io_opcode::receive_from) tell_endpoint(request, first.from);
  const bool whole = (request.flags & MSG_TRUNC) != 0;
  return static_cast<std::int64_t>(whole ? first.bytes.size() : taken);
}

std::int64_t datagram_socket::send_segments(const io_request& request) {
  const auto& its = *static_cast<const io_message*>(request.address);
  if (its.segment_size != 0 && its.segment_size * most_segments < request.size) return -EINVAL;
  if (request.size > largest) return -EMSGSIZE;
  auto* const bytes = static_cast<char*>(request.buffer);
  std::size_t sent = 0;
  do {
    const std::size_t left = request.size - sent;
    io_request one{request.record, its.name ? io_opcode::send_to : io_opcode::send, bytes + sent,
                   its.segment_size != 0 ? std::min(its.segment_size, left) : left};
    one.address = its.name;
    one.address_size = its.name_size;
    const std::int64_t result = send(one);
    if (result < 0) return result;
    sent += one.size;
  } while (sent != request.size);
  return static_cast<std::int64_t>(sent);
}

std::int64_t datagram_socket::receive_segments(const io_request& request) {
  auto& its = *static_cast<io_message*>(request.address);
  io_request all{request.record, io_opcode::receive_from, request.buffer, request.size};
  all.address = its.name;
  all.address_size = its.name_size;
  all.flags = request.flags;
  const std::int64_t result = receive(all);
  if (result < 0) return result;
  its.name_size = all.address_size;
  its.segment_size = joined_from_;
  return result;
}

datagram_socket::datagram datagram_socket::take_first() {
  datagram first = std::move(received_.front());
  received_.pop_front();
  unread_ -= first.bytes.size();
  return first;
}
/// By chance with some of those behind it: of the same sender and size, and a shorter one as the last.
datagram_socket::datagram datagram_socket::take_joined() {
  datagram all = take_first();
  const std::size_t size = all.bytes.size();
  for (std::size_t count = 1; size != 0 && !received_.empty() && count != most_segments; ++count) {
    const datagram& next = received_.front();
    const bool fits = next.from == all.from && !next.bytes.empty() && next.bytes.size() <= size &&
                      all.bytes.size() + next.bytes.size() <= most_joined;
    if (!fits || net().chance(8)) break;
    const bool is_last = next.bytes.size() < size;
    all.joined_from = size;
    all.bytes += take_first().bytes;
    if (is_last) break;
  }
  return all;
}

/// One after the other, until one fails: that is the result if it is the first.
std::int64_t datagram_socket::transfer_batch(const io_request& request) {
  const bool sends = request.opcode == io_opcode::send_batch;
  std::int64_t count = 0;
  for (mmsghdr& each : std::span{static_cast<mmsghdr*>(request.buffer), request.size}) {
    if (!sends && error_ == 0 && received_.empty() && !receiving_) return count;
    const iovec& bytes = *each.msg_hdr.msg_iov;
    io_request one{request.record, sends ? io_opcode::send_to : io_opcode::receive_from, bytes.iov_base,
                   bytes.iov_len};
    one.address = each.msg_hdr.msg_name;
    one.address_size = each.msg_hdr.msg_namelen;
    one.flags = MSG_TRUNC;
    const std::int64_t result = sends ? send(one) : receive(one);
    if (result < 0) return count == 0 ? result : count;
    each.msg_hdr.msg_namelen = one.address_size;
    each.msg_hdr.msg_flags = static_cast<std::size_t>(result) > bytes.iov_len ? MSG_TRUNC : 0;
    each.msg_len = static_cast<unsigned>(result);
    ++count;
  }
  return count;
}

void datagram_socket::lose_power() {
  dead_ = true;
  received_.clear();
  may_be_read();
}
}  // namespace coracle::detail::simulated
