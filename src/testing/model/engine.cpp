// SPDX-License-Identifier: MIT
#include "engine.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace coracle::testing::model {
namespace {
constexpr std::uint64_t most_steps = 30'000;  // a thread's accesses are counted in 16 bits
constexpr unsigned no_bound = ~0U;

model_limits possible(model_limits limits) {
  limits.steps = std::min(limits.steps, most_steps);
  return limits;
}

#if CORACLE_ADDRESS_SANITIZER()
void watch_for_crashes() {}  // AddressSanitizer has its own report
void end_watch_for_crashes() {}
#else
struct sigaction action_before;
/// Handles a crash, as after a use of freed memory. The execution is abandoned, so the interrupted code need
/// not finish.
void crashed(int signal) {
  model_engine* const here = model_engine::current();
  if (here && here->is_in_thread()) here->fail("crash: segmentation fault");
  ::sigaction(signal, &action_before, nullptr);  // so that it happens again
}
void watch_for_crashes() {
  struct sigaction action{};
  action.sa_handler = &crashed;
  action.sa_flags = SA_NODEFER;
  ::sigaction(SIGSEGV, &action, &action_before);
}
void end_watch_for_crashes() { ::sigaction(SIGSEGV, &action_before, nullptr); }
#endif
}  // namespace

model_engine* model_engine::current_ = nullptr;
constinit thread_local const char model_engine::this_thread_ = 0;

void model_engine::stop_thread_of_its_own() noexcept {
  std::fputs("coracle: a thread inside a model_check() that is not a model_thread\n", stderr);
  std::abort();
}

model_engine::model_engine(const model_limits& limits, std::function<void()> body, reduction reduces)
    : limits_(possible(limits)),
      body_(std::move(body)),
      reduces_(reduces != reduction::none),
      by_races_(reduces == reduction::of_orders && limits.random_seed == 0),
      has_bound_(limits.preemptions != no_bound) {
  if (current()) {
    std::fputs("coracle: a model_check() inside another\n", stderr);
    std::abort();
  }
  current_ = this;
  watch_for_crashes();
}
model_engine::~model_engine() {
  end_watch_for_crashes();
  current_ = nullptr;
}

model_result model_engine::check() {
  if (limits_.random_seed != 0) choices_.make_random(limits_.random_seed);
  do {
    if (result_.executions == limits_.executions) {
      result_.passed = true;
      result_.complete = limits_.random_seed != 0;
      return result_;
    }
    if (!run_one()) {
      const std::string first = failure_;
      result_.replay = choices_.text();
      tracing_ = true;
      choices_.follow_only();
      run_one();
      result_.failure = failure_.empty() ? first + "; not again: the body is not deterministic" : failure_;
      result_.schedule = trace_.text(count_);
      return result_;
    }
  } while (choices_.advance());
  result_.passed = result_.complete = true;
  return result_;
}

model_result model_engine::replay(const std::string& choices) {
  choices_.read(choices);
  tracing_ = true;
  result_.passed = run_one();
  result_.failure = failure_;
  result_.schedule = trace_.text(count_);
  result_.replay = choices;
  return result_;
}

/// Returns false if it failed.
bool model_engine::run_one() {
  begin_execution();
  running_ = 0;
  controller_.switch_to(threads_[0].fiber);
  end_execution();
  if (std::exchange(restarts_, false)) {
    if (!tracing_) choices_.forget();
    return run_one();
  }
  if (!tracing_) {
    if (!pruned_) ++result_.executions;
    result_.pruned += pruned_;
    result_.steps += steps_;
    most_steps_ = std::max(most_steps_, steps_);
  }
  return failure_.empty();
}

void model_engine::end_execution() {
  running_ = nobody;
  const bool given_up = pruned_ || !failure_.empty();
  if (given_up) {
    for (thread& each : threads_)
      ::new (static_cast<void*>(&each.body)) std::function<void()>;  // its memory has been freed
  }
  const auto [left, size, written] = blocks_.end_execution(given_up);
  if (given_up) return;
  if (written) failure_ = "use after free: freed memory was written to";
  if (left != 0)
    failure_ = "leak: blocks of memory that are not freed: " + std::to_string(left) + ", of " +
               std::to_string(size) + " bytes in all";
}

