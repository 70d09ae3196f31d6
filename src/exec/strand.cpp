// SPDX-License-Identifier: MIT
#include <coracle/base/atomic.hpp>
#include <coracle/base/tagged_pointer.hpp>
#include <coracle/core/detail/callback_frame.hpp>
#include <coracle/exec/strand.hpp>
#include <utility>

namespace coracle {
namespace detail {
namespace {
/// The number of coroutines that run in a row before the underlying executor runs something else.
constexpr int max_in_a_row = is_modelled ? 2 : 64;

/// While it exists, the calling thread runs `strand`, inside the run of another one or not.
class active_run {
 public:
  explicit active_run(const strand_state* strand) noexcept
      : thread_(this_thread()), outer_(std::exchange(thread_.strand, strand)) {}
  active_run(const active_run&) = delete;
  active_run& operator=(const active_run&) = delete;
  ~active_run() { end(); }
  void end() noexcept { thread_.strand = outer_; }

 private:
  thread_state& thread_;
  const strand_state* const outer_;
};
}  // namespace

/// State shared by the strand and the current run, which may outlive the strand: a coroutine that has left
/// the strand may destroy it before the run has found the queue empty.
class strand_state {
 public:
  strand_state(strand& owner, executor& underlying) noexcept : owner_(owner), underlying_(underlying) {}
  strand_state(const strand_state&) = delete;
  strand_state& operator=(const strand_state&) = delete;

  void post(resumption& item) noexcept;
  /// The strand is being destroyed and no longer uses this.
  void abandon() noexcept;
  [[nodiscard]] executor& underlying() const noexcept { return underlying_; }

 private:
  ~strand_state() = default;
  /// run() as a coroutine that can be posted.
  struct posted_run : callback_frame, resumption {
    explicit posted_run(strand_state& its_state) noexcept
        : callback_frame(&start, nullptr), state(its_state) {
      resumption::handle = callback_frame::handle();
    }
    static void start(callback_frame* self) { static_cast<posted_run*>(self)->state.run(); }
    strand_state& state;
  };

  void run() noexcept;
  void queue(resumption& first, resumption& last) noexcept;
  void queue_pushed() noexcept;
  resumption* take() noexcept;
  bool end_run() noexcept;

  // state_ is `idle`, `abandoned`, or `busy` together with null or the newest of a stack of entries. While it
  // is busy, one run is posted or active and owns the queue from first_ to last_, oldest first. A post from
  // the thread of the active run goes to that queue directly, behind what the stack holds: a wave of such
  // posts is then not walked a second time to reverse the stack.
  //   [T1] push an entry     acq_rel  publishes its fields; a thread that finds the strand idle
  //                                   posts a run, and sees that the last one has ended  pairs with T2, T3
  //   [T2] take all          acquire  sees these fields                                  pairs with T1
  //   [T3] busy -> idle      release  the run has ended                                  pairs with T1, T4
  //   [T4] any -> abandoned  acq_rel  the second of the run and the owner frees this, and
  //   [T5] failed T3         acquire  sees what the first one did, at T3 or T4           pairs with T3; T4
  //   [T6] load              relaxed  T2 follows. An entry whose push happens before this load is seen
  enum class mark : std::uintptr_t { none = 0, busy = 1, mask = 3 };
  using entries = tagged_pointer<resumption, mark>;
  static constexpr std::uintptr_t idle = 0, busy = 1, abandoned = 2;
  atomic<std::uintptr_t> state_{idle};
  plain<resumption*> first_ = nullptr;
  plain<resumption*> last_ = nullptr;  // meaningful only while first_ is not null
  strand& owner_;
  executor& underlying_;
  posted_run run_{*this};
};

void strand_state::post(resumption& item) noexcept {
  note_post(item);
  if (this_thread().strand == this) {
    queue_pushed();
    item.next = nullptr;
    return queue(item, item);
  }
  const std::uintptr_t pushed = entries{&item, mark::busy}.bits();
  std::uintptr_t seen = state_.load(memory_order_relaxed);
  do {
    item.next = entries::from_bits(seen).pointer();
  } while (!state_.compare_exchange_weak(seen, pushed, memory_order_acq_rel, memory_order_relaxed)); /*T1*/
  if (seen == idle) underlying_.post(run_);
}

/// Appends the entries from `first` to `last`, which are linked to each other.
void strand_state::queue(resumption& first, resumption& last) noexcept {
  if (first_) {
    last_->next = &first;
  } else {
    first_ = &first;
  }
  last_ = &last;
}
/// Moves what other threads have pushed to the queue.
void strand_state::queue_pushed() noexcept {
  if (state_.load(memory_order_relaxed) <= abandoned) return;               /*T6*/
  const std::uintptr_t taken = state_.exchange(busy, memory_order_acquire); /*T2*/
  resumption* const newest = entries::from_bits(taken).pointer();
  queue(*oldest_first(newest), *newest);
}
resumption* strand_state::take() noexcept {
  if (!first_) queue_pushed();
  resumption* const first = first_;
  if (first) first_ = first->next;
  return first;
}

/// Returns true if nothing is left to run; this may then be destroyed already.
bool strand_state::end_run() noexcept {
  std::uintptr_t seen = busy;
  if (state_.compare_exchange_strong(seen, idle, memory_order_release, /*T3*/
                                     memory_order_acquire)) {          /*T5*/
    return true;
  }
  if (seen != abandoned) return false;
  delete this;
  return true;
}

void strand_state::run() noexcept {
  const executor_scope here{&owner_};
  active_run active{this};
  for (int in_a_row = 0;; ++in_a_row) {
    resumption* const item = take();
    if (!item) {
      if (end_run()) return;
    } else if (in_a_row < max_in_a_row) {
      run_turn(*item);
    } else {
      if (!first_) last_ = item;
      first_ = item;  // it is still linked to the rest of the queue
      active.end();
      underlying_.post(run_);
      return;
    }
  }
}

void strand_state::abandon() noexcept {
  const std::uintptr_t seen = state_.exchange(abandoned, memory_order_acq_rel); /*T4*/
  const bool runs_here = this_thread().strand == this;
  CORACLE_REQUIRE(seen <= busy && !(runs_here && first_),
                  "a strand was destroyed with coroutines in its queue: join them first");
  if (seen == idle) delete this;
}
}  // namespace detail

namespace {
executor& executor_of(scheduler_ref underlying) noexcept {
  CORACLE_REQUIRE(underlying.place(),
                  "a strand was constructed over current_scheduler() outside any executor");
  return *underlying.place();
}
}  // namespace

strand::strand(executor& underlying) : state_(new detail::strand_state(*this, underlying)) {}
strand::strand(scheduler_ref underlying) : strand(executor_of(underlying)) {}
strand::~strand() {
  if (current_executor() == this) detail::this_thread().current = &state_->underlying();
  state_->abandon();
  detail::mark_destroyed(*this);
}
void strand::post(resumption& item) noexcept { state_->post(item); }
timer_service* strand::timers() noexcept { return state_->underlying().timers(); }
blocking_service* strand::blocking_calls() noexcept { return state_->underlying().blocking_calls(); }
}  // namespace coracle
