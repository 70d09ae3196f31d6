#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <cstdio>

coracle::task<int> answer(coracle::io_service& io) {
  const coracle::io_work_scope until_here{io};
  co_await io.schedule_after(std::chrono::milliseconds(1));
  co_return 42;
}
coracle::task<int> run(coracle::io_service& io) {
  io.process_events();
  co_return 0;
}

int main() {
  coracle::io_service io;
  const auto [value, rest] = coracle::sync_wait(coracle::when_all(answer(io), run(io)));
  std::printf("%d\n", value + rest);
}
