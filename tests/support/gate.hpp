// tests/support/gate.hpp -- a minimal semaphore, for tests of waiting and stopping.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/detail/stoppable_wait.hpp>
#include <coracle/core/detail/wait_queue.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "detached.hpp"

namespace coracle_test {
/// A minimal semaphore, with hooks at which a test acts.
struct gate {
  explicit gate(int given = 0) : permits(given) {}

  class operation;
  operation pass() noexcept;
  void release() {
    static_cast<void>(word.lock());
    coracle::detail::queued_waiter* const first = queue.claim();
    if (!first) ++permits;
    word.unlock(0);
    if (first) first->wake();
  }
  void release_all() {
    static_cast<void>(word.lock());
    coracle::waiter* const first = queue.take_all();
    word.unlock(0);
    coracle::detail::wake_all(first);
  }

  coracle::detail::locked_word<std::uint32_t> word{0};
  coracle::detail::wait_queue queue;
  int permits;
  int tries = 0;
  std::function<void()> before_enqueue = [] {};     ///< its listener is registered, it is not queued
  std::function<void()> after_carried_out = [] {};  ///< enqueue() did not need to wait
};

struct something_first {
  long long unused = 7;
};
class [[nodiscard]] gate::operation : something_first, public coracle::detail::stoppable_wait<operation> {
 public:
  explicit operation(gate& all) noexcept : all_(all) {}
  int await_resume() {
    finish();
    return 42;
  }

 private:
  friend stoppable_wait;
  bool try_now() noexcept {
    ++all_.tries;
    if (all_.permits == 0) return false;
    --all_.permits;
    return true;
  }
  bool enqueue() noexcept {
    all_.before_enqueue();
    gate& all = all_;  // once it is queued, this object may be gone
    static_cast<void>(all.word.lock());
    const bool carried_out = all.permits != 0 && all.queue.serve_at_once(node());
    const bool waits = all.permits == 0 && all.queue.push(node());
    if (carried_out) --all.permits;
    all.word.unlock(0);
    if (carried_out) all.after_carried_out();
    return waits;
  }
  bool withdraw() noexcept {
    static_cast<void>(all_.word.lock());
    const bool waited = all_.queue.withdraw(node());
    all_.word.unlock(0);
    return waited;
  }

  gate& all_;
};
inline gate::operation gate::pass() noexcept { return operation{*this}; }

/// Logs `name` when it has a permit, `-name` when it is cancelled.
inline coracle::task<> pass_and_log(gate& all, std::vector<int>& log, int name) {
  int how = -name;
  try {
    const int given = co_await all.pass();
    how = given == 42 ? name : 0;
  } catch (const coracle::operation_cancelled&) {
  }
  log.push_back(how);
}
inline void start(gate& all, std::vector<int>& log, int name, const coracle::stop_source& source) {
  run_detached(coracle::with_stop(pass_and_log(all, log, name), source.get_token()));
}
inline void start(gate& all, std::vector<int>& log, int name) { run_detached(pass_and_log(all, log, name)); }
}  // namespace coracle_test
