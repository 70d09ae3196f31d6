#include <chrono>
#include <coracle/core/task.hpp>
#include <coracle/testing.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdio>

CORACLE_COUNT_ALLOCATIONS();

coracle::task<int> answer_in_a_day() {
  co_await coracle::sleep_for(std::chrono::hours(24));
  co_return 42;
}

int main() {
  coracle::testing::virtual_time_loop loop;
  coracle::testing::virtual_clock clock;
  coracle::testing::manual_scheduler place{clock};
  auto polled = coracle::testing::poll(place, answer_in_a_day());
  clock.advance(std::chrono::hours(24));
  std::printf("%d\n", polled.run() && coracle::testing::allocations() != 0 ? loop.run(answer_in_a_day()) : 0);
}
