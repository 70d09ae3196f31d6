// examples/20_hedged_requests.cpp -- ask a second replica if the first is slow; retry later.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

// A fake service with three replicas, in virtual time: a slow one, a fast one, and one that is down.
coracle::task<std::string> ask(unsigned replica) {
  static constexpr std::chrono::milliseconds answer_time[] = {500ms, 20ms, 1ms};
  try {
    co_await coracle::throwing(coracle::sleep_for(answer_time[replica]));  // else a loser is destroyed here
  } catch (const coracle::operation_cancelled& stopped) {
    std::printf("  replica %u: %s\n", replica, stopped.what());
    throw;
  }
  if (replica == 2) throw std::runtime_error("replica 2 is down");
  co_return "an answer of replica " + std::to_string(replica);
}

coracle::task<> requests() {
  std::puts("the first replica is slow, so the second is asked after 50 ms:");
  const std::string answer = co_await coracle::hedge(50ms, ask);
  std::printf("  %s\n", answer.c_str());

  std::puts("the last replica is down, so the request is made again, later:");
  unsigned attempts = 0;
  const auto attempt = [&] { return ask(attempts++ == 0 ? 2 : 1); };
  const std::string later = co_await coracle::retry({.max_attempts = 3, .first_delay = 100ms}, attempt);
  std::printf("  %s, attempt %u\n", later.c_str(), attempts);

  std::puts("whatever happens the clean-up is awaited:");
  const auto say_goodbye = []() -> coracle::task<> {
    co_await coracle::sleep_for(10ms);
    std::puts("  goodbye");
  };
  try {
    co_await coracle::timeout(coracle::async_finally(ask(0), say_goodbye, 1s), 100ms);
  } catch (const coracle::timed_out& error) {
    std::printf("  %s\n", error.what());
  }
}

int main() {
  coracle::testing::virtual_time_loop loop;
  loop.run(requests());
}

// Output:
//   the first replica is slow, so the second is asked after 50 ms:
//     replica 0: operation cancelled: another has won the race
//     an answer of replica 1
//   the last replica is down, so the request is made again, later:
//     an answer of replica 1, attempt 2
//   whatever happens the clean-up is awaited:
//     replica 0: operation cancelled: its deadline has passed
//     goodbye
//     timed out
