// SPDX-License-Identifier: MIT
#include "trace_analysis.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "coroutine_search.hpp"
#include "symbol_names.hpp"

namespace coracle::detail {
trace_analysis::trace_analysis(const trace_data& of, symbols& names)
    : names_(names), begin_(of.began), end_(of.ended), under_way_(of.threads.size()) {
  std::vector<located> all;
  for (std::size_t i = 0; i != of.threads.size(); ++i) {
    const thread_events& thread = of.threads[i];
    if (thread.lost != 0 && !thread.events.empty()) begin_ = std::max(begin_, thread.events.front().time);
    for (const turn_event& each : thread.events) all.push_back({&each, i});
  }
  std::sort(all.begin(), all.end(), [](const located& a, const located& b) {
    return std::tuple(a.event->time, a.thread, a.event) < std::tuple(b.event->time, b.thread, b.event);
  });
  for (const located& each : all) {
    if (each.event->time >= begin_) read(each);
  }
  // What is still under way, at the end of the trace.
  for (std::size_t i = 0; i != under_way_.size(); ++i) {
    turn_event end;
    end.what = turn_event::kind::end;
    end.time = end_;
    while (!under_way_[i].empty()) end_turn(end, i);
  }
  for (task& each : tasks_) {
    if (each.has_ended || each.last >= end_) continue;
    const auto queued = posts_.find(each.frame);
    add(each, queued == posts_.end() ? doing::waits : doing::queued, end_,
        each.awaits_children ? "waits for its children" : std::string());
  }
}

void trace_analysis::read(const located& each) {
  switch (each.event->what) {
    case turn_event::kind::begin:
      return begin_turn(*each.event, each.thread);
    case turn_event::kind::end:
      return end_turn(*each.event, each.thread);
    case turn_event::kind::post:
      // What an io_service posts elsewhere was queued when the operation completed.
      posts_.try_emplace(each.event->frame, post{each.event->time, each.event->by_io});
  }
}

void trace_analysis::begin_turn(const turn_event& event, std::size_t thread) {
  turn now;
  now.thread = thread;
  now.function = event.function;
  now.frame = event.frame;
  now.begin = event.time;
  const auto posted = posts_.find(event.frame);
  now.waited = wait_before(event);
  if (now.waited.empty() && posted != posts_.end() && posted->second.by_io) now.waited = "waits for I/O";
  if (posted != posts_.end()) now.queued = event.time - posted->second.time;
  // The turn around it goes on afterwards.
  if (!under_way_[thread].empty()) {
    turn& around = turns_[under_way_[thread].back()];
    if (around.task != none) add(tasks_[around.task], doing::runs, event.time);
  }
  if (event.task != 0) {
    now.task = task_at(event.task, event.task_function, event.time);
    if (event.awaiting != 0 && is_awaited(event.through)) {
      const std::size_t above = task_at(event.awaiting, event.awaiting_function, event.time);
      task& parent = tasks_[above];
      task& child = tasks_[now.task];
      parent.awaits_children = true;
      child.awaited_by = above;
      // A child is started within the last turn of its parent.
      if (child.spans.empty() && child.last == event.time && parent.suspended_at != 0)
        child.last = parent.suspended_at;
    }
    task& its = tasks_[now.task];
    if (now.waited.empty() && its.awaits_children) now.waited = "waits for its children";
    std::int64_t queued_at = posted == posts_.end() ? event.time : posted->second.time;
    if (its.spans.empty() && its.last == event.time) its.last = queued_at;  // it is new
    queued_at = std::max(queued_at, its.last);
    if (its.last < queued_at) add(its, doing::waits, queued_at, now.waited);
    if (its.last < event.time) add(its, doing::queued, event.time);
    its.awaits_children = false;
  }
  if (posted != posts_.end()) posts_.erase(posted);
  under_way_[thread].push_back(turns_.size());
  turns_.push_back(std::move(now));
}

void trace_analysis::end_turn(const turn_event& event, std::size_t thread) {
  if (under_way_[thread].empty()) return;  // it had begun before the trace
  turn& ended = turns_[under_way_[thread].back()];
  under_way_[thread].pop_back();
  ended.end = event.time;
  if (ended.task != none) {
    task& its = tasks_[ended.task];
    add(its, doing::runs, event.time);
    its.suspended_at = event.time;
    if (event.has_ended) {
      its.has_ended = true;
      active_.erase(its.frame);
      // After the last child, what awaits them has gone on in the same turn, and may wait for something else.
      if (its.awaited_by != none)
        add(tasks_[its.awaited_by], doing::waits, event.time, "waits for its children");
    }
  }
  if (!under_way_[thread].empty()) {
    const turn& around = turns_[under_way_[thread].back()];
    if (around.task != none) tasks_[around.task].last = event.time;
  }
}

std::size_t trace_analysis::task_at(std::uintptr_t frame, std::uintptr_t function, std::int64_t now) {
  const auto [place, is_new] = active_.try_emplace(frame, tasks_.size());
  if (!is_new && tasks_[place->second].function == function) return place->second;
  if (!is_new) tasks_[place->second].has_ended = true;  // the frame belongs to another task by now
  place->second = tasks_.size();
  task& added = tasks_.emplace_back();
  added.function = function;
  added.frame = frame;
  added.last = now;
  return place->second;
}

void trace_analysis::add(task& to, doing what, std::int64_t end, std::string why) {
  if (end <= to.last) return;
  // A wait for several children is noted at the end of each.
  const bool goes_on = what == doing::waits && !to.spans.empty() && to.spans.back().what == what &&
                       to.spans.back().why == why && to.spans.back().end == to.last;
  if (goes_on) {
    to.spans.back().end = end;
  } else {
    to.spans.push_back({what, to.last, end, std::move(why)});
  }
  to.last = end;
}

/// Returns true if the coroutine above the combinator is suspended until its children have ended.
bool trace_analysis::is_awaited(std::uintptr_t through) const {
  const function_symbol found = names_.at(through);
  return found.name && kind_of_continuation(found.name).is_in_awaiter;
}

std::string trace_analysis::wait_before(const turn_event& event) {
  if (names_.role_at(event.wait) != role::stop) return {};
  const auto [place, is_new] = wait_texts_.try_emplace(event.wait);
  if (is_new) {
    const std::string operation = operation_of(names_.at(event.wait).name);
    if (!operation.empty()) place->second = text_of_operation(operation);
  }
  return place->second;
}

std::string trace_analysis::name_of(std::uintptr_t function) const {
  const function_symbol found = names_.at(function);
  short_name name;
  if (found.name) {
    append_short_name(found.name, name);
  } else {
    name.add_address(function);
  }
  // What is no coroutine is the library's.
  constexpr std::string_view inside = "coracle::detail::";
  const std::string_view text = name.c_str();
  return std::string(text.starts_with(inside) ? text.substr(inside.size()) : text);
}
}  // namespace coracle::detail
