// What clang-tidy finds with the checks that are installed. Nobody builds it.
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <mutex>

namespace {
std::mutex of_a_thread;
}

coracle::task<> hold_across_an_await() {
  const std::unique_lock held{of_a_thread};
  co_await coracle::this_task::yield();
}
