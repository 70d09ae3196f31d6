// tests/fuzz/channel.cpp -- a channel against a model of it: queues of elements and of those who wait.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/compose/channel.hpp>
#include <coracle/core/task.hpp>
#include <coracle/testing/poll.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "fuzz.hpp"

namespace {
using coracle::testing::manual_scheduler;
using coracle_test::fuzz_input;
using coracle_test::must;
using element = std::unique_ptr<int>;  // one that is lost or doubled shows

enum class end { none, sent, received, drained, refused, cancelled };

struct found {
  end how = end::none;
  int value = 0;
};
coracle::task<found> send(coracle::channel<element>& to, int value) {
  auto mine = std::make_unique<int>(value);
  found result{end::sent, value};
  try {
    co_await to.send(std::move(mine));
  } catch (const coracle::channel_closed&) {
    result.how = end::refused;
  } catch (const coracle::operation_cancelled&) {
    result.how = end::cancelled;
  }
  must((mine == nullptr) == (result.how == end::sent), "a value that was not sent is gone, or the reverse");
  co_return result;
}
coracle::task<found> receive(coracle::channel<element>& from) {
  found result{end::drained, 0};
  try {
    const auto got = co_await from.recv();
    if (got) result = {end::received, **got};
  } catch (const coracle::operation_cancelled&) {
    result.how = end::cancelled;
  }
  co_return result;
}

/// One who sends or receives: as the channel has it, and as the model expects it.
struct party {
  party(manual_scheduler& place, coracle::task<found> work, int its_value)
      : real(coracle::testing::poll(place, std::move(work))), value(its_value) {}
  coracle::testing::polled<coracle::task<found>> real;
  int value;
  found expected;
};

struct model {
  std::size_t capacity;
  bool closed = false;
  std::deque<int> elements;
  std::deque<party*> senders, receivers;

  /// True: carried out, or refused.
  bool send(int value, found& how) {
    if (closed) {
      how = {end::refused, value};
    } else if (!receivers.empty()) {
      receivers.front()->expected = {end::received, value};
      receivers.pop_front();
      how = {end::sent, value};
    } else if (elements.size() < capacity) {
      elements.push_back(value);
      how = {end::sent, value};
    }
    return how.how != end::none;
  }
  bool receive(found& how) {
    if (!elements.empty()) {
      how = {end::received, elements.front()};
      elements.pop_front();
      if (!senders.empty()) elements.push_back(take_sender());
    } else if (!senders.empty()) {
      how = {end::received, take_sender()};
    } else if (closed) {
      how = {end::drained, 0};
    }
    return how.how != end::none;
  }
  void close() {
    closed = true;
    for (party* each : senders) each->expected = {end::refused, each->value};
    for (party* each : receivers) each->expected = {end::drained, 0};
    senders.clear();
    receivers.clear();
  }
  void stop(party& one) {
    if (one.expected.how != end::none) return;
    one.expected = {end::cancelled, one.value};
    std::erase(senders, &one);
    std::erase(receivers, &one);
  }

 private:
  int take_sender() {
    party* const first = senders.front();
    senders.pop_front();
    first->expected = {end::sent, first->value};
    return first->value;
  }
};

class game {
 public:
  explicit game(std::size_t capacity) : channel_(capacity), model_{capacity, false, {}, {}, {}} {
    coracle::detail::
        others_have_run();  // no await of a game is one too many in a row, which would start it later
  }

  void play(fuzz_input& input) {
    while (!input.empty() && parties_.size() < 64) move(input);
    channel_.close();
    model_.close();
    place_.run_all();
    for (const auto& each : parties_) check(*each);
  }

 private:
  void move(fuzz_input& input) {
    switch (input.below(8)) {
      case 0:
      case 1: {
        ++last_;
        party& one = start(send(channel_, last_), last_);
        if (!model_.send(last_, one.expected)) model_.senders.push_back(&one);
        break;
      }
      case 2:
      case 3: {
        party& one = start(receive(channel_), 0);
        if (!model_.receive(one.expected)) model_.receivers.push_back(&one);
        break;
      }
      case 4:
        try_either(input.below(2) == 0);
        break;
      case 5:
        if (parties_.empty()) break;
        if (party& one = *parties_[input.below(64) % parties_.size()]; !one.real.ready()) {
          one.real.request_stop();
          model_.stop(one);
        }
        break;
      case 6:
        if (place_.queued() != 0) place_.run(input.below(64) % place_.queued());
        break;
      default:
        if (input.below(16) != 0) break;
        channel_.close();
        model_.close();
    }
  }
  void try_either(bool sends) {
    found expected;
    if (sends) {
      auto mine = std::make_unique<int>(++last_);
      static_cast<void>(model_.send(last_, expected));
      must(channel_.try_send(std::move(mine)) == (expected.how == end::sent), "try_send()");
      must((mine == nullptr) == (expected.how == end::sent), "try_send() and its value");
    } else {
      static_cast<void>(model_.receive(expected));
      const auto got = channel_.try_recv();
      must(got.has_value() == (expected.how == end::received), "try_recv()");
      must(!got || **got == expected.value, "try_recv() and its element");
    }
  }
  party& start(coracle::task<found> work, int value) {
    parties_.push_back(std::make_unique<party>(place_, std::move(work), value));
    return *parties_.back();
  }
  static void check(party& one) {
    must(one.real.ready(), "somebody waits for ever");
    const found got = one.real.get();
    must(got.how == one.expected.how, "another end");
    must(got.how != end::received || got.value == one.expected.value, "another element");
  }

  manual_scheduler place_;
  coracle::channel<element> channel_;
  model model_;
  std::vector<std::unique_ptr<party>> parties_;
  int last_ = 0;
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input input{data, size};
  game{input.below(4)}.play(input);
  return 0;
}
