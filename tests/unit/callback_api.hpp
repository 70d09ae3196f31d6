// tests/unit/callback_api.hpp -- an API that calls back, and what its caller sees.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/completion.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/task.hpp>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace coracle_test::callback_api {
/// An API that stores its callback.
template <class T = int>
struct api {
  std::optional<coracle::completion<T>> handler;
  int cancels = 0;

  auto start() {
    return [this](coracle::completion<T> done) { handler.emplace(std::move(done)); };
  }
  auto cancel() {
    return [this] { ++cancels; };
  }
  template <class... Args>
  void complete(Args&&... args) {
    coracle::completion<T> done = std::move(*handler);
    handler.reset();
    done(static_cast<Args&&>(args)...);
  }
};
struct seen {
  int value = 0;
  bool over = false;
  coracle::stop_reason cancelled = coracle::stop_reason::none;
  std::string error;
};
template <class Operation>
coracle::task<> note(Operation operation, seen& found) {
  try {
    found.value = co_await std::move(operation);
  } catch (const coracle::operation_cancelled& e) {
    found.cancelled = e.reason();
  } catch (const std::exception& e) {
    found.error = e.what();
  }
  found.over = true;
}
}  // namespace coracle_test::callback_api
