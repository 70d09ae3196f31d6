// examples/29_own_scheduler.cpp -- your own scheduler: coroutines on a GUI thread.
// SPDX-License-Identifier: MIT
#include <condition_variable>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <mutex>
#include <utility>

/// Stands in for a GUI library's event loop. Only its own thread may draw.
class window_loop final : public coracle::executor {
 public:
  coracle::schedule_operation<window_loop> schedule() noexcept { return coracle::schedule_operation{*this}; }

  /// Thread-safe. The entry lives in the waiting coroutine: nothing is allocated.
  void post(coracle::resumption& item) noexcept override {
    const std::lock_guard locked{mutex_};
    item.next = nullptr;
    (last_ ? last_->next : first_) = &item;
    last_ = &item;
    changed_.notify_one();  // under the lock: once the entry has run, this may be destroyed
  }
  void run() {
    while (coracle::resumption* const item = take()) coracle::resume(*item, *this);
  }
  /// run() returns when the queue is empty.
  void quit() {
    const std::lock_guard locked{mutex_};
    has_to_quit_ = true;
    changed_.notify_one();
  }
  void draw(const char* text) { std::printf("%s: %s\n", is_here() ? "window" : "WRONG THREAD", text); }

 private:
  bool is_here() { return coracle::current_executor() == this; }
  coracle::resumption* take() {
    std::unique_lock locked{mutex_};
    changed_.wait(locked, [this] { return first_ || has_to_quit_; });
    coracle::resumption* const item = first_;
    if (item) first_ = item->next;
    if (!first_) last_ = nullptr;
    return item;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  coracle::resumption *first_ = nullptr, *last_ = nullptr;
  bool has_to_quit_ = false;
};

coracle::task<int> count_primes(int below) {
  int count = 0;
  for (int n = 2; n < below; ++n) {
    bool is_prime = true;
    for (int d = 2; d * d <= n && is_prime; ++d) is_prime = n % d != 0;
    count += is_prime;
  }
  co_return count;
}

coracle::task<> clicked(window_loop& window, coracle::static_thread_pool& pool) {
  const auto quit_at_end = coracle::on_scope_exit([&] { window.quit(); });  // after an error, too
  window.draw("counting ...");
  const int count = co_await coracle::via(count_primes(100'000), pool);  // the window stays responsive
  window.draw(count == 9592 ? "9592 primes" : "a wrong number of primes");
  co_await coracle::sleep_for(std::chrono::milliseconds{1});  // timers, events, sockets: each comes back here
  window.draw("done");
}

int main() {
  window_loop window;
  coracle::static_thread_pool pool{2};
  coracle::async_scope scope;
  scope.spawn(coracle::schedule_on(clicked(window, pool), window));
  window.run();
  coracle::sync_wait(scope.join());
}

// Output:
//   window: counting ...
//   window: 9592 primes
//   window: done
