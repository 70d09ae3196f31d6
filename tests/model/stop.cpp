// tests/model/stop.cpp -- stop requests against callbacks that come, go and run.
// SPDX-License-Identifier: MIT
#include <coracle/core/stop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>

#include "model_waits.hpp"

namespace {
using coracle::stop_callback;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::stop_token;
using namespace coracle_test;

/// Two concurrent requests: one of them is the first, and it returns after the callback.
void two_requests() {
  stop_source source;
  plain_int runs = 0;
  bool first = false;
  stop_callback counts{source.get_token(), [&] { ++runs; }};
  model_thread other{[&] {
    first = source.request_stop(stop_reason::lost_race);
    if (first) model_expect(runs == 1, "the callback has returned");
  }};
  const bool second = source.request_stop(stop_reason::timed_out);
  if (second) model_expect(runs == 1, "the callback has returned");
  other.join();
  model_expect(first != second, "one is the first");
  model_expect(source.reason() == (first ? stop_reason::lost_race : stop_reason::timed_out),
               "and gives the reason");
}
/// A thread that sees the request also sees what the requester did before.
void look_at_request() {
  stop_source source;
  const stop_token token = source.get_token();
  plain_int data = 0;
  model_thread requester{[&] {
    data = 7;
    source.request_stop(stop_reason::timed_out);
  }};
  const bool seen = token.stop_requested();
  if (seen) model_expect(data == 7, "with what came before");
  const stop_reason why = token.reason();
  model_expect(seen ? why == stop_reason::timed_out : true, "once true, always true");
  requester.join();
}
/// A callback that is registered during the request runs once, and sees what the requester did before.
void register_against_request() {
  stop_source source;
  plain_int data = 0, runs = 0;
  model_thread requester{[&] {
    data = 7;
    source.request_stop();
  }};
  {
    stop_callback notes{source.get_token(), [&] {
                          runs = runs + 1;
                          model_expect(data == 7, "sees what the requester did");
                        }};
    requester.join();
  }
  model_expect(runs == 1, "it runs once");
}
/// After deregistration the callback does not run; what it wrote is visible.
void deregister_against_request() {
  stop_source source;
  plain_int data = 0;
  std::optional<stop_callback<std::function<void()>>> writes;
  writes.emplace(source.get_token(), [&] { data = 7; });
  model_thread requester{[&] { source.request_stop(); }};
  writes.reset();
  const bool has_run = data == 7;
  data = 1;  // a race, if it still runs
  requester.join();
  model_expect(data == 1 && (!has_run || source.stop_requested()), "it does not run later");
}
/// Registered and deregistered during the request.
void come_and_go_against_request() {
  stop_source source;
  plain_int runs = 0;
  model_thread requester{[&] { source.request_stop(); }};
  {
    stop_callback counts{source.get_token(), [&] { ++runs; }};
  }
  const int seen = runs;
  model_expect(seen <= 1, "at most once");
  requester.join();
  model_expect(runs == seen, "and not later");
}
/// A callback deregisters itself while another one is deregistered, or registered, on another thread.
void callback_removes_itself() {
  stop_source source;
  using callback = stop_callback<std::function<void()>>;
  std::optional<callback> self, other;
  plain_int runs = 0, others = 0;
  self.emplace(source.get_token(), [&] {
    ++runs;
    self.reset();
  });
  other.emplace(source.get_token(), [&] { ++others; });
  model_thread remover{[&] {
    other.reset();
    ++others;  // a race, if it still runs
  }};
  source.request_stop();
  remover.join();
  model_expect(runs == 1 && !self, "it runs once, and does not wait for itself");
  model_expect(others >= 1 && others <= 2, "the other at most once");
}
/// A callback deregisters the next one, which has not run yet; that one's thread is too late for the one
/// after it.
void callback_removes_the_next() {
  stop_source source;
  using callback = stop_callback<std::function<void()>>;
  std::optional<callback> first, next, last;
  plain_int runs = 0, lasts = 0;
  first.emplace(source.get_token(), [&] { next.reset(); });
  next.emplace(source.get_token(), [&] { ++runs; });
  last.emplace(source.get_token(), [&] { ++lasts; });
  model_thread remover{[&] {
    last.reset();
    lasts += 2;
  }};
  source.request_stop();
  remover.join();
  model_expect(runs == 0, "removed in time");
  model_expect(lasts == 2 || lasts == 3, "the last runs at most once");
}
/// Three callbacks, two of which other threads remove while the request runs through the list.
void two_removals_against_request() {
  stop_source source;
  using callback = stop_callback<std::function<void()>>;
  plain_int a = 0, b = 0, kept = 0;
  std::optional<callback> first, second;
  first.emplace(source.get_token(), [&] { ++a; });
  stop_callback stays{source.get_token(), [&] { ++kept; }};
  second.emplace(source.get_token(), [&] { ++b; });
  model_thread one{[&] {
    first.reset();
    a += 2;
  }};
  model_thread other{[&] {
    second.reset();
    b += 2;
  }};
  source.request_stop();
  one.join();
  other.join();
  model_expect(kept == 1, "who stays runs once");
  model_expect((a == 2 || a == 3) && (b == 2 || b == 3), "who goes at most once");
}
/// A thread that has waited for the running callback removes the next at once, while the requester continues.
void removals_in_turn_against_request() {
  stop_source source;
  using callback = stop_callback<std::function<void()>>;
  plain_int a = 0, b = 0;
  std::optional<callback> first, second;
  first.emplace(source.get_token(), [&] { ++a; });
  second.emplace(source.get_token(), [&] { ++b; });
  model_thread remover{[&] {
    first.reset();
    second.reset();
    a += 2;
    b += 2;
  }};
  source.request_stop();
  remover.join();
  model_expect((a == 2 || a == 3) && (b == 2 || b == 3), "each runs once at most");
}
/// A callback drops everything that keeps the state, inside the request.
void callback_drops_the_last() {
  std::optional<stop_source> source(std::in_place);
  std::optional<stop_callback<std::function<void()>>> self;
  self.emplace(source->get_token(), [&] {
    source.reset();
    self.reset();
  });
  model_expect(source->request_stop() && !source && !self, "it is the first request");
}
/// A listener that was removed may be removed again after the state is gone.
void removed_twice() {
  struct listener : coracle::detail::stop_registration {
    listener() : stop_registration(&ran) {}
    static void ran(coracle::detail::stop_listener&) noexcept {}
  } one;
  {
    const stop_source source;
    model_expect(one.add_to(source.get_token()), "it listens");
    one.remove();
  }
  one.remove();
}
/// Any thread may hold the last reference.
void last_reference() {
  stop_source source;
  std::optional<stop_token> token(source.get_token());
  model_thread dropper{[&] { token.reset(); }};
  model_thread requester{[source] { stop_source(source).request_stop(); }};
  static_cast<void>(std::exchange(source, stop_source(std::move(source))));
}
/// What each holder has done is done before the state is destroyed.
void last_of_two_references() {
  auto* const source = new stop_source;
  model_thread dropper{[token = source->get_token()]() mutable {
    static_cast<void>(token.stop_requested());
    token = {};
  }};
  source->request_stop();
  delete source;
}

/// Stop is possible as long as a source is left, and no longer.
void sources_come_and_go() {
  std::optional<stop_source> source(std::in_place);
  const stop_token token = source->get_token();
  model_thread other{[&token, copy = *source] {
    const stop_source another = copy;
    model_expect(token.stop_possible(), "here is one");
  }};
  {
    const stop_source another = *source;
  }
  model_expect(token.stop_possible(), "here is one");
  source.reset();
  other.join();
  model_expect(!token.stop_possible(), "the last one has gone");
}

/// Each coroutine waits for an event that the other's callback sets, and both are stopped concurrently: no
/// callback waits for a coroutine, so this is no deadlock.
detached wait_with_callback(coracle::async_manual_reset_event& mine, const stop_token& token,
                            coracle::async_manual_reset_event& others, int& ended) {
  stop_callback sets{token, [&others]() noexcept { others.set(); }};
  co_await mine;
  ++ended;
}
void callbacks_that_wake_each_other() {
  coracle::async_manual_reset_event a, b;
  stop_source first, second;
  int ended_a = 0, ended_b = 0;
  wait_with_callback(a, first.get_token(), b, ended_a);
  wait_with_callback(b, second.get_token(), a, ended_b);
  model_thread stopper{[&] { first.request_stop(); }};
  second.request_stop();
  stopper.join();
  model_expect(ended_a + ended_b != 0, "one callback has run at least, and its coroutine goes on");
  a.set();
  b.set();
  model_expect(ended_a == 1 && ended_b == 1, "each goes on once");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("stop: two requests", run.all, two_requests);
  run.check("stop: a look at a request", run.all, look_at_request);
  run.check("stop: register against request", run.all, register_against_request);
  run.check("stop: deregister against request", run.all, deregister_against_request);
  run.check("stop: come and go against request", run.all, come_and_go_against_request);
  run.check("stop: a callback removes itself, another goes", run.all, callback_removes_itself);
  run.check("stop: a callback removes the next, the last goes", run.all, callback_removes_the_next);
  run.check("stop: two removals against request", 4, two_removals_against_request);
  run.check("stop: removals in turn against request", run.all, removals_in_turn_against_request);
  run.check("stop: a callback drops the last reference", run.all, callback_drops_the_last);
  run.check("stop: removed twice", run.all, removed_twice);
  run.check("stop: the last reference of three", run.all, last_reference);
  run.check("stop: the last reference of two", run.all, last_of_two_references);
  run.check("stop: sources come and go", run.all, sources_come_and_go);
  run.check("stop: callbacks that wake each other's owners", run.all, callbacks_that_wake_each_other);
  return run.finish();
}
