// coracle/streams/buffered.hpp -- the stage that reads ahead of its consumer: buffered.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/when_all.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/streams/detail/stage.hpp>
#include <coracle/streams/detail/stream_children.hpp>
#include <coracle/streams/stream.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <cstddef>
#include <memory>

namespace coracle::detail {
/// What a child awaits of an awaitable element: the element, owned, unless it is an object that can be
/// neither copied nor moved, such as an event.
template <class E>
using awaited_element_t =
    std::conditional_t<owns_element<E> && awaitable<std::remove_cvref_t<E>>, std::remove_cvref_t<E>, E>;

/// An element in flight: an object that is already available.
template <class E>
class buffered_element {
 public:
  using type = std::remove_cvref_t<E>;
  void start(E&& element, stream_children&) {
    value_.emplace(own_element<E>(static_cast<E&&>(element)));
    ready.set();
  }
  type take_element() {
    type taken = std::move(*value_);
    value_.reset();
    return taken;
  }
  [[nodiscard]] outcome<void> how_it_ended() const noexcept {
    outcome<void> well;
    well.emplace();
    return well;
  }
  async_auto_reset_event ready;

 private:
  std::optional<type> value_;
};
/// Or an awaitable, awaited by a child.
template <class E>
  requires awaitable<awaited_element_t<E>>
class buffered_element<E> : public stream_child<buffered_element<E>, awaited_element_t<E>> {
  using awaited = awaited_element_t<E>;
  using result = kept_result_t<awaited>;

