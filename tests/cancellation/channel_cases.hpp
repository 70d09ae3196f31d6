// tests/cancellation/channel_cases.hpp -- channels.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/channels/channel.hpp>
#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/compose/select.hpp>
#include <memory>
#include <optional>

#include "cancellation_case.hpp"

namespace coracle_test {
/// With a capacity of one, if a Channel has a capacity. With two, its ends are separate.
template <class Channel>
struct channel_of : Channel {
  channel_of() : Channel(1) {
    for (int i = 0; i != 100; ++i) static_cast<void>(this->try_recv());
  }
};
template <class T>
struct channel_of<coracle::unbounded_channel<T>> : coracle::unbounded_channel<T> {};

/// A receiver, and an element that is received, or is still in the channel.
template <class Channel>
class recv_case final : public cancellation_case {
  coracle::task<> operation() override {
    const auto got = co_await channel_.recv();
    right_ = got && **got == 1;
  }
  void complete() override { sent_ = channel_.try_send(std::make_unique<int>(1)); }
  bool intact(bool carried_out, bool completed) override {
    const bool left = channel_.try_recv().has_value();
    return sent_ == completed && right_ == carried_out && left == (completed && !carried_out);
  }

  channel_of<Channel> channel_;
  bool sent_ = false;
  bool right_ = false;
};

/// A sender to a full channel, and a receiver that makes room. The sender keeps an element that was not sent.
template <class Channel>
class send_case final : public cancellation_case {
 public:
  send_case() { static_cast<void>(channel_.try_send(std::make_unique<int>(1))); }

 private:
  coracle::task<> operation() override { co_await channel_.send(std::move(mine_)); }
  void complete() override { got_ = channel_.try_recv(); }
  bool intact(bool carried_out, bool completed) override {
    if (!completed) got_ = channel_.try_recv();
    const bool first = got_ && **got_ == 1;
    const auto second = channel_.try_recv();
    return first && second.has_value() == carried_out &&
           (carried_out ? **second == 2 && !mine_ : mine_ && *mine_ == 2);
  }

  channel_of<Channel> channel_;
  std::unique_ptr<int> mine_ = std::make_unique<int>(2);
  std::optional<std::unique_ptr<int>> got_;
};
template <class Channel>
class send_copy_case final : public cancellation_case {
 public:
  send_copy_case() { static_cast<void>(channel_.try_send(1)); }

 private:
  coracle::task<> operation() override { co_await channel_.send(2); }
  void complete() override { got_ = channel_.try_recv(); }
  bool intact(bool carried_out, bool completed) override {
    if (!completed) got_ = channel_.try_recv();
    const auto second = channel_.try_recv();
    return got_ == 1 && second.has_value() == carried_out;
  }

  channel_of<Channel> channel_;
  std::optional<int> got_;
};

/// Two receives by one coroutine, and one element.
template <class Channel>
class select_case final : public cancellation_case {
  coracle::task<> operation() override {
    const auto chosen = co_await coracle::select(never_.recv(), channel_.recv());
    received_ = chosen.index() == 1;
  }
  void complete() override { sent_ = channel_.try_send(1); }
  bool intact(bool carried_out, bool completed) override {
    const bool left = channel_.try_recv().has_value();
    return sent_ == completed && received_ == carried_out && left == (completed && !carried_out);
  }

  channel_of<Channel> never_, channel_;
  bool sent_ = false;
  bool received_ = false;
};

inline std::vector<cancellation_entry> channel_cases() {
  using element = std::unique_ptr<int>;
  return {
      {"basic_channel::recv_operation", &make_case<recv_case<coracle::channel<element>>>},
      {"basic_channel::recv_operation", &make_case<recv_case<coracle::spsc_channel<element>>>},
      {"basic_channel::recv_operation", &make_case<recv_case<coracle::unbounded_channel<element>>>},
      {"basic_channel::send_operation", &make_case<send_case<coracle::channel<element>>>},
      {"basic_channel::send_operation", &make_case<send_case<coracle::spsc_channel<element>>>},
      {"basic_channel::send_copy_operation", &make_case<send_copy_case<coracle::channel<int>>>},
      {"basic_channel::send_copy_operation", &make_case<send_copy_case<coracle::spsc_channel<int>>>},
      {"select()", &make_case<select_case<coracle::channel<int>>>, when_stopped::joins_its_children},
      {"select()", &make_case<select_case<coracle::spsc_channel<int>>>, when_stopped::joins_its_children}};
}
}  // namespace coracle_test
