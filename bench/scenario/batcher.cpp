// bench/scenario/batcher.cpp -- collects items until there are a hundred, or a millisecond has passed.
// SPDX-License-Identifier: MIT
#include "batcher.hpp"

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <thread>

#include "blocking_queue.hpp"

namespace {
using coracle::task;
using namespace coracle_bench;

task<> produce(coracle::channel<item>& to) {
  coracle::interval ticks{between_groups};
  for (long group = 0; group != item_groups; ++group) {
    co_await ticks.tick();
    for (int i = 0; i != items_of_group; ++i) co_await to.send(clock::now());
  }
  to.close();
}
/// Appends to `batch` until it is full or the time is up. Returns false if the channel is closed and drained.
task<bool> collect(coracle::channel<item>& from, std::vector<item>& batch) {
  const auto first = co_await from.recv();
  if (!first) co_return false;
  batch.push_back(*first);
  const auto end = coracle::steady_now() + longest_wait;
  while (batch.size() != items_of_batch) {
    const auto next = co_await coracle::select(from.recv(), coracle::sleep_until(end));
    if (next.index() != 0) break;
    const auto& came = std::get<0>(next);
    if (!came) break;
    batch.push_back(*came);
  }
  co_return true;
}
task<> write_batches(coracle::channel<item>& from, batch_writer& writer) {
  std::vector<item> batch;
  while (co_await collect(from, batch)) {
    writer.write(batch);
    batch.clear();
  }
}
void batcher(scenario& run) {
  coracle::io_service io;
  coracle::channel<item> items{item_places};
  batch_writer writer;
  run.measure([&] { io.run(coracle::when_all(produce(items), write_batches(items, writer))); });
  writer.finish(run);
}

void threads_batcher(scenario& run) {
  blocking_queue<item> items{item_places};
  batch_writer writer;
  run.measure([&] {
    std::thread producer{[&] {
      auto next = clock::now();
      for (long group = 0; group != item_groups; ++group) {
        std::this_thread::sleep_until(next += between_groups);
        for (int i = 0; i != items_of_group; ++i) items.put(clock::now());
      }
      items.close();
    }};
    std::vector<item> batch;
    while (const auto first = items.take()) {
      batch.push_back(*first);
      const auto end = clock::now() + longest_wait;
      while (batch.size() != items_of_batch) {
        const auto next = items.take_until(end);
        if (!next) break;
        batch.push_back(*next);
      }
      writer.write(batch);
      batch.clear();
    }
    producer.join();
  });
  writer.finish(run);
}

CORACLE_SCENARIO(batcher);
CORACLE_SCENARIO(threads_batcher);
}  // namespace
