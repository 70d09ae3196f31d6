// tests/unit/await_again_test.cpp -- an operation that has a name is awaited again after a wait that was
// cancelled: it takes effect then, and nothing is lost.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <coracle/channels/channel.hpp>
#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/channels/watched_value.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <coracle/sync/single_consumer_async_auto_reset_event.hpp>
#include <coracle/sync/single_consumer_event.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <coracle/time/sleep.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "../support/detached.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::io_service;
using coracle::task;

enum class end_of_wait { stopped, stopped_in_a_task, lost };
constexpr end_of_wait each_end[] = {end_of_wait::stopped, end_of_wait::stopped_in_a_task, end_of_wait::lost};

template <class Operation>
task<> await_once(Operation& operation) {
  static_cast<void>(co_await operation);
}

/// Awaits it in vain, until `place` has had a turn. It is then as if it had not been awaited.
template <class Place, class Operation>
task<> wait_in_vain(Place& place, Operation& operation, end_of_wait how) {
  CAPTURE(static_cast<int>(how));
  if (how == end_of_wait::lost) {
    const auto first = co_await coracle::when_any(operation, place.schedule());
    CHECK(first.index() == 1);
    co_return;
  }
  coracle::stop_source source;
  const auto stop = [&]() -> task<> {
    source.request_stop();
    co_return;
  };
  coracle_test::run_detached_on(place, stop());
  const auto wait = [&]() -> task<> {
    if (how == end_of_wait::stopped) {
      const auto end = co_await coracle::as_outcome(operation);
      CHECK(end.is_cancelled());
    } else {
      const auto end = co_await coracle::as_outcome(await_once(operation));
      CHECK(end.is_cancelled());
    }
  };
  co_await coracle::with_stop(wait(), source.get_token());
}

/// `operation` waits in vain; then `complete` lets it be carried out, before it is awaited again. Then it
/// waits in vain once more, and is completed while it waits.
template <class Operation, class Complete, class Check>
task<> try_again(io_service& io, Operation& operation, Complete complete, Check is_carried_out) {
  for (const end_of_wait how : each_end) {
    co_await wait_in_vain(io, operation, how);
    complete();
    static_cast<void>(co_await operation);
    CHECK(is_carried_out());
    co_await wait_in_vain(io, operation, how);
    const auto complete_later = [&]() -> task<> {
      complete();
      co_return;
    };
    coracle_test::run_detached_on(io, complete_later());
    static_cast<void>(co_await operation);
    CHECK(is_carried_out());
  }
}
const auto always = [] { return true; };

void run(auto test) {
  io_service io;
  io.run(test(io));
}
}  // namespace

TEST_CASE("await again: a receive from a channel") {
  run([](io_service& io) -> task<> {
    coracle::channel<int> channel{1};
    auto receive = channel.recv();
    const auto send = [&] { CHECK(channel.try_send(1)); };
    const auto is_empty = [&] { return !channel.try_recv(); };
    co_await try_again(io, receive, send, is_empty);
  });
}

TEST_CASE("await again: a send to a full channel") {
  run([](io_service& io) -> task<> {
    coracle::channel<std::string> channel{1};
    std::string text = "first";
    CHECK(channel.try_send("0"));
    auto send = channel.send(std::move(text));
    const auto make_room = [&] {
      text = "next";
      CHECK(channel.try_recv());
    };
    const auto is_sent = [&] { return text.empty(); };
    co_await try_again(io, send, make_room, is_sent);
  });
}

TEST_CASE("await again: other channels") {
  run([](io_service& io) -> task<> {
    coracle::unbounded_channel<int> channel;
    auto receive = channel.recv();
    co_await try_again(io, receive, [&] { channel.send(1); }, [&] { return !channel.try_recv(); });
  });
  run([](io_service& io) -> task<> {
    coracle::watched_value<int> value{0};
    auto watcher = value.observe();
    auto change = watcher.changed();
    co_await try_again(io, change, [&] { value.set(1); }, always);
  });
}

TEST_CASE("await again: a receive that has taken an element receives nothing from a closed channel") {
  const auto receive_all = [](auto& channel) -> task<int> {
    auto receive = channel.recv();
    int count = 0;
    while (count != 10) {
      const auto got = co_await receive;
      if (!got) break;
      ++count;
    }
    co_return count;
  };
  coracle::channel<std::string> bounded{2};
  coracle::spsc_channel<int> apart{2};
  coracle::unbounded_channel<int> unbounded;
  CHECK(bounded.try_send("one"));
  CHECK(apart.try_send(1));
  unbounded.send(1);
  SUBCASE("closed before") {
    bounded.close();
    apart.close();
    unbounded.close();
    CHECK(coracle::sync_wait(receive_all(bounded)) == 1);
    CHECK(coracle::sync_wait(receive_all(apart)) == 1);
    CHECK(coracle::sync_wait(receive_all(unbounded)) == 1);
  }
  SUBCASE("closed while it waits") {
    int counts[3] = {};
    const auto count = [&](int& into, auto& channel) -> task<> { into = co_await receive_all(channel); };
    coracle_test::run_detached(count(counts[0], bounded));
    coracle_test::run_detached(count(counts[1], apart));
    coracle_test::run_detached(count(counts[2], unbounded));
    bounded.close();
    apart.close();
    unbounded.close();
    for (const int each : counts) CHECK(each == 1);
  }
}

