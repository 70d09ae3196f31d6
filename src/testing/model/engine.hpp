// src/testing/model/engine.hpp -- runs the executions of a model_check().
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <coracle/base/thread_state.hpp>
#include <coracle/core/detail/frame_cache.hpp>
#include <coracle/testing/model/detail/memory.hpp>
#include <coracle/testing/model/model_check.hpp>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "choices.hpp"
#include "fiber.hpp"
#include "trace.hpp"

namespace coracle::testing::model {
/// engine.cpp: executions and their threads. schedule.cpp: which thread runs next. dependence.cpp: which
/// orders of two accesses have to be tried. accesses.cpp: what each access sees, and its effect. lives.cpp:
/// lifetimes, and accesses to plain objects.
class model_engine {
 public:
  model_engine(const model_limits& limits, std::function<void()> body,
               reduction reduces = reduction::of_orders);
  model_engine(const model_engine&) = delete;
  model_engine& operator=(const model_engine&) = delete;
  ~model_engine();

  model_result check();
  model_result replay(const std::string& choices);

  /// Returns the engine of the model_check() in which the caller runs, or null.
  static model_engine* current() noexcept {
    if (current_ && current_->thread_ != &this_thread_) stop_thread_of_its_own();
    return current_;
  }
  [[nodiscard]] bool is_in_thread() const noexcept { return running_ != nobody; }

  // Called by threads of the program.
  /// `about`: the field or freed memory concerned.
  [[noreturn]] void fail(const std::string& what, const void* about = nullptr);
  [[noreturn]] void fail(const std::string& what, const site& where) {
    fail(what + " (" + text_of(where) + ")");
  }
  void note_free(const void* memory) {
    trace(site::current(), [&] { return model_step{running_, "frees it", 0, {}, false, memory}; });
  }
  /// Call before the memory is used for anything else.
  void end_all_in(void* memory, std::size_t size);
  coracle::detail::thread_state& state_of_thread() noexcept { return threads_[running_].of_library; }
  coracle::detail::frame_cache& frames_of_thread() noexcept { return threads_[running_].frames; }
  coracle::detail::frame_keeping& keeping_of_thread() noexcept { return threads_[running_].keeping; }
  unsigned start_thread(std::function<void()> body);
  void join_thread(unsigned index);
  void record(std::string outcome);
  void yield();
  unsigned choose(unsigned count) {
    const unsigned chosen = choices_.choose(count);
    expect_repeated();
    return chosen;
  }
  [[nodiscard]] unsigned this_thread_index() const noexcept { return running_; }
  /// Accesses to atomics in this execution, so far.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  void set_deadline(std::int64_t time) noexcept { me().deadline = time; }

