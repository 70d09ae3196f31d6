// tests/unit/channel_kinds.hpp -- the bounded channels, for test cases that each of them must pass.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../support/detached.hpp"

namespace coracle_test {
struct many_ends {
  template <class T>
  using of = coracle::channel<T>;
};
/// In its initial state: both ends are guarded by its lock.
struct two_ends {
  template <class T>
  using of = coracle::spsc_channel<T>;
};
/// In the state after a while without waiting: its ends are separate.
struct two_ends_apart {
  template <class T>
  struct of : coracle::spsc_channel<T> {
    explicit of(std::size_t capacity) : coracle::spsc_channel<T>(capacity) {
      for (int i = 0; i != 100; ++i) static_cast<void>(this->try_recv());
    }
  };
};
template <class Kind, class T>
using of = typename Kind::template of<T>;
#define CHANNEL_KINDS coracle_test::many_ends, coracle_test::two_ends, coracle_test::two_ends_apart

using log_of = std::vector<std::string>;

template <class Channel>
detached send_and_log(Channel& to, int value, log_of& log) {
  try {
    co_await to.send(value);
    log.push_back("sent " + std::to_string(value));
  } catch (const coracle::channel_closed&) {
    log.push_back("refused " + std::to_string(value));
  }
}
template <class Channel>
detached recv_and_log(Channel& from, int name, log_of& log) {
  const std::optional<int> got = co_await from.recv();
  log.push_back(std::to_string(name) + (got ? " got " + std::to_string(*got) : " got nothing"));
}
template <class Channel>
coracle::task<> try_to_send(Channel& to, int value, log_of& log) {
  try {
    co_await to.send(value);
    log.push_back("sent " + std::to_string(value));
  } catch (const coracle::operation_cancelled&) {
    log.push_back("cancelled " + std::to_string(value));
  }
}
template <class Channel>
coracle::task<> try_to_recv(Channel& from, log_of& log) {
  try {
    const std::optional<int> got = co_await from.recv();
    log.push_back(got ? "got " + std::to_string(*got) : "got nothing");
  } catch (const coracle::operation_cancelled&) {
    log.push_back("cancelled");
  }
}
template <class Channel>
std::vector<int> drain(Channel& from) {
  std::vector<int> all;
  while (const auto got = from.try_recv()) all.push_back(*got);
  return all;
}
}  // namespace coracle_test
