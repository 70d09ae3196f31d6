// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/core/frame_memory.hpp>
#include <coracle/detail/park.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "work_queue.hpp"

namespace coracle {
class static_thread_pool::shared_state {
 public:
  shared_state(static_thread_pool& pool, std::size_t threads);
  ~shared_state();

  void post(resumption& item) noexcept;
  [[nodiscard]] std::size_t thread_count() const noexcept { return workers_.size(); }

 private:
  struct worker {
    explicit worker(shared_state& its_pool, std::size_t its_index) noexcept
        : pool(its_pool), index(its_index) {}
    shared_state& pool;
    const std::size_t index;
    unsigned turns = 0;  ///< counts what it ran, to look at the shared queue now and then
    detail::work_queue queue;
  };

  void start_threads(static_thread_pool& pool);
  void run(worker& me) noexcept;
  resumption* next_own(worker& me) noexcept;
  resumption* search(worker& me) noexcept;
  resumption* take_shared(worker& me) noexcept;
  [[nodiscard]] bool work_is_queued() const noexcept;
  bool wait_for_work() noexcept;
  void wait_for_permit() noexcept;
  bool claim_sleeper() noexcept;
  void wake_one() noexcept;
  void stop() noexcept;

  static thread_local worker* worker_of_this_thread;

  // What is posted from outside, and what does not fit into a worker's own queue.
  std::mutex shared_mutex_;
  resumption* shared_head_ = nullptr;
  resumption* shared_tail_ = nullptr;
  detail::atomic<std::size_t> shared_size_{0};

  // How a worker goes to sleep without missing work. counts_ holds how many workers sleep and nobody has
  // claimed yet (low half), and how many search the queues for work (high half). permits_ is a semaphore:
  // whoever claims a sleeper (one less sleeping, one more searching) adds a permit, and each sleeper consumes
  // one.
  //   - Who queues work then reads counts_ (S1); if nobody searches and somebody sleeps, it claims one (S2).
  //   - Who searches in vain becomes a sleeper (S3) and then looks at all queues once more (S4).
  //   - The last who finds something while searching claims a sleeper in its place (S2), because those who
  //     queued work meanwhile relied on it.
  // S1 to S4 and the queueing itself are seq_cst, so of a poster and a worker that is about to sleep at least
  // one sees the other.
  static constexpr std::uint32_t one_sleeping = 1, one_searching = 1u << 16;
  static constexpr std::uint32_t sleeping_in(std::uint32_t counts) noexcept { return counts & 0xffff; }
  static constexpr std::uint32_t searching_in(std::uint32_t counts) noexcept { return counts >> 16; }
  detail::atomic<std::uint32_t> counts_{0};
  detail::atomic<std::uint32_t> permits_{0};
  detail::atomic<bool> stopping_{false};

