// tests/model/cxx20_axioms.hpp -- what C++20 lets a small program do, from the words of the standard.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// A reference for the model checker that shares no code with it and works the other way round. Instead of
/// running a program step by step, it lists all candidate executions, each a choice of the value of every
/// read and of an order of the writes to every location, and keeps those that the axioms of the memory model
/// allow.
///
/// The axioms are C++20's (N4861), named where they stand: [intro.races], [atomics.order], [atomics.fences].
/// Two are stronger:
///   - no value out of thin air: sequenced-before and reads-from together have no cycle, as in RC11 (O.
///     Lahav, V. Vafeiadis, J. Kang, C. Hur, D. Dreyer, "Repairing Sequential Consistency in C/C++11", PLDI
///     2017). The standard only asks for that in prose; load buffering is lost with it;
///   - `in_order` are the executions in which some order of the steps also agrees with all modification
///     orders and with the order of the seq_cst operations: those that a checker can reach by running one
///     step after the other.
namespace coracle_test::cxx20 {
using order = std::memory_order;

enum class action : std::uint8_t {
  load,
  store,
  add,
  exchange,
  compare_exchange,       ///< strong
  compare_exchange_weak,  ///< may fail for no reason
  fence,
  plain_load,
  plain_store
};
struct instruction {
  action does;
  unsigned at = 0;  ///< which location; those of plain fields are others than those of atomics
  order strength = order::relaxed;
  order on_failure = order::relaxed;
  unsigned value = 0;     ///< stored or added
  unsigned expected = 0;  ///< by a compare_exchange
};
using thread_program = std::vector<instruction>;
using program = std::vector<thread_program>;

/// An outcome: the values that each thread read, "y" for a compare_exchange that succeeds, then the final
/// values.
struct behaviour {
  std::set<std::string> allowed;   ///< by the axioms
  std::set<std::string> in_order;  ///< those of them in some order of the steps
  bool may_race = false, may_race_in_order = false;
};

/// Pairs of events, a row of bits each.
class relation {
 public:
  static constexpr unsigned most = 32;
  void add(unsigned from, unsigned to) { rows_[from] |= 1U << to; }
  [[nodiscard]] bool has(unsigned from, unsigned to) const { return (rows_[from] >> to & 1U) != 0; }
  friend relation operator|(relation one, const relation& other) {
    for (unsigned i = 0; i != most; ++i) one.rows_[i] |= other.rows_[i];
    return one;
  }
  /// First one, then the other.
  friend relation operator*(const relation& one, const relation& other) {
    relation result;
    for (unsigned i = 0; i != most; ++i) {
      for (unsigned j = 0; j != most; ++j) {
        if (one.has(i, j)) result.rows_[i] |= other.rows_[j];
      }
    }
    return result;
  }
  [[nodiscard]] relation closure() const {
    relation result = *this;
    for (unsigned by = 0; by != most; ++by) {
      for (unsigned i = 0; i != most; ++i) {
        if (result.has(i, by)) result.rows_[i] |= result.rows_[by];
      }
    }
    return result;
  }
  [[nodiscard]] bool is_irreflexive() const {
    for (unsigned i = 0; i != most; ++i) {
      if (has(i, i)) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_acyclic() const { return closure().is_irreflexive(); }

 private:
  std::array<std::uint32_t, most> rows_{};
};

class enumeration {
 public:
  enumeration(const program& all, unsigned locations) : threads_(all.size()), locations_(locations) {
    for (unsigned i = 0; i != locations; ++i) events_.push_back({nullptr, nobody, i});
    for (unsigned thread = 0; thread != all.size(); ++thread) {
      for (const instruction& each : all[thread]) {
        const auto made = static_cast<unsigned>(events_.size());
        for (unsigned i = 0; i != made; ++i) {
          if (is_initial(i)) created_.add(i, made);
          if (events_[i].thread == thread) sequenced_.add(i, made);
        }
        events_.push_back({&each, thread, each.at});
        if (may_read(each.does)) reads_.push_back(made);
      }
    }
  }
  behaviour run() {
    choose_sources(0);
    return std::move(result_);
  }

 private:
  static constexpr unsigned nobody = ~0U;
  struct event {
    const instruction* does;  ///< null: gives a location its first value
    unsigned thread, at;
    // What becomes of it in a candidate.
    unsigned source = 0;         ///< whose value it reads
    bool fails_at_will = false;  ///< a weak compare_exchange
    bool reads = false, writes = false;
    order strength = order::relaxed;
    unsigned seen = 0, written = 0;
  };
  static bool may_read(action does) {
    return does != action::store && does != action::fence && does != action::plain_store;
  }
  static bool may_write(action does) {
    return does != action::load && does != action::fence && does != action::plain_load;
  }
  [[nodiscard]] bool is_initial(unsigned index) const { return !events_[index].does; }
  [[nodiscard]] bool is_fence(unsigned index) const {
    return !is_initial(index) && events_[index].does->does == action::fence;
  }
  [[nodiscard]] bool is_plain(unsigned index) const {
    return !is_initial(index) && (events_[index].does->does == action::plain_load ||
                                  events_[index].does->does == action::plain_store);
  }
  [[nodiscard]] bool is_change(unsigned index) const { return events_[index].reads && events_[index].writes; }
  [[nodiscard]] bool is_sequential(unsigned index) const { return events_[index].strength == order::seq_cst; }
  [[nodiscard]] bool is_acquire(unsigned index) const {
    const order is = events_[index].strength;
    return (events_[index].reads || is_fence(index)) &&
           (is == order::acquire || is == order::acq_rel || is == order::seq_cst);
  }
  [[nodiscard]] bool is_release(unsigned index) const {
    const order is = events_[index].strength;
    return (events_[index].writes || is_fence(index)) &&
           (is == order::release || is == order::acq_rel || is == order::seq_cst);
  }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(events_.size()); }

  // ---- the candidates ----

  void choose_sources(std::size_t chosen) {
    if (chosen == reads_.size()) return take_values();
    event& reader = events_[reads_[chosen]];
    for (unsigned i = 0; i != size(); ++i) {
      const bool is_source = is_initial(i) || (may_write(events_[i].does->does) && i != reads_[chosen]);
      if (!is_source || events_[i].at != reader.at) continue;
      reader.source = i;
      reader.fails_at_will = false;
      choose_sources(chosen + 1);
      if (reader.does->does != action::compare_exchange_weak) continue;
      reader.fails_at_will = true;
      choose_sources(chosen + 1);
    }
  }
  void take_values() {
    read_from_ = {};
    for (const unsigned each : reads_) read_from_.add(events_[each].source, each);
    const relation before = (sequenced_ | created_ | read_from_).closure();
    if (!before.is_irreflexive()) return;  // out of thin air
    std::array<unsigned, relation::most> turn{};
    for (unsigned i = 0; i != size(); ++i) turn[i] = i;
    const auto events_before = [&](unsigned index) {
      unsigned count = 0;
      for (unsigned i = 0; i != size(); ++i) count += before.has(i, index);
      return count;
    };
    std::sort(turn.begin(), turn.begin() + size(),
              [&](unsigned a, unsigned b) { return events_before(a) < events_before(b); });
    for (unsigned i = 0; i != size(); ++i) {
      if (!take_value(turn[i])) return;
    }
    find_happens_before();
    modified_ = {};
    choose_modification_order(0);
  }
  /// False: it cannot have read from that source, or cannot fail for no reason.
  bool take_value(unsigned index) {
    event& each = events_[index];
    each.reads = each.writes = false;
    each.seen = each.written = 0;
    if (is_initial(index)) return each.writes = true;
    each.strength = each.does->strength;
    if (is_fence(index)) return true;
    each.reads = may_read(each.does->does);
    each.writes = may_write(each.does->does);
    if (each.reads) {
      if (!events_[each.source].writes) return false;
      each.seen = events_[each.source].written;
    }
    const action does = each.does->does;
    each.written = does == action::add ? each.seen + each.does->value : each.does->value;
    if (does == action::compare_exchange || does == action::compare_exchange_weak) {
      const bool equals = each.seen == each.does->expected;
      if (each.fails_at_will && !equals)
        return false;                       // that is no other candidate than the one that fails so
      if (!equals || each.fails_at_will) {  // a load, with an order of its own
        each.writes = false;
        each.strength = each.does->on_failure;
      }
    }
    return true;
  }
  /// Tries all permutations of the writes to each location in which a read-modify-write directly follows the
  /// write that it reads: [atomics.order] 10.
  void choose_modification_order(unsigned at) {
    if (at == locations_) return judge();
    std::vector<unsigned> writes;
    for (unsigned i = locations_; i != size(); ++i) {
      if (events_[i].writes && events_[i].at == at) writes.push_back(i);
    }
    do {
      if (!is_atomic(at, writes)) continue;
      const relation before = modified_;
      for (std::size_t i = 0; i != writes.size(); ++i) {
        modified_.add(at, writes[i]);
        for (std::size_t j = i + 1; j != writes.size(); ++j) modified_.add(writes[i], writes[j]);
      }
      last_[at] = writes.empty() ? at : writes.back();
      choose_modification_order(at + 1);
      modified_ = before;
    } while (std::next_permutation(writes.begin(), writes.end()));
  }
  [[nodiscard]] bool is_atomic(unsigned first, const std::vector<unsigned>& writes) const {
    for (const unsigned each : writes) {
      if (is_change(each) && events_[each].source != first) return false;
      first = each;
    }
    return true;
  }

  // ---- the axioms ----

  /// Returns true if `read` reads from the release sequence that `head` begins: `head` and the
  /// read-modify-writes that directly follow it in the modification order, each reading from the previous
  /// one. [intro.races] 5.
  [[nodiscard]] bool reads_release_sequence(unsigned read, unsigned head) const {
    for (unsigned from = events_[read].source;; from = events_[from].source) {
      if (from == head) return true;
      if (!is_change(from)) return false;
    }
  }
  /// The operation itself and the fences that stand for it, which come before it or behind it in its thread:
  /// [atomics.order] 2, [atomics.fences] 2 to 4.
  void find_happens_before() {
    synchronized_ = {};
    for (const unsigned read : reads_) {
      if (is_plain(read)) continue;
      for (unsigned write = locations_; write != size(); ++write) {
        if (!events_[write].writes || is_plain(write) || events_[write].at != events_[read].at) continue;
        if (!reads_release_sequence(read, write)) continue;
        for (unsigned from = locations_; from != size(); ++from) {
          const bool releases = from == write || (is_fence(from) && sequenced_.has(from, write));
          for (unsigned to = locations_; releases && is_release(from) && to != size(); ++to) {
            const bool acquires = to == read || (is_fence(to) && sequenced_.has(read, to));
            if (acquires && is_acquire(to)) synchronized_.add(from, to);
          }
        }
      }
    }
    happens_before_ = (sequenced_ | created_ | synchronized_).closure();  // [intro.races] 10, without consume
  }
  void judge() {
    relation from_read;  // a read and the writes behind what it has read
    for (const unsigned read : reads_) {
      for (unsigned write = 0; write != size(); ++write) {
        if (write != read && modified_.has(events_[read].source, write)) from_read.add(read, write);
      }
    }
    const relation coherence = (read_from_ | modified_ | from_read).closure();  // [atomics.order] 3
    // The four coherence rules, [intro.races] 15 to 18, in one: the order of what happens before never
    // contradicts the coherence order.
    if (!(happens_before_ * coherence).is_irreflexive()) return;
    const relation sequential = constraints_of_sequential(coherence);
    if (!sequential.is_acyclic()) return;
    const bool is_in_order = (sequential | sequenced_ | created_ | read_from_ | modified_).is_acyclic();
    const bool races = has_race();
    result_.may_race |= races;
    result_.may_race_in_order |= races && is_in_order;
    const std::string outcome = outcome_text();
    result_.allowed.insert(outcome);
    if (is_in_order) result_.in_order.insert(outcome);
  }
  /// Who has to come before whom in the total order S of seq_cst operations: [atomics.order] 4.
  [[nodiscard]] relation constraints_of_sequential(const relation& coherence) const {
    relation strongly = sequenced_;  // [intro.races] 12: strongly happens before
    for (unsigned i = 0; i != size(); ++i) {
      for (unsigned j = 0; j != size(); ++j) {
        if (synchronized_.has(i, j) && is_sequential(i) && is_sequential(j)) strongly.add(i, j);
      }
    }
    strongly = (strongly | sequenced_ * happens_before_ * sequenced_).closure();
    relation result;
    for (unsigned from = locations_; from != size(); ++from) {
      for (unsigned to = locations_; is_sequential(from) && to != size(); ++to) {
        if (from == to || !is_sequential(to)) continue;
        if (strongly.has(from, to) || has_coherent_pair(from, to, coherence)) result.add(from, to);
      }
    }
    return result;
  }
  /// [atomics.order] 4.1 to 4.4: A is coherence-ordered before B; `from` is A or a fence that happens before
  /// A; `to` is B or a fence that B happens before.
  [[nodiscard]] bool has_coherent_pair(unsigned from, unsigned to, const relation& coherence) const {
    for (unsigned a = 0; a != size(); ++a) {
      if (is_plain(a) || !(a == from || (is_fence(from) && happens_before_.has(from, a)))) continue;
      for (unsigned b = 0; b != size(); ++b) {
        if (is_plain(b) || !coherence.has(a, b)) continue;
        if (b == to || (is_fence(to) && happens_before_.has(b, to))) return true;
      }
    }
    return false;
  }
  /// Two accesses to a plain field, at least one of them a write, neither of which happens before the other:
  /// [intro.races] 21.
  [[nodiscard]] bool has_race() const {
    for (unsigned i = locations_; i != size(); ++i) {
      for (unsigned j = i + 1; is_plain(i) && j != size(); ++j) {
        if (!is_plain(j) || events_[i].at != events_[j].at || !(events_[i].writes || events_[j].writes))
          continue;
        if (!happens_before_.has(i, j) && !happens_before_.has(j, i)) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::string outcome_text() const {
    std::string text;
    for (unsigned thread = 0; thread != threads_; ++thread) {
      for (const event& each : events_) {
        if (each.thread != thread || !each.reads) continue;
        const bool is_conditional =
            each.does->does == action::compare_exchange || each.does->does == action::compare_exchange_weak;
        text += is_conditional && each.writes ? "y" : std::to_string(each.seen);
      }
      text += '/';
    }
    for (unsigned at = 0; at != locations_; ++at) text += std::to_string(events_[last_[at]].written);
    return text;
  }

  const std::size_t threads_;
  const unsigned locations_;
  std::vector<event> events_;    ///< that which makes location i has number i
  std::vector<unsigned> reads_;  ///< what reads, if it does what it may
  relation sequenced_, created_;
  // Of the candidate.
  relation read_from_, synchronized_, happens_before_, modified_;
  std::array<unsigned, relation::most> last_{};
  behaviour result_;
};

/// Requires: no more than 32 locations and instructions together.
inline behaviour behaviour_of(const program& all, unsigned locations) {
  return enumeration(all, locations).run();
}
}  // namespace coracle_test::cxx20
