// tests/stress/stop.cpp -- stop requests race with registration, deregistration and the end of tokens.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <coracle/core/stop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "../support/detached.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::stop_callback;
using coracle::stop_source;
using coracle::stop_token;
using coracle_test::detached;

/// A callback is registered and deregistered while another thread requests stop: it runs at most once, and
/// not after deregistration. TSan would detect a concurrent call by its plain counter.
long long race_registration(int most) {
  std::vector<stop_source> sources(static_cast<std::size_t>(most));
  std::vector<int> calls(sources.size());
  std::vector<int> seen(sources.size());
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { sources[static_cast<std::size_t>(i)].request_stop(); },
      [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        {
          const stop_callback callback{sources[at].get_token(), [&calls, at]() noexcept { ++calls[at]; }};
        }
        seen[at] = calls[at];
      });
  long long wrong = 0;
  for (std::size_t i = 0; i != sources.size(); ++i) {
    wrong += calls[i] != seen[i] || calls[i] > 1 ||
             (i < static_cast<std::size_t>(rounds)) != sources[i].stop_requested();
  }
  return wrong;
}

/// What the requester wrote before is visible to every thread that sees the request.
long long race_publication(int most) {
  std::vector<stop_source> sources(static_cast<std::size_t>(most));
  std::vector<int> written(sources.size());
  std::atomic<long long> wrong{0};
  coracle_test::side_by_side(
      most,
      [&](int i) {
        written[static_cast<std::size_t>(i)] = 7;
        sources[static_cast<std::size_t>(i)].request_stop();
      },
      [&](int i) {
        const stop_token token = sources[static_cast<std::size_t>(i)].get_token();
        while (!token.stop_requested()) std::this_thread::yield();
        if (written[static_cast<std::size_t>(i)] != 7) ++wrong;
      });
  return wrong;
}

/// Two coroutines, each of whose callbacks wakes the other one, are stopped by two threads at once.
long long race_mutual_wakeups(int most) {
  struct pair {
    stop_source stops[2];
    coracle::async_manual_reset_event events[2];
    std::atomic<int> ended{0};
  };
  std::vector<pair> pairs(static_cast<std::size_t>(most));
  const auto run = [](pair& p, int mine) -> detached {
    {
      const stop_callback guard{p.stops[mine].get_token(),
                                [&p, mine]() noexcept { p.events[1 - mine].set(); }};
      co_await p.events[mine];
    }
    ++p.ended;
  };
  for (pair& each : pairs) {
    run(each, 0);
    run(each, 1);
  }
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { pairs[static_cast<std::size_t>(i)].stops[0].request_stop(); },
      [&](int i) { pairs[static_cast<std::size_t>(i)].stops[1].request_stop(); });
  long long wrong = 0;
  for (std::size_t i = 0; i != pairs.size(); ++i) {
    // A waiter that was woken before it was stopped has deregistered, and wakes no other. But one was woken.
    wrong += i < static_cast<std::size_t>(rounds) && pairs[i].ended == 0;
    for (auto& event : pairs[i].events) event.set();
    wrong += pairs[i].ended != 2;
  }
  return wrong;
}

/// The last token linked to a std::stop_token is destroyed while stop is requested.
long long race_following(int most) {
  std::vector<std::stop_source> sources(static_cast<std::size_t>(most));
  std::vector<int> calls(sources.size());
  coracle_test::side_by_side(
      most, [&](int i) { sources[static_cast<std::size_t>(i)].request_stop(); },
      [&](int i) {
        const auto at = static_cast<std::size_t>(i);
        const stop_callback callback{stop_token{sources[at].get_token()},
                                     [&calls, at]() noexcept { ++calls[at]; }};
      });
  long long wrong = 0;
  for (const int each : calls) wrong += each > 1;
  return wrong;
}

/// Many callbacks come and go on two threads; then one request runs each remaining one once.
long long register_from_two_threads(int turns) {
  stop_source source;
  std::atomic<long long> calls{0};
  const auto count = [&calls]() noexcept { ++calls; };
  using callback = stop_callback<decltype(count)>;
  constexpr int kept = 100;
  std::vector<std::optional<callback>> all(2 * kept);
  const auto come_and_go = [&](int first) {
    for (int i = 0; i != turns; ++i) {
      auto& place = all[static_cast<std::size_t>(first + i % kept)];
      place.reset();
      place.emplace(source.get_token(), count);
    }
  };
  std::thread other([&] { come_and_go(0); });
  come_and_go(kept);
  other.join();
  source.request_stop();
  return calls - 2LL * std::min(kept, turns);
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("stop", argc, argv, 20'000);
  const int races = 5 * run.int_count();
  run.expect("registrations wrong", race_registration(races), 0);
  run.expect("requests unseen", race_publication(races), 0);
  run.expect("mutual wake-ups lost", race_mutual_wakeups(races), 0);
  run.expect("followers wrong", race_following(races), 0);
  run.expect("callbacks too many", register_from_two_threads(10 * run.int_count()), 0);
  return run.finish();
}