  std::vector<std::unique_ptr<worker>> workers_;
  std::vector<std::thread> threads_;
};

constinit thread_local static_thread_pool::shared_state::worker*
    static_thread_pool::shared_state::worker_of_this_thread = nullptr;

static_thread_pool::shared_state::shared_state(static_thread_pool& pool, std::size_t threads) {
  CORACLE_CHECK(threads >= 1 && threads < one_searching, "a static_thread_pool has 1 to 65535 threads");
  workers_.reserve(threads);
  for (std::size_t i = 0; i != threads; ++i) workers_.push_back(std::make_unique<worker>(*this, i));
  try {
    start_threads(pool);
  } catch (...) {
    stop();
    throw;
  }
}

static_thread_pool::shared_state::~shared_state() {
  stop();
  CORACLE_CHECK(!work_is_queued(), "a coroutine was posted to a static_thread_pool that was being destroyed");
}

void static_thread_pool::shared_state::start_threads(static_thread_pool& pool) {
  threads_.reserve(workers_.size());
  for (const std::unique_ptr<worker>& each : workers_) {
    threads_.emplace_back([this, &pool, me = each.get()] {
      worker_of_this_thread = me;
      const detail::executor_scope here{&pool};
      run(*me);
    });
  }
}

void static_thread_pool::shared_state::stop() noexcept {
  stopping_.store(true, detail::memory_order_seq_cst);
  std::uint32_t counts = counts_.load(detail::memory_order_seq_cst);
  while (!counts_.compare_exchange_weak(counts,
                                        counts - sleeping_in(counts) + sleeping_in(counts) * one_searching,
                                        detail::memory_order_seq_cst)) {
  }
  permits_.fetch_add(sleeping_in(counts), detail::memory_order_release);
  detail::unpark(&permits_, static_cast<int>(sleeping_in(counts)));
  for (std::thread& each : threads_) each.join();
}

void static_thread_pool::shared_state::post(resumption& item) noexcept {
  worker* const me = worker_of_this_thread;
  if (me && &me->pool == this) {
    const bool alone = workers_.size() == 1;
    if (me->queue.push(item, alone ? detail::memory_order_release : detail::memory_order_seq_cst)) {
      if (!alone) wake_one();
      return;
    }
  }
  item.next = nullptr;
  detail::atomic<std::uint32_t>* const permits = &permits_;
  bool claimed = false;
  {
    // Claims a sleeper under the lock: as soon as `item` can be taken it may end the last use of the
    // pool, and the pool may be gone before this thread, which is none of its own, has done anything more.
    const std::lock_guard lock(shared_mutex_);
    (shared_head_ ? shared_tail_->next : shared_head_) = &item;
    shared_tail_ = &item;
    shared_size_.store(shared_size_.load(detail::memory_order_relaxed) + 1, detail::memory_order_seq_cst);
    claimed = claim_sleeper();
  }
  if (claimed) detail::unpark(permits, 1);
}

/// True: one sleeper has got a permit, and is to be unparked.
bool static_thread_pool::shared_state::claim_sleeper() noexcept {
  std::uint32_t counts = counts_.load(detail::memory_order_seq_cst); /*S1*/
  do {
    if (searching_in(counts) != 0 || sleeping_in(counts) == 0) return false;
  } while (!counts_.compare_exchange_weak(counts, counts - one_sleeping + one_searching,
                                          detail::memory_order_seq_cst)); /*S2*/
  permits_.fetch_add(1, detail::memory_order_release);
  return true;
}
void static_thread_pool::shared_state::wake_one() noexcept {
  if (claim_sleeper()) detail::unpark(&permits_, 1);
}

void static_thread_pool::shared_state::run(worker& me) noexcept {
  for (;;) {
    resumption* item = next_own(me);
    if (!item) {
      counts_.fetch_add(one_searching, detail::memory_order_seq_cst);
      while (!(item = search(me))) {
        if (!wait_for_work()) return;
      }
      if (searching_in(counts_.fetch_sub(one_searching, detail::memory_order_seq_cst)) == 1) wake_one();
    }
    resume(item->handle);
  }
}

/// From the own queue; now and then from the shared one first, so that neither starves.
resumption* static_thread_pool::shared_state::next_own(worker& me) noexcept {
  constexpr unsigned shared_turn = 61;
  if (++me.turns % shared_turn == 0) {
    if (resumption* const item = take_shared(me)) return item;
  }
  return me.queue.take();
}

/// From anywhere, for a while.
resumption* static_thread_pool::shared_state::search(worker& me) noexcept {
  constexpr int rounds = 100, spinning_rounds = 4, pauses = 10;  // some 50 us
  for (int round = 0; round != rounds; ++round) {
    if (resumption* const item = take_shared(me)) return item;
    for (std::size_t i = 0; i != workers_.size(); ++i) {
      worker& victim = *workers_[(me.index + i) % workers_.size()];
      if (resumption* const item = victim.queue.take()) return item;
    }
    if (stopping_.load(detail::memory_order_relaxed)) return nullptr;
    if (round >= spinning_rounds) {
      std::this_thread::yield();  // whoever is about to queue work may need this processor
      continue;
    }
    for (int i = 0; i != pauses; ++i) detail::spin_pause();
  }
  return nullptr;
}

/// One to run, and a fair share of the rest into the own queue.
resumption* static_thread_pool::shared_state::take_shared(worker& me) noexcept {
  if (shared_size_.load(detail::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(shared_mutex_);
  const std::size_t size = shared_size_.load(detail::memory_order_relaxed);
  if (size == 0) return nullptr;
  resumption* const first = shared_head_;
  shared_head_ = first->next;
  std::size_t taken = 1;
  const std::size_t share =
      std::min<std::size_t>(size / workers_.size() + 1, detail::work_queue::capacity / 2);
  while (taken != share && shared_head_) {
    resumption* const next = shared_head_->next;
    if (!me.queue.push(*shared_head_, detail::memory_order_seq_cst)) break;
    shared_head_ = next;
    ++taken;
  }
  shared_size_.store(size - taken, detail::memory_order_seq_cst);
  return first;
}

bool static_thread_pool::shared_state::work_is_queued() const noexcept {
  return shared_size_.load(detail::memory_order_seq_cst) != 0 ||
         std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& each) { return !each->queue.is_empty(); });
}

/// Sleeps until there may be work. The caller counts as searching, before and after. False: the pool stops
/// and nothing is queued.
bool static_thread_pool::shared_state::wait_for_work() noexcept {
  counts_.fetch_add(one_sleeping - one_searching, detail::memory_order_seq_cst); /*S3*/
  const bool stopping = stopping_.load(detail::memory_order_seq_cst);
  const bool queued = work_is_queued(); /*S4*/
  if (stopping || queued) {
    std::uint32_t counts = counts_.load(detail::memory_order_relaxed);
    while (sleeping_in(counts) != 0) {
      if (counts_.compare_exchange_weak(counts, counts - one_sleeping + one_searching,
                                        detail::memory_order_seq_cst)) {
        if (queued) return true;
        counts_.fetch_sub(one_searching, detail::memory_order_seq_cst);
        return false;
      }
    }
    // Somebody has claimed every sleeper, this one too: its permit is there or about to be.
  }
  wait_for_permit();
  return true;
}

void static_thread_pool::shared_state::wait_for_permit() noexcept {
  constexpr timespec idle{1, 0};
  const timespec* timeout = &idle;
  for (;;) {
    std::uint32_t permits = permits_.load(detail::memory_order_relaxed);
    while (permits != 0) {
      if (permits_.compare_exchange_weak(permits, permits - 1, detail::memory_order_acquire,
                                         detail::memory_order_relaxed)) {
        return;
      }
    }
    if (!detail::park(permits_, 0, timeout)) {
      trim_frame_memory();
      timeout = nullptr;
    }
  }
}

static_thread_pool::static_thread_pool()
    : static_thread_pool(std::max<std::size_t>(1, std::thread::hardware_concurrency())) {}
static_thread_pool::static_thread_pool(std::size_t threads)
    : state_(std::make_unique<shared_state>(*this, threads)) {}
static_thread_pool::~static_thread_pool() = default;
void static_thread_pool::post(resumption& item) noexcept { state_->post(item); }
std::size_t static_thread_pool::thread_count() const noexcept { return state_->thread_count(); }
}  // namespace coracle
