// SPDX-License-Identifier: MIT
// Decides which thread runs next.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "engine.hpp"
#include "mutation.hpp"

namespace coracle::testing::model {
namespace {
unsigned first_of(thread_set threads) { return static_cast<unsigned>(std::countr_zero(threads)); }
}  // namespace

bool model_engine::can_run(const thread& each) const noexcept {
  return each.state == status::ready || (each.state == status::yielding && each.changed != 0) ||
         (each.state == status::parked && each.timed);  // its time may come at any point
}
thread_set model_engine::runnable() const noexcept {
  thread_set able = 0;
  for (unsigned i = 0; i != count_; ++i) {
    if (can_run(threads_[i])) able |= set_of(i);
  }
  return able;
}

/// A scheduling point: another thread may run here, before this thread's next step.
void model_engine::point(operation next) {
  if (++steps_ > limits_.steps) fail_endless();
  me().next = next;
  if (!next.is_local() || !reduces_) run_another();
}
/// For a thread that is no longer `ready`. `next`: its next step if it is chosen all the same.
void model_engine::wait_for_another(operation next) {
  me().next = next;
  if (last_chosen_ == running_) last_chosen_ = nobody;
  run_another();
}

void model_engine::run_another() {
  place_ = model_choices::none;
  thread_set able = runnable();
  for (; able == 0; able = runnable()) nobody_can_run();
  if (reduces_) {
    // Steps that no other thread can observe are executed at once.
    for (unsigned i = 0; i != count_; ++i) {
      if ((able & set_of(i)) && threads_[i].next.is_local()) return switch_to(i);
    }
  }
  switch_to(choose_thread(able));
}

/// Returns a thread that can run and that find_races() wants, but none in the sleep set: its next step has
/// been tried at an earlier place, and nothing dependent has happened since. (P. Godefroid, "Partial-Order
/// Methods for the Verification of Concurrent Systems", sleep sets.) With a bound the sleep set is empty: the
/// earlier attempt may have cost more.
unsigned model_engine::choose_thread(thread_set able) {
  const bool goes_on = last_chosen_ != nobody && (able & set_of(last_chosen_)) != 0;
  if (goes_on && preemptions_ >= limits_.preemptions) return last_chosen_;
  const auto awake = static_cast<thread_set>(able & ~asleep_);
  if (awake == 0) prune();
  unsigned chosen = first_of(able);
  if (!std::has_single_bit(able)) {
    unsigned first = goes_on && (awake & set_of(last_chosen_)) ? last_chosen_ : first_of(awake);
    if (choices_.is_random()) first = choose_by_priority(able);
    chosen = choices_.choose_thread(able, asleep_, by_races_ ? set_of(first) : able, first);
    expect_repeated();
    place_ = choices_.last_place();
    if (by_races_ && !has_bound_) asleep_ |= choices_.done_at(place_);
  }
  if (!goes_on || chosen != last_chosen_) block_ = place_;
  if (goes_on && chosen != last_chosen_) ++preemptions_;
  last_chosen_ = chosen;
  if (asleep_ != 0) wake_dependents(chosen);
  return chosen;
}
void model_engine::wake_dependents(unsigned chosen) {
  for (unsigned i = 0; i != count_; ++i) {
    if ((asleep_ & set_of(i)) && threads_[i].next.depends_on(threads_[chosen].next))
      asleep_ &= static_cast<thread_set>(~set_of(i));
  }
}

/// Returns the thread of highest priority. Priorities are random, and at random places the highest becomes
/// the lowest. (S. Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs",
/// ASPLOS 2010.)
unsigned model_engine::choose_by_priority(thread_set able) {
  const auto first = [&] {
    unsigned best = first_of(able);
    for (unsigned i = best + 1; i != count_; ++i) {
      if ((able & set_of(i)) && threads_[i].priority > threads_[best].priority) best = i;
    }
    return best;
  };
  for (std::uint64_t& each : changes_) {
    if (each > steps_) continue;
    each = ~std::uint64_t{0};
    threads_[first()].priority = last_priority_--;
  }
  return first();
}

/// Ends an execution that would repeat another, or goes beyond the bound.
void model_engine::prune() {
  pruned_ = true;
  me().fiber.switch_to(controller_);
  std::abort();
}

void model_engine::switch_to(unsigned index) {
  thread& next = threads_[index];
  next.timed_out = next.state == status::parked;
  if (next.timed_out) now_ = std::max(now_, next.deadline);
  next.state = status::ready;
  if (index == running_) return;
  thread& left = me();
  running_ = index;
  left.fiber.switch_to(next.fiber);
}

/// Makes everything done so far happen before the next step of `who`.
void model_engine::learn_all(thread& who) {
  for (unsigned i = 0; i != count_; ++i) {
    who.past.join(threads_[i].past);
  }
}
/// Lets yielding threads continue, because nothing else can happen.
void model_engine::nobody_can_run() {
  bool moved = false;
  for (unsigned i = 0; i != count_; ++i) {
    thread& each = threads_[i];
    if (each.state != status::yielding) continue;
    each.changed = 1;
    moved = true;
    learn_all(each);
  }
  if (!moved) fail("deadlock: every thread waits for another");
}

/// Continues once something read since the last yield has another value, which the thread then sees.
void model_engine::yield() {
  if (++steps_ > limits_.steps) fail_endless();
  thread& self = me();
  if (self.watches == 0) self.watches = static_cast<unsigned>(self.watched.size()) + 1;
  self.state = status::yielding;
  wait_for_another({});
  self.past.join(std::exchange(self.change_past, {}));
  self.must_see = self.past;
  self.watches = 0;
  self.changed = 0;
}
void model_engine::watch(const model_location& at, bool is_up_to_date) {
  thread& self = me();
  if (self.watches > self.watched.size()) return;
  for (unsigned i = 0; i != self.watches; ++i) {
    if (self.watched[i] != &at) continue;
    if (is_up_to_date) self.changed &= static_cast<std::uint8_t>(~(1U << i));
    return;
  }
  if (self.watches != self.watched.size()) self.watched[self.watches] = &at;
  if (!is_up_to_date) self.changed |= static_cast<std::uint8_t>(1U << self.watches);
  ++self.watches;
}
void model_engine::tell_watchers(const model_location& at) {
  for (unsigned i = 0; i != count_; ++i) {
    thread& each = threads_[i];
    if (i == running_) continue;
    const auto listed = std::min<std::size_t>(each.watches, each.watched.size());
    std::size_t place = 0;
    if (each.watches == listed) {
      while (place != listed && each.watched[place] != &at) ++place;
      if (place == listed) continue;
    } else {
      place = each.watched.size();
    }
    each.changed |= static_cast<std::uint8_t>(1U << place);
    each.change_past.join(me().past);
  }
}

model_touches& model_engine::sleepers_on(const void* at) {
  for (sleepers& each : sleepers_) {
    if (each.at == at) return each.touches;
  }
  const model_own_work own;
  return sleepers_.emplace_back(sleepers{at, {}}).touches;
}

bool model_engine::park(model_location& at, std::uint64_t expected, bool has_timeout, const site& where) {
  point({&at, true});
  model_store& seen = newest(at);
  touch({{&at.touches, false}, {&sleepers_on(&at), true}});
  see(seen, std::memory_order_relaxed);
  tick();
  const bool as_expected = (seen.value & 0xffffffffU) == (expected & 0xffffffffU);
  const bool looks =
      model_mutation::look(access::park, std::memory_order_relaxed, where).how == mutation::none;
  if (!as_expected && looks) return true;
  trace(where, [&] { return model_step{running_, "sleeps on", at.name, {}, false}; });
  thread& sleeper = me();
  sleeper.state = status::parked;
  sleeper.waits_for = &at;
  sleeper.timed = has_timeout;
  wait_for_another({&at, true, true});
  if (!sleeper.timed_out) return true;
  touch({{&sequential_touches_, true}, {&sleepers_on(sleeper.waits_for), true}});
  tick();
  return false;
}

std::int64_t model_engine::now() {
  point({nullptr, false, true});
  touch({{&sequential_touches_, true}});
  tick();
  return now_;
}

void model_engine::unpark(const model_location* at, unsigned count, const site& where) {
  if (model_mutation::look(access::unpark, std::memory_order_relaxed, where).how != mutation::none) return;
  point({at, true});
  touch({{&sleepers_on(at), true}});
  tick();
  for (; count != 0; --count) {
    std::array<unsigned, model_threads> which;
    unsigned found = 0;
    for (unsigned i = 0; i != count_; ++i) {
      if (threads_[i].state == status::parked && threads_[i].waits_for == at) which[found++] = i;
    }
    if (found == 0) break;
    const unsigned woken = which[choose(found)];
    threads_[woken].state = status::ready;
    threads_[woken].next = {};
    threads_[woken].past.join(me().past);
    trace(where, [&] { return model_step{running_, "wakes thread " + std::to_string(woken)}; });
  }
}
}  // namespace coracle::testing::model
