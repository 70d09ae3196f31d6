// coracle/tls/detail/connection.hpp -- the part of a TLS stream that is no template.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/library_task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/byte_stream.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

struct ssl_st;  // OpenSSL's SSL

namespace coracle::tls {
class context;
}  // namespace coracle::tls

namespace coracle::tls::detail {
using coracle::detail::library_task;

/// The stream below, as the compiled part sees it.
class carrier {
 public:
  virtual library_task<std::size_t> read_some(std::span<std::byte> to) = 0;
  virtual library_task<std::size_t> write_some(std::span<const std::byte> bytes) = 0;

 protected:
  carrier() = default;
  carrier(carrier&&) = default;
  carrier& operator=(carrier&&) = default;
  ~carrier() = default;
};

template <class Stream>
class carried final : public carrier {
 public:
  explicit carried(Stream&& below) : stream(std::move(below)) {}
  library_task<std::size_t> read_some(std::span<std::byte> to) override {
    const std::size_t size = co_await stream.read_some(to, stop_token{});
    co_return size;
  }
  library_task<std::size_t> write_some(std::span<const std::byte> bytes) override {
    const std::size_t size = co_await stream.write_some(bytes, stop_token{});
    co_return size;
  }

  Stream stream;
};

/// TLS between a program and a carrier. Each function is passed the carrier, since the stream that owns both
/// can be moved.
class connection {
 public:
  connection(const context& common, std::string_view host);
  connection(connection&& other) noexcept;
  connection& operator=(connection&& other) noexcept;
  ~connection();

  library_task<> handshake(carrier& below);
  library_task<std::size_t> read_some(carrier& below, mutable_buffer to);
  library_task<std::size_t> write_some(carrier& below, const_buffer bytes);
  library_task<> send_all(carrier& below, const_buffer bytes, std::size_t* sent);
  library_task<> shutdown(carrier& below);

  [[nodiscard]] std::string_view alpn() const noexcept;
  [[nodiscard]] std::string_view protocol() const noexcept;
  [[nodiscard]] std::string peer_subject() const;
  [[nodiscard]] ssl_st* native_handle() const noexcept;

 private:
  struct state;

  std::unique_ptr<state> state_;
};
}  // namespace coracle::tls::detail
