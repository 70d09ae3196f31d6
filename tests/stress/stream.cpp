// tests/stress/stream.cpp -- pipelines on several threads lose and duplicate no elements, and are joined.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <vector>

#include "../support/stress.hpp"

namespace {
namespace streams = coracle::streams;
using coracle::task;

coracle::async_generator<int> counting(int to) {
  for (int i = 0; i != to; ++i) co_yield i;
}
coracle::async_generator<int> hopping(coracle::static_thread_pool& pool, int from, int to) {
  for (int i = from; i != to; ++i) {
    co_await pool.schedule();
    co_yield i;
  }
}

/// Elements that hop between pools are delivered in order.
long long out_of_order(int elements) {
  coracle::static_thread_pool first{2}, second{1};
  const auto hop = [&](int n) -> task<int> {
    co_await first.schedule();
    if (n % 3 == 0) co_await second.schedule();
    co_return n;
  };
  int next = 0;
  long long wrong = 0;
  const auto check = [&](int n) { wrong += n != next++; };
  coracle::sync_wait(counting(elements) | streams::map(hop) | streams::buffered(7) | streams::map(hop) |
                     streams::buffered(2) | streams::for_each(check));
  return wrong + (elements - next);
}

/// Sources on different threads: each element is delivered once, those of each source in order.
long long merged_wrong(int elements) {
  coracle::static_thread_pool first{1}, second{1};
  coracle::channel<int> sent{2};
  const auto send = [&]() -> task<> {
    co_await first.schedule();
    for (int i = 2 * elements; i != 3 * elements; ++i) co_await sent.send(i);
    sent.close();
  };
  long long wrong = 0, seen = 0;
  int last[3] = {-1, -1, -1};
  const auto check = [&](int n) {
    int& before = last[n / elements];
    wrong += n <= before;
    before = n;
    ++seen;
  };
  auto all = streams::merge(hopping(first, 0, elements), hopping(second, elements, 2 * elements), sent) |
             streams::for_each(check);
  coracle::sync_wait(coracle::when_all(std::move(all), send()));
  return wrong + (3LL * elements - seen);
}

/// Requests stop at any time; afterwards nothing runs.
long long stopped_wrong(int most) {
  coracle::static_thread_pool pool{2};
  std::atomic<long long> running{0}, wrong{0};
  const auto work = [&](int n) -> task<int> {
    ++running;
    const auto leave = coracle::on_scope_exit([&running] { --running; });
    co_await pool.schedule();
    co_return n;
  };
  std::vector<coracle::stop_source> sources(static_cast<std::size_t>(most));
  coracle_test::side_by_side(
      most,
      [&](int i) {
        try {
          auto all = streams::merge(counting(9) | streams::map(work) | streams::buffered(3), counting(9)) |
                     streams::take(10) | streams::for_each([](int) {});
          coracle::sync_wait(
              coracle::with_stop(std::move(all), sources[static_cast<std::size_t>(i)].get_token()));
        } catch (const coracle::operation_cancelled&) {
        }
        wrong += running != 0;
      },
      [&](int i) {
        coracle_test::hold_up(i * 37 % 4000);
        sources[static_cast<std::size_t>(i)].request_stop();
      });
  return wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("stream", argc, argv, 8'000);
  run.expect("buffered elements wrong", out_of_order(run.int_count()), 0);
  run.expect("merged elements wrong", merged_wrong(run.int_count()), 0);
  run.expect("left running", stopped_wrong(run.int_count() / 2), 0);
  return run.finish();
}
