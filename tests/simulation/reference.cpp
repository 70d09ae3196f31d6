// tests/simulation/reference.cpp -- trees of combinators end when, and as, a reference interpreter says.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "world.hpp"

namespace {
using coracle::stop_reason;
using coracle_test::scenario_error;
using coracle_test::task;
using coracle_test::world;
using moment = std::int64_t;  // ns since the tree has begun
using std::chrono::nanoseconds;

constexpr moment never = std::numeric_limits<moment>::max();
constexpr int expired = 0;  // stands for a timed_out among the numbers of scenario errors

enum class kind {
  sleep,
  fail,
  handle,
  in_turn,
  all,
  any,
  scope,
  timeout,
  stop_when,
  outcome,
  throwing,
  shield
};
constexpr auto leaves = static_cast<unsigned>(kind::in_turn), kinds = static_cast<unsigned>(kind::shield) + 1;

/// A coroutine. No two waits of a tree end at the same moment, unless one stop request ends both.
struct node {
  kind what;
  int number;
  moment first, second;
  unsigned choice;
  std::vector<node> children;
};

/// When a coroutine has ended, and how: cancelled if `why` is not none, failed if there are `errors`.
struct ending {
  moment at;
  long value = 0;
  stop_reason why = stop_reason::none;
  std::vector<int> errors = {};  // sorted
  [[nodiscard]] bool failed() const noexcept { return !errors.empty(); }
  [[nodiscard]] bool cancelled() const noexcept { return why != stop_reason::none; }
  [[nodiscard]] bool has_value() const noexcept { return !failed() && !cancelled(); }
  bool operator==(const ending&) const = default;
};
ending with_errors(moment at, std::vector<int> errors) {
  std::ranges::sort(errors);
  return {at, 0, stop_reason::none, std::move(errors)};
}
/// The value that stands for an outcome.
long value_of(const ending& end) {
  const long errors = static_cast<long>(end.errors.size());
  return end.cancelled() ? 1'000'000 : end.failed() ? 2'000'000 + errors : end.value;
}

// ---- the reference: docs/cancellation.md, and the headers ----

/// What a coroutine inherits: when stop is requested, and why.
struct inherited {
  moment stop = never;
  stop_reason why = stop_reason::none;
  bool dropped = false;  // by a combinator that does not need the result, so that no handler runs
  bool quiet = false;    // it is below as_outcome(), so that no handler runs
  [[nodiscard]] inherited stopped_at(moment at, stop_reason for_what, bool drops = false) const {
    return stop <= at ? *this : inherited{at, for_what, drops, quiet};
  }
};
ending end_of(const node& tree, moment t, const inherited& here);

ending end_of_wait(const node& tree, moment t, const inherited& here) {
  if (here.stop <= t || here.stop < t + tree.first) return {std::max(t, here.stop), 0, here.why};
  return {t + tree.first, tree.number};
}
ending end_of_leaf(const node& tree, moment t, const inherited& here) {
  const ending end = end_of_wait(tree, t, here);
  if (tree.what == kind::fail && end.has_value()) return with_errors(end.at, {tree.number});
  if (tree.what != kind::handle || end.has_value() || here.stop <= t || here.dropped || here.quiet)
    return end;
  const moment handled = end.at + tree.second;
  if (tree.choice == 0) return with_errors(handled, {tree.number});
  return tree.choice == 1 ? ending{handled, 0, end.why} : ending{handled, tree.number};
}
ending end_in_turn(const node& tree, moment t, const inherited& here) {
  ending end{t};
  for (const node& each : tree.children) {
    const long sum = end.value;
    end = end_of(each, end.at, here);
    if (!end.has_value()) break;
    end.value += sum;
  }
  return end;
}
/// The first child whose end decides stops the others, whose results are dropped.
ending end_together(const node& tree, moment t, const inherited& here) {
  if (here.stop <= t) return {t, 0, here.why};
  const bool is_race = tree.what == kind::any, is_scope = tree.what == kind::scope;
  const auto decides = [&](const ending& end) {
    return is_race ? !end.cancelled() : is_scope ? end.failed() : !end.has_value();
  };
  std::vector<ending> all;
  for (const node& each : tree.children) all.push_back(end_of(each, t, here));
  ending first{never}, first_cancelled{never};
  for (const ending& each : all) {
    if (decides(each) && each.at < first.at) first = each;
    if (each.cancelled() && each.at < first_cancelled.at) first_cancelled = each;
  }
  const auto dropped =
      here.stopped_at(first.at, is_race ? stop_reason::lost_race : stop_reason::sibling_failed, true);
  std::vector<int> errors;
  ending end{t};
  for (std::size_t i = 0; i != all.size(); ++i) {
    if (all[i].at > first.at) all[i] = end_of(tree.children[i], t, dropped);
    end.at = std::max(end.at, all[i].at);
    errors.insert(errors.end(), all[i].errors.begin(), all[i].errors.end());
    end.value += all[i].value;
  }
  if (!errors.empty()) return with_errors(end.at, std::move(errors));
  const ending& body = all.back();  // of a scope; it spawns the others
  const bool a_child_was =
      std::any_of(all.begin(), all.end() - 1, [](const ending& e) { return e.cancelled(); });
  const stop_reason why = a_child_was && here.stop <= end.at ? here.why : body.why;
  if (is_scope) return {end.at, why == stop_reason::none ? body.value : 0, why};
  if (is_race && first.at == never) return {end.at, 0, here.stop <= end.at ? here.why : first_cancelled.why};
  return first.at == never ? end : ending{end.at, first.value, first.why};
}
ending end_of(const node& tree, moment t, const inherited& here) {
  const auto child = [&](const inherited& its) { return end_of(tree.children[0], t, its); };
  const moment limit = t + tree.first;
  if (tree.what < kind::in_turn) return end_of_leaf(tree, t, here);
  if (tree.what == kind::in_turn) return end_in_turn(tree, t, here);
  switch (tree.what) {
    case kind::timeout: {
      const ending end = child(here.stopped_at(limit, stop_reason::timed_out));
      const bool expires = end.why == stop_reason::timed_out && limit < here.stop && limit <= end.at;
      return expires ? with_errors(end.at, {expired}) : end;
    }
    case kind::stop_when:
      return child(here.stopped_at(limit, stop_reason::requested));
    case kind::outcome: {
      const ending end = child({here.stop, here.why, here.dropped, true});
      return {end.at + tree.second, value_of(end)};
    }
    case kind::throwing:
      return child({here.stop, here.why});
    case kind::shield:
      return child({never, stop_reason::none, false, here.quiet});
    default:
      return end_together(tree, t, here);
  }
}

// ---- the same, carried out ----

class carried_out {
 public:
  explicit carried_out(world& its_world) : w(its_world) {}

