// bench/scenario/main.cpp -- runs the scenario named on the command line, for the table of tools/bench.py.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>

#include "scenario.hpp"

#ifndef CORACLE_BENCH_FLAGS
#define CORACLE_BENCH_FLAGS "not said"
#endif
#ifdef __clang__
#define CORACLE_BENCH_COMPILER "clang++ " __clang_version__
#else
#define CORACLE_BENCH_COMPILER "g++ " __VERSION__
#endif

namespace coracle_bench {
namespace {
struct entry {
  const char* name;
  void (*function)(scenario&);
  bool grows;
};
// Filled before main() by static objects of other files, and therefore made when first used.
std::vector<entry>& entries() {
  static std::vector<entry> all;
  return all;
}
struct fact {
  const char* name;
  const char* value;
};
std::vector<fact>& facts() {
  static std::vector<fact> all{{"compiler", CORACLE_BENCH_COMPILER}, {"flags", CORACLE_BENCH_FLAGS}};
  return all;
}

/// The peak resident memory since this program was started. That of getrusage() would include the peak of the
/// process before it executed this program.
long peak_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10) * 1024;
  }
  std::fputs("bench_scenarios: /proc/self/status has no line VmHWM\n", stderr);
  std::exit(1);
}

int list() {
  std::printf("{\"context\": {");
  const char* separator = "";
  for (const fact& each : facts()) {
    std::printf("%s\"%s\": \"%s\"", std::exchange(separator, ", "), each.name, each.value);
  }
  std::printf("}, \"scenarios\": {");
  std::ranges::sort(entries(), {}, [](const entry& each) { return std::string_view{each.name}; });
  separator = "";
  for (const entry& each : entries()) {
    std::printf("%s\"%s\": {\"grows\": %s}", std::exchange(separator, ", "), each.name,
                each.grows ? "true" : "false");
  }
  std::puts("}}");
  return 0;
}

int usage() {
  std::fputs("usage: bench_scenarios --list | NAME [SCALE]\n", stderr);
  return 2;
}

int run(const char* name, long scale) {
  const auto found = std::ranges::find_if(
      entries(), [name](const entry& each) { return std::strcmp(each.name, name) == 0; });
  if (found == entries().end()) {
    std::fprintf(stderr, "bench_scenarios: there is no scenario %s; --list shows those there are\n", name);
    return 2;
  }
  if (scale != 1 && !found->grows) {
    std::fprintf(stderr, "bench_scenarios: %s has one size only\n", name);
    return 2;
  }
  scenario its{scale};
  found->function(its);
  its.report();
  return 0;
}
}  // namespace

registered_scenario::registered_scenario(const char* name, void (*function)(scenario&), bool grows) {
  entries().push_back({name, function, grows});
}
registered_version::registered_version(const char* name, const char* version) {
  facts().push_back({name, version});
}

double scenario::cpu_seconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
void scenario::expect(bool right, std::string_view what) const {
  if (right) return;
  std::fprintf(stderr, "bench_scenarios: the result is wrong; expected: %.*s\n",
               static_cast<int>(what.size()), what.data());
  std::exit(1);
}
void scenario::report() {
  expect(wall_seconds_ > 0, "the scenario calls measure()");
  std::printf("{\"wall_ms\": %.6f, \"cpu_ms\": %.6f, \"peak_mib\": %.3f", wall_seconds_ * 1e3,
              cpu_seconds_ * 1e3, static_cast<double>(peak_bytes()) / (1 << 20));
  if (!waits_.empty()) {
    std::ranges::sort(waits_);
    const auto at = [this](std::size_t percent) {
      return static_cast<double>(waits_[(waits_.size() - 1) * percent / 100].count()) * 1e-3;
    };
    std::printf(", \"p50_us\": %.3f, \"p99_us\": %.3f", at(50), at(99));
  }
  std::puts("}");
}
}  // namespace coracle_bench

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) return coracle_bench::list();
  if (argc != 2 && argc != 3) return coracle_bench::usage();
  char* end = nullptr;
  const long scale = argc == 3 ? std::strtol(argv[2], &end, 10) : 1;
  if (scale < 1 || (end && *end != '\0')) return coracle_bench::usage();
  return coracle_bench::run(argv[1], scale);
}
