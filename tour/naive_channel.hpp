// tour/naive_channel.hpp -- a channel as it is often written: cancelling a receive can lose an element.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/executor.hpp>
#include <coracle/core/stop.hpp>
#include <coroutine>
#include <deque>
#include <optional>
#include <utility>

namespace tour {
/// send() hands the element to the receiver that waits, and posts that receiver to its executor. If a stop
/// request arrives before the receiver has run, the receiver looks at its stop token first, reports that it
/// was cancelled, and drops what it has been given. For one thread and one receiver.
class naive_channel {
 public:
  /// Gives the element, or nothing if it was cancelled.
  class [[nodiscard]] recv_operation : coracle::waiter {
   public:
    recv_operation(naive_channel& from, coracle::stop_token token) noexcept
        : from_(from), token_(std::move(token)) {}
    bool await_ready() {
      given_ = from_.try_recv();
      return given_.has_value() || token_.stop_requested();
    }
    void await_suspend(std::coroutine_handle<> suspended) {
      suspend(suspended);
      from_.receiver_ = this;
      on_stop_.emplace(token_, cancel{*this});
    }
    std::optional<int> await_resume() {
      on_stop_.reset();
      if (token_.stop_requested()) return std::nullopt;  // the bug: given_ may hold an element
      return given_;
    }

   private:
    friend naive_channel;
    struct cancel {
      recv_operation& self;
      void operator()() const noexcept {
        if (std::exchange(self.from_.receiver_, nullptr)) self.wake();
      }
    };
    naive_channel& from_;
    coracle::stop_token token_;
    std::optional<coracle::stop_callback<cancel>> on_stop_;
    std::optional<int> given_;
  };

  recv_operation recv(coracle::stop_token token) noexcept { return recv_operation(*this, std::move(token)); }
  void send(int element) {
    if (recv_operation* const receiver = std::exchange(receiver_, nullptr)) {
      receiver->given_ = element;
      receiver->wake();
    } else {
      elements_.push_back(element);
    }
  }
  std::optional<int> try_recv() {
    if (elements_.empty()) return std::nullopt;
    const int first = elements_.front();
    elements_.pop_front();
    return first;
  }

 private:
  std::deque<int> elements_;
  recv_operation* receiver_ = nullptr;
};
}  // namespace tour
