// tests/stress/select.cpp -- selects that meet in channels: exactly one branch of each takes effect.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <memory>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::channel;
using coracle::static_thread_pool;
using coracle::task;

struct tally {
  std::atomic<long long> sent{0}, received{0}, sum_sent{0}, sum_received{0}, stopped{0};
};

coracle_test::detached stop_soon(static_thread_pool& pool, coracle::stop_source source) {
  co_await pool.schedule();
  source.request_stop();
}
template <class Select>
task<> stoppable(static_thread_pool& other, bool stops, tally& all, Select operation, auto note) {
  coracle::stop_source source;
  if (stops) stop_soon(other, source);
  try {
    const auto chosen = co_await coracle::with_stop(std::move(operation), source.get_token());
    note(chosen);
  } catch (const coracle::operation_cancelled&) {
    ++all.stopped;
  }
}

/// Sends each number to one of two channels, or to none when it is stopped. Every other time the second
/// channel is the first branch.
task<> send_somewhere(static_thread_pool& home, static_thread_pool& other, channel<long>& a, channel<long>& b,
                      int count, tally& all) {
  co_await home.schedule();
  for (int i = 1; i <= count; ++i) {
    const auto note = [&all, i](const auto&) {
      ++all.sent;
      all.sum_sent += i;
    };
    channel<long>& first = i % 2 ? a : b;
    channel<long>& second = i % 2 ? b : a;
    co_await stoppable(other, i % 11 == 0, all, coracle::select(first.send(i), second.send(i)), note);
  }
}
task<> receive_somewhere(static_thread_pool& home, static_thread_pool& other, channel<long>& a,
                         channel<long>& b, tally& all) {
  co_await home.schedule();
  bool open = true;
  for (int i = 0; open; ++i) {
    const auto note = [&](const auto& chosen) {
      const std::optional<long> got = chosen.index() == 0 ? std::get<0>(chosen) : std::get<1>(chosen);
      open = got.has_value();
      if (!open) return;
      ++all.received;
      all.sum_received += *got;
    };
    channel<long>& first = i % 3 ? a : b;
    channel<long>& second = i % 3 ? b : a;
    co_await stoppable(other, i % 13 == 0, all, coracle::select(first.recv(), second.recv()), note);
  }
  // One of them is closed and drained; the other may still contain elements.
  for (channel<long>* const each : {&a, &b}) {
    for (;;) {
      const auto got = co_await each->recv();
      if (!got) break;
      ++all.received;
      all.sum_received += *got;
    }
  }
}

void meet(std::size_t capacity, int count, tally& all) {
  static_thread_pool one{1}, two{1};
  channel<long> a{capacity}, b{capacity};
  const auto senders = [&]() -> task<> {
    co_await coracle::when_all(send_somewhere(one, two, a, b, count, all),
                               send_somewhere(two, one, a, b, count, all),
                               send_somewhere(one, two, b, a, count, all));
    a.close();
    b.close();
  };
  coracle::sync_wait(coracle::when_all(receive_somewhere(two, one, a, b, all),
                                       receive_somewhere(one, two, b, a, all),
                                       receive_somewhere(two, one, b, a, all), senders()));
}

/// In each turn a coroutine selects between a semaphore and a channel, which others refill: as many permits
/// and elements are taken as were provided.
long long mix(int count) {
  static_thread_pool one{1}, two{1};
  coracle::async_semaphore permits{0};
  channel<int> ch{2};
  std::atomic<long long> taken{0};
  const auto take = [&]() -> task<> {
    co_await one.schedule();
    for (int i = 0; i != count; ++i) {
      const auto chosen = co_await coracle::select(ch.recv(), permits.acquire());
      taken += chosen.index() == 1 || std::get<0>(chosen).has_value();
    }
  };
  const auto give = [&]() -> task<> {
    co_await two.schedule();
    for (int i = 0; i != count; ++i) {
      if (i % 2 == 0) permits.release();
      if (i % 2 == 0) co_await ch.send(i);
    }
  };
  coracle::sync_wait(coracle::when_all(take(), take(), give(), give()));
  long long left = 0;
  while (permits.try_acquire()) ++left;
  while (ch.try_recv()) ++left;
  return taken + left;
}

