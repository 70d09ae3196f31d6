// coracle/exec/parallel_for.hpp -- a plain function for each element, on all threads of a pool.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/core/timer_service.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <iterator>
#include <vector>

namespace coracle {
namespace detail {
/// Distributes the numbers from 0 up to a size among several workers, in chunks.
///   [C1] begin -> end  relaxed  counts only: schedule() and the join order the accesses to the elements
///   [C2] load          relaxed  likewise
class untaken_numbers {
 public:
  untaken_numbers(std::size_t size, std::size_t workers) noexcept : size_(size), workers_(workers) {}

  struct chunk {
    std::size_t begin, end;
  };
  /// Takes `wanted` numbers, fewer towards the end so that all workers finish at about the same time, none if
  /// none are left.
  chunk take(std::size_t wanted) noexcept {
    std::size_t begin = next_.load(memory_order_relaxed);
    for (;;) {
      const std::size_t left = size_ - begin;
      if (left == 0) return {begin, begin};
      const std::size_t share = left / (2 * workers_) + 1;
      const std::size_t end = begin + (wanted < share ? wanted : share);
      if (next_.compare_exchange_weak(begin, end, memory_order_relaxed, memory_order_relaxed) /*C1*/)
        return {begin, end};
    }
  }
  [[nodiscard]] bool none_left() const noexcept { return next_.load(memory_order_relaxed) == size_ /*C2*/; }

 private:
  atomic<std::size_t> next_{0};
  const std::size_t size_;
  const std::size_t workers_;
};

/// The target duration of a chunk: the slice that a pool's thread gives to one kind of work while others
/// wait.
inline constexpr std::chrono::nanoseconds chunk_time = std::chrono::microseconds{20};

/// The size of the next chunk. It at most doubles, because the next elements may be more expensive.
inline std::size_t next_chunk_size(std::size_t size, std::chrono::nanoseconds took) noexcept {
  if (took <= chunk_time / 2) return 2 * size;
  const double fitting =
      static_cast<double>(size) * static_cast<double>(chunk_time.count()) / static_cast<double>(took.count());
  return fitting < 1 ? 1 : static_cast<std::size_t>(fitting);
}

template <class Body>
void call_for(const untaken_numbers::chunk numbers, Body& body) {
  for (std::size_t i = numbers.begin; i != numbers.end; ++i) body(i);
}
template <class Body>
task<> work_on_chunks(static_thread_pool& pool, untaken_numbers& all, Body& body) {
  std::size_t wanted = 1;
  co_await pool.schedule();
  for (;;) {
    const untaken_numbers::chunk mine = all.take(wanted);
    if (mine.begin == mine.end) co_return;
    const auto start = steady_now();
    call_for(mine, body);
    wanted = next_chunk_size(mine.end - mine.begin, steady_now() - start);
    if (all.none_left()) co_return;  // otherwise a stop request would cancel complete work
    co_await pool.schedule();
  }
}
template <class Body>
task<> run_in_chunks(static_thread_pool& pool, Body body) {
  const std::size_t size = body.size();
  untaken_numbers all{size, pool.thread_count()};
  std::vector<decltype(work_on_chunks(pool, all, body))> workers;
  for (std::size_t n = 0; n != size && n != pool.thread_count(); ++n)
    workers.push_back(work_on_chunks(pool, all, body));
  auto end = co_await as_outcome(when_all(std::move(workers)));
  // A worker that was about to look for more may be stopped while another completes the last elements.
  if (end.is_cancelled() && all.none_left()) co_return;
  co_await ends_unless_value(end);
  std::move(end).get();
}

template <class Function, class Element>
concept plain_body = requires(Function& function, Element element) {
  function(static_cast<Element>(element));
} && !awaitable<std::invoke_result_t<Function&, Element>>;
template <class Range>
using indexed_element_t = decltype(std::begin(std::declval<std::remove_reference_t<Range>&>())[0]);

/// Calls a function for the elements of a range, by index. `Range` is a reference if the caller passed an
/// lvalue.
template <class Range, class Function>
struct body_of_range {
  Range range;
  Function function;
  std::size_t size() { return static_cast<std::size_t>(std::end(range) - std::begin(range)); }
  void operator()(std::size_t i) {
    const auto begin = std::begin(range);
    function(begin[static_cast<decltype(std::end(range) - begin)>(i)]);
  }
};
template <class Index, class Function>
struct body_of_indices {
  Index first, last;
  Function function;
  std::size_t size() const noexcept {
    return first < last ? static_cast<std::size_t>(last) - static_cast<std::size_t>(first) : 0;
  }
  void operator()(std::size_t i) { function(static_cast<Index>(static_cast<std::size_t>(first) + i)); }
};
}  // namespace detail

/// Calls `function(element)` for each element of a random-access `range`, on all threads of `pool`.
///
///     co_await coracle::parallel_for(pool, pixels, [](pixel& each) { each.shade(); });
///     co_await coracle::parallel_for(pool, 0, height, [&](int y) { draw_line(y); });
///
/// One coroutine per thread takes chunks of consecutive elements, sized to run for about 20 us each.
/// Requires: the function may be called on several threads at the same time; they all call the same object.
/// An rvalue range is moved in, an lvalue is referred to; the function is moved in. Prefer
/// for_each_concurrent if the function has to await; when_all if each element is much work and has a result.
/// Order         unspecified between chunks; within a chunk, the order of the range.
/// Resumes on    the executor of the awaiting coroutine; if it has none, a thread of the pool.
/// Cancellation  a stop request takes effect between chunks: no more elements are taken, and
///               operation_cancelled is thrown if any are left.
/// Exceptions    if the function throws, the rest of its chunk is skipped, no more elements are taken, and
///               the exception is rethrown once the chunks in progress have finished; several as an
///               error_group.
/// Threads       other work on the pool gets its turn between chunks. If elements suddenly become more
///               expensive, each thread runs at most one chunk that is too long.
/// Cost          a frame per thread and one more; per chunk, a compare-exchange, two clock reads and a hop.
template <class Range, class Function>
  requires(detail::plain_body<std::decay_t<Function>, detail::indexed_element_t<Range>>)
CORACLE_CORO_WRAPPER()
task<> parallel_for(static_thread_pool& pool, Range&& range, Function&& function) {
  return detail::run_in_chunks(pool, detail::body_of_range<Range, std::decay_t<Function>>{
                                         static_cast<Range&&>(range), static_cast<Function&&>(function)});
}
/// Calls `function(i)` for each integer in [first, last), as the common type of both. Requires: neither is
/// negative if that type is unsigned.
template <std::integral First, std::integral Last, class Function>
  requires(detail::plain_body<std::decay_t<Function>, std::common_type_t<First, Last>>)
CORACLE_CORO_WRAPPER()
task<> parallel_for(static_thread_pool& pool, First first, Last last, Function&& function) {
  using index = std::common_type_t<First, Last>;
  CORACLE_REQUIRE(std::is_signed_v<index> || !(first < First{} || last < Last{}),
                  "parallel_for() with a negative index and an unsigned one, which have no common type: cast "
                  "both to a signed type");
  return detail::run_in_chunks(
      pool, detail::body_of_indices<index, std::decay_t<Function>>{
                static_cast<index>(first), static_cast<index>(last), static_cast<Function&&>(function)});
}
template <class... Ts>
auto parallel_for(Ts&&...) {
  static_assert(detail::never<Ts...>,
                "parallel_for needs a static_thread_pool, then a range with random access or two integers, "
                "and a function that "
                "takes an element and returns nothing to await: for_each_concurrent takes one that does");
  return detail::any_awaiter{};
}
}  // namespace coracle
