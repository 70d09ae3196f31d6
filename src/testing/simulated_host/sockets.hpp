// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/net/ip_endpoint.hpp>
#include <deque>
#include <memory>
#include <string>

#include "connection.hpp"
#include "descriptor.hpp"
#include "network.hpp"

namespace coracle::detail::simulated {
class host;

/// The common base of TCP and UDP sockets: an address.
class socket : public descriptor {
 public:
  socket(host& its_host, bool is_stream, bool is_ipv4);
  ~socket() override;

  int bind(const net::ip_endpoint& address) override;
  [[nodiscard]] const net::ip_endpoint* local() const override { return &local_; }
  [[nodiscard]] bool is_stream() const noexcept { return is_stream_; }
  /// Returns true if no other socket may share its port.
  [[nodiscard]] virtual bool is_exclusive() const noexcept = 0;

 protected:
  [[nodiscard]] host& its_host() const noexcept { return host_; }
  [[nodiscard]] network& net() const noexcept;
  [[nodiscard]] bool is_bound() const noexcept { return local_.port() != 0; }
  [[nodiscard]] bool has_family_of(const net::ip_endpoint& other) const noexcept {
    return local_.is_ipv4() == other.is_ipv4();
  }
  /// Binds it to a free port and the address from which it reaches `remote`.
  void bind_to_reach(const net::ip_endpoint& remote);
  void set_local(const net::ip_endpoint& address) noexcept { local_ = address; }

 private:
  host& host_;
  const bool is_stream_;
  net::ip_endpoint local_;
};

class stream_socket final : public socket,
                            public std::enable_shared_from_this<stream_socket>,
                            connection_owner {
 public:
  stream_socket(host& its_host, bool is_ipv4) : socket(its_host, true, is_ipv4) {}
  /// For an accepted connection.
  stream_socket(host& its_host, std::shared_ptr<connection_end> end, const net::ip_endpoint& local);

  std::int64_t try_now(io_request& request) override;
  std::int64_t fault(const io_request& request) override;
  void close() override;
  void lose_power() override;
  int listen(int backlog) override;
  int shut_down(int how) override;
  [[nodiscard]] bool is_exclusive() const noexcept override { return state_ == state::listening; }

 private:
  enum class state : std::uint8_t { fresh, listening, connecting, connected, failed, dead };
  struct arrival {
    std::shared_ptr<connection_end> end;
    net::ip_endpoint local, remote;
  };

  std::int64_t accept(io_request& request);
  std::int64_t transfer_parts(const io_request& request);
  std::int64_t send_file(const io_request& request);
  std::int64_t connect(io_request& request);
  std::int64_t begin_connect(const io_request& request);
  void knock(int attempt);
  void knocked(int attempt);
  void knock_again(int attempt);
  void end_connect(int error);
  bool meet(stream_socket& listener);
  void stop_listening();
  void established() override;
  void received() override;
  void has_room() override { may_be_written(); }

  state state_ = state::fresh;
  int error_ = 0;  // of a connect() that has failed
  net::ip_endpoint remote_;
  std::shared_ptr<connection_end> end_;
  std::deque<arrival> arrived_;
  std::size_t most_arrived_ = 0;
};

class datagram_socket final : public socket, public std::enable_shared_from_this<datagram_socket> {
 public:
  datagram_socket(host& its_host, bool is_ipv4) : socket(its_host, false, is_ipv4) {}

  std::int64_t try_now(io_request& request) override;
  std::int64_t fault(const io_request& request) override;
  void close() override {}
  void lose_power() override;
  int shut_down(int how) override;
  int dissolve() override;
  int join_datagrams() override {
    joins_ = true;
    return 0;
  }
  [[nodiscard]] bool is_exclusive() const noexcept override { return true; }

 private:
  static constexpr std::size_t most_unread = 212'992, largest = 65'507, most_joined = 65'535;
  struct datagram {
    net::ip_endpoint from;
    std::string bytes;
    std::size_t joined_from = 0;  // the size of the datagrams that it was joined from, or 0
  };

  std::int64_t connect(const io_request& request);
  std::int64_t send(const io_request& request);
  std::int64_t send_segments(const io_request& request);
  std::int64_t receive(io_request& request);
  std::int64_t receive_segments(const io_request& request);
  datagram take_first();
  datagram take_joined();
  std::int64_t transfer_batch(const io_request& request);
  void transmit(const net::ip_endpoint& to, const std::string& bytes);
  static void arrive(host& there, const std::weak_ptr<datagram_socket>& sender, const net::ip_endpoint& to,
                     datagram what);
  void take(datagram what);

  std::deque<datagram> received_;
  std::size_t unread_ = 0;
  net::ip_endpoint remote_;      // port 0: not connected
  int error_ = 0;                // to be told once
  std::size_t joined_from_ = 0;  // of what was received last
  bool dead_ = false, receiving_ = true, joins_ = false;
};
}  // namespace coracle::detail::simulated
