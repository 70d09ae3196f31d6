// examples/04_mutex.cpp -- a lock held across co_await.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>

struct account {
  coracle::async_mutex mutex;
  long balance = 0;
};

coracle::task<> deposit(coracle::static_thread_pool& pool, account& to, int times) {
  co_await pool.schedule();
  for (int i = 0; i != times; ++i) {
    auto lock = co_await to.mutex.scoped_lock_async();
    const long before = to.balance;
    co_await pool.schedule();  // perhaps on another thread: the lock is still held
    to.balance = before + 1;
  }
}

int main() {
  coracle::static_thread_pool pool{4};
  account savings;
  coracle::sync_wait(coracle::when_all(deposit(pool, savings, 1000), deposit(pool, savings, 1000)));
  std::printf("%ld\n", savings.balance);
}

// Output:
//   2000
