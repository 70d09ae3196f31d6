// tests/model/shared_mutex.cpp -- async_shared_mutex, in every interleaving.
// SPDX-License-Identifier: MIT
#include <coracle/sync/async_shared_mutex.hpp>
#include <memory>

#include "model_waits.hpp"

namespace {
using coracle::async_shared_mutex;
using coracle_test::detached;
using coracle_test::model_expect;
using coracle_test::model_test;
using coracle_test::model_thread;
using coracle_test::note_end;
using coracle_test::plain_int;
using coracle_test::stoppable_place;
using coracle_test::together;
using coracle_test::wait_end;

/// What the lock guards. If a writer is not alone, the checker reports a data race.
struct guarded {
  async_shared_mutex mutex;
  plain_int written = 0;
  int reads = 0;
};
detached write(guarded& at) {
  const auto lock = co_await at.mutex.scoped_lock_async();
  ++at.written;
}
detached read(guarded& at) {
  const auto lock = co_await at.mutex.scoped_lock_shared_async();
  static_cast<void>(static_cast<int>(at.written));
  ++at.reads;
}
void try_to_write(guarded& at, int& written) {
  if (!at.mutex.try_lock()) return;
  ++at.written;
  ++written;
  at.mutex.unlock();
}
void try_to_read(guarded& at) {
  if (!at.mutex.try_lock_shared()) return;
  static_cast<void>(static_cast<int>(at.written));
  at.mutex.unlock_shared();
}
void expect_free(async_shared_mutex& mutex) {
  for (int i = 0; i != 2; ++i) {
    model_expect(mutex.try_lock(), "nobody holds it");
    mutex.unlock();
  }
}

template <unsigned Writers, unsigned Readers>
void all_lock() {
  guarded at;
  together(Writers + Readers, [&](unsigned index) { index < Writers ? write(at) : read(at); });
  model_expect(at.written == Writers && at.reads == Readers, "each has had it");
  expect_free(at.mutex);
}
void all_try() {
  guarded at;
  int written = 0;
  model_thread second{[&] { try_to_read(at); }};
  model_thread third{[&] { try_to_read(at); }};
  try_to_write(at, written);
  second.join();
  third.join();
  model_expect(at.written == written, "excluded, or told that it is held");
  expect_free(at.mutex);
}
void two_lock_one_tries() {
  guarded at;
  int written = 0;
  model_thread second{[&] { read(at); }};
  model_thread third{[&] { write(at); }};
  try_to_write(at, written);
  second.join();
  third.join();
  model_expect(at.written == 1 + written && at.reads == 1, "excluded, or told that it is held");
}
/// No reader overtakes a waiting writer.
void reader_waits_behind_a_writer() {
  guarded at;
  model_expect(at.mutex.try_lock_shared(), "it is free");
  write(at);
  int seen = -1;
  const auto look = [&]() -> detached {
    const auto lock = co_await at.mutex.scoped_lock_shared_async();
    seen = at.written;
  };
  model_thread later{[&] { look(); }};
  at.mutex.unlock_shared();
  later.join();
  model_expect(seen == 1, "the writer was first");
  expect_free(at.mutex);
}
/// Two readers leave at the same time: the last one lets the writer in.
void last_reader_lets_the_writer_in() {
  guarded at;
  model_expect(at.mutex.try_lock_shared() && at.mutex.try_lock_shared(), "readers share it");
  write(at);
  model_thread other{[&] {
    static_cast<void>(static_cast<int>(at.written));
    at.mutex.unlock_shared();
  }};
  at.mutex.unlock_shared();
  other.join();
  model_expect(at.written == 1, "the writer was let in");
  expect_free(at.mutex);
}
/// Both readers enter together; the writer behind them enters after both.
void readers_side_by_side_enter_together() {
  guarded at;
  model_expect(at.mutex.try_lock(), "it is free");
  int inside = 0, most = 0;
  bool alone = false;
  std::coroutine_handle<> held;
  const auto stay = [&]() -> detached {
    const auto lock = co_await at.mutex.scoped_lock_shared_async();
    most = most < ++inside ? inside : most;
    struct hold {
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> self) noexcept { at = self; }
      void await_resume() const noexcept {}
      std::coroutine_handle<>& at;
    };
    if (inside == 1) co_await hold{held};
    --inside;
  };
  const auto write_alone = [&]() -> detached {
    const auto lock = co_await at.mutex.scoped_lock_async();
    alone = inside == 0;
    ++at.written;
  };
  stay();
  stay();
  write_alone();
  bool tried = false;
  model_thread other{[&] {
    tried = at.mutex.try_lock_shared();
    if (tried) at.mutex.unlock_shared();
  }};
  at.mutex.unlock();
  other.join();
  model_expect(!tried && most == 2, "the two readers, but none past the writer");
  held.resume();
  model_expect(alone && at.written == 1, "then the writer");
  expect_free(at.mutex);
}
void last_holder_destroys_it() {
  auto at = std::make_unique<guarded>();
  model_expect(at->mutex.try_lock_shared() && at->mutex.try_lock_shared(), "readers share it");
  const auto write_and_destroy = [&]() -> detached {
    co_await at->mutex.lock_async();
    ++at->written;
    at->mutex.unlock();
    at.reset();
  };
  model_thread first{[mutex = &at->mutex] { mutex->unlock_shared(); }};
  model_thread second{[mutex = &at->mutex] { mutex->unlock_shared(); }};
  write_and_destroy();
  first.join();
  second.join();
  model_expect(!at, "it has gone on");
}

