// examples/23_model_check.cpp -- a hand-written event that passes every test on a fast machine. A model check
// runs it in every interleaving, with every stale value, and prints how the wake-up is lost.
// SPDX-License-Identifier: MIT
#include <coracle/testing/model/atomic.hpp>
#include <coracle/testing/model/model_check.hpp>
#include <coroutine>
#include <cstdio>
#include <exception>

using coracle::testing::model_check;
using coracle::testing::model_expect;
using coracle::testing::model_thread;

/// One coroutine waits for one set(). Each side writes its own word, then reads the other's.
class two_word_event {
 public:
  void set() {
    is_set_.store(true, std::memory_order_release);
    if (void* const waiter = waiter_.load(std::memory_order_acquire))
      std::coroutine_handle<>::from_address(waiter).resume();
  }
  bool await_ready() { return is_set_.load(std::memory_order_acquire); }
  bool await_suspend(std::coroutine_handle<> waiter) {
    waiter_.store(waiter.address(), std::memory_order_release);
    return !is_set_.load(std::memory_order_acquire);  // it may have been set in the meantime
  }
  void await_resume() {}

 private:
  coracle::testing::atomic<bool> is_set_{false};
  coracle::testing::atomic<void*> waiter_{nullptr};
};

/// A word that both change: one of the changes comes first.
class one_word_event {
 public:
  void set() {
    if (void* const waiter = state_.exchange(this, std::memory_order_acq_rel))
      std::coroutine_handle<>::from_address(waiter).resume();
  }
  bool await_ready() { return state_.load(std::memory_order_acquire) == this; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    void* expected = nullptr;
    return state_.compare_exchange_strong(expected, waiter.address(), std::memory_order_release,
                                          std::memory_order_acquire);
  }
  void await_resume() {}

 private:
  coracle::testing::atomic<void*> state_{nullptr};  // null, the waiter, or this: set
};

struct detached {
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};
template <class Event>
detached wait_for(Event& event, coracle::testing::plain<bool>& went_on) {
  co_await event;
  went_on = true;
}

template <class Event>
void set_against_wait() {
  Event event;
  coracle::testing::plain<bool> went_on = false;
  model_thread setter{[&] { event.set(); }};
  wait_for(event, went_on);
  setter.join();
  model_expect(went_on, "the waiter goes on");
}

int main() {
  const auto two_words = model_check(set_against_wait<two_word_event>);
  std::printf("two words: %s\n%s", two_words.passed ? "passed" : "failed", two_words.schedule.c_str());
  const auto one_word = model_check(set_against_wait<one_word_event>);
  std::printf("one word: %s, all of %d executions\n",
              one_word.passed && one_word.complete ? "passed" : "failed",
              static_cast<int>(one_word.executions));
}

// Output:
//   two words: failed
//   body                                                      thread 1
//   load is_set_ = 0 acquire  23_model_check.cpp:22
//   store waiter_ = address 1 release  23_model_check.cpp:24
//   load is_set_ = 0 acquire  23_model_check.cpp:25
//                                                             store is_set_ = 1 release  23_model_check.cpp:18
//                                                             load, stale, waiter_ = 0 acquire  23_model_check.cpp:19
//   body fails: expected: the waiter goes on (23_model_check.cpp:75)
//   one word: passed, all of 3 executions
