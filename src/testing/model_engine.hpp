// src/testing/model_engine.hpp -- the executions of a model_check(), one after the other.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <coracle/detail/thread_state.hpp>
#include <coracle/testing/model_check.hpp>
#include <coracle/testing/model_memory.hpp>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "model_blocks.hpp"
#include "model_fiber.hpp"

namespace coracle::testing::model {
/// Where an execution can go on in several ways: which of them it took. A depth-first search over these strings
/// visits every execution once.
class model_choices {
 public:
  void begin_execution() noexcept { next_ = 0; }
  /// One of `count` ways.
  unsigned choose(unsigned count);
  /// To the next string. False: that was the last.
  bool advance();

  void make_random(std::uint64_t seed) {
    random_.seed(seed);
    is_random_ = true;
  }
  void forget() noexcept { path_.clear(); }
  [[nodiscard]] std::string text() const;
  void read(const std::string& text);
  void follow_only() noexcept { is_random_ = false; }

 private:
  struct choice {
    std::uint8_t count, taken;
  };
  std::vector<choice> path_;
  std::size_t next_ = 0;
  bool is_random_ = false;
  std::mt19937_64 random_;
};

/// What an execution did, for a reader.
class model_trace {
 public:
  void add(unsigned thread, const std::string& what, const site& where);
  [[nodiscard]] std::string text(unsigned threads) const;
  void clear() { lines_.clear(); }

 private:
  struct line {
    unsigned thread;
    std::string what, where;
  };
  std::vector<line> lines_;
};

class model_engine {
 public:
  model_engine(const model_limits& limits, std::function<void()> body);
  model_engine(const model_engine&) = delete;
  model_engine& operator=(const model_engine&) = delete;
  ~model_engine();

  model_result check();
  model_result replay(const std::string& choices);

  /// That of the model_check() in which the caller runs; null: none.
  static model_engine* current() noexcept { return current_; }
  [[nodiscard]] bool is_in_thread() const noexcept { return running_ != nobody; }

  // What a thread of the program does. All but the first two are points at which another thread may run instead.
  [[noreturn]] void fail(std::string what, const site& where);
  coracle::detail::thread_state& state_of_thread() noexcept { return threads_[running_].of_library; }
  std::uint64_t load(model_location& at, std::memory_order order, const site& where);
  void store(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
  std::uint64_t rmw_read(model_location& at, const char* what, const site& where);
  void rmw_write(model_location& at, std::uint64_t value, std::memory_order order, const site& where);
  void rmw_fail(model_location& at, std::memory_order order, const site& where);
  bool fails_spuriously();
  void init(model_location& at, std::uint64_t value);
  void fence(std::memory_order order, const site& where);
  void read(model_cell& at, const site& where);
  void write(model_cell& at, const site& where);
  bool park(model_location& at, std::uint64_t expected, bool has_timeout);
  void unpark(const model_location* at, unsigned count);
  void yield();
  unsigned start_thread(std::function<void()> body);
  void join_thread(unsigned index);
  void record(std::string outcome);

 private:
  static constexpr unsigned nobody = ~0U;
  /// What a thread is about to do. Two operations of which the order matters are dependent.
  struct operation {
    enum class kind : std::uint8_t { local, read, write, anything };
    kind what = kind::local;
    const void* at = nullptr;
    [[nodiscard]] bool depends_on(const operation& other) const noexcept {
      if (what == kind::local || other.what == kind::local) return false;
      if (what == kind::anything || other.what == kind::anything) return true;
      return at == other.at && (what == kind::write || other.what == kind::write);
    }
  };
  enum class status : std::uint8_t { unused, ready, yielding, parked, joining, done };
  struct thread {
    model_fiber fiber;
    std::function<void()> body;
    status state = status::unused;
    operation next;       ///< as it announced it at the point where it stands
    bool asleep = false;  ///< what it would do now has been tried in its stead, and nothing has come between
    bool timed = false;   ///< parked, until a time
    bool timed_out = false;  ///< and that time has come
    const void* waits_for = nullptr;
    unsigned joins = 0;
    std::uint64_t yielded_at = 0;  ///< stores made until it yielded
    std::uint64_t sees_from = 0;   ///< it cannot see that a store before this number was not replaced
    model_clock knows, acquires, released;
    coracle::detail::thread_state of_library;
  };

  bool run_one();
  void begin_execution();
  void end_execution();
  static void enter_thread();
  void finish_thread();
  void point(operation next, bool may_go_on = true);
  unsigned choose_thread(const std::array<unsigned, model_threads>& which, unsigned count);
  void prune();
  void switch_to(unsigned index);
  [[nodiscard]] unsigned runnable(unsigned except, std::array<unsigned, model_threads>& which) const;
  [[nodiscard]] bool can_run(const thread& each) const noexcept;
  void nobody_can_run();
  model_store& newest(model_location& at);
  [[nodiscard]] unsigned visible_stores(model_location& at, bool sequential);
  void add_store(model_location& at, std::uint64_t value, std::memory_order order,
                 const model_store* replaced);
  void see(model_store& seen, std::memory_order order);
  void tick() { ++me().knows.at[running_]; }
  thread& me() { return threads_[running_]; }
  void note(const char* what, const model_location& at, std::uint64_t value, std::memory_order order,
            const site& where);
  std::uint32_t new_name() noexcept { return ++names_; }

  static model_engine* current_;

  const model_limits limits_;
  const std::function<void()> body_;
  model_blocks blocks_;
  model_choices choices_;
  model_trace trace_;
  bool tracing_ = false;
  model_result result_;

  model_fiber controller_;
  std::array<thread, model_threads> threads_;
  unsigned count_ = 0, running_ = nobody;
  unsigned preemptions_ = 0;
  bool failed_spuriously_ = false;
  bool pruned_ = false;
  std::uint64_t execution_ = 0, stores_ = 0, steps_ = 0;
  std::uint32_t names_ = 0;
  model_clock sequential_;
  std::string failure_;
};
}  // namespace coracle::testing::model
