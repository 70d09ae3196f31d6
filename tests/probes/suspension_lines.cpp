// tests/probes/suspension_lines.cpp -- what an inspector takes from a file of lines, and what it refuses.
// SPDX-License-Identifier: MIT
#include "../../src/inspect/inspector/suspension_lines.hpp"

#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "../support/expect.hpp"

namespace {
using coracle::detail::function_lines;
using coracle::detail::parse_lines;
using coracle_test::expect;

constexpr const char* build = "39666b7f";

std::map<std::uintptr_t, function_lines> parsed(const std::string& text, std::string_view build_id) {
  std::istringstream from(text);
  return parse_lines(from, build_id);
}
void check_rows() {
  const auto found = parsed(
      "coracle lines 1 39666b7f\n"
      "12000 56 2 4:34 6:36 /src/of mine/bank.cpp\n"
      "a520 180 1 0:27 /src/bank.cpp\n",
      build);
  expect(found.size() == 2, "a row for each function");
  const auto first = found.find(0x12000);
  expect(first != found.end() && first->second.place == 56 && first->second.size == 2, "the state's place");
  expect(first != found.end() && first->second.lines.at(6) == 36, "the line of a state");
  expect(first != found.end() && first->second.file == "/src/of mine/bank.cpp", "a path with spaces");
}
void check_refusals() {
  const std::string row = "12000 56 2 4:34 /bank.cpp\n";
  expect(parsed("coracle lines 1 39666b7f\n" + row, "").empty(), "a program without a build ID");
  expect(parsed("coracle lines 1 00000000\n" + row, build).empty(), "another build");
  expect(parsed("coracle lines 2 39666b7f\n" + row, build).empty(), "another format");
  expect(parsed("", build).empty(), "an empty file");
  for (const char* const wrong : {"", "x 56 2 4:34 /a", "12000 -1 2 4:34 /a", "12000 56 0 4:34 /a",
                                  "12000 56 9 4:34 /a", "12000 56 2 4 /a", "12000 56 2 4:x /a",
                                  "12000 56 2 99999999999999999999:1 /a", "12000", "12000 56 2 4:34x /a"})
    expect(parsed("coracle lines 1 39666b7f\n" + std::string(wrong) + "\n" + row, build).empty(), wrong);
}
void check_that_a_stale_file_is_not_read() {
  const std::string first = "coracle lines 1 00000000\n";
  std::istringstream from(first + "12000 56 2 4:34 /bank.cpp\n");
  expect(parse_lines(from, build).empty(), "a file of another build has no lines");
  expect(from.tellg() == std::streamoff(first.size()), "a file of another build is read up to its build ID");
}
}  // namespace

int main() {
  check_rows();
  check_refusals();
  check_that_a_stale_file_is_not_read();
  return coracle_test::exit_status("lines: everything as expected");
}
