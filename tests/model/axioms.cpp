// tests/model/axioms.cpp -- the checker against C++20's axioms: random small programs, outcome by outcome.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/base/atomic.hpp>
#include <coracle/testing/model/model_check.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include "cxx20_axioms.hpp"

namespace {
using coracle::testing::model_result;
using coracle::testing::model_thread;
using coracle_test::cxx20::action;
using coracle_test::cxx20::behaviour;
using coracle_test::cxx20::instruction;
using coracle_test::cxx20::order;
using coracle_test::cxx20::program;

/// The first are atomics, the last is a plain field.
constexpr unsigned words = 2, cells = 1, locations = words + cells;

/// A program made from a seed. Its values are small, so that writes can usually be told apart and a
/// compare_exchange often finds the expected value.
class drawing {
 public:
  explicit drawing(std::uint64_t seed) : random_(seed) {}
  program draw() {
    const bool has_three = below(3) == 0, has_cells = below(3) == 0, has_fences = below(2) == 0;
    is_sequential_ = below(4) == 0;
    const bool crosses = below(2) == 0;  // each thread goes to the words in turn, and begins with another one
    program result(has_three ? 3 : 2);
    for (unsigned index = 0; index != result.size(); ++index) {
      const unsigned steps = (has_three ? 1 : 2) + below(3);
      for (unsigned i = 0; i != steps; ++i) {
        const bool is_fence = has_fences && i != 0 && below(crosses ? 2 : 4) == 0;
        if (is_fence) result[index].push_back(draw_fence());
        const bool is_plain = has_cells && below(4) == 0;
        result[index].push_back(is_plain ? draw_plain()
                                         : draw_step(crosses ? (index + i) % words : below(words)));
      }
    }
    return result;
  }

 private:
  static constexpr order relaxed = order::relaxed, acquire = order::acquire, release = order::release,
                         acq_rel = order::acq_rel, seq_cst = order::seq_cst;
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  order one_of(std::initializer_list<order> all) {
    return is_sequential_ && below(3) != 0 ? seq_cst : all.begin()[below(static_cast<unsigned>(all.size()))];
  }
  instruction draw_fence() {
    return {action::fence, words, one_of({acquire, release, acq_rel, seq_cst, seq_cst}), relaxed, 0, 0};
  }
  instruction draw_plain() {
    return {
        below(2) == 0 ? action::plain_load : action::plain_store, words, relaxed, relaxed, 1 + below(3), 0};
  }
  instruction draw_step(unsigned at) {
    const unsigned value = 1 + below(3);
    switch (below(8)) {
      case 0:
      case 1:
      case 2:
        return {action::load, at, one_of({relaxed, acquire, seq_cst}), relaxed, 0, 0};
      case 3:
      case 4:
        return {action::store, at, one_of({relaxed, release, seq_cst}), relaxed, value, 0};
      case 5:
        return {action::add, at, one_of({relaxed, acquire, release, acq_rel, seq_cst}), relaxed, value, 0};
      case 6:
        return {action::exchange, at,    one_of({relaxed, acquire, release, acq_rel, seq_cst}),
                relaxed,          value, 0};
      default:
        break;
    }
    // The checker lets one of an execution fail for no reason.
    const bool is_weak = !has_weak_ && below(2) == 0;
    has_weak_ |= is_weak;
    return {is_weak ? action::compare_exchange_weak : action::compare_exchange,
            at,
            one_of({relaxed, acquire, release, acq_rel, seq_cst}),
            one_of({relaxed, acquire, seq_cst}),
            value,
            below(3)};
  }

