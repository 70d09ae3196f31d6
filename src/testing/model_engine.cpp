// SPDX-License-Identifier: MIT
#include "model_engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace coracle::testing::model {
namespace {
bool acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
bool releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
const char* name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}
/// Addresses differ from run to run and say little.
std::string text_of(std::uint64_t value) {
  if (value < 1'000'000) return std::to_string(value);
  if (value > ~std::uint64_t{0} - 1000) return "-" + std::to_string(~value + 1);
  return "address";
}
std::string text_of(const site& where) {
  std::string file = where.file_name();
  const std::size_t folder = file.find_last_of('/');
  if (folder != std::string::npos) file.erase(0, folder + 1);
  return file + ":" + std::to_string(where.line());
}
}  // namespace

// ---- choices -------------------------------------------------------------------------------------------

unsigned model_choices::choose(unsigned count) {
  if (count <= 1) return 0;
  if (next_ == path_.size()) {
    const model_own_work own;
    const auto taken = is_random_ ? static_cast<std::uint8_t>(random_() % count) : std::uint8_t{0};
    path_.push_back({static_cast<std::uint8_t>(count), taken});
  }
  return path_[next_++].taken;
}
bool model_choices::advance() {
  if (is_random_) {
    path_.clear();
    return true;
  }
  while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}
std::string model_choices::text() const {
  std::string result;
  for (const choice& each : path_)
    result += static_cast<char>(each.taken < 10 ? '0' + each.taken : 'a' + each.taken - 10);
  return result;
}
void model_choices::read(const std::string& text) {
  path_.clear();
  for (const char each : text) {
    const int taken = each <= '9' ? each - '0' : each - 'a' + 10;
    path_.push_back({std::uint8_t{255}, static_cast<std::uint8_t>(taken)});
  }
}

// ---- trace ---------------------------------------------------------------------------------------------

void model_trace::add(unsigned thread, const std::string& what, const site& where) {
  const model_own_work own;
  lines_.push_back({thread, what, text_of(where)});
}
std::string model_trace::text(unsigned threads) const {
  std::vector<std::size_t> widths(threads, 8);
  for (const line& each : lines_) {
    widths[each.thread] = std::max(widths[each.thread], each.what.size() + each.where.size() + 2);
  }
  std::string result;
  const auto cell = [&](unsigned thread, const std::string& what) {
    result += what;
    if (thread + 1 != threads) result.append(widths[thread] - what.size() + 2, ' ');
  };
  for (unsigned i = 0; i != threads; ++i) cell(i, i == 0 ? "body" : "thread " + std::to_string(i));
  result += '\n';
  for (const line& each : lines_) {
    for (unsigned i = 0; i <= each.thread; ++i) {
      cell(i, i == each.thread ? each.what + "  " + each.where : "");
    }
    while (result.back() == ' ') result.pop_back();
    result += '\n';
  }
  return result;
}

// ---- executions ----------------------------------------------------------------------------------------

model_engine* model_engine::current_ = nullptr;

model_engine::model_engine(const model_limits& limits, std::function<void()> body)
    : limits_(limits), body_(std::move(body)) {
  if (current_) {
    std::fputs("coracle: a model_check() inside another\n", stderr);
    std::abort();
  }
  current_ = this;
}
model_engine::~model_engine() { current_ = nullptr; }

