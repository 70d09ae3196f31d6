// coracle/core/detail/reports_end.hpp -- awaiters that say, without an exception, that there is no result.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/core/customisation.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <exception>

namespace coracle::detail {
/// An awaiter that reports cancellation without an exception; its result is then not taken.
template <class Awaiter>
concept reports_cancellation = requires(Awaiter& over) {
  { over.await_cancelled() } noexcept -> std::same_as<stop_reason>;
};

template <class Awaiter>
  requires requires(Awaiter& over) {
    { over.await_failure() } noexcept -> std::same_as<std::exception_ptr>;
  }
std::exception_ptr failure_of(Awaiter& over, internal_call) noexcept {
  return over.await_failure();
}
/// An awaiter that hands over the exception which its await_resume() would throw, or null; after an exception
/// its result is not taken. For programs without exceptions.
template <class Awaiter>
concept reports_failure = requires(Awaiter& over) {
  { failure_of(over, internal_call()) } noexcept -> std::same_as<std::exception_ptr>;
};
}  // namespace coracle::detail
