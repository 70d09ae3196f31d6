// examples/19_stream.cpp -- a pipeline that fetches three pages concurrently and shows them in order.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>
#include <string>

namespace streams = coracle::streams;
using namespace std::chrono_literals;

coracle::async_generator<std::string> addresses() {
  for (int i = 0;; ++i) co_yield "page " + std::to_string(i);
}

// Odd pages are slow.
coracle::task<std::string> fetch(std::string address) {
  co_await coracle::sleep_for(address.back() % 2 == 0 ? 1ms : 5ms);
  co_return address + ": hello";
}

coracle::task<> browse() {
  const auto show = [](const std::string& page) { std::puts(page.c_str()); };
  co_await (addresses() | streams::map(fetch) | streams::buffered(3) | streams::take(5) |
            streams::for_each(show));
}

// A sender to a full channel waits until the pipeline at the other end has caught up.
coracle::task<> count(coracle::channel<int>& numbers) {
  for (int i = 1; i <= 9; ++i) co_await numbers.send(i);
  numbers.close();
}
coracle::task<> add_in_threes(coracle::channel<int>& numbers) {
  const auto sum = [](const std::vector<int>& three) { return three[0] + three[1] + three[2]; };
  const auto sums = co_await (numbers | streams::chunk(3) | streams::map(sum) | streams::collect());
  for (const int each : sums) std::printf("sum %d\n", each);
}

int main() {
  coracle::sync_wait(browse());
  coracle::channel<int> numbers{2};
  coracle::sync_wait(coracle::when_all(count(numbers), add_in_threes(numbers)));
}

// Output:
//   page 0: hello
//   page 1: hello
//   page 2: hello
//   page 3: hello
//   page 4: hello
//   sum 6
//   sum 15
//   sum 24
