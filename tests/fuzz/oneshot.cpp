// tests/fuzz/oneshot.cpp -- the two ends of a oneshot, moved, used and dropped in any order.
// SPDX-License-Identifier: MIT
#include <coracle/channels/oneshot.hpp>
#include <coracle/core/broken_promise.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <memory>
#include <optional>

#include "parties.hpp"

namespace {
using coracle_test::fuzz_input;
using coracle_test::must;
using element = std::unique_ptr<int>;

enum class end { received, broken, cancelled };
using party = coracle_test::party<end>;

coracle::task<end> receive(coracle::oneshot_receiver<element>& from) {
  end how = end::received;
  try {
    const element got = co_await from.recv();
    must(got && *got == 7, "another value");
  } catch (const coracle::broken_promise&) {
    how = end::broken;
  } catch (const coracle::operation_cancelled&) {
    how = end::cancelled;
  }
  co_return how;
}

class game {
 public:
  explicit game(std::pair<coracle::oneshot_sender<element>, coracle::oneshot_receiver<element>> ends)
      : sender_(std::move(ends.first)), receiver_(std::move(ends.second)) {}

  void play(fuzz_input& input) {
    while (!input.empty() && parties_.has_room()) move(input);
    drop_sender();
    parties_.check_all();
  }

 private:
  void move(fuzz_input& input) {
    switch (input.below(7)) {
      case 0:
      case 1:
        receive_one();
        break;
      case 2:
        if (sender_) send();
        break;
      case 3:
        if (input.below(4) == 0) drop_sender();
        break;
      case 4:
        if (input.below(4) == 0 && !busy_) receiver_.reset();
        break;
      case 5:
        if (party* const one = parties_.stop_one(input); one && !one->expected) {
          one->expected = end::cancelled;
          waiting_ = nullptr;
        }
        break;
      default:
        parties_.run_one(input.below(64));
    }
    if (busy_ && busy_->real.ready()) busy_ = nullptr;
  }
  void receive_one() {
    if (!receiver_ || busy_) return;
    party& one = parties_.start(receive(*receiver_));
    if (sender_) {
      waiting_ = busy_ = &one;
    } else {
      take(one);
    }
  }
  void send() {
    const auto given_back = sender_->send(std::make_unique<int>(7));
    must(given_back.has_value() == !receiver_, "the value comes back if the receiver has gone");
    has_value_ = !given_back;
    sender_.reset();
    wake();
  }
  void drop_sender() {
    sender_.reset();
    wake();
  }
  void wake() {
    if (waiting_) take(*std::exchange(waiting_, nullptr));
  }
  void take(party& one) { one.expected = std::exchange(has_value_, false) ? end::received : end::broken; }

  std::optional<coracle::oneshot_sender<element>> sender_;
  std::optional<coracle::oneshot_receiver<element>> receiver_;
  party* waiting_ = nullptr;  // for the sender
  party* busy_ = nullptr;     // its recv() has not returned
  bool has_value_ = false;
  coracle_test::parties<end> parties_;  // ends before what it refers to
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input input{data, size};
  game{coracle::oneshot<element>()}.play(input);
  return 0;
}
