// coracle/testing/lifetime_probe.hpp -- records construction, copies, moves and destruction.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <vector>

namespace coracle::testing {
class lifetime_probe;

/// Thrown by the copy selected by `lifetimes::copies_until_throw`.
struct copy_failed {};

/// The record of all lifetime_probes that share it. It outlives them.
struct lifetimes {
  lifetimes() = default;
  lifetimes(const lifetimes&) = delete;
  lifetimes& operator=(const lifetimes&) = delete;
  /// Ends the program with a message if a probe is still alive: it has leaked or would be destroyed too late.
  ~lifetimes() {
    if (newest_) detail::fail("a lifetime_probe leaked: it outlived the lifetimes to which it reports");
  }

  int constructed = 0;  ///< neither copied nor moved
  int copies = 0;
  int moves = 0;
  int alive = 0;                ///< including moved-from probes
  int copies_until_throw = -1;  ///< this many copies succeed, the next one throws; negative: none throws
  std::vector<int> destroyed;   ///< the ids in order of destruction, without moved-from probes

 private:
  friend lifetime_probe;
  void enter(lifetime_probe& made) noexcept;
  void leave(lifetime_probe& dying);

  lifetime_probe* newest_ = nullptr;  // head of the list of live probes
};

/// A value, parameter or local that detects whether it is destroyed exactly once, and when.
///
///     coracle::testing::lifetimes log;
///     sync_wait(takes_a_value(coracle::testing::lifetime_probe{log}));
///     CHECK(log.copies == 0);
///     CHECK(log.alive == 0);
///
/// The program ends with a message if a probe that is not alive is destroyed (twice, or after it was moved
/// bytewise), or if it outlives its `lifetimes`.
/// Threads  not thread-safe among probes that share a `lifetimes`.
/// Cost     a destruction visits the live probes that were constructed later.
class lifetime_probe {
 public:
  explicit lifetime_probe(lifetimes& log, int id = 0) noexcept : log_(&log), id_(id) {
    log_->enter(*this);
    ++log_->constructed;
  }
  lifetime_probe(const lifetime_probe& other) : log_(other.log_), id_(other.id_) {
    if (log_->copies_until_throw == 0)
      CORACLE_THROW(copy_failed{}, "a copy of a lifetime_probe was to fail, where exceptions are disabled");
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

// A destroyed probe is not in the list, whatever its own fields now contain.
inline void lifetimes::leave(lifetime_probe& dying) {
  lifetime_probe** at = &newest_;
  while (*at && *at != &dying) at = &(*at)->older_;
  if (!*at)
    detail::fail("a lifetime_probe that is not alive was destroyed: destroyed twice, or moved bytewise");
  *at = dying.older_;
  --alive;
  if (!dying.moved_from_) destroyed.push_back(dying.id_);
}
}  // namespace coracle::testing
