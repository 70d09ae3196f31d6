// tests/model/error_group.cpp -- an error_group whose copies two threads use and destroy.
// SPDX-License-Identifier: MIT
#include <coracle/core/error_group.hpp>
#include <optional>

#include "model_waits.hpp"

namespace {
using coracle::error_group;
using namespace coracle_test;

struct error {
  plain_int value = 42;
};

/// The thread that drops the last copy destroys the errors, which the other has read before.
void copies_are_dropped() {
  std::vector<std::exception_ptr> errors;
  const error* kept = nullptr;
  try {
    throw error{};
  } catch (const error& thrown) {
    kept = &thrown;
    errors.push_back(std::current_exception());
  }
  std::optional<error_group> one(std::in_place, std::move(errors)), other(one);
  const auto use = [kept](std::optional<error_group>& mine) {
    std::optional<error_group> copy(mine);
    model_expect(kept->value == 42, "the errors are there as long as a copy is");
    copy.reset();
    mine.reset();
  };
  model_thread second{[&] { use(other); }};
  use(one);
  second.join();
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("error_group: two threads copy it and drop it", model_test::all, copies_are_dropped);
  return run.finish();
}
