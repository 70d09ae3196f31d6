// coracle/streams/detail/stream_children.hpp -- the children of a pipeline, which run between two polls.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/detail/child.hpp>
#include <coracle/compose/detail/countdown.hpp>
#include <coracle/core/detail/shared_frame.hpp>
#include <coracle/core/detail/subtree.hpp>
#include <optional>

namespace coracle::detail {
/// All children of a pipeline. The coroutine at its end owns them, and stops and joins them on every way out,
/// so no stage has to be joined separately, and no source outlives its pipeline.
class stream_children : shared_frame {
 public:
  /// Throws std::bad_alloc. Requires: `outer` lives longer.
  explicit stream_children(const environment& outer)
      : shared_frame(&never_resumed, &functions), inherited_(outer) {
    promise().set_environment(&inherited_);
    // Before anything runs: a pump that could not allocate for its wait could not notify the consumer.
    inherited_.prepare_for_waits();
  }
  stream_children(const stream_children&) = delete;
  stream_children& operator=(const stream_children&) = delete;
  ~stream_children() {
    CORACLE_REQUIRE(running_.left() <= 1,
                    "a pipeline was destroyed while its children run: await it to its end; to end it early, "
                    "request a stop");
  }

  using shared_frame::inherited_by_children;
  void one_begins() noexcept { running_.add_one(); }
  void one_ended() noexcept {
    if (running_.count_down(1)) running_.continue_parent();
  }
  class join_operation;
  /// Requests all children to stop. Awaitable of nothing: completes when they have ended. Not cancellable.
  join_operation stop_and_join() noexcept;

 private:
  /// What the pipeline itself has stopped is not needed any more.
  static awaiting_frame above(shared_promise& self, stop_reason why) noexcept {
    if (static_cast<stream_children&>(from(self)).inherited_.requested_here(why))
      return {nullptr, awaiting_frame::kind::quiet};
    return {};
  }
  static constexpr shared_promise::functions functions{&shared_promise::ignore_failure, &above};

  countdown running_{1};  // one for join(), until that is awaited
  subtree inherited_;
};

class [[nodiscard]] stream_children::join_operation {
 public:
  explicit join_operation(stream_children& children) noexcept : children_(children) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> suspended) noexcept {
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

/// A slot for one child after another. `Derived` has over(), which is called when the child has ended and may
/// cause the next one to be started.
template <class Derived, class Awaitable>
class stream_child {
 public:
  /// Runs the child until it first suspends. Requires: the previous one has ended.
  void start(Awaitable&& value, stream_children& all) {
    running& one = running_.emplace(static_cast<Derived&>(*this), static_cast<Awaitable&&>(value), all);
    all.one_begins();
    if (!one.work.start(one.handle())) one.end();
  }
  /// Returns the child's result or throws its exception. Requires: it has ended.
  kept_result_t<Awaitable> take() {
    using T = kept_result_t<Awaitable>;
    child<Awaitable>& work = running_->work;
    static_cast<void>(running_->finish());
    if constexpr (std::is_void_v<T>) {
      work.result();
      running_.reset();
    } else {
      T taken = work.result();
      running_.reset();
      return static_cast<T&&>(taken);
    }
  }

  /// Returns how the child has ended. Requires: it has, and its result was not taken.
  [[nodiscard]] outcome<void> how_it_ended() noexcept {
    outcome<void> well;
    if (!running_->finish()) return running_->work.failure();
    well.emplace();
    return well;
  }

 private:
  using frame = basic_callback_frame<member_promise<stream_children>>;
  struct running : frame {
    running(Derived& place, Awaitable&& value,
            stream_children& all) noexcept(std::is_nothrow_move_constructible_v<Awaitable>)
        : frame(&resumed, &all), owner(place), work(static_cast<Awaitable&&>(value)) {}
    static void resumed(frame* self) { static_cast<running*>(self)->end(); }
    void end() noexcept {
      stream_children& all = *this->promise().together;
      owner.over();
      all.one_ended();
    }
    /// Returns true if there is a result.
    bool finish() noexcept {
      if (!is_finished) has_result = work.finish();
      is_finished = true;
      return has_result;
    }
    Derived& owner;
    child<Awaitable> work;
    bool is_finished = false, has_result = false;
  };
  std::optional<running> running_;
};

}  // namespace coracle::detail
