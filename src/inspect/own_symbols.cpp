// SPDX-License-Identifier: MIT
#include "own_symbols.hpp"

#include <link.h>

#include <new>

namespace coracle::detail {
namespace {
// Never destroyed: coroutines may be listed when the program ends, after destructors of static objects.
alignas(symbols) constinit unsigned char room[sizeof(symbols)] = {};
constinit symbols* names = nullptr;
constinit std::uint64_t loads_before = 0;
}  // namespace

std::uint64_t own_symbols::count_loads() noexcept {
  std::uint64_t count = 0;
  const auto add = [](dl_phdr_info* file, std::size_t, void* to) {
    *static_cast<std::uint64_t*>(to) = file->dlpi_adds + file->dlpi_subs;
    return 1;  // every file has the same numbers
  };
  ::dl_iterate_phdr(add, &count);
  return count;
}

symbols& own_symbols::current() noexcept {
  const std::uint64_t loads = count_loads();
  if (names && loads == loads_before) return *names;
  if (names) names->~symbols();
  names = ::new (static_cast<void*>(room)) symbols(::getpid());
  loads_before = loads;
  return *names;
}
}  // namespace coracle::detail
