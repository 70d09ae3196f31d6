// coracle/io/byte_stream.hpp -- what gives bytes one after the other, and what takes them.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/stop.hpp>
#include <cstddef>
#include <span>

namespace coracle {
/// Gives bytes: `read_some(to)` awaits at least one and says how many; 0 means that there are no more. A token replaces the
/// inherited one.
///
///     template <coracle::byte_source Source>
///     coracle::task<> show(Source& from);  // a net::socket, a stream_descriptor, a buffered_reader, or your own
template <class T>
concept byte_source = requires(T& from, std::span<std::byte> to, stop_token token) {
  { from.read_some(to, token) } -> awaitable_of<std::size_t>;
};

/// Takes bytes: `write_some(bytes)` awaits until at least one is taken and says how many. A token replaces the inherited one.
template <class T>
concept byte_sink = requires(T& to, std::span<const std::byte> bytes, stop_token token) {
  { to.write_some(bytes, token) } -> awaitable_of<std::size_t>;
};

/// Both: a connection.
template <class T>
concept byte_stream = byte_source<T> && byte_sink<T>;
}  // namespace coracle
