#include <cppcoro/net/ipv4_address.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cstdio>

cppcoro::task<int> answer(cppcoro::static_thread_pool& pool) {
  co_await pool.schedule();
  co_return cppcoro::net::ipv4_address::from_string("0.0.0.42")->bytes()[3];
}

int main() {
  cppcoro::static_thread_pool pool{2};
  std::printf("%d\n", cppcoro::sync_wait(answer(pool)));
}
