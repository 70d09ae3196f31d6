// coracle/testing/lifetime_probe.hpp -- an object that tells how often it was made, copied, moved and destroyed.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <vector>

namespace coracle::testing {
class lifetime_probe;

/// Thrown by the copy that `lifetimes::copies_until_throw` has fail.
struct copy_failed {};

/// What happened to all the lifetime_probes that share it. It outlives them.
struct lifetimes {
  lifetimes() = default;
  lifetimes(const lifetimes&) = delete;
  lifetimes& operator=(const lifetimes&) = delete;
  /// Ends the program with a message if a probe is left, which has leaked or would be destroyed too late.
  ~lifetimes() {
    if (newest_) detail::fail("a lifetime_probe has leaked: it outlived the lifetimes that it reports to");
  }

  int constructed = 0;  ///< neither copied nor moved
  int copies = 0;
  int moves = 0;
  int alive = 0;                ///< those moved from among them
  int copies_until_throw = -1;  ///< this many copies succeed, the next one throws; negative: none throws
  std::vector<int> destroyed;   ///< the ids in the order of destruction, without those moved from

 private:
  friend lifetime_probe;
  void enter(lifetime_probe& made) noexcept;
  void leave(lifetime_probe& dying);

  lifetime_probe* newest_ = nullptr;  // of a list of those alive
};

/// A value, a parameter or a local that finds out whether it is destroyed, once, and when.
///
///     coracle::testing::lifetimes log;
///     sync_wait(takes_a_value(coracle::testing::lifetime_probe{log}));
///     CHECK(log.copies == 0);
///     CHECK(log.alive == 0);
///
/// The program ends with a message where one is destroyed that is not alive: twice, or moved as mere bytes; and where
/// its `lifetimes` ends before it.
/// Threads  one at a time for all that share a `lifetimes`.
/// Cost     a destruction looks at those made later that are still alive.
class lifetime_probe {
 public:
  explicit lifetime_probe(lifetimes& log, int id = 0) noexcept : log_(&log), id_(id) {
    log_->enter(*this);
    ++log_->constructed;
  }
  lifetime_probe(const lifetime_probe& other) : log_(other.log_), id_(other.id_) {
    if (log_->copies_until_throw == 0) throw copy_failed{};
    --log_->copies_until_throw;
    ++log_->copies;
    log_->enter(*this);
  }
  lifetime_probe(lifetime_probe&& other) noexcept : log_(other.log_), id_(other.id_) {
    other.moved_from_ = true;
    ++log_->moves;
    log_->enter(*this);
  }
  lifetime_probe& operator=(lifetime_probe) = delete;
  ~lifetime_probe() { log_->leave(*this); }

  [[nodiscard]] int id() const noexcept { return id_; }
  [[nodiscard]] bool moved_from() const noexcept { return moved_from_; }

 private:
  friend lifetimes;
  lifetimes* log_;
  lifetime_probe* older_ = nullptr;
  int id_;
  bool moved_from_ = false;
};

inline void lifetimes::enter(lifetime_probe& made) noexcept {
  ++alive;
  made.older_ = newest_;
  newest_ = &made;
}

// A probe that was destroyed before is not in the list, whatever has become of its own fields.
inline void lifetimes::leave(lifetime_probe& dying) {
  lifetime_probe** at = &newest_;
  while (*at && *at != &dying) at = &(*at)->older_;
  if (!*at) detail::fail("a lifetime_probe was destroyed that is not alive: twice, or moved as mere bytes");
  *at = dying.older_;
  --alive;
  if (!dying.moved_from_) destroyed.push_back(dying.id_);
}
}  // namespace coracle::testing