void model_engine::begin_execution() {
  choices_.begin_execution();
  trace_.clear();
  failure_.clear();
  static std::uint64_t last_execution = 0;
  execution_ = ++last_execution;
  count_ = preemptions_ = 0;
  failed_spuriously_ = pruned_ = false;
  asleep_ = 0;
  last_chosen_ = nobody;
  place_ = block_ = model_choices::none;
  steps_ = names_ = sequentials_ = 0;
  events_.clear();
  sleepers_.clear();
  now_ = 0;
  sequential_touches_ = {};
  own_touches_ = {};
  at_fences_ = {};
  changes_.clear();
  last_priority_ = limits_.random_depth;
  if (choices_.is_random()) {
    for (unsigned i = 1; i < limits_.random_depth; ++i)
      changes_.push_back(choices_.random(static_cast<unsigned>(std::max<std::uint64_t>(most_steps_, 1))));
  }
  for (thread& each : threads_) each.state = status::unused;
  running_ = 0;
  start_thread([this] { body_(); });
  blocks_.begin_execution();
}

unsigned model_engine::start_thread(std::function<void()> body) {
  if (count_ == model_threads) fail("too many threads: at most 5 besides the body");
  const unsigned index = count_++;
  thread& started = threads_[index];
  started.body = std::move(body);
  {
    const model_own_work own;
    started.fiber.prepare(&enter_thread);
  }
  started.state = status::ready;
  started.next = {};
  started.timed = started.timed_out = false;
  started.changed = 0;
  started.time = 0;
  started.now = started.acquired = started.released = {};
  started.past = started.must_see = started.change_past = {};
  started.watches = 0;
  started.priority = choices_.is_random() ? limits_.random_depth + choices_.random(1'000'000) : 0;
  started.of_library = {};
  started.frames = {};
  started.keeping = {};
  if (index != 0) {
    started.now = me().now;
    started.past = me().past;
    started.must_see = me().must_see;
    tick();
  }
  started.time = 1;
  started.now.knows.at[index] = started.now.sees.at[index] = 1;
  if (index != 0) point({});
  return index;
}

void model_engine::enter_thread() {
  model_engine& engine = *current_;
  engine.me().fiber.entered();
  if (const std::string thrown = engine.exception_of_body(); !thrown.empty()) engine.fail(thrown);
  engine.me().body = nullptr;
  engine.finish_thread();
}

/// Returns an empty string if none leaves the body. After a failure the thread is no longer in a handler.
std::string model_engine::exception_of_body() {
  const auto whose = [this] { return "an exception leaves " + name_of_thread(running_); };
  try {
    me().body();
    return {};
  } catch (const std::exception& thrown) {
    return whose() + ": " + thrown.what();
  } catch (...) {
    return whose();
  }
}

void model_engine::finish_thread() {
  me().state = status::done;
  for (unsigned i = 0; i != count_; ++i) {
    if (threads_[i].state == status::joining && threads_[i].joins == running_)
      threads_[i].state = status::ready;
  }
  if (std::all_of(threads_.begin(), threads_.begin() + count_,
                  [](const thread& each) { return each.state == status::done; })) {
    me().fiber.switch_to(controller_);
  }
  wait_for_another({});
  std::abort();  // an ended thread is never switched to
}

void model_engine::join_thread(unsigned index) {
  if (threads_[index].state != status::done) {
    me().state = status::joining;
    me().joins = index;
    wait_for_another({});
  }
  const thread& joined = threads_[index];
  me().now.join(joined.now);
  me().past.join(joined.past);
}

void model_engine::record(std::string outcome) {
  const model_own_work own;
  result_.outcomes.insert(std::string(outcome));
}

void model_engine::fail(const std::string& what, const void* about) {
  const model_own_work own;
  failure_ = what;
  if (tracing_) trace_.end(running_, failure_, about);
  me().fiber.switch_to(controller_);
  std::abort();
}
}  // namespace coracle::testing::model
