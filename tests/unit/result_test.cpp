// tests/unit/result_test.cpp -- outcome: a value, an exception, cancelled, or nothing yet.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/result.hpp>
#include <coracle/testing/lifetime_probe.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "../support/abort_message.hpp"

namespace {
using coracle::outcome;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;

template <class T>
void fail_with(outcome<T>& end, int error) {
  try {
    throw error;
  } catch (...) {
    end.emplace_current_exception();
  }
}

TEST_CASE("outcome: is empty at first") {
  const outcome<int> end;
  CHECK_FALSE(end.has_value());
  CHECK_FALSE(end.has_error());
  CHECK_FALSE(end.error());
}

TEST_CASE("outcome: one that is not empty takes nothing" * doctest::skip(!CORACLE_CHECKS())) {
  static outcome<int> end;
  end.emplace(1);
  for (const std::string& message :
       {coracle_test::abort_message([] { end.emplace(2); }),
        coracle_test::abort_message([] { end.emplace_error({}); }),
        coracle_test::abort_message([] { end.emplace_cancelled(coracle::stop_reason::requested); })}) {
    CHECK(message.find("emplace() of an outcome that is not empty") != std::string::npos);
  }
}

TEST_CASE("outcome: holds a value and gives it out, in place or moved") {
  outcome<std::string> end;
  end.emplace(3u, 'x');
  CHECK(end.has_value());
  CHECK_FALSE(end.has_error());
  end.get() += 'y';
  const std::string taken = std::move(end).get();
  CHECK(taken == "xxxy");
}

TEST_CASE("outcome: holds a move-only and a const value") {
  outcome<std::unique_ptr<int>> owner;
  owner.emplace(new int(7));
  const std::unique_ptr<int> taken = std::move(owner).get();
  CHECK(*taken == 7);

  outcome<const int> fixed;
  fixed.emplace(8);
  CHECK(fixed.get() == 8);
  CHECK(std::is_same_v<decltype(fixed.get()), const int&>);

  outcome<const std::unique_ptr<int>> fixed_owner;
  fixed_owner.emplace(new int(9));
  const std::unique_ptr<int> also_taken = std::move(fixed_owner).get();
  CHECK(*also_taken == 9);
}

TEST_CASE("outcome: of void holds no more than that it ended") {
  outcome<void> end;
  end.emplace();
  CHECK(end.has_value());
  CHECK(std::is_void_v<decltype(end.get())>);
  end.get();
  std::move(end).get();
}

TEST_CASE("outcome: a reference stays the same object, lvalue or rvalue") {
  int object = 1;
  outcome<int&> left;
  left.emplace(object);
  CHECK(&left.get() == &object);
  CHECK(std::is_same_v<decltype(std::move(left).get()), int&>);
  CHECK(&std::move(left).get() == &object);

  outcome<const int&> read_only;
  read_only.emplace(object);
  CHECK(&read_only.get() == &object);

  outcome<int&&> right;
  right.emplace(std::move(object));
  int&& same = std::move(right).get();
  CHECK(&same == &object);
}

TEST_CASE("outcome: throws its exception each time it is asked, and gives it out without throwing") {
  outcome<int> end;
  fail_with(end, 42);
  CHECK_FALSE(end.has_value());
  CHECK(end.has_error());
  CHECK(end.error());
  CHECK_THROWS_AS(end.get(), int);
  CHECK_THROWS_AS(std::move(end).get(), int);

  outcome<void> copy;
  copy.emplace_error(end.error());
  CHECK_THROWS_AS(copy.get(), int);
}

TEST_CASE("outcome: an exception that it has thrown is destroyed once, with the last that refers to it") {
  lifetimes log;
  struct error {
    lifetime_probe probe;
  };
  {
    outcome<int> end;
    try {
      throw error{lifetime_probe(log, 1)};
    } catch (...) {
      end.emplace_current_exception();
    }
    const auto before = log.destroyed.size();  // what was thrown may be a copy
    for (int i = 0; i != 3; ++i) CHECK_THROWS_AS(static_cast<void>(end.get()), error);
    CHECK(end.has_error());
    CHECK(log.alive == 1);
    CHECK(log.destroyed.size() == before);
  }
  CHECK(log.alive == 0);
}

TEST_CASE("outcome: cancelled is neither a value nor an error, and get() throws it with its reason") {
  outcome<std::string> end;
  CHECK_FALSE(end.is_cancelled());
  CHECK(end.reason() == coracle::stop_reason::none);
  end.emplace_cancelled(coracle::stop_reason::timed_out);
  outcome<std::string> moved(std::move(end));
  CHECK(moved.is_cancelled());
  CHECK_FALSE(moved.has_value());
  CHECK_FALSE(moved.has_error());
  CHECK(moved.error() == nullptr);
  CHECK(moved.reason() == coracle::stop_reason::timed_out);
  CHECK_THROWS_WITH_AS(static_cast<void>(moved.get()), "operation cancelled: its deadline has passed",
                       coracle::operation_cancelled);
  CHECK_THROWS_AS(static_cast<void>(std::move(moved).get()), coracle::operation_cancelled);
}

TEST_CASE("outcome: takes what a function gives, or how it ended else") {
  outcome<int> value, error, cancelled;
  value.emplace_from([] { return 3; });
  error.emplace_from([]() -> int { throw 4; });
  cancelled.emplace_from([]() -> int {
    struct derived : coracle::operation_cancelled {
      derived() : operation_cancelled(coracle::stop_reason::lost_race) {}
    };
    throw derived();
  });
  CHECK(value.get() == 3);
  CHECK_THROWS_AS(static_cast<void>(error.get()), int);
  CHECK(cancelled.reason() == coracle::stop_reason::lost_race);
  outcome<void> none;
  none.emplace_from([] {});
  CHECK(none.has_value());
  int object = 0;
  outcome<int&> reference;
  reference.emplace_from([&]() -> int& { return object; });
  CHECK(&reference.get() == &object);
}

TEST_CASE("outcome: an exception takes the place of a value, which is destroyed, or of another exception") {
  lifetimes log;
  outcome<lifetime_probe> end;
  end.emplace(log, 1);
  fail_with(end, 42);
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{1});
  fail_with(end, 43);
  int caught = 0;
  try {
    static_cast<void>(end.get());
  } catch (int error) {
    caught = error;
  }
  CHECK(caught == 43);
}

