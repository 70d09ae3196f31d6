// cppcoro/cancellation_source.hpp -- coracle::stop_source with cppcoro's names for its members.
// SPDX-License-Identifier: MIT
#pragma once
#include <cppcoro/cancellation_token.hpp>

namespace cppcoro {
/// Requests cancellation. Copies share one state.
///
///     cppcoro::cancellation_source source;
///     serve(source.token());
///     source.request_cancellation();
///
/// Threads  all members are thread-safe; only the first request runs the callbacks.
/// Cost     one allocation a source, none a token.
class cancellation_source {
 public:
  /// Returns false if moved from.
  [[nodiscard]] bool can_be_cancelled() const noexcept { return token().can_be_cancelled(); }
  [[nodiscard]] cancellation_token token() const noexcept { return source_.get_token(); }
  /// Runs the registered callbacks before it returns. No effect after the first time.
  void request_cancellation() { source_.request_stop(); }
  [[nodiscard]] bool is_cancellation_requested() const noexcept { return source_.stop_requested(); }

 private:
  coracle::stop_source source_;
};
}  // namespace cppcoro
