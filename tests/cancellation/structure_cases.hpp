// tests/cancellation/structure_cases.hpp -- operations that await children.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>

#include "cancellation_case.hpp"

namespace coracle_test {
/// Waits for children that end with an event.
class structure_case : public cancellation_case {
 public:
  void complete() override { event_.set(); }
  bool intact(bool, bool completed) override { return event_.is_set() == completed; }

 protected:
  coracle::task<int> child() {
    co_await event_;
    co_return 1;
  }
  coracle::async_manual_reset_event event_;
};

class when_all_case final : public structure_case {
  coracle::task<> operation() override {
    co_await coracle::when_all(event_, child(), event_, coracle::when_all(child(), event_));
  }
};
class when_all_ready_case final : public structure_case {
  coracle::task<> operation() override {
    auto [first, second] = co_await coracle::when_all_ready(event_, child());
    first.get();
    static_cast<void>(second.get());
  }
};
class when_any_case final : public structure_case {
  coracle::task<> operation() override { co_await coracle::when_any(event_, child(), never_, event_); }
  bool intact(bool carried_out, bool completed) override {
    never_.set();
    return structure_case::intact(carried_out, completed);
  }
  coracle::async_manual_reset_event never_;
};
class when_any_succeeds_case final : public structure_case {
  coracle::task<int> fails() {
    co_await event_;
    throw 1;
  }
  coracle::task<> operation() override { co_await coracle::when_any_succeeds(fails(), child(), event_); }
};
class stop_when_case final : public structure_case {
  coracle::task<> operation() override { co_await coracle::stop_when(child(), second_.get_token()); }
  coracle::stop_source second_;
};
class scope_join_case final : public structure_case {
  coracle::task<> operation() override {
    coracle::async_scope scope;
    for (int i = 0; i != 3; ++i) scope.spawn(child());
    scope.spawn(event_.operator co_await());
    co_await scope.join();
  }
};
class with_scope_case final : public structure_case {
  coracle::task<> operation() override {
    const auto body = [this](coracle::async_scope& scope) -> coracle::task<> {
      scope.spawn(child());
      co_await event_;
    };
    co_await coracle::with_scope(body);
  }
};
/// The child continues when the wait for its result is cancelled.
class scope_future_case final : public structure_case {
  coracle::task<> operation() override {
    coracle::async_scope scope;
    auto future = scope.spawn_future(goes_on_.operator co_await());
    coracle::outcome<void> end;
    try {
      co_await std::move(future);
      end.emplace();
    } catch (const coracle::operation_cancelled& cancelled) {
      end.emplace_cancelled(cancelled.reason());
      goes_on_.set();
    }
    co_await coracle::shielded(scope.join());
    end.get();
  }
  void complete() override { goes_on_.set(); }
  bool intact(bool, bool) override { return goes_on_.is_set(); }
  coracle::async_manual_reset_event goes_on_;
};

inline std::vector<cancellation_entry> structure_cases() {
  constexpr auto joins = when_stopped::joins_its_children;
  return {{"when_all_operation", &make_case<when_all_case>, joins},
          {"when_all_ready_operation", &make_case<when_all_ready_case>, joins},
          {"when_any_operation", &make_case<when_any_case>, joins},
          {"when_any_succeeds()", &make_case<when_any_succeeds_case>, joins},
          {"stop_when()", &make_case<stop_when_case>},
          {"async_scope::join_operation", &make_case<scope_join_case>, joins},
          {"with_scope()", &make_case<with_scope_case>, joins},
          {"scope_future::wait_operation", &make_case<scope_future_case>}};
}
}  // namespace coracle_test