template <bool Writes>
auto enter(async_shared_mutex& mutex) {
  if constexpr (Writes) {
    return mutex.scoped_lock_async();
  } else {
    return mutex.scoped_lock_shared_async();
  }
}
template <bool Writes>
void stop_against_unlock() {
  async_shared_mutex mutex;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(mutex.try_lock(), "it is free");
  note_end(place, enter<Writes>(mutex), end);
  model_thread holder{[&] { mutex.unlock(); }};
  place.request_stop();
  holder.join();
  model_expect(end != wait_end::waits, "the wait ends");
  expect_free(mutex);
}
template <bool Writes>
void stop_against_start() {
  async_shared_mutex mutex;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(mutex.try_lock(), "it is free");
  model_thread stopper{[&] { place.request_stop(); }};
  note_end(place, enter<Writes>(mutex), end);
  stopper.join();
  model_expect(end == wait_end::cancelled, "the wait ends");
  mutex.unlock();
  expect_free(mutex);
}
void stop_and_unlock_against_start() {
  async_shared_mutex mutex;
  stoppable_place place;
  wait_end end = wait_end::waits;
  model_expect(mutex.try_lock(), "it is free");
  model_thread stopper{[&] { place.request_stop(); }};
  model_thread holder{[&] { mutex.unlock(); }};
  note_end(place, enter<false>(mutex), end);
  stopper.join();
  holder.join();
  model_expect(end != wait_end::waits, "the wait ends");
  expect_free(mutex);
}
/// A reader holds the mutex, a writer waits, and a second reader waits behind it. The second reader gets in
/// either way: beside the first one if the writer's stop admits it.
void stop_of_a_writer_lets_readers_in() {
  guarded at;
  stoppable_place place;
  wait_end writer = wait_end::waits;
  model_expect(at.mutex.try_lock_shared(), "it is free");
  note_end(place, enter<true>(at.mutex), writer);
  read(at);
  model_thread holder{[&] { at.mutex.unlock_shared(); }};
  place.request_stop();
  holder.join();
  model_expect(writer != wait_end::waits, "the wait ends");
  model_expect(at.reads == 1, "the reader has been let in");
  expect_free(at.mutex);
}
void stop_of_the_reader_in_front() {
  guarded at;
  stoppable_place place;
  wait_end reader = wait_end::waits;
  model_expect(at.mutex.try_lock(), "it is free");
  note_end(place, enter<false>(at.mutex), reader);
  write(at);
  model_thread holder{[&] { at.mutex.unlock(); }};
  place.request_stop();
  holder.join();
  model_expect(reader != wait_end::waits && at.written == 1, "the writer has had it");
  expect_free(at.mutex);
}

