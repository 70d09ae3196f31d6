// tests/model/spsc_channel.cpp -- one sender and one receiver.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <memory>
#include <utility>

#include "channel_cases.hpp"
#include "model_executor.hpp"

namespace {
using namespace coracle_test;

/// An element whose accesses the checker observes.
struct item {
  item(int given) noexcept : value(given) {}
  item(item&& from) noexcept : value(static_cast<int>(std::exchange(from.value, 0))) {}
  item& operator=(item&&) = delete;
  ~item() = default;
  plain_int value;
};

/// In the state that it reaches after some time without waiting: its ends are apart.
struct channel : coracle::spsc_channel<item> {
  explicit channel(std::size_t capacity) : spsc_channel(capacity) {
    model_expect(!try_recv(), "it is empty");
    if (capacity == 0) return;
    model_expect(try_send(9) && try_recv()->value == 9, "and there is room");
  }
};

detached receive(channel& from, int& seen) {
  const auto got = co_await from.recv();
  seen = got ? static_cast<int>(got->value) : nothing;
}
/// The next element, without a wait in the channel.
int take(channel& from) {
  for (;;) {
    if (const auto got = from.try_recv()) return got->value;
    coracle::detail::spin_pause();
  }
}
detached send(channel& to, int value, sent& end) {
  sent how = sent::well;
  item mine(value);
  try {
    co_await to.send(std::move(mine));
  } catch (const coracle::channel_closed&) {
    how = sent::refused;
    model_expect(mine.value == value, "what was refused is as it was");
  }
  end = how;
}

// ---- in order, once ----

void send_against_recv(std::size_t capacity) {
  channel ch{capacity};
  int seen = 0;
  sent end = sent::waits;
  model_thread sender{[&] { send(ch, 2, end); }};
  receive(ch, seen);
  sender.join();
  model_expect(seen == 2 && end == sent::well, "the element");
}
void try_against_try() {
  channel ch{1};
  bool was_sent = false;
  model_thread sender{[&] { was_sent = ch.try_send(2); }};
  const auto got = ch.try_recv();
  if (got) model_expect(got->value == 2, "the element");
  sender.join();
  model_expect(was_sent && ch.try_recv().has_value() == !got, "it is there once");
}
/// The sender finds the channel full while its only element is received.
void waiting_send_against_recv() {
  channel ch{1};
  sent end = sent::waits;
  model_expect(ch.try_send(1), "there is room");
  model_thread sender{[&] { send(ch, 2, end); }};
  model_expect(take(ch) == 1, "first sent, first received");
  sender.join();
  model_expect(end == sent::well && take(ch) == 2, "the second had room then");
}
/// More elements than fit: the last sends wait, and so may the receiver. Each is sent after the previous one.
void several(std::size_t capacity, int count) {
  channel ch{capacity};
  const auto send_all = [&]() -> detached {
    for (int i = 1; i <= count; ++i) co_await ch.send(item(i));
  };
  int next = 1;
  const auto receive_all = [&]() -> detached {
    for (; next <= count; ++next) {
      const auto got = co_await ch.recv();
      model_expect(got->value == next, "first sent, first received");
    }
  };
  model_thread sender{send_all};
  receive_all();
  sender.join();
  model_expect(next == count + 1 && !ch.try_recv(), "each once");
}
/// The second send waits, and the receiver puts its element into the buffer; the sender, which has not seen
/// that, then sends again.
void sends_behind_one_that_waits() {
  channel ch{1};
  const auto send_all = [&]() -> detached {
    for (int i = 1; i <= 4; ++i) co_await ch.send(item(i));
  };
  send_all();
  int next = 1;
  model_thread receiver{[&] {
    for (; next <= 4; ++next) model_expect(take(ch) == next, "first sent, first received");
  }};
  model_expect(!ch.is_closed(), "it goes on");
  receiver.join();
  model_expect(next == 5 && !ch.try_recv(), "each once");
}
/// It has waited once for a sender of another executor, so it spins before it waits again.
void receiver_on_executor() {
  channel ch{1};
  model_executor place;
  int sum = 0;
  const auto receive_both = [&]() -> detached {
    co_await place.schedule();
    const auto one = co_await ch.recv();
    const auto other = co_await ch.recv();
    model_expect(coracle::current_executor() == &place, "it goes on where it was");
    sum = one->value + 2 * other->value;
  };
  receive_both();
  place.run(1);
  model_thread sender{[&] {
    model_expect(ch.try_send(2), "to who waits");
    model_expect(ch.try_send(3), "there is room");
  }};
  while (sum == 0) place.run(1);
  sender.join();
  model_expect(sum == 8, "it has both");
}
/// The receiver of the element may destroy the channel, even if it did not wait.
void destroyed_by_the_receiver() {
  auto ch = std::make_unique<channel>(1U);
  model_thread sender{[to = ch.get()] { model_expect(to->try_send(2), "there is room"); }};
  const int got = take(*ch);
  ch.reset();
  sender.join();
  model_expect(got == 2, "received");
}
/// So may the sender, once there is room again: the receiver no longer uses the channel.
void destroyed_by_the_sender() {
  auto ch = std::make_unique<channel>(1U);
  model_expect(ch->try_send(1), "there is room");
  int got = 0;
  model_thread receiver{[&got, from = ch.get()] { got = take(*from); }};
  while (!ch->try_send(2)) coracle::detail::spin_pause();
  ch.reset();
  receiver.join();
  model_expect(got == 1, "received");
}

// ---- stop requests, choices ----

void stop_send_against_recv(std::size_t capacity) {
  channel ch{capacity};
  stoppable_place place;
  wait_end end = wait_end::waits;
  if (capacity != 0) model_expect(ch.try_send(1), "there is room");
  item mine(2);
  note_end(place, ch.send(std::move(mine)), end);
  int received = 0;
  model_thread receiver{[&] {
    const auto got = ch.try_recv();
    received = got ? static_cast<int>(got->value) : 0;
  }};
  place.request_stop();
  receiver.join();
  model_expect(end != wait_end::waits, "the wait has ended");
  const bool is_sent = capacity == 0 ? received == 2 : received == 1 && ch.try_recv().has_value();
  model_expect(is_sent == (end == wait_end::carried_out), "a cancelled send() has sent nothing");
  model_expect((mine.value == 2) == (end == wait_end::cancelled), "and its value is as it was");
}
/// Another branch of the receiver may win; the receive is then stopped, as in when_any().
void choice_against_send() {
  channel ch{1};
  stoppable_place place;
  coracle::detail::choice one_of;
  wait_end end = wait_end::waits;
  model_thread sender{[&] { model_expect(ch.try_send(2), "there is room"); }};
  bool is_taken = false;
  model_thread other{[&] { is_taken = one_of.claim(); }};
  note_end(place, one_of, ch.recv(), end);
  sender.join();
  other.join();
  if (is_taken) place.request_stop();
  model_expect((end == wait_end::cancelled) == is_taken, "one branch");
  model_expect(ch.try_recv().has_value() == is_taken, "the lost one has taken nothing");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("spsc channel: send against recv", run.all, [] { send_against_recv(1); });
  run.check("spsc channel of 0: send against recv", run.all, [] { send_against_recv(0); });
  run.check("spsc channel: try_send against try_recv", run.all, try_against_try);
  run.check("spsc channel: a send that finds it full against recv", run.all, waiting_send_against_recv);
  run.check("spsc channel: two elements", 4, [] { several(1, 2); });
  run.check("spsc channel: three elements, two places", 4, [] { several(2, 3); });
  run.check("spsc channel: three elements, one place", 3, [] { several(1, 3); });
  run.check("spsc channel of 0: two elements", 4, [] { several(0, 2); });
  run.check("spsc channel: sends behind one that waits", run.all, sends_behind_one_that_waits);
  run.check("spsc channel: a receiver on an executor", 4, receiver_on_executor);
  run.check("spsc channel: destroyed by the receiver", run.all, destroyed_by_the_receiver);
  run.check("spsc channel: destroyed by the sender", run.all, destroyed_by_the_sender);
  run.check("spsc channel: close against recv", run.all, close_against_recv<channel>);
  run.check("spsc channel: close against send", run.all, close_against_send<channel>);
  run.check("spsc channel: close against send and recv", 3, close_against_send_and_recv<channel, 1>);
  run.check("spsc channel of 0: close against send and recv", 3, close_against_send_and_recv<channel, 0>);
  run.check("spsc channel: close against a sender that waits", run.all,
            close_against_waiting_sender<channel>);
  run.check("spsc channel: stop of recv against send", run.all, stop_recv_against_send<channel>);
  run.check("spsc channel: stop and send against recv", 3, stop_and_send_against_recv<channel>);
  run.check("spsc channel: stop of send against recv", run.all, [] { stop_send_against_recv(1); });
  run.check("spsc channel of 0: stop of send against recv", run.all, [] { stop_send_against_recv(0); });
  run.check("spsc channel: stop against close", run.all, stop_against_close<channel>);
  run.check("spsc channel: a branch of a choice against send", 3, choice_against_send);
  return run.finish();
}
