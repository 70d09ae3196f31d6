// tests/unit/stream_test.cpp -- pipelines that do not run ahead of their consumer.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/channel.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/detached.hpp"
#include "async_sources.hpp"

namespace {
namespace streams = coracle::streams;
using coracle::async_generator;
using coracle::async_manual_reset_event;
using coracle::sync_wait;
using coracle::task;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::async_sources::counting;
using coracle_test::async_sources::counting_asked;
using coracle_test::async_sources::failing_after;
using coracle_test::async_sources::ints;
using streams::chunk;
using streams::collect;
using streams::filter;
using streams::fold;
using streams::for_each;
using streams::map;
using streams::take;
using streams::zip;

constexpr auto is_even = [](int n) { return n % 2 == 0; };
constexpr auto twice = [](int n) { return 2 * n; };

async_generator<std::string> words() {
  co_yield "one";
  co_yield "three";
}

// ---- stages and ends -------------------------------------------------------------------------------------

TEST_CASE("streams: collect gives all elements in order; of an empty stream none") {
  CHECK(sync_wait(counting(0, 4) | collect()) == ints{0, 1, 2, 3});
  CHECK(sync_wait(counting(0, 0) | collect()).empty());
  CHECK(sync_wait(async_generator<int>() | collect()).empty());
}

TEST_CASE("streams: map gives what the function gives for each element, in order") {
  CHECK(sync_wait(counting(0, 4) | map(twice) | collect()) == ints{0, 2, 4, 6});
  CHECK(sync_wait(words() | map(&std::string::size) | collect()) == std::vector<std::size_t>{3, 5});
}

TEST_CASE("streams: map may change the element's type, and hand on a part of it by reference") {
  const auto halved = [](int n) { return n / 2.0; };
  CHECK(sync_wait(counting(1, 3) | map(halved) | collect()) == std::vector<double>{0.5, 1.0});
  struct point {
    int x, y;
  };
  const auto points = [](std::vector<point>& all) -> async_generator<point> {
    for (point& each : all) co_yield each;
  };
  std::vector<point> all{{1, 2}, {3, 4}};
  const auto clear = [](int& coordinate) { coordinate = 0; };
  sync_wait(points(all) | map(&point::y) | for_each(clear));
  CHECK(all[0].x == 1);
  CHECK(all[0].y == 0);
  CHECK(all[1].y == 0);
}

TEST_CASE("streams: filter keeps the elements for which the predicate is true, as the source shows them") {
  CHECK(sync_wait(counting(0, 7) | filter(is_even) | collect()) == ints{0, 2, 4, 6});
  ints numbers{1, 2, 3, 4};
  const auto shown = [](ints& all) -> async_generator<int> {
    for (int& each : all) co_yield each;
  };
  sync_wait(shown(numbers) | filter(is_even) | for_each([](int& n) { n = 0; }));
  CHECK(numbers == ints{1, 0, 3, 0});
}

TEST_CASE("streams: take gives the first elements and asks its source for no other") {
  int asked = 0;
  CHECK(sync_wait(counting_asked(asked) | take(3) | collect()) == ints{0, 1, 2});
  CHECK(asked == 3);
  CHECK(sync_wait(counting_asked(asked) | take(0) | collect()).empty());
  CHECK(asked == 3);
  CHECK(sync_wait(counting(0, 2) | take(5) | collect()) == ints{0, 1});
}

TEST_CASE("streams: chunk gives vectors of so many elements, the last one shorter") {
  CHECK(sync_wait(counting(0, 5) | chunk(2) | collect()) == std::vector<ints>{{0, 1}, {2, 3}, {4}});
  CHECK(sync_wait(counting(0, 4) | chunk(2) | collect()) == std::vector<ints>{{0, 1}, {2, 3}});
  CHECK(sync_wait(counting(0, 0) | chunk(2) | collect()).empty());
}

TEST_CASE("streams: the stages of a pipeline work together, each asking only for what it needs") {
  int asked = 0;
  auto pipeline = counting_asked(asked) | filter(is_even) | map(twice) | chunk(2) | take(2) | collect();
  CHECK(asked == 0);
  CHECK(sync_wait(std::move(pipeline)) == std::vector<ints>{{0, 4}, {8, 12}});
  CHECK(asked == 7);
}

TEST_CASE("streams: fold gives the last value; of an empty stream the first") {
  CHECK(sync_wait(counting(1, 5) | fold(0, std::plus())) == 10);
  CHECK(sync_wait(counting(0, 0) | fold(7, std::plus())) == 7);
  const auto join = [](std::string all, const std::string& word) { return all + word + "."; };
  CHECK(sync_wait(words() | fold(std::string(), join)) == "one.three.");
  const auto keep = [](std::unique_ptr<int> sum, int n) {
    *sum += n;
    return sum;
  };
  CHECK(*sync_wait(counting(1, 4) | fold(std::make_unique<int>(0), keep)) == 6);
}

TEST_CASE(
    "streams: for_each and fold await what their function returns before they ask for the next element") {
  async_manual_reset_event go_on;
  int asked = 0;
  ints seen;
  const auto see = [&](int n) -> task<> {
    if (n == 1) co_await go_on;
    seen.push_back(n);
  };
  coracle_test::run_detached(counting_asked(asked) | take(3) | for_each(see));
  CHECK(seen == ints{0});
  CHECK(asked == 2);
  go_on.set();
  CHECK(seen == ints{0, 1, 2});
  const auto add = [](int sum, int n) -> task<int> { co_return sum + n; };
  CHECK(sync_wait(counting(1, 5) | fold(0, add)) == 10);
}

TEST_CASE("streams: zip pairs elements and ends with the shorter stream, asking first, then second") {
  const auto show = [](std::pair<int&, std::string&> both) {
    return std::to_string(both.first) + both.second;
  };
  CHECK(sync_wait(zip(counting(1, 9), words()) | map(show) | collect()) ==
        std::vector<std::string>{"1one", "2three"});
  int first = 0, second = 0;
  const auto count = [](int n, const auto&) { return n + 1; };
  CHECK(sync_wait(zip(counting_asked(first) | take(2), counting_asked(second)) | fold(0, count)) == 2);
  CHECK(second == 2);
  CHECK(sync_wait(zip(counting_asked(first) | filter(is_even), counting(0, 4) | filter(is_even)) |
                  fold(0, count)) == 2);
}

// ---- sources and lifetimes -------------------------------------------------------------------------------

TEST_CASE("streams: a channel is referred to, and gives what is sent until it is closed and drained") {
  coracle::channel<int> numbers{4};
  ints seen;
  coracle_test::run_detached(numbers | map(twice) | for_each([&seen](int n) { seen.push_back(n); }));
  CHECK(numbers.try_send(1));
  CHECK(numbers.try_send(2));
  CHECK(seen == ints{2, 4});
  numbers.close();
  CHECK(sync_wait(numbers | collect()).empty());
}

TEST_CASE("streams: a subscription to a broadcast is a stream; it fails where it has lagged") {
  coracle::broadcast<int> values{2};
  auto in_time = values.subscribe();
  auto slow = values.subscribe();
  values.send(1);
  values.send(2);
  auto all = std::move(in_time) | take(2) | collect();
  CHECK(sync_wait(std::move(all)) == ints{1, 2});
  values.send(3);
  CHECK_THROWS_AS(sync_wait(std::move(slow) | collect()), coracle::lagged);
}

/// A user-defined stream.
class countdown {
 public:
  explicit countdown(int from) : left_(from) {}
  task<std::optional<int>> next() {
    if (left_ == 0) co_return std::nullopt;
    co_return left_--;
  }

