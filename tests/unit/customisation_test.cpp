// tests/unit/customisation_test.cpp -- customisation points, and members that only have the same names.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/channels/channel.hpp>
#include <coracle/core/customisation.hpp>
#include <coracle/core/detail/choice.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>

namespace user {
class awaiter {
 public:
  explicit awaiter(int value) noexcept : value_(value) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  int await_resume() const noexcept { return value_; }

 private:
  int value_;
};
/// Its result is 1, or 2 if its owning awaiter is used.
struct owned {
  awaiter operator co_await() && noexcept { return awaiter{1}; }
  awaiter owning_awaiter() && noexcept { return awaiter{2}; }
};
struct plain {
  awaiter operator co_await() && noexcept { return awaiter{1}; }
};
/// Has members with these names but a different meaning.
struct unrelated {
  awaiter operator co_await() && noexcept { return awaiter{1}; }
  int owning_awaiter() && noexcept { return 2; }
};
// Found by argument-dependent lookup for all of these, and must never be called.
template <class T>
awaiter owning_awaiter(T&&) noexcept {
  return awaiter{3};
}

struct coroutine {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything {
    template <class... Others>
    promise_type(const coracle::environment& inherited, coracle::race_choice& one_of, Others&...) noexcept
        : inherited_(&inherited), one_of_(&one_of) {}
    coroutine get_return_object() const noexcept { return {}; }
    [[nodiscard]] const coracle::environment* get_environment() const noexcept { return inherited_; }
    [[nodiscard]] coracle::race_choice* get_choice() const noexcept { return one_of_; }

   private:
    const coracle::environment* inherited_;
    coracle::race_choice* one_of_;
  };
};
coroutine await_it(const coracle::environment&, coracle::race_choice&, coracle::task<> work) {
  co_await std::move(work);
}
coroutine receive(const coracle::environment&, coracle::race_choice&, coracle::channel<int>& from, int& got) {
  try {
    const auto element = co_await from.recv();
    got = element.value_or(0);
  } catch (const coracle::operation_cancelled&) {
    // another branch has won
  }
}
struct other_promise {
  int get_environment() const noexcept { return 1; }
  bool get_choice() const noexcept { return true; }
};
}  // namespace user

static_assert(coracle::gives_owning_awaiter<user::owned> && !coracle::gives_owning_awaiter<user::owned&>);
static_assert(!coracle::gives_owning_awaiter<user::plain> && !coracle::gives_owning_awaiter<user::unrelated>);
static_assert(coracle::gives_owning_awaiter<coracle::task<int>>);
static_assert(coracle::hands_down_environment<user::coroutine::promise_type>);
static_assert(coracle::offers_choice<user::coroutine::promise_type>);
static_assert(!coracle::hands_down_environment<user::other_promise> &&
              !coracle::offers_choice<user::other_promise>);
static_assert(coracle::hands_down_environment<coracle::task<>::promise_type>);
static_assert(!coracle::offers_choice<coracle::task<>::promise_type>);

TEST_CASE("customisation: an rvalue's owning awaiter is awaited where the compiler does not copy awaiters") {
  const auto work = []() -> coracle::task<int> {
    const int one = co_await user::owned{};
    const int two = co_await user::plain{};
    const int three = co_await user::unrelated{};
    co_return 100 * one + 10 * two + three;
  };
  CHECK(coracle::sync_wait(work()) == (CORACLE_COPIES_AWAITERS() ? 111 : 211));
}
TEST_CASE("customisation: what a user's coroutine awaits inherits the environment of its promise") {
  coracle::stop_source source;
  coracle::environment inherited;
  inherited.stop = source.get_token();
  coracle::race_choice one_of;
  bool stopped = false;
  const auto below = [&]() -> coracle::task<> {
    const coracle::stop_token token = co_await coracle::this_task::stop_token();
    stopped = token.stop_requested();
  };
  source.request_stop();
  user::await_it(inherited, one_of, below());
  CHECK(stopped);
}
TEST_CASE("customisation: of two coroutines that share a race_choice one receives") {
  coracle::environment inherited;
  coracle::race_choice one_of;
  coracle::channel<int> a{1}, b{1};
  int got = 0;
  REQUIRE(a.try_send(1));
  REQUIRE(b.try_send(2));
  user::receive(inherited, one_of, b, got);
  user::receive(inherited, one_of, a, got);
  CHECK(got == 2);
  CHECK(a.try_recv() == 1);
}
