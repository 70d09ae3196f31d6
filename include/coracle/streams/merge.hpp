// coracle/streams/merge.hpp -- several streams as one: merge and zip.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/exchange.hpp>
#include <coracle/channels/channel.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <coracle/streams/detail/stage.hpp>
#include <coracle/streams/detail/stream_children.hpp>
#include <coracle/streams/stream.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <cstddef>
#include <memory>
#include <tuple>

namespace coracle::detail {
template <class... Es>
struct merged_element : std::common_type<std::remove_cvref_t<Es>...> {};
template <class E, class... Es>
  requires(std::is_same_v<E, Es> && ...)
struct merged_element<E, Es...> {
  using type = E;
};
/// Returns the element as the merged stream passes it on: converted, and moved if it cannot be copied.
template <class E, class Given>
E merged(Given&& element) {
  if constexpr (std::is_constructible_v<E, Given>) {
    return E(static_cast<Given&&>(element));
  } else {
    return E(std::move(element));
  }
}
template <class E, class Given>
concept merges_to =
    std::is_constructible_v<E, Given> || std::is_constructible_v<E, std::remove_reference_t<Given>>;
template <class... Es>
concept can_merge = (merges_to<typename merged_element<Es...>::type, Es> && ...);

/// The meeting point of a merge's pumps and its consumer. Each pump polls one element, announces it, and
/// polls the next one once the consumer has seen it and asks for another.
//
// A branch belongs to its pump until the pump announces it, then to the consumer until `seen` is set. There
// is room for an announcement of every branch.
template <class E>
class merge_meeting {
  struct branch : stream_child<branch, task<>> {
    /// The pump has ended. If its element is still announced it was stopped, and so is the consumer.
    void over() noexcept {
      if (is_announced) return;
      end.emplace(this->how_it_ended());
      static_cast<void>(announced->try_send(this));
    }
    channel<branch*>* announced = nullptr;
    std::optional<stream_step<E>> element;
    std::optional<outcome<void>> end;  // in place of an element
    async_auto_reset_event seen;
    bool is_announced = false;
  };

 public:
  using announcement = branch;
  explicit merge_meeting(std::size_t branches)
      : announced_(branches), branches_(new branch[branches]), running_(branches) {}

  template <class Source>
  void start(std::size_t index, Source& source, stream_children& children) {
    if constexpr (Source::is_concurrent) source.start(children);
    branch& mine = branches_[index];
    mine.announced = &announced_;
    mine.start(pump(source, mine), children);
  }
  auto next() noexcept { return announced_.recv(); }
  /// Releases the branch whose element the consumer has seen.
  void release() noexcept {
    if (shown_) detail::exchange(shown_, nullptr)->seen.set();
  }
  stream_step<E> take(branch& announced) {
    if (announced.end) {
      std::move(*announced.end).get();
      return --running_ == 0 ? stream_step<E>::end() : stream_step<E>::again();
    }
    shown_ = &announced;
    return std::move(*announced.element);
  }

 private:
  template <class Source>
  static task<> pump(Source& source, branch& mine) {
    const stop_token& stop = co_await stop_around();
    for (;;) {
      auto step = co_await source.poll();
      if (step.ended()) co_return;
      if (!step) {
        if (stop.stop_requested()) CORACLE_END_AS_STOPPED(stop.reason());
        continue;
      }
      mine.element.emplace(merged<E, typename Source::element_type>(step.take()));
      mine.is_announced = true;
      static_cast<void>(mine.announced->try_send(&mine));
      co_await mine.seen;
      mine.is_announced = false;
    }
  }

  channel<branch*> announced_;
  const std::unique_ptr<branch[]> branches_;
  std::size_t running_;
  branch* shown_ = nullptr;
};

template <class... Sources>
class [[nodiscard("a stream does nothing until it ends in for_each, fold or collect, and that is awaited")]]
merged_streams {
 public:
  using element_type = typename merged_element<typename Sources::element_type...>::type;
  static constexpr bool is_concurrent = true;

  explicit merged_streams(Sources&&... sources) : sources_(std::move(sources)...) {}

  void start(stream_children& children) {
    meeting_ = std::make_unique<meeting>(sizeof...(Sources));
    std::size_t index = 0;
    std::apply([&](auto&... source) { (meeting_->start(index++, source, children), ...); }, sources_);
  }

 private:
  using meeting = merge_meeting<element_type>;
  using recv_operation = decltype(std::declval<meeting&>().next());

 public:
  class poll_operation : public awaits_inside<recv_operation> {
   public:
    explicit poll_operation(meeting& at)
        : awaits_inside<recv_operation>([&at] { return at.next(); }), at_(at) {}
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> suspended) {
      at_.release();
      return awaits_inside<recv_operation>::await_suspend(suspended);
    }
    stream_step<element_type> await_resume() { return at_.take(seen()); }
    [[nodiscard]] stop_reason await_cancelled() noexcept {
      const stop_reason why = awaits_inside<recv_operation>::await_cancelled();
      return why != stop_reason::none || !seen().end ? why : seen().end->reason();
    }
    /// Requires: it was not cancelled.
    [[nodiscard]] std::exception_ptr await_failure() noexcept {
      return seen().end ? seen().end->error() : nullptr;
    }

   private:
    typename meeting::announcement& seen() {
      if (!seen_) seen_ = *this->result();
      return *seen_;
    }

    meeting& at_;
    typename meeting::announcement* seen_ = nullptr;
  };
  poll_operation poll() { return poll_operation(*meeting_); }

