// coracle/io/byte_stream.hpp -- the concepts of byte sources and byte sinks.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/awaitable.hpp>
#include <coracle/core/stop.hpp>
#include <cstddef>
#include <exception>
#include <span>
#include <system_error>

namespace coracle {
/// A source of bytes: `read_some(to)` is an awaitable of the number of bytes stored in `to`, at least one, or
/// 0 at the end of the stream. A token replaces the inherited one.
///
///     template <coracle::byte_source Source>
///     coracle::task<> show(Source& from);  // a net::socket, a stream_descriptor, a buffered_reader ...
template <class T>
concept byte_source = requires(T& from, std::span<std::byte> to, stop_token token) {
  { from.read_some(to, token) } -> awaitable_of<std::size_t>;
};

/// A sink of bytes: `write_some(bytes)` is an awaitable of the number of bytes taken from `bytes`, at least
/// one. A token replaces the inherited one.
template <class T>
concept byte_sink = requires(T& to, std::span<const std::byte> bytes, stop_token token) {
  { to.write_some(bytes, token) } -> awaitable_of<std::size_t>;
};

/// Both a source and a sink, such as a connection.
template <class T>
concept byte_stream = byte_source<T> && byte_sink<T>;

namespace detail {
// For a static_assert, where the compiler would otherwise explain why the concept does not hold.
template <class T>
inline constexpr bool is_byte_source = byte_source<T>;
template <class T>
inline constexpr bool is_byte_sink = byte_sink<T>;

inline constexpr const char* reads_nothing =
    "read_some() into 0 bytes, whose result would look like the end of the stream: pass a buffer that has "
    "room";
inline constexpr const char* takes_a_wrong_number =
    "write_some() of a byte_sink took no bytes, or more than it was given: let it wait until it has taken at "
    "least one, or throw";
/// Returns a std::system_error.
[[nodiscard]] CORACLE_COLD() std::exception_ptr stream_error(std::errc code, const char* what) noexcept;
}  // namespace detail
}  // namespace coracle
