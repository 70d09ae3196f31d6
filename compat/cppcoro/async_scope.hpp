// cppcoro/async_scope.hpp -- coracle's async_scope, with cppcoro's meaning.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/async_scope.hpp>
#include <cppcoro/on_scope_exit.hpp>

namespace cppcoro {
/// Children that were started without being awaited one by one; nobody stops them.
///
///     cppcoro::async_scope scope;
///     scope.spawn(serve(connection));
///     co_await scope.join();
///
/// Prefer coracle::with_scope in new code: it joins on every way out, and stops the others where one fails.
/// Exceptions  join() throws what left a child, where cppcoro ends the program; several as
///             coracle::error_group.
class async_scope : public coracle::async_scope {
 public:
  async_scope() : coracle::async_scope(coracle::scope_policy::collect_all()) {}
};
}  // namespace cppcoro
