// tests/simulation/timeouts.cpp -- deadlines are exact to the nanosecond, and all work is joined.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/interval.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/timeout.hpp>
#include <coracle/utility/on_scope_exit.hpp>
#include <vector>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle_test::scenario_error;
using coracle_test::task;
using coracle_test::world;
using time_point = coracle::testing::virtual_clock::time_point;

/// Waits under up to four deadlines around each other, and may need a while to end: it is stopped at the
/// earliest, which is the one that throws timed_out, also where others pass before the end.
void nested_timeouts(coracle_test::simulation& sim) {
  world w{sim};
  const auto wait = [](std::chrono::microseconds work, std::chrono::microseconds to_end) -> task<> {
    bool stopped = false;
    try {
      co_await coracle::sleep_for(work);
    } catch (const coracle::operation_cancelled&) {
      stopped = true;
    }
    if (!stopped) co_return;
    co_await coracle::shielded(coracle::sleep_for(to_end));
    co_await coracle::this_task::throw_if_stopped();
  };
  const auto expired = [&](std::chrono::microseconds work,
                           std::vector<std::chrono::microseconds> limits) -> task<> {
    const time_point start = sim.now();
    const auto to_end = w.one_in(2) ? w.a_while() : 0us;
    int thrown = -1;
    const auto level = [&](auto& self, std::size_t depth) -> task<> {
      if (depth == limits.size()) co_return co_await wait(work, to_end);
      try {
        co_await coracle::timeout(self(self, depth + 1), limits[depth]);
      } catch (const coracle::timed_out&) {
        if (thrown < 0) thrown = static_cast<int>(depth);
        throw;
      }
    };
    const auto first = std::ranges::min_element(limits);
    const bool in_time = work < *first;
    try {
      co_await level(level, 0);
      w.expect(work <= *first, "it ends only if its time is not over");
      w.expect(sim.now() == start + work, "it ends when its work is done");
    } catch (const coracle::timed_out&) {
      w.expect(!in_time, "it is not stopped before its time is over");
      w.expect(thrown >= 0 && limits[static_cast<std::size_t>(thrown)] == *first,
               "the earliest deadline has thrown");
      w.expect(sim.now() == start + *first + to_end, "it is stopped at its deadline");
    }
  };
  const auto all = [&]() -> task<> {
    std::vector<task<>> running;
    for (int i = 0; i != 4; ++i) {
      std::vector<std::chrono::microseconds> limits;
      for (unsigned n = 1 + w.below(4); n != 0; --n) limits.push_back(w.a_while());
      running.push_back(coracle::schedule_on(expired(w.a_while(), limits), w.place()));
    }
    co_await coracle::when_all(std::move(running));
  };
  sim.run(all());
}

/// An attempt that succeeds, fails or is too late. Records its latest caller.
class attempts {
 public:
  explicit attempts(world& its_world) : w(its_world) {}
  task<int> operator()() {
    const int number = ++begun;
    ++running;
    {
      const auto on_end = coracle::on_scope_exit([this] { --running; });
      co_await w.pause();
      co_await coracle::sleep_for(w.a_while());
    }
    if (w.one_in(2)) {
      ++failed;
      throw scenario_error(number);
    }
    if (succeeded.empty()) first_success = w.sim.now();
    succeeded.push_back(number);
    co_return number;
  }

  world& w;
  time_point first_success;
  int begun = 0, running = 0, failed = 0;
  std::vector<int> succeeded;
};

void retry(coracle_test::simulation& sim) {
  world w{sim};
  attempts tries{w};
  const unsigned most = 1 + w.below(4);
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    const auto attempt = [&] { return tries(); };
    const coracle::retry_policy policy{
        .max_attempts = most, .first_delay = 2us, .max_delay = 5us, .seed = 1 + w.below(1000)};
    try {
      const int got = co_await coracle::with_stop(coracle::retry(policy, attempt), token);
      w.expect(tries.succeeded == std::vector{got}, "it gives what the one that succeeded gave");
      w.expect(tries.begun == got, "there is no attempt after one that succeeds");
    } catch (const scenario_error& error) {
      w.expect(tries.begun == static_cast<int>(most) && error.number == tries.begun,
               "it gives up after the last attempt");
    } catch (const coracle::operation_cancelled&) {
      w.expect(token.stop_requested(), "who is cancelled was asked to stop");
    }
    w.expect(tries.running == 0, "no attempt is left running");
  };
  sim.run(all());
}

