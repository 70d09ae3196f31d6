// SPDX-License-Identifier: MIT
#include "io_loop.hpp"

#include <algorithm>

#include "../exec/turn_order.hpp"
#include "../time/timer_metrics.hpp"
#include "lock_bias.hpp"

namespace coracle::detail {
namespace {
// How long after a poll the loop polls again, apart from the turn under way, in ticks of the system.
//   - Coroutines are scheduled and no event waits: the shortest interval if that poll has found an event,
//     because an exchange of messages often goes on; otherwise twice the previous one, up to the longest.
//   - Both wait: the longest.
//   - Only events wait: longer. They end by themselves, and a later poll reports more of them and submits
//     more operations in one system call.
constexpr std::uint64_t longest_interval = is_modelled ? 2 : turn_order::slice;
constexpr std::uint64_t shortest_interval = is_modelled ? 1 : longest_interval / 8;
constexpr std::uint64_t interval_of_events = 8 * longest_interval;
/// The most threads of one io_service that metrics show.
constexpr std::size_t most_threads = 64;
}  // namespace

/// The calling thread runs `its_loop` for the lifetime of this object.
class io_loop::running {
 public:
  explicit running(io_loop& its_loop, bool only_one = false) noexcept
      : loop(its_loop),
        may_keep(!only_one),
        outer_(static_cast<running*>(std::exchange(this_thread().loop_run, this))),
        scope_(&its_loop.service_) {}
  running(const running&) = delete;
  running& operator=(const running&) = delete;
  ~running() {
    loop.backend_->flush();
    if (keeps || is_listed_) leave();
    this_thread().loop_run = outer_;
  }

  io_loop& loop;
  const thread_state* const its_thread = &this_thread();
  const bool may_keep;
  bool keeps = false;  ///< loop.polled_by_ is this object
  /// Completed by a poll() of this thread, and delivered by it without the loop's lock.
  io_backend::completions polled;
  /// When this thread polls although `polled` contains events. In ticks of the system.
  std::uint64_t next_poll = 0;
  static constexpr std::uint64_t not_begun = ~std::uint64_t{0};
  /// In ticks of the system. If no poll() has set it, the first operation that is ready does.
  std::uint64_t turn_began = not_begun;
  std::uint64_t interval = longest_interval;  ///< as after this thread's last poll()
  bool has_sent = false;                      ///< since then

  /// Requires: the caller holds the loop's lock.
  void enter() noexcept {
    if (is_listed_ || is_nested()) return;
    is_listed_ = true;
    next_ = loop.first_running_;
    link_ = &loop.first_running_;
    if (next_) next_->link_ = &next_;
    loop.first_running_ = this;
  }
  [[nodiscard]] running* next() const noexcept { return next_; }
  [[nodiscard]] thread_handle thread() const noexcept { return thread_; }

 private:
  /// Returns true if this thread already runs the loop, and this run() is inside that one.
  [[nodiscard]] bool is_nested() const noexcept {
    const running* each = outer_;
    while (each && &each->loop != &loop) each = each->outer_;
    return each;
  }
  void leave() noexcept {
    const small_mutex_lock lock{loop.mutex_};
    if (keeps) loop.share(*this);
    if (!is_listed_) return;
    if (lock_bias* const its = loop.backend_->bias()) its->release();
    *link_ = next_;
    if (next_) next_->link_ = link_;
  }

