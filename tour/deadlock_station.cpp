// tour/deadlock_station.cpp -- two transfers that wait for each other, and how the program sees it.
// SPDX-License-Identifier: MIT
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/inspect/live_coroutines.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/poll.hpp>
#include <cstring>
#include <functional>

#include "clock.hpp"
#include "format.hpp"
#include "stations.hpp"

namespace tour {
namespace {
using coracle::async_mutex;
using coracle::task;

// Their names are in the symbol table.
async_mutex savings;
async_mutex checking;

task<> transfer(async_mutex& from, async_mutex& to) {
  const auto debit = co_await from.scoped_lock_async();
  co_await coracle::this_task::yield();  // as a transfer that asks a database
  const auto credit = co_await to.scoped_lock_async();
}
task<> transfer_in_order(async_mutex& from, async_mutex& to) {
  const bool begins_here = std::less<>{}(&from, &to);
  auto moved = begins_here ? transfer(from, to) : transfer(to, from);
  co_await std::move(moved);
}

/// Runs what can run. Returns true if the whole has ended; otherwise nobody will wake what is left.
template <class Polled>
bool run_to_the_end(Polled& polled) {
  bool ended = polled.run();
  while (!ended && polled.woken()) ended = polled.run();
  return ended;
}

/// Without the addresses for addr2line and the namespace; what is behind a wait is on a line of its own.
std::string short_enough(std::string text) {
  for (std::size_t at; (at = text.find("  (")) != std::string::npos;)
    text.erase(at, text.find(')', at) + 1 - at);
  for (std::size_t at; (at = text.find("tour::")) != std::string::npos;)
    text.erase(at, std::strlen("tour::"));
  for (std::size_t at = 0; (at = text.find("; ", at)) != std::string::npos;) text.replace(at, 2, "\n    ");
  for (std::size_t at = 0; (at = text.find("  waits", at)) != std::string::npos; at += 7)
    text.replace(at, 1, "\n   ");
  return text;
}

void show_waits(section& page) {
  const stopwatch watch;
  const std::string seen = coracle::live_coroutines();
  const double nanoseconds = watch.nanoseconds();
  if (!seen.starts_with("2 coroutines:")) {  // under a sanitizer, or without a symbol table
    page.say("What waits for what is not known in this build: " + seen);
    page.measured("seen", 0, "coroutines");
    return;
  }
  page.say(
      "The frames are still in memory. live_coroutines() finds them there, and names what they wait for:");
  const std::string shown = short_enough(seen);
  page.add(listing{shown});
  page.check(
      shown.find("transfer\n    waits to lock async_mutex checking\n    transfer has its address\n") !=
              std::string::npos &&
          shown.find("transfer\n    waits to lock async_mutex savings\n    transfer has its address\n") !=
              std::string::npos,
      "Each transfer waits for the mutex that the other one holds: found in " + duration(nanoseconds) +
          ", without a list that coroutines would have to join.");
  page.measured("seen", 2, "coroutines");
  page.measured("search", nanoseconds, "ns");
}
}  // namespace

void show_deadlock(section& page, const settings&) {
  page.say(
      "Two transfers run at the same time, from savings to checking and back. Each locks both accounts:");
  page.add(
      listing{"task<> transfer(mutex& from, mutex& to) {\n"
              "  auto debit = co_await from.lock();\n"
              "  co_await ask_database();  // others run\n"
              "  auto credit = co_await to.lock();\n"
              "}\n"});
  {
    auto polled =
        coracle::testing::poll(coracle::when_all(transfer(savings, checking), transfer(checking, savings)));
    page.check(
        !run_to_the_end(polled),
        "Neither transfer has ended, and nothing will wake them. No thread is blocked, so a debugger's "
        "list of threads shows nothing.");
    show_waits(page);
    polled.request_stop();
    page.check(run_to_the_end(polled), "A stop request cancels both waits, and both locks are released.");
  }
  auto polled = coracle::testing::poll(
      coracle::when_all(transfer_in_order(savings, checking), transfer_in_order(checking, savings)));
  page.check(run_to_the_end(polled), "If every transfer locks the same account first, both end.");
  page.say(
      "Of another process, also of one that nobody has prepared, `coracle-ps --deadlocks PID` shows the "
      "same, "
      "with the lines of the source.");
}
}  // namespace tour
