// tests/debugger/inside.cpp -- hangs in I/O, and in operations that coroutines await through another one.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <chrono>
#include <concepts>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>

namespace {
using namespace coracle;
async_manual_reset_event started, ready_to_stop;
async_mutex log;

task<> answer(net::unix_socket& peer) {
  char bytes[8];
  static_cast<void>(co_await peer.recv(bytes, sizeof bytes));
}
task<> answer_in_time(net::unix_socket& peer) {
  char bytes[8];
  co_await when_any(peer.recv(bytes, sizeof bytes), sleep_for(std::chrono::hours(24)));
}
task<> answer_first() { co_await when_any(started, ready_to_stop); }
task<> log_or_not() { static_cast<void>(co_await as_outcome(log.scoped_lock_async())); }
task<> hold_log() {
  const auto held = co_await log.scoped_lock_async();
  co_await started;
}
/// clang's symbol names the constraint, which gdb 13 cannot demangle; nor does it read the frame of g++.
template <std::integral Number>
task<> count(Number most) {
  for (Number number = 0; number != most; ++number) co_await started;
}
template <class Function>
task<> call_when_started(Function function) {
  co_await started;
  function();
}
/// It awaits a function of the library, without debug information, behind the first pages of its frame.
task<> send_much(net::unix_socket& peer) {
  char bytes[8192] = "";
  for (;;) co_await peer.send_all(bytes, sizeof bytes);
}
task<> answer_later(io_service& io) { co_await io.schedule_after(std::chrono::hours(24)); }
task<> answer_later_or_never(io_service& io) {
  co_await when_any(io.schedule_at(std::chrono::steady_clock::now() + std::chrono::hours(24)), started);
}
/// Of three blocking calls by one thread, one has returned, one runs, and one has not begun.
task<> call_and_wait(blocking_pool& one_thread) {
  const auto nothing = [] {};
  co_await blocking(one_thread, nothing);
  co_await started;
}
char key_from(int descriptor) {
  char key = '\0';
  return read(descriptor, &key, 1) == 1 ? key : '\0';
}
task<> read_key(blocking_pool& one_thread, int from) {
  const auto read_first = [from] { return key_from(from); };
  co_await blocking(one_thread, read_first);
}
task<> read_next_key(blocking_pool& one_thread, int from) {
  const auto read_next = [from] { return key_from(from); };
  co_await blocking(one_thread, read_next);
}
task<> wait_for_both() { co_await when_all(started, ready_to_stop); }
task<> tell_that_it_hangs() {
  for (int turn = 0; turn != 10; ++turn) co_await this_task::yield();
  std::puts("hangs");
  std::fflush(stdout);
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  io_service io;
  auto ends = net::make_unix_pair(io), full = net::make_unix_pair(io);
  const auto begin_late = []() -> task<> {
    const auto greet = [] { std::puts("started"); };
    co_await call_when_started(greet);
  };
  int keys[2];
  if (pipe(keys) != 0) return 1;
  blocking_pool one_thread(1);
  io.run(when_all(begin_late(), hold_log(), answer(ends.first), answer_in_time(ends.second), answer_first(),
                  log_or_not(), count(3), send_much(full.first), answer_later(io), answer_later_or_never(io),
                  call_and_wait(one_thread), read_key(one_thread, keys[0]),
                  read_next_key(one_thread, keys[0]), wait_for_both(), tell_that_it_hangs()));
}
