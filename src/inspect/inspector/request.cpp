// SPDX-License-Identifier: MIT
#include "request.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace coracle::detail {
namespace {
std::string_view take_until(std::string_view& text, std::string_view end) noexcept {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return {};
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}
}  // namespace

inspector_request parse_request(std::string_view text) noexcept {
  std::string_view line = take_until(text, "\r\n");
  const std::string_view method = take_until(line, " ");
  std::string_view target = take_until(line, " ");
  if (target.substr(0, 1) != "/" || line.substr(0, 7) != "HTTP/1.") return {};
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return {method, target, {}};
  return {method, target.substr(0, question), target.substr(question + 1)};
}

bool has_token(std::string_view query, std::string_view token) noexcept {
  constexpr std::string_view name = "token=";
  if (query.substr(0, name.size()) != name) return false;
  query.remove_prefix(name.size());
  query = query.substr(0, query.find('&'));
  if (query.size() != token.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i != token.size(); ++i)
    different |= static_cast<unsigned char>(query[i]) ^ static_cast<unsigned char>(token[i]);
  return different == 0;
}

unsigned number_in(std::string_view query, std::string_view name) noexcept {
  while (!query.empty()) {
    std::string_view each = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), each.size() + 1));
    if (each.substr(0, name.size()) != name || each.substr(name.size(), 1) != "=") continue;
    each.remove_prefix(name.size() + 1);
    unsigned number = 0;
    const auto [end, error] = std::from_chars(each.data(), each.data() + each.size(), number);
    return error == std::errc() && end == each.data() + each.size() ? number : 0;
  }
  return 0;
}

std::string answer(std::string_view status, std::string_view type, std::string_view body) {
  std::string text = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type);
  // The token in the URL goes nowhere, and the page loads nothing from elsewhere.
  text +=
      "; charset=utf-8\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; style-src "
      "'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'\r\nConnection: close\r\n";
  if (type != "text/event-stream") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return (text += "\r\n") += body;
}
}  // namespace coracle::detail
