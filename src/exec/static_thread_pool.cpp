// SPDX-License-Identifier: MIT
//
// Where a worker looks for its next turn, in this order. docs/scheduling.md states the bounds.
//
//   next_own()         Only one kind of work waits: the newest entry of the worker's stack (fork_queue), or
//                      the oldest of its queue (work_queue). No lock, no clock.
//   next_in_turn()     Several kinds wait: turn_order serves each in turn, by time. Every 256th turn from the
//                      stack, age_stack() moves the oldest entry to the queue if none has moved for a while.
//   find()             The worker has no work of its own. First the posts at high and normal priority, which
//                      no owner comes back to. Then the oldest entry of another's stack, the largest part of
//                      its work; then another's queue; then low priority.
//   wait_for_letter()  No work anywhere: a post in the next microsecond is handed over without a queue.
//   search()           find() and wait_for_letter() for as long as search_patience allows.
//   wait_for_work()    The search failed: the worker sleeps, or naps if owners were faster each time.
#include <algorithm>
#include <coracle/base/thread.hpp>
#include <coracle/core/detail/fork_queue.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/inspect/live_coroutines.hpp>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../inspect/metric_source.hpp"
#include "letterbox.hpp"
#include "search_patience.hpp"
#include "shared_queues.hpp"
#include "sleepers.hpp"
#include "turn_order.hpp"
#include "work_queue.hpp"

namespace coracle {
namespace {
/// Prefetches the lines of a frame that is in another thread's cache, so that they arrive in parallel.
void fetch_frame_of(const resumption& item) noexcept {
  constexpr int line = 64;
  const char* const at = reinterpret_cast<const char*>(&item);
  for (int offset = -2 * line; offset <= line; offset += line) __builtin_prefetch(at + offset, 1);
}
}  // namespace

class static_thread_pool::shared_state {
 public:
  shared_state(static_thread_pool& pool, std::size_t threads);
  ~shared_state();

  /// Runs what is queued, and what that posts, then joins the threads. Required before the destructor.
  void stop() noexcept;
  void post(resumption& item) noexcept;
  void post_scheduled(resumption& item) noexcept;
  // Functions of their own, so that g++ saves no registers for a call in those above.
  CORACLE_COLD() void post_watched(resumption& item) noexcept;
  CORACLE_COLD() void post_scheduled_watched(resumption& item) noexcept;
  void post_shared(resumption& item, priority at) noexcept;
  [[nodiscard]] executor& level(priority which) noexcept {
    if (which == priority::normal) return pool_;
    return which == priority::high ? high_ : low_;
  }
  [[nodiscard]] std::size_t thread_count() const noexcept { return workers_.size(); }

 private:
  using kind = detail::turn_order::kind;
  struct worker final : detail::fork_queue {
    explicit worker(shared_state& its_pool, std::size_t its_index) noexcept
        : fork_queue(its_pool.pool_, its_pool.sleepers_.counts(), detail::sleepers::one_searching),
          pool(its_pool),
          index(its_index) {}

    shared_state& pool;
    const std::size_t index;
    bool has_queued = false;        ///< if false, `queue` is empty
    kind turn = kind::stack;        ///< the kind of the current turn
    std::size_t depth_of_turn = 0;  ///< the depth of the fork queue when the turn began
    detail::turn_order order;
    detail::stack_aging aging;
    detail::search_patience patience;
    unsigned left_alone = 0;  ///< lone entries that the current search has left to their owners
    unsigned too_late = 0;    ///< consecutive searches in which the owners were faster
    detail::work_queue queue;

   private:
    void call_for_help() noexcept override { pool.sleepers_.wake_one(); }
  };
  /// Returns the calling thread's worker, or null if the thread does not belong to this pool.
  [[nodiscard]] worker* this_worker() const noexcept {
    const detail::thread_state& thread = detail::this_thread();
    if (thread.forks_for != static_cast<const executor*>(&pool_)) return nullptr;
    if (!thread.forks) __builtin_unreachable();  // the two are set together
    return static_cast<worker*>(thread.forks);
  }
  /// An entry to run, and its executor.
  struct work {
    resumption* item = nullptr;
    executor* place = nullptr;
    explicit operator bool() const noexcept { return item != nullptr; }
  };
  class metrics final : public detail::metric_source {
   public:
    explicit metrics(shared_state& pool) noexcept : pool_(pool) {}
    void add_to(runtime_metrics& to) override;

