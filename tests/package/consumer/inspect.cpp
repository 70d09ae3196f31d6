#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <cstdio>

coracle::task<int> answer(coracle::static_thread_pool& pool) {
  co_await pool.schedule();
  co_return 42;
}

int main() {
  coracle::static_thread_pool pool{2};
  std::printf("%d\n", coracle::sync_wait(answer(pool)));
}
