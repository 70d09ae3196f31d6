// SPDX-License-Identifier: MIT
#include "turn_recorder.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <coracle/base/atomic.hpp>
#include <coracle/core/detail/stoppable_hop.hpp>
#include <coracle/core/detail/stopped_tasks.hpp>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <new>

#include "awaits.hpp"
#include "own_symbols.hpp"

namespace coracle::detail {
namespace {
constexpr std::size_t most_nested = 8;    // turns within turns: those of a strand, or below a blocking wait
constexpr std::size_t most_kept = 64;     // long turns that have ended
constexpr std::size_t most_levels = 256;  // of awaits that are followed

std::uintptr_t word_of(const void* frame, std::size_t index) noexcept {
  return static_cast<const std::uintptr_t*>(frame)[index];
}
CORACLE_READS_NEAR_OBJECTS() std::uintptr_t word_near(const void* item, std::ptrdiff_t offset) noexcept {
  return *reinterpret_cast<const std::uintptr_t*>(static_cast<const char*>(item) + offset);
}
/// Returns what a system call says that compares the lower half of the word at `address` with that of
/// `value`: 0 or more if they are equal. It neither wakes nor moves anything, and no address makes it fault.
long compare_without_fault(std::uintptr_t address, std::uintptr_t value) noexcept {
  std::uint32_t nobody = 0;
  return ::syscall(SYS_futex, address, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, &nobody,
                   static_cast<std::uint32_t>(value));
}
/// False also if there is no memory: what is compared may have been freed.
bool is_still(std::uintptr_t address, std::uintptr_t value) noexcept {
  return compare_without_fault(address, value) >= 0;
}
/// Returns the word in which a queued_waiter whose entry is `item` has the address of a function:
/// coroutine_search.cpp.
std::uintptr_t wait_of(const resumption& item) noexcept {
  constexpr std::uintptr_t in_waiter = 24, page = 4096;
  const std::uintptr_t begin = address_of(&item), end = begin + in_waiter + sizeof(void*);
  // The entry may be at the end of a frame, whose allocator then has more in the same page.
  return begin / page == (end - 1) / page ? word_near(&item, in_waiter) : 0;
}

/// What this thread has found out about the functions with which frames begin.
class known_functions {
 public:
  /// Returns true if the frames of this resume function keep their parent where a task does. `frame` is one
  /// that stays suspended meanwhile. Coroutines of other types may do so, too, and not in all their frames.
  [[nodiscard]] bool is_like_task(std::uintptr_t function, const void* frame) noexcept {
    entry& known = at(function);
    // A frame without a parent tells nothing: it is looked at a few times.
    constexpr unsigned most_looks = 8;
    if (!known.is_like_task && known.looks != most_looks) {
      ++known.looks;
      known.is_like_task = own_symbols::with([frame](symbols& names) noexcept {
        return await_reader(process_memory(::getpid()), names).is_like_task(address_of(frame));
      });
    }
    return known.is_like_task;
  }
  /// Returns true if a frame may begin with this word.
  [[nodiscard]] bool begins_frame(std::uintptr_t function) noexcept {
    entry& known = at(function);
    if (known.begins_frame == answer::unknown) {
      const role is =
          own_symbols::with([function](symbols& names) noexcept { return names.role_at(function); });
      known.begins_frame = is == role::resume || is == role::callback ? answer::yes : answer::no;
    }
    return known.begins_frame == answer::yes;
  }

 private:
  enum class answer : std::uint8_t { unknown, yes, no };
  struct entry {
    std::uintptr_t function = 0;
    unsigned looks = 0;
    bool is_like_task = false;
    answer begins_frame = answer::unknown;
  };
  [[nodiscard]] entry& at(std::uintptr_t function) noexcept {
    entry& known = entries_[(function >> 4) % (sizeof entries_ / sizeof *entries_)];
    if (known.function != function) known = {.function = function};
    return known;
  }
  entry entries_[256];
};

bool is_coroutine(const void* frame) noexcept {
  const auto handle = std::coroutine_handle<>::from_address(const_cast<void*>(frame));
  return !callback_mark::is_at(handle) && !shared_frame::is_one(handle);
}
/// Returns the frame that `item` resumes. What hops stands for the coroutine that it is part of, and so does
/// a contender for a lock, which tries again when it is resumed: core/detail/stoppable_hop.hpp,
/// sync/detail/contended_lock.hpp.
const void* frame_of(const resumption& item) noexcept {
  if (const void* const hops = hop_arrival::behind(item)) return hops;
  constexpr std::ptrdiff_t callback_in_contender = 64, coroutine_in_contender = 80;
  const void* const frame = std::coroutine_handle<>(item.handle).address();
  if (frame != reinterpret_cast<const char*>(&item) + callback_in_contender || is_coroutine(frame))
    return frame;
  return reinterpret_cast<const void*>(word_near(&item, coroutine_in_contender));
}
/// Follows words that may be no addresses, for one turn. Frames near one another cost one system call.
class doubtful_words {
 public:
  explicit doubtful_words(const void* frame) noexcept {
    std::fill(std::begin(pages_), std::end(pages_), address_of(frame) / page);
  }