  /// Requests a stop at `stop`, and returns how the tree has ended.
  task<ending> end_of_tree(const node& tree, moment stop) {
    begun_ = w.sim.now();
    auto work = coracle::stop_when(run(tree), token_of(stop, stop_reason::shutting_down));
    co_return ending_of(co_await coracle::as_outcome(coracle::throwing(std::move(work))));
  }

 private:
  task<long> run(const node& tree) {
    long sum = 0;
    const auto child = [&] { return run(tree.children[0]); };
    switch (tree.what) {
      case kind::in_turn:
        for (const node& each : tree.children) sum += co_await run(each);
        co_return sum;
      case kind::all: {
        const std::vector<long> results = co_await coracle::when_all(all(tree));
        for (const long each : results) sum += each;
        co_return sum;
      }
      case kind::any: {
        const auto winner = co_await coracle::when_any(all(tree));
        co_return winner.value;
      }
      case kind::scope: {
        const auto body = [&](coracle::async_scope& children) -> task<long> {
          for (std::size_t i = 0; i + 1 != tree.children.size(); ++i) children.spawn(run(tree.children[i]));
          co_return co_await run(tree.children.back());
        };
        co_return co_await coracle::with_scope(body);
      }
      case kind::timeout:
        co_return co_await coracle::timeout(child(), nanoseconds{tree.first});
      case kind::stop_when:
        co_return co_await coracle::stop_when(child(), token_of(tree.first, stop_reason::requested));
      case kind::outcome: {
        const ending end = ending_of(co_await coracle::as_outcome(child()));
        co_await coracle::shielded(coracle::sleep_for(nanoseconds{tree.second}));
        co_return value_of(end);
      }
      case kind::throwing:
        co_return co_await coracle::throwing(child());
      case kind::shield:
        co_return co_await coracle::shielded(child());
      default:
        co_return co_await leaf(tree);
    }
  }
  task<long> leaf(const node& tree) {
    co_await coracle::this_task::throw_if_stopped();
    bool stopped = false;
    try {
      co_await coracle::sleep_for(nanoseconds{tree.first});
    } catch (const coracle::operation_cancelled&) {
      if (tree.what != kind::handle) throw;
      stopped = true;
    }
    if (stopped) co_await coracle::shielded(coracle::sleep_for(nanoseconds{tree.second}));
    if (tree.what == kind::fail || (stopped && tree.choice == 0)) throw scenario_error(tree.number);
    if (stopped && tree.choice == 1) co_await coracle::this_task::throw_if_stopped();
    co_return tree.number;
  }
  std::vector<task<long>> all(const node& tree) {
    std::vector<task<long>> children;
    for (const node& each : tree.children) children.push_back(run(each));
    return children;
  }
  coracle::stop_token token_of(moment from_now, stop_reason why) {
    coracle::stop_source source;
    const auto request = [source, why]() mutable { source.request_stop(why); };
    w.sim.at(w.sim.now() + nanoseconds{from_now}, request);
    return source.get_token();
  }
  static std::vector<int> numbers_of(const std::exception_ptr& error) {
    std::vector<int> all;
    try {
      std::rethrow_exception(error);
    } catch (const scenario_error& one) {
      all = {one.number};
    } catch (const coracle::timed_out&) {
      all = {expired};
    } catch (const coracle::error_group& several) {
      for (const std::exception_ptr& each : several.errors())
        for (const int number : numbers_of(each)) all.push_back(number);
    }
    return all;
  }
  ending ending_of(coracle::outcome<long> end) {
    const moment at = nanoseconds(w.sim.now() - begun_).count();
    if (end.has_error()) return with_errors(at, numbers_of(end.error()));
    if (end.is_cancelled()) return {at, 0, end.reason()};
    return {at, std::move(end).get()};
  }