TEST_CASE("outcome: a constructor that throws leaves it empty") {
  lifetimes log;
  log.copies_until_throw = 0;
  const lifetime_probe original(log);
  outcome<lifetime_probe> end;
  CHECK_THROWS_AS(end.emplace(original), coracle::testing::copy_failed);
  CHECK_FALSE(end.has_value());
  CHECK_FALSE(end.has_error());
  CHECK(log.alive == 1);
}

TEST_CASE("outcome: destroys its value once") {
  lifetimes log;
  {
    outcome<lifetime_probe> end;
    end.emplace(log, 1);
    CHECK(log.alive == 1);
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{1});
}

TEST_CASE("outcome: a move takes the value, the exception or the emptiness along") {
  lifetimes log;
  outcome<lifetime_probe> value;
  value.emplace(log, 5);
  {
    outcome<lifetime_probe> moved(std::move(value));
    REQUIRE(moved.has_value());
    CHECK(moved.get().id() == 5);
    CHECK(log.moves == 1);
    CHECK(log.copies == 0);
  }

  outcome<int> error;
  fail_with(error, 1);
  outcome<int> moved_error(std::move(error));
  CHECK(moved_error.has_error());
  CHECK_THROWS_AS(moved_error.get(), int);

  outcome<int> nothing;
  const outcome<int> moved_nothing(std::move(nothing));
  CHECK_FALSE(moved_nothing.has_value());
  CHECK_FALSE(moved_nothing.has_error());
}

struct move_failed {};
struct fails_to_move {
  explicit fails_to_move(lifetimes& log) : probe(log) {}
  fails_to_move(fails_to_move&& other) : probe(std::move(other.probe)) { throw move_failed{}; }
  lifetime_probe probe;
};
static_assert(std::is_nothrow_move_assignable_v<outcome<std::string>> &&
              std::is_nothrow_move_assignable_v<outcome<void>> &&
              !std::is_nothrow_move_assignable_v<outcome<fails_to_move>>);

