// coracle/testing/model/detail/memory.hpp -- shared memory for the model checker.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <coracle/base/config.hpp>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace coracle::detail {
template <class T, class Tag>
class tagged_pointer;
}  // namespace coracle::detail

namespace coracle::testing::model {
using site = std::source_location;
/// What the compilers' builtin function returns, which is what a site consists of.
using builtin_site = decltype(__builtin_source_location());

/// A memory order and its source location: an argument of type std::memory_order converts to it at the call.
struct model_order {
  model_order(std::memory_order given, site place = site::current()) : is(given), where(place) {}  // NOLINT
  std::memory_order is;
  site where;
};

/// The maximum number of threads of an execution, including the body of the test.
inline constexpr std::size_t model_threads = 6;
/// The number of stores that a location remembers: how stale a load can be.
inline constexpr std::size_t model_history = 8;

/// A vector clock: one time per thread. Threads count their accesses to atomics, from 1 on. The times are a
/// vector type, because clang does not vectorise loops over an array here.
struct model_clock {
  using times = std::int16_t __attribute__((vector_size(16)));
  times at{};
  void join(const model_clock& other) noexcept { at = at < other.at ? other.at : at; }
  /// Same as `at[who] = time`, but stores the whole clock: a load of it soon after a store to one part would
  /// stall, because the processor cannot forward it.
  void set(unsigned who, std::int16_t time) noexcept {
    constexpr times numbers{0, 1, 2, 3, 4, 5, 6, 7};
    at = numbers == static_cast<std::int16_t>(who) ? times{} + time : at;
  }
  [[nodiscard]] bool is_within(const model_clock& other) const noexcept { return !is_any(at > other.at); }
  /// Returns true if some thread's time is known to `other`.
  [[nodiscard]] bool is_partly_within(const model_clock& other) const noexcept {
    return is_any(at <= other.at);
  }

 private:
  static bool is_any(times lanes) noexcept {
    const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(lanes);
    return (halves[0] | halves[1]) != 0;
  }
};

/// What a thread knows of the others.
struct model_view {
  model_clock knows;        ///< happens before the thread's next step
  model_clock sees;         ///< its loads see at least this; after a seq_cst fence more than `knows`
  std::uint32_t fence = 0;  ///< number of seq_cst accesses before the last seq_cst fence that it knows of
  void join(const model_view& other) noexcept {
    knows.join(other.knows);
    sees.join(other.sees);
    fence = fence < other.fence ? other.fence : fence;
  }
  [[nodiscard]] bool is_within(const model_view& other) const noexcept {
    return knows.is_within(other.knows) && sees.is_within(other.sees) && fence <= other.fence;
  }
};

/// The previous accesses to an object whose order matters. A write depends on all previous accesses, a read
/// on previous writes.
struct model_touches {
  model_clock writes, all;                ///< the past of the last write, and of all accesses
  std::int16_t writer = 0;                ///< the number of the event; 0: none
  std::array<std::int16_t, 8> readers{};  ///< since then, per thread
};

/// Detects whether an object is alive at its address. The mark depends on the address: neither a copy of the
/// object's bytes nor other data in the same place is mistaken for it.
class alignas(16) model_life {
 public:
  enum class kind : std::uint64_t { atomic, plain };
  void begin(kind of) noexcept { mark_ = mark_of(of, on); }
  void end(kind of) noexcept { mark_ = mark_of(of, over); }
  [[nodiscard]] bool is_on(kind of) const noexcept { return mark_ == mark_of(of, on); }
  [[nodiscard]] bool is_over(kind of) const noexcept { return mark_ == mark_of(of, over); }
  [[nodiscard]] bool is_any() const noexcept { return (mark_ ^ mark_of(kind::atomic, on)) < 4; }
  [[nodiscard]] bool is_any(kind of) const noexcept { return is_on(of) || is_over(of); }
  [[nodiscard]] bool is_freed(std::uint64_t freed_bytes) const noexcept { return mark_ == freed_bytes; }