  std::mt19937_64 random_;
  bool is_sequential_ = false, has_weak_ = false;
};

struct memory {
  coracle::detail::atomic<unsigned> word[words];
  coracle::detail::plain<unsigned> cell[cells];
};
void run_step(const instruction& each, memory& all, std::string& seen) {
  if (each.does == action::fence)
    return coracle::testing::model::model_fence(each.strength, std::source_location::current());
  if (each.does == action::plain_store) return static_cast<void>(all.cell[each.at - words] = each.value);
  if (each.does == action::plain_load)
    return static_cast<void>(seen += std::to_string(all.cell[each.at - words]));
  coracle::detail::atomic<unsigned>& word = all.word[each.at];
  unsigned expected = each.expected;
  bool happens = false;
  switch (each.does) {
    case action::load:
      seen += std::to_string(word.load(each.strength));
      break;
    case action::store:
      word.store(each.value, each.strength);
      break;
    case action::add:
      seen += std::to_string(word.fetch_add(each.value, each.strength));
      break;
    case action::exchange:
      seen += std::to_string(word.exchange(each.value, each.strength));
      break;
    case action::compare_exchange:
      happens = word.compare_exchange_strong(expected, each.value, each.strength, each.on_failure);
      seen += happens ? "y" : std::to_string(expected);
      break;
    default:
      happens = word.compare_exchange_weak(expected, each.value, each.strength, each.on_failure);
      seen += happens ? "y" : std::to_string(expected);
  }
}
void run_program(const program& all) {
  memory shared;
  std::deque<std::string> seen(all.size());
  std::deque<model_thread> threads;
  for (std::size_t i = 0; i != all.size(); ++i) {
    threads.emplace_back([&all, &shared, &its = seen[i], i] {
      for (const instruction& each : all[i]) run_step(each, shared, its);
    });
  }
  for (model_thread& each : threads) each.join();
  std::string outcome;
  for (const std::string& each : seen) outcome += each + '/';
  for (auto& each : shared.word) outcome += std::to_string(each.load(order::relaxed));
  for (const auto& each : shared.cell) outcome += std::to_string(each);
  coracle::testing::model_record(outcome);
}

const char* name_of(order strength) {
  constexpr const char* names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  return names[static_cast<int>(strength)];
}
void print(const program& all) {
  constexpr const char* names[] = {
      "load",  "store",      "add",        "exchange", "compare_exchange", "weak compare_exchange",
      "fence", "plain load", "plain store"};
  for (std::size_t i = 0; i != all.size(); ++i) {
    std::printf("  thread %zu\n", i + 1);
    for (const instruction& each : all[i]) {
      std::printf("    %s at %u: value %u, expected %u, %s, on failure %s\n",
                  names[static_cast<int>(each.does)], each.at, each.value, each.expected,
                  name_of(each.strength), name_of(each.on_failure));
    }
  }
}
void print_missing(const char* what, const std::set<std::string>& in, const std::set<std::string>& of) {
  for (const std::string& each : of) {
    if (!in.contains(each)) std::printf("  %s %s\n", what, each.c_str());
  }
}

struct totals {
  std::uint64_t programs = 0, race = 0, executions = 0, outcomes = 0, not_in_order = 0, differ = 0;
};
/// A race makes all outcomes meaningless: in that case both must report one.
void compare(std::uint64_t seed, totals& sum) {
  const program each = drawing(seed).draw();
  const behaviour wanted = coracle_test::cxx20::behaviour_of(each, locations);
  const model_result found = coracle::testing::model_check([&] { run_program(each); });
  const bool found_race = found.failure.starts_with("data race");
  ++sum.programs;
  sum.executions += found.executions;
  sum.race += found_race;
  if (!wanted.may_race) {
    sum.outcomes += found.outcomes.size();
    sum.not_in_order += wanted.allowed.size() - wanted.in_order.size();
  }
  const bool agree =
      wanted.may_race_in_order ? found_race : found.passed && found.outcomes == wanted.in_order;
  if (agree || ++sum.differ > 5) return;
  std::printf("seed %llu: the checker and the axioms differ%s%s\n", static_cast<unsigned long long>(seed),
              found.failure.empty() ? "" : "; the checker says: ", found.failure.c_str());
  print(each);
  if (wanted.may_race_in_order != found_race)
    return static_cast<void>(
        std::printf("  only %s a race\n", found_race ? "the checker finds" : "by the axioms there is"));
  print_missing("the checker misses", found.outcomes, wanted.in_order);
  print_missing("the checker adds", wanted.in_order, found.outcomes);
}
}  // namespace

/// `program [MORE [FIRST]]`: MORE times as many seeds, from FIRST on.
int main(int argc, char** argv) {
  // `--mutants`: none of the shipped code is in these programs.
  if (argc > 1 && std::strcmp(argv[1], "--mutants") == 0) return 0;
  const std::uint64_t more = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  totals sum;
  for (std::uint64_t seed = first; seed != first + 3000 * (more + 1); ++seed) compare(seed, sum);
  std::printf(
      "%llu programs, %llu of them with a race: %llu outcomes, %llu more in no order of the steps, %llu "
      "differ\n",
      static_cast<unsigned long long>(sum.programs), static_cast<unsigned long long>(sum.race),
      static_cast<unsigned long long>(sum.outcomes), static_cast<unsigned long long>(sum.not_in_order),
      static_cast<unsigned long long>(sum.differ));
  std::printf("1 case, %llu executions, %d failed\n", static_cast<unsigned long long>(sum.executions),
              sum.differ != 0);
  return sum.differ == 0 ? 0 : 1;
}
