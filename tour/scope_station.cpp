// tour/scope_station.cpp -- structured concurrency: a failing child, its siblings, and where the error goes.
// SPDX-License-Identifier: MIT
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/time/async_finally.hpp>
#include <coracle/time/sleep.hpp>
#include <stdexcept>

#include "format.hpp"
#include "recorder.hpp"
#include "stations.hpp"

namespace tour {
namespace {
using coracle::task;
using namespace std::chrono_literals;

constexpr auto far_away = 10s;  // no child that sleeps for so long gets there
enum shop_lane : std::size_t { parent, prices, stock, adverts, history };

struct shop {
  explicit shop(std::string title)
      : seen(std::move(title), {"parent", "prices", "stock", "adverts", "history"}) {}
  recorder seen;
  int running = 0;  ///< children that have begun and have not ended
  int stopped = 0;
  int left_at_join = -1;  ///< running when the scope was joined
  std::string error;      ///< what the parent caught
};

/// Counts the child while it lives.
class alive {
 public:
  explicit alive(shop& where) : where_(where) { ++where_.running; }
  alive(const alive&) = delete;
  alive& operator=(const alive&) = delete;
  ~alive() { --where_.running; }

 private:
  shop& where_;
};

task<> load(shop& at, shop_lane mine, std::chrono::nanoseconds takes) {
  const alive counted(at);
  at.seen.note(mine, "starts", lane_state::waiting);
  try {
    co_await coracle::throwing(coracle::sleep_for(takes));
  } catch (const coracle::operation_cancelled&) {
    ++at.stopped;
    at.seen.note(mine, "is stopped", lane_state::stopped);
    throw;
  }
  at.seen.note(mine, "has its data", lane_state::done);
}
task<> fail(shop& at, shop_lane mine, std::chrono::nanoseconds after, std::string error) {
  const alive counted(at);
  at.seen.note(mine, "starts", lane_state::waiting);
  co_await coracle::sleep_for(after);
  at.seen.note(mine, "throws \"" + error + "\"", lane_state::failed);
  throw std::runtime_error(error);
}
/// When it is stopped it closes its connection, which takes 2 ms and may fail.
task<> load_and_close(shop& at, shop_lane mine, bool closing_fails) {
  const alive counted(at);
  at.seen.note(mine, "starts", lane_state::waiting);
  const auto close = [&]() -> task<> {
    ++at.stopped;
    at.seen.note(mine, "is stopped, closes its connection", lane_state::waiting);
    co_await coracle::sleep_for(2ms);
    at.seen.note(mine, closing_fails ? "throws \"connection reset\"" : "has closed it",
                 closing_fails ? lane_state::failed : lane_state::stopped);
    if (closing_fails) throw std::runtime_error("connection reset");
  };
  co_await coracle::async_finally(coracle::sleep_for(far_away), close, far_away);
}

task<> open_page(shop& at, bool closing_fails) {
  const auto children = [&](coracle::async_scope& scope) -> task<> {
    at.seen.note(parent, "opens a scope", lane_state::running);
    scope.spawn(load(at, prices, 1ms));
    scope.spawn(load(at, stock, far_away));
    scope.spawn(fail(at, adverts, 4ms, "no adverts"));
    scope.spawn(load_and_close(at, history, closing_fails));
    at.seen.note(parent, "waits for its children", lane_state::waiting);
    co_return;
  };
  try {
    co_await coracle::with_scope(children);
  } catch (const std::exception& error) {
    at.error = error.what();
  }
  at.left_at_join = at.running;
  at.seen.note(parent, "goes on and has caught \"" + at.error + "\"", lane_state::running);
}

void run(shop& at, bool closing_fails) {
  coracle::io_service io;
  io.run(open_page(at, closing_fails));
}
}  // namespace

void show_scope(section& page, const settings&) {
  page.say(
      "A page of a shop needs four answers. A scope starts a child for each of them, and ends when all of "
      "its children have ended. Here one child fails after 4 ms, and two others would sleep for 10 s:");
  page.add(
      listing{"auto children = [&](async_scope& scope)\n"
              "    -> task<> {\n"
              "  scope.spawn(load(prices, 1ms));\n"
              "  scope.spawn(load(stock, 10s));\n"
              "  scope.spawn(fail(adverts, 4ms));\n"
              "  scope.spawn(load_and_close(history));\n"
              "  co_return;\n"
              "};\n"
              "co_await with_scope(children);\n"});
  const stopwatch watch;
  shop one("The run, as it was recorded");
  run(one, false);
  const double seconds = watch.seconds();
  page.add(one.seen.take());
  page.check(one.stopped == 2 && seconds < 9, plural(static_cast<std::uint64_t>(one.stopped), "sibling") +
                                                  " of the failed child were stopped: all was over after " +
                                                  duration(seconds * 1e9) + ", not 10 s.");
  page.check(one.left_at_join == 0,
             "When with_scope() returned, " +
                 (one.left_at_join == 0 ? "no child"
                                        : plural(static_cast<std::uint64_t>(one.left_at_join), "coroutine")) +
                 " was running: the parent had also waited for the last clean-up.");
  page.check(one.error == "no adverts", "The parent caught the child's error: \"" + one.error + "\".");

  page.say("Now a second child fails, while it is being stopped:");
  shop both("The same with two errors");
  run(both, true);
  page.add(both.seen.take());
  page.check(both.error == "2 errors: no adverts; connection reset" && both.left_at_join == 0,
             "No error is lost: the parent caught \"" + both.error + "\".");
  page.measured("over_after", seconds * 1e9, "ns");
  page.measured("stopped", static_cast<double>(one.stopped), "children");
}
}  // namespace tour