   private:
    shared_state& pool_;
  };
  class level_executor final : public executor {
   public:
    level_executor(shared_state& pool, priority level) noexcept : pool_(pool), level_(level) {}
    void post(resumption& item) noexcept override {
      detail::note_post(item);
      pool_.post_shared(item, level_);
    }

   private:
    shared_state& pool_;
    const priority level_;
  };

  void post_own(worker& me, resumption& item) noexcept;
  void post_own_behind(worker& me, resumption& item) noexcept;
  CORACLE_COLD() void wake_one_unless_napping() noexcept { sleepers_.wake_one(true); }
  void start_threads();
  static void* enter(void* its_worker) noexcept;
  void run(worker& me) noexcept;
  void age_stack(worker& me) noexcept;
  work find_from_outside(worker& me) noexcept;
  work find_in_queues(worker& me) noexcept;
  work next_own(worker& me) noexcept;
  work next_in_turn(worker& me) noexcept;
  work take(worker& me, kind which) noexcept;
  work search(worker& me) noexcept;
  work find(worker& me) noexcept;
  work take_own(worker& me) noexcept;
  work take_shared(worker& me, priority from) noexcept;
  work wait_for_letter() noexcept;
  [[nodiscard]] bool must_search() const noexcept;
  [[nodiscard]] bool work_is_queued() const noexcept;
  [[nodiscard]] bool needs_help(const worker& me) noexcept;
  [[nodiscard]] std::uint32_t count_of_others() const noexcept {
    return static_cast<std::uint32_t>(workers_.size() - 1);
  }
  bool wait_for_work(worker& me) noexcept;

  static_thread_pool& pool_;
  level_executor high_{*this, priority::high}, low_{*this, priority::low};
  // A post from outside and a thread that has just woken share four cache lines: the two of shared_, that of
  // letters_, and the first of sleepers_ after it.
  detail::shared_queues shared_;
  detail::letterbox letters_;  // at normal priority, to a searching worker

