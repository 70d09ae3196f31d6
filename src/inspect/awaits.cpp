// SPDX-License-Identifier: MIT
#include "awaits.hpp"

#include <string.h>

#include <coracle/core/detail/task_frame.hpp>

namespace coracle::detail {
namespace {
constexpr auto tags = static_cast<std::uintptr_t>(task_mark::mask);    // in the low bits of a parent word
constexpr auto folds = static_cast<std::uintptr_t>(task_mark::folds);  // it refers to the awaiter
// Of as_outcome() and the like: compose/as_outcome.hpp. If this changes, tests/unit/async_stacktrace_test.cpp
// fails.
constexpr std::uintptr_t suspended_in_ended_work = promise_in_frame + 2 * sizeof(void*);
constexpr std::uintptr_t most_in_frame = 64 << 10;
constexpr std::uintptr_t most_in_awaiter = 512;
constexpr std::size_t block = 4096;

/// Words that were copied. They are erased: what is left of a frame's copy on the stack of a thread looks
/// like a frame to the next search.
template <std::size_t Count>
struct copied_words {
  std::uintptr_t words[Count];
  ~copied_words() { ::explicit_bzero(words, sizeof words); }
};
}  // namespace

std::uintptr_t await_reader::resume_function(std::uintptr_t frame) noexcept {
  copied_words<2> copied;
  auto& words = copied.words;
  if (frame % sizeof(void*) != 0 || memory_.read(frame, words, sizeof words) != sizeof words) return 0;
  const bool is_frame = names_.role_at(words[0]) == role::resume && names_.role_at(words[1]) == role::destroy;
  return is_frame ? words[0] : 0;
}

/// Returns true if a word in this range is the address of the frame.
bool await_reader::refers_to(std::uintptr_t from, std::uintptr_t size, std::uintptr_t frame,
                             bool ends_at_frame) noexcept {
  copied_words<block / sizeof(std::uintptr_t)> copied;
  auto& words = copied.words;
  for (const std::uintptr_t end = from + size; from < end;) {
    const std::size_t up_to_page = block - from % block;  // the next page may not exist
    const std::size_t wanted = end - from < up_to_page ? end - from : up_to_page;
    const std::size_t got = memory_.read(from, words, wanted);
    for (std::size_t i = 0; i != got / sizeof(std::uintptr_t); ++i) {
      if ((words[i] & ~tags) == frame) return true;
      if (!ends_at_frame || names_.role_at(words[i]) != role::resume) continue;
      if (resume_function(from + i * sizeof(std::uintptr_t)) != 0) return false;
    }
    if (got != wanted) return false;
    from += got;
  }
  return false;
}

/// Finds the frame that an awaiter is part of. An awaiter holds the address of its coroutine: of the frames
/// that begin before it, what is left of an older one may be the nearest.
await_reader::frame_found await_reader::frame_around(std::uintptr_t awaiter) noexcept {
  copied_words<block / sizeof(std::uintptr_t)> copied;
  auto& words = copied.words;
  awaiter &= ~(sizeof(void*) - 1);
  const std::uintptr_t lowest = awaiter > most_in_frame ? awaiter - most_in_frame : 0;
  std::uintptr_t nearest = 0;
  for (std::uintptr_t high = awaiter; high > lowest;) {
    const std::uintptr_t low = (high - 1) & ~(block - 1);
    if (memory_.read(low, words, high - low) != high - low) break;
    for (std::uintptr_t frame = high; frame != low;) {
      frame -= sizeof(void*);
      if (names_.role_at(words[(frame - low) / sizeof(void*)]) != role::resume) continue;
      if (resume_function(frame) == 0) continue;
      if (refers_to(awaiter, most_in_awaiter, frame, true)) return {frame, true};
      if (nearest == 0) nearest = frame;
    }
    high = low;
  }
  return {nearest, false};
}

/// Returns the callback frame that is part of the awaiter. Where `callback` continues one of several
/// children, and may be in a vector, that is the frame that they share.
std::uintptr_t await_reader::shared_frame_of(std::uintptr_t callback) noexcept {
  const char* const mark = names_.at(memory_.word(callback + sizeof(void*))).name;
  if (!mark || !std::strstr(mark, "24refuse_destroy_of_member")) return callback;
  return memory_.word(callback + promise_in_frame);
}

/// Returns the outermost of operations that are inside one another, as as_outcome(throwing(work)): that one
/// holds the coroutine.
std::uintptr_t await_reader::outermost_operation(std::uintptr_t operation) noexcept {
  for (;;) {
    const char* const name = names_.at(memory_.word(operation)).name;
    if (!name || !std::strstr(name, "10ended_workI")) return operation;
    const std::uintptr_t outer = memory_.word(operation + suspended_in_ended_work);
    const bool is_around = outer < operation && names_.role_at(memory_.word(outer)) == role::callback;
    if (!is_around) return operation;
    operation = outer;
  }
}

/// The function of a callback frame, or if that continues one of several children, the function of the frame
/// that they share, which tells what awaits them.
std::uintptr_t await_reader::function_of(std::uintptr_t callback) noexcept {
  const std::uintptr_t called = memory_.word(callback);
  const char* const name = names_.at(called).name;
  if (!name || !std::strstr(name, "6detail7siblingI")) return called;
  const std::uintptr_t of_all = memory_.word(memory_.word(callback + promise_in_frame));
  return names_.role_at(of_all) == role::callback ? of_all : called;
}

/// Returns true if the word of the frame may be its parent.
bool await_reader::follow(std::uintptr_t frame, std::uintptr_t word, continuation& to) noexcept {
  const std::uintptr_t address = word & ~tags;
  if (address < block || address >> 47 != 0 || address == frame) return false;
  if (resume_function(address) != 0) {
    to = {address, 0, 0};
    return refers_to(address, most_in_frame, frame);  // with its awaiter; a parameter may be any handle
  }
  const bool is_callback = names_.role_at(memory_.word(address)) == role::callback;
  const std::uintptr_t called = is_callback ? function_of(address) : 0;
  if (is_callback && !kind_of_continuation(names_.at(called).name).is_in_awaiter) {
    to = {0, called, address};
    return true;
  }
  if (!is_callback && !(word & folds)) return false;
  const auto [around, holds_it] =
      frame_around(is_callback ? outermost_operation(shared_frame_of(address)) : address);
  if (around == frame) return false;  // it is part of what this frame awaits
  // The children of a combinator may be in a vector, where the parent does not refer to them.
  const bool is_parent =
      around != 0 && ((is_callback && holds_it) || refers_to(around, address - around + block, frame));
  to = {is_parent ? around : 0, called, is_callback ? address : 0};
  return is_parent || is_callback;
}

await_reader::link await_reader::first_link(std::uintptr_t frame, std::size_t from) noexcept {
  constexpr std::size_t at_once = 16;
  copied_words<at_once> copied;
  auto& words = copied.words;
  for (std::size_t at = from; at < most_words; at += at_once) {
    const std::size_t got = memory_.read(frame + promise_in_frame + at * sizeof(void*), words, sizeof words);
    for (std::size_t i = 0; i != got / sizeof(void*); ++i) {
      if (continuation to; follow(frame, words[i], to)) return {to, at + i};
    }
    if (got != sizeof words) break;
  }
  return {{}, most_words};
}

continuation await_reader::continuation_of(std::uintptr_t frame) noexcept {
  for (link found = first_link(frame, 0); found.at != most_words; found = first_link(frame, found.at + 1)) {
    if (found.to.parent == 0 || found.to.through != 0) return found.to;
    // A child that this coroutine awaits also stores its address. Of the two, the child stores it in front,
    // in its promise.
    const link back = first_link(found.to.parent, 0);
    if (back.to.parent != frame || back.at > found.at) return found.to;
  }
  return {};
}

continuation_kind kind_of_continuation(const char* symbol) noexcept {
  struct known {
    const char* in_symbol;
    continuation_kind kind;
  };
  static constexpr known all[] = {
      {"14waiting_thread8finished", {"sync_wait()", false}},
      {"8siblings4ruleE0", {"when_all()", true}},
      {"8siblings4ruleE1", {"when_all()", true}},
      {"8siblings4ruleE2", {"when_any()", true}},
      {"8siblings4ruleE3", {"when_any()", true}},
      {"6detail7siblingI", {"when_any()", true}},
      {"19fork_join_operation", {"fork_join()", true}},
      {"20as_outcome_operation", {"as_outcome()", true}},
      {"21as_optional_operation", {"as_optional()", true}},
      {"21as_expected_operation", {"as_expected()", true}},
      {"18throwing_operation", {"throwing()", true}},
      {"10ended_workI", {"", true}},
      {"13parent_bridge", {"", true}},
      {"20wait_until_operation", {"", true}},
      {"13single_flightI", {"single_flight", false}},
      {"6io_run", {"io_service::run()", false}},
      {"17virtual_time_loop", {"virtual_time_loop::run()", false}},
      {"7testing6polled", {"testing::poll()", false}},
      {"10simulation", {"simulation::run()", false}},
      {"14simulated_loop", {"simulated_loop::run()", false}},
      {"spawned", {"spawned into an async_scope", false}},
      {"scope_", {"spawned into an async_scope", false}},
  };
  for (const known& each : all) {
    if (std::strstr(symbol, each.in_symbol)) return each.kind;
  }
  return {};
}
}  // namespace coracle::detail
