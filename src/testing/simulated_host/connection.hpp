// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/intrusive_list.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "network.hpp"

namespace coracle::detail::simulated {
class connection_end;

/// A message from one side of a TCP connection to the other.
struct segment {
  enum class kind : std::uint8_t {
    established,  ///< the answer to a connect()
    data,
    end,    ///< FIN
    reset,  ///< RST
    window  ///< `room` bytes have been read
  };
  kind what;
  std::string bytes{};
  std::size_t room = 0;
};

/// One direction of a connection: data arrives in order. It outlives both ends while anything is in flight.
class lane : public std::enable_shared_from_this<lane> {
 public:
  lane(std::shared_ptr<network> its_network, const net::ip_address& from, const net::ip_address& to)
      : network_(std::move(its_network)), from_(from), to_(to) {}
  void connect(const std::shared_ptr<connection_end>& sender,
               const std::shared_ptr<connection_end>& receiver);

  void send(segment what);
  void healed();
  /// Breaks the connection; by chance only one side notices.
  void break_connection();
  /// The sender has not been notified.
  void receiver_is_gone();

 private:
  void arrived();
  void deliver();
  void deliver_one(segment what);
  void refuse(segment what);
  void hold_back();
  void give_up();

  std::shared_ptr<network> network_;
  const net::ip_address from_, to_;
  std::weak_ptr<connection_end> sender_, receiver_;
  std::deque<segment> on_the_way_;
  std::size_t due_ = 0;     // of those: their time has come
  std::uint64_t held_ = 0;  // counts the times that a partition has begun to hold it up
  bool is_held_ = false;
  testing::simulation::time_point last_sent_{}, last_arrival_{};
};

/// Receives notifications of a connection: the socket.
class connection_owner {
 public:
  virtual void established() = 0;
  virtual void received() = 0;
  virtual void has_room() = 0;

 protected:
  ~connection_owner() = default;
};

/// One side of a TCP connection. It exists while its socket is open or waits to be accepted.
class connection_end {
 public:
  connection_end(std::shared_ptr<network> its_network, std::shared_ptr<lane> outward,
                 const std::shared_ptr<lane>& inward)
      : network_(std::move(its_network)), outward_(std::move(outward)), inward_(inward) {}

  /// What one side has sent and the other has not read is at most so many bytes.
  static constexpr std::size_t most_unread = std::size_t{64} << 10;

  void belongs_to(connection_owner* owner) noexcept { owner_ = owner; }

  // Operations of the program. Results are those of the system calls, or not_ready.
  std::int64_t send(const void* bytes, std::size_t size);
  std::int64_t receive(void* bytes, std::size_t size, bool drop);
  int stop_sending();
  int stop_receiving();
  void close();
  /// As close(), for a connection that was not accepted.
  void abandon();
  /// Its host has lost power: the peer is not notified.
  void vanish();

  // Events from the network.
  void arrive(segment what);
  void established();
  /// The connection has failed, and this side notices.
  void fail(int error);
  /// The connection is over.
  [[nodiscard]] bool is_broken() const noexcept { return broken_; }
  /// Returns true if a send would have to wait until the peer has read.
  [[nodiscard]] bool has_no_room() const noexcept { return !broken_ && unread_by_peer_ == most_unread; }

 private:
  /// Returns true if there is no direction left to end.
  [[nodiscard]] bool is_over() const noexcept { return broken_ || (ended_ && !sending_); }

  void tell();

  std::shared_ptr<network> network_;
  std::shared_ptr<lane> outward_;
  std::weak_ptr<lane> inward_;
  connection_owner* owner_ = nullptr;
  std::string received_;
  std::size_t unread_by_peer_ = 0;  // including data in flight
  std::size_t unreported_ = 0;      // read, but not yet reported to the peer
  int error_ = 0;                   // reported once
  bool ended_ = false;              // the peer has closed its side
  bool sending_ = true, receiving_ = true, broken_ = false;
};
}  // namespace coracle::detail::simulated
