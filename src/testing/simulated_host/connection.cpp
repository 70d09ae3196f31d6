// SPDX-License-Identifier: MIT
#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../../io/system_call.hpp"

namespace coracle::detail::simulated {
namespace {
/// How long Linux retransmits a segment (tcp_retries2 = 15).
constexpr std::chrono::seconds sends_again_for{924};
constexpr std::chrono::seconds asks_for_room_after{1};
}  // namespace

void lane::connect(const std::shared_ptr<connection_end>& sender,
                   const std::shared_ptr<connection_end>& receiver) {
  sender_ = sender;
  receiver_ = receiver;
  if (from_ != to_) network_->add(shared_from_this());
}

void lane::break_connection() {
  network_->sim.note("net: a connection is lost");
  if (const auto receiver = receiver_.lock()) receiver->fail(ECONNRESET);
  if (const auto sender = sender_.lock(); sender && network_->chance(2)) sender->fail(ECONNRESET);
  receiver_is_gone();
}

void lane::send(segment what) {
  last_sent_ = std::max(last_sent_, network_->sim.now());
  if (from_ != to_) last_sent_ += network_->transfer_time(what.bytes.size());
  last_arrival_ = std::max(last_arrival_, last_sent_ + network_->latency(from_, to_));
  on_the_way_.push_back(std::move(what));
  network_->sim.at(last_arrival_, [self = shared_from_this()] { self->arrived(); });
}

void lane::arrived() {
  if (due_ == on_the_way_.size()) return;  // give_up() has dropped it
  ++due_;
  if (!is_held_) deliver();
}

void lane::healed() {
  is_held_ = false;
  network_->after_latency(from_, to_, [self = shared_from_this()] {
    if (!self->is_held_) self->deliver();
  });
}

void lane::deliver() {
  if (due_ != 0 && network_->is_parted(from_, to_)) return hold_back();
  for (; due_ != 0; --due_) {
    segment first = std::move(on_the_way_.front());
    on_the_way_.pop_front();
    deliver_one(std::move(first));
  }
}

void lane::hold_back() {
  is_held_ = true;
  network_->hold(shared_from_this());
  network_->sim.at(network_->sim.now() + sends_again_for, [self = shared_from_this(), since = ++held_] {
    if (self->is_held_ && self->held_ == since) self->give_up();
  });
}

/// Data that cannot arrive is never acknowledged, and a window probe is never answered.
void lane::give_up() {
  network_->let_go(*this);
  bool has_data = false, has_room = false;
  for (const segment& each : on_the_way_) (each.what == segment::kind::window ? has_room : has_data) = true;
  on_the_way_.clear();
  due_ = 0;
  is_held_ = false;
  if (const auto sender = sender_.lock(); sender && has_data) sender->fail(ETIMEDOUT);
  if (const auto receiver = receiver_.lock(); receiver && has_room) receiver->fail(ETIMEDOUT);
}

void lane::deliver_one(segment what) {
  const auto receiver = receiver_.lock();
  const bool lost = from_ != to_ && network_->chance(network_->faults.resets);
  if (receiver && lost) {
    break_connection();
  } else if (receiver && !receiver->is_broken()) {
    receiver->arrive(std::move(what));
  } else if (what.what != segment::kind::window && what.what != segment::kind::reset) {
    // A FIN to a closed socket is acknowledged.
    if (receiver || what.what != segment::kind::end) refuse(std::move(what));
  }
}

/// Answers with a reset. If that is lost, the sender retransmits.
void lane::refuse(segment what) {
  network_->after_latency(to_, from_, [self = shared_from_this(), what = std::move(what)] {
    const auto sender = self->sender_.lock();
    if (!sender || sender->is_broken()) return;
    if (!self->network_->is_parted(self->to_, self->from_)) return sender->fail(ECONNRESET);
    self->on_the_way_.push_front(what);
    ++self->due_;
    if (!self->is_held_) self->hold_back();
  });
}

/// A sender that waits for room sends window probes.
void lane::receiver_is_gone() {
  network_->sim.at(network_->sim.now() + asks_for_room_after, [self = shared_from_this()] {
    const auto sender = self->sender_.lock();
    if (sender && sender->has_no_room()) self->refuse({segment::kind::data});
  });
}

void connection_end::tell() {
  if (!owner_) return;
  owner_->received();
  owner_->has_room();
}

void connection_end::established() {
  if (owner_) owner_->established();
}

void connection_end::fail(int error) {
  if (broken_) return;
  broken_ = true;
  const bool only_peer_ended = ended_ && sending_;
  error_ = error == ECONNRESET && only_peer_ended ? EPIPE : error;  // as Linux in CLOSE-WAIT
  tell();
}

void connection_end::arrive(segment what) {
  switch (what.what) {
    case segment::kind::established:
      return established();
    case segment::kind::data:
      if (!sending_ && !receiving_) {  // as Linux; RFC 1122, section 4.2.2.13
        outward_->send({segment::kind::reset});
        return fail(ECONNRESET);
      }
      received_ += what.bytes;
      break;
    case segment::kind::end:
      ended_ = true;
      break;
    case segment::kind::reset:
      return fail(ended_ && !sending_ ? 0 : ECONNRESET);
    case segment::kind::window:
      unread_by_peer_ -= what.room;
      break;
  }
  tell();
}

std::int64_t connection_end::send(const void* bytes, std::size_t size) {
  if (error_ != 0) return -std::exchange(error_, 0);
  if (broken_ || !sending_) return -EPIPE;
  if (size == 0) return 0;
  const std::size_t room = most_unread - unread_by_peer_;
  if (room == 0) return not_ready;
  const std::size_t taken = network_->moved(std::min(size, room));
  unread_by_peer_ += taken;
  outward_->send({segment::kind::data, std::string(static_cast<const char*>(bytes), taken)});
  return static_cast<std::int64_t>(taken);
}

std::int64_t connection_end::receive(void* bytes, std::size_t size, bool drop) {
  if (!received_.empty()) {
    const std::size_t taken = network_->moved(std::min(size, received_.size()));
    if (!drop) std::memcpy(bytes, received_.data(), taken);
    received_.erase(0, taken);
    unreported_ += taken;
    if (!broken_ && (received_.empty() || unreported_ >= most_unread / 4)) {
      outward_->send({segment::kind::window, {}, std::exchange(unreported_, 0)});
    }
    return static_cast<std::int64_t>(taken);
  }
  if (ended_) return 0;
  if (error_ != 0) return -std::exchange(error_, 0);
  return broken_ || !receiving_ ? 0 : not_ready;
}

int connection_end::stop_sending() {
  if (is_over()) return -ENOTCONN;
  if (std::exchange(sending_, false)) outward_->send({segment::kind::end});
  tell();
  return 0;
}

int connection_end::stop_receiving() {
  if (is_over()) return -ENOTCONN;
  receiving_ = false;
  tell();
  return 0;
}

void connection_end::close() {
  if (broken_) return;
  if (!received_.empty()) {
    outward_->send({segment::kind::reset});
  } else if (sending_) {
    outward_->send({segment::kind::end});
  }
  broken_ = true;
}

void connection_end::abandon() {
  if (!std::exchange(broken_, true)) outward_->send({segment::kind::reset});
}
void connection_end::vanish() {
  broken_ = true;
  received_.clear();
  if (const auto lane = inward_.lock()) lane->receiver_is_gone();
}
}  // namespace coracle::detail::simulated
