// src/testing/model/mutation.hpp -- mutates one access of the checked program, to test the checks.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/testing/model/detail/memory.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle::testing::model {
/// A failed compare_exchange is a load.
enum class access : std::uint8_t { load, store, change, fence, fence_everywhere, park, unpark };
enum class mutation : std::uint8_t {
  none,
  weaker,   ///< the order is weaker
  dropped,  ///< a store, a read-modify-write or a wake-up has no effect; a park does not check its word
  split     ///< a read-modify-write becomes a load and a store, with a scheduling point between
};

/// A place in the program that a run has executed; for a template, in all its instances.
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

/// Returns all mutants that differ from the program in one step. If a weaker order is detected, so are even
/// weaker ones, which allow everything that it allows.
std::vector<model_mutant> mutants_of(const model_place& place);

/// An access as the active mutant changes it.
struct mutated_access {
  std::memory_order order;
  mutation how = mutation::none;
};

/// The active mutant of this process, and the places that were executed.
class model_mutation {
 public:
  /// From now on every place is recorded.
  static void begin_to_collect();
  /// Returns the places executed since.
  static std::vector<model_place> end_to_collect();
  /// From now on the program is that mutant.
  static void begin(const model_mutant& mutant);
  /// Accesses since begin(): grows as long as the program makes progress.
  static std::uint64_t accesses() noexcept { return accesses_; }

  /// The engine calls it at each access.
  static mutated_access look(access what, std::memory_order order, const site& where) {
    return active_ ? look_closely(what, order, where) : mutated_access{order};
  }
  /// The order that look() would return, for an access that is not yet recorded because it may turn out to be
  /// another kind.
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
