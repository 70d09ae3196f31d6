// tests/unit/memory_stream.hpp -- two ends of a connection in memory, controlled by a test.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <coracle/core/task.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace coracle_test {
/// One direction.
struct memory_pipe {
  std::string bytes{};
  std::size_t room = 64 * 1024;  ///< how many bytes it keeps
  std::size_t most = 64 * 1024;  ///< how many bytes one operation moves
  bool is_closed = false;
  std::size_t passed = 0;                   ///< how many bytes were read
  std::size_t flipped = std::string::npos;  ///< the byte that is wrong
  coracle::async_manual_reset_event changed{};

  void put(const std::string& more) {
    bytes += more;
    changed.set();
  }
  void close() {
    is_closed = true;
    changed.set();
  }
};

class memory_stream {
 public:
  memory_stream(std::shared_ptr<memory_pipe> from, std::shared_ptr<memory_pipe> to)
      : from_(std::move(from)), to_(std::move(to)) {}

  coracle::task<std::size_t> read_some(std::span<std::byte> into, coracle::stop_token) {
    memory_pipe& pipe = *from_;
    while (pipe.bytes.empty()) {
      if (pipe.is_closed) co_return std::size_t{0};
      pipe.changed.reset();
      co_await pipe.changed;
    }
    const std::size_t size = std::min({into.size(), pipe.bytes.size(), pipe.most});
    std::memcpy(into.data(), pipe.bytes.data(), size);
    pipe.bytes.erase(0, size);
    if (pipe.flipped - pipe.passed < size) into[pipe.flipped - pipe.passed] ^= std::byte{1};
    pipe.passed += size;
    pipe.changed.set();
    co_return size;
  }
  coracle::task<std::size_t> write_some(std::span<const std::byte> bytes, coracle::stop_token) {
    memory_pipe& pipe = *to_;
    while (pipe.bytes.size() >= pipe.room) {
      pipe.changed.reset();
      co_await pipe.changed;
    }
    const std::size_t size = std::min({bytes.size(), pipe.room - pipe.bytes.size(), pipe.most});
    pipe.put({reinterpret_cast<const char*>(bytes.data()), size});
    co_return size;
  }
  void close() { to_->close(); }

 private:
  std::shared_ptr<memory_pipe> from_, to_;
};
static_assert(coracle::byte_stream<memory_stream>);

struct memory_connection {
  std::shared_ptr<memory_pipe> to_server = std::make_shared<memory_pipe>(),
                               to_client = std::make_shared<memory_pipe>();
  [[nodiscard]] memory_stream client() const { return {to_client, to_server}; }
  [[nodiscard]] memory_stream server() const { return {to_server, to_client}; }
};
}  // namespace coracle_test
