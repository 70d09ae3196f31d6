// tests/unit/byte_pieces.hpp -- a byte_source and a byte_sink controlled by a test.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <cstring>
#include <deque>
#include <string>
#include <system_error>
#include <vector>

namespace coracle_test {
/// Returns the pieces one by one, as far as there is room; then the end of the stream.
struct pieces_to_read {
  std::deque<std::string> left;
  int reads = 0;
  int fails_at = -1;  ///< which read fails

  coracle::task<std::size_t> read_some(std::span<std::byte> to, coracle::stop_token token) {
    if (token.stop_requested()) throw coracle::operation_cancelled(token.reason());
    if (reads++ == fails_at) throw std::system_error(std::make_error_code(std::errc::connection_reset));
    if (left.empty()) co_return std::size_t{0};
    std::string& first = left.front();
    const std::size_t size = std::min(first.size(), to.size());
    std::memcpy(to.data(), first.data(), size);
    first.erase(0, size);
    if (first.empty()) left.pop_front();
    co_return size;
  }
};

/// Takes at most a given number of bytes at once.
struct pieces_written {
  std::size_t most = 1000;
  std::vector<std::string> pieces{};
  int fails_at = -1;  ///< which write fails, once

  coracle::task<std::size_t> write_some(std::span<const std::byte> bytes, coracle::stop_token token) {
    if (token.stop_requested()) throw coracle::operation_cancelled(token.reason());
    if (static_cast<int>(pieces.size()) == fails_at) {
      fails_at = -1;
      throw std::system_error(std::make_error_code(std::errc::connection_reset));
    }
    const std::size_t size = std::min(bytes.size(), most);
    pieces.emplace_back(reinterpret_cast<const char*>(bytes.data()), size);
    co_return size;
  }
  [[nodiscard]] std::string all() const {
    std::string text;
    for (const std::string& each : pieces) text += each;
    return text;
  }
};
/// Moves no byte until the test says so; then it is at its end, and takes all.
struct waiting_stream {
  coracle::async_manual_reset_event moves{};

  coracle::task<std::size_t> read_some(std::span<std::byte>, coracle::stop_token) {
    co_await moves;
    co_return std::size_t{0};
  }
  coracle::task<std::size_t> write_some(std::span<const std::byte> bytes, coracle::stop_token) {
    co_await moves;
    co_return bytes.size();
  }
};
static_assert(coracle::byte_source<pieces_to_read> && !coracle::byte_sink<pieces_to_read>);
static_assert(coracle::byte_sink<pieces_written> && !coracle::byte_stream<pieces_written>);
}  // namespace coracle_test
