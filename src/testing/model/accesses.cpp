// SPDX-License-Identifier: MIT
// What each access sees, and its effect on later ones. Modification order is execution order, and so is the
// order of all seq_cst accesses and fences. By C++20 [atomics.order]:
//   - an acquire load that sees a store learns its `release` view; a read-modify-write passes on the view of
//     the store that it replaces;
//   - a seq_cst load sees nothing older than what an earlier seq_cst access to the location stored or saw, or
//     what was known at an earlier seq_cst fence;
//   - a load after a seq_cst fence sees nothing older than what a seq_cst access before the fence stored or
//     saw, or what was known at an earlier seq_cst fence. That restricts what loads see; it does not create
//     happens-before.
#include <algorithm>
#include <limits>

#include "engine.hpp"
#include "mutation.hpp"

namespace coracle::testing::model {
namespace {
constexpr std::int16_t never = std::numeric_limits<std::int16_t>::max();

bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
model_store& store_of(model_location& at, unsigned back) {
  return at.stores[(at.count - 1 - back) % model_history];
}
}  // namespace

void model_engine::tick(unsigned index) noexcept {
  thread& one = threads_[index];
  one.now.knows.at[index] = one.now.sees.at[index] = ++one.time;
}

std::string model_engine::called(const model_location& at) const {
  const model_own_work own;
  return tracing_ ? trace_.name_of(at.name) : '#' + std::to_string(at.name);
}
/// Returns the newest store; for an object older than this execution, its last value, which every thread
/// sees.
model_store& model_engine::newest(model_location& at) {
  if (at.execution != execution_) {
    const std::uint64_t last = at.count == 0 ? 0 : at.stores[(at.count - 1) % model_history].value;
    at.execution = execution_;
    at.name = new_name();
    at.made = 0;
    at.maker = 0;
    at.accesses = {};
    at.touches = {};
    at.count = 1;
    at.stores[0] = {last, {}, {}, 0, 0, 0};
  }
  return at.stores[(at.count - 1) % model_history];
}

void model_engine::add_store(model_location& at, std::uint64_t value, std::memory_order order,
                             const model_store* replaced) {
  thread& writer = me();
  model_store& made = at.stores[at.count % model_history];
  model_view release = releases(order) ? writer.now : writer.released;
  if (replaced) release.join(replaced->release);  // a release sequence continues
  made.value = value;
  made.release = release;
  made.first_seen.at = model_clock::times{} + never;
  made.first_seen.at[running_] = made.time = writer.time;
  made.thread = static_cast<std::uint8_t>(running_);
  made.sequential = order == std::memory_order_seq_cst ? ++sequentials_ : 0;
  ++at.count;
}

/// Returns true if a load has to be tried with stale values; see dependence.cpp.
bool model_engine::may_be_old(model_location& at, bool sequential) {
  const model_store& last = newest(at);
  if (!reduces_ || is_past(last.thread, last.time)) return true;
  return sequential && sequential_touches_.all.at[last.thread] >= last.time;
}
/// Returns true if the load sees nothing older than `store`: the store happens before the load, or a load
/// that saw it does, and so on.
bool model_engine::must_be_seen(const model_store& store, bool sequential) const {
  const thread& reader = threads_[running_];
  if (store.first_seen.is_partly_within(reader.now.sees)) return true;
  if (reader.must_see.at[store.thread] >= store.time) return true;
  if (sequential && (store.sequential != 0 || store.first_seen.is_partly_within(at_fences_))) return true;
  return store.sequential != 0 && store.sequential <= reader.now.fence;
}
/// Returns how many of the newest stores a load may see.
unsigned model_engine::visible_stores(model_location& at, bool sequential) const {
  const auto kept = static_cast<unsigned>(std::min<std::size_t>(at.count, model_history));
  for (unsigned back = 0; back + 1 < kept; ++back) {
    if (must_be_seen(store_of(at, back), sequential)) return back + 1;
  }
  return kept;
}
/// Chooses the store that a load sees, counted from the newest. `expected`: a compare_exchange, which sees
/// the newest store if it succeeds. Of equal values, an older one that conveys no further knowledge allows
/// everything that a newer one does.
unsigned model_engine::choose_store(model_location& at, bool sequential, const std::uint64_t* expected) {
  if (!may_be_old(at, sequential)) return 0;
  const unsigned visible = visible_stores(at, sequential);
  const auto happens = [&](unsigned back) { return expected && store_of(at, back).value == *expected; };
  const auto is_covered = [&](unsigned back) {
    const model_store& store = store_of(at, back);
    for (unsigned older = back + 1; reduces_ && older != visible; ++older) {
      const model_store& other = store_of(at, older);
      if (other.value == store.value && other.release.is_within(store.release)) return true;
    }
    return false;
  };
  std::array<std::uint8_t, model_history> ways;
  unsigned count = 0;
  for (unsigned back = 0; back != visible; ++back) {
    if (happens(back) ? back == 0 : !is_covered(back)) ways[count++] = static_cast<std::uint8_t>(back);
  }
  return ways[choose(count)];
}

void model_engine::touch_location(model_location& at, bool writes, bool sequential) {
  if (me().now.knows.at[at.maker] < at.made)
    fail("data race: " + called(at) + " is used by a thread that need not see it made");
  note_access(at);
  if (sequential) {
    touch({{&sequential_touches_, true}, {&at.touches, writes}});
  } else {
    touch({{&at.touches, writes}});
  }
}
void model_engine::see(model_store& seen, std::memory_order order) {
  thread& reader = me();
  seen.first_seen.at[running_] = std::min(seen.first_seen.at[running_], reader.time);
  if (order == std::memory_order_seq_cst) {
    ++sequentials_;
    if (seen.sequential == 0) seen.sequential = sequentials_;
  }
  (acquires(order) ? reader.now : reader.acquired).join(seen.release);
}

void model_engine::note(const char* what, const model_location& at, std::uint64_t value,
                        std::memory_order order, const site& where) {
  trace(where, [&] {
    return model_step{running_, what, at.name, " = " + trace_.text_of(value) + " " + name_of(order)};
  });
}

std::uint64_t model_engine::load(model_location& at, std::memory_order order, const site& where) {
  order = model_mutation::look(access::load, order, where).order;
  const bool sequential = order == std::memory_order_seq_cst;
  point({&at, false, sequential});
  expect_alive(at, where);
  const unsigned back = choose_store(at, sequential, nullptr);
  model_store& seen = store_of(at, back);
  touch_location(at, false, sequential);
  see(seen, order);
  watch(at, seen.value == newest(at).value);
  tick();
  note(back == 0 ? "load" : "load, stale,", at, seen.value, order, where);
  return seen.value;
}

void model_engine::store(model_location& at, std::uint64_t value, std::memory_order order,
                         const site& where) {
  const mutated_access as = model_mutation::look(access::store, order, where);
  const bool sequential = as.order == std::memory_order_seq_cst;
  point({&at, true, sequential});
  expect_alive(at, where);
  const model_store& replaced = newest(at);
  touch_location(at, true, sequential);
  const bool changes = replaced.value != value;
  if (as.how != mutation::dropped) add_store(at, value, as.order, nullptr);
  if (changes) tell_watchers(at);
  tick();
  note("store", at, value, order, where);
}

std::uint64_t model_engine::rmw_read(model_location& at, const model_order& order) {
  point({&at, true, order.is == std::memory_order_seq_cst});
  expect_alive(at, order.where);
  return newest(at).value;
}
/// A compare_exchange that fails, because the value is not the expected one, is a load: it may see a stale
/// value, and it is seq_cst if its failure order is, whatever the success order. (C++20
/// [atomics.types.operations] 21.)
std::uint64_t model_engine::rmw_read(model_location& at, std::uint64_t expected, const model_order& success,
                                     const model_order& failure) {
  const bool as_load =
      model_mutation::order_of(access::load, failure.is, failure.where) == std::memory_order_seq_cst;
  point({&at, true, as_load || success.is == std::memory_order_seq_cst});
  expect_alive(at, success.where);
  newest(at);
  seen_back_ = choose_store(at, as_load, &expected);
  return store_of(at, seen_back_).value;
}
void model_engine::rmw_write(model_location& at, std::uint64_t value, std::memory_order order,
                             const site& where) {
  const mutated_access as = model_mutation::look(access::change, order, where);
  const bool sequential = as.order == std::memory_order_seq_cst;
  if (as.how == mutation::split) {
    touch_location(at, false, sequential);
    see(newest(at), as.order);
    tick();
    point({&at, true, sequential});
  }
  const model_store replaced = newest(at);
  touch_location(at, true, sequential);
  if (as.how != mutation::split) see(newest(at), as.order);
  if (as.how != mutation::dropped)
    add_store(at, value, as.order, as.how == mutation::split ? nullptr : &replaced);
  if (replaced.value != value) tell_watchers(at);
  watch(at, true);
  tick();
  note("change", at, value, order, where);
}
void model_engine::rmw_fail(model_location& at, std::memory_order order, const site& where) {
  order = model_mutation::look(access::load, order, where).order;
  model_store& seen = store_of(at, seen_back_);
  touch_location(at, false, order == std::memory_order_seq_cst);
  see(seen, order);
  watch(at, seen.value == newest(at).value);
  tick();
  note("no change of", at, seen.value, order, where);
}
bool model_engine::fails_spuriously() {
  if (!limits_.spurious_failures || failed_spuriously_ || preemptions_ >= limits_.preemptions) return false;
  if (choose(2) == 0) return false;
  failed_spuriously_ = true;
  ++preemptions_;
  return true;
}

void model_engine::fence(std::memory_order order, const site& where) {
  const mutated_access as = model_mutation::look(access::fence, order, where);
  if (as.how == mutation::dropped) return;
  const bool sequential = as.order == std::memory_order_seq_cst;
  point({nullptr, false, sequential});
  if (sequential) touch({{&sequential_touches_, true}});
  pass_fence(running_, as.order);
  trace(where, [&] { return model_step{running_, std::string("fence ") + name_of(as.order)}; });
}

void model_engine::pass_fence(unsigned index, std::memory_order order) {
  thread& self = threads_[index];
  if (acquires(order)) self.now.join(self.acquired);
  if (order == std::memory_order_seq_cst) {
    self.now.sees.join(at_fences_);
    self.now.fence = ++sequentials_;
    at_fences_.join(self.now.knows);
  }
  if (releases(order)) self.released = self.now;
  tick(index);
}

/// Each thread executes a seq_cst fence at some point between two of the caller's.
void model_engine::fence_everywhere(const site& where) {
  const mutated_access as = model_mutation::look(access::fence_everywhere, std::memory_order_seq_cst, where);
  if (as.how == mutation::dropped) return;
  if (!std::exchange(has_fences_everywhere_, true)) {
    restarts_ = true;  // what was executed so far has not been recorded
    prune();
  }
  const auto pass_own = [&] {
    point({nullptr, false, true});
    touch({{&sequential_touches_, true}});
    pass_fence(running_, std::memory_order_seq_cst);
  };
  pass_own();
  for (unsigned i = 0; i != count_; ++i) {
    if (i == running_) continue;  // the accesses of an ended thread count too
    point({nullptr, false, true, true});
    touch({{&sequential_touches_, true}, {&own_touches_[i], true}});
    tick();
    pass_fence(i, std::memory_order_seq_cst);
  }
  pass_own();
  trace(where, [&] { return model_step{running_, "fence of every thread"}; });
}
}  // namespace coracle::testing::model
