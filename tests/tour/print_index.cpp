// tests/tour/print_index.cpp -- prints the index of a tree, a fact a line, for run_index_tests.sh.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "../../tour/index.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: print_index THREADS PATH\n", stderr);
    return 2;
  }
  tour::progress last;
  bool went_back = false;
  const auto watch = [&](const tour::progress& now) {
    went_back |= now.files_done < last.files_done || now.bytes_done < last.bytes_done;
    last = now;
  };
  const tour::index_totals totals = tour::index_tree(argv[2], std::strtoul(argv[1], nullptr, 10), watch);

  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("files %llu\nlines %llu\nwords %llu\nbytes %llu\n", number(totals.files), number(totals.lines),
              number(totals.words), number(totals.bytes));
  for (const auto& [name, count] : totals.top_words)
    std::printf("name %llu %s\n", number(count), name.c_str());
  for (const auto& [reason, files] : totals.skipped)
    std::printf("skipped %llu %s\n", number(files), reason.c_str());
  if (went_back || totals.seconds <= 0 || last.files_done != totals.files ||
      last.bytes_done != totals.bytes) {
    std::fputs("print_index: the progress reported does not lead to the totals, or no time passed\n", stderr);
    return 1;
  }
  return 0;
}
