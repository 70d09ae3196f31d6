// coracle/compose/interleave.hpp -- lookups that take turns to overlap their cache misses.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/chrono.hpp>
#include <coracle/base/exchange.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {
class interleaved;
template <class T>
class prefetch;

namespace detail {
class lookup_promise;
using lookup_handle = std::coroutine_handle<lookup_promise>;

/// Where a prefetch() finds the lookup that runs next. g++ loads await_suspend's handle from the frame before
/// it can read the promise, so the awaiter keeps the next lookup beside it.
class next_in_awaiter {
 public:
  explicit next_in_awaiter(std::coroutine_handle<> next) noexcept : next_(next) {}
  template <class Promise>
  std::coroutine_handle<> get(std::coroutine_handle<Promise>) const noexcept {
    return next_;
  }

 private:
  std::coroutine_handle<> next_;
};
class next_in_promise {
 public:
  explicit next_in_promise(std::coroutine_handle<>) noexcept {}
  template <class Promise>
  std::coroutine_handle<> get(std::coroutine_handle<Promise> self) const noexcept {
    return self.promise().next;
  }
};
using next_lookup = std::conditional_t<CORACLE_LOADS_OWN_HANDLE(), next_in_awaiter, next_in_promise>;

/// Awaited by a lookup in a prefetch(). Each member is stored at every prefetch.
template <class T>
class lookup_turn {
 public:
  explicit lookup_turn(T* address, std::coroutine_handle<> next) noexcept : address_(address), next_(next) {}
  bool await_ready() const noexcept { return false; }
  // Prefetches into the second-level cache, which can wait for more lines at a time than the first: with 64
  // lists in 1 GiB a hop took 10.3 ns, and 13.5 ns with a prefetch into the first (clang++-22, Xeon); in 256
  // MiB on a Zen 4, 6 and 13 ns. The prefetch follows the load of the next lookup's handle, on which all that
  // the next one loads depends.
  template <class Promise>
  CORACLE_INLINE_TRANSFER()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    const std::coroutine_handle<> next = next_.get(self);
    __builtin_prefetch(address_, 0, 2);
    return transfer_to(next);
  }
  T* await_resume() const noexcept { return address_; }

 private:
  T* address_;
  [[no_unique_address]] next_lookup next_;
};

template <class T>
struct waits_in_lookup {
  static_assert(!sizeof(T*),
                "a lookup awaits nothing but coracle::prefetch(): what waits longer than for memory belongs "
                "in a task");
};

class lookup_promise : public recycled_frames {
  struct unlink {
    constexpr unlink() noexcept {}
    bool await_ready() const noexcept { return false; }
    CORACLE_TRANSFER_ABI() std::coroutine_handle<> await_suspend(lookup_handle self) const noexcept {
      return self.promise().leave(self);
    }
    void await_resume() const noexcept {}
  };

 public:
  lookup_promise() noexcept : error(nullptr) {}
  ~lookup_promise() {}

  interleaved get_return_object() noexcept;
  // A lookup runs up to its first prefetch while it is created. With an initial suspension, clang would load
  // and test the resume point at each prefetch even of a body with a single one: a binary search in 1 GiB
  // took 1.06 times as long (Zen 4).
  std::suspend_never initial_suspend() const noexcept { return {}; }
  unlink final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}
  CORACLE_COLD() void unhandled_exception() noexcept { error = std::current_exception(); }
  template <class T>
  CORACLE_ALWAYS_INLINE()
  lookup_turn<T> await_transform(prefetch<T> wanted) const noexcept;
  template <class T>
  refused_await<waits_in_lookup<std::remove_cvref_t<T>>> await_transform(T&&) const noexcept {
    return {};
  }

  // Unused while the lookup is created; from then on it belongs to the ring.
  std::coroutine_handle<> next = std::noop_coroutine();
  lookup_handle previous;
  // The lookup destroys it: if the body did, g++ would save a register at each resumption.
  union {
    std::exception_ptr error;
  };

 private:
  /// Passes the turn to the next lookup, or to run_lookups() after an error or if this lookup was the last.
  CORACLE_TRANSFER_ABI() std::coroutine_handle<> leave(lookup_handle self) noexcept {
    if (!previous || previous == self) return std::noop_coroutine();
    previous.promise().next = next;
    lookup_handle::from_address(next.address()).promise().previous = previous;
    return error ? std::noop_coroutine() : transfer_to(next);
  }
};
}  // namespace detail

