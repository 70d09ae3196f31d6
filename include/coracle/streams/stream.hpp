// coracle/streams/stream.hpp -- pipelines over asynchronous sequences.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/streams/detail/stage.hpp>
#include <type_traits>

namespace coracle::streams {
/// Streams: pipelines over asynchronous sequences. A stage pulls from the one before only when it is pulled
/// from, so there is backpressure, and nothing is computed unless it is needed. Only buffered and merge pull
/// ahead, by stated amounts.
///
///     namespace streams = coracle::streams;
///     auto long_lines = read_lines(file) | streams::filter(is_long) | streams::take(10);
///     co_await (std::move(long_lines) | streams::for_each(print));
///
/// Sources: an async_generator, whose elements stay in place; a channel or a broadcast_subscription, whose
/// elements are moved out; any type with a next() or recv() that is an awaitable of something optional-like,
/// but of no expected, whose error would be lost. An element that only a smart pointer shows is copied, or
/// moved if not copyable.
/// A pipeline owns its parts; only what cannot be moved, such as a channel, is referred to and must outlive
/// it. A stage's functions are called one at a time, by whatever polls the stage.
template <class S>
concept stream = detail::is_stream<std::remove_cvref_t<S>>;
}  // namespace coracle::streams
