// src/tls/engine.hpp -- OpenSSL between a program and memory: no function waits.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffer.hpp>
#include <coracle/tls/context.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "openssl.hpp"

namespace coracle::tls::detail {
enum class progress {
  done,
  needs_input,  ///< all that was received is used up
  ended,        ///< the other side has ended its stream
  failed        ///< see raise(); what is unsent tells the other side
};

/// One connection. OpenSSL's queue of errors belongs to the thread, and a coroutine may resume on another
/// one, so each function clears it, and has what it needs of it when it returns.
class engine {
 public:
  engine(const context& common, std::string_view host);
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  progress handshake() noexcept;
  progress read(mutable_buffer to, std::size_t& got) noexcept;
  /// Needs input in the middle of a message of the handshake protocol, such as half a session ticket.
  progress write(const_buffer bytes, std::size_t& taken) noexcept;
  progress shutdown() noexcept;
  /// Throws the failure. Requires: there was one.
  [[noreturn]] void raise() const;

  [[nodiscard]] bool is_established() const noexcept { return is_established_; }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  [[nodiscard]] bool is_shut_down() const noexcept { return is_shut_down_; }
  [[nodiscard]] SSL* native_handle() const noexcept { return ssl_.get(); }

  /// Where to store what comes. Requires: a function has returned needs_input since the last received().
  std::span<std::byte> room() noexcept;
  void received(std::size_t size) noexcept { input_end_ = size; }

  [[nodiscard]] std::size_t unsent_size() const noexcept { return queued_.size() + sending_.size() - sent_; }
  /// What is to be sent next; stays where it is until sent(). Empty if nothing is.
  std::span<const std::byte> unsent() noexcept;
  void sent(std::size_t size) noexcept { sent_ += size; }

 private:
  template <class Call>
  progress run(Call call) noexcept;
  // OpenSSL's view of the memory: the functions of a BIO, whose data is the engine.
  static BIO_METHOD* memory();
  static int take_input(BIO* bio, char* to, std::size_t size, std::size_t* taken) noexcept;
  static int queue_output(BIO* bio, const char* bytes, std::size_t size, std::size_t* queued) noexcept;
  static long control(BIO* bio, int command, long number, void* pointer) noexcept;

  owned<SSL, SSL_free> ssl_;
  std::unique_ptr<std::byte[]> input_;
  std::size_t input_begin_ = 0, input_end_ = 0;
  // OpenSSL appends to one, while the other is being sent.
  std::vector<std::byte> queued_, sending_;
  std::size_t sent_ = 0;  // of sending_
  bool is_established_ = false, has_failed_ = false, is_shut_down_ = false;
  unsigned long failure_ = 0;      // OpenSSL's code
  long verification_ = X509_V_OK;  // why the certificate was rejected, if it was
};
}  // namespace coracle::tls::detail