 private:
  static constexpr std::uint64_t on = 0x51d0a70311c0f3e0, over = on + 2;
  /// The lowest bits of an address are 0, so they can distinguish the four kinds.
  [[nodiscard]] std::uint64_t mark_of(kind of, std::uint64_t what) const noexcept {
    return (what + static_cast<std::uint64_t>(of)) ^ reinterpret_cast<std::uintptr_t>(this);
  }
  std::uint64_t mark_;  // the previous contents reveal an object whose storage is reused
};

/// A store that some load may still see. Not initialised, because locations are created often.
struct model_store {
  std::uint64_t value;
  model_view release;        ///< what an acquire load learns
  model_clock first_seen;    ///< when each thread first saw it
  std::uint32_t sequential;  ///< the number of the first seq_cst access that wrote or saw it; 0: none
  std::int16_t time;
  std::uint8_t thread;
};

/// An atomic object: its newest stores, in modification order.
struct model_location {
  model_location() noexcept {}  // NOLINT: the stores begin with the first
  model_life life;
  std::uint32_t count = 0;
  std::uint32_t name;
  std::uint64_t execution;  ///< in which this is valid; in others only the last value is
  std::int16_t made;        ///< when and by which thread it was created
  std::uint8_t maker;
  union {                  // avoids initialisation: read as `life`, it may still reveal the previous object
    model_clock accesses;  ///< the last access of each thread
  };
  std::uint64_t seal;  ///< detects that other data has been written here
  model_touches touches;
  std::array<model_store, model_history> stores;
};

/// A plain object: its last writer and the readers since. Construction and destruction count as writes.
struct model_cell {
  model_cell() noexcept {}  // NOLINT: begins in model_make()
  model_life life;
  std::uint64_t execution;  ///< in which the rest is valid; in others the object is untouched
  union {                   // as above
    model_clock reads;
  };
  std::int16_t written;
  std::uint8_t writer;
  union {
    site made;
  };
  std::uint64_t seal;  ///< as above
};

// The engine, src/testing/model/engine.cpp. Outside a model_check() these act on ordinary memory.
std::uint64_t model_load(model_location& at, std::memory_order order, const site& where);
void model_store_to(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
/// A read-modify-write in two steps, between which no other thread runs.
std::uint64_t model_rmw_read(model_location& at, const model_order& order);
/// The same for compare_exchange: if the value is not `expected`, it is a load with the order `failure`.
std::uint64_t model_rmw_read(model_location& at, std::uint64_t expected, const model_order& success,
                             const model_order& failure);
void model_rmw_write(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
/// Ends a read-modify-write that failed.
void model_rmw_fail(model_location& at, std::memory_order order, const site& where);
/// Returns true if a compare_exchange_weak fails spuriously.
[[nodiscard]] bool model_fails_spuriously();
void model_init(model_location& at, std::uint64_t value);
/// Ends the object's lifetime: every access must happen before that.
void model_end(model_location& at);
void model_fence(std::memory_order order, const site& where);
/// Models membarrier(2): every thread executes a seq_cst fence at some point between two of the caller's.
void model_fence_everywhere(const site& where);
void model_make(model_cell& at, const site& where);
/// As for an atomic.
void model_end(model_cell& at);
void model_read(model_cell& at);
void model_write(model_cell& at);
void model_pause();
/// Returns one of `count` choices, each of which is tried.
[[nodiscard]] unsigned model_choose(unsigned count);
/// Sets the timeout of the next model_park_at() that has one, in nanoseconds.
void model_set_timeout(std::int64_t nanoseconds);
bool model_park_at(model_location& at, std::uint64_t expected, bool has_timeout, const site& where);
void model_unpark_at(const model_location* at, unsigned count, const site& where);

/// std::atomic whose every access the engine sees.
template <class T>
class model_atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

 public:
  using value_type = T;

  model_atomic() : model_atomic(T{}) {}
  model_atomic(T initial) { model_init(location_, encode(initial)); }  // NOLINT: as std::atomic's
  model_atomic(const model_atomic&) = delete;
  model_atomic& operator=(const model_atomic&) = delete;
  ~model_atomic() { model_end(location_); }

  T load(model_order order) const { return decode(model_load(location_, order.is, order.where)); }
  void store(T value, model_order order) { model_store_to(location_, encode(value), order.is, order.where); }
  T exchange(T value, model_order order) {
    return change([value](T) { return value; }, order);
  }
  bool compare_exchange_strong(T& expected, T desired, model_order success, model_order failure) {
    const std::uint64_t wanted = encode(expected);
    const T found = decode(model_rmw_read(location_, wanted, success, failure));
    if (encode(found) == wanted) {
      model_rmw_write(location_, encode(desired), success.is, success.where);
      return true;
    }
    model_rmw_fail(location_, failure.is, failure.where);
    expected = found;
    return false;
  }
  bool compare_exchange_strong(T& expected, T desired, model_order order) {
    return compare_exchange_strong(expected, desired, order, on_failure(order));
  }
  bool compare_exchange_weak(T& expected, T desired, model_order success, model_order failure) {
    if (model_fails_spuriously()) {
      expected = load(failure);
      return false;
    }
    return compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, model_order order) {
    return compare_exchange_weak(expected, desired, order, on_failure(order));
  }
  T fetch_add(T value, model_order order) {
    return change([value](T old) { return static_cast<T>(old + value); }, order);
  }
  T fetch_sub(T value, model_order order) {
    return change([value](T old) { return static_cast<T>(old - value); }, order);
  }
  T fetch_or(T value, model_order order) {
    return change([value](T old) { return static_cast<T>(old | value); }, order);
  }
  T fetch_and(T value, model_order order) {
    return change([value](T old) { return static_cast<T>(old & value); }, order);
  }

  friend bool model_park(model_atomic& word, T expected, bool has_timeout, const site& where) {
    return model_park_at(word.location_, encode(expected), has_timeout, where);
  }
  /// Only the word's address is used: it may no longer exist.
  friend void model_unpark(model_atomic* word, unsigned count, const site& where) {
    model_unpark_at(&word->location_, count, where);
  }

 private:
  template <class F>
  T change(F f, const model_order& order) {
    const T old = decode(model_rmw_read(location_, order));
    model_rmw_write(location_, encode(f(old)), order.is, order.where);
    return old;
  }
  static model_order on_failure(model_order order) {
    if (order.is == std::memory_order_release) return {std::memory_order_relaxed, order.where};
    return order.is == std::memory_order_acq_rel ? model_order{std::memory_order_acquire, order.where}
                                                 : order;
  }
  static std::uint64_t encode(T value) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::uint64_t>(value);  // so that a schedule shows -1 as such
    } else {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      return bits;
    }
  }
  static T decode(std::uint64_t bits) {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
  }

