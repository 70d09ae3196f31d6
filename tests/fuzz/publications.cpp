// tests/fuzz/publications.cpp -- broadcast and watch against a list of all values: a slow subscriber learns
// how many it missed.
// SPDX-License-Identifier: MIT
#include <array>
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/watched_value.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <optional>

#include "parties.hpp"

namespace {
using coracle_test::fuzz_input;
using coracle_test::must;

/// The values are 0, 1, 2 ..., so a value is its place in the list.
enum class ending { received, missed, over, cancelled };
struct found {
  ending how = ending::over;
  std::uint64_t number = 0;  // the value, or how many were missed
  friend bool operator==(const found&, const found&) = default;
};
using party = coracle_test::party<found>;

/// The last `capacity` values are kept for who is slow.
struct broadcasting {
  using reader = coracle::broadcast_subscription<std::uint64_t>;
  explicit broadcasting(fuzz_input& input)
      : capacity(1 + input.below(4)), its(static_cast<std::size_t>(capacity)) {}

  reader read() { return its.subscribe(); }
  void end() { its.close(); }
  /// False: it has ended.
  bool publish(std::uint64_t value) {
    try {
      its.send(value);
    } catch (const coracle::channel_closed&) {
      return false;
    }
    return true;
  }
  static coracle::task<found> next(reader& from) {
    found result{ending::cancelled, 0};
    try {
      const auto got = co_await from.recv();
      result = got ? found{ending::received, *got} : found{};
    } catch (const coracle::lagged& late) {
      result = {ending::missed, late.lost()};
    } catch (const coracle::operation_cancelled&) {
    }
    co_return result;
  }
  /// What comes next for who has seen the first `seen` of `count` values.
  found expected(std::uint64_t count, std::uint64_t& seen) const {
    if (count - seen > capacity) {
      const std::uint64_t lost = count - capacity - seen;
      seen += lost;
      return {ending::missed, lost};
    }
    return seen == count ? found{} : found{ending::received, seen++};
  }

  std::uint64_t capacity;
  coracle::broadcast<std::uint64_t> its;
};

/// Only the last value is there, and nobody is told of the others.
struct watching {
  using reader = coracle::value_observer<std::uint64_t>;
  explicit watching(fuzz_input&) {}

  reader read() { return its->observe(); }
  void end() { its.reset(); }
  bool publish(std::uint64_t value) {
    if (its) its->set(value);
    return its.has_value();
  }
  static coracle::task<found> next(reader& from) {
    found result{ending::cancelled, 0};
    try {
      const auto got = co_await from.changed();
      result = got ? found{ending::received, *got} : found{};
    } catch (const coracle::operation_cancelled&) {
    }
    co_return result;
  }
  found expected(std::uint64_t count, std::uint64_t& seen) const {
    return std::exchange(seen, count) == count ? found{} : found{ending::received, count - 1};
  }

  std::optional<coracle::watched_value<std::uint64_t>> its{std::in_place, 1000u};
};

template <class Publication>
class game {
 public:
  explicit game(fuzz_input& input) : publication_(input) {}

  void play(fuzz_input& input) {
    while (!input.empty() && parties_.has_room()) move(input);
    finish();
    while (parties_.run_one()) note_ends();
    parties_.check_all();
  }

 private:
  struct place {
    std::optional<typename Publication::reader> real{};
    std::uint64_t seen = 0;
    party* busy = nullptr;  // waits, or was woken
    bool woken = false;
  };

  void move(fuzz_input& input) {
    place& one = places_[input.below(4)];
    switch (input.below(6)) {
      case 0:
        if (one.busy) break;
        if (place& other = places_[input.below(4)]; other.real && input.below(2) == 0) {
          one.real = other.real;  // a copy goes on by itself
          one.seen = other.seen;
        } else if (!ended_) {
          one.real = publication_.read();
          one.seen = count_;
        }
        break;
      case 1:
        if (!one.real || one.busy) break;
        one.busy = &parties_.start(Publication::next(*one.real));
        one.woken = count_ != one.seen || ended_;
        break;
      case 2:
      case 3:
        must(publication_.publish(count_) == !ended_,
             "nothing can be published after the end, and before it all");
        if (ended_) break;
        ++count_;
        wake();
        break;
      case 4:
        if (input.below(16) == 0) {
          finish();
        } else if (party* const stopped = parties_.stop_one(input)) {
          stop(*stopped);
        }
        break;
      default:
        parties_.run_one(input.below(64));
    }
    note_ends();
  }
  void finish() {
    publication_.end();
    ended_ = true;
    wake();
  }
  void wake() {
    for (place& each : places_) each.woken = true;
  }
  void stop(party& one) {
    for (place& each : places_) {
      if (each.busy == &one && !each.woken) one.expected = found{ending::cancelled, 0};
    }
  }
  /// What a reader gets is what is there when it runs.
  void note_ends() {
    for (place& each : places_) {
      if (!each.busy || !each.busy->real.ready()) continue;
      if (!each.busy->expected) {
        must(each.woken, "it went on, and nothing has come");
        each.busy->expected = publication_.expected(count_, each.seen);
      }
      each.busy = nullptr;
    }
  }

  Publication publication_;
  std::array<place, 4> places_;
  std::uint64_t count_ = 0;
  bool ended_ = false;
  coracle_test::parties<found> parties_;  // ends before what it refers to
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input input{data, size};
  if (input.below(2) == 0) {
    game<broadcasting>{input}.play(input);
  } else {
    game<watching>{input}.play(input);
  }
  return 0;
}
