#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/read_only_file.hpp>
#include <cstdio>

coracle::task<int> answer(coracle::io_service& io) {
  const coracle::io_work_scope until_here{io};
  co_await io.schedule_after(std::chrono::milliseconds(1));
  const coracle::read_only_file zeros = coracle::read_only_file::open(io, "/dev/zero");
  char zero = 1;
  const std::size_t got = co_await zeros.read_exactly(0, &zero, 1);
  co_return 41 + static_cast<int>(got) + zero;
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