 public:
  using type = std::conditional_t<std::is_void_v<result>, void_value, result>;
  void start(E&& element, stream_children& all) {
    if constexpr (std::is_same_v<awaited, E>) {
      stream_child<buffered_element, awaited>::start(static_cast<E&&>(element), all);
    } else {
      stream_child<buffered_element, awaited>::start(own_element<E>(static_cast<E&&>(element)), all);
    }
  }
  void over() noexcept { ready.set(); }
  type take_element() {
    if constexpr (std::is_void_v<result>) {
      this->take();
      return {};
    } else {
      return this->take();
    }
  }
  async_auto_reset_event ready;
};

/// Reads up to `limit` elements ahead of the consumer. A pump starts each element as soon as a slot is free;
/// the consumer takes them in the same order.
//
// A slot belongs to the pump once it holds a permit of `room`, then to the element, and to the consumer once
// `ready` is set.
template <class Source>
class [[nodiscard("a stream does nothing until it ends in for_each, fold or collect, and that is awaited")]]
buffered_stream {
  using source_element = typename Source::element_type;

  struct slot : buffered_element<source_element> {
    /// What the consumer finds here: a value is an element, or the end of the source. Requires: `ready` was
    /// set.
    [[nodiscard]] outcome<void> found() noexcept {
      if (!end) return this->how_it_ended();
      outcome<void> copy;
      end->has_value() ? copy.emplace() : detail::copy_failure(*end, copy);
      return copy;
    }
    std::optional<outcome<void>> end;  // how the source ended, behind the last element
  };
  struct ring : stream_child<ring, task<>> {
    ring(std::size_t limit, stream_children& all)
        : slots(new slot[limit]), size(limit), children(all), room(static_cast<std::ptrdiff_t>(limit)) {}
    slot& at(std::size_t position) const noexcept { return slots[position % size]; }
    /// The pump has ended. If there is no room it was stopped, and so is the consumer.
    void over() noexcept {
      if (!pump_has_room) return;
      slot& last = at(started);
      last.end.emplace(this->how_it_ended());
      last.ready.set();
    }

    const std::unique_ptr<slot[]> slots;
    const std::size_t size;
    stream_children& children;
    async_semaphore room;
    bool pump_has_room = false;
    std::size_t started = 0;  // the pump's
    std::size_t taken = 0;    // the consumer's
  };

 public:
  using element_type = typename slot::type;
  static constexpr bool is_concurrent = true;

  buffered_stream(Source&& source, std::size_t limit) : source_(std::move(source)), limit_(limit) {}

  void start(stream_children& children) {
    if constexpr (Source::is_concurrent) source_.start(children);
    ring_ = std::make_unique<ring>(limit_, children);
    ring_->start(pump(source_, *ring_), children);
  }

  class poll_operation : public awaits_inside<async_auto_reset_event::wait_operation> {
    using wait = awaits_inside<async_auto_reset_event::wait_operation>;

   public:
    explicit poll_operation(ring& from)
        : awaits_inside([&from] { return from.at(from.taken).ready.operator co_await(); }), from_(from) {}
    stream_step<element_type> await_resume() {
      this->result();
      slot& next = from_.at(from_.taken);
      if (next.end) {
        std::move(*next.end).get();
        return stream_step<element_type>::end();
      }
      stream_step<element_type> step(next.take_element());
      ++from_.taken;
      from_.room.release();
      return step;
    }
    [[nodiscard]] stop_reason await_cancelled() noexcept {
      const stop_reason why = wait::await_cancelled();
      return why != stop_reason::none ? why : from_.at(from_.taken).found().reason();
    }
    /// Requires: it was not cancelled.
    [[nodiscard]] std::exception_ptr await_failure() noexcept {
      return from_.at(from_.taken).found().error();
    }

   private:
    ring& from_;
  };
  poll_operation poll() { return poll_operation(*ring_); }

 private:
  static task<> pump(Source& source, ring& into) {
    const stop_token& stop = co_await stop_around();
    for (;;) {
      if (!into.pump_has_room) co_await into.room.acquire();
      into.pump_has_room = true;
      auto step = co_await source.poll();
      if (step.ended()) co_return;
      if (!step) {
        if (stop.stop_requested()) CORACLE_END_AS_STOPPED(stop.reason());
        continue;
      }
      into.at(into.started).start(step.take(), into.children);
      ++into.started;
      into.pump_has_room = false;
    }
  }

  Source source_;
  std::size_t limit_;
  std::unique_ptr<ring> ring_;  // from start() on
};

class buffered_pipe : public stream_pipe {
 public:
  explicit buffered_pipe(std::size_t limit) noexcept : limit_(limit) {}
  template <class Source>
  auto apply(Source&& source) {
    using E = typename Source::element_type;
    constexpr bool fits = awaitable<awaited_element_t<E>> || owns_element<E>;
    static_assert(
        fits, "buffered() of elements that can be neither copied nor moved: map() them to something else");
    if constexpr (fits) {
      return buffered_stream<Source>(std::move(source), limit_);
    } else {
      return any_awaiter{};
    }
  }

 private:
  std::size_t limit_;
};
}  // namespace coracle::detail

namespace coracle::streams {
/// `source | buffered(n)`: the same elements in the same order; up to n are in flight or waiting for the
/// consumer at any time. If they are awaitables, such as tasks, they are awaited concurrently, and their
/// results are the elements (void_value for void); otherwise the source reads ahead by n elements.
///
///     auto pages = urls() | coracle::streams::map(fetch) | coracle::streams::buffered(8);
///
/// Elements passed by reference are copied, or moved if not copyable; an awaitable that is neither, such as
/// an event, is referred to. Requires: n is not 0.
/// Resumes on    work ahead of the consumer starts where the pipeline does, and stays wherever it moves to.
/// Cancellation  a stop request, an error, or any other end of the pipeline stops the work ahead of the
///               consumer, and the pipeline ends once that has been joined. Elements that it has taken from
///               the source by then are lost.
/// Exceptions    an element's exception, or the source's, is thrown in its turn. If the pipeline ends before
///               that, it is dropped with the elements taken ahead, and so are failures while it ends.
/// Threads       elements may complete on any thread.
/// Cost          three allocations per run, none per element besides its own frame.
[[nodiscard("write source | buffered(n)")]] inline auto buffered(std::size_t limit) noexcept {
  CORACLE_REQUIRE(limit != 0, "buffered(0): the limit must be at least 1");
  return detail::buffered_pipe(limit);
}
}  // namespace coracle::streams
