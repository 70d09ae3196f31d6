// examples/07_early_exit.cpp -- optional and expected as coroutines: co_await returns the value or leaves.
// SPDX-License-Identifier: MIT
#include <charconv>
#include <coracle/utility/expected_coroutine.hpp>
#include <coracle/utility/optional_coroutine.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>

using settings = std::map<std::string, std::string, std::less<>>;

std::optional<std::string_view> find(const settings& all, std::string_view name) {
  const auto found = all.find(name);
  if (found == all.end()) return std::nullopt;
  return found->second;
}

std::optional<int> to_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int> area(const settings& all) {
  const int width = co_await to_int(co_await find(all, "width"));
  const int height = co_await to_int(co_await find(all, "height"));
  co_return width* height;
}

coracle::expected<int, std::string> divide(int a, int b) {
  if (b == 0) return coracle::unexpected(std::string("division by zero"));
  return a / b;
}

coracle::expected<int, std::string> mean(int sum, int count) {
  const int whole = co_await divide(sum, count);
  co_return whole;
}

int main() {
  std::printf("%d\n", area({{"width", "6"}, {"height", "7"}}).value_or(-1));
  std::printf("%d\n", area({{"width", "6"}, {"height", "tall"}}).value_or(-1));
  std::printf("%d\n", mean(10, 5).value());
  std::printf("%s\n", mean(10, 0).error().c_str());
}

// Output:
//   42
//   -1
//   2
//   division by zero