 private:
  std::tuple<Sources...> sources_;
  std::unique_ptr<meeting> meeting_;  // from start() on
};

template <class First, class Second>
class [[nodiscard("a stream does nothing until it ends in for_each, fold or collect, and that is awaited")]]
zipped_streams {
 public:
  using element_type = std::pair<typename First::element_type, typename Second::element_type>;
  static constexpr bool is_concurrent = First::is_concurrent || Second::is_concurrent;

  zipped_streams(First&& first, Second&& second) : first_(std::move(first)), second_(std::move(second)) {}

  template <class Children>
  void start(Children& children) {
    if constexpr (First::is_concurrent) first_.start(children);
    if constexpr (Second::is_concurrent) second_.start(children);
  }
  task<stream_step<element_type>> poll() {
    const stop_token& stop = co_await stop_around();
    for (;;) {
      auto a = co_await first_.poll();
      if (a.ended()) co_return stream_step<element_type>::end();
      while (a) {
        auto b = co_await second_.poll();
        if (b.ended()) co_return stream_step<element_type>::end();
        if (b) co_return stream_step<element_type>(element_type(a.take(), b.take()));
        if (stop.stop_requested()) CORACLE_END_AS_STOPPED(stop.reason());
      }
      if (stop.stop_requested()) CORACLE_END_AS_STOPPED(stop.reason());
    }
  }

 private:
  First first_;
  Second second_;
};
}  // namespace coracle::detail

namespace coracle::streams {
/// The elements of all `sources`, each as soon as it is available; ends when all have ended. Elements of the
/// same type are passed on as they are, others are converted to their common type: those that are passed by
/// reference are copied, or moved if not copyable.
///
///     co_await (coracle::streams::merge(commands, ticks()) | coracle::streams::for_each(handle));
///
/// Order         the order of each source is kept; sources that are ready at the same time take turns.
/// Resumes on    each source runs wherever it moves to; the consumer resumes where it polled.
/// Cancellation  as buffered, with at most one element of each source taken ahead.
/// Exceptions    a source's exception ends the pipeline, in its turn.
/// Threads       the sources may run on different threads.
/// Cost          three allocations per run and a frame per source, none per element.
template <class... Sources>
auto merge(Sources&&... sources) {
  static_assert(sizeof...(Sources) != 0, "merge() of nothing: pass at least one stream");
  if constexpr ((detail::check_stream<Sources>() && ...)) {
    using namespace detail;
    constexpr bool fits =
        can_merge<typename decltype(detail::as_stream(std::declval<Sources>()))::element_type...>;
    static_assert(fits, "merge(a, b, ...): the elements of the streams have no common type: map them to one");
    if constexpr (fits) {
      return merged_streams<decltype(detail::as_stream(std::declval<Sources>()))...>(
          detail::as_stream(static_cast<Sources&&>(sources))...);
    } else {
      return any_awaiter{};
    }
  } else {
    return detail::any_awaiter{};
  }
}
/// Pairs of an element of `first` and one of `second`; ends with the shorter one. Polls `first`, then
/// `second`. To run both concurrently: zip(a | buffered(1), b | buffered(1)). Elements passed by reference
/// make a pair of references: map() it to values before a stage that keeps elements, such as collect().
///
///     auto numbered = coracle::streams::zip(numbers(), lines());  // std::pair<int&, std::string&>
///
/// Cost  a frame per element.
template <class First, class Second>
auto zip(First&& first, Second&& second) {
  if constexpr (detail::check_stream<First>() && detail::check_stream<Second>()) {
    auto a = detail::as_stream(static_cast<First&&>(first));
    auto b = detail::as_stream(static_cast<Second&&>(second));
    return detail::zipped_streams<decltype(a), decltype(b)>(std::move(a), std::move(b));
  } else {
    return detail::any_awaiter{};
  }
}
}  // namespace coracle::streams