TEST_CASE("await again: a receive that has taken an element, where another receiver waits") {
  coracle::channel<int> channel{1};
  auto receive = channel.recv();
  std::optional<int> first, second;
  const auto twice = [&]() -> task<> {
    first = co_await receive;
    second = co_await receive;
  };
  const auto other = [&]() -> task<> { static_cast<void>(co_await channel.recv()); };
  CHECK(channel.try_send(1));
  coracle_test::run_detached(twice());
  CHECK(first == 1);
  CHECK_FALSE(second);
  coracle_test::run_detached(other());
  CHECK(channel.try_send(2));
  CHECK(second == 2);
  channel.close();
}

TEST_CASE("await again: a blocking call") {
  coracle::blocking_pool pool{1};
  int calls = 0;
  const auto call = [&]() -> std::string {
    if (++calls == 2) throw std::runtime_error("the second call");
    return "a result that is longer than a short string";
  };
  const auto run = [&]() -> task<> {
    auto operation = coracle::blocking(pool, call);
    CHECK((co_await operation).size() == 43);
    CHECK((co_await coracle::as_outcome(operation)).has_error());
    CHECK((co_await operation).size() == 43);
  };
  coracle::sync_wait(run());
  CHECK(calls == 3);
}

TEST_CASE("await again: a lock") {
  run([](io_service& io) -> task<> {
    coracle::async_mutex mutex;
    CHECK(mutex.try_lock());
    auto lock = mutex.lock_async();
    const auto is_locked = [&] { return !mutex.try_lock(); };
    co_await try_again(io, lock, [&] { mutex.unlock(); }, is_locked);
    mutex.unlock();
  });
  run([](io_service& io) -> task<> {
    coracle::async_shared_mutex mutex;
    CHECK(mutex.try_lock());
    auto lock = mutex.lock_async();
    co_await try_again(io, lock, [&] { mutex.unlock(); }, [&] { return !mutex.try_lock_shared(); });
    mutex.unlock();
  });
  run([](io_service& io) -> task<> {
    coracle::async_semaphore semaphore{0};
    auto acquire = semaphore.acquire();
    co_await try_again(io, acquire, [&] { semaphore.release(); }, [&] { return !semaphore.try_acquire(); });
  });
  run([](io_service& io) -> task<> {
    coracle::async_mutex mutex;
    coracle::async_condition_variable changed;
    auto lock = co_await mutex.scoped_lock_async();
    auto wait = changed.wait(lock);
    const auto is_locked = [&] { return !mutex.try_lock(); };
    for (const end_of_wait how : each_end) {
      co_await wait_in_vain(io, wait, how);
      CHECK(is_locked());
      const auto notify = [&]() -> task<> {
        changed.notify_one();
        co_return;
      };
      coracle_test::run_detached_on(io, notify());
      co_await wait;
      CHECK(is_locked());
    }
  });
}

TEST_CASE("await again: an event") {
  run([](io_service& io) -> task<> {
    coracle::async_auto_reset_event event;
    auto wait = event.operator co_await();
    co_await try_again(io, wait, [&] { event.set(); }, always);
    co_await wait_in_vain(io, wait, end_of_wait::stopped);  // no set() is left
  });
  run([](io_service& io) -> task<> {
    coracle::single_consumer_async_auto_reset_event event;
    auto wait = event.operator co_await();
    co_await try_again(io, wait, [&] { event.set(); }, always);
  });
  run([](io_service& io) -> task<> {
    coracle::async_manual_reset_event event;
    auto wait = event.operator co_await();
    const auto reset = [&] {
      event.reset();
      return true;
    };
    co_await try_again(io, wait, [&] { event.set(); }, reset);
  });
  run([](io_service& io) -> task<> {
    coracle::single_consumer_event event;
    auto wait = event.operator co_await();
    const auto reset = [&] {
      event.reset();
      return true;
    };
    co_await try_again(io, wait, [&] { event.set(); }, reset);
  });
}

TEST_CASE("await again: tokens of a rate limiter") {
  coracle::testing::virtual_time_loop loop;
  const auto test = [&]() -> task<> {
    coracle::rate_limiter limiter{1, 1h, 1};
    auto acquire = limiter.acquire();
    for (const end_of_wait how : each_end) {
      co_await acquire;
      co_await wait_in_vain(loop, acquire, how);
      co_await coracle::sleep_for(1h);
      co_await acquire;
      CHECK(!limiter.try_acquire());
      co_await coracle::sleep_for(1h);
    }
  };
  loop.run(test());
}

TEST_CASE("await again: I/O") {
  run([](io_service& io) -> task<> {
    auto [from, to] = coracle::make_pipe(io);
    char byte = 0;
    auto read = from.read_some(&byte, 1);
    int written = 0;
    const auto write = [&] {
      const char next = static_cast<char>('a' + written++);
      CHECK(::write(to.native_handle(), &next, 1) == 1);
    };
    const auto is_read = [&] { return byte == 'a' + written - 1; };
    co_await try_again(io, read, write, is_read);
  });
  run([](io_service& io) -> task<> {
    auto timer = io.schedule_after(1h);
    for (const end_of_wait how : each_end) co_await wait_in_vain(io, timer, how);
  });
}

TEST_CASE("await again: a ready operation that gives way, after one that has waited") {
  run([](io_service& io) -> task<> {
    coracle::channel<int> channel{1000};
    auto receive = channel.recv();
    const auto send = [&]() -> task<> {
      co_await io.schedule();
      for (int i = 0; i != 1000; ++i) CHECK(channel.try_send(int{i}));
    };
    coracle_test::run_detached_on(io, send());
    for (int i = 0; i != 1000; ++i) {
      const auto got = co_await receive;
      REQUIRE(got == i);
    }
  });
}
