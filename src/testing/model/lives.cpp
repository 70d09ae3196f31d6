// SPDX-License-Identifier: MIT
// Lifetimes of objects. The end of an object counts as a write to it, and so do the free of its memory and a
// construction in its place: every access must happen before it. A later access in the execution is a use
// after the end; an earlier but unordered one is a data race, found in this execution instead of the other.
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "engine.hpp"

namespace coracle::testing::model {
using kind = model_life::kind;

namespace {
std::uint64_t mixed(std::uint64_t with, std::uint64_t value) { return (with ^ value) * 0x9e3779b97f4a7c15; }
std::uint64_t mixed(std::uint64_t with, const model_clock& value) {
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(value.at);
  return mixed(mixed(with, halves[0]), halves[1]);
}
/// A checksum of the fields that are read of an object whose storage is reused: other uses may have left
/// parts of them.
std::uint64_t seal_of(const model_cell& at) {
  std::uint64_t made = 0;
  static_assert(sizeof(site) <= sizeof made);
  std::memcpy(&made, &at.made, sizeof(site));
  const auto last = static_cast<std::uint64_t>(static_cast<std::uint16_t>(at.written)) << 8 | at.writer;
  return mixed(mixed(mixed(at.execution, made), last), at.reads);
}
std::uint64_t seal_of(const model_location& at) {
  const auto made = static_cast<std::uint64_t>(static_cast<std::uint16_t>(at.made)) << 8 | at.maker;
  return mixed(mixed(at.execution, made << 32 | at.name), at.accesses);
}
/// Returns true if an object of that execution is alive there, or has ended there and its record is intact.
bool is_known(const model_cell& at, std::uint64_t execution) {
  return at.life.is_any(kind::plain) && at.execution == execution && at.seal == seal_of(at);
}
bool is_known(const model_location& at, std::uint64_t execution) {
  return at.life.is_any(kind::atomic) && at.execution == execution && at.seal == seal_of(at);
}
}  // namespace

void model_engine::init(model_location& at, std::uint64_t value) {
  if (is_known(at, execution_)) expect_unused(at, "another object in place");
  at.life.begin(kind::atomic);
  at.execution = execution_;
  at.count = 0;
  at.name = new_name();
  at.made = me().time;
  at.maker = static_cast<std::uint8_t>(running_);
  at.accesses = {};
  at.touches = {};
  at.seal = seal_of(at);
  at.touches.writes = at.touches.all = me().past;
  add_store(at, value, std::memory_order_relaxed, nullptr);
}

void model_engine::end(model_location& at) {
  trace(site::current(), [&] { return model_step{running_, "ends", at.name, {}, false, &at}; });
  if (at.life.is_over(kind::atomic)) fail("second end of " + called(at), &at);
  if (!at.life.is_on(kind::atomic)) fail_lost(&at, at.life, "an atomic", "end");
  newest(at);
  expect_unused(at, "the end");
  note_access(at);
  at.life.end(kind::atomic);
}

void model_engine::note_access(model_location& at) {
  at.accesses.set(running_, me().time);
  at.seal = seal_of(at);
}
void model_engine::expect_alive(const model_location& at, const site& where) {
  if (at.life.is_on(kind::atomic)) return;
  if (at.life.is_over(kind::atomic)) {
    trace(where, [&] { return model_step{running_, "uses", at.name}; });
    fail("use of " + called(at) + " after its end (" + text_of(where) + ")", &at);
  }
  fail_lost(&at, at.life, "an atomic", text_of(where));
}
/// Requires that `what` is ordered after all accesses to the object.
void model_engine::expect_unused(const model_location& at, const char* what) {
  if (me().now.knows.at[at.maker] < at.made)
    fail(std::string("data race: ") + what + " of " + called(at) + ", unordered with its beginning", &at);
  for (unsigned i = 0; i != count_; ++i) {
    if (me().now.knows.at[i] < at.accesses.at[i])
      fail(std::string("data race: ") + what + " of " + called(at) + ", unordered with its use by " +
               name_of_thread(i),
           &at);
  }
}
[[noreturn]] void model_engine::fail_lost(const void* at, const model_life& life, const char* kind_of,
                                          const std::string& where) {
  if (life.is_freed(freed_word))
    fail(std::string("use after free: of ") + kind_of + " (" + where + ")", blocks_.freed_block_of(at));
  fail(std::string("use of ") + kind_of + " where something else is now, or nothing (" + where + ")", at);
}

void model_engine::make(model_cell& at, const site& where) {
  if (is_known(at, execution_)) change(at, "another object in place");
  at.life.begin(kind::plain);
  at.execution = execution_;
  at.made = where;
  trace(at.made, [&] { return model_step{running_, "makes it  " + text_of(at.made), 0, {}, false, &at}; });
  at.reads = {};
  at.writer = static_cast<std::uint8_t>(running_);
  at.written = me().time;
  at.seal = seal_of(at);
}
void model_engine::end(model_cell& at) {
  touch_cell(at, "end");
  change(at, "end");
  at.life.end(kind::plain);
}
void model_engine::read(model_cell& at) {
  touch_cell(at, "read");
  expect_after_write(at, "read");
  at.reads.set(running_, me().time);
  at.seal = seal_of(at);
}
void model_engine::write(model_cell& at) {
  touch_cell(at, "write");
  change(at, "write");
}

void model_engine::touch_cell(model_cell& at, const char* what) {
  if (!at.life.is_on(kind::plain)) {
    if (!at.life.is_over(kind::plain)) fail_lost(&at, at.life, "a plain field", what);
    trace_touch(at, what);
    fail(std::string(what) + " of the plain field made at " + text_of(at.made) + ", after its end", &at);
  }
  if (at.execution != execution_) {  // older than this execution: untouched
    at.execution = execution_;
    at.reads = {};
    at.written = 0;
    at.writer = 0;
  }
  trace_touch(at, what);
}
void model_engine::expect_after_write(const model_cell& at, const char* what) {
  if (me().now.knows.at[at.writer] < at.written)
    fail_race(at, what, at.writer, at.life.is_over(kind::plain) ? "end" : "write");
}
/// A write, or an event that counts as one.
void model_engine::change(model_cell& at, const char* what) {
  expect_after_write(at, what);
  for (unsigned i = 0; i != count_; ++i) {
    if (me().now.knows.at[i] < at.reads.at[i]) fail_race(at, what, i, "read");
  }
  at.writer = static_cast<std::uint8_t>(running_);
  at.written = me().time;
  at.seal = seal_of(at);
}
[[noreturn]] void model_engine::fail_race(const model_cell& at, const char* what, unsigned other,
                                          const char* other_what) {
  fail(std::string("data race: ") + what + " of the plain field made at " + text_of(at.made) +
           ", unordered with the " + other_what + " by " + name_of_thread(other),
       &at);
}

/// Objects without a destructor, or whose owner does not call it, end with their memory. Those that have
/// already ended did so before it.
void model_engine::end_all_in(void* memory, std::size_t size) {
  auto* const begin = static_cast<std::byte*>(memory);
  for (std::size_t at = 0; at + sizeof(model_cell) <= size; at += alignof(model_life)) {
    const auto& life = *reinterpret_cast<const model_life*>(begin + at);
    if (!life.is_any()) [[likely]]
      continue;
    if (life.is_any(kind::plain)) {
      auto& cell = *reinterpret_cast<model_cell*>(begin + at);
      if (!is_known(cell, execution_)) continue;
      trace_touch(cell, "free");
      change(cell, "free");
    } else {
      const auto& location = *reinterpret_cast<const model_location*>(begin + at);
      if (is_known(location, execution_)) expect_unused(location, "the free");
    }
  }
}
}  // namespace coracle::testing::model
