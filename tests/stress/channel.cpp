// tests/stress/channel.cpp -- sent elements are received once and in order, even if coroutines are stopped.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/channels/channel.hpp>
#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::channel;
using coracle::static_thread_pool;
using coracle::task;
using coracle_test::detached;

struct item {
  int producer;
  int number;
  std::unique_ptr<int> payload;
};
struct tally {
  std::atomic<long long> sent{0}, received{0}, disordered{0}, spoiled{0}, unsent_lost{0}, stopped{0};
};

detached stop_soon(static_thread_pool& pool, coracle::stop_source source) {
  co_await pool.schedule();
  source.request_stop();
}

constexpr int producers = 4;

/// What each consumer has received from each producer: those elements must be in order.
class checked_consumer {
 public:
  explicit checked_consumer(tally& all) noexcept : all_(all) {}
  void take(const item& got) noexcept {
    int& last = last_[got.producer];
    if (got.number <= last) ++all_.disordered;
    last = got.number;
    if (!got.payload || *got.payload != got.number) ++all_.spoiled;
    ++all_.received;
  }

 private:
  tally& all_;
  int last_[producers] = {-1, -1, -1, -1};
};

/// Sends the numbers 0, 1 ... of `name`; every few sends, stop is about to be requested.
template <class Channel>
task<> produce(static_thread_pool* home, static_thread_pool& other, Channel& ch, int name, int count,
               tally& all) {
  if (home) co_await home->schedule();
  for (int i = 0; i != count; ++i) {
    item mine{name, i, std::make_unique<int>(i)};
    try {
      if (i % 5 != name) {
        co_await ch.send(std::move(mine));
      } else {
        coracle::stop_source source;
        stop_soon(other, source);
        co_await coracle::with_stop(ch.send(std::move(mine)), source.get_token());
      }
      ++all.sent;
    } catch (const coracle::operation_cancelled&) {
      ++all.stopped;
      all.unsent_lost += !mine.payload;
    } catch (const coracle::channel_closed&) {
      all.unsent_lost += !mine.payload;
      break;
    }
  }
}
template <class Channel>
task<> consume(static_thread_pool* home, static_thread_pool& other, Channel& ch, tally& all) {
  if (home) co_await home->schedule();
  checked_consumer check{all};
  for (int i = 0;; ++i) {
    try {
      std::optional<item> got;
      if (i % 7 != 0) {
        got = co_await ch.recv();
      } else {
        coracle::stop_source source;
        stop_soon(other, source);
        got = co_await coracle::with_stop(ch.recv(), source.get_token());
      }
      if (!got) break;
      check.take(*got);
    } catch (const coracle::operation_cancelled&) {
      ++all.stopped;
    }
  }
}

/// Closes the channel while they send if `close_early`, otherwise when all have sent.
void exchange(std::size_t capacity, int count, bool close_early, tally& all) {
  static_thread_pool first{2}, second{1};
  channel<item> ch{capacity};
  const long long enough = all.received + count;
  const auto producer_side = [&]() -> task<> {
    co_await coracle::when_all(
        produce(&first, second, ch, 0, count, all), produce(&first, second, ch, 1, count, all),
        produce(&second, first, ch, 2, count, all), produce(nullptr, first, ch, 3, count, all));
    ch.close();
  };
  std::thread closer([&] {
    if (!close_early) return;
    while (all.received.load() < enough) std::this_thread::yield();
    ch.close();
  });
  coracle::sync_wait(coracle::when_all(consume(&first, second, ch, all), consume(&second, first, ch, all),
                                       consume(nullptr, second, ch, all), producer_side()));
  closer.join();
}

/// One of each, on two pools, on one pool, and outside executors; the channel's ends are paired and
/// separated.
void exchange_of_two(std::size_t capacity, int count, bool close_early, tally& all) {
  static_thread_pool first{1}, second{1}, both{2};
  static_thread_pool* const places[][2] = {{&first, &second}, {&both, &both}, {&first, nullptr}};
  for (const auto& [senders, receivers] : places) {
    coracle::spsc_channel<item> ch{capacity};
    const long long enough = all.received + count / 2;
    const auto producer_side = [&]() -> task<> {
      co_await produce(senders, second, ch, 0, count, all);
      ch.close();
    };
    std::thread closer([&] {
      if (!close_early) return;
      while (all.received.load() < enough) std::this_thread::yield();
      ch.close();
    });
    coracle::sync_wait(coracle::when_all(consume(receivers, first, ch, all), producer_side()));
    closer.join();
  }
}

/// A sender and a receiver of one element, repeatedly; the receiver deletes the channel immediately, while
/// the send may not have returned. Returns how many elements did not arrive.
template <class Channel>
long long send_and_forget(int most) {
  std::vector<Channel*> channels(static_cast<std::size_t>(most));
  for (std::size_t i = 0; i != channels.size(); ++i) channels[i] = new Channel{i % 2};
  std::atomic<long long> arrived{0};
  const auto receive = [&](Channel* mine) -> detached {
    const std::unique_ptr<Channel> owner{mine};
    const std::optional<int> got = co_await owner->recv();
    arrived += got.value_or(0);
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { receive(channels[static_cast<std::size_t>(i)]); },
      [&](int i) {
        Channel* const to = channels[static_cast<std::size_t>(i)];
        while (!to->try_send(1)) {
        }
      });
  for (int i = rounds; i != most; ++i) delete channels[static_cast<std::size_t>(i)];
  return rounds - arrived;
}

/// Plain threads send to an unbounded channel and close it; two coroutines receive.
void send_from_threads(int count, tally& all) {
  static_thread_pool pool{2};
  coracle::unbounded_channel<item> ch;
  std::thread sender([&] {
    std::vector<std::thread> threads;
    for (int name = 0; name != producers; ++name) {
      threads.emplace_back([&, name] {
        for (int i = 0; i != count; ++i) {
          ch.send(item{name, i, std::make_unique<int>(i)});
          ++all.sent;
        }
      });
    }
    for (std::thread& each : threads) each.join();
    ch.close();
  });
  coracle::sync_wait(coracle::when_all(consume(&pool, pool, ch, all), consume(&pool, pool, ch, all)));
  sender.join();
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("channel", argc, argv, 10'000);
  tally all;
  for (const std::size_t capacity : {0u, 1u, 3u, 64u}) {
    exchange(capacity, run.int_count(), false, all);
    exchange(capacity, run.int_count(), true, all);
    exchange_of_two(capacity, run.int_count(), false, all);
    exchange_of_two(capacity, run.int_count(), true, all);
  }
  run.expect("received", all.received.load(), all.sent.load());
  tally unbounded;
  send_from_threads(run.int_count(), unbounded);
  run.expect("received unbounded", unbounded.received.load(), producers * run.count());
  run.expect("out of order", all.disordered + unbounded.disordered, 0);
  run.expect("spoiled", all.spoiled + unbounded.spoiled, 0);
  run.expect("lost although not sent", all.unsent_lost.load(), 0);
  run.expect("runs without a stop", all.stopped == 0, 0);
  run.expect("single hand-overs lost", send_and_forget<channel<int>>(10 * run.int_count()), 0);
  run.expect("single hand-overs of two lost",
             send_and_forget<coracle::spsc_channel<int>>(10 * run.int_count()), 0);
  return run.finish();
}
