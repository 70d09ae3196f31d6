// tests/unit/generator_reports_test.cpp -- bugs that users of other generators reported do not exist here.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/generators/generator.hpp>
#include <coracle/generators/recursive_generator.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// With -O2 and without checks, g++ detects that a misused generator has no frame, and warns.
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif

namespace {
using coracle::async_generator;
using coracle::generator;
using coracle::recursive_generator;
using coracle::task;
using texts = std::vector<std::string>;

// ---- const elements ------------------------------------------------------------------------------------

const std::string named = "named";

template <class Sequence>
Sequence const_elements() {
  const std::string local = "local";
  co_yield named;
  co_yield local;
  co_yield std::string("temporary");
}
template <class Sequence>
texts all_of() {
  texts seen;
  for (auto&& element : const_elements<Sequence>()) seen.push_back(element);
  return seen;
}
template <class Sequence>
texts all_of_async() {
  auto collect = []() -> task<texts> {
    texts seen;
    Sequence sequence = const_elements<Sequence>();
    while (const std::string* element = co_await sequence.next()) seen.push_back(*element);
    co_return seen;
  };
  return coracle::sync_wait(collect());
}

TEST_CASE("generators: const T, const T& and T are yielded from lvalues, const lvalues and temporaries") {
  const texts wanted{"named", "local", "temporary"};
  CHECK(all_of<generator<const std::string&>>() == wanted);
  CHECK(all_of<generator<const std::string>>() == wanted);
  CHECK(all_of<generator<std::string>>() == wanted);
  CHECK(all_of<recursive_generator<const std::string&>>() == wanted);
  CHECK(all_of<recursive_generator<const std::string>>() == wanted);
  CHECK(all_of<recursive_generator<std::string>>() == wanted);
  CHECK(all_of_async<async_generator<const std::string&>>() == wanted);
  CHECK(all_of_async<async_generator<const std::string>>() == wanted);
  CHECK(all_of_async<async_generator<std::string>>() == wanted);
  CHECK(named == "named");
}

// ---- after the end -------------------------------------------------------------------------------------

template <class Sequence>
Sequence two() {
  int element = 1;
  co_yield element;
  ++element;
  co_yield element;
}

TEST_CASE("generators: the iterator of one at its end stays equal to the end") {
  generator<int> body = two<generator<int>>();
  auto it = body.begin();
  ++it;
  ++it;
  CHECK(it == body.end());
  CHECK(it == body.end());
}

TEST_CASE("generators: begin() of a generator that ended, was begun or was moved from is refused in a line" *
          doctest::skip(!CORACLE_CHECKS())) {
  const char* const refused = "coracle: begin() needs a generator that has not been started or moved from\n";
  CHECK(coracle_test::abort_message([] {
          generator<int> body = two<generator<int>>();
          for (int element : body) static_cast<void>(element);
          static_cast<void>(body.begin());
        }) == refused);
  CHECK(coracle_test::abort_message([] {
          generator<int> body = two<generator<int>>();
          static_cast<void>(body.begin());
          static_cast<void>(body.begin());
        }) == refused);
  CHECK(coracle_test::abort_message([] {
          generator<int> body = two<generator<int>>();
          const generator<int> other = std::move(body);
          static_cast<void>(body.begin());  // NOLINT: what a moved-from one does
        }) == refused);
}

TEST_CASE("generators: a recursive or async one that ended or was moved from is an empty sequence") {
  auto recursive = two<recursive_generator<int>>();
  for (int element : recursive) static_cast<void>(element);
  CHECK(recursive.begin() == recursive.end());
  const auto moved = std::move(recursive);
  CHECK(recursive.begin() == recursive.end());  // NOLINT: what a moved-from one does

  auto check_async = []() -> task<> {
    auto body = two<async_generator<int>>();
    while (co_await body.next()) continue;
    CHECK(co_await body.next() == nullptr);
    auto it = co_await body.begin();
    CHECK(it == body.end());
    const auto other = std::move(body);
    CHECK(co_await body.next() == nullptr);  // NOLINT: what a moved-from one does
  };
  coracle::sync_wait(check_async());
}

// ---- mutable elements ----------------------------------------------------------------------------------

template <class Sequence>
Sequence doubling() {
  for (int element = 1; element < 100; element *= 2) co_yield element;
}

TEST_CASE("generators: an element that is shown by reference may be changed, and the body sees it") {
  std::vector<int> seen;
  for (int& element : doubling<generator<int&>>()) seen.push_back(element += 10);
  CHECK(seen == std::vector{11, 32, 74});
  seen.clear();
  for (int& element : doubling<recursive_generator<int>>()) seen.push_back(element += 10);
  CHECK(seen == std::vector{11, 32, 74});
  seen.clear();
  auto change = [](std::vector<int>& into) -> task<> {
    auto body = doubling<async_generator<int>>();
    while (int* element = co_await body.next()) into.push_back(*element += 10);
  };
  coracle::sync_wait(change(seen));
  CHECK(seen == std::vector{11, 32, 74});
}
}  // namespace