model_result model_engine::check() {
  if (limits_.random_seed != 0) choices_.make_random(limits_.random_seed);
  do {
    if (result_.executions == limits_.executions) {
      result_.passed = true;
      result_.complete = limits_.random_seed != 0;
      return result_;
    }
    if (!run_one()) {
      result_.replay = choices_.text();
      tracing_ = true;
      choices_.follow_only();
      run_one();
      result_.failure = failure_;
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

/// False: it failed.
bool model_engine::run_one() {
  begin_execution();
  running_ = 0;
  controller_.switch_to(threads_[0].fiber);
  end_execution();
  if (!tracing_) {
    if (!pruned_) ++result_.executions;
    result_.steps += steps_;
  }
  return failure_.empty();
}

void model_engine::end_execution() {
  running_ = nobody;
  const bool given_up = pruned_ || !failure_.empty();
  if (given_up) {
    for (thread& each : threads_)
      ::new (static_cast<void*>(&each.body)) std::function<void()>;  // its memory is gone
  }
  const std::size_t left = blocks_.end_execution(given_up);
  if (!given_up && left != 0) failure_ = "leak: " + std::to_string(left) + " blocks of memory are not freed";
}

void model_engine::begin_execution() {
  choices_.begin_execution();
  trace_.clear();
  failure_.clear();
  ++execution_;
  count_ = preemptions_ = 0;
  failed_spuriously_ = false;
  stores_ = steps_ = 0;
  names_ = 0;
  sequential_ = {};
  pruned_ = false;
  for (thread& each : threads_) each.state = status::unused;
  running_ = 0;
  start_thread([this] { body_(); });
  blocks_.begin_execution();
}

unsigned model_engine::start_thread(std::function<void()> body) {
  if (count_ == model_threads)
    fail("more threads than the checker knows: at most 5 beside the body", site::current());
  const unsigned index = count_++;
  thread& started = threads_[index];
  started.body = std::move(body);
  {
    const model_own_work own;
    started.fiber.prepare(&enter_thread);
  }
  started.state = status::ready;
  started.timed = started.timed_out = started.asleep = false;
  started.next = {};
  started.yielded_at = started.sees_from = 0;
  started.of_library = {};
  started.acquires = started.released = {};
  started.knows = {};
  if (index != 0) {
    started.knows = me().knows;
    tick();
    point({});
  }
  return index;
}

void model_engine::enter_thread() {
  model_engine& engine = *current_;
  engine.me().body();
  engine.me().body = nullptr;
  engine.finish_thread();
}

void model_engine::finish_thread() {
  if (tracing_) trace_.add(running_, "ends", site::current());
  tick();
  me().state = status::done;
  for (unsigned i = 0; i != count_; ++i) {
    if (threads_[i].state == status::joining && threads_[i].joins == running_)
      threads_[i].state = status::ready;
  }
  if (std::all_of(threads_.begin(), threads_.begin() + count_,
                  [](const thread& each) { return each.state == status::done; })) {
    me().fiber.switch_to(controller_);
  }
  point({}, false);
  std::abort();  // nobody switches to a thread that has ended
}

void model_engine::join_thread(unsigned index) {
  if (threads_[index].state != status::done) {
    me().state = status::joining;
    me().joins = index;
    point({}, false);
  }
  me().knows.join(threads_[index].knows);
}

void model_engine::record(std::string outcome) {
  const model_own_work own;
  result_.outcomes.insert(std::string(outcome));
}

void model_engine::fail(std::string what, const site& where) {
  const model_own_work own;
  failure_ = what + " (" + text_of(where) + ")";
  if (tracing_) trace_.add(running_, "FAILS: " + failure_, where);
  me().fiber.switch_to(controller_);
  std::abort();
}

// ---- who runs ------------------------------------------------------------------------------------------

bool model_engine::can_run(const thread& each) const noexcept {
  return each.state == status::ready || (each.state == status::yielding && stores_ != each.yielded_at);
}
unsigned model_engine::runnable(unsigned except, std::array<unsigned, model_threads>& which) const {
  unsigned count = 0;
  for (unsigned i = 0; i != count_; ++i) {
    if (i != except && can_run(threads_[i])) which[count++] = i;
  }
  return count;
}

/// Another thread may run here, in front of what this one does next. `may_go_on`: this one too.
void model_engine::point(operation next, bool may_go_on) {
  if (++steps_ > limits_.steps) fail("livelock: the execution does not end", site::current());
  me().next = next;
  std::array<unsigned, model_threads> which;
  for (;;) {
    if (may_go_on) {
      which[0] = running_;
      unsigned count = 1;
      if (preemptions_ < limits_.preemptions) {
        std::array<unsigned, model_threads> others;
        const unsigned more = runnable(running_, others);
        for (unsigned i = 0; i != more; ++i) which[count++] = others[i];
      }
      const unsigned chosen = choose_thread(which, count);
      if (chosen == running_) return;
      ++preemptions_;
      return switch_to(chosen);
    }
    const unsigned count = runnable(nobody, which);
    if (count != 0) return switch_to(choose_thread(which, count));
    nobody_can_run();
  }
}

/// One of those that can run. Without a bound on preemptions those that sleep are left out: whatever they begin with
/// has been tried before at a point from which nothing that depends on it has happened since. (P. Godefroid,
/// "Partial-Order Methods for the Verification of Concurrent Systems", sleep sets.)
unsigned model_engine::choose_thread(const std::array<unsigned, model_threads>& which, unsigned count) {
  const bool all_orders = limits_.preemptions == ~0U && limits_.random_seed == 0;
  if (!all_orders) return which[choices_.choose(count)];
  std::array<unsigned, model_threads> awake;
  unsigned number = 0;
  for (unsigned i = 0; i != count; ++i) {
    if (!threads_[which[i]].asleep) awake[number++] = which[i];
  }
  if (number == 0) prune();
  const unsigned taken = choices_.choose(number);
  for (unsigned i = 0; i != taken; ++i) threads_[awake[i]].asleep = true;
  const unsigned chosen = awake[taken];
  for (unsigned i = 0; i != count_; ++i) {
    if (threads_[i].asleep && threads_[i].next.depends_on(threads_[chosen].next)) threads_[i].asleep = false;
  }
  return chosen;
}

/// Ends an execution that would repeat another.
void model_engine::prune() {
  pruned_ = true;
  me().fiber.switch_to(controller_);
  std::abort();
}

/// Time passes; or, where nobody waits for time, those who yield may go on: nothing else will happen.
void model_engine::nobody_can_run() {
  bool moved = false;
  for (unsigned i = 0; i != count_; ++i) {
    thread& each = threads_[i];
    if (each.state == status::yielding) {
      each.yielded_at = ~std::uint64_t{0};
      moved = true;
    }
  }
  for (unsigned i = 0; !moved && i != count_; ++i) {
    thread& each = threads_[i];
    if (each.state == status::parked && each.timed) {
      each.state = status::ready;
      each.timed_out = true;
      moved = true;
    }
  }
  if (!moved) fail("deadlock: every thread waits for another", site::current());
}

void model_engine::switch_to(unsigned index) {
  thread& next = threads_[index];
  if (next.state == status::yielding) next.state = status::ready;
  if (index == running_) return;
  thread& left = me();
  running_ = index;
  left.fiber.switch_to(next.fiber);
}

void model_engine::yield() {
  me().state = status::yielding;
  me().yielded_at = stores_;
  me().sees_from = stores_ + 1;
  point({operation::kind::anything, nullptr}, false);
}

bool model_engine::park(model_location& at, std::uint64_t expected, bool has_timeout) {
  point({operation::kind::anything, nullptr});
  const std::uint64_t now = newest(at).value;
  see(newest(at), std::memory_order_relaxed);
  if ((now & 0xffffffffU) != (expected & 0xffffffffU)) return true;
  if (tracing_) trace_.add(running_, "sleeps on #" + std::to_string(at.name), site::current());
  thread& sleeper = me();
  sleeper.state = status::parked;
  sleeper.waits_for = &at;
  sleeper.timed = has_timeout;
  sleeper.timed_out = false;
  point({}, false);
  return !std::exchange(sleeper.timed_out, false);
}

void model_engine::unpark(const model_location* at, unsigned count) {
  point({operation::kind::anything, nullptr});
  for (; count != 0; --count) {
    std::array<unsigned, model_threads> which;
    unsigned sleepers = 0;
    for (unsigned i = 0; i != count_; ++i) {
      if (threads_[i].state == status::parked && threads_[i].waits_for == at) which[sleepers++] = i;
    }
    if (sleepers == 0) break;
    const unsigned woken = which[choices_.choose(sleepers)];
    threads_[woken].state = status::ready;
    if (tracing_) trace_.add(running_, "wakes thread " + std::to_string(woken), site::current());
  }
}

// ---- memory --------------------------------------------------------------------------------------------

void model_engine::init(model_location& at, std::uint64_t value) {
  at.execution = execution_;
  at.count = 0;
  at.name = new_name();
  add_store(at, value, std::memory_order_relaxed, nullptr);
}

/// The newest store; of an object that is older than this execution the last value, which everybody sees.
model_store& model_engine::newest(model_location& at) {
  if (at.execution != execution_) {
    const std::uint64_t last = at.count == 0 ? 0 : at.stores[(at.count - 1) % model_history].value;
    at.execution = execution_;
    at.name = new_name();
    at.count = 1;
    at.stores[0] = {};
    at.stores[0].value = last;
  }
  return at.stores[(at.count - 1) % model_history];
}

void model_engine::add_store(model_location& at, std::uint64_t value, std::memory_order order,
                             const model_store* replaced) {
  tick();
  thread& writer = me();
  model_store made;
  made.value = value;
  made.release = releases(order) ? writer.knows : writer.released;
  if (replaced) made.release.join(replaced->release);  // a release sequence goes on
  made.thread = running_;
  made.time = writer.knows.at[running_];
  made.first_seen.at[running_] = made.time;
  made.number = ++stores_;
  made.sequential = order == std::memory_order_seq_cst;
  at.stores[at.count++ % model_history] = made;
}

/// How many of the newest stores a load may see, by coherence.
unsigned model_engine::visible_stores(model_location& at, bool sequential) {
  const thread& reader = me();
  const auto kept = static_cast<unsigned>(std::min<std::size_t>(at.count, model_history));
  for (unsigned back = 0; back + 1 < kept; ++back) {
    const model_store& seen = at.stores[(at.count - 1 - back) % model_history];
    // Nothing older, once this one happens before the load, or a load that saw it does.
    bool known = reader.knows.at[seen.thread] >= seen.time || seen.number < reader.sees_from;
    for (unsigned i = 0; !known && i != count_; ++i) {
      known = seen.first_seen.at[i] != 0 && reader.knows.at[i] >= seen.first_seen.at[i];
    }
    if (known || (sequential && seen.sequential)) return back + 1;
  }
  return kept;
}

void model_engine::see(model_store& seen, std::memory_order order) {
  tick();
  thread& reader = me();
  if (seen.first_seen.at[running_] == 0) seen.first_seen.at[running_] = reader.knows.at[running_];
  (acquires(order) ? reader.knows : reader.acquires).join(seen.release);
}

void model_engine::note(const char* what, const model_location& at, std::uint64_t value,
                        std::memory_order order, const site& where) {
  if (!tracing_) return;
  trace_.add(
      running_,
      std::string(what) + " #" + std::to_string(at.name) + " = " + text_of(value) + " " + name_of(order),
      where);
}

std::uint64_t model_engine::load(model_location& at, std::memory_order order, const site& where) {
  point({operation::kind::read, &at});
  newest(at);
  const unsigned back = choices_.choose(visible_stores(at, order == std::memory_order_seq_cst));
  model_store& seen = at.stores[(at.count - 1 - back) % model_history];
  see(seen, order);
  note(back == 0 ? "load" : "load, stale,", at, seen.value, order, where);
  return seen.value;
}

void model_engine::store(model_location& at, std::uint64_t value, std::memory_order order,
                         const site& where) {
  point({operation::kind::write, &at});
  newest(at);
  add_store(at, value, order, nullptr);
  note("store", at, value, order, where);
}

std::uint64_t model_engine::rmw_read(model_location& at, const char*, const site&) {
  point({operation::kind::write, &at});
  return newest(at).value;
}
void model_engine::rmw_write(model_location& at, std::uint64_t value, std::memory_order order,
                             const site& where) {
  model_store replaced = newest(at);
  see(newest(at), order);
  add_store(at, value, order, &replaced);
  note("change", at, value, order, where);
}
void model_engine::rmw_fail(model_location& at, std::memory_order order, const site& where) {
  see(newest(at), order);
  note("no change of", at, newest(at).value, order, where);
}
bool model_engine::fails_spuriously() {
  if (!limits_.spurious_failures || failed_spuriously_ || choices_.choose(2) == 0) return false;
  failed_spuriously_ = true;
  return true;
}

void model_engine::fence(std::memory_order order, const site& where) {
  point({order == std::memory_order_seq_cst ? operation::kind::anything : operation::kind::local, nullptr});
  tick();
  thread& self = me();
  if (acquires(order)) self.knows.join(self.acquires);
  if (order == std::memory_order_seq_cst) {
    self.knows.join(sequential_);
    sequential_ = self.knows;
  }
  if (releases(order)) self.released = self.knows;
  if (tracing_) trace_.add(running_, std::string("fence ") + name_of(order), where);
}

namespace {
/// An object that is older than this execution: nobody has touched it.
void renew(model_cell& at, std::uint64_t execution) {
  if (at.execution == execution) return;
  at = {};
  at.execution = execution;
}
}  // namespace

void model_engine::read(model_cell& at, const site& where) {
  renew(at, execution_);
  if (me().knows.at[at.writer] < at.written) {
    fail("data race: read of a plain field that thread " + std::to_string(at.writer) + " has written", where);
  }
  tick();
  at.reads.at[running_] = me().knows.at[running_];
}
void model_engine::write(model_cell& at, const site& where) {
  renew(at, execution_);
  if (me().knows.at[at.writer] < at.written) {
    fail("data race: write to a plain field that thread " + std::to_string(at.writer) + " has written",
         where);
  }
  for (unsigned i = 0; i != count_; ++i) {
    if (i != running_ && me().knows.at[i] < at.reads.at[i]) {
      fail("data race: write to a plain field that thread " + std::to_string(i) + " has read", where);
    }
  }
  tick();
  at.writer = running_;
  at.written = me().knows.at[running_];
}
}  // namespace coracle::testing::model
