// tour/screen.cpp -- how wide the tour's output may be.
// SPDX-License-Identifier: MIT
#include "screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace tour {
namespace {
/// 0: COLUMNS is not set, or is no number.
std::size_t columns_of_environment() {
  const char* const set = std::getenv("COLUMNS");
  const std::string_view text = set ? set : "";
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc() && end == text.data() + text.size() ? columns : 0;
}
/// 0: it is no terminal, or does not say.
std::size_t columns_of_terminal() {
  winsize window{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}
}  // namespace

std::size_t page_width() {
  std::size_t columns = columns_of_environment();
  if (columns == 0) columns = columns_of_terminal();
  return columns == 0 ? widest_page : std::clamp(columns, narrowest_page, widest_page);
}
}  // namespace tour