  world& w;
  coracle::testing::simulation::time_point begun_;
};

node some_tree(world& w, unsigned levels, int& number) {
  const bool is_leaf = levels == 0 || w.one_in(4);
  const auto what = static_cast<kind>(is_leaf ? w.below(leaves) : leaves + w.below(kinds - leaves));
  const auto some_time = [&] { return w.sim.random().between<moment>(1, 1'000'000'000); };
  node tree{what, ++number, some_time() / (is_leaf ? 1 : 2), some_time() / 3, w.below(3), {}};
  const unsigned count = is_leaf ? 0 : what < kind::timeout ? 1 + w.below(4) : 1;
  for (unsigned i = 0; i != count; ++i) tree.children.push_back(some_tree(w, levels - 1, number));
  return tree;
}
void reference(coracle_test::simulation& sim) {
  world w{sim};
  for (int i = 0; i != 8; ++i) {
    int number = 0;
    const node tree = some_tree(w, 1 + w.below(4), number);
    const moment stop = w.sim.random().between<moment>(1, 4'000'000'000);
    const ending expected = end_of(tree, 0, inherited{stop, stop_reason::shutting_down});
    carried_out real{w};
    const ending found = sim.run(coracle::schedule_on(real.end_of_tree(tree, stop), sim));
    w.expect(found.at == expected.at, "a tree ends when the reference says");
    w.expect(found == expected, "a tree ends as the reference says");
  }
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv, {{"trees, as a reference says", reference}});
}
