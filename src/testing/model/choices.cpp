// SPDX-License-Identifier: MIT
#include "choices.hpp"

#include <bit>

#include "blocks.hpp"

namespace coracle::testing::model {
unsigned model_choices::choose(unsigned count) {
  if (count <= 1) return 0;
  if (next_ == path_.size()) {
    const model_own_work own;
    const auto taken = is_random_ ? static_cast<std::uint8_t>(random(count)) : std::uint8_t{0};
    path_.push_back({static_cast<std::uint8_t>(count), taken, 0, 0, 0, 0});
  }
  const choice& here = path_[next_];
  return repeat(here.count == count && here.can_run == 0, here.taken < count);
}
unsigned model_choices::choose_thread(thread_set can_run, thread_set asleep, thread_set wanted,
                                      unsigned first) {
  if (next_ == path_.size()) {
    const model_own_work own;
    path_.push_back({0, static_cast<std::uint8_t>(first), can_run, asleep, wanted, 0});
  }
  const choice& here = path_[next_];
  return repeat(here.can_run == can_run, here.taken < 8 && (can_run & set_of(here.taken)) != 0);
}
/// Returns the choice made here before. `is_same`: from the same alternatives; a replay does not know these.
unsigned model_choices::repeat(bool is_same, bool is_possible) noexcept {
  const choice& here = path_[next_++];
  const bool is_read = here.count == 0 && here.can_run == 0;
  if (is_read && !is_possible) misfit_ = "the replay does not match this body and these limits";
  if (!is_read && !is_same) misfit_ = "the body is not deterministic";
  return misfit_ ? 0 : here.taken;
}

void model_choices::want(int place, thread_set first) noexcept {
  choice& there = path_[static_cast<std::size_t>(place)];
  first &= there.can_run;
  if (first == 0) {
    there.wanted |= there.can_run;
  } else if ((first & (there.wanted | there.asleep)) == 0) {
    there.wanted |= static_cast<thread_set>(first & -first);
  }
}

bool model_choices::next_way(choice& each) noexcept {
  if (each.count != 0) return ++each.taken != each.count;
  each.done |= set_of(each.taken);
  const auto left = static_cast<thread_set>(each.wanted & ~each.done & ~each.asleep);
  each.taken = static_cast<std::uint8_t>(std::countr_zero(left));
  return left != 0;
}
bool model_choices::advance() {
  if (is_random_) {
    path_.clear();
    return true;
  }
  while (!path_.empty() && !next_way(path_.back())) path_.pop_back();
  return !path_.empty();
}

std::string model_choices::text() const {
  std::string result;
  for (const choice& each : path_) result += static_cast<char>('0' + each.taken);
  return result;
}
void model_choices::read(const std::string& text) {
  path_.clear();
  for (const char each : text) {
    const auto taken = static_cast<std::uint8_t>(each - '0');
    path_.push_back({0, taken, 0, 0, 0, 0});
  }
}
}  // namespace coracle::testing::model
