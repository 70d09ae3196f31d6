// tests/model/reduction.cpp -- random small programs have the same outcomes with and without the checker's
// reduction.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/base/atomic.hpp>
#include <coracle/base/park.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "framework/model_test.hpp"

namespace {
using coracle::testing::model_check;
using coracle::testing::model::check_with;
using coracle::testing::model::reduction;
using namespace coracle_test;
using order = std::memory_order;
using word = coracle::detail::atomic<std::uint32_t>;

enum class what { load, store, add, exchange, compare_exchange, fence, set_cell, get_cell, wake, sleep };
struct step {
  what does;
  order strength;
  unsigned at;
  std::uint32_t value;
  bool may_fail;  ///< a compare_exchange, for no reason
};
using thread_program = std::vector<step>;
using program = std::vector<thread_program>;

struct shared {
  word words[3];
  coracle::detail::plain<int> cells[3];
};

class random_programs {
 public:
  random_programs(std::uint64_t seed, bool is_sequential, bool is_large)
      : random_(seed), is_sequential_(is_sequential), is_large_(is_large) {}
  program make(unsigned threads, unsigned steps, unsigned kinds) {
    program result(threads);
    for (thread_program& each : result) {
      for (unsigned i = 0; i != steps; ++i) each.push_back(make_step(kinds));
    }
    return result;
  }

 private:
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  step make_step(unsigned kinds) {
    static constexpr std::array loads{order::relaxed, order::acquire, order::seq_cst};
    static constexpr std::array stores{order::relaxed, order::release, order::seq_cst};
    static constexpr std::array changes{order::relaxed, order::acquire, order::release, order::acq_rel,
                                        order::seq_cst};
    static constexpr std::array fences{order::acquire, order::release, order::seq_cst, order::seq_cst};
    step made{static_cast<what>(below(kinds)), order::relaxed, below(is_large_ ? 3 : 2), 1 + below(2),
              is_large_};
    switch (made.does) {
      case what::load:
        made.strength = loads[below(loads.size())];
        break;
      case what::store:
        made.strength = stores[below(stores.size())];
        break;
      case what::fence:
        made.strength = fences[below(fences.size())];
        break;
      default:
        made.strength = changes[below(changes.size())];
    }
    if (is_sequential_) made.strength = order::seq_cst;
    return made;
  }

  std::mt19937_64 random_;
  const bool is_sequential_, is_large_;
};

void run_step(const step& each, shared& with, std::string& seen) {
  word& at = with.words[each.at];
  std::uint32_t value = each.value;
  switch (each.does) {
    case what::load:
      seen += std::to_string(at.load(each.strength));
      break;
    case what::store:
      at.store(value, each.strength);
      break;
    case what::add:
      seen += std::to_string(at.fetch_add(value, each.strength));
      break;
    case what::exchange:
      seen += std::to_string(at.exchange(value, each.strength));
      break;
    case what::compare_exchange:
      seen += (each.may_fail ? at.compare_exchange_weak(value, 3, each.strength)
                             : at.compare_exchange_strong(value, 3, each.strength))
                  ? "y"
                  : std::to_string(value);
      break;
    case what::fence:
      coracle::testing::model::model_fence(each.strength, std::source_location::current());
      break;
    case what::set_cell:
      with.cells[each.at] = 1;
      break;
    case what::get_cell:
      seen += std::to_string(with.cells[each.at]);
      break;
    case what::wake:
      at.store(value, order::release);
      coracle::detail::unpark(&at, 1);
      break;
    case what::sleep:
      coracle::detail::park(at, 0);
      break;
  }
}
void run_program(const program& all) {
  shared with;
  std::vector<std::string> seen(all.size());
  std::vector<std::unique_ptr<model_thread>> threads;
  for (std::size_t i = 0; i != all.size(); ++i) {
    threads.push_back(std::make_unique<model_thread>([&, i] {
      for (const step& each : all[i]) run_step(each, with, seen[i]);
    }));
  }
  for (auto& each : threads) each->join();
  std::string text;
  for (const std::string& each : seen) text += each + "/";
  for (word& each : with.words) text += std::to_string(each.load(order::relaxed));
  coracle::testing::model_record(text);
}

model_limits limits_of(unsigned preemptions) {
  model_limits limits;
  limits.preemptions = preemptions;
  return limits;
}
bool contains(const std::set<std::string>& all, const std::set<std::string>& some) {
  for (const std::string& each : some) {
    if (!all.contains(each)) return false;
  }
  return true;
}

/// Compares the failures and outcomes of many programs with and without the reduction.
class comparison {
 public:
  comparison(const char* name, bool is_sequential) : name_(name), is_sequential_(is_sequential) {}
  /// Unless the program has more executions than `most`.
  void compare(const program& each, std::uint64_t most) {
    const auto body = [&] { run_program(each); };
    model_limits limits;
    limits.executions = most;
    const model_result all = check_with(reduction::none, limits, body);
    if (!all.complete && all.passed) {
      ++too_large_;
      return;
    }
    const model_result reduced = model_check(body);
    ++programs_;
    before_ += all.executions;
    after_ += reduced.executions;
    failures_ += !all.passed;
    if (!is_same(all, reduced)) return report(each, "an outcome");
    if (!is_same(all, model_check(limits_of(30), body))) return report(each, "one, with a wide bound");
    for (const unsigned bound : {0U, 1U, 2U, 3U}) compare_within(bound, each, &all, body);
  }
  /// A program that is too large to be run without any reduction.
  void compare_orders(const program& each) {
    const auto body = [&] { run_program(each); };
    bool passes = true;
    for (const unsigned bound : {0U, 1U, 2U, 3U}) passes &= compare_within(bound, each, nullptr, body);
    ++programs_;
    failures_ += !passes;
  }
  /// The number of programs that differ.
  [[nodiscard]] int finish() const {
    std::printf(
        "%-24s %d programs (and %d too large), %d of them fail: %llu executions for %llu, within bounds "
        "%llu for %llu, %d differ\n",
        name_, programs_, too_large_, failures_, static_cast<unsigned long long>(after_),
        static_cast<unsigned long long>(before_), static_cast<unsigned long long>(bounded_after_),
        static_cast<unsigned long long>(bounded_before_), differ_);
    return differ_;
  }

