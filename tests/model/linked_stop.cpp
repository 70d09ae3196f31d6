// tests/model/linked_stop.cpp -- stop sources below others, linked while either is requested.
// SPDX-License-Identifier: MIT
#include <coracle/core/detail/linked_stop_source.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <coracle/core/stop.hpp>
#include <optional>

#include "model_waits.hpp"

namespace {
using coracle::environment;
using coracle::stop_callback;
using coracle::stop_reason;
using coracle::stop_source;
using coracle::stop_token;
using coracle::detail::linked_stop_source;
using coracle::detail::subtree;
using namespace coracle_test;

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
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
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
  return run.finish();
}
