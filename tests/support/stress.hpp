// tests/support/stress.hpp -- the frame of a stress program: its count, its checks, its one line, its watchdog.
// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace coracle_test {
/// A stress program: `program [count]`. Prints one line; fails if a count is wrong, or if it hangs.
///
///     coracle_test::stress run("mutex", argc, argv, 100'000);
///     run.expect("increments", counter, 4 * run.count());
///     return run.finish();
class stress {
 public:
  stress(const char* name, int argc, char** argv, unsigned default_count)
      : name_(name), count_(argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : default_count) {
    if (count_ == 0) {
      std::fprintf(stderr, "usage: %s [count, at least 1]\n", name);
      std::exit(2);
    }
    std::signal(SIGALRM, &hangs);
    ::alarm(60 * std::max(1u, count_ / default_count));
  }
  stress(const stress&) = delete;
  stress& operator=(const stress&) = delete;

  [[nodiscard]] unsigned count() const noexcept { return count_; }
  [[nodiscard]] int int_count() const noexcept { return static_cast<int>(count_); }
  template <class Found, class Wanted>
  void expect(const char* what, Found found, Wanted wanted) {
    const auto got = static_cast<long long>(found), right = static_cast<long long>(wanted);
    line_ += " " + std::to_string(got) + " " + what;
    if (got != right) {
      line_ += " (WRONG: " + std::to_string(right) + " wanted)";
      failed_ = true;
    }
    line_ += ",";
  }
  /// For main() to return.
  [[nodiscard]] int finish() {
    line_.pop_back();
    std::printf("%s:%s%s\n", name_, line_.c_str(), failed_ ? "  FAILED" : "");
    return failed_ ? 1 : 0;
  }

 private:
  static void hangs(int) {
    constexpr char message[] = "FAILED: hangs, the watchdog's time is over\n";
    static_cast<void>(!::write(STDERR_FILENO, message, sizeof message - 1));
    std::_Exit(1);
  }

  const char* name_;
  unsigned count_;
  std::string line_;
  bool failed_ = false;
};
}  // namespace coracle_test