/// Two choices that claim each other from both sides at once: one of them gets both, or each gets its own.
long long claim_each_other(int most) {
  using coracle::detail::choice;
  std::vector<std::optional<choice>> choices(2 * static_cast<std::size_t>(most));
  for (auto& each : choices) each.emplace();
  std::vector<choice::meeting> found(2 * static_cast<std::size_t>(most), choice::meeting::both);
  const auto side = [&](std::size_t mine, std::size_t other) {
    found[mine] = choice::claim_both(&*choices[mine], &*choices[other]);
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { side(2 * static_cast<std::size_t>(i), 2 * static_cast<std::size_t>(i) + 1); },
      [&](int i) { side(2 * static_cast<std::size_t>(i) + 1, 2 * static_cast<std::size_t>(i)); });
  long long wrong = 0;
  for (std::size_t i = 0; i != 2 * static_cast<std::size_t>(rounds); i += 2) {
    const bool first = found[i] == choice::meeting::both, second = found[i + 1] == choice::meeting::both;
    if (first == second || !choices[i]->is_claimed() || !choices[i + 1]->is_claimed()) ++wrong;
  }
  return wrong;
}

/// A stop request, an element for each of two channels, and a select that waits for one of them, all
/// concurrent. Returns how often not exactly one of the three took effect, or an element was lost.
long long stop_against_two_sends(int most) {
  struct round {
    channel<int> a{1}, b{1};
    coracle::stop_source source;
    std::atomic<int> received{0}, cancelled{0};
  };
  std::vector<std::unique_ptr<round>> all(static_cast<std::size_t>(most));
  const auto choose = [](round& mine) -> task<> {
    try {
      const auto chosen = co_await coracle::select(mine.a.recv(), mine.b.recv());
      mine.received += chosen.index() == 0 ? *std::get<0>(chosen) : *std::get<1>(chosen);
    } catch (const coracle::operation_cancelled&) {
      ++mine.cancelled;
    }
  };
  for (auto& each : all) {
    each = std::make_unique<round>();
    coracle_test::run_detached(coracle::with_stop(choose(*each), each->source.get_token()));
  }
  std::atomic<int> unsent{0};
  const auto at = [&](int i) -> round& { return *all[static_cast<std::size_t>(i)]; };
  const int rounds = coracle_test::side_by_side(
      most,
      [&](int i) {
        if (i % 2 == 0) {
          at(i).source.request_stop();
        } else {
          unsent += !at(i).b.try_send(1);
        }
      },
      [&](int i) { unsent += !at(i).a.try_send(1); });
  long long wrong = unsent;
  for (int i = 0; i != most; ++i) {
    round& each = at(i);
    if (i >= rounds) each.source.request_stop();
    const int sent = i >= rounds ? 0 : i % 2 == 0 ? 1 : 2;
    const int left = each.a.try_recv().value_or(0) + each.b.try_recv().value_or(0);
    if (each.received + each.cancelled != 1 || each.received + left != sent) ++wrong;
  }
  return wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("select", argc, argv, 3'000);
  tally all;
  for (const std::size_t capacity : {0u, 1u, 4u}) meet(capacity, run.int_count(), all);
  run.expect("received", all.received.load(), all.sent.load());
  run.expect("in sum", all.sum_received.load(), all.sum_sent.load());
  run.expect("given and taken", mix(run.int_count()), 2LL * run.count());
  run.expect("claimed by both or none", claim_each_other(20 * run.int_count()), 0);
  run.expect("stopped and served at once", stop_against_two_sends(3 * run.int_count()), 0);
  return run.finish();
}