  detail::sleepers sleepers_;

  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<detail::thread_handle> threads_;
  metrics metrics_{*this};  // shown while all threads run
};

static_thread_pool::shared_state::shared_state(static_thread_pool& pool, std::size_t threads) : pool_(pool) {
  CORACLE_REQUIRE(
      threads >= 1 && threads <= detail::sleepers::max_threads,
      "a static_thread_pool was constructed with 0 threads or more than 32767: give it at least one");
  workers_.reserve(threads);
  for (std::size_t i = 0; i != threads; ++i) workers_.push_back(std::make_unique<worker>(*this, i));
  CORACLE_TRY() {
    start_threads();
    metrics_.show();
  }
  CORACLE_CATCH_ALL() {
    stop();
    CORACLE_RETHROW();
  }
}

static_thread_pool::shared_state::~shared_state() {
  CORACLE_REQUIRE(
      !work_is_queued(),
      "a coroutine was posted to a static_thread_pool that is being destroyed: join its coroutines first");
}

void static_thread_pool::shared_state::start_threads() {
  threads_.reserve(workers_.size());
  for (const std::unique_ptr<worker>& each : workers_) {
    detail::thread_handle started;
    const int error = detail::start_thread(started, &enter, each.get());
    if (error != 0) {
      constexpr const char* what = "cannot start a thread of a static_thread_pool";
      CORACLE_THROW(std::system_error(error, std::generic_category(), what), what);
    }
    threads_.push_back(started);
  }
}

void* static_thread_pool::shared_state::enter(void* its_worker) noexcept {
  worker& me = *static_cast<worker*>(its_worker);
  detail::name_this_thread("coracle-pool");
  me.enter_thread();
  me.pool.run(me);
  return nullptr;
}

void static_thread_pool::shared_state::stop() noexcept {
  metrics_.hide();
  sleepers_.stop();
  for (const detail::thread_handle each : threads_) detail::join_thread(each);
}

CORACLE_ALWAYS_INLINE() void static_thread_pool::shared_state::post(resumption& item) noexcept {
  if (worker* const me = this_worker()) {
    post_own(*me, item);
  } else {
    post_shared(item, priority::normal);
  }
}
void static_thread_pool::shared_state::post_watched(resumption& item) noexcept {
  detail::note_post(item);
  post(item);
}
void static_thread_pool::shared_state::post_scheduled_watched(resumption& item) noexcept {
  detail::note_post(item);
  post_scheduled(item);
}
CORACLE_ALWAYS_INLINE()
void static_thread_pool::shared_state::post_own(worker& me, resumption& item) noexcept {
  if (!me.queue.push_alone(item)) return post_own_behind(me, item);
  me.has_queued = true;
  // A lone entry may wait for a napper: this thread is likely to take it first.
  if (sleepers_.should_wake_one_at_once()) [[unlikely]]
    wake_one_unless_napping();
}
CORACLE_NOINLINE()
void static_thread_pool::shared_state::post_own_behind(worker& me, resumption& item) noexcept {
  if (!me.queue.push_behind(item)) return post_shared(item, priority::normal);
  me.has_queued = true;
  if (sleepers_.should_wake_one()) sleepers_.wake_one(me.queue.has_one());
}

/// Pushes onto the stack, so that a tree that schedules each of its calls unfolds depth first. But a
/// coroutine that has started nothing since its turn began goes behind the others.
CORACLE_ALWAYS_INLINE()
void static_thread_pool::shared_state::post_scheduled(resumption& item) noexcept {
  worker* const me = this_worker();
  if (!me) return post_shared(item, priority::normal);
  if (!me->has_started_work() && detail::this_thread().starts.depth == 0) return post_own(*me, item);
  if (!me->push_if_room(item)) post_shared(item, priority::normal);
}

void static_thread_pool::shared_state::post_shared(resumption& item, priority at) noexcept {
  if (at == priority::normal && letters_.put(item))
    return;  // to a thread that counts as a searcher: no wake-up needed
  // Claims a sleeper before `item` can be taken: running `item` may end the last use of the pool, which may
  // be destroyed before this thread, which does not belong to it, continues.
  detail::atomic<std::uint32_t>* claimed = nullptr;
  shared_.push(item, at, [&] { claimed = sleepers_.claim(); });
  if (claimed) detail::unpark(claimed, 1);
}

void static_thread_pool::shared_state::run(worker& me) noexcept {
  const detail::drain_scope here{detail::this_thread()};
  const detail::timed_budget by_time{here.thread.budget, &detail::turn_clock};
  for (;;) {
    work next = next_own(me);
    if (!next) {
      sleepers_.begin_search();
      while (!(next = search(me))) {
        if (!wait_for_work(me)) return;
      }
      fetch_frame_of(*next.item);
      me.turn = kind::queue;
      me.too_late = 0;
      sleepers_.end_search(count_of_others(), [&] { return needs_help(me); });
    }
    here.thread.current = next.place;
    me.depth_of_turn = me.begin_turn();
    detail::run_turn(*next.item, here);
  }
}

/// Returns the next entry if only one kind of work waits; otherwise calls next_in_turn().
CORACLE_ALWAYS_INLINE()
auto static_thread_pool::shared_state::next_own(worker& me) noexcept -> work {
  if (shared_.is_empty()) [[likely]] {
    if (!me.has_queued) return take(me, kind::stack);
    if (me.is_known_empty() || me.seems_empty()) {
      me.turn = kind::queue;
      if (resumption* const alone = me.queue.take_alone()) [[likely]]
        return {alone, &pool_};
      return take_own(me);
    }
  }
  return next_in_turn(me);
}
CORACLE_COLD() void static_thread_pool::shared_state::age_stack(worker& me) noexcept {
  if (!me.aging.is_due(detail::turn_clock())) return;
  if (resumption* const oldest = me.take_oldest()) post_own(me, *oldest);
}
/// Returns the next entry if several kinds of work may wait.
auto static_thread_pool::shared_state::next_in_turn(worker& me) noexcept -> work {
  return me.order.next({.now = detail::turn_clock(),
                        .high_waits = shared_.has(priority::high),
                        .low_waits = shared_.has(priority::low),
                        .ended = me.turn,
                        .continues = me.depth() > me.depth_of_turn},
                       [&](kind which) noexcept { return take(me, which); });
}
auto static_thread_pool::shared_state::take(worker& me, kind which) noexcept -> work {
  me.turn = which;
  switch (which) {
    case kind::stack:
      if (me.aging.count_turn()) [[unlikely]]
        age_stack(me);
      return {me.take_back(), &pool_};
    case kind::queue:
      return take_own(me);
    case kind::normal:
      return take_shared(me, priority::normal);
    case kind::low:
      return take_shared(me, priority::low);
    case kind::high:
      break;
  }
  return take_shared(me, priority::high);
}
CORACLE_NOINLINE()
auto static_thread_pool::shared_state::take_own(worker& me) noexcept -> work {
  resumption* const oldest = me.queue.take();
  if (!oldest) me.has_queued = !me.queue.is_empty();
  return {oldest, &pool_};
}

/// Searches everywhere for a limited time. It sees posts from outside immediately; but checking the other
/// workers' queues takes cache lines away from their owners. It does not yield its processor: with more
/// runnable threads than processors, the kernel would make a yielding thread wait for milliseconds after its
/// next wake-up. In that case searches fail, and so soon become short.
auto static_thread_pool::shared_state::search(worker& me) noexcept -> work {
  me.left_alone = 0;
  const unsigned rounds = me.patience.rounds();
  for (unsigned round = 0; round != rounds; ++round) {
    if (const work found = find(me)) {
      if (round != 0) me.patience.succeeded();
      return found;
    }
    if (const work found = wait_for_letter()) {
      me.patience.succeeded();
      return found;
    }
    if (sleepers_.must_stop()) return {};
  }
  me.patience.failed();
  return {};
}
auto static_thread_pool::shared_state::wait_for_letter() noexcept -> work {
  constexpr std::uint64_t wait_ticks = 1u << 12;  // 1 to 2 us
  const bool mine = letters_.open();
  for (const std::uint64_t began = detail::turn_clock(); !detail::is_modelled &&
                                                         (!mine || letters_.is_empty()) && !must_search() &&
                                                         detail::turn_clock() - began < wait_ticks;)
    detail::spin_pause();
  return {mine ? letters_.close() : nullptr, &pool_};
}
/// Returns true if there may be new work. Reads only data that changes with new work, so waiting disturbs no
/// thread.
bool static_thread_pool::shared_state::must_search() const noexcept {
  return shared_.has_urgent() || sleepers_.must_stop();
}
auto static_thread_pool::shared_state::find(worker& me) noexcept -> work {
  // First the entries that no owner will take by itself.
  if (const work found = find_from_outside(me)) return found;
  for (std::size_t i = 1; i != workers_.size(); ++i) {
    if (resumption* const oldest = workers_[(me.index + i) % workers_.size()]->steal())
      return {oldest, &pool_};
  }
  return find_in_queues(me);
}
auto static_thread_pool::shared_state::find_from_outside(worker& me) noexcept -> work {
  const work found = take_shared(me, priority::high);
  return found ? found : take_shared(me, priority::normal);
}
auto static_thread_pool::shared_state::find_in_queues(worker& me) noexcept -> work {
  if (const work found = take_own(me)) return found;
  for (std::size_t i = 1; i != workers_.size(); ++i) {
    detail::work_queue& other = workers_[(me.index + i) % workers_.size()]->queue;
    if (resumption* const found = other.steal(me.left_alone)) return {found, &pool_};
  }
  return take_shared(me, priority::low);
}

/// Takes one entry to run; at normal priority, if the worker's own queue is empty, also moves a fair share of
/// the rest there.
auto static_thread_pool::shared_state::take_shared(worker& me, priority from) noexcept -> work {
  const auto share = [&](std::size_t size) -> std::size_t {
    if (from != priority::normal || me.has_queued) return 1;
    return std::min<std::size_t>(size / workers_.size() + 1, detail::work_queue::capacity / 2);
  };
  const auto put = [&me](resumption& item) {
    if (!me.queue.push(item)) return false;
    me.has_queued = true;
    return true;
  };
  return {shared_.take(from, share, put), &level(from)};
}

bool static_thread_pool::shared_state::work_is_queued() const noexcept {
  return !shared_.is_empty() || std::any_of(workers_.begin(), workers_.end(), [](const auto& each) {
    return !each->queue.is_empty() || !each->is_empty();
  });
}

/// Returns true if there is work besides what the worker runs next, its own or from outside. No other thread
/// of the pool is awake. A poster from outside checks for sleepers under the lock, so an entry not seen here
/// was posted by a thread that saw no searcher.
bool static_thread_pool::shared_state::needs_help(const worker& me) noexcept {
  if (!me.queue.is_empty()) return true;
  return !shared_.is_empty_locked();
}

/// The caller counts as a searcher before and after. Returns false if the pool stops and nothing is queued.
bool static_thread_pool::shared_state::wait_for_work(worker& me) noexcept {
  // If the owners have kept up with their work for a while, a woken sleeper would only come too late again.
  constexpr unsigned few_searches = 8;
  me.too_late = me.left_alone != 0 ? me.too_late + 1 : 0;
  if (me.too_late > few_searches && sleepers_.nap()) return true;
  return sleepers_.sleep(
      count_of_others(), [this] { return work_is_queued(); }, [&] { return needs_help(me); });
}

void static_thread_pool::shared_state::metrics::add_to(runtime_metrics& to) {
  const detail::sleepers::totals idle = pool_.sleepers_.count();
  pool_metrics its{.number = number(),
                   .address = &pool_.pool_,
                   .workers{},
                   .searching = idle.searching,
                   .parked = idle.sleeping,
                   .high = pool_.shared_.length_of(priority::high),
                   .normal = pool_.shared_.length_of(priority::normal),
                   .low = pool_.shared_.length_of(priority::low)};
  for (const std::unique_ptr<worker>& each : pool_.workers_)
    its.workers.push_back(
        {detail::metrics_of(pool_.threads_[each->index]), each->count(), each->queue.count()});
  to.pools.push_back(std::move(its));
}

static_thread_pool::static_thread_pool()
    : static_thread_pool(std::max<std::size_t>(1, std::thread::hardware_concurrency())) {}
static_thread_pool::static_thread_pool(std::size_t threads) : state_(new shared_state(*this, threads)) {}
static_thread_pool::~static_thread_pool() {
  CORACLE_REQUIRE(!detail::this_thread().forks || detail::this_thread().forks->place() != this,
                  "deadlock: a static_thread_pool was destroyed on one of its own threads: destroy it on a "
                  "thread outside it");
  state_->stop();  // what runs now posts to this pool
  delete state_;
  detail::mark_destroyed(*this);
}
void static_thread_pool::post(resumption& item) noexcept {
  if (detail::are_turns_watched()) [[unlikely]]
    return state_->post_watched(item);
  state_->post(item);
}
void static_thread_pool::post_scheduled(resumption& item) noexcept {
  if (detail::are_turns_watched()) [[unlikely]]
    return state_->post_scheduled_watched(item);
  state_->post_scheduled(item);
}
pool_level static_thread_pool::with_priority(priority level) noexcept {
  return pool_level{&state_->level(level)};
}
std::size_t static_thread_pool::thread_count() const noexcept { return state_->thread_count(); }

#if CORACLE_CHECKS() && !defined(CORACLE_MODEL)
// Links what a checked sync_wait() prints when it blocks a thread of the pool.
[[gnu::used]] static std::string (*const linked_for_reports)() = &live_coroutines;
#endif
}  // namespace coracle
