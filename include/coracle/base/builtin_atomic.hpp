// coracle/base/builtin_atomic.hpp -- the part of the seam that needs no <atomic>.
// SPDX-License-Identifier: MIT
#pragma once
#if defined(CORACLE_MODEL)
#include <coracle/testing/model/detail/memory.hpp>
#endif

namespace coracle::detail {
/// An atomic word made of compiler built-ins, for core/task.hpp and what it includes: <atomic> takes three
/// times as long to parse as all of these. Prefer atomic<T> elsewhere. Each access names its order.
#if defined(CORACLE_MODEL)
inline namespace modelled {
template <class T>
class builtin_atomic {
  using site = testing::model::site;
  using order = std::memory_order;

 public:
  builtin_atomic() = default;
  explicit builtin_atomic(T value) : word_(value) {}
  [[nodiscard]] T load_relaxed(site at = site::current()) const { return word_.load({order::relaxed, at}); }
  void store_relaxed(T value, site at = site::current()) { word_.store(value, {order::relaxed, at}); }
  T exchange_acq_rel(T value, site at = site::current()) {
    return word_.exchange(value, {order::acq_rel, at});
  }
  /// Gives the sum.
  T add_relaxed(T value, site at = site::current()) {
    return word_.fetch_add(value, {order::relaxed, at}) + value;
  }
  T subtract_relaxed(T value, site at = site::current()) {
    return word_.fetch_sub(value, {order::relaxed, at}) - value;
  }

 private:
  testing::model::model_atomic<T> word_;
};
#else
inline namespace native {
template <class T>
class builtin_atomic {
 public:
  constexpr builtin_atomic() noexcept = default;
  constexpr explicit builtin_atomic(T value) noexcept : word_(value) {}
  [[nodiscard]] T load_relaxed() const noexcept { return __atomic_load_n(&word_, __ATOMIC_RELAXED); }
  void store_relaxed(T value) noexcept { __atomic_store_n(&word_, value, __ATOMIC_RELAXED); }
  T exchange_acq_rel(T value) noexcept { return __atomic_exchange_n(&word_, value, __ATOMIC_ACQ_REL); }
  /// Gives the sum.
  T add_relaxed(T value) noexcept { return __atomic_add_fetch(&word_, value, __ATOMIC_RELAXED); }
  T subtract_relaxed(T value) noexcept { return __atomic_sub_fetch(&word_, value, __ATOMIC_RELAXED); }

 private:
  T word_{};
};
#endif
}  // inline namespace
}  // namespace coracle::detail
