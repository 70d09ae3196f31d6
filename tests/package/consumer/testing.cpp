#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/exec/sleep.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <cstdio>

coracle::task<int> answer_in_a_day() {
  co_await coracle::sleep_for(std::chrono::hours(24));
  co_return 42;
}

int main() {
  coracle::testing::virtual_time_loop loop;
  std::printf("%d\n", loop.run(answer_in_a_day()));
}
