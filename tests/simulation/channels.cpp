// tests/simulation/channels.cpp -- elements arrive at most once and in order, with cancellations and close().
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/channels/channel.hpp>
#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/select.hpp>
#include <map>
#include <memory>
#include <vector>

#include "world.hpp"

namespace {
using namespace std::chrono_literals;
using coracle_test::task;
using coracle_test::world;
using item = std::unique_ptr<int>;

/// The sent and received items. An item consists of its sender and the number of items sent before it.
class ledger {
 public:
  static int number(int sender, int count) noexcept { return sender * 1000 + count; }
  void sent(int number) { sent_.push_back(number); }
  void received(int number) { received_.push_back(number); }
  /// Each exactly once, and those that one receiver got from one sender in order.
  void check(world& w, bool in_order) {
    if (in_order) {
      std::map<int, int> last;
      for (const int each : received_) {
        const auto before = last.emplace(each / 1000, -1).first;
        w.expect(before->second < each, "the items of a sender arrive in order");
        before->second = each;
      }
    }
    std::ranges::sort(sent_);
    std::ranges::sort(received_);
    w.expect(sent_ == received_, "every item that was sent is received, once, and no other");
  }

 private:
  std::vector<int> sent_, received_;
};

template <class Channel>
task<> send_some(world& w, Channel& to, ledger& book, int sender) {
  for (int count = 0; count != 6; ++count) {
    co_await w.pause();
    const int number = ledger::number(sender, count);
    item mine = std::make_unique<int>(number);
    try {
      const bool sent = co_await w.attempt(to.send(std::move(mine)));
      if (sent) book.sent(number);
      w.expect(sent == !mine, "a send that was cancelled has left the item as it was");
    } catch (const coracle::channel_closed&) {
      w.expect(mine != nullptr, "a send that was refused has left the item as it was");
      co_return;
    }
  }
}

template <class Channel>
task<> receive_all(world& w, Channel& from, ledger& book) {
  for (bool open = true; open;) {
    co_await w.pause();
    auto got = co_await w.attempt(from.recv());
    if (!got) continue;  // cancelled
    open = got->has_value();
    if (open) book.received(***got);
  }
}

template <class Channel>
task<> close_in_a_while(world& w, Channel& channel) {
  co_await coracle::sleep_for(4 * w.a_while());
  channel.close();
}

/// Random capacity, senders and receivers; closed at the end or in the middle.
template <class Channel, unsigned Most>
void conservation(coracle_test::simulation& sim) {
  world w{sim};
  Channel channel{w.below(4)};
  ledger book;
  const int senders = 1 + static_cast<int>(w.below(Most)), receivers = 1 + static_cast<int>(w.below(Most));
  const bool closed_early = w.one_in(4);
  const auto all = [&]() -> task<> {
    coracle::async_scope readers, writers;
    for (int i = 0; i != receivers; ++i) readers.spawn(w.place(), receive_all(w, channel, book));
    for (int i = 0; i != senders; ++i) writers.spawn(w.place(), send_some(w, channel, book, i));
    if (closed_early) writers.spawn(close_in_a_while(w, channel));
    co_await writers.join();
    channel.close();
    co_await readers.join();
  };
  sim.run(all());
  book.check(w, receivers == 1);
}

/// Selects between two receives and two sends, at most one of which takes effect; with plain senders and
/// receivers.
task<> choose(world& w, coracle::channel<item>& a, coracle::channel<item>& b, ledger& book, int name) {
  for (int count = 0; count != 6; ++count) {
    co_await w.pause();
    const int number = ledger::number(name, count);
    item mine = std::make_unique<int>(number);
    try {
      auto chosen =
          co_await w.attempt(coracle::select(a.recv(), b.send(std::move(mine)), coracle::sleep_for(3us)));
      if (!chosen) continue;  // cancelled
      if (chosen->index() == 0 && std::get<0>(*chosen)) book.received(**std::get<0>(*chosen));
      if (chosen->index() == 1) book.sent(number);
      w.expect((chosen->index() == 1) == !mine, "only the branch that has won has taken the item");
    } catch (const coracle::channel_closed&) {
      w.expect(mine != nullptr, "a send that was refused has left the item as it was");
    }
  }
}

void selections(coracle_test::simulation& sim) {
  world w{sim};
  coracle::channel<item> a{w.below(2)}, b{w.below(2)};
  ledger book;
  const auto all = [&]() -> task<> {
    coracle::async_scope readers, others;
    readers.spawn(w.place(), receive_all(w, a, book));
    readers.spawn(w.place(), receive_all(w, b, book));
    others.spawn(w.place(), choose(w, a, b, book, 1));
    others.spawn(w.place(), choose(w, b, a, book, 2));
    others.spawn(w.place(), send_some(w, a, book, 3));
    co_await others.join();
    a.close();
    b.close();
    co_await readers.join();
  };
  sim.run(all());
  book.check(w, false);
}

void unbounded(coracle_test::simulation& sim) {
  world w{sim};
  coracle::unbounded_channel<item> channel;
  ledger book;
  const auto send_all = [&](int sender) -> task<> {
    for (int count = 0; count != 6; ++count) {
      co_await w.pause();
      item mine = std::make_unique<int>(ledger::number(sender, count));
      const bool sent = channel.try_send(std::move(mine));
      if (sent) book.sent(ledger::number(sender, count));
    }
  };
  const auto all = [&]() -> task<> {
    coracle::async_scope readers, writers;
    readers.spawn(w.place(), receive_all(w, channel, book));
    readers.spawn(w.place(), receive_all(w, channel, book));
    for (int i = 0; i != 3; ++i) writers.spawn(w.place(), send_all(i));
    co_await writers.join();
    channel.close();
    co_await readers.join();
  };
  sim.run(all());
  book.check(w, false);
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(
      argc, argv,
      {{"channel: nothing is lost", conservation<coracle::channel<item>, 3>, {.stalls = true}},
       {"spsc_channel: nothing is lost", conservation<coracle::spsc_channel<item>, 1>, {.stalls = true}},
       {"channel: one branch of a select takes effect", selections, {.stalls = true}},
       {"unbounded_channel: nothing is lost", unbounded}});
}
