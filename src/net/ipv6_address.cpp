// src/net/ipv6_address.cpp -- the text forms of an IPv6 address: RFC 4291, 2.2, and RFC 5952.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/net/ipv6_address.hpp>

#include "text.hpp"

namespace coracle::net {
namespace {
constexpr std::size_t group_count = 8;

/// The groups that have been read.
struct group_list {
  std::uint16_t groups[group_count] = {};
  std::size_t count = 0;
  std::optional<std::size_t> gap;  // the number of groups before "::"

  bool add(std::uint32_t group) noexcept {
    if (count == group_count) return false;
    groups[count++] = static_cast<std::uint16_t>(group);
    return true;
  }
  /// Moves the groups after "::" to the end. Returns false if there are too few groups, or if "::" replaces
  /// none.
  bool close_gap() noexcept {
    if (!gap) return count == group_count;
    if (count == group_count) return false;
    std::rotate(groups + *gap, groups + count, groups + group_count);
    return true;
  }
};

/// Removes one to four hexadecimal digits from the front of `rest`, and returns their value.
std::optional<std::uint32_t> take_group(std::string_view& rest) noexcept {
  std::uint32_t group = 0;
  const char* const limit = rest.data() + std::min<std::size_t>(rest.size(), 4);
  const auto [end, error] = std::from_chars(rest.data(), limit, group, 16);
  if (error != std::errc{}) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return group;
}

/// Parses all of `rest`. Returns false if it is malformed or has too many groups.
bool take_groups(std::string_view rest, group_list& list) noexcept {
  if (text::take(rest, "::")) list.gap = 0;
  while (!rest.empty()) {
    const std::string_view tail = rest;
    const auto group = take_group(rest);
    if (!group) return false;
    if (rest.starts_with('.')) {
      const auto embedded = text::parse_dotted(tail);
      return embedded && list.add(embedded->to_integer() >> 16) && list.add(embedded->to_integer() & 0xffff);
    }
    if (!list.add(*group)) return false;
    if (rest.empty()) return true;
    if (text::take(rest, "::")) {
      if (list.gap) return false;
      list.gap = list.count;
    } else if (!text::take(rest, ":") || rest.empty()) {
      return false;
    }
  }
  return true;
}

bool shows_ipv4(const ipv6_address& address) noexcept {
  return address.mapped_ipv4() ||
         (address.subnet_prefix() == 0x0064'ff9b'0000'0000 && address.interface_identifier() >> 32 == 0);
}

/// The groups [first, last) that "::" replaces; both are `count` if no two zero groups are adjacent.
struct zero_run {
  std::size_t first, last;
};
zero_run longest_zero_run(const std::uint16_t* groups, std::size_t count) noexcept {
  zero_run longest{count, count};
  std::size_t length = 1;
  for (std::size_t first = 0; first != count;) {
    if (groups[first] != 0) {
      ++first;
      continue;
    }
    std::size_t last = first + 1;
    while (last != count && groups[last] == 0) ++last;
    if (last - first > length) {
      longest = {first, last};
      length = last - first;
    }
    first = last;
  }
  return longest;
}
}  // namespace

char* text::print(char* out, const ipv6_address& address) noexcept {
  std::uint16_t groups[group_count];
  for (std::size_t i = 0; i != group_count; ++i) {
    groups[i] = static_cast<std::uint16_t>(address.bytes()[2 * i] << 8 | address.bytes()[2 * i + 1]);
  }
  const bool has_tail = shows_ipv4(address);
  const std::size_t count = has_tail ? group_count - 2 : group_count;
  const zero_run run = longest_zero_run(groups, count);

  bool needs_colon = false;
  for (std::size_t i = 0; i != count;) {
    if (i == run.first) {
      *out++ = ':', *out++ = ':';
      needs_colon = false;
      i = run.last;
    } else {
      if (needs_colon) *out++ = ':';
      out = std::to_chars(out, out + 4, groups[i], 16).ptr;
      needs_colon = true;
      ++i;
    }
  }
  if (!has_tail) return out;
  if (needs_colon) *out++ = ':';
  return print(out, ipv4_address(static_cast<std::uint32_t>(address.interface_identifier())));
}

std::optional<ipv6_address> ipv6_address::from_string(std::string_view input) noexcept {
  group_list list;
  if (!take_groups(input, list) || !list.close_gap()) return std::nullopt;
  return ipv6_address(list.groups);
}

std::string ipv6_address::to_string() const {
  char buffer[text::longest_ipv6];
  return std::string(buffer, text::print(buffer, *this));
}
}  // namespace coracle::net

std::size_t std::hash<coracle::net::ipv6_address>::operator()(
    const coracle::net::ipv6_address& address) const noexcept {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(address.bytes()), 16});
}
