// tour/stops_early.cpp -- optional and expected as coroutines that end at the first missing value.
// SPDX-License-Identifier: MIT
#include "stops_early.hpp"

#include <array>
#include <charconv>
#include <coracle/utility/expected.hpp>
#include <coracle/utility/expected_coroutine.hpp>
#include <coracle/utility/optional_coroutine.hpp>
#include <optional>
#include <string_view>

namespace tour {
namespace {
using events = std::vector<std::string>;

/// A local that notes its own life.
class scribe {
 public:
  scribe(events& log, std::string name) : log_(log), name_(std::move(name)) {
    log_.push_back(name_ + " is made");
  }
  scribe(const scribe&) = delete;
  scribe& operator=(const scribe&) = delete;
  ~scribe() { log_.push_back(name_ + " is destroyed"); }

 private:
  events& log_;
  std::string name_;
};

std::optional<int> number_or_nothing(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
coracle::expected<int, std::string> number_or_reason(std::string_view text) {
  if (const auto number = number_or_nothing(text)) return *number;
  return coracle::unexpected<std::string>("\"" + std::string(text) + "\" is not a number");
}

template <class Result>
Result sum_of(const std::array<std::string_view, 3>& texts, Result (*read)(std::string_view), events& log) {
  const scribe first(log, "the local a");
  const int a = co_await read(texts[0]);
  const scribe second(log, "the local b");
  const int b = co_await read(texts[1]);
  const scribe third(log, "the local c");
  const int c = co_await read(texts[2]);
  co_return a + b + c;
}

constexpr std::array<std::string_view, 3> good{"12", "7", "30"}, bad{"12", "no number", "30"};

template <class Result>
early_stop stop(Result (*read)(std::string_view), std::string (*seen_by_caller)(const Result&)) {
  early_stop seen;
  const Result nothing = sum_of<Result>(bad, read, seen.events);
  const events in_order{"the local a is made", "the local b is made", "the local b is destroyed",
                        "the local a is destroyed"};
  events unused;
  const Result sum = sum_of<Result>(good, read, unused);
  seen.as_promised = seen.events == in_order && !nothing && sum && *sum == 49;
  seen.events.push_back("the caller has " + seen_by_caller(nothing));
  seen.summary =
      "It ended at the second co_await, the locals were destroyed in reverse order; with three numbers the "
      "sum is " +
      (sum ? std::to_string(*sum) : "missing") + ".";
  return seen;
}
}  // namespace

early_stop stop_with_optional() {
  return stop<std::optional<int>>(&number_or_nothing, [](const std::optional<int>& result) {
    return std::string(result ? "a number" : "an empty optional");
  });
}
early_stop stop_with_expected() {
  return stop<coracle::expected<int, std::string>>(
      &number_or_reason, [](const coracle::expected<int, std::string>& result) {
        return result ? std::string("a number") : "the error: " + result.error();
      });
}
}  // namespace tour
