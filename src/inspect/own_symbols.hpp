// SPDX-License-Identifier: MIT
// The symbols of the program itself.
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <mutex>
#include <utility>

#include "symbols.hpp"

namespace coracle::detail {
/// The symbols of the program: its files are mapped once, and again after a library was loaded or unloaded.
class own_symbols {
 public:
  /// Calls `use(symbols&)` under mutual exclusion. Nothing that it returns may refer to them.
  template <class Use>
  static auto with(Use use) noexcept(noexcept(use(std::declval<symbols&>()))) {
    const std::lock_guard guard(lock);
    return use(current());
  }

  /// Reads the tables of all files, which else the first look-up in each does.
  static void load() noexcept {
    with([](symbols& names) noexcept {
      for (const module& each : names) static_cast<void>(names.at(each.begin));
    });
  }

  /// Returns how often a file was loaded or unloaded: symbols that are older than the last time lack some.
  [[nodiscard]] static std::uint64_t count_loads() noexcept;

 private:
  [[nodiscard]] static symbols& current() noexcept;

  static inline constinit small_mutex lock;
};
}  // namespace coracle::detail
