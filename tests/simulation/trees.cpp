// tests/simulation/trees.cpp -- random trees of combinators: when a node resumes, its children have ended.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/as_completed.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/fmap.hpp>
#include <coracle/compose/for_each_concurrent.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/streams/stream.hpp>
#include <coracle/time/async_finally.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/timeout.hpp>
#include <string>
#include <vector>

#include "leaves.hpp"
#include "tree_nodes.hpp"
#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle_test::leaves;
using coracle_test::record;
using coracle_test::records;
using coracle_test::spot;
using coracle_test::task;
using coracle_test::tree_nodes;
using coracle_test::world;

/// A node of each kind; `here` is where its children stand.
class forest final : public tree_nodes {
 public:
  using tree_nodes::tree_nodes;

 private:
  using shape = task<int> (forest::*)(spot);

  task<int> when_all(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      const auto [number, nothing, text] = co_await coracle::when_all(
          child<int>(here, of[0]), child<void>(here, of[1]), child<std::string>(here, of[2]));
      static_cast<void>(nothing);
      expect_value(number, of[0]);
      expect_value(text, of[2]);
      co_return number;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> when_all_of_many(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      const std::vector<std::string> texts = co_await coracle::when_all(some<std::string>(here, of));
      for (std::size_t i = 0; i != texts.size(); ++i) expect_value(texts[i], of[i]);
      co_return 1;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> when_all_ready(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      auto outcomes = co_await coracle::when_all_ready(some<std::string>(here, of));
      for (std::size_t i = 0; i != outcomes.size(); ++i) {
        w.expect(outcomes[i].has_error() == (of[i].now == record::failed), "an error is its child's");
        w.expect(outcomes[i].has_value() == (of[i].now == record::ended),
                 "a value is there if its child's is");
        if (outcomes[i].has_value()) expect_value(std::move(outcomes[i]).get(), of[i]);
      }
      co_return 1;
    };
    co_return co_await over(family(), of, false);
  }
  task<int> when_any(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      auto first =
          co_await coracle::when_any(child<int>(here, of[0]), child<std::string>(here, of[1]), leaves_.pulse,
                                     child<void>(here, of[2]), coracle::sleep_for(w.a_while()));
      if (first.index() == 0) expect_value(std::get<0>(first), of[0]);
      if (first.index() == 1) expect_value(std::get<1>(first), of[1]);
      co_return 1;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> when_any_succeeds(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      auto first = co_await coracle::when_any_succeeds(some<std::string>(here, of));
      expect_value(first.value, of[first.index]);
      co_return 1;
    };
    co_return co_await over(family(), of, false);
  }
  task<int> fork_join(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      const auto [number, nothing, text] = co_await coracle::fork_join(
          child<int>(here, of[0]), child<void>(here, of[1]), child<std::string>(here, of[2]));
      static_cast<void>(nothing);
      expect_value(number, of[0]);
      expect_value(text, of[2]);
      co_return number;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> scope(spot here) {
    records of;
    const auto body = [&](coracle::async_scope& in) -> task<int> {
      in.spawn(child<void>(here, of[0]));
      auto text = in.spawn_future(child<std::string>(here, of[1]));
      static_cast<void>(in.spawn_future(child<int>(here, of[2])));  // nobody wants to know
      const int mine = co_await child<int>(here, of[3]);
      if (w.one_in(4)) {
        in.request_stop();
      } else if (w.one_in(2)) {
        const std::string result = co_await std::move(text);
        expect_value(result, of[1]);
      }
      co_return mine;
    };
    const auto policy =
        w.one_in(2) ? coracle::scope_policy::collect_all() : coracle::scope_policy::fail_fast();
    const auto family = [&]() -> task<int> { co_return co_await coracle::with_scope(policy, body); };
    co_return co_await over(family(), of, false);
  }
  task<int> timeout(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      const std::string text = co_await coracle::timeout(child<std::string>(here, of[0]), w.a_while());
      expect_value(text, of[0]);
      co_return 1;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> stopped_by_a_sibling(spot here) {
    records of;
    coracle::stop_source source;
    const auto stopped = [&]() -> task<int> {
      try {
        co_return co_await coracle::stop_when(child<int>(here, of[0]), source.get_token());
      } catch (const coracle::operation_cancelled&) {
      }
      co_return 1;
    };
    const auto stopping = [&]() -> task<int> {
      co_await leaves_.pause();
      source.request_stop();
      co_return 2;
    };
    const auto family = [&]() -> task<int> {
      auto results =
          w.one_in(2) ? coracle::when_all(stopped(), stopping()) : coracle::when_all(stopping(), stopped());
      const auto [first, second] = co_await std::move(results);
      co_return first + second;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> as_outcome(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      auto end = co_await coracle::as_outcome(child<std::string>(here, of[0]));
      w.expect(end.has_value() == (of[0].now == record::ended), "a value is there if the child's is");
      w.expect(end.has_error() == (of[0].now == record::failed), "an error is the child's");
      const auto present = co_await coracle::as_optional(child<int>(here, of[1]));
      w.expect(present.has_value() == (of[1].now == record::ended), "it is empty if the child was stopped");
      co_return 1;
    };
    co_return co_await over(family(), of, false);
  }
  task<int> throwing(spot here) {
    records of;
    bool handled = false;
    const auto family = [&]() -> task<int> {
      try {
        co_return co_await coracle::throwing(child<int>(here, of[0]));
      } catch (const coracle::operation_cancelled&) {
        handled = true;
        throw;
      }
    };
    auto result = over(family(), of, true);
    co_await result.when_ready();
    w.expect(handled || of[0].now != record::cancelled, "the handler runs");
    co_return co_await std::move(result);
  }
  task<int> hedge(spot here) {
    records of;
    const auto attempt = [&](unsigned number) { return child<std::string>(here, of[number]); };
    const auto family = [&]() -> task<int> {
      const std::string text = co_await coracle::hedge(w.a_while(), attempt, 3);
      w.expect(std::ranges::any_of(of,
                                   [&](const record& each) {
                                     return each.now == record::ended &&
                                            text.starts_with(std::to_string(each.value) + ",");
                                   }),
               "the result is that of an attempt");
      co_return 1;
    };
    co_return co_await over(family(), of, false);
  }
  task<int> shielded(spot here) {
    records of;
    const auto family = [&]() -> task<int> { co_return co_await coracle::shielded(child<int>(here, of[0])); };
    co_return co_await over(family(), of, true);
  }
  task<int> async_finally(spot here) {
    records of;
    int cleaned = 0;
    const auto clean = [&]() -> task<> {
      ++cleaned;
      co_await leaves_.pause();
    };
    const auto family = [&]() -> task<int> {
      co_return co_await coracle::async_finally(child<int>(here, of[0]), clean, 5us);
    };
    auto result = over(family(), of, true);
    co_await result.when_ready();
    w.expect(cleaned <= 1 && (cleaned == 1 || of[0].now == record::not_begun), "it is cleaned up once");
    co_return co_await std::move(result);
  }
  task<int> retry(spot here) {
    records of;
    std::size_t attempts = 0;
    const auto attempt = [&] { return child<int>(here, of[attempts++]); };
    const auto family = [&]() -> task<int> {
      const int value = co_await coracle::retry({.max_attempts = 3, .first_delay = 2us, .seed = 1}, attempt);
      expect_value(value, of[attempts - 1]);
      co_return value;
    };
    co_return co_await over(family(), of, false);
  }
  task<int> for_each_concurrent(spot here) {
    records of;
    const std::vector<std::size_t> numbers{0, 1, 2, 3, 4};
    const auto each = [&](std::size_t i) { return child<void>(here, of[i]); };
    const auto family = [&]() -> task<int> {
      co_await coracle::for_each_concurrent(numbers, 1 + w.below(4), each);
      for (const record& one_of : of) w.expect(one_of.now == record::ended, "all have ended");
      co_return 1;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> as_completed(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      auto children = some<std::string>(here, of);
      const std::size_t count = children.size();
      std::size_t seen = 0;
      const auto see = [&seen](const std::string&) { ++seen; };
      co_await coracle::as_completed(std::move(children), see);
      w.expect(seen == count, "all results are seen");
      co_return 1;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> with_value(spot here) {
    records of;
    auto below = child<int>({here.levels, here.mark + 1}, of[0]);
    co_return co_await over(coracle::with_value(std::move(below), mark, here.mark + 1), of, true);
  }
  task<int> elsewhere(spot here) {
    records of;
    co_return co_await over(coracle::via(child<int>(here, of[0]), w.place()), of, true);
  }
  coracle::async_generator<std::string> texts(spot here, records& of) {
    const counted meanwhile{*this};
    for (record& each : of) {
      std::string text = co_await child<std::string>(here, each);
      co_yield text;
    }
  }
  task<int> generator(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      auto from = texts(here, of);
      for (std::size_t i = 0, wanted = w.below(6); i != wanted; ++i) {
        const std::string* const text = co_await from.next();
        expect_value(*text, of[i]);
      }
      co_return 1;
    };
    co_return co_await over(family(), of, true);
  }
  task<int> stream(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      const unsigned wanted = w.below(4);
      unsigned seen = 0;
      const auto see = [&seen](const std::string&) { ++seen; };
      co_await (texts(here, of) | coracle::streams::buffered(1 + w.below(3)) |
                coracle::streams::take(wanted) | coracle::streams::for_each(see));
      w.expect(seen == wanted, "as many are seen as were asked for");
      co_return 1;
    };
    co_return co_await over(family(), of, false);
  }
  task<int> later(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      task<std::string> first = child<std::string>(here, of[0]);
      co_await first.when_ready();
      task<std::string> moved = std::move(first);
      if (w.one_in(2)) co_return 1;
      const auto as_it_is = [](std::string one_text) { return one_text; };
      const std::string text = co_await coracle::fmap(std::move(moved), as_it_is);
      expect_value(text, of[0]);
      co_return 2;
    };
    co_return co_await over(family(), of, false);
  }
  task<int> nested(spot here) {
    records of;
    const auto family = [&]() -> task<int> {
      auto operation = coracle::when_all(child<int>(here, of[0]),
                                         coracle::when_any(child<int>(here, of[1]), leaves_.pulse),
                                         coracle::when_all(child<std::string>(here, of[2]),
                                                           coracle::timeout(child<void>(here, of[3]), 4us)));
      auto moved = std::move(operation);
      const auto results = co_await std::move(moved);
      expect_value(std::get<0>(results), of[0]);
      co_return 1;
    };
    co_return co_await over(family(), of, true);
  }

  task<int> some_family(spot here) override {
    static constexpr shape shapes[] = {&forest::when_all,
                                       &forest::when_all_of_many,
                                       &forest::when_all_ready,
                                       &forest::when_any,
                                       &forest::when_any_succeeds,
                                       &forest::fork_join,
                                       &forest::scope,
                                       &forest::timeout,
                                       &forest::stopped_by_a_sibling,
                                       &forest::as_outcome,
                                       &forest::throwing,
                                       &forest::hedge,
                                       &forest::shielded,
                                       &forest::async_finally,
                                       &forest::retry,
                                       &forest::for_each_concurrent,
                                       &forest::as_completed,
                                       &forest::with_value,
                                       &forest::elsewhere,
                                       &forest::generator,
                                       &forest::stream,
                                       &forest::later,
                                       &forest::nested};
    const shape each = shapes[w.below(std::size(shapes))];
    return (this->*each)(here);
  }
};

void tree(coracle_test::simulation& sim) {
  world w{sim};
  leaves ends{w};
  forest trees{w, ends};
  const auto grow = [&]() -> task<> {
    const auto token = w.a_token();
    try {
      co_await coracle::with_stop(trees.node({5, 0}), token);
    } catch (const coracle::operation_cancelled&) {
      w.expect(token.stop_requested(), "who is cancelled was asked to stop");
    } catch (const std::exception&) {
    }
    ends.stop_waking();
  };
  const auto both = [&]() -> task<> { co_await coracle::when_all(grow(), ends.wake()); };
  sim.run(coracle::schedule_on(both(), sim));
  w.expect(trees.alive == 0, "no coroutine is left");
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv, {{"trees", tree, {.stalls = true}}});
}
