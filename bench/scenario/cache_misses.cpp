// bench/scenario/cache_misses.cpp -- lookups in more memory than the caches hold: sequential, with
// hand-written interleaved state machines (AMAC), and with interleave().
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lookup_tables.hpp"

namespace {
using namespace cache_misses;

constexpr std::size_t groups[] = {16, 32, 48, 64, 96, 128};
constexpr std::size_t largest_group = 128;

/// Interleaves state machines of type `State`: begin(query), then step() until it returns true.
template <class Table, class State>
[[gnu::noinline]] void by_hand(const Table& table, std::span<query> all, std::size_t group) {
  State states[largest_group];
  std::size_t next = 0, running = 0;
  for (; running != group && next != all.size(); ++running, ++next) states[running].begin(table, all[next]);
  for (std::size_t i = 0; next != all.size(); i = i + 1 == running ? 0 : i + 1) {
    if (states[i].step(table)) states[i].begin(table, all[next++]);
  }
  while (running != 0) {
    for (std::size_t i = 0; i != running;) {
      if (states[i].step(table)) {
        states[i] = states[--running];
      } else {
        ++i;
      }
    }
  }
}
/// How much of this process's memory is in huge pages.
std::size_t huge_mebibytes() {
  std::ifstream all{"/proc/self/smaps_rollup"};
  std::string word;
  std::size_t kibibytes = 0;
  while (all >> word) {
    if (word == "AnonHugePages:") all >> kibibytes;
  }
  return kibibytes >> 10;
}

/// The processor time of this thread, which other threads on the same core do not affect.
double processor_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// The nanoseconds per lookup of one method, in each round.
class times {
 public:
  template <class Table, class Work>
  void measure(const Table& table, std::span<query> all, Work work) {
    // Fresh keys, so that no round profits from lines that another one brought into the cache.
    static number first = 0;
    for (query& each : all) each = {table.key(first++), ~number{0}};
    const double start = processor_nanoseconds();
    work();
    rounds_.push_back((processor_nanoseconds() - start) / static_cast<double>(all.size()));
    for (std::size_t i = 0; i < all.size(); i += 64) {
      query wanted{all[i].key, 0};
      table.find(wanted);
      if (wanted.found == all[i].found) continue;
      std::fprintf(stderr, "%s: query %zu found something else\n", Table::name, i);
      std::exit(1);
    }
  }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = rounds_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }

 private:
  std::vector<double> rounds_;
};

/// Runs all methods in turn, round by round, so that a disturbance of the machine affects all of them.
template <class Table>
void run(std::size_t bytes) {
  constexpr int rounds = 7;
  const Table table{bytes};
  std::printf("%s: %zu MiB in huge pages\n", Table::name, huge_mebibytes());
  std::vector<query> all(std::size_t{1} << 18);
  const auto make = [&table](auto& elements) { return Table::find_all(elements, table); };
  times naive, tuned, hand[std::size(groups)], ours[std::size(groups)];
  for (int round = 0; round != rounds; ++round) {
    naive.measure(table, all, [&] {
      for (query& each : all) table.find(each);
    });
    for (std::size_t i = 0; i != std::size(groups); ++i) {
      hand[i].measure(table, all, [&] { by_hand<Table, typename Table::state>(table, all, groups[i]); });
      ours[i].measure(table, all, [&] { coracle::interleave(groups[i], all, make); });
    }
    tuned.measure(table, all, [&] { coracle::interleave(all, make); });
  }
  const double base = naive.median();
  std::printf("  one by one %8.1f ns\n", base);
  const auto line = [base](const std::string& group, double by_hand, double interleaved) {
    std::printf("  group %-4s by hand %8.1f ns x%.2f   interleave %8.1f ns x%.2f   ratio %.2f\n",
                group.c_str(), by_hand, base / by_hand, interleaved, base / interleaved,
                by_hand / interleaved);
  };
  double best_hand = base, best_ours = base;
  for (std::size_t i = 0; i != std::size(groups); ++i) {
    line(std::to_string(groups[i]), hand[i].median(), ours[i].median());
    best_hand = std::min(best_hand, hand[i].median());
    best_ours = std::min(best_ours, ours[i].median());
  }
  line("best", best_hand, best_ours);
  line("auto", best_hand, tuned.median());
}
}  // namespace

/// bench_cache_misses [MiB, 1024 by default [the beginning of one table's name]]
int main(int argc, char** argv) {
  const std::size_t bytes = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024) << 20;
  if (bytes == 0) {
    std::fputs("usage: bench_cache_misses [MiB, at least 1 [the beginning of one table's name]]\n", stderr);
    return 2;
  }
  const std::string_view wanted = argc > 2 ? argv[2] : "";
  if (std::string_view{hash_table::name}.starts_with(wanted)) run<hash_table>(bytes);
  if (std::string_view{sorted_array::name}.starts_with(wanted)) run<sorted_array>(bytes);
  if (std::string_view{linked_list::name}.starts_with(wanted)) run<linked_list>(bytes);
  if (std::string_view{indexed_rows::name}.starts_with(wanted)) run<indexed_rows>(bytes);
}
