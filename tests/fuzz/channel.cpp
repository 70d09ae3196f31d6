// tests/fuzz/channel.cpp -- channels against a model of them: queues of elements and of those who wait.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/channels/channel.hpp>
#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/core/task.hpp>
#include <deque>
#include <limits>
#include <memory>

#include "parties.hpp"

namespace {
using coracle_test::fuzz_input;
using coracle_test::must;
using element = std::unique_ptr<int>;  // one that is lost or doubled shows
using bounded = coracle::channel<element>;
using paired = coracle::spsc_channel<element>;
using unbounded = coracle::unbounded_channel<element>;

enum class end { none, sent, received, drained, refused, cancelled };

struct found {
  end how = end::none;
  int value = 0;
  friend bool operator==(const found&, const found&) = default;
};
using party = coracle_test::party<found>;

template <class Channel>
coracle::task<found> send(Channel& to, int value) {
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
template <class Channel>
coracle::task<found> receive(Channel& from) {
  found result{end::drained, 0};
  try {
    const auto got = co_await from.recv();
    if (got) result = {end::received, **got};
  } catch (const coracle::operation_cancelled&) {
    result.how = end::cancelled;
  }
  co_return result;
}

/// An unbounded one has a capacity that is never reached.
struct model {
  std::size_t capacity;
  bool closed = false;
  std::deque<int> elements;
  struct sender {
    party* who;
    int value;
  };
  std::deque<sender> senders;
  std::deque<party*> receivers;

  /// Empty: who sends has to wait.
  std::optional<found> send(int value) {
    if (closed) return found{end::refused, value};
    if (!receivers.empty()) {
      receivers.front()->expected = found{end::received, value};
      receivers.pop_front();
    } else if (elements.size() < capacity) {
      elements.push_back(value);
    } else {
      return {};
    }
    return found{end::sent, value};
  }
  std::optional<found> receive() {
    if (!elements.empty()) {
      const int value = elements.front();
      elements.pop_front();
      if (!senders.empty()) elements.push_back(take_sender());
      return found{end::received, value};
    }
    if (!senders.empty()) return found{end::received, take_sender()};
    if (closed) return found{end::drained, 0};
    return {};
  }
  void close() {
    closed = true;
    for (const sender& each : senders) each.who->expected = found{end::refused, each.value};
    for (party* each : receivers) each->expected = found{end::drained, 0};
    senders.clear();
    receivers.clear();
  }
  void stop(party& one) {
    if (one.expected) return;
    one.expected = found{end::cancelled, 0};
    std::erase_if(senders, [&](const sender& each) {
      if (each.who == &one) one.expected->value = each.value;
      return each.who == &one;
    });
    std::erase(receivers, &one);
  }

 private:
  int take_sender() {
    const sender first = senders.front();
    senders.pop_front();
    first.who->expected = found{end::sent, first.value};
    return first.value;
  }
};

template <class Channel>
class game {
 public:
  template <class... Capacity>
  explicit game(std::size_t model_capacity, Capacity... capacity)
      : channel_(capacity...), model_{model_capacity, false, {}, {}, {}} {}

  void play(fuzz_input& input) {
    while (!input.empty() && parties_.has_room()) move(input);
    channel_.close();
    model_.close();
    parties_.check_all();
  }

 private:
  void move(fuzz_input& input) {
    switch (input.below(8)) {
      case 0:
      case 1:
        if (is_free(sender_)) send_one(++last_);
        break;
      case 2:
      case 3: {
        if (!is_free(receiver_)) break;
        party& one = parties_.start(receive(channel_));
        receiver_ = &one;
        one.expected = model_.receive();
        if (!one.expected) model_.receivers.push_back(&one);
        break;
      }
      case 4:
        if (input.below(2) == 0) {
          if (is_free(sender_)) try_send(++last_);
        } else if (is_free(receiver_)) {
          try_receive();
        }
        break;
      case 5:
        if (party* const one = parties_.stop_one(input)) model_.stop(*one);
        break;
      case 6:
        parties_.run_one(input.below(64));
        break;
      default:
        if (input.below(16) != 0) break;
        channel_.close();
        model_.close();
    }
  }
  /// Each end of a paired one is for one at a time.
  static bool is_free(const party* last) {
    return !std::is_same_v<Channel, paired> || !last || last->real.ready();
  }
  void send_one(int value) {
    if constexpr (!std::is_same_v<Channel, unbounded>) {
      party& one = parties_.start(send(channel_, value));
      sender_ = &one;
      one.expected = model_.send(value);
      if (!one.expected) model_.senders.push_back({&one, value});
    } else {
      auto mine = std::make_unique<int>(value);
      bool refused = false;
      try {
        channel_.send(std::move(mine));
      } catch (const coracle::channel_closed&) {
        refused = true;
      }
      must(refused == (model_.send(value)->how == end::refused), "send()");
      must((mine != nullptr) == refused, "send() and its value");
    }
  }
  void try_send(int value) {
    const auto expected = model_.send(value);
    auto mine = std::make_unique<int>(value);
    must(channel_.try_send(std::move(mine)) == (expected && expected->how == end::sent), "try_send()");
    must((mine == nullptr) == (expected && expected->how == end::sent), "try_send() and its value");
  }
  void try_receive() {
    const auto expected = model_.receive();
    const auto got = channel_.try_recv();
    must(got.has_value() == (expected && expected->how == end::received), "try_recv()");
    must(!got || **got == expected->value, "try_recv() and its element");
  }

  Channel channel_;
  model model_;
  coracle_test::parties<found> parties_;
  party* sender_ = nullptr;  // the last one
  party* receiver_ = nullptr;
  int last_ = 0;
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input input{data, size};
  const std::size_t kind = input.below(9), capacity = kind % 4;
  if (kind == 8) {
    game<unbounded>{std::numeric_limits<std::size_t>::max()}.play(input);
  } else if (kind < 4) {
    game<bounded>{capacity, capacity}.play(input);
  } else {
    game<paired>{capacity, capacity}.play(input);
  }
  return 0;
}
