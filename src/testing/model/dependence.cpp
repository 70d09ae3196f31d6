// SPDX-License-Identifier: MIT
// Determines which orders of two accesses have to be tried.
//
// Executions that differ only in the order of independent accesses are equivalent; one of them is run. Each
// access records its past, the accesses on which it depends, as a vector clock.
//   - Without a bound, if an access races with one outside its past, it could have come first: that is tried
//     too.
//     (P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas, "Optimal Dynamic Partial Order Reduction", POPL 2014:
//     source sets.)
//   - With a bound, coming first might take one preemption too many. But its thread could have run where the
//     other thread was switched to, at no further cost. Both are tried. (K. Coons, M. Musuvathi,
//     K. McKinley, "Bounded Partial-Order Reduction", OOPSLA 2013.)
//   - A load sees a stale value only if the newest store is in its past. Otherwise it could have come before
//     that store and seen the same value: that execution is run anyway, unless it is beyond the bound.
#include "engine.hpp"

namespace coracle::testing::model {
/// Records what the running thread touches in one access.
void model_engine::touch(std::initializer_list<touched> what) {
  thread& self = me();
  races_ = 0;
  if (by_races_ && !choices_.repeats()) {
    for (const touched& each : what) find_races(*each.at, each.writes);
    if (has_fences_everywhere_) find_races(own_touches_[running_], false);
  }
  for (const touched& each : what) self.past.join(each.writes ? each.at->all : each.at->writes);
  if (has_fences_everywhere_) self.past.join(own_touches_[running_].writes);
  self.past.set(running_, self.time);
  if (by_races_) {
    const model_own_work own;
    events_.emplace_back(self.past, place_, block_, self.time, static_cast<std::uint8_t>(running_));
    for (unsigned i = 0; i != races_; ++i) reverse(found_[i]);
  }
  for (const touched& each : what) leave_mark(*each.at, each.writes);
  if (has_fences_everywhere_) leave_mark(own_touches_[running_], false);
}
void model_engine::leave_mark(model_touches& at, bool writes) {
  const thread& self = me();
  const auto number = static_cast<std::int16_t>(events_.size());
  if (writes) {
    at.writes = at.all = self.past;
    at.writer = number;
    at.readers = {};
  } else {
    at.all.join(self.past);
    at.readers[running_] = number;
  }
}

/// Finds earlier events that this access could have preceded.
void model_engine::find_races(const model_touches& at, bool writes) {
  const auto meets = [&](std::int16_t number) {
    if (number == 0) return;
    const event& earlier = events_[static_cast<std::size_t>(number) - 1];
    if (earlier.thread == running_ || is_past(earlier.thread, earlier.time)) return;
    if (races_ != found_.size()) found_[races_++] = number;
  };
  const unsigned before = races_;
  for (unsigned i = 0; writes && i != count_; ++i) meets(at.readers[i]);
  if (races_ == before) meets(at.writer);  // otherwise it lies in between: readers depend on the writer
}

/// Requires that the last event is tried before event `earlier`: without a bound, by any thread that begins
/// what has happened since independently of `earlier`; with a bound, by its own thread, because another might
/// cost more.
void model_engine::reverse(std::int16_t earlier) {
  const std::size_t last = events_.size() - 1;
  const event& from = events_[static_cast<std::size_t>(earlier) - 1];
  if (has_bound_) {
    if (from.place != model_choices::none) choices_.want(from.place, set_of(running_));
    if (from.block != model_choices::none) choices_.want(from.block, set_of(running_));
    return;
  }
  if (from.place == model_choices::none) return;
  thread_set met = 0, first = 0;
  model_clock begins;
  for (auto i = static_cast<std::size_t>(earlier); i <= last; ++i) {
    const event& each = events_[i];
    if ((met & set_of(each.thread)) || (i != last && each.past.at[from.thread] >= from.time)) continue;
    bool is_first = true;
    for (unsigned other = 0; other != count_; ++other) {
      if ((met & set_of(other)) && each.past.at[other] >= begins.at[other]) is_first = false;
    }
    met |= set_of(each.thread);
    begins.at[each.thread] = each.time;
    if (is_first) first |= set_of(each.thread);
  }
  choices_.want(from.place, first);
}

}  // namespace coracle::testing::model