void one_of_two() {
  async_shared_mutex left, right;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end ends[2]{};
  model_expect(left.try_lock() && right.try_lock_shared(), "they are free");
  note_end(place, one_of, left.lock_shared_async(), ends[0]);
  note_end(place, one_of, right.lock_async(), ends[1]);
  model_thread holder{[&] { left.unlock(); }};
  right.unlock_shared();
  holder.join();
  const bool got_left = ends[0] == wait_end::carried_out;
  model_expect(got_left != (ends[1] == wait_end::carried_out), "one of them");
  place.request_stop();
  model_expect(ends[got_left ? 1 : 0] == wait_end::cancelled, "the other ends when it is stopped");
  got_left ? left.unlock_shared() : right.unlock();
  expect_free(left);
  expect_free(right);
}
/// A waiter that has lost its choice finds the mutex free and leaves it free, while two others try to lock
/// it.
void a_lost_one_takes_nothing() {
  guarded at;
  coracle::detail::choice one_of;
  stoppable_place place;
  wait_end end = wait_end::waits;
  int first = 0, second = 0;
  model_expect(one_of.claim(), "by another branch");
  model_thread one{[&] { try_to_write(at, first); }};
  model_thread other{[&] { try_to_write(at, second); }};
  note_end(place, one_of, at.mutex.lock_shared_async(), end);
  one.join();
  other.join();
  place.request_stop();
  model_expect(end == wait_end::cancelled, "it ends, at the latest when it is stopped");
  model_expect(first + second != 0 && at.written == first + second, "the others are told that it is free");
  expect_free(at.mutex);
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("shared mutex: two write", run.all, all_lock<2, 0>);
  run.check("shared mutex: write against read", run.all, all_lock<1, 1>);
  run.check("shared mutex: two read, one writes", 4, all_lock<1, 2>);
  run.check("shared mutex: two write, one reads", 4, all_lock<2, 1>);
  run.check("shared mutex: two write, two read", 3, all_lock<2, 2>);
  run.check("shared mutex: two try to read, one to write", 4, all_try);
  run.check("shared mutex: two lock, one tries", 4, two_lock_one_tries);
  run.check("shared mutex: a reader waits behind a writer", run.all, reader_waits_behind_a_writer);
  run.check("shared mutex: the last reader lets the writer in", run.all, last_reader_lets_the_writer_in);
  run.check("shared mutex: readers side by side", run.all, readers_side_by_side_enter_together);
  run.check("shared mutex: the last holder destroys it", 4, last_holder_destroys_it);
  run.check("shared mutex: stop of a writer against unlock", run.all, stop_against_unlock<true>);
  run.check("shared mutex: stop of a reader against unlock", run.all, stop_against_unlock<false>);
  run.check("shared mutex: stop of a writer against start", run.all, stop_against_start<true>);
  run.check("shared mutex: stop of a reader against start", run.all, stop_against_start<false>);
  run.check("shared mutex: stop and unlock against start", 3, stop_and_unlock_against_start);
  run.check("shared mutex: stop of a writer lets readers in", run.all, stop_of_a_writer_lets_readers_in);
  run.check("shared mutex: stop of the reader in front", run.all, stop_of_the_reader_in_front);
  run.check("shared mutex: one of two", run.all, one_of_two);
  run.check("shared mutex: a lost one takes nothing", 4, a_lost_one_takes_nothing);
  return run.finish();
}
