// tests/model/stop.cpp -- stop requests against callbacks that come, go and run.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <optional>

#include "model_waits.hpp"

namespace {
using coracle::environment;
using coracle::stop_callback;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::stop_token;
using coracle::detail::linked_stop_source;
using coracle::detail::plain;
using coracle::detail::subtree;
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
void linked_source_goes() {
  const stop_token none;
  std::optional<linked_stop_source> source(std::in_place, none);
  const stop_token token = source->get_token();
  model_thread looker{[&] { static_cast<void>(token.stop_possible()); }};
  source.reset();
  looker.join();
  model_expect(!token.stop_possible(), "the only one has gone");
}

/// Requests from outside and from inside: the callback runs once, for the reason of the first.
void linked_requests() {
  stop_source outer;
  const stop_token token = outer.get_token();
  linked_stop_source inner{token};
  plain_int runs = 0;
  stop_callback counts{inner.get_token(), [&] { ++runs; }};
  model_thread requester{[&] { outer.request_stop(stop_reason::timed_out); }};
  const bool mine = inner.request_stop(stop_reason::lost_race);
  requester.join();
  model_expect(runs == 1, "once");
  model_expect(inner.reason() == (mine ? stop_reason::lost_race : stop_reason::timed_out), "for one reason");
}
/// As above without a listener, so that the state is never linked.
void requests_not_linked() {
  stop_source outer;
  const stop_token token = outer.get_token();
  linked_stop_source inner{token};
  plain_int data = 0;
  model_thread requester{[&] {
    data = 7;
    outer.request_stop(stop_reason::timed_out);
  }};
  if (inner.reason() == stop_reason::timed_out) model_expect(data == 7, "with what came before");
  const bool mine = inner.request_stop(stop_reason::lost_race);
  requester.join();
  model_expect(inner.reason() == (mine ? stop_reason::lost_race : stop_reason::timed_out), "for one reason");
}
environment stopped_by(const stop_source& source) {
  environment outside;
  outside.stop = source.get_token();
  return outside;
}
const environment& inside(const subtree& outer) { return outer; }
/// Linked during the outer request, through as many states as may stay unlinked, and one more.
void link_against_request() {
  stop_source outer;
  const environment outside = stopped_by(outer);
  subtree first{outside}, second{inside(first)}, third{inside(second)};
  plain_int runs = 0, data = 0;
  model_thread requester{[&] {
    data = 7;
    outer.request_stop(stop_reason::timed_out);
  }};
  {
    stop_callback counts{third.stop, [&] {
                           ++runs;
                           model_expect(data == 7, "sees what the requester did");
                         }};
    requester.join();
  }
  model_expect(runs == 1, "it runs once, whichever came first");
  model_expect(third.stop.reason() == stop_reason::timed_out, "for the outer reason");
}
/// Two listeners are registered concurrently: the second finds the state linked.
void two_link() {
  stop_source outer;
  const environment outside = stopped_by(outer);
  subtree first{outside}, second{inside(first)};
  plain_int a = 0, b = 0;
  std::optional<stop_callback<std::function<void()>>> one, other;
  {
    model_thread listener{[&] { one.emplace(second.stop, [&] { ++a; }); }};
    other.emplace(first.stop, [&] { ++b; });
  }
  outer.request_stop();
  model_expect(a == 1 && b == 1, "each runs once");
}
/// A token that is kept is linked, since it outlives the outer state. Another thread reads it meanwhile.
void kept_token_against_request() {
  std::optional<stop_source> outer(std::in_place);
  stop_token kept;
  stop_reason looked = stop_reason::none;
  {
    const environment outside = stopped_by(*outer);
    subtree inner{outside};
    model_thread requester{[&] { outer->request_stop(stop_reason::timed_out); }};
    model_thread looker{[&] { looked = inner.stop.reason(); }};
    kept = inner.stop;
  }
  outer.reset();
  model_expect(kept.reason() == stop_reason::timed_out, "the request has come");
  model_expect(looked == stop_reason::none || looked == stop_reason::timed_out, "for one reason");
}
/// A thread that reads the state while it is linked to a stopped one sees what came before, and never sees it
/// reset.
void look_while_linked() {
  stop_source outer;
  const environment outside = stopped_by(outer);
  subtree inner{outside};
  plain_int data = 0;
  model_thread requester{[&] {
    data = 7;
    outer.request_stop(stop_reason::timed_out);
  }};
  model_thread linker{[&] {
    if (inner.stop.stop_requested()) model_expect(data == 7, "with what came before");
    const stop_token kept = inner.stop;
  }};
  const bool first = inner.stop.stop_requested();
  if (first) model_expect(data == 7, "with what came before");
  const bool second = inner.stop.stop_requested();
  if (second) model_expect(data == 7, "with what came before");
  model_expect(!first || second, "once true, always true");
}
/// The thread that stopped the outer state finds this one stopped, linked or not.
void link_against_look() {
  stop_source outer;
  const environment outside = stopped_by(outer);
  subtree inner{outside};
  model_thread linker{[&] { const stop_token kept = inner.stop; }};
  outer.request_stop(stop_reason::timed_out);
  model_expect(inner.stop.reason() == stop_reason::timed_out, "stopped, for the outer reason");
  linker.join();
  model_expect(inner.stop.reason() == stop_reason::timed_out, "and it stays so");
}
/// Destroyed during the outer request, as the last holder of the state or not.
void unlink_against_request() {
  stop_source outer;
  const stop_token token = outer.get_token();
  std::optional<linked_stop_source> inner(std::in_place, token);
  plain_int runs = 0;
  auto* const counts = new stop_callback{inner->get_token(), [&] { ++runs; }};
  model_thread requester{[&] { outer.request_stop(); }};
  delete counts;
  inner.reset();
  const int seen = runs;
  requester.join();
  model_expect(seen <= 1 && runs == seen, "at most once, and not later");
}
/// A listener is registered, which creates the state, while the source is requested: the callback runs once.
void made_against_request() {
  const stop_token none;
  linked_stop_source source{none};
  plain_int runs = 0, data = 0;
  {
    model_thread requester{[&] {
      data = 7;
      model_expect(source.request_stop(stop_reason::lost_race), "it is the only request");
    }};
    stop_callback counts{source.get_token(), [&] {
                           ++runs;
                           model_expect(data == 7, "sees what the requester did");
                         }};
    requester.join();
  }
  model_expect(runs == 1 && source.reason() == stop_reason::lost_race, "once, for that reason");
}
/// As above, requested by a callback of another source or by a timer.
void made_against_linked_request() {
  const stop_token none;
  linked_stop_source source{none};
  plain_int runs = 0, data = 0;
  {
    model_thread requester{[&] {
      data = 7;
      source.request_linked(stop_reason::timed_out);
    }};
    stop_callback counts{source.get_token(), [&] {
                           ++runs;
                           model_expect(data == 7, "sees what the requester did");
                         }};
    requester.join();
  }
  model_expect(runs == 1 && source.reason() == stop_reason::timed_out, "once, for that reason");
}
/// A kept token of a source that was requested, perhaps before its state existed, still reports this after
/// the source is gone.
void kept_after_request() {
  const stop_token none;
  std::optional<linked_stop_source> source(std::in_place, none);
  stop_token kept;
  {
    model_thread keeper{[&] { kept = source->get_token(); }};
    source->request_stop(stop_reason::lost_race);
  }
  model_expect(kept == source->get_token(), "all its tokens are the same");
  source.reset();
  model_expect(kept.reason() == stop_reason::lost_race, "it was requested");
}
/// The reason does not change once it was seen, even if both are requested concurrently.
void reason_stays() {
  stop_source outer;
  const stop_token token = outer.get_token();
  linked_stop_source inner{token};
  model_thread requester{[&] { outer.request_stop(stop_reason::timed_out); }};
  model_thread other{[&] { inner.request_stop(stop_reason::lost_race); }};
  const stop_reason told = inner.reason();
  requester.join();
  other.join();
  model_expect(told == stop_reason::none || inner.reason() == told, "it stays");
}
/// A check whether stop is possible while the state is created.
void possible_while_made() {
  const stop_token none;
  linked_stop_source source{none};
  stop_token lent = source.lend_token();
  {
    model_thread keeper{[&] { const stop_token kept = source.get_token(); }};
    model_expect(lent.stop_possible(), "the source is there");
  }
  linked_stop_source::take_back(lent);
}
/// Linked to two states, both of which are stopped so deep inside other requests that it is put off: it is in
/// the list of one of the two threads.
void link_twice_too_deep() {
  const stop_token none;
  linked_stop_source inner{none};
  stop_source one, other;
  plain_int runs = 0;
  stop_callback counts{inner.get_token(), [&] { ++runs; }};
  const auto request_deep = [&inner] {
    unsigned& depth = coracle::detail::this_thread().requests.depth;
    const unsigned outer = std::exchange(depth, coracle::detail::linked_requests::most);
    inner.request_linked(stop_reason::timed_out);
    depth = outer;
  };
  stop_callback first{one.get_token(), request_deep};
  stop_callback second{other.get_token(), request_deep};
  model_thread requester{[&] { one.request_stop(); }};
  other.request_stop();
  requester.join();
  model_expect(runs == 1 && inner.reason() == stop_reason::timed_out, "it is stopped once");
}
/// The source is destroyed while another thread drops a token of it.
void only_source_against_token() {
  const stop_token none;
  std::optional<linked_stop_source> source(std::in_place, none);
  model_thread dropper{[token = source->get_token()]() mutable {
    static_cast<void>(token.stop_possible());
    token = {};
  }};
  source->request_stop(stop_reason::requested);
  source.reset();
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
  run.check("linked stop: its end", run.all, linked_source_goes);
  run.check("linked stop: two requests", run.all, linked_requests);
  run.check("linked stop: two requests, not linked", run.all, requests_not_linked);
  run.check("linked stop: link against request", run.all, link_against_request);
  run.check("linked stop: two link at once", run.all, two_link);
  run.check("linked stop: a kept token against request", 4, kept_token_against_request);
  run.check("linked stop: looked at while linked", 3, look_while_linked);
  run.check("linked stop: link against a look", run.all, link_against_look);
  run.check("linked stop: unlink against request", run.all, unlink_against_request);
  run.check("linked stop: made against request", run.all, made_against_request);
  run.check("linked stop: made against a linked request", run.all, made_against_linked_request);
  run.check("linked stop: kept against request", run.all, kept_after_request);
  run.check("linked stop: the reason stays", run.all, reason_stays);
  run.check("linked stop: possible while made", run.all, possible_while_made);
  run.check("linked stop: linked to two, too deep", run.all, link_twice_too_deep);
  run.check("linked stop: the only source against a token", run.all, only_source_against_token);
  run.check("stop: callbacks that wake each other's owners", run.all, callbacks_that_wake_each_other);
  return run.finish();
}
