// tour/cancellation_station.cpp -- one race, two channels: what a cancelled receive does with its element.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <type_traits>
#include <vector>

#include "format.hpp"
#include "naive_channel.hpp"
#include "recorder.hpp"
#include "stations.hpp"

namespace tour {
namespace {
using coracle::task;

constexpr int race_rounds = 20'000;
enum race_lane : std::size_t { sender, canceller, receiver };

/// The naive channel, as the page shows it, and lines of it.
constexpr const char* naive_code =
    "void send(int element) {\n"
    "  if (auto* r = exchange(waiting, {})) {\n"
    "    r->given = element;  // taken\n"
    "    r->wake();  // runs later\n"
    "  } else {\n"
    "    elements.push_back(element);\n"
    "  }\n"
    "}\n"
    "optional<int> await_resume() {\n"
    "  if (token.stop_requested()) return {};\n"
    "  return given;\n"
    "}\n";
const std::vector<std::size_t> hands_over{2, 3, 4}, drops{10}, returns{11};

/// coracle's channel with the interface of the naive one.
class coracle_channel {
 public:
  task<std::optional<int>> recv(coracle::stop_token token) {
    const auto end = co_await coracle::as_optional(coracle::with_stop(elements_.recv(), std::move(token)));
    co_return end.value_or(std::nullopt);
  }
  void send(int element) {
    if (!elements_.try_send(element)) throw std::logic_error("a send found no room");
  }
  std::optional<int> try_recv() { return elements_.try_recv(); }

 private:
  coracle::channel<int> elements_{4};
};

struct race_counts {
  int sent = 0, received = 0, cancelled = 0, kept = 0;
  [[nodiscard]] int lost() const { return sent - received - kept; }
};
enum class order { send_first, stop_first, receiver_between };

/// A receiver that waits, an element, and a stop request that comes at the same moment.
template <class Channel>
class race {
 public:
  /// `seen`: where to note what happens; null: nowhere.
  explicit race(recorder* seen = nullptr) : seen_(seen) {}
  race(const race&) = delete;
  race& operator=(const race&) = delete;

  void run(order events) {
    coracle::stop_source stop;
    coracle::async_scope receivers;
    receivers.spawn(loop_, receive(stop.get_token()));
    run_until_idle();
    if (events == order::stop_first) request(stop);
    send();
    if (events == order::receiver_between) run_until_idle();
    if (events != order::stop_first) request(stop);
    run_until_idle();
    coracle::sync_wait(receivers.join());
    take_what_is_left();
  }
  [[nodiscard]] const race_counts& counts() const { return counts_; }

 private:
  task<> receive(coracle::stop_token token) {
    note(receiver, "waits in recv()", lane_state::waiting);
    const std::optional<int> element = co_await channel_.recv(std::move(token));
    ++(element ? counts_.received : counts_.cancelled);
    note(receiver, element ? "has the element" : "was cancelled, has nothing",
         element ? lane_state::done : lane_state::stopped, element ? returns : drops);
  }
  void send() {
    channel_.send(counts_.sent++);
    note(sender, "send() has returned", lane_state::done, hands_over);
  }
  void request(coracle::stop_source& stop) {
    stop.request_stop();
    note(canceller, "has requested a stop", lane_state::done);
  }
  void take_what_is_left() {
    bool left = false;
    for (; channel_.try_recv(); left = true) ++counts_.kept;
    if (left) note(sender, "the next recv() finds the element", lane_state::done);
  }
  void run_until_idle() {
    while (loop_.run_one()) {
    }
  }
  /// `lines`: of naive_code, if that runs.
  void note(race_lane where, const char* what, lane_state then, const std::vector<std::size_t>& lines = {}) {
    if (seen_) seen_->note(where, what, then, is_naive ? lines : std::vector<std::size_t>{});
  }

  static constexpr bool is_naive = std::is_same_v<Channel, naive_channel>;
  recorder* seen_;
  coracle::run_loop loop_;
  Channel channel_;
  race_counts counts_;
};

template <class Channel>
race_counts run_rounds() {
  race<Channel> race;
  coracle::testing::random_source random{1};
  for (int i = 0; i != race_rounds; ++i) race.run(static_cast<order>(random.below(3)));
  return race.counts();
}
template <class Channel>
race_counts record_round(section& page, const std::string& title) {
  recorder seen(title, {"sender", "canceller", "receiver"});
  race<Channel> race(&seen);
  race.run(order::send_first);
  page.add(seen.take());
  return race.counts();
}

std::vector<std::string> row_of(const char* name, const race_counts& seen) {
  const auto number = [](int count) { return grouped(static_cast<std::uint64_t>(count)); };
  return {name,
          number(seen.sent),
          number(seen.received),
          number(seen.cancelled),
          number(seen.kept),
          number(seen.lost())};
}
}  // namespace

void show_cancellation(section& page, const settings&) {
  page.say(
      "A receiver waits for an element. Then two things happen before it gets to run: a sender sends one, "
      "and "
      "a timeout or a client that hangs up requests a stop. A channel as it is often written loses the "
      "element "
      "there:");
  page.add(listing{naive_code});
  const race_counts naive_round = record_round<naive_channel>(page, "One round with the naive channel");
  if (naive_round.lost())
    page.say("The send has succeeded, the receiver has nothing, and so has the channel.");
  const race_counts round = record_round<coracle_channel>(page, "The same round with coracle::channel");
  page.check(round.lost() == 0, "coracle::channel: the element was " +
                                    std::string(round.received ? "received" : "left for the next receiver") +
                                    ".");

  page.say(grouped(race_rounds) +
           " rounds on one thread, the same for both, in an order drawn from one seed: send, then "
           "stop; stop, then send; or the receiver runs in between.");
  const race_counts naive = run_rounds<naive_channel>(), ours = run_rounds<coracle_channel>();
  page.add(table{"",
                 {"channel", "sent", "received", "cancelled", "left", "lost"},
                 {row_of("naive", naive), row_of("coracle::channel", ours)}});
  page.check(ours.lost() == 0 && ours.sent == race_rounds && ours.received + ours.cancelled == race_rounds,
             "coracle::channel lost " + grouped(static_cast<std::uint64_t>(ours.lost())) + " of " +
                 grouped(race_rounds) + " elements: a cancelled recv() has taken nothing.");
  page.measured("naive.lost", static_cast<double>(naive.lost()), "elements");
  page.measured("channel.lost", static_cast<double>(ours.lost()), "elements");
  page.measured("channel.cancelled", static_cast<double>(ours.cancelled), "receives");
}
}  // namespace tour
