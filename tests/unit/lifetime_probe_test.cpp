// tests/unit/lifetime_probe_test.cpp -- what a probe records about its lifetime, and what ends the program.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/testing/lifetime_probe.hpp>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"

namespace {
using coracle::testing::copy_failed;
using coracle::testing::lifetime_probe;
using coracle::testing::lifetimes;
using coracle_test::abort_message;

TEST_CASE("lifetime_probe: constructions, copies, moves and destructions are counted apart") {
  lifetimes log;
  {
    lifetime_probe one(log, 1);
    lifetime_probe copy = one;
    lifetime_probe moved = std::move(one);
    CHECK(one.moved_from());
    CHECK_FALSE(moved.moved_from());
    CHECK(copy.id() == 1);
    CHECK(log.constructed == 1);
    CHECK(log.copies == 1);
    CHECK(log.moves == 1);
    CHECK(log.alive == 3);
  }
  CHECK(log.alive == 0);
  CHECK(log.destroyed == std::vector{1, 1});
}

TEST_CASE("lifetime_probe: destructions are logged in their order, whatever the order of construction") {
  lifetimes log;
  auto first = std::make_unique<lifetime_probe>(log, 1);
  auto second = std::make_unique<lifetime_probe>(log, 2);
  auto third = std::make_unique<lifetime_probe>(log, 3);
  second.reset();
  first.reset();
  third.reset();
  CHECK(log.destroyed == std::vector{2, 1, 3});
}

TEST_CASE("lifetime_probe: the copy that is to fail throws, is not alive, and the next one succeeds") {
  lifetimes log;
  const lifetime_probe original(log);
  log.copies_until_throw = 1;
  const lifetime_probe copy = original;
  CHECK_THROWS_AS(lifetime_probe(static_cast<const lifetime_probe&>(original)), copy_failed);
  CHECK(log.alive == 2);
  log.copies_until_throw = -1;
  const lifetime_probe again = copy;
  CHECK(log.copies == 2);
}

TEST_CASE("lifetime_probe: a second destruction ends the program") {
  CHECK(
      abort_message([] {
        lifetimes log;
        auto* probe = ::new (::operator new(sizeof(lifetime_probe))) lifetime_probe(log);
        asm volatile("" : "+r"(probe) : : "memory");  // or the compiler knows that nothing is there any more
        probe->~lifetime_probe();
        asm volatile("" : "+r"(probe) : : "memory");
        probe->~lifetime_probe();
      }) ==
      "coracle: a lifetime_probe that is not alive was destroyed: destroyed twice, or moved bytewise\n");
}

TEST_CASE("lifetime_probe: one that was moved as bytes ends the program when it is destroyed") {
  CHECK(abort_message([] {
          lifetimes log;
          alignas(lifetime_probe) unsigned char to[sizeof(lifetime_probe)];
          lifetime_probe from(log);
          std::memcpy(to, static_cast<void*>(&from), sizeof to);
          reinterpret_cast<lifetime_probe*>(to)->~lifetime_probe();
        }) ==
        "coracle: a lifetime_probe that is not alive was destroyed: destroyed twice, or moved bytewise\n");
}

TEST_CASE("lifetime_probe: one that outlives its log ends the program") {
  CHECK(abort_message([] {
          lifetimes log;
          static_cast<void>(new lifetime_probe(log));
        }) == "coracle: a lifetime_probe leaked: it outlived the lifetimes to which it reports\n");
}
}  // namespace
