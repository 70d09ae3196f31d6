// SPDX-License-Identifier: MIT
// What the inspector understands of HTTP: the first line of a GET.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::detail {
inline constexpr std::size_t most_in_request = 8192;

struct inspector_request {
  std::string_view method, path, query;
};
/// Parses a whole request. Returns a request without method if it is none.
[[nodiscard]] inspector_request parse_request(std::string_view text) noexcept;

/// Returns the number of `name=number` in the query, or 0 if there is none.
[[nodiscard]] unsigned number_in(std::string_view query, std::string_view name) noexcept;

/// Returns true if the query begins with `token=` and the token. Takes the same time wherever they differ.
[[nodiscard]] bool has_token(std::string_view query, std::string_view token) noexcept;

/// Returns a whole answer; with `text/event-stream` as the type, its begin.
[[nodiscard]] std::string answer(std::string_view status, std::string_view type, std::string_view body);
}  // namespace coracle::detail