void hedge(coracle_test::simulation& sim) {
  world w{sim};
  attempts tries{w};
  const unsigned most = 1 + w.below(3);
  const auto all = [&]() -> task<> {
    const auto token = w.a_token();
    const auto attempt = [&] { return tries(); };
    try {
      const int got = co_await coracle::with_stop(coracle::hedge(3us, attempt, most), token);
      w.expect(!tries.succeeded.empty() && tries.succeeded.front() == got, "the first to succeed wins");
      w.expect(sim.now() == tries.first_success, "the others are stopped then");
    } catch (const scenario_error&) {
      w.expect(tries.failed == 1 && most == 1, "the error of the only attempt is thrown as itself");
    } catch (const coracle::error_group& group) {
      w.expect(group.errors().size() == most && tries.failed == static_cast<int>(most),
               "all errors are thrown");
    } catch (const coracle::operation_cancelled&) {
      w.expect(token.stop_requested(), "who is cancelled was asked to stop");
      w.expect(tries.succeeded.empty(), "a success is not dropped");
    }
    w.expect(tries.running == 0, "no attempt is left running");
    w.expect(tries.begun <= static_cast<int>(most), "there are no more attempts than allowed");
  };
  sim.run(all());
}

/// In no period are more admitted than the bucket allows, and a cancelled wait takes no token.
void rate_limiter(coracle_test::simulation& sim) {
  world w{sim};
  const auto burst = static_cast<std::int64_t>(1 + w.below(3));
  constexpr auto one_token = 5us;
  coracle::rate_limiter limiter{1, one_token, burst};
  std::vector<time_point> passed;
  const auto work = [&]() -> task<> {
    for (int i = 0; i != 4; ++i) {
      co_await w.pause();
      const bool got = co_await w.attempt(limiter.acquire());
      if (got) passed.push_back(sim.now());
    }
  };
  const auto all = [&]() -> task<> {
    std::vector<task<>> running;
    for (int i = 0; i != 4; ++i) running.push_back(coracle::schedule_on(work(), w.place()));
    co_await coracle::when_all(std::move(running));
    const time_point start = sim.now();
    for (std::int64_t i = 0; i != burst; ++i) co_await limiter.acquire();
    w.expect(sim.now() - start <= burst * one_token, "a full bucket is there again after its time");
  };
  sim.run(all());
  for (std::size_t i = 0; i != passed.size(); ++i) {
    for (std::size_t k = i; k != passed.size(); ++k) {
      const auto most = burst + (passed[k] - passed[i]) / one_token;
      w.expect(static_cast<std::int64_t>(k - i + 1) <= most, "no more go through than the rate allows");
    }
  }
}

/// The times of the ticks under each policy, with a consumer that is occasionally late.
void interval(coracle_test::simulation& sim) {
  world w{sim};
  constexpr auto period = 5us;
  const auto policy = static_cast<coracle::missed_tick>(w.below(3));
  const auto all = [&]() -> task<> {
    coracle::interval ticks{period, policy};
    const time_point first = co_await ticks.tick();
    time_point before = first, came = first;
    for (int i = 0; i != 6; ++i) {
      co_await coracle::sleep_for(3 * w.a_while());
      const auto due = co_await w.attempt(ticks.tick());
      if (!due) continue;
      w.expect(*due <= sim.now(), "no tick comes early");
      if (policy != coracle::missed_tick::delay)
        w.expect((*due - first) % period == 0us, "the rhythm is kept");
      if (policy == coracle::missed_tick::burst) w.expect(*due == before + period, "no tick is missed");
      if (policy == coracle::missed_tick::delay) {
        const bool was_late = came - before >= period;
        w.expect(*due == (was_late ? came : before) + period, "a late tick delays the next");
      }
      before = *due;
      came = sim.now();
    }
  };
  sim.run(all());
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"timeout", nested_timeouts},
                                          {"retry", retry, {.stalls = true}},
                                          {"hedge", hedge},
                                          {"rate_limiter", rate_limiter},
                                          {"interval", interval}});
}
