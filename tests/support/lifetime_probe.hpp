// tests/support/lifetime_probe.hpp -- an object that tells how often it was copied, moved and destroyed.
// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

namespace coracle_test {
/// What happened to all probes that share it.
struct lifetimes {
  int alive = 0;
  int copies = 0;
  int moves = 0;
  int copies_until_throw = -1;  ///< this many copies succeed, the next one throws; negative: none throws
  std::vector<int> destroyed;   ///< the ids in the order of destruction, without those moved from
};

struct copy_failed {};

class lifetime_probe {
 public:
  explicit lifetime_probe(lifetimes& log, int id = 0) noexcept : log_(&log), id_(id) { ++log_->alive; }
  lifetime_probe(const lifetime_probe& other) : log_(other.log_), id_(other.id_) {
    if (log_->copies_until_throw == 0) throw copy_failed{};
    --log_->copies_until_throw;
    ++log_->copies;
    ++log_->alive;
  }
  lifetime_probe(lifetime_probe&& other) noexcept : log_(other.log_), id_(other.id_) {
    other.moved_from_ = true;
    ++log_->moves;
    ++log_->alive;
  }
  lifetime_probe& operator=(lifetime_probe) = delete;
  ~lifetime_probe() {
    --log_->alive;
    if (!moved_from_) log_->destroyed.push_back(id_);
  }

  [[nodiscard]] int id() const noexcept { return id_; }
  [[nodiscard]] bool moved_from() const noexcept { return moved_from_; }

 private:
  lifetimes* log_;
  int id_;
  bool moved_from_ = false;
};
}  // namespace coracle_test
