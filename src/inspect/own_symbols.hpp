// SPDX-License-Identifier: MIT
// The symbols of the program itself.
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <mutex>
#include <utility>

#include "symbols.hpp"

namespace coracle::detail {
/// The symbols of the program, mapped once.
class own_symbols {
 public:
  /// Calls `use(symbols&)` under mutual exclusion.
  template <class Use>
  static auto with(Use use) noexcept(noexcept(use(std::declval<symbols&>()))) {
    const std::lock_guard guard(lock);
    static symbols names(::getpid());
    return use(names);
  }

  /// Reads the tables of all files, which else the first look-up in each does.
  static void load() noexcept {
    with([](symbols& names) noexcept {
      for (const module& each : names) static_cast<void>(names.at(each.begin));
    });
  }

 private:
  static inline constinit small_mutex lock;
};
}  // namespace coracle::detail