TEST_CASE("outcome: an assignment destroys what it held, and takes over what the other holds") {
  lifetimes log;
  outcome<lifetime_probe> end;
  for (int id = 1; id != 3; ++id) {
    outcome<lifetime_probe> next;
    next.emplace(log, id);
    end = std::move(next);
    CHECK(end.get().id() == id);
  }
  CHECK(log.destroyed == std::vector{1});
  outcome<lifetime_probe> error, cancelled;
  fail_with(error, 1);
  end = std::move(error);
  CHECK(end.has_error());
  CHECK_THROWS_AS(static_cast<void>(end.get()), int);
  CHECK(log.alive == 0);
  cancelled.emplace_cancelled(coracle::stop_reason::timed_out);
  end = std::move(cancelled);
  CHECK(end.reason() == coracle::stop_reason::timed_out);
  end = outcome<lifetime_probe>();
  CHECK(end.is_empty());

  outcome<const int> fixed, other;
  fixed.emplace(1);
  other.emplace(2);
  fixed = std::move(other);
  CHECK(fixed.get() == 2);
  int one = 1, two = 2;
  outcome<int&> reference, to_two;
  reference.emplace(one);
  to_two.emplace(two);
  reference = std::move(to_two);
  CHECK(&reference.get() == &two);
}

TEST_CASE("outcome: assigned to itself it keeps what it holds") {
  outcome<std::string> end;
  end.emplace("a text that is too long for the object itself");
  outcome<std::string>& same = end;
  end = std::move(same);
  CHECK(end.get() == "a text that is too long for the object itself");
}

TEST_CASE("outcome: is empty after an assignment whose move throws") {
  lifetimes log;
  outcome<fails_to_move> end, other;
  end.emplace(log);
  other.emplace(log);
  CHECK_THROWS_AS(end = std::move(other), move_failed);
  CHECK(end.is_empty());
  CHECK(log.alive == 1);
}

TEST_CASE("outcome: costs the larger of the value and a pointer, and one byte") {
  CHECK(sizeof(outcome<void>) == 2 * sizeof(void*));
  CHECK(sizeof(outcome<int>) == 2 * sizeof(void*));
  CHECK(sizeof(outcome<int&>) == 2 * sizeof(void*));
  CHECK(sizeof(outcome<std::string>) == sizeof(std::string) + sizeof(void*));
}

TEST_CASE("outcome: taking the result before there is one ends the program with one line") {
  const std::string written = coracle_test::abort_message([] {
    outcome<int> end;
    static_cast<void>(std::move(end).get());
  });
  CHECK(written == "coracle: the result of a coroutine was taken before it finished\n");
}
struct unlike {
  virtual ~unlike() = default;
  long first = 1, second = 2;
};
struct stopped_too : unlike, coracle::operation_cancelled {
  using operation_cancelled::operation_cancelled;
};
struct stopped_by_two : virtual coracle::operation_cancelled, unlike {
  stopped_by_two() : operation_cancelled(coracle::stop_reason::shutting_down) {}
};
struct hides_it : unlike, private coracle::operation_cancelled {};
template <class Error>
void is_classified(const Error& error, coracle::stop_reason why) {
  outcome<int> end;
  end.emplace_failure(std::make_exception_ptr(error));
  CHECK(end.is_cancelled() == (why != coracle::stop_reason::none));
  CHECK(end.reason() == why);
  CHECK(end.has_error() == (why == coracle::stop_reason::none));
}

TEST_CASE("outcome: what a handler of operation_cancelled would catch counts as cancelled") {
  using coracle::stop_reason;
  is_classified(coracle::operation_cancelled(stop_reason::timed_out), stop_reason::timed_out);
  is_classified(coracle::operation_cancelled(stop_reason::none), stop_reason::requested);
  is_classified(stopped_too(stop_reason::lost_race), stop_reason::lost_race);
  is_classified(stopped_by_two(), stop_reason::shutting_down);
  is_classified(hides_it(), stop_reason::none);
  is_classified(std::runtime_error("error"), stop_reason::none);
  is_classified(7, stop_reason::none);
  static const coracle::operation_cancelled somewhere;
  is_classified(&somewhere, stop_reason::none);
}
}  // namespace
