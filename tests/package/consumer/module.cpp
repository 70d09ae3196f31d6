#include <chrono>
#include <coroutine>
#include <cstdio>
#include <tuple>
#include <variant>
#include <vector>
import coracle;

namespace {
using namespace std::chrono_literals;

coracle::generator<int> numbers(int count) {
  for (int i = 1; i <= count; ++i) co_yield i;
}

coracle::task<int> half_of(int number) {
  co_await coracle::this_task::yield();
  co_return number / 2;
}

coracle::task<int> sum_of(coracle::channel<int>& jobs) {
  int sum = 0;
  while (const auto job = co_await jobs.recv()) sum += *job;
  co_return sum;
}

coracle::task<> send_all(coracle::channel<int>& jobs) {
  for (const int number : numbers(3)) co_await jobs.send(number);
  jobs.close();
}

coracle::task<int> work(coracle::static_thread_pool& pool) {
  co_await pool.schedule();
  const auto [a, b] = co_await coracle::when_all(half_of(16), half_of(8));  // 8, 4
  coracle::channel<int> jobs{1}, doubled{3};
  const auto [sum, nothing] = co_await coracle::when_all(sum_of(jobs), send_all(jobs));  // 6
  static_cast<void>(nothing);
  const auto first = co_await coracle::when_any(coracle::sleep_for(1ms), coracle::sleep_for(1h));
  co_await send_all(doubled);
  const std::vector<int> all = co_await (doubled | coracle::streams::map([](int x) { return 2 * x; }) |
                                         coracle::streams::collect());                   // 2 4 6
  const int more = co_await (half_of(24) | coracle::fmap([](int x) { return x + 1; }));  // 13
  co_return a + b + sum + static_cast<int>(first.index()) + all[0] + all[1] + all[2] + more - 1;
}
}  // namespace

int main() {
  coracle::static_thread_pool pool{2};
  std::printf("%d\n", coracle::sync_wait(work(pool)));
}
