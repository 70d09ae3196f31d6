// tests/debugger/crashing.cpp -- crashes below several awaits, with install_crash_handler(), or says where.
// SPDX-License-Identifier: MIT
#include <sys/resource.h>
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {
using namespace coracle;

volatile int zero = 0;
[[gnu::noinline]] int overflow_stack(int depth) {
  if (depth < zero) return 0;
  volatile char page[4096];
  page[0] = static_cast<char>(depth);
  return overflow_stack(depth + 1) + page[0];
}
[[noreturn, gnu::noinline]] void refuse() { throw std::runtime_error("no such account"); }
[[gnu::noinline]] void give_up() noexcept { refuse(); }
[[gnu::noinline]] int fail(std::string_view how) {
  if (how == "segmentation" || how == "replaced")
    return *const_cast<volatile int*>(static_cast<int*>(nullptr));
  if (how == "division") return 100 / zero;
  if (how == "abort") std::abort();
  if (how == "check") coracle::detail::fail("a precondition is violated");
  if (how == "terminate") give_up();
  if (how == "overflow") return overflow_stack(0);
  if (how == "uncaught") refuse();
  return 0;
}

task<int> read_balance(std::string_view how) {
  co_await this_task::yield();
  const int balance = fail(how);
  if (how == "trace") std::fputs((co_await this_task::stacktrace()).to_string().c_str(), stderr);
  co_return balance;
}
task<std::string> describe(std::string_view how) { co_return std::to_string(co_await read_balance(how)); }
template <class T>
task<T> total(std::string_view how) {
  const auto [first, second] = co_await when_all(describe(how), describe("well"));
  co_return static_cast<T>(first.size() + second.size());
}
struct bank {
  static_thread_pool& pool;

  task<> report(std::string_view how) const {
    co_await pool.schedule();
    std::printf("%d\n", co_await total<int>(how));
  }
};
}  // namespace

int main(int count, char** arguments) {
  const std::string_view how = count == 2 ? arguments[1] : "";
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  install_crash_handler();
  trace_exceptions();
  if (how == "replaced") unlink(arguments[0]);  // as by an installation of a newer version
  if (how == "outside") return fail("segmentation");
  static_thread_pool pool(1);
  if (how == "overflow") {  // on the thread that has a stack for signals
    sync_wait(describe(how));
  } else {
    sync_wait(bank{pool}.report(how));
  }
}
