// coracle/streams/stream.hpp -- pipelines over asynchronous sequences.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/streams/detail/stage.hpp>
#include <type_traits>

namespace coracle::streams {
/// A stream is a pipeline over an asynchronous sequence. Each stage pulls an element from the one before it
/// only when the next one pulls from it, so there is backpressure, and nothing is computed unless it is
/// needed. Only buffered and merge pull ahead, by stated amounts.
///
///     namespace streams = coracle::streams;
///     auto long_lines = read_lines(file) | streams::filter(is_long) | streams::take(10);
///     co_await (std::move(long_lines) | streams::for_each(print));
///
/// Sources: an async_generator, whose elements stay in place; a channel or a broadcast_subscription, whose
/// elements are moved out; any type whose next() or recv() returns an awaitable of something optional-like,
/// except an expected, whose error would be lost. An element behind a smart pointer is copied, or moved if
/// not copyable.
///
/// A pipeline owns its parts; only what cannot be moved, such as a channel, is referred to and must outlive
/// it. A stage's functions are called one at a time, by whatever polls the stage.
template <class S>
concept stream = detail::is_stream<std::remove_cvref_t<S>>;
}  // namespace coracle::streams