  // Each of these is a scheduling point, where another thread may run instead.
  std::uint64_t load(model_location& at, std::memory_order order, const site& where);
  void store(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
  std::uint64_t rmw_read(model_location& at, const model_order& order);
  std::uint64_t rmw_read(model_location& at, std::uint64_t expected, const model_order& success,
                         const model_order& failure);
  void rmw_write(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
  void rmw_fail(model_location& at, std::memory_order order, const site& where);
  void fence(std::memory_order order, const site& where);
  void fence_everywhere(const site& where);
  /// Nanoseconds.
  std::int64_t now();
  bool park(model_location& at, std::uint64_t expected, bool has_timeout, const site& where);
  void unpark(const model_location* at, unsigned count, const site& where);

  // These belong to the thread's last access.
  bool fails_spuriously();
  void init(model_location& at, std::uint64_t value);
  void end(model_location& at);
  void make(model_cell& at, const site& where);
  void end(model_cell& at);
  void read(model_cell& at);
  void write(model_cell& at);

 private:
  static constexpr unsigned nobody = ~0U;
  /// The next step of a thread. Two operations whose order matters are dependent.
  struct operation {
    const void* at = nullptr;  ///< null: nothing that another thread could observe
    bool writes = false;
    bool sequential = false;  ///< all of these are dependent: seq_cst accesses, and reads of the time
    bool everywhere = false;  ///< depends on everything
    [[nodiscard]] bool is_local() const noexcept { return !at && !sequential; }
    [[nodiscard]] bool depends_on(const operation& other) const noexcept {
      if (everywhere || other.everywhere) return !is_local() && !other.is_local();
      if (sequential && other.sequential) return true;
      return at && at == other.at && (writes || other.writes);
    }
  };
  enum class status : std::uint8_t { unused, ready, yielding, parked, joining, done };
  struct thread {
    model_fiber fiber;
    std::function<void()> body;
    status state = status::unused;
    operation next;          ///< as announced at its current scheduling point
    bool timed = false;      ///< parked, until a time
    bool timed_out = false;  ///< and that time has come
    std::int64_t deadline = 0;
    const void* waits_for = nullptr;
    unsigned joins = 0;

    std::int16_t time = 0;  ///< the time of its next access
    model_view now, acquired, released;
    model_clock past;      ///< its last access and everything on which that depends
    model_clock must_see;  ///< since it has yielded
    std::uint32_t priority = 0;

    /// The locations read since its last yield, `watches` of them; if they do not fit, all locations.
    std::array<const model_location*, 6> watched;
    unsigned watches = 0;
    std::uint8_t changed = 0;  ///< those with a new value since, one bit each
    model_clock change_past;   ///< of the stores that changed them
    coracle::detail::thread_state of_library;
    coracle::detail::frame_cache frames;
    coracle::detail::frame_keeping keeping;
  };
  /// An access that other threads can observe.
  struct event {
    model_clock past;
    int place;  ///< where it was chosen
    int block;  ///< where its thread was switched to
    std::int16_t time;
    std::uint8_t thread;
  };
  struct touched {
    model_touches* at;
    bool writes;
  };

  // model_engine.cpp
  bool run_one();
  void expect_repeated() {
    if (choices_.misfit()) fail(choices_.misfit());
  }
  [[noreturn]] void fail_endless() {
    fail("livelock: no end after " + std::to_string(limits_.steps) +
         " accesses; a loop that waits calls model_yield(), a long program needs more model_limits::steps");
  }
  [[noreturn]] static void stop_thread_of_its_own() noexcept;
  void begin_execution();
  void end_execution();
  static void enter_thread();
  std::string exception_of_body();
  void finish_thread();

  // model_schedule.cpp
  void point(operation next);  // by value: in registers
  void wait_for_another(operation next);
  void run_another();
  unsigned choose_thread(thread_set able);
  unsigned choose_by_priority(thread_set able);
  void wake_dependents(unsigned chosen);
  [[noreturn]] void prune();
  void switch_to(unsigned index);
  [[nodiscard]] bool can_run(const thread& each) const noexcept;
  [[nodiscard]] thread_set runnable() const noexcept;
  void nobody_can_run();
  void learn_all(thread& who);
  model_touches& sleepers_on(const void* at);

  // model_dependence.cpp
  void touch(std::initializer_list<touched> what);
  void leave_mark(model_touches& at, bool writes);
  void find_races(const model_touches& at, bool writes);
  void reverse(std::int16_t earlier);
  [[nodiscard]] bool is_past(unsigned who, std::int16_t when) const noexcept {
    return threads_[running_].past.at[who] >= when;
  }

  // model_accesses.cpp
  model_store& newest(model_location& at);
  [[nodiscard]] bool may_be_old(model_location& at, bool sequential);
  [[nodiscard]] bool must_be_seen(const model_store& store, bool sequential) const;
  [[nodiscard]] unsigned visible_stores(model_location& at, bool sequential) const;
  [[nodiscard]] unsigned choose_store(model_location& at, bool sequential, const std::uint64_t* expected);
  void touch_location(model_location& at, bool writes, bool sequential);
  void add_store(model_location& at, std::uint64_t value, std::memory_order order,
                 const model_store* replaced);
  void see(model_store& seen, std::memory_order order);
  void watch(const model_location& at, bool is_up_to_date);
  void tell_watchers(const model_location& at);
  void pass_fence(unsigned index, std::memory_order order);
  void tick() { tick(running_); }
  void tick(unsigned index) noexcept;
  [[nodiscard]] std::string called(const model_location& at) const;
  template <class Make>
  void trace(const site& where, const Make& make) {
    if (tracing_) [[unlikely]]
      add_to_trace(where, make);
  }
  template <class Make>
  CORACLE_COLD()
  void add_to_trace(const site& where, const Make& make) {
    const model_own_work own;
    trace_.add(make(), where);
  }
  void note(const char* what, const model_location& at, std::uint64_t value, std::memory_order order,
            const site& where);

  // model_lives.cpp
  void note_access(model_location& at);
  void expect_alive(const model_location& at, const site& where);
  void expect_unused(const model_location& at, const char* what);
  [[noreturn]] void fail_lost(const void* at, const model_life& life, const char* kind_of,
                              const std::string& where);
  void touch_cell(model_cell& at, const char* what);
  void trace_touch(const model_cell& at, const char* what) {
    trace(at.made, [&] { return model_step{running_, std::string(what) + "s it", 0, {}, false, &at}; });
  }
  void expect_after_write(const model_cell& at, const char* what);
  void change(model_cell& at, const char* what);
  [[noreturn]] void fail_race(const model_cell& at, const char* what, unsigned other, const char* other_what);

  thread& me() { return threads_[running_]; }
  std::uint32_t new_name() noexcept { return ++names_; }

  static model_engine* current_;
  static constinit thread_local const char this_thread_;

  const char* const thread_ = &this_thread_;  ///< identifies the system thread that runs the engine
  const model_limits limits_;
  const std::function<void()> body_;
  const bool reduces_;
  const bool by_races_;  ///< not random mode: races determine the orders to try
  const bool has_bound_;
  model_blocks blocks_;
  model_choices choices_;
  model_trace trace_;
  bool tracing_ = false;
  model_result result_;

  model_fiber controller_;
  std::array<thread, model_threads> threads_;
  unsigned count_ = 0, running_ = nobody;
  thread_set asleep_ =
      0;  ///< sleep set: their next steps have been tried here, and nothing dependent has run since
  unsigned preemptions_ = 0;
  unsigned last_chosen_ = nobody;  ///< to make an access
  bool failed_spuriously_ = false;
  bool pruned_ = false;
  std::uint64_t execution_ = 0;  ///< unique across all engines
  std::uint64_t steps_ = 0;
  std::int64_t now_ = 0;
  std::uint32_t names_ = 0;

  std::vector<event> events_;
  std::array<std::int16_t, 16> found_;
  unsigned races_ = 0;
  int place_ = model_choices::none;  ///< where the current access was chosen
  int block_ = model_choices::none;  ///< where its thread was switched to
  model_touches sequential_touches_;
  /// Per thread, its own accesses and the fences that others impose on it; recorded only if there are such
  /// fences.
  std::array<model_touches, model_threads> own_touches_;
  bool has_fences_everywhere_ = false, restarts_ = false;
  struct sleepers {
    const void* at;
    model_touches touches;
  };
  std::vector<sleepers> sleepers_;

  model_clock at_fences_;          ///< what was known at the seq_cst fences
  std::uint32_t sequentials_ = 0;  ///< seq_cst accesses
  std::vector<std::uint64_t>
      changes_;  ///< random mode: the steps at which the thread of highest priority gets the lowest
  std::uint32_t last_priority_ = 0;
  std::uint64_t most_steps_ = 0;
  unsigned seen_back_ = 0;  ///< by the read half of a read-modify-write
  std::string failure_;
};
}  // namespace coracle::testing::model
