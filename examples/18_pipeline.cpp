// examples/18_pipeline.cpp -- three stages of different speed; channels apply backpressure and bound memory.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>
#include <string>

/// The number of pages in the pipeline, and its maximum.
struct gauge {
  int now = 0, most = 0;
  void up() { most = ++now > most ? now : most; }
  void down() { --now; }
};
struct page {
  int number;
  std::string text;
};

constexpr int pages = 1000;

coracle::task<> read_pages(coracle::channel<page>& to, gauge& in_flight) {
  for (int i = 1; i <= pages; ++i) {
    in_flight.up();
    page next{i, "page " + std::to_string(i)};
    co_await to.send(std::move(next));  // waits while four pages are queued to be counted
  }
  to.close();
}

coracle::task<> count_letters(coracle::channel<page>& from, coracle::channel<int>& to, gauge& in_flight) {
  while (auto next = co_await from.recv()) {  // until it is closed and drained
    co_await to.send(static_cast<int>(next->text.size()));
    in_flight.down();
  }
  to.close();
}

coracle::task<int> add_up(coracle::run_loop& loop, coracle::channel<int>& from) {
  int sum = 0;
  while (auto letters = co_await from.recv()) {
    for (int i = 0; i != 10; ++i) co_await loop.schedule();  // the slowest stage sets the pace
    sum += *letters;
  }
  co_return sum;
}

coracle::task<> run(coracle::run_loop& loop) {
  const auto stop_at_end = coracle::on_scope_exit([&] { loop.stop(); });  // after an error, too
  co_await loop.schedule();
  coracle::channel<page> read{4};
  coracle::channel<int> counted{2};
  gauge in_flight;
  auto [a, b, letters] = co_await coracle::when_all(
      read_pages(read, in_flight), count_letters(read, counted, in_flight), add_up(loop, counted));
  std::printf("%d pages, %d letters\n", pages, letters);
  std::printf("at most %d pages in memory at once\n", in_flight.most);
}

int main() {
  coracle::run_loop loop;
  const auto all = [&]() -> coracle::task<> {
    loop.run();
    co_return;
  };
  coracle::sync_wait(coracle::when_all(run(loop), all()));
}

// Output:
//   1000 pages, 7893 letters
//   at most 6 pages in memory at once