 private:
  int left_;
};
static_assert(streams::stream<countdown> && streams::stream<async_generator<int>> &&
              streams::stream<coracle::channel<int>&> && !streams::stream<int> &&
              !streams::stream<task<int>>);
/// Shows strings that others hold, too, then an object that cannot be copied.
struct shared_texts {
  task<std::shared_ptr<std::string>> next() { co_return at == texts.size() ? nullptr : texts[at++]; }
  std::vector<std::shared_ptr<std::string>> texts;
  std::size_t at = 0;
};
struct owned_numbers {
  task<std::unique_ptr<std::unique_ptr<int>>> next() {
    if (left == 0) co_return nullptr;
    co_return std::make_unique<std::unique_ptr<int>>(std::make_unique<int>(left--));
  }
  int left;
};
TEST_CASE("streams: what a smart pointer shows is copied, or moved if it cannot be") {
  const auto kept = std::make_shared<std::string>("shared");
  shared_texts texts;
  texts.texts = {kept, kept};
  const auto all = sync_wait(std::move(texts) | streams::collect());
  CHECK(all == std::vector<std::string>{"shared", "shared"});
  CHECK(*kept == "shared");
  const auto numbers = sync_wait(owned_numbers{2} | streams::collect());
  CHECK(*numbers.at(1) == 1);
}

TEST_CASE("streams: whatever has a next() of something optional-like is a stream") {
  CHECK(sync_wait(countdown(3) | map(twice) | collect()) == ints{6, 4, 2});
}

TEST_CASE("streams: elements that can only be moved go from stage to stage") {
  using boxed = std::unique_ptr<int>;
  const auto box = [](int n) { return std::make_unique<int>(n); };
  const auto unbox = [](boxed n) { return *n; };
  const auto is_small = [](const boxed& n) { return *n < 3; };
  CHECK(sync_wait(counting(1, 9) | map(box) | filter(is_small) | take(2) | map(unbox) | collect()) ==
        ints{1, 2});
  coracle::channel<boxed> boxes{1};
  CHECK(boxes.try_send(box(5)));
  boxes.close();
  CHECK(*sync_wait(boxes | collect()).at(0) == 5);
  const auto boxed_numbers = []() -> async_generator<boxed> { co_yield std::make_unique<int>(4); };
  CHECK(*sync_wait(boxed_numbers() | collect()).at(0) == 4);
}

TEST_CASE("streams: what a generator shows is copied by collect and chunk, and by no other stage") {
  lifetimes log;
  const auto probes = [](lifetimes& to) -> async_generator<lifetime_probe> {
    for (int i = 0; i != 3; ++i) {
      lifetime_probe each(to, i);
      co_yield each;
    }
  };
  const auto is_kept = [](const lifetime_probe& p) { return p.id() != 1; };
  sync_wait(probes(log) | filter(is_kept) | take(9) | for_each([](lifetime_probe&) {}));
  CHECK(log.copies == 0);
  CHECK(log.moves == 0);
  CHECK(sync_wait(probes(log) | filter(is_kept) | collect()).size() == 2);
  CHECK(log.copies == 2);
  CHECK(log.alive == 0);
}

TEST_CASE("streams: a pipeline that is dropped, awaited or not, ends its source and its functions") {
  lifetimes log;
  async_manual_reset_event never;
  const auto waiting = [](lifetimes& to, async_manual_reset_event& event) -> async_generator<int> {
    const lifetime_probe local(to, 1);
    co_yield 1;
    co_await event;
  };
  const lifetime_probe mark(log, 2);
  {
    [[maybe_unused]] const auto dropped = waiting(log, never) | map([mark](int n) { return n; }) | collect();
  }
  CHECK(log.alive == 1);
  CHECK(sync_wait(waiting(log, never) | take(1) | collect()) == ints{1});
  CHECK(log.alive == 1);
}

TEST_CASE("streams: a pipe that has a name may be used again") {
  const auto evens = filter(is_even);
  const auto all = collect();
  CHECK(sync_wait(counting(0, 3) | evens | all) == ints{0, 2});
  CHECK(sync_wait(counting(3, 6) | evens | all) == ints{4});
}

// ---- errors, stop requests, places -----------------------------------------------------------------------

TEST_CASE("streams: an error of the source, a stage or the end leaves the pipeline at once") {
  ints seen;
  const auto see = [&](int n) { seen.push_back(n); };
  CHECK_THROWS_WITH_AS(sync_wait(failing_after(2) | map(twice) | for_each(see)), "the source fails",
                       std::runtime_error);
  CHECK(seen == ints{0, 2});
  int asked = 0;
  const auto refuse = [](int n) -> int { return n < 2 ? n : throw std::runtime_error("the stage fails"); };
  CHECK_THROWS_WITH_AS(sync_wait(counting_asked(asked) | map(refuse) | collect()), "the stage fails",
                       std::runtime_error);
  CHECK(asked == 3);
  const auto fail = [](int n) -> task<> {
    if (n == 1) throw std::runtime_error("the end fails");
    co_return;
  };
  CHECK_THROWS_WITH_AS(sync_wait(counting_asked(asked) | for_each(fail)), "the end fails",
                       std::runtime_error);
  CHECK_THROWS_AS(sync_wait(zip(counting(0, 9), failing_after(1)) | for_each([](const auto&) {})),
                  std::runtime_error);
}

TEST_CASE("streams: a stop request ends the wait of the source, however far up") {
  coracle::stop_source source;
  async_manual_reset_event never;
  bool cancelled_inside = false, cancelled = false;
  const auto waiting = [](async_manual_reset_event& event, bool& noted) -> async_generator<int> {
    try {
      co_await event;
    } catch (const coracle::operation_cancelled&) {
      noted = true;
      throw;
    }
    co_yield 1;
  };
  const auto run = [&]() -> task<> {
    try {
      co_await (waiting(never, cancelled_inside) | filter(is_even) | chunk(2) | collect());
    } catch (const coracle::operation_cancelled& e) {
      cancelled = e.reason() == coracle::stop_reason::shutting_down;
    }
  };
  coracle_test::run_detached(coracle::with_stop(run(), source.get_token()));
  CHECK_FALSE(cancelled);
  source.request_stop(coracle::stop_reason::shutting_down);
  CHECK(cancelled_inside);
  CHECK(cancelled);
}

TEST_CASE(
    "streams: a stop request ends a pipeline that never waits between two elements, and nothing in it is "
    "lost") {
  coracle::stop_source source;
  ints seen;
  const auto see = [&](int n) {
    seen.push_back(n);
    if (n == 2) source.request_stop();
  };
  int asked = 0;
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(counting_asked(asked) | for_each(see), source.get_token())),
                  coracle::operation_cancelled);
  CHECK(seen == ints{0, 1, 2});
  CHECK(asked == 3);
  CHECK_THROWS_AS(sync_wait(coracle::with_stop(counting_asked(asked) | for_each(see), source.get_token())),
                  coracle::operation_cancelled);
  CHECK(asked == 3);
}

TEST_CASE("streams: a pipeline resumes on the executor on which it waited") {
  coracle::run_loop loop;
  coracle::channel<int> numbers{1};
  std::vector<bool> at_home;
  const auto see = [&](int) { at_home.push_back(coracle::current_executor() == &loop); };
  coracle_test::run_detached_on(loop, numbers | take(2) | for_each(see));
  CHECK(loop.run_one());
  CHECK(numbers.try_send(1));
  CHECK(at_home.empty());
  CHECK(loop.run_one());
  CHECK(numbers.try_send(2));
  CHECK(loop.run_one());
  CHECK(at_home == std::vector{true, true});
}

TEST_CASE("streams: two frames for a run, none for an element" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const int allocations = coracle::testing::fail_each_allocation([] {
    try {
      const int sum =
          sync_wait(counting(0, 100) | map(twice) | filter(is_even) | take(50) | fold(0, std::plus()));
      CHECK(sum == 2450);
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(allocations >= 2);  // the generator has a frame as well
  CHECK(allocations <= 3);
}
}  // namespace
