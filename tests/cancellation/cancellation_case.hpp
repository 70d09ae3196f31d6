// tests/cancellation/cancellation_case.hpp -- the interface to one operation for the test of the contract.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <memory>
#include <vector>

namespace coracle_test {
/// The effect of a stop request on an operation that has begun to wait.
enum class when_stopped {
  ends_at_once,       ///< the wait ends, the operation is not carried out
  takes_its_turn,     ///< as one that is on its way to a scheduler: it arrives there, and then is cancelled
  joins_its_children  ///< it stops those for which it waits, and ends once they have
};

/// How tests/stress/cancellation.cpp may race an operation.
enum class in_races {
  in_numbers,  ///< the cases are independent
  stop_wins,   ///< so are they, but complete() does nothing that a stop request could lose against
  alone        ///< the cases share a socket, a service or a thread
};

/// An operation, and the means to complete it. Each trial uses a fresh object.
class cancellation_case {
 public:
  cancellation_case() = default;
  cancellation_case(const cancellation_case&) = delete;
  cancellation_case& operator=(const cancellation_case&) = delete;
  virtual ~cancellation_case() = default;

  /// Awaits the operation once, so that it has to wait. Returns if it was carried out; if it was not, lets
  /// operation_cancelled out.
  virtual coracle::task<> operation() = 0;
  /// Lets the operation complete. Called at most once, at any moment, from any thread: also before the
  /// operation has begun, and then it need not wait.
  virtual void complete() = 0;
  /// Runs what is queued on an executor of the case. Called when all other calls have returned.
  virtual void settle() {}
  /// Returns true if something else, such as the kernel, may have completed the operation.
  virtual bool may_be_completed() { return false; }
  /// Called last. True: nothing is lost and nothing is doubled. `carried_out`: how the operation ended;
  /// `completed`: whether complete() was called.
  virtual bool intact(bool carried_out, bool completed) = 0;
};

struct cancellation_entry {
  const char* operation;  ///< the awaiter's class as its header writes it, e.g. "async_latch::wait_operation"
  std::unique_ptr<cancellation_case> (*make)();
  when_stopped behaviour = when_stopped::ends_at_once;
  bool ends_on_own_executor = false;  ///< its coroutine runs on only in settle()
  in_races raced = in_races::in_numbers;
};

template <class Case>
std::unique_ptr<cancellation_case> make_case() {
  return std::unique_ptr<cancellation_case>(new Case);  // make_unique<Case>() takes longer to compile
}

/// Every operation of the library. tools/check_cancellation.py compares it with the headers.
const std::vector<cancellation_entry>& cancellation_table();
}  // namespace coracle_test
