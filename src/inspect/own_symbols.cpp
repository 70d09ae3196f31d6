// SPDX-License-Identifier: MIT
#include "own_symbols.hpp"

#include <link.h>

#include <new>

namespace coracle::detail {
namespace {
// Never destroyed: coroutines may be listed when the program ends, after destructors of static objects.
alignas(symbols) constinit unsigned char room_for_names[sizeof(symbols)] = {};
constinit symbols* of_program = nullptr;
constinit std::uint64_t loads_before_names = 0;
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
  if (of_program && loads == loads_before_names) return *of_program;
  if (of_program) of_program->~symbols();
  of_program = ::new (static_cast<void*>(room_for_names)) symbols(::getpid());
  loads_before_names = loads;
  return *of_program;
}
}  // namespace coracle::detail