  mutable model_location location_;
};

/// The types of which there is a model_plain: numbers, pointers, also tagged, and coroutine handles.
template <class T>
inline constexpr bool is_model_field = std::is_scalar_v<T>;
template <class Promise>
inline constexpr bool is_model_field<std::coroutine_handle<Promise>> = true;
template <class T, class Tag>
inline constexpr bool is_model_field<detail::tagged_pointer<T, Tag>> = true;

/// A plain field that a protocol passes from thread to thread: the engine reports unordered accesses,
/// including the field's destruction.
template <class T>
class model_plain {
 public:
  /// Not site::current(), which is consteval: clang would reject an array of these in a member's initialiser.
  template <std::same_as<builtin_site> Where = builtin_site>
  model_plain(Where where = __builtin_source_location())
      : model_plain(T{}, std::bit_cast<site>(where)) {}                 // NOLINT
  model_plain(T value, site where = site::current()) : value_(value) {  // NOLINT
    model_make(cell_, where);
  }
  model_plain(const model_plain& other, site where = site::current()) : model_plain(other.read(), where) {}
  model_plain& operator=(const model_plain& other) { return write(other.read()); }
  ~model_plain() { model_end(cell_); }
  model_plain& operator=(T value) { return write(value); }

  operator T() const { return read(); }  // NOLINT: stands where a T stands
  template <class U>
    requires(!std::same_as<U, T> && requires(T value) { static_cast<U>(value); })
  explicit operator U() const {
    return static_cast<U>(read());
  }
  T operator->() const
    requires std::is_pointer_v<T>
  {
    return read();
  }
  model_plain& operator++() { return write(static_cast<T>(read() + 1)); }
  model_plain& operator--() { return write(static_cast<T>(read() - 1)); }
  model_plain& operator+=(T by) { return write(static_cast<T>(read() + by)); }
  model_plain& operator-=(T by) { return write(static_cast<T>(read() - by)); }

 private:
  T read() const {
    model_read(cell_);
    return value_;
  }
  model_plain& write(T value) {
    model_write(cell_);
    value_ = value;
    return *this;
  }

  T value_;
  mutable model_cell cell_;
};
}  // namespace coracle::testing::model