 private:
  /// Whether the program passes.
  bool compare_within(unsigned bound, const program& each, const model_result* all,
                      const std::function<void()>& body) {
    const model_limits limits = limits_of(bound);
    const model_result wanted = check_with(reduction::of_values, limits, body);
    const model_result found = model_check(limits, body);
    bounded_before_ += wanted.executions;
    bounded_after_ += found.executions;
    if (!is_same(wanted, found)) report(each, "an outcome within a bound");
    if (!all || !all->passed) return wanted.passed;
    if (!contains(all->outcomes, found.outcomes)) report(each, "nothing, but adds one");
    if (is_sequential_ && !contains(found.outcomes, check_with(reduction::none, limits, body).outcomes))
      report(each, "one within a bound");
    return true;
  }
  static bool is_same(const model_result& one, const model_result& other) {
    return one.passed == other.passed && (!one.passed || one.outcomes == other.outcomes);
  }
  void report(const program& of, const char* missing) {
    if (++differ_ > 3) return;
    std::printf("  the reduction loses %s of\n", missing);
    for (const thread_program& thread : of) {
      for (const step& each : thread) {
        std::printf("    %d(%d at %u, %u)", static_cast<int>(each.does), static_cast<int>(each.strength),
                    each.at, each.value);
      }
      std::printf("\n");
    }
  }

  const char* const name_;
  const bool is_sequential_;  ///< no load sees an old value
  int programs_ = 0, too_large_ = 0, failures_ = 0, differ_ = 0;
  std::uint64_t before_ = 0, after_ = 0, bounded_before_ = 0, bounded_after_ = 0;
};

int compare(const char* name, int programs, unsigned threads, unsigned steps, unsigned kinds,
            std::uint64_t most, bool is_sequential = false) {
  random_programs random(threads * 100 + steps * 10 + kinds, is_sequential, false);
  comparison each(name, is_sequential);
  for (int i = 0; i != programs; ++i) each.compare(random.make(threads, steps, kinds), most);
  return each.finish();
}
int compare_orders(const char* name, int programs, unsigned threads, unsigned steps, unsigned kinds) {
  random_programs random(threads * 100 + steps * 10 + kinds, false, true);
  comparison each(name, false);
  for (int i = 0; i != programs; ++i) each.compare_orders(random.make(threads, steps, kinds));
  return each.finish();
}
}  // namespace

int main(int argc, char** argv) {
  // `--mutants`: none of the shipped code is in these programs.
  if (argc > 1 && std::strcmp(argv[1], "--mutants") == 0) return 0;
  const int more = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::uint64_t most = 500'000U * static_cast<unsigned>(more);
  int differ = compare("loads and stores", 100 * more, 2, 4, 2, most);
  differ += compare("atomics", 100 * more, 2, 4, 6, most);
  differ += compare("seq_cst", 100 * more, 2, 4, 6, most, true);
  differ += compare("three threads", 8 * more, 3, 2, 6, most);
  differ += compare("plain fields", 200 * more, 2, 4, 8, most);
  differ += compare("sleepers", 200 * more, 2, 3, 10, most);
  differ += compare("three and sleepers", 12 * more, 3, 2, 10, most * 2 / 5);
  differ += compare_orders("large, atomics", 20 * more, 3, 4, 6);
  differ += compare_orders("large, sleepers", 40 * more, 3, 4, 10);
  differ += compare_orders("large, two threads", 100 * more, 2, 6, 10);
  differ += compare_orders("large, four threads", 10 * more, 4, 2, 6);
  return differ == 0 ? 0 : 1;
}
