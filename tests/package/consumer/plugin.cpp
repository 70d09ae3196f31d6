#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/time/sleep.hpp>

namespace {
coracle::task<int> count_returns(int times) {
  const coracle::executor* const home = coracle::current_executor();
  int count = 0;
  for (int i = 0; i != times; ++i) {
    co_await coracle::sleep_for(std::chrono::microseconds(10));
    if (home && coracle::current_executor() == home) ++count;
  }
  co_return count;
}
}  // namespace

// Gives a task whose result is 42 if the plugin and the program agree about where it runs.
extern "C" [[gnu::visibility("default")]] void make_task(coracle::task<int>& to) { to = count_returns(42); }
