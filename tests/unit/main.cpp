#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

// A test forks a child to check the message with which it ends; that child may start threads of its own.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace {
// The slowest test takes some 20, with ThreadSanitizer on a busy machine.
constexpr unsigned most_seconds = 150;

/// Ends the program where a test hangs: doctest then says which test was running.
struct hang_watch final : doctest::IReporter {
  explicit hang_watch(const doctest::ContextOptions&) {
    std::signal(SIGALRM, [](int) { std::abort(); });
  }
  void test_case_start(const doctest::TestCaseData&) override { ::alarm(most_seconds); }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override { ::alarm(0); }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("hang_watch", 1, hang_watch);
}  // namespace
