// tests/model/scope_children.hpp -- children of a scope, and coroutines that join it.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/async_scope.hpp>
#include <coracle/core/error_group.hpp>
#include <optional>
#include <stdexcept>

#include "model_waits.hpp"

namespace coracle_test {
struct failure : std::runtime_error {
  failure() : runtime_error("a child has failed") {}
};
inline coracle::task<> writes(std::coroutine_handle<>& handle, plain_int& data) {
  co_await hand_out{handle};
  data = 7;
}
inline coracle::task<int> gives(std::coroutine_handle<>& handle, plain_int& data) {
  co_await hand_out{handle};
  data = 7;
  co_return 1;
}
inline coracle::task<int> fails_in_scope(std::coroutine_handle<>& handle) {
  co_await hand_out{handle};
  throw failure{};
}

inline coracle::task<> is_cancelled(std::coroutine_handle<>& handle) {
  co_await hand_out{handle};
  throw coracle::operation_cancelled{coracle::stop_reason::requested};
}

/// Returns how join() ended.
enum class joined { waits, well, failed, failed_twice, cancelled };
/// Joins, reads `data`, and destroys the scope at once.
inline detached join(std::optional<coracle::async_scope>& scope, joined& end) {
  joined how = joined::well;
  try {
    co_await scope->join();
  } catch (const failure&) {
    how = joined::failed;
  } catch (const coracle::error_group&) {
    how = joined::failed_twice;
  } catch (const coracle::operation_cancelled&) {
    how = joined::cancelled;
  }
  scope.reset();
  end = how;
}
inline detached_in_place join_in(const stoppable_place&, std::optional<coracle::async_scope>& scope,
                                 joined& end) {
  joined how = joined::well;
  try {
    co_await scope->join();
  } catch (const failure&) {
    how = joined::failed;
  } catch (const coracle::operation_cancelled&) {
    how = joined::cancelled;
  }
  scope.reset();
  end = how;
}
}  // namespace coracle_test
