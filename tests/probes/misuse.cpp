// tests/probes/misuse.cpp -- misuse that ends the program with one line in every build, also where nothing
// else is checked.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <coracle/time/interval.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "../support/abort_message.hpp"
#include "../support/detached.hpp"

namespace {
using namespace coracle;
using namespace std::chrono_literals;
using coracle_test::detached;

task<int> one() { co_return 1; }
task<> arrive(async_barrier<>& barrier) { co_await barrier.arrive_and_wait(); }
detached wait_for(async_manual_reset_event& event) { co_await event; }
detached receive(channel<int>& from) { co_await from.recv(); }
task<> receive_after_close(io_service& io) {
  auto closed = net::socket::create_udpv4(io);
  closed.close();
  char byte;
  co_await closed.recv(&byte, 1);
}

struct misuse {
  const char* says;  ///< the beginning of the line
  void (*body)();
};
constexpr misuse all[] = {
    {"unlock() of an async_mutex that is not held",
     [] {
       async_mutex mutex;
       mutex.unlock();
     }},
    {"unlock() of an async_mutex that is not held",
     [] {
       async_mutex mutex;
       if (mutex.try_lock()) mutex.unlock();
       mutex.unlock();
     }},
    {"adopt() of an async_mutex that is not held",
     [] {
       async_mutex mutex;
       static_cast<void>(async_mutex_lock::adopt(mutex));
     }},
    {"an async_mutex was destroyed while it was held", [] { static_cast<void>(async_mutex().try_lock()); }},
    {"release() of more permits", [] { async_semaphore{async_semaphore::max()}.release(); }},
    {"release() of more permits", [] { async_semaphore{1}.release(async_semaphore::max()); }},
    {"release() of a negative number", [] { async_semaphore{0}.release(-1); }},
    {"an async_semaphore was made with a negative number", [] { async_semaphore{-1}; }},
    {"unlock() of an async_shared_mutex that no writer holds", [] { async_shared_mutex().unlock(); }},
    {"unlock() of an async_shared_mutex that no writer holds",
     [] {
       async_shared_mutex mutex;
       static_cast<void>(mutex.try_lock_shared() && mutex.try_lock_shared());
       mutex.unlock();
     }},
    {"unlock_shared() of an async_shared_mutex that no reader holds",
     [] { async_shared_mutex().unlock_shared(); }},
    {"unlock_shared() of an async_shared_mutex that no reader holds",
     [] {
       async_shared_mutex mutex;
       static_cast<void>(mutex.try_lock());
       mutex.unlock_shared();
     }},
    {"more coroutines arrived at an async_barrier",
     [] {
       async_barrier barrier{1};
       barrier.arrive_and_drop();
       sync_wait(arrive(barrier));
     }},
    {"an async_barrier was made for a negative number", [] { async_barrier{-1}; }},
    {"an async_manual_reset_event was destroyed while coroutines wait",
     [] {
       async_manual_reset_event event;
       wait_for(event);
     }},
    {"a channel was destroyed while coroutines wait",
     [] {
       channel<int> numbers{1};
       receive(numbers);
     }},
    {"a broadcast was constructed with a capacity of 0", [] { broadcast<int> numbers{0}; }},
    {"an async_scope was destroyed without join()",
     [] {
       async_scope scope;
       scope.spawn([]() -> task<> { co_return; });
     }},
    {"an interval was constructed with a period of 0", [] { interval{0ms}; }},
    {"a rate_limiter was constructed with tokens, a period or a burst of 0", [] { rate_limiter{0, 1s, 1}; }},
    {"a rate_limiter was constructed with tokens, a period or a burst of 0", [] { rate_limiter{1, 0s, 1}; }},
    {"acquire() of more tokens than the burst",
     [] {
       rate_limiter limiter{1, 1s, 1};
       sync_wait(limiter.acquire(2));
     }},
    {"a static_thread_pool was constructed with 0 threads", [] { static_thread_pool{0}; }},
    {"a blocking_pool was constructed without threads", [] { blocking_pool{0}; }},
    {"an operation was awaited on a file or socket that is closed",
     [] {
       io_service io;
       io.run(receive_after_close(io));
     }},
    {"an empty task was awaited", [] { sync_wait(task<>()); }},
    {"a task was awaited twice",
     [] {
       task<int> once = one();
       static_cast<void>(sync_wait(std::move(once)));
       static_cast<void>(sync_wait(std::move(once)));
     }},
};
}  // namespace

int main() {
  int failed = 0;
  for (const misuse& each : all) {
    const std::string said = coracle_test::abort_message(each.body);
    const std::string begins = std::string("coracle: ") + each.says;
    const bool is_one_line = said.find('\n') + 1 == said.size();
    if (is_one_line && said.compare(0, begins.size(), begins) == 0) continue;
    ++failed;
    std::printf("FAILED: not \"%s ...\" but \"%s\"\n", begins.c_str(), said.c_str());
  }
  std::printf("%zu cases, %d failed\n", std::size(all), failed);
  return failed != 0;
}
