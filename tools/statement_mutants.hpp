// tools/statement_mutants.hpp -- which of the mutants that tools/statement_mutants.py has written into the
// sources is in force.
// SPDX-License-Identifier: MIT
#pragma once
// The compiler includes it before everything else. CORACLE_STATEMENT_MUTANTS is more than the greatest number
// of one.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace coracle_mutants {
inline unsigned active = 0;  ///< none
/// Shared with the processes that a test forks.
inline unsigned char* const was_met = static_cast<unsigned char*>(
    ::mmap(nullptr, CORACLE_STATEMENT_MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));

/// Is `one` in force?
constexpr bool is(unsigned one) noexcept { return !__builtin_is_constant_evaluated() && active == one; }

/// Is one of these in force, which all change the statement behind this?
constexpr bool within(unsigned first, unsigned last) noexcept {
  if (__builtin_is_constant_evaluated()) return false;
  for (unsigned each = first; was_met && each <= last; ++each)
    __atomic_store_n(&was_met[each], 1, __ATOMIC_RELAXED);
  return first <= active && active <= last;
}

inline void forget() {
  for (unsigned each = 0; each != CORACLE_STATEMENT_MUTANTS; ++each) was_met[each] = 0;
}
inline std::vector<unsigned> met() {
  std::vector<unsigned> result;
  for (unsigned each = 1; each != CORACLE_STATEMENT_MUTANTS; ++each) {
    if (was_met[each]) result.push_back(each);
  }
  return result;
}

/// A program of unit tests is told by CORACLE_MUTANT which one is in force, and writes the numbers of those
/// that it has met into the file that CORACLE_MUTANTS_MET names.
inline const bool is_read = [] {
  if (const char* const one = std::getenv("CORACLE_MUTANT")) active = static_cast<unsigned>(std::atoi(one));
  if (std::getenv("CORACLE_MUTANTS_MET")) {
    std::atexit([] {
      std::FILE* const file = std::fopen(std::getenv("CORACLE_MUTANTS_MET"), "w");
      if (!file) return;
      for (const unsigned each : met()) std::fprintf(file, "%u\n", each);
      std::fclose(file);
    });
  }
  return true;
}();
}  // namespace coracle_mutants
