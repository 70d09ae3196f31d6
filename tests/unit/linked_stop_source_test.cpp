// tests/unit/linked_stop_source_test.cpp -- stop sources linked to parents.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/testing/allocations.hpp>
#include <memory>
#include <vector>

namespace {
using coracle::stop_callback;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::stop_token;
using coracle::detail::linked_stop_source;

TEST_CASE(
    "linked_stop_source: stops with the outer one, for its reason, and before the callbacks that come "
    "later") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  linked_stop_source inner{outside};
  std::vector<int> log;
  const stop_callback within{inner.get_token(), [&]() noexcept { log.push_back(1); }};
  const stop_callback later{outside, [&]() noexcept { log.push_back(2); }};
  CHECK(inner.get_token().stop_possible());
  outer.request_stop(stop_reason::shutting_down);
  CHECK(log == std::vector{1, 2});
  CHECK(inner.reason() == stop_reason::shutting_down);
  CHECK_FALSE(inner.request_stop(stop_reason::lost_race));
}

TEST_CASE("linked_stop_source: its own request stays inside, and the outer one comes too late then") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  linked_stop_source inner{outside};
  CHECK(inner.request_stop(stop_reason::lost_race));
  CHECK_FALSE(outer.stop_requested());
  CHECK(outer.request_stop(stop_reason::timed_out));
  CHECK(inner.reason() == stop_reason::lost_race);
}

TEST_CASE(
    "linked_stop_source: is stopped at once if the outer one is; one that cannot be stopped links to "
    "nothing") {
  stop_source outer;
  outer.request_stop(stop_reason::sibling_failed);
  const stop_token outside = outer.get_token();
  linked_stop_source inner{outside};
  CHECK(inner.reason() == stop_reason::sibling_failed);
  CHECK(inner.get_token().stop_requested());
  const stop_token never;
  linked_stop_source alone{never};
  CHECK(alone.reason() == stop_reason::none);
  CHECK(alone.request_stop(stop_reason::requested));
}

TEST_CASE(
    "linked_stop_source: a chain of them passes the request down, and leaves nothing behind when it goes") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  int calls = 0;
  {
    linked_stop_source first{outside};
    const stop_token middle = first.get_token();
    linked_stop_source second{middle};
    const stop_token inside = second.get_token();
    linked_stop_source third{inside};
    const stop_callback callback{third.get_token(), [&]() noexcept { ++calls; }};
    SUBCASE("stopped") {
      outer.request_stop();
      CHECK(calls == 1);
    }
    SUBCASE("not stopped") {}
  }
  const int before = calls;
  outer.request_stop();
  CHECK(calls == before);
}

TEST_CASE("linked_stop_source: may go inside a callback of its own request, made by the outer one") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  auto inner = std::make_unique<linked_stop_source>(outside);
  const stop_callback callback{inner->get_token(), [&]() noexcept { inner.reset(); }};
  outer.request_stop();
  CHECK(inner == nullptr);
}

TEST_CASE(
    "linked_stop_source: the reason of a request stays, where there is no memory for a state behind it" *
    doctest::skip(!coracle::testing::allocations_are_counted)) {
  const stop_token never;
  linked_stop_source stopped{never}, other{never};
  stopped.request_stop(stop_reason::shutting_down);
  coracle::trim_frame_memory();
  {
    const coracle::testing::failing_allocation failing{1};
    CHECK(stopped.get_token().stop_requested());
    CHECK(failing.happened());
  }
  CHECK(stopped.reason() == stop_reason::shutting_down);
  {
    const coracle::testing::failing_allocation failing{1};
    CHECK(other.get_token().reason() == stop_reason::out_of_memory);
  }
  CHECK(other.reason() == stop_reason::out_of_memory);
}

TEST_CASE(
    "linked_stop_source: a request after the outer one is not the first, also where nobody has looked yet") {
  for (const bool linked : {false, true}) {
    stop_source outer;
    const stop_token outside = outer.get_token();
    linked_stop_source inner{outside};
    outer.request_stop(stop_reason::timed_out);
    if (linked) {
      inner.request_linked(stop_reason::lost_race);
    } else {
      CHECK_FALSE(inner.request_stop(stop_reason::lost_race));
    }
    CHECK(inner.reason() == stop_reason::timed_out);
  }
}

TEST_CASE("linked_stop_source: a token that is kept after the outer request tells of it") {
  stop_source outer;
  const stop_token outside = outer.get_token();
  stop_token kept;
  {
    linked_stop_source inner{outside};
    outer.request_stop(stop_reason::timed_out);
    kept = inner.get_token();
  }
  CHECK(kept.reason() == stop_reason::timed_out);
  CHECK(linked_stop_source{kept}.reason() == stop_reason::timed_out);
}

TEST_CASE(
    "linked_stop_source: those too deep for the stack are stopped in turn, and leave no trace on the "
    "thread") {
  constexpr unsigned most = coracle::detail::linked_requests::most;
  stop_source outer;
  std::vector<stop_token> tokens{outer.get_token()};
  tokens.reserve(most + 3);
  std::vector<std::unique_ptr<linked_stop_source>> chain;
  for (unsigned i = 0; i != most + 2; ++i) {
    chain.push_back(std::make_unique<linked_stop_source>(tokens.back()));
    tokens.push_back(chain.back()->get_token());
  }
  std::vector<int> log;
  unsigned depth = 0;
  {
    // In addition to the first one of the chain that is deferred there are three more.
    linked_stop_source a{tokens[most]}, b{tokens[most]}, c{tokens[most]};
    const stop_callback on_a{a.get_token(), [&]() noexcept { log.push_back(1); }};
    const stop_callback on_b{b.get_token(), [&]() noexcept { log.push_back(2); }};
    const stop_callback on_c{c.get_token(), [&]() noexcept { log.push_back(3); }};
    const stop_callback on_end{tokens.back(), [&]() noexcept { log.push_back(4); }};
    const stop_callback half{tokens[most / 2],
                             [&]() noexcept { depth = coracle::detail::this_thread().requests.depth; }};
    outer.request_stop();
  }
  while (!chain.empty()) chain.pop_back();
  CHECK(log.size() == 4);
  CHECK(depth == most / 2);
  CHECK(coracle::detail::this_thread().requests.depth == 0);
  CHECK(coracle::detail::this_thread().requests.first == nullptr);
}
}  // namespace
