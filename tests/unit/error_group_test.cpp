// tests/unit/error_group_test.cpp -- several errors as one.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/error_group.hpp>
#include <coracle/testing/allocations.hpp>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using coracle::error_group;
using coracle::detail::gathered_errors;

std::exception_ptr error(const char* what) { return std::make_exception_ptr(std::runtime_error(what)); }

TEST_CASE("error_group: says how many errors there are, and what each says") {
  const error_group group({error("a"), std::make_exception_ptr(1), error("b")});
  CHECK(std::string(group.what()) == "3 errors: a; not a std::exception; b");
  CHECK(group.errors().size() == 3);
}

TEST_CASE("error_group: copies share the errors, and a group may hold a group") {
  const error_group inner({error("a"), error("b")});
  const error_group copy = inner;
  CHECK(copy.errors().data() == inner.errors().data());
  const error_group outer({std::make_exception_ptr(inner), error("c")});
  CHECK(std::string(outer.what()) == "2 errors: (2 errors: a; b); c");
  static_assert(std::is_nothrow_copy_constructible_v<error_group>);
}

TEST_CASE("error_group: one of no error, or of a null one, ends the program and says so") {
  CHECK(coracle_test::abort_message([] { static_cast<void>(error_group({})); }) ==
        "coracle: an error_group was made of no errors: pass at least one\n");
  CHECK(coracle_test::abort_message([] { static_cast<void>(error_group({error("a"), nullptr})); }) ==
        "coracle: an error_group was made of a null exception_ptr: pass only errors\n");
}

TEST_CASE("error_group: a single error is thrown as itself, several as a group, the first one first") {
  gathered_errors errors;
  errors.add(nullptr);
  CHECK(errors.empty());
  errors.add(error("first"));
  CHECK_THROWS_WITH_AS(gathered_errors(errors).throw_together(), "first", std::runtime_error);
  errors.add(error("second"));
  errors.add(error("third"));
  CHECK_THROWS_WITH_AS(gathered_errors(errors).throw_together(), "3 errors: first; second; third",
                       error_group);
}

TEST_CASE("error_group: an error is put before those that are there") {
  gathered_errors errors;
  errors.add_first(error("first"));
  CHECK_THROWS_WITH_AS(gathered_errors(errors).throw_together(), "first", std::runtime_error);
  gathered_errors others;
  others.add(error("second"));
  others.add(error("third"));
  others.add_first(error("first"));
  CHECK_THROWS_WITH_AS(others.throw_together(), "3 errors: first; second; third", error_group);
}

TEST_CASE("error_group: where all say that there is no memory, one of them is thrown") {
  gathered_errors errors;
  errors.add(std::make_exception_ptr(std::bad_alloc()));
  errors.add(std::make_exception_ptr(std::bad_alloc()));
  CHECK_THROWS_AS(gathered_errors(errors).throw_together(), std::bad_alloc);
  errors.add(error("third"));
  CHECK_THROWS_AS(gathered_errors(errors).throw_together(), error_group);
}

TEST_CASE("error_group: without memory for it the first error is thrown" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto first = error("first"), second = error("second");
  int alone = 0, together = 0;
  for (std::size_t k = 1; together == 0; ++k) {
    try {
      const coracle::testing::failing_allocation failing(k);
      gathered_errors errors;
      errors.add(first);
      errors.add(second);
      errors.throw_together();
    } catch (const std::runtime_error&) {
      ++alone;
    } catch (const error_group&) {
      ++together;
    }
  }
  CHECK(alone >= 3);
}

TEST_CASE("error_group: the errors for which there is memory are thrown" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  const auto first = error("first"), second = error("second"), third = error("third");
  gathered_errors errors;
  errors.add(first);
  {
    const coracle::testing::failing_allocation failing(1);
    errors.add(second);
  }
  errors.add(third);
  CHECK_THROWS_WITH_AS(errors.throw_together(), "2 errors: first; third", error_group);
}
}  // namespace
