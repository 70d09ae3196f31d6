// tests/simulation/world.hpp -- the surroundings of a scenario: executors, pauses, random stop requests.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/via.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/strand.hpp>
#include <coracle/testing/simulation/simulate.hpp>
#include <coracle/testing/simulation/simulated_loop.hpp>
#include <coracle/time/sleep.hpp>
#include <optional>
#include <stdexcept>
#include <type_traits>

namespace coracle_test {
using namespace std::chrono_literals;
using coracle::task;
using coracle::testing::simulation;

/// The error of a scenario, with a number that identifies it.
struct scenario_error : std::runtime_error {
  explicit scenario_error(int its_number) : runtime_error("a scenario's error"), number(its_number) {}
  int number;
};

class world {
 public:
  explicit world(simulation& its_sim) : sim(its_sim), strand_(its_sim) {}

  unsigned below(unsigned count) noexcept { return static_cast<unsigned>(sim.random().below(count)); }
  bool one_in(unsigned count) noexcept { return below(count) == 0; }
  /// A few whole microseconds, so that events often coincide.
  std::chrono::microseconds a_while() noexcept { return std::chrono::microseconds{below(8)}; }
  /// A pool, one of two single threads, or a strand.
  coracle::scheduler_ref place() noexcept {
    coracle::executor* const places[] = {&sim, &first_, &second_, &strand_};
    return coracle::scheduler_ref{places[below(4)]};
  }
  /// Pauses for no time, for one turn, or for some time. A stop request ends the pause.
  task<> pause() {
    const unsigned kind = below(3);
    if (kind == 1) co_await sim.schedule();
    if (kind == 2) co_await coracle::sleep_for(a_while());
  }
  /// A token whose stop is requested after a while, or immediately; in half of the cases never.
  coracle::stop_token a_token() {
    coracle::stop_source source;
    const auto token = source.get_token();
    kept_.push_back(source);
    if (one_in(16)) source.request_stop();
    if (one_in(2)) {
      sim.at(sim.now() + a_while(), [source = std::move(source)]() mutable { source.request_stop(); });
    }
    return token;
  }
  /// Awaits `operation` with such a token. Returns std::nullopt or false if it was cancelled.
  template <class Awaitable>
  auto attempt(Awaitable operation)
      -> task<std::conditional_t<std::is_void_v<coracle::await_result_t<Awaitable>>, bool,
                                 std::optional<std::remove_cvref_t<coracle::await_result_t<Awaitable>>>>> {
    const coracle::stop_token token = a_token();
    try {
      if constexpr (std::is_void_v<coracle::await_result_t<Awaitable>>) {
        co_await coracle::with_stop(std::move(operation), token);
        co_return true;
      } else {
        co_return co_await coracle::with_stop(std::move(operation), token);
      }
    } catch (const coracle::operation_cancelled&) {
      if (!token.stop_requested()) throw;
    }
    if constexpr (std::is_void_v<coracle::await_result_t<Awaitable>>) {
      co_return false;
    } else {
      co_return std::nullopt;
    }
  }
  void expect(bool condition, std::string_view what,
              std::source_location where = std::source_location::current()) {
    sim.expect(condition, what, where);
  }

  simulation& sim;

 private:
  coracle::testing::simulated_loop first_{sim}, second_{sim};
  coracle::strand strand_;
  std::vector<coracle::stop_source> kept_;
};
}  // namespace coracle_test