/// A coroutine for interleave(): looks up one element after another, and passes its turn on at each
/// prefetch(). It must await nothing else.
class [[nodiscard("a lookup goes on only inside interleave()")]] interleaved {
 public:
  using promise_type = detail::lookup_promise;

  explicit interleaved(detail::lookup_handle body) noexcept : body_(body) {}
  interleaved(interleaved&& other) noexcept : body_(detail::exchange(other.body_, nullptr)) {}
  interleaved& operator=(interleaved&&) = delete;
  ~interleaved() {
    if (!body_) return;
    std::destroy_at(&body_.promise().error);
    body_.destroy();
  }
  /// Requires: not moved from.
  [[nodiscard]] detail::lookup_handle body() const noexcept { return body_; }

 private:
  detail::lookup_handle body_;
};
inline interleaved detail::lookup_promise::get_return_object() noexcept {
  return interleaved{lookup_handle::from_promise(*this)};
}

/// Awaitable of the same address, in a lookup: prefetches the cache line there, and lets the other lookups
/// run until it may have arrived. The address need not be valid. Continue with the address that the await
/// returns: if you use a variable that was set before, clang may compute its value a second time, hash and
/// all, instead of keeping it.
template <class T>
class [[nodiscard("nothing is prefetched until this is awaited")]] prefetch {
 public:
  explicit prefetch(T* address) noexcept : address_(address) {}

 private:
  friend class detail::lookup_promise;
  T* address_;
};

template <class T>
CORACLE_ALWAYS_INLINE()
detail::lookup_turn<T> detail::lookup_promise::await_transform(prefetch<T> wanted) const noexcept {
  return lookup_turn<T>{wanted.address_, next};
}

/// The elements that the lookups of one interleave() share: each is handed out once, in order.
template <class Iterator>
class lookup_elements {
 public:
  using pointer = std::add_pointer_t<std::iter_reference_t<Iterator>>;

  lookup_elements(Iterator first, Iterator last) noexcept : at_(first), end_(last) {}
  /// Returns the next element, or null if there are no more.
  CORACLE_ALWAYS_INLINE() pointer next() {
    if (at_ == end_) return nullptr;
    return std::addressof(*at_++);
  }

 protected:
  Iterator at_, end_;
};