  /// Returns true if `body`, whose function is like that of a task, has a frame where a task has its parent.
  /// That of a coroutine of another type may have any word there.
  [[nodiscard]] bool lead_to_frame(const task_frame& body, known_functions& known) noexcept {
    constexpr std::size_t head_of_frame = sizeof(task_frame) / sizeof(void*);
    const void* above = body.parent.pointer();
    if (body.parent.has(task_mark::folds)) {  // the frame is in the word after that of the awaiter
      if (!are_readable(above, 2)) return false;
      above = reinterpret_cast<const void*>(word_near(above, sizeof(void*)));
    }
    return are_readable(above, head_of_frame) && known.begins_frame(word_near(above, 0));
  }

 private:
  static constexpr std::uintptr_t page = 4096;

  /// For fewer words than a page has.
  [[nodiscard]] bool are_readable(const void* words, std::size_t count) noexcept {
    const std::uintptr_t begin = address_of(words), last = begin + (count - 1) * sizeof(void*);
    return begin % sizeof(void*) == 0 && is_page(begin) && is_page(last);
  }
  [[nodiscard]] bool is_page(std::uintptr_t address) noexcept {
    if (std::find(std::begin(pages_), std::end(pages_), address / page) != std::end(pages_)) return true;
    if (compare_without_fault(address, 0) < 0 && errno != EAGAIN) return false;
    pages_[next_++ % std::size(pages_)] = address / page;
    return true;
  }

  std::uintptr_t pages_[8];  // with memory
  std::size_t next_ = 0;
};
/// Follows the awaits from a coroutine that is suspended and belongs to this thread, so that all coroutines
/// above it stay suspended. Only the second word of tasks is read, by the rules of
/// core/detail/stopped_tasks.hpp. What is above a combinator is a task for certain, and so is what is above
/// that.
void follow_awaits(known_functions& known, turn_event& event, await_chain& chain) noexcept {
  const void* frame = reinterpret_cast<const void*>(event.frame);
  const bool runs_coroutine = is_coroutine(frame);
  event.task = runs_coroutine ? event.frame : 0;
  event.task_function = runs_coroutine ? event.function : 0;
  chain.size = 0;
  unsigned combinators = 0;
  doubtful_words below_combinators(frame);
  for (std::size_t level = 0; level != most_levels; ++level) {
    if (chain.size != await_chain::most) chain.functions[chain.size++] = word_of(frame, 0);
    if (!runs_coroutine || (combinators == 0 && !known.is_like_task(word_of(frame, 0), frame))) return;
    const auto& body = *static_cast<const task_frame*>(frame);
    if (!body.parent.pointer()) return;  // plain code has let go of it
    if (combinators == 0 && !below_combinators.lead_to_frame(body, known)) return;
    const task_above above(body);
    awaiting_frame next{nullptr, awaiting_frame::kind::other};
    if (!above.is_notified()) {
      next = {&above.task(), awaiting_frame::kind::task};
    } else if (shared_frame* const shared = above.shared()) {
      next = shared->above(stop_reason::none);
      if (next.is != awaiting_frame::kind::task) return;
    } else {
      return;
    }
    frame = next.frame;
    if (!frame || word_of(frame, 0) == 0) return;
    if (above.is_notified() && ++combinators == 1) event.through = word_of(above.handle().address(), 0);
    if (combinators == 0) {
      event.task = address_of(frame);
      event.task_function = word_of(frame, 0);
    } else if (combinators == 1) {
      event.awaiting = address_of(frame);
      event.awaiting_function = word_of(frame, 0);
    }
  }
}

/// What one thread has recorded. Only that thread writes events, so the lock is nearly always free.
class thread_record {
 public:
  thread_record() noexcept : thread_(::gettid()) {
    ::pthread_getname_np(::pthread_self(), name_, sizeof name_);
  }

  void* begin_turn(const resumption& item) noexcept;
  void end_turn() noexcept;
  void note_post(const resumption& item, bool by_io) noexcept;

  /// Drops what was recorded. `capacity` 0: no events.
  void restart(std::size_t capacity) noexcept {
    const small_mutex_lock lock{mutex_};
    written_ = lost_ = 0;
    capacity_ = capacity;
    ring_.reset();
  }
  [[nodiscard]] thread_events copy_events();
  void add_long_turns(std::int64_t limit, std::vector<observed_turn>& to) {
    const small_mutex_lock lock{mutex_};
    const std::size_t depth = std::min(depth_, most_nested);
    if (depth != 0 && nanoseconds_now() - under_way_[depth - 1].began > limit)
      to.push_back(under_way_[depth - 1]);
  }
  void forget_thread() noexcept { has_left_ = true; }  // under the lock of the list
  [[nodiscard]] bool has_left() const noexcept { return has_left_; }

