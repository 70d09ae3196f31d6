// coracle/streams/detail/stream_children.hpp -- what runs inside a pipeline between two polls.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/countdown.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <optional>

namespace coracle::detail {
/// All of a pipeline's children. The coroutine at the pipeline's end owns them, and stops and joins them on
/// every way out, so no stage has to be joined by itself, and no source outlives its pipeline.
class stream_children {
 public:
  /// Throws std::bad_alloc. Requires: `outer` lives longer.
  explicit stream_children(const environment& outer) : inherited_(outer) {
    // Before anything runs: a pump that found no memory to wait could not tell the consumer.
    inherited_.prepare_for_waits();
  }
  stream_children(const stream_children&) = delete;
  stream_children& operator=(const stream_children&) = delete;
  ~stream_children() {
    CORACLE_REQUIRE(
        running_.left() <= 1,
        "a pipeline was destroyed while something in it runs: await it to its end, which a stop request "
        "brings early");
  }

  [[nodiscard]] const environment& inherited() const noexcept { return inherited_; }
  void one_begins() noexcept { running_.add_one(); }
  void one_ended() noexcept {
    if (running_.count_down(1)) running_.continue_parent();
  }
  class join_operation;
  /// Asks all to stop. Awaitable of nothing: they have ended. A stop request does not end that wait.
  join_operation stop_and_join() noexcept;

 private:
  countdown running_{1};  // one for join(), until that is awaited
  subtree inherited_;
};

class [[nodiscard]] stream_children::join_operation {
 public:
  explicit join_operation(stream_children& children) noexcept : children_(children) {}
  bool await_ready() const noexcept { return false; }
  CORACLE_NOINLINE_SUSPEND() bool await_suspend(std::coroutine_handle<> suspended) noexcept {
    children_.inherited_.request_stop(stop_reason::requested);
    children_.running_.suspend(suspended);
    return !children_.running_.count_down(1);
  }
  void await_resume() const noexcept {}

 private:
  stream_children& children_;
};
inline stream_children::join_operation stream_children::stop_and_join() noexcept {
  return join_operation{*this};
}

/// A place for one child after the other. `Derived` has over(), which is called when the child has ended and
/// may let somebody start the next one.
template <class Derived, class Awaitable>
class stream_child {
 public:
  /// Runs it until it first suspends. Requires: the one before is over.
  void start(Awaitable&& value, stream_children& all) {
    running& one = running_.emplace(static_cast<Derived&>(*this), static_cast<Awaitable&&>(value), all);
    all.one_begins();
    if (!one.work.start(one.handle())) one.end();
  }
  /// What the child gave; throws what it threw. Requires: over.
  await_result_t<Awaitable> take() {
    using T = await_result_t<Awaitable>;
    child<Awaitable>& work = running_->work;
    static_cast<void>(work.finish());
    if constexpr (std::is_void_v<T>) {
      work.result();
      running_.reset();
    } else {
      T taken = work.result();
      running_.reset();
      return static_cast<T&&>(taken);
    }
  }

  /// For over(): how a child that gives nothing has ended.
  [[nodiscard]] outcome<void> how_it_ended() noexcept {
    outcome<void> well;
    if (!running_->work.finish()) return running_->work.failure();
    well.emplace();
    return well;
  }

 private:
  struct running : callback_frame {
    running(Derived& place, Awaitable&& value,
            stream_children& all) noexcept(std::is_nothrow_move_constructible_v<Awaitable>)
        : callback_frame(&resumed, &all.inherited()),
          owner(place),
          together(all),
          work(static_cast<Awaitable&&>(value)) {}
    static void resumed(callback_frame* self) { static_cast<running*>(self)->end(); }
    void end() noexcept {
      stream_children& all = together;
      owner.over();
      all.one_ended();
    }
    Derived& owner;
    stream_children& together;
    child<Awaitable> work;
  };
  std::optional<running> running_;
};

}  // namespace coracle::detail
