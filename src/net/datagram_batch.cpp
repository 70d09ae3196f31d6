// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <algorithm>
#include <coracle/base/check.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <cstring>
#include <new>
#include <utility>

#include "../io/io_failure_of.hpp"
#include "socket_address.hpp"

namespace coracle::net {
using coracle::detail::io_opcode;

/// The system is passed an array of mmsghdr, which comes first in memory. Each element refers to one of
/// these.
struct datagram_batch::message {
  iovec bytes;
  sockaddr_storage address;
};

namespace {
mmsghdr* calls_in(std::byte* memory) noexcept { return reinterpret_cast<mmsghdr*>(memory); }
const mmsghdr& call_in(const std::byte* memory, std::size_t index) noexcept {
  return reinterpret_cast<const mmsghdr*>(memory)[index];
}
/// Returns the size of `count` datagrams with `more` bytes for each.
std::size_t size_of(std::size_t count, std::size_t largest, std::size_t more) {
  std::size_t each, all;
  if (__builtin_add_overflow(largest, more, &each) || __builtin_mul_overflow(count, each, &all))
    CORACLE_THROW(std::bad_alloc{}, "no memory is large enough for the datagrams of a datagram_batch");
  return all;
}
}  // namespace

datagram_batch::datagram_batch(std::size_t count, std::size_t largest)
    : memory_(new std::byte[size_of(count, largest, sizeof(mmsghdr) + sizeof(message))]),
      capacity_(count),
      largest_(largest) {
  CORACLE_REQUIRE(count != 0, "a datagram_batch was constructed with a capacity of 0: it must be at least 1");
  mmsghdr* const calls = calls_in(memory_.get());
  auto* const messages = reinterpret_cast<message*>(calls + count);
  auto* const bytes = reinterpret_cast<std::byte*>(messages + count);
  for (std::size_t i = 0; i != count; ++i) {
    message* const its = new (messages + i) message{{bytes + i * largest, largest}, {}};
    mmsghdr* const call = new (calls + i) mmsghdr{};
    call->msg_hdr.msg_name = &its->address;
    call->msg_hdr.msg_iov = &its->bytes;
    call->msg_hdr.msg_iovlen = 1;
  }
}
datagram_batch::datagram_batch(datagram_batch&& other) noexcept
    : memory_(std::move(other.memory_)),
      capacity_(std::exchange(other.capacity_, 0)),
      largest_(other.largest_),
      size_(std::exchange(other.size_, 0)) {}
datagram_batch& datagram_batch::operator=(datagram_batch&& other) noexcept {
  memory_ = std::move(other.memory_);
  capacity_ = std::exchange(other.capacity_, 0);
  largest_ = other.largest_;
  size_ = std::exchange(other.size_, 0);
  return *this;
}
datagram_batch::~datagram_batch() = default;

std::span<const std::byte> datagram_batch::bytes(std::size_t index) const noexcept {
  const mmsghdr& its = call_in(memory_.get(), index);
  return {static_cast<const std::byte*>(its.msg_hdr.msg_iov->iov_base),
          std::min<std::size_t>(its.msg_len, largest_)};
}
ip_endpoint datagram_batch::endpoint(std::size_t index) const noexcept {
  return coracle::detail::from_sockaddr(
      *static_cast<const sockaddr_storage*>(call_in(memory_.get(), index).msg_hdr.msg_name));
}
bool datagram_batch::is_cut(std::size_t index) const noexcept {
  return (call_in(memory_.get(), index).msg_hdr.msg_flags & MSG_TRUNC) != 0;
}

void datagram_batch::add(const ip_endpoint& destination, const_buffer bytes) {
  CORACLE_REQUIRE(!is_full(), "a datagram was added to a datagram_batch that is full: send it first");
  CORACLE_REQUIRE(bytes.size() <= largest_, "a datagram is longer than its datagram_batch was made for");
  mmsghdr& its = calls_in(memory_.get())[size_++];
  its.msg_hdr.msg_namelen =
      coracle::detail::to_sockaddr(destination, *static_cast<sockaddr_storage*>(its.msg_hdr.msg_name));
  its.msg_hdr.msg_iov->iov_len = bytes.size();
  its.msg_hdr.msg_flags = 0;
  its.msg_len = static_cast<unsigned>(bytes.size());
  if (bytes.size() != 0) std::memcpy(its.msg_hdr.msg_iov->iov_base, bytes.data(), bytes.size());
}
/// The messages keep their memory, so those that remain change places with those that go.
void datagram_batch::remove_first(std::size_t count) noexcept {
  mmsghdr* const calls = calls_in(memory_.get());
  std::rotate(calls, calls + count, calls + size_);
  size_ -= count;
}
void datagram_batch::prepare_to_receive() noexcept {
  size_ = 0;
  for (std::size_t i = 0; i != capacity_; ++i) {
    mmsghdr& its = calls_in(memory_.get())[i];
    its.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    its.msg_hdr.msg_iov->iov_len = largest_;
  }
}

/// What was received can be sent as it is.
void datagram_batch::has_received(std::size_t count) noexcept {
  size_ = count;
  for (std::size_t i = 0; i != count; ++i)
    calls_in(memory_.get())[i].msg_hdr.msg_iov->iov_len = bytes(i).size();
}

recv_batch_operation::recv_batch_operation(socket& receiver, datagram_batch& into, stop_token token) noexcept
    : io_operation(receiver.descriptor_, io_opcode::receive_batch, into.memory_.get(), into.capacity_,
                   std::move(token)),
      into_(into) {}
std::size_t recv_batch_operation::await_resume() {
  const auto received = static_cast<std::size_t>(take_result("cannot receive datagrams"));
  into_.has_received(received);
  return received;
}

send_batch_operation::send_batch_operation(socket& sender, datagram_batch& from, stop_token token) noexcept
    : io_operation(sender.descriptor_, io_opcode::send_batch, from.memory_.get(), from.size_,
                   std::move(token)),
      from_(from) {
  CORACLE_REQUIRE(from.size_ != 0, "send_batch() of an empty datagram_batch: add() a datagram first");
}
std::size_t send_batch_operation::await_resume() {
  const auto sent = static_cast<std::size_t>(take_result("cannot send datagrams"));
  from_.remove_first(sent);
  return sent;
}
}  // namespace coracle::net

namespace coracle::detail {
template std::exception_ptr io_failure_of(net::recv_batch_operation&) noexcept;
template std::exception_ptr io_failure_of(net::send_batch_operation&) noexcept;
}  // namespace coracle::detail