namespace detail {
template <class Iterator>
class elements_of_ring : public lookup_elements<Iterator> {
 public:
  using lookup_elements<Iterator>::lookup_elements;
  [[nodiscard]] bool has_more() const { return this->at_ != this->end_; }
  void hand_out_nothing_more() noexcept { this->at_ = this->end_; }
};

template <class Range>
using lookup_elements_of = lookup_elements<decltype(std::begin(std::declval<Range&>()))>;
/// The lookups receive the addresses of elements, so an iterator must not hold the element itself, as an
/// istream's does.
template <class Range>
concept elements_stay = requires(Range& range) {
  { std::end(range) } -> std::same_as<decltype(std::begin(range))>;
  requires std::forward_iterator<decltype(std::begin(range))>;
  requires std::is_lvalue_reference_v<decltype(*std::begin(range))>;
};
template <class Function, class Range>
concept makes_lookups = elements_stay<Range> && requires(Function& f, lookup_elements_of<Range>& elements) {
  { f(elements) } -> std::same_as<interleaved>;
};

template <class Iterator, class Function>
void run_lookups(std::size_t group, Iterator first, Iterator last, Function& make) {
  elements_of_ring<Iterator> elements{first, last};
  std::exception_ptr first_error;
  const auto failed = [&](lookup_promise& each) {
    if (!each.error) return false;
    if (!first_error) first_error = each.error;
    each.error = nullptr;
    elements.hand_out_nothing_more();
    return true;
  };
  std::vector<interleaved> ring;
  for (std::size_t i = 0; i != group && !first_error && elements.has_more(); ++i) {
    ring.push_back(make(elements));
    const lookup_handle made = ring.back().body();
    if (!made.done()) continue;
    failed(made.promise());
    ring.pop_back();
  }
  const std::size_t count = ring.size();
  for (std::size_t i = 0; i != count; ++i) {
    lookup_promise& each = ring[i].body().promise();
    each.next = ring[i + 1 == count ? 0 : i + 1].body();
    each.previous = ring[i == 0 ? count - 1 : i - 1].body();
  }
  std::coroutine_handle<> next = count == 0 ? nullptr : ring.front().body();
  while (next) {
    resume(next);  // returns when all have ended, or one has failed
    next = nullptr;
    for (const interleaved& each : ring) {
      lookup_promise& ended = each.body().promise();
      if (failed(ended) && ended.previous != each.body()) next = ended.next;
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}
}  // namespace detail

/// Runs `group` lookups concurrently on this thread until all have ended; fewer if these take all elements.
/// Each continues while next() returns elements. A lookup that returns early leaves the rest to the others.
/// Requires: `group` is at least 1.
///
///     coracle::interleaved find_all(auto& keys, const table& in, std::vector<value>& found) {
///       while (const key* each = keys.next()) {
///         const node* at = co_await coracle::prefetch(in.bucket_of(*each));  // the others run meanwhile
///         ...
///       }
///     }
///     coracle::interleave(48, keys, [&](auto& next) { return find_all(next, table, found); });
///
/// Prefer it where each step follows a pointer into more memory than the caches hold; bench/README.md has
/// figures for 1 GiB. A small group gains little, so measure, or use the overload that determines the group
/// size.
/// Order       elements are handed out in order; lookups end in any order. Each runs to its first prefetch as
///             it is created, then they take turns in that order.
/// Resumes on  the calling thread; a prefetch transfers directly to the next lookup.
/// Exceptions  the first that leaves a lookup, once the others have finished their current element; those of
///             `make`, std::bad_alloc.
/// Threads     none of its own: several threads may each run an interleave() over a part.
/// Cost        one frame for each lookup in the group, not for each element. In a body with several
///             prefetches, g++ resumes through a jump table; with -fno-jump-tables a hash probe in the cache
///             took 20.2 ns instead of 22.2.
/// Source      G. Psaropoulos et al., "Interleaving with coroutines", PVLDB 11(2), 2017.
template <std::integral Group, class Range, class Function>
  requires(detail::makes_lookups<Function, Range>)
void interleave(Group group, Range&& elements, Function make) {
  CORACLE_REQUIRE(group > 0, "an interleave() without lookups never ends: the group must be at least 1");
  detail::run_lookups(static_cast<std::size_t>(group), std::begin(elements), std::end(elements), make);
}
/// Determines the group size itself: processes the first elements with several sizes, a few thousand with
/// each, twice, and continues with the fastest. The size does not affect what is found.
template <class Range, class Function>
  requires(detail::makes_lookups<Function, Range>)
void interleave(Range&& elements, Function make) {
  constexpr std::size_t sizes[] = {64, 48, 96, 128};
  constexpr std::ptrdiff_t tried_at_once = 2048;
  constexpr std::ptrdiff_t least_worth_trying = 8 * std::ssize(sizes) * tried_at_once;
  auto at = std::begin(elements);
  const auto end = std::end(elements);
  std::size_t best = sizes[0];
  if (std::distance(at, end) >= least_worth_trying) {
    auto least = std::chrono::steady_clock::duration::max();
    for (int round = 0; round != 2; ++round) {
      for (const std::size_t size : sizes) {
        const auto part_end = std::next(at, tried_at_once);
        const auto start = std::chrono::steady_clock::now();
        detail::run_lookups(size, at, part_end, make);
        at = part_end;
        const auto taken = std::chrono::steady_clock::now() - start;
        if (taken >= least) continue;
        least = taken;
        best = size;
      }
    }
  }
  detail::run_lookups(best, at, end, make);
}
template <class... Ts>
void interleave(Ts&&...) {
  static_assert(detail::never<Ts...>,
                "interleave needs a group size (or none), a range whose elements stay where they are, and a "
                "function that takes the lookup_elements and returns a coracle::interleaved");
}
}  // namespace coracle
