// SPDX-License-Identifier: MIT
// Lines of the source, from files that `coracle-ps --lines` has written.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

#include "../coroutine_search.hpp"
#include "../symbols.hpp"

namespace coracle::detail {
/// Where the coroutines of a function may be suspended.
struct function_lines {
  std::size_t place = 0, size = 0;           ///< of the state in a frame: bytes of an unsigned integer
  std::map<std::uintptr_t, unsigned> lines;  ///< by state
  std::string file;
};

/// Returns the functions by their addresses in the file that has the build ID; none from the first row on
/// that is malformed. Of a text that belongs to another build, only the first row is read.
[[nodiscard]] std::map<std::uintptr_t, function_lines> parse_lines(std::istream& from,
                                                                   std::string_view build_id);

/// Reads FILE.lines for the program, or a library, FILE when a coroutine of it is asked for, and once.
class suspension_lines {
 public:
  struct place {
    std::string_view file;  ///< empty if it is not known
    unsigned line = 0;
  };
  [[nodiscard]] place of(const live_coroutine& each, const coroutine_search& in);

  /// Looks again for files that were not there, or belonged to another build.
  void forget_missing();

 private:
  std::map<const module*, std::map<std::uintptr_t, function_lines>> known_;
};
}  // namespace coracle::detail