  running* const outer_;
  const executor_scope scope_;
  const thread_handle thread_ = this_thread_handle();
  running* next_ = nullptr;  // belongs to the loop's lock, as link_
  running** link_ = nullptr;
  bool is_listed_ = false;  // this thread's alone
};
io_loop::running* io_loop::on_this_thread() noexcept { return static_cast<running*>(this_thread().loop_run); }

bool io_loop::several_run() const noexcept { return first_running_ && first_running_->next(); }

bool io_loop::turn_is_over(bool of_file) noexcept {
  running* const here = on_this_thread();
  if (!here) return false;
  const std::uint64_t length = of_file ? here->interval : longest_interval;
  const std::uint64_t now = here->loop.system_.ticks(), began = here->turn_began;
  if (began != running::not_begun && now < began + length) return false;
  here->turn_began = now;
  return began != running::not_begun;
}

bool io_loop::runs_here() const noexcept {
  const running* const here = on_this_thread();
  return here && &here->loop == this;
}
bool io_loop::sends_first() noexcept {
  running& here = *on_this_thread();
  return !std::exchange(here.has_sent, true) && here.polled.empty();
}
bool io_loop::has_nothing_ready() noexcept {
  if (!on_this_thread()->polled.empty()) return false;
  const small_mutex_lock lock{mutex_};
  return !has_ready();
}
void io_loop::flush_soon() noexcept {
  const small_mutex_lock lock{mutex_};
  flushes_ = true;
  changed();
}

io_loop::io_loop(executor& service, io_system& system)
    : service_(service),
      system_(system),
      polled_at_(system.ticks()),
      interval_(longest_interval),
      timers_(system.now()),
      backend_(system.backend_for(*this)) {
  metrics_.show();
}

io_loop::~io_loop() {
  metrics_.hide();
  // The thread that posted the last event may still hold the lock.
  const small_mutex_lock lock{mutex_};
  CORACLE_REQUIRE(
      !has_ready() && timers_.empty(),
      "an io_service was destroyed with coroutines scheduled on it or timers running: request their "
      "stop and process events until they have ended");
  CORACLE_REQUIRE(
      backend_->attached() == 0,
      "an io_service was destroyed before its files and sockets: let their operations end and close "
      "them first");
}

void io_loop::count_external_driver() noexcept {
  ++sleeping_;
  ++runs_sleeping_;
}

void io_loop::post(resumption& item) noexcept {
  note_post(item);
  const small_mutex_lock lock{mutex_};
  scheduled_.push(item);
  changed();
}

void io_loop::list(io_event& event) noexcept {
  note_post(event, true);
  event.listed = io_event::list::finished;
  finished_.push(event);
}
void io_loop::finish(io_event& event) noexcept {
  const small_mutex_lock lock{mutex_};
  list(event);
  changed();
}
void io_loop::finish(io_backend::completions& completed) noexcept {
  const small_mutex_lock lock{mutex_};
  finished_.append(completed);
  changed();
}
void io_loop::finish_behind_others(io_event& event) noexcept {
  if (event.home != &service_) return finish(event);
  note_post(event, true);
  const small_mutex_lock lock{mutex_};
  event.listed = io_event::list::scheduled;
  scheduled_.push(event);
  changed();
}
bool io_loop::unlist(io_event& event) noexcept {
  const small_mutex_lock lock{mutex_};
  const io_event::list from = std::exchange(event.listed, io_event::list::none);
  if (from == io_event::list::scheduled) return scheduled_.remove(event);
  if (from != io_event::list::finished) return false;
  // If a thread runs the loop, it is this one.
  const bool ends_polled = polled_by_ && polled_by_->polled.ends_with(event);
  (ends_polled ? polled_by_->polled : finished_).remove(event);
  return true;
}

/// Requires: the caller holds the lock, and has changed what next() depends on.
void io_loop::changed() noexcept {
  has_changed_.store(true, memory_order_relaxed); /*C1*/
  wake_sleeper_if_needed();
}

/// Wakes one sleeping thread if there is something for it to do and no wake-up is under way.
void io_loop::wake_sleeper_if_needed() noexcept {
  if (sleeping_ == 0 || waking_ || !(sleeper_must_leave() || has_work())) return;
  waking_ = true;
  backend_->wake();
}

bool io_loop::add(timer& each, time_point deadline) noexcept {
  const small_mutex_lock lock{mutex_};
  if (!timers_.add(each, deadline)) return false;
  if (sleeping_ != 0) set_timer();
  return true;
}

bool io_loop::remove(timer& each) noexcept {
  const small_mutex_lock lock{mutex_};
  return timers_.remove(each);
}

bool io_loop::start(io_timer& each, time_point deadline) noexcept {
  if (deadline > now()) return add(each, deadline);
  const small_mutex_lock lock{mutex_};
  each.progress = timer::state::fired;
  list(each);
  changed();
  return true;
}

/// Sets the backend's timer, on which only a sleeping thread depends. A thread that runs reads the clock in
/// each poll().
void io_loop::set_timer() noexcept {
  const time_point first = timers_.next();
  if (first >= timer_set_) return;
  timer_set_ = first;
  const std::chrono::nanoseconds since = first.time_since_epoch();
  backend_->set_timer(static_cast<std::uint64_t>(since.count()));
}

bool io_loop::timer_is_due() noexcept { return !timers_.empty() && timers_.next() <= now(); }

/// Requires: the caller holds the lock. Releases it while timers fire.
void io_loop::fire_timers() noexcept {
  if (timers_.empty()) return;
  const time_point time = now();
  if (timer_set_ <= time) timer_set_ = time_point::max();
  for (timer_batch due; due.take(timers_, time);) {
    mutex_.unlock();
    due.fire();
    mutex_.lock();
  }
  if (sleeping_ != 0) set_timer();
}

/// Requires: the caller holds the lock.
void io_loop::keep_or_share(running& here) noexcept {
  if (polled_by_ && polled_by_ != &here) {
    if (polled_by_->its_thread == here.its_thread) {
      finished_.append(polled_by_->polled);  // of a run() around this one
      std::exchange(polled_by_, nullptr)->keeps = false;
    } else {
      has_changed_.store(true, memory_order_relaxed); /*C1*/
    }
  }
  here.keeps = here.may_keep && !several_run() && sleeping_ == 0 && (!polled_by_ || polled_by_ == &here);
  if (here.keeps) {
    polled_by_ = &here;
  } else {
    finished_.append(here.polled);
    if (polled_by_ == &here) polled_by_ = nullptr;
  }
}
/// Requires: the caller holds the lock, and polled_by_ is `here`, which delivers nothing more.
void io_loop::share(running& here) noexcept {
  polled_by_ = nullptr;
  finished_.append(here.polled);
  wake_sleeper_if_needed();
}

std::uint64_t io_loop::run(run_mode how) {
  running here{*this, how.only_one};
  std::uint64_t count = 0;
  while (const ready item = next(here, how.wait)) {
    ++count;
    deliver(item);
    if (how.only_one) break;
  }
  return count;
}

void io_loop::run(io_run& caller) noexcept {
  running here{*this};
  while (const ready item = next(here, true, &caller)) deliver(item);
}
void io_loop::end(io_run& caller) noexcept {
  const small_mutex_lock lock{mutex_};
  caller.over = true;
  if (caller.asleep) ++runs_over_;
  changed();
}

void io_loop::deliver(ready item) {
  if (item.scheduled) return run_turn(*item.scheduled);
  io_event& event = *item.event;
  if (io_event::stopped* const is_over = event.to_call()) [[unlikely]]
    is_over(event);
  if (event.home == &service_) {
    run_turn(event);
  } else {
    event.wake();
  }
}

io_loop::ready io_loop::next(running& here, bool wait, io_run* caller) noexcept {
  const ready found = next_of_its_own(here);
  return found ? found : next_of_all(here, wait, caller);
}

io_loop::ready io_loop::next_of_all(running& here, bool wait, io_run* caller) noexcept {
  const small_mutex_lock lock{mutex_};
  here.enter();
  keep_or_share(here);
  ready found;
  for (bool polled = false; !(caller ? caller->over : stopped_); polled = true) {
    if (polled || !poll_is_due(here)) found = take(here);
    if (found || (polled && !wait)) break;
    poll(here, wait, caller);
    here.turn_began = polled_at_;
    here.interval = interval_;
    here.has_sent = false;
    here.next_poll = polled_at_ + interval_of_events;
  }
  if (here.keeps) has_changed_.store(has_ready(), memory_order_relaxed); /*C3*/
  favour(here);
  wake_sleeper_if_needed();
  return found;
}

/// Lets a thread that runs the loop alone do without the locks of the backend. Requires: the caller holds the
/// lock.
void io_loop::favour(running& here) noexcept {
  lock_bias* const its = backend_->bias();
  if (!its) return;
  if (here.keeps) {
    its->claim();
  } else if (several_run()) {
    its->share();
  }
}

/// Takes an event that this thread has polled, unless the lock is needed to decide what comes next.
io_loop::ready io_loop::next_of_its_own(running& here) noexcept {
  if (here.polled.empty() || has_changed_.load(memory_order_relaxed) /*C2*/ ||
      system_.ticks() >= here.next_poll)
    return {};
  return take_event(here.polled);
}

/// Returns true if the loop must poll although events may be ready. Reads the clock only if the system may
/// have something to report.
bool io_loop::poll_is_due(const running& here) noexcept {
  const bool is_watching = !timers_.empty() || watched_.load(memory_order_relaxed) != 0; /*D2*/
  if (!is_watching) return false;
  std::uint64_t interval = interval_;
  if (!here.polled.empty() || !finished_.empty()) interval = longest_interval;
  if (scheduled_.empty()) interval = interval_of_events;
  return system_.ticks() >= polled_at_ + interval;
}

io_loop::ready io_loop::take_event(intrusive_list<io_event>& from) noexcept {
  io_event& event = from.pop();
  event.listed = io_event::list::none;
  // The kernel's work between two polls leaves no frame in a cache: the next one is fetched while this one
  // runs.
  if (!from.empty()) __builtin_prefetch(std::coroutine_handle<>(from.front()->handle).address());
  return {&event, nullptr};
}
io_loop::ready io_loop::take(running& here) noexcept {
  ready found;
  intrusive_list<io_event>& events = here.polled.empty() ? finished_ : here.polled;
  if (!events.empty() && (scheduled_.empty() || !scheduled_next_)) {
    found = take_event(events);
    scheduled_next_ = true;
  } else if (!scheduled_.empty()) {
    found.scheduled = &scheduled_.pop();
    // A long queue, as of timers that were due together, is in no cache: the next entry is fetched while
    // this one runs. Null is harmless.
    __builtin_prefetch(scheduled_.front());
    scheduled_next_ = false;
  }
  return found;
}

/// Requires: the caller holds the lock. Releases it during the poll.
void io_loop::poll(running& here, bool wait, io_run* caller) noexcept {
  wake_sleeper_if_needed();
  const bool is_idle = here.polled.empty() && !has_ready();
  const bool sleep = wait && is_idle && !sleeper_must_leave() && !timer_is_due();
  if (sleep) sleep_begins(caller);
  flushes_ = false;
  mutex_.unlock();
  const io_backend::signals seen = backend_->poll(sleep, here.polled);
  mutex_.lock();
  polled_at_ = system_.ticks();
  interval_ =
      here.polled.empty() ? std::min<std::uint64_t>(2 * interval_, longest_interval) : shortest_interval;
  if (sleep) sleep_ends(caller);
  keep_or_share(here);
  if (seen.woken) waking_ = false;
  if (seen.timer) timer_set_ = time_point::max();
  fire_timers();
}

void io_loop::sleep_begins(io_run* caller) noexcept {
  ++sleeping_;
  set_timer();
  if (!caller) return;
  ++runs_sleeping_;
  caller->asleep = true;
}
void io_loop::sleep_ends(io_run* caller) noexcept {
  --sleeping_;
  if (!caller) return;
  --runs_sleeping_;
  caller->asleep = false;
  if (caller->over) --runs_over_;
}

void io_loop::stop() noexcept {
  const small_mutex_lock lock{mutex_};
  stopped_ = true;
  changed();
}
void io_loop::reset() noexcept {
  const small_mutex_lock lock{mutex_};
  stopped_ = false;
}
bool io_loop::stopped() noexcept {
  const small_mutex_lock lock{mutex_};
  return stopped_;
}
void io_loop::work_started() noexcept {
  const small_mutex_lock lock{mutex_};
  ++work_;
}
void io_loop::work_finished() noexcept {
  const small_mutex_lock lock{mutex_};
  CORACLE_REQUIRE(work_ != 0, "notify_work_finished() of an io_service without a notify_work_started()");
  if (--work_ != 0) return;
  stopped_ = true;
  changed();
}

std::size_t io_loop::count_ready() const noexcept {
  std::size_t count = 0;
  const resumption* const lists[] = {finished_.front(), scheduled_.front()};
  for (const resumption* each : lists) {
    for (std::size_t counted = 0; each && counted != most_counted; ++counted, each = each->next) ++count;
  }
  return count;
}

void io_loop::metrics::add_to(runtime_metrics& to) {
  io_service_metrics its;
  its.number = number();
  its.address = &loop_.service_;
  its.engine = loop_.backend_->engine().name;
  its.descriptors = loop_.backend_->attached();
  loop_.backend_->add_pending(its);
  its.timers = metrics_of(loop_.timers_, loop_.mutex_, loop_.now());
  its.threads.reserve(most_threads);
  {
    const small_mutex_lock lock{loop_.mutex_};
    its.sleeping = loop_.sleeping_;
    its.ready = loop_.count_ready();
    const running* each = loop_.first_running_;
    for (; each && its.threads.size() != most_threads; each = each->next())
      its.threads.push_back(detail::metrics_of(each->thread()));
  }
  to.io_services.push_back(std::move(its));
}
}  // namespace coracle::detail