  thread_record* next = nullptr;

 private:
  void push(const turn_event& event) noexcept {
    if (capacity_ == 0) return;
    if (!ring_) ring_.reset(static_cast<turn_event*>(std::malloc(capacity_ * sizeof(turn_event))));
    if (!ring_) {
      ++lost_;
      return;
    }
    ::new (static_cast<void*>(&ring_.get()[written_++ % capacity_])) turn_event(event);
  }

  small_mutex mutex_;  // guards what follows
  struct free_memory {
    void operator()(turn_event* ring) const noexcept { std::free(ring); }
  };
  std::unique_ptr<turn_event, free_memory> ring_;  // not touched before it is used
  std::size_t capacity_ = 0;
  std::size_t written_ = 0;
  std::uint64_t lost_ = 0;
  std::size_t depth_ = 0;
  std::uint64_t turns_ = 0;
  observed_turn under_way_[most_nested];
  std::uintptr_t tasks_[most_nested] = {}, task_functions_[most_nested] = {};

  known_functions known_;  // only the thread itself uses it
  const pid_t thread_;
  char name_[16] = {};
  bool has_left_ = false;
};

/// All that the threads share.
struct recorder_state {
  small_mutex mutex;  // guards what follows
  thread_record* first = nullptr;
  std::size_t capacity = 0;  // 0: no trace
  std::int64_t began = 0;
  std::vector<observed_turn> kept;  // the oldest first
  std::int64_t limits[2] = {};      // by turn_recorder::watcher
  //   [R1] load   relaxed  a turn more or less
  //   [R2] store  relaxed  the same
  atomic<std::int64_t> limit{0};
};
recorder_state& state() noexcept {
  // Never destroyed: threads may end after static objects.
  alignas(recorder_state) static std::byte memory[sizeof(recorder_state)];
  static auto* const made = ::new (static_cast<void*>(memory)) recorder_state;
  return *made;
}

/// The calling thread's record. While a trace is recorded, it outlives the thread.
class own_record {
 public:
  own_record() noexcept : record_(new (std::nothrow) thread_record) {
    if (!record_) return;
    recorder_state& all = state();
    const small_mutex_lock lock{all.mutex};
    record_->restart(all.capacity);
    record_->next = std::exchange(all.first, record_);
  }
  own_record(const own_record&) = delete;
  own_record& operator=(const own_record&) = delete;
  ~own_record() {
    thread_record* const left = std::exchange(record_, nullptr);
    if (!left) return;
    recorder_state& all = state();
    const small_mutex_lock lock{all.mutex};
    if (all.capacity != 0) {  // until the trace is taken
      left->forget_thread();
      return;
    }
    thread_record** link = &all.first;
    while (*link != left) link = &(*link)->next;
    *link = left->next;
    delete left;
  }
  static thread_record* get() noexcept {
    thread_local own_record mine;
    return mine.record_;
  }

