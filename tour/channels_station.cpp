// tour/channels_station.cpp -- fan-in through a bounded channel, its fill level, and a select of three.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/time/sleep.hpp>
#include <cstdint>
#include <optional>
#include <variant>

#include "format.hpp"
#include "stations.hpp"

namespace tour {
namespace {
using coracle::task;
using namespace std::chrono_literals;

constexpr std::size_t capacity = 16;
constexpr int senders = 4, each_sends = 150;
constexpr std::int64_t all_sent = senders * each_sends;
constexpr int numbers = 2000, numbers_of_a_burst = 20, signals = 50;

/// Both ends report here what they begin to send, and what they have received.
struct fan_in {
  coracle::channel<std::int64_t> elements{capacity};
  std::vector<double> levels;
  int sending = senders;
  std::uint64_t waited = 0;  ///< sends that found the channel full
  std::int64_t offered = 0, received = 0, sum = 0;

  void changed() { levels.push_back(static_cast<double>(offered - received)); }
};

task<> send_all(fan_in& at, std::int64_t first) {
  for (std::int64_t i = first; i != first + each_sends; ++i) {
    ++at.offered;
    at.changed();
    if (!at.elements.try_send(i)) {
      ++at.waited;
      co_await at.elements.send(i);
    }
    co_await coracle::this_task::yield();
  }
  if (--at.sending == 0) at.elements.close();
}
/// Slow in the first and in the last third.
task<> receive_all(fan_in& at) {
  while (const std::optional<std::int64_t> element = co_await at.elements.recv()) {
    at.sum += *element;
    ++at.received;
    at.changed();
    const bool slow = at.received < all_sent / 3 || at.received > all_sent * 2 / 3;
    for (int i = 0; slow && i != 2; ++i) co_await coracle::this_task::yield();
  }
}
task<> fan_in_from_all(fan_in& at) {
  std::vector<task<>> all;
  for (int i = 0; i != senders; ++i) all.push_back(send_all(at, i * each_sends));
  all.push_back(receive_all(at));
  co_await coracle::when_all(std::move(all));
}

void show_fan_in(section& page) {
  page.say(
      grouped(senders) + " senders and one receiver share a channel<int> of " + grouped(capacity) +
      " elements. The receiver is slow at first, then faster than all senders together, then slow again. "
      "A send waits while the channel is full:");
  fan_in seen;
  coracle::io_service io;
  io.run(fan_in_from_all(seen));
  const double highest = *std::max_element(seen.levels.begin(), seen.levels.end());
  page.add(level_chart{"Elements in the channel, and those whose senders wait",
                       "after each send and each receive", seen.levels, static_cast<double>(capacity),
                       "the capacity, above which senders wait"});
  page.say(grouped(seen.waited) + " of " + grouped(static_cast<std::uint64_t>(seen.offered)) +
           " sends had to wait. That is backpressure: it bounds memory, and no sender counts anything.");
  page.check(
      highest <= capacity + senders + 1,
      "At most " + grouped(static_cast<std::uint64_t>(highest)) +
          " elements were under way: " + grouped(capacity) +
          " in the channel, one for each sender that waits, and one that the receiver has been given.");
  page.check(seen.sum == all_sent * (all_sent - 1) / 2 && seen.received == all_sent,
             "All " + grouped(static_cast<std::uint64_t>(seen.received)) + " elements arrived, each once.");
  page.measured("fan_in.highest", highest, "elements");
  page.measured("fan_in.waited", static_cast<double>(seen.waited), "sends");
}

struct chosen {
  coracle::channel<int> values{4}, signals{1};
  std::uint64_t value = 0, signal = 0, timer = 0;  ///< how often that branch was taken
  std::int64_t sum = 0;
};

task<> send_values(chosen& at) {
  for (int i = 1; i <= numbers; ++i) {
    co_await at.values.send(i);
    if (i % numbers_of_a_burst == 0) co_await coracle::sleep_for(300us);
  }
  at.values.close();
}
task<> send_signals(chosen& at) {
  for (int i = 0; i != signals; ++i) {
    co_await at.signals.send(i);
    co_await coracle::sleep_for(100us);
  }
}
task<> take_whichever(chosen& at) {
  for (bool open = true; open;) {
    const auto first =
        co_await coracle::select(at.signals.recv(), at.values.recv(), coracle::sleep_for(150us));
    if (first.index() == 0) {
      ++at.signal;
    } else if (first.index() == 2) {
      ++at.timer;
    } else if (const std::optional<int>& value = std::get<1>(first)) {
      ++at.value;
      at.sum += *value;
    } else {
      open = false;
    }
  }
  while (at.signal != signals) {
    co_await at.signals.recv();
    ++at.signal;
  }
}

void show_select(section& page) {
  page.say("A select waits for several channels and a timer at once, and takes exactly one of them:");
  page.add(
      listing{"auto first = co_await select(\n"
              "    signals.recv(),\n"
              "    values.recv(),\n"
              "    sleep_for(150us));\n"});
  chosen seen;
  coracle::io_service io;
  io.run(coracle::when_all(send_values(seen), send_signals(seen), take_whichever(seen)));
  const auto row = [](const char* name, std::uint64_t count) {
    return bar{name, static_cast<double>(count), grouped(count)};
  };
  page.add(bar_chart{"The branch that was taken",
                     "times",
                     {row("signals.recv()", seen.signal), row("values.recv()", seen.value),
                      row("sleep_for(150us)", seen.timer)}});
  page.check(seen.value == numbers && seen.sum == std::int64_t{numbers} * (numbers + 1) / 2 &&
                 seen.signal == signals,
             "All " + grouped(seen.value) + " values and " + grouped(seen.signal) +
                 " signals arrived, each once: a branch that lost had taken nothing.");
  page.measured("select.values", static_cast<double>(seen.value), "times");
  page.measured("select.signals", static_cast<double>(seen.signal), "times");
  page.measured("select.timers", static_cast<double>(seen.timer), "times");
}
}  // namespace

void show_channels(section& page, const settings&) {
  show_fan_in(page);
  show_select(page);
}
}  // namespace tour
