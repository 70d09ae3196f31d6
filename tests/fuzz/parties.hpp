// tests/fuzz/parties.hpp -- coroutines that wait for something, and how a model expects each of them to end.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/task.hpp>
#include <coracle/testing/poll.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz.hpp"

namespace coracle_test {
/// One that waits, or has waited.
template <class End>
struct party {
  party(coracle::testing::manual_scheduler& place, coracle::task<End> work)
      : real(coracle::testing::poll(place, std::move(work))) {}
  coracle::testing::polled<coracle::task<End>> real;
  std::optional<End> expected{};  ///< empty: it has to wait
};

/// All that a game has started. What was woken runs when the input says so.
template <class End>
class parties {
 public:
  /// With a fresh budget: an await of the game that exhausted it would start later.
  parties() { coracle::detail::restart_budget(); }

  [[nodiscard]] bool has_room() const noexcept { return all_.size() < 64; }
  party<End>& start(coracle::task<End> work) {
    all_.push_back(std::make_unique<party<End>>(place_, std::move(work)));
    return *all_.back();
  }
  /// Asks one of them to stop. Null: that one is over.
  party<End>* stop_one(fuzz_input& input) {
    if (all_.empty()) return nullptr;
    party<End>& one = *all_[input.below(64) % all_.size()];
    if (one.real.ready()) return nullptr;
    one.real.request_stop();
    return &one;
  }
  /// False: none was woken.
  bool run_one(unsigned which = 0) {
    if (place_.queued() == 0) return false;
    place_.run(which % place_.queued());
    return true;
  }
  /// Runs everything that was woken.
  void settle() { place_.run_all(); }
  /// Requires: none has to wait any more, says the model.
  void check_all() {
    place_.run_all();
    for (const auto& each : all_) {
      must(each->real.ready(), "somebody waits for ever");
      must(each->real.get() == each->expected, "another end");
    }
  }

 private:
  coracle::testing::manual_scheduler place_;
  std::vector<std::unique_ptr<party<End>>> all_;
};
}  // namespace coracle_test
