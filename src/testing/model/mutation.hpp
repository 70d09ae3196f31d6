// src/testing/model/mutation.hpp -- one access of the checked program made wrong on purpose, to see whether a check notices.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/model/detail/memory.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle::testing::model {
/// The failure of a compare_exchange is a load.
enum class access : std::uint8_t { load, store, change, fence, fence_everywhere, park, unpark };
enum class mutation : std::uint8_t {
  none,
  weaker,  ///< the order is a weaker one
  dropped,  ///< a store, a change or a wake-up has no effect; a park does not look at the word before it sleeps
  split     ///< a read-modify-write is a load and a store: others may come between
};

/// One place in the program, as a run of it has met it; of a template, in all its instances.
struct model_place {
  std::string file, function;
  std::uint32_t line = 0, column = 0;
  access what = access::load;
  std::memory_order order = std::memory_order_relaxed;
  friend bool operator==(const model_place& a, const model_place& b) noexcept {
    return a.line == b.line && a.column == b.column && a.what == b.what && a.order == b.order &&
           a.file == b.file;
  }
};
struct model_mutant {
  model_place at;
  mutation how = mutation::none;
  std::memory_order order = std::memory_order_relaxed;  ///< how weak

  /// As "release -> relaxed".
  [[nodiscard]] std::string text() const;
};

/// All that differ from the program in one step. Where a weaker order is noticed, so are those that are weaker still: they
/// allow everything that it allows.
std::vector<model_mutant> mutants_of(const model_place& place);

/// What an access is, after the mutant in force has been looked at.
struct mutated_access {
  std::memory_order order;
  mutation how = mutation::none;
};

/// The mutant in force in this process, and the places that were met.
class model_mutation {
 public:
  /// From here on every place is noted.
  static void begin_to_collect();
  /// Those that have been met since.
  static std::vector<model_place> end_to_collect();
  /// From here on the program is that one.
  static void begin(const model_mutant& mutant);
  /// Accesses since begin(): grows as long as the program goes on.
  static std::uint64_t accesses() noexcept { return accesses_; }

  /// The engine asks at each access.
  static mutated_access look(access what, std::memory_order order, const site& where) {
    return active_ ? look_closely(what, order, where) : mutated_access{order};
  }
  /// The order that look() will tell, for an access that is not to be noted, since it may turn out to be another.
  static std::memory_order order_of(access what, std::memory_order order, const site& where) {
    return active_ ? order_in_force(what, order, where) : order;
  }

 private:
  static mutated_access look_closely(access what, std::memory_order order, const site& where);
  static std::memory_order order_in_force(access what, std::memory_order order, const site& where);

  static inline bool active_ = false;
  static inline volatile std::uint64_t accesses_ = 0;
};
}  // namespace coracle::testing::model
