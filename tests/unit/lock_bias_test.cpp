// tests/unit/lock_bias_test.cpp -- who needs the locks of a loop's backend, and when.
// SPDX-License-Identifier: MIT
#include "../../src/io/lock_bias.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace {
using coracle::detail::asymmetric_fence;
using coracle::detail::lock_bias;

bool is_alone(lock_bias& bias) { return lock_bias::use{bias}.is_alone(); }
bool is_alone_elsewhere(lock_bias& bias) {
  bool alone = false;
  std::thread{[&] { alone = is_alone(bias); }}.join();
  return alone;
}
/// A system without membarrier(2) has no bias.
const bool has_bias = asymmetric_fence{}.is_free();

TEST_CASE("lock_bias: only the owner is alone, once it has claimed the bias and until it releases it") {
  lock_bias bias;
  CHECK_FALSE(is_alone(bias));
  bias.claim();
  CHECK(is_alone(bias) == has_bias);
  CHECK(is_alone(bias) == has_bias);
  bias.release();
  CHECK_FALSE(is_alone(bias));
  bias.claim();
  CHECK(is_alone(bias) == has_bias);
}

TEST_CASE("lock_bias: the owner takes the locks for a use that calls the system") {
  lock_bias bias;
  bias.claim();
  CHECK_FALSE(lock_bias::use{bias, true}.is_alone());
  CHECK(is_alone(bias) == has_bias);
}

TEST_CASE("lock_bias: a use by another thread ends the claim for some polls") {
  lock_bias bias;
  bias.claim();
  CHECK_FALSE(is_alone_elsewhere(bias));
  CHECK_FALSE(is_alone(bias));
  int polls = 0;
  for (; has_bias && !is_alone(bias); ++polls) bias.claim();
  CHECK(polls == (has_bias ? 65 : 0));
}

TEST_CASE("lock_bias: nobody claims what another thread uses, nor what several threads run") {
  lock_bias bias;
  std::thread{[&] {
    const lock_bias::use its{bias};
    std::thread{[&] {
      bias.claim();
      CHECK_FALSE(is_alone(bias));
      bias.release();
    }}.join();
  }}.join();
  bias.share();
  for (int polls = 0; polls != 100; ++polls) bias.claim();
  CHECK_FALSE(is_alone(bias));
  CHECK_FALSE(is_alone_elsewhere(bias));
}
}  // namespace
