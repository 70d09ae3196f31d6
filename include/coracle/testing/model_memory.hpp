// coracle/testing/model_memory.hpp -- shared memory as the model checker sees it.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace coracle::testing::model {
using site = std::source_location;

/// Threads of one execution, the body of the test among them.
inline constexpr std::size_t model_threads = 6;
/// How many stores a location remembers: how stale a load can be.
inline constexpr std::size_t model_history = 8;

/// How much of each thread's past is known: a vector clock.
struct model_clock {
  std::array<std::uint32_t, model_threads> at{};
  void join(const model_clock& other) noexcept {
    for (std::size_t i = 0; i != model_threads; ++i) at[i] = at[i] < other.at[i] ? other.at[i] : at[i];
  }
};

/// A store, for as long as some load may still see it.
struct model_store {
  std::uint64_t value = 0;
  model_clock release;       ///< what a load with acquire learns
  model_clock first_seen;    ///< when each thread first saw it; 0: not yet
  std::uint64_t number = 0;  ///< of all stores of the execution
  std::uint32_t thread = 0, time = 0;
  bool sequential = false;
};

/// An atomic object: its stores in modification order, the newest of them.
struct model_location {
  std::array<model_store, model_history> stores{};
  std::uint32_t count = 0;
  std::uint32_t name = 0;
  std::uint64_t execution = 0;  ///< in which this is valid; before it only the last value is
};

/// A plain object: who wrote it last, and who has read it since.
struct model_cell {
  model_clock reads;
  std::uint32_t writer = 0, written = 0;
  std::uint32_t name = 0;
  std::uint64_t execution = 0;
};

// The engine, src/testing/model_engine.cpp. Outside of a model_check() these act as on ordinary memory.
std::uint64_t model_load(model_location& at, std::memory_order order, const site& where);
void model_store_to(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
/// A read-modify-write in two steps, which no other thread comes between.
std::uint64_t model_rmw_read(model_location& at, const char* what, const site& where);
void model_rmw_write(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
/// The read-modify-write does not happen: what was read counts as a load of the newest value.
void model_rmw_fail(model_location& at, std::memory_order order, const site& where);
/// Whether a compare_exchange_weak fails for no reason.
[[nodiscard]] bool model_fails_spuriously();
void model_init(model_location& at, std::uint64_t value);
void model_fence(std::memory_order order, const site& where);
void model_read(model_cell& at, const site& where);
void model_write(model_cell& at, const site& where);
void model_pause();
bool model_park_at(model_location& at, std::uint64_t expected, bool has_timeout);
void model_unpark_at(const model_location* at, unsigned count);

/// std::atomic, every access of which the engine sees.
template <class T>
class model_atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  using value_type = T;

  model_atomic() : model_atomic(T{}) {}
  model_atomic(T initial) { model_init(location_, encode(initial)); }  // NOLINT: as std::atomic's
  model_atomic(const model_atomic&) = delete;
  model_atomic& operator=(const model_atomic&) = delete;

  T load(std::memory_order order, site where = site::current()) const {
    return decode(model_load(location_, order, where));
  }
  void store(T value, std::memory_order order, site where = site::current()) {
    model_store_to(location_, encode(value), order, where);
  }
  T exchange(T value, std::memory_order order, site where = site::current()) {
    return change([value](T) { return value; }, "exchange", order, where);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               site where = site::current()) {
    const T found = decode(model_rmw_read(location_, "compare_exchange", where));
    if (encode(found) == encode(expected)) {
      model_rmw_write(location_, encode(desired), success, where);
      return true;
    }
    model_rmw_fail(location_, failure, where);
    expected = found;
    return false;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order,
                               site where = site::current()) {
    return compare_exchange_strong(expected, desired, order, on_failure(order), where);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                             site where = site::current()) {
    if (model_fails_spuriously()) {
      expected = load(failure, where);
      return false;
    }
    return compare_exchange_strong(expected, desired, success, failure, where);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order order, site where = site::current()) {
    return compare_exchange_weak(expected, desired, order, on_failure(order), where);
  }
  T fetch_add(T value, std::memory_order order, site where = site::current()) {
    return change([value](T old) { return static_cast<T>(old + value); }, "fetch_add", order, where);
  }
  T fetch_sub(T value, std::memory_order order, site where = site::current()) {
    return change([value](T old) { return static_cast<T>(old - value); }, "fetch_sub", order, where);
  }
  T fetch_or(T value, std::memory_order order, site where = site::current()) {
    return change([value](T old) { return static_cast<T>(old | value); }, "fetch_or", order, where);
  }
  T fetch_and(T value, std::memory_order order, site where = site::current()) {
    return change([value](T old) { return static_cast<T>(old & value); }, "fetch_and", order, where);
  }

  friend bool model_park(model_atomic& word, T expected, bool has_timeout) {
    return model_park_at(word.location_, encode(expected), has_timeout);
  }
  /// The word may be gone: only its address is used.
  friend void model_unpark(model_atomic* word, unsigned count) { model_unpark_at(&word->location_, count); }

 private:
  template <class F>
  T change(F f, const char* what, std::memory_order order, const site& where) {
    const T old = decode(model_rmw_read(location_, what, where));
    model_rmw_write(location_, encode(f(old)), order, where);
    return old;
  }
  static constexpr std::memory_order on_failure(std::memory_order order) {
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order == std::memory_order_acq_rel ? std::memory_order_acquire : order;
  }
  static std::uint64_t encode(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  static T decode(std::uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }

  mutable model_location location_;
};

/// A plain field that a protocol hands from thread to thread: the engine reports two accesses that nothing orders.
template <class T>
class model_plain {
 public:
  model_plain(site where = site::current()) : value_{} { model_write(cell_, where); }                // NOLINT
  model_plain(T value, site where = site::current()) : value_(value) { model_write(cell_, where); }  // NOLINT
  model_plain(const model_plain& other) : value_(other.read(site::current())) {
    model_write(cell_, site::current());
  }
  model_plain& operator=(const model_plain& other) {
    return write(other.read(site::current()), site::current());
  }
  model_plain& operator=(T value) { return write(value, site::current()); }

  operator T() const { return read(site::current()); }  // NOLINT: stands where a T stands
  template <class U>
    requires(!std::same_as<U, T> && requires(T value) { static_cast<U>(value); })
  explicit operator U() const {
    return static_cast<U>(read(site::current()));
  }
  T operator->() const
    requires std::is_pointer_v<T>
  {
    return read(site::current());
  }
  model_plain& operator++() { return write(static_cast<T>(read(site::current()) + 1), site::current()); }
  model_plain& operator--() { return write(static_cast<T>(read(site::current()) - 1), site::current()); }
  model_plain& operator+=(T by) { return write(static_cast<T>(read(site::current()) + by), site::current()); }
  model_plain& operator-=(T by) { return write(static_cast<T>(read(site::current()) - by), site::current()); }

 private:
  T read(const site& where) const {
    model_read(cell_, where);
    return value_;
  }
  model_plain& write(T value, const site& where) {
    model_write(cell_, where);
    value_ = value;
    return *this;
  }

  T value_;
  mutable model_cell cell_;
};
}  // namespace coracle::testing::model
