// tests/unit/tagged_pointer_test.cpp -- a pointer and a small tag in one word.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/base/tagged_pointer.hpp>
#include <cstdint>

namespace {
using coracle::detail::no_tag;
using coracle::detail::tagged_pointer;

enum class mark : std::uintptr_t { none = 0, one = 1, two = 2, mask = 7 };
using word = tagged_pointer<long, mark>;

long object = 0;

TEST_CASE("tagged_pointer: a pointer keeps its marks, and they leave it alone") {
  word at(&object, mark::one);
  CHECK(at.has_pointer());
  CHECK(at.pointer() == &object);
  CHECK(at.pointer_tagged(mark::one) == &object);
  CHECK(at.tag() == mark::one);
  at.add(mark::two);
  CHECK(at.has(mark::one));
  CHECK(at.has(mark::two));
  CHECK(at.pointer() == &object);
  CHECK(at != word(&object));
}

TEST_CASE("tagged_pointer: a tag alone is no pointer") {
  word at = mark::two;
  CHECK_FALSE(at.has_pointer());
  CHECK(at.pointer() == nullptr);
  CHECK(at == mark::two);
  at = word(&object, mark::one);
  at.drop_pointer();
  CHECK(at == mark::one);
  CHECK_FALSE(at.has(mark::two));
}

TEST_CASE("tagged_pointer: a number that is no address gives no pointer") {
  using number_or_pointer = tagged_pointer<long, no_tag>;
  CHECK(number_or_pointer::from_bits(8).pointer_above(8) == nullptr);
  CHECK(number_or_pointer::from_bits(number_or_pointer(&object).bits()).pointer_above(8) == &object);
}
}  // namespace
