// tour/index_station.cpp -- counts the words of a whole tree, on one thread and on all.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <thread>

#include "format.hpp"
#include "index.hpp"
#include "progress_bar.hpp"
#include "stations.hpp"

namespace tour {
namespace {
// A first run of that many seconds is not repeated, though the second one finds the files in the page cache
// and the first perhaps does not.
constexpr double long_run = 2;

double megabytes_per_second(const index_totals& run) {
  return run.seconds > 0 ? static_cast<double>(run.bytes) / run.seconds / 1e6 : 0;
}
bool same_counts(const index_totals& a, const index_totals& b) {
  return a.files == b.files && a.bytes == b.bytes && a.lines == b.lines && a.words == b.words &&
         a.top_words == b.top_words;
}

index_totals read_tree(const settings& given, std::size_t threads, std::uint64_t expected_bytes) {
  if (!given.interactive) return index_tree(given.tree, threads, {});
  const progress_bar bar(expected_bytes, given.width);
  return index_tree(given.tree, threads,
                    [&bar](const progress& now) { bar.show(now.files_done, now.bytes_done); });
}

void show_totals(section& page, const index_totals& run) {
  page.add(table{"",
                 {"files", "lines", "words", "bytes"},
                 {{grouped(run.files), grouped(run.lines), grouped(run.words), grouped(run.bytes)}}});
  page.measured("files", static_cast<double>(run.files), "files");
  page.measured("lines", static_cast<double>(run.lines), "lines");
  page.measured("words", static_cast<double>(run.words), "words");
  page.measured("bytes", static_cast<double>(run.bytes), "bytes");
}

void show_names(section& page, const index_totals& run) {
  if (run.top_words.empty()) return;
  bar_chart names{"The most frequent words, of letters, digits and _", "times", {}};
  for (const auto& [name, count] : run.top_words) {
    names.bars.push_back({printable(name), static_cast<double>(count), grouped(count)});
  }
  page.add(std::move(names));
}

void show_skipped(section& page, const index_totals& run) {
  std::uint64_t all = 0;
  table reasons{"", {"skipped, because", "files"}, {}};
  for (const skip_count& each : run.skipped) {
    all += each.files;
    reasons.rows.push_back({printable(each.reason), grouped(each.files)});
  }
  page.measured("skipped", static_cast<double>(all), "files");
  if (reasons.rows.empty()) return page.say("No file was skipped.");
  page.add(std::move(reasons));
}

void show_speed(section& page, const index_totals& one, const index_totals& all, std::size_t threads) {
  const auto row = [](std::size_t count, const index_totals& run) {
    const double speed = megabytes_per_second(run);
    return bar{plural(count, "thread"), speed, fixed(speed, 0) + " MB/s, " + fixed(run.seconds, 2) + " s"};
  };
  page.add(bar_chart{"Speed", "MB/s", {row(1, one), row(threads, all)}});
  const double speed_up = all.seconds > 0 ? one.seconds / all.seconds : 1;
  page.say("Speed-up over one thread: " + times(speed_up) + ", with " + plural(threads, "thread") +
           ". Other programs on this machine share its processors.");
  page.measured("one_thread.seconds", one.seconds, "s");
  page.measured("one_thread.speed", megabytes_per_second(one), "MB/s");
  page.measured("all_threads.seconds", all.seconds, "s");
  page.measured("all_threads.speed", megabytes_per_second(all), "MB/s");
  page.measured("threads", static_cast<double>(threads), "threads");
  page.measured("speed_up", speed_up, "times");
}

// A tree may change while it is read: then two runs on one thread differ as well.
void check_counts(section& page, const settings& given, const index_totals& one, const index_totals& all) {
  bool same = same_counts(one, all);
  if (!same && !same_counts(one, read_tree(given, 1, one.bytes))) {
    return page.say("The tree changes while it is read, so the runs cannot be compared.");
  }
  page.check(same, "One thread and all threads counted the same.");
}
}  // namespace

void show_index(section& page, const settings& given) {
  const std::size_t threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  page.say("Every text file below " + printable(given.tree.string()) +
           ", each read by a coroutine on a static_thread_pool, counted and added up.");
  const index_totals first = read_tree(given, threads, 0);
  show_totals(page, first);
  show_names(page, first);
  show_skipped(page, first);
  const bool repeats = first.seconds < long_run;
  page.say("The first run, on all threads, took " + fixed(first.seconds, 2) + " s. Now " +
           (repeats ? "once more on one thread and on all:" : "the same on one thread:"));
  const index_totals one = read_tree(given, 1, first.bytes);
  const index_totals all = repeats ? read_tree(given, threads, first.bytes) : first;
  page.measured("first_run.seconds", first.seconds, "s");
  show_speed(page, one, all, threads);
  check_counts(page, given, one, all);
}
}  // namespace tour