 private:
  thread_record* record_;
};

void* turn_begins(const resumption& item) noexcept {
  thread_record* const mine = own_record::get();
  return mine ? mine->begin_turn(item) : nullptr;
}
void turn_ends(void* turn) noexcept {
  if (turn) static_cast<thread_record*>(turn)->end_turn();
}
void is_posted(const resumption& item, bool by_io) noexcept {
  if (thread_record* const mine = own_record::get()) mine->note_post(item, by_io);
}
constexpr turn_watch recording{&turn_begins, &turn_ends, &is_posted};

void* thread_record::begin_turn(const resumption& item) noexcept {
  turn_event event;
  const void* const frame = frame_of(item);
  event.frame = address_of(frame);
  event.function = word_of(frame, 0);
  event.wait = wait_of(item);
  await_chain chain;
  follow_awaits(known_, event, chain);
  const small_mutex_lock lock{mutex_};
  ++turns_;
  event.time = nanoseconds_now();
  if (depth_ < most_nested) {
    under_way_[depth_] = {event.time, 0, thread_, turns_, chain};
    tasks_[depth_] = event.task;
    task_functions_[depth_] = event.task_function;
  }
  ++depth_;
  push(event);
  return this;
}

void thread_record::end_turn() noexcept {
  turn_event event;
  event.what = turn_event::kind::end;
  event.time = nanoseconds_now();
  observed_turn ended;
  {
    const small_mutex_lock lock{mutex_};
    if (--depth_ < most_nested) {
      const std::uintptr_t task = tasks_[depth_];
      event.has_ended = capacity_ != 0 && task != 0 && !is_still(task, task_functions_[depth_]);
      ended = under_way_[depth_];
    }
    push(event);
  }
  const std::int64_t limit = state().limit.load(memory_order_relaxed); /*R1*/
  if (limit == 0 || ended.began == 0 || event.time - ended.began <= limit) return;
  ended.ended = event.time;
  const small_mutex_lock lock{state().mutex};
  std::vector<observed_turn>& kept = state().kept;  // has room: keep_long_turns()
  if (kept.size() == most_kept) kept.erase(kept.begin());
  kept.push_back(ended);
}

void thread_record::note_post(const resumption& item, bool by_io) noexcept {
  turn_event event;
  event.what = turn_event::kind::post;
  event.by_io = by_io;
  event.frame = address_of(frame_of(item));
  const small_mutex_lock lock{mutex_};
  event.time = nanoseconds_now();
  push(event);
}

thread_events thread_record::copy_events() {
  thread_events copied;
  copied.thread = thread_;
  std::copy(std::begin(name_), std::end(name_), copied.name);
  const small_mutex_lock lock{mutex_};
  const std::size_t size = ring_ ? std::min(written_, capacity_) : 0;
  copied.events.reserve(size);
  for (std::size_t i = written_ - size; i != written_; ++i)
    copied.events.push_back(ring_.get()[i % capacity_]);
  copied.lost = lost_ + (written_ - size);
  return copied;
}

/// Requires: the lock is held.
void watch_if_needed(recorder_state& all) noexcept {
  const bool is_needed = all.capacity != 0 || all.limit.load(memory_order_relaxed) != 0; /*R1*/
  watch_turns(is_needed ? &recording : nullptr);
}

/// Ends the recording, and, when it is destroyed, drops what the threads have recorded. Requires: the lock is
/// held meanwhile.
class end_of_trace {
 public:
  explicit end_of_trace(recorder_state& all) noexcept : all_(all) {
    all_.capacity = 0;
    watch_if_needed(all_);
  }
  end_of_trace(const end_of_trace&) = delete;
  end_of_trace& operator=(const end_of_trace&) = delete;
  ~end_of_trace() {
    for (thread_record** link = &all_.first; *link;) {
      thread_record* const each = *link;
      each->restart(0);
      if (each->has_left()) {
        *link = each->next;
        delete each;
      } else {
        link = &each->next;
      }
    }
  }

 private:
  recorder_state& all_;
};
}  // namespace

bool turn_recorder::start_trace(std::size_t events_per_thread) noexcept {
  own_symbols::load();  // not within the first turn
  recorder_state& all = state();
  const small_mutex_lock lock{all.mutex};
  if (all.capacity != 0) return false;
  all.capacity = std::max<std::size_t>(events_per_thread, 2);
  for (thread_record* each = all.first; each; each = each->next) each->restart(all.capacity);
  all.began = nanoseconds_now();
  watch_if_needed(all);
  return true;
}

std::unique_ptr<trace_data> turn_recorder::stop_trace() {
  recorder_state& all = state();
  const small_mutex_lock lock{all.mutex};
  if (all.capacity == 0) return nullptr;
  const end_of_trace end{all};  // first: there may be no memory for the result
  auto data = std::make_unique<trace_data>();
  data->began = all.began;
  data->ended = nanoseconds_now();
  for (thread_record* each = all.first; each; each = each->next) {
    thread_events events = each->copy_events();
    if (!events.events.empty() || events.lost != 0) data->threads.push_back(std::move(events));
  }
  return data;
}

std::int64_t turn_recorder::keep_long_turns(watcher who, std::int64_t limit) noexcept {
  recorder_state& all = state();
  const small_mutex_lock lock{all.mutex};
  CORACLE_TRY() { all.kept.reserve(most_kept); }
  CORACLE_CATCH_ALL() { limit = 0; }
  const std::int64_t before = std::exchange(all.limits[static_cast<std::size_t>(who)], limit);
  const std::int64_t one = all.limits[0], other = all.limits[1];
  const std::int64_t least = one == 0 || (other != 0 && other < one) ? other : one;
  all.limit.store(least, memory_order_relaxed); /*R2*/
  watch_if_needed(all);
  return before;
}

std::vector<observed_turn> turn_recorder::long_turns() {
  recorder_state& all = state();
  std::vector<observed_turn> found;
  const small_mutex_lock lock{all.mutex};
  const std::int64_t limit = all.limit.load(memory_order_relaxed); /*R1*/
  if (limit == 0) return found;
  for (thread_record* each = all.first; each; each = each->next) each->add_long_turns(limit, found);
  found.insert(found.end(), all.kept.rbegin(), all.kept.rend());
  return found;
}
}  // namespace coracle::detail
