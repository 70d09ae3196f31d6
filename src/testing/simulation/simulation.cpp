// SPDX-License-Identifier: MIT
#include <coracle/inspect/live_coroutines.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <cstdio>

#include "simulated_calls.hpp"

namespace coracle::testing {
namespace {
/// The maximum number of steps for a run() to end after a stop request.
constexpr std::uint64_t steps_to_unwind = 100'000;
/// One in how many steps a coroutine gets a smaller budget of ready awaits; and, with stalls, the clock
/// advances.
constexpr std::uint64_t short_turn_one_in = 4, stall_one_in = 8;
/// So that a program which is busy meets its time limits of seconds, and not those of hours.
constexpr std::chrono::seconds longest_stall{1};
/// A seed chooses from these: one in n posts is held back.
constexpr std::uint64_t late_one_in[] = {0, 2, 8, 32};

std::uint64_t stream(std::uint64_t seed, std::uint64_t number) noexcept {
  return random_source::mix(random_source::mix(seed) + number);
}
}  // namespace

simulation::simulation(std::uint64_t seed, const simulation_options& options, const simulation_faults& faults)
    : seed_(seed),
      options_(options),
      faults_(faults),
      order_(stream(seed, 1)),
      random_(stream(seed, 2)),
      late_one_in_(late_one_in[order_.below(std::size(late_one_in))]),
      blocking_calls_(std::make_unique<detail::simulated_calls>(*this)),
      trace_(options.trace_lines) {
  ready_.reserve(64);
  late_.reserve(64);
}

simulation::~simulation() {
  for (call& each : calls_) clock_.remove(each);
  CORACLE_REQUIRE(
      ready_.empty() && late_.empty() && clock_.empty(),
      "a simulation was destroyed with coroutines in its queue or timers armed: join its coroutines first");
}

void simulation::post(resumption& item) noexcept {
  check_thread();
  const bool is_late = late_one_in_ != 0 && order_.one_in(late_one_in_);
  (is_late ? late_ : ready_).push_back({&item, step_});
}

void simulation::withdraw(const resumption& item) noexcept {
  for (auto* const each : {&ready_, &late_}) {
    std::erase_if(*each, [&](const ready& one) { return one.item == &item; });
  }
}

void simulation::call::run(detail::timer& due) noexcept {
  auto& self = static_cast<call&>(due);
  std::list<call> taken;
  taken.splice(taken.end(), self.owner.calls_, self.place);
  const allocations_aside of_what_is_outside;
  std::string why = "an exception left a function given to at()";
  try {
    return self.what();
  } catch (const std::exception& error) {
    why += std::string(": ") + error.what();
  } catch (...) {
  }
  self.owner.note(why);
  if (self.owner.unmet_.empty()) self.owner.unmet_ = std::move(why);
}

void simulation::at(time_point when, std::function<void()> what) {
  calls_.emplace_back(*this, std::move(what));
  call& added = calls_.back();
  added.place = std::prev(calls_.end());
  clock_.add(added, when);
}

blocking_service* simulation::blocking_calls() noexcept { return blocking_calls_.get(); }

bool simulation::fails(std::string_view what) noexcept {
  const bool failing = ++operations_ == faults_.operation;
  if (failing) {
    note("a fault is injected here:");
    note(what);
  }
  return failing;
}

void simulation::expect(bool condition, std::string_view what, std::source_location where) {
  if (condition) return;
  note("expectation failed:");
  note(what);
  if (!unmet_.empty()) return;
  unmet_ = "expectation failed: " + std::string(what) + " (" + where.file_name() + ":" +
           std::to_string(where.line()) + ")";
}

const environment& simulation::begin_run() {
  check_thread();
  if (stop_.stop_requested()) stop_ = stop_source{};
  environment_.stop = stop_.get_token();
  first_step_ = step_;
  detail::this_thread().budget = {};
  return environment_;
}

simulation::ready simulation::take_ready() noexcept {
  if (ready_.empty()) ready_.swap(late_);
  const std::size_t chosen = order_.below(ready_.size());
  const ready taken = ready_[chosen];
  ready_[chosen] = ready_.back();
  ready_.pop_back();
  return taken;
}

bool simulation::resume_one() {
  if (ready_.empty() && late_.empty()) return false;
  const ready next = take_ready();
  ++step_;
  trace_.add(simulation_trace::event::resumed, now(), next.cause);
  // The remaining budget depends on what ran before on the same thread, so it may be any number.
  detail::this_thread().budget.set_left(order_.one_in(short_turn_one_in)
                                            ? 1 + static_cast<unsigned>(order_.below(4))
                                            : detail::ready_budget::most_awaits);
  const detail::executor_scope here{this};
  resume(next.item->handle);
  return true;
}

bool simulation::fire_one() noexcept {
  ++step_;
  const bool fired = clock_.fire_due();
  if (fired) {
    trace_.add(simulation_trace::event::timer, now(), step_);
  } else {
    --step_;
  }
  return fired;
}

/// Lets time pass as on a machine that is busy with something else.
void simulation::stall() noexcept {
  const auto latest = now() + longest_stall;
  if (!clock_.jump(latest) && !clock_.empty()) clock_.advance_to(latest);
}

/// Returns false if nothing is runnable and no timer is armed.
bool simulation::step() {
  if (step_ + 1 == faults_.cancel) {
    faults_.cancel = 0;
    note("a stop is requested here");
    stop_.request_stop();
  }
  const bool can_run = !ready_.empty() || !late_.empty();
  if (can_run && options_.stalls && order_.one_in(stall_one_in)) stall();
  // A due timer competes with the runnable coroutines on equal terms.
  const bool timer_first = !can_run || order_.one_in(ready_.size() + 1);
  if (timer_first && fire_one()) return true;
  if (resume_one()) return true;
  if (!clock_.jump()) return false;
  trace_.add(simulation_trace::event::jump, now(), 0);
  return true;
}

void simulation::run_until(const end_of_run& end) {
  while (!end.reached) {
    if (!step()) return unwind(end, "deadlock: nothing is runnable and no timer is armed", live_coroutines());
    if (step_ - first_step_ > options_.most_steps)
      return unwind(end, "livelock: run() has not ended after most_steps steps");
  }
  while (resume_one()) {
    if (step_ - first_step_ > options_.most_steps)
      throw simulation_failure(
          report("livelock: work that run() left behind has not ended after most_steps steps"));
  }
}

/// Requests a stop, so that what is awaited can be destroyed, and throws.
void simulation::unwind(const end_of_run& end, const char* why, const std::string& details) {
  const std::string text = report(why) + details;
  stop_.request_stop();
  for (std::uint64_t steps = 0; !end.reached; ++steps) {
    if (steps == steps_to_unwind || !step())
      detail::fail((text + "(It did not end after a stop request.)").c_str());
  }
  for (std::uint64_t steps = 0; steps != steps_to_unwind && resume_one(); ++steps) {
  }
  throw simulation_failure(text);
}

std::string simulation::report(std::string_view why) const {
  std::string text = "simulation, seed " + std::to_string(seed_) + ": " + std::string(why) + ".\n";
  for (const simulated_activity* each = activities_; each; each = each->next_) {
    text += "still active: " + std::string(each->name_) + " (" + each->where_.file_name() + ":" +
            std::to_string(each->where_.line()) + ")\n";
  }
  return text + "the end of its trace:\n" + trace_.tail();
}
}  // namespace coracle::testing
