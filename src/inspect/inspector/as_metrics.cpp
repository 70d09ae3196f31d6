// SPDX-License-Identifier: MIT
#include "as_metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "lock_waits.hpp"
#include "process_state.hpp"

namespace coracle::detail {
namespace {
std::string text_of(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.15g", value);
  return digits.data();
}
double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// Appends families of samples to one text.
class metric_writer {
 public:
  using labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// The samples that follow belong to it.
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    (text_ += "# HELP ").append(name).append(" ").append(help) += '\n';
    (text_ += "# TYPE ").append(name).append(" ").append(type) += '\n';
  }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }
  void sample(labels of, double value) {
    text_ += name_;
    char before = '{';
    for (const auto& [name, its] : of) {
      (text_ += before).append(name) += "=\"";
      add_escaped(its);
      text_ += '"';
      before = ',';
    }
    if (before == ',') text_ += '}';
    (text_ += ' ').append(text_of(value)) += '\n';
  }
  void sample(labels of, std::size_t value) { sample(of, static_cast<double>(value)); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void add_escaped(std::string_view value) {
    for (const char each : value) {
      if (each == '\n') {
        text_ += "\\n";
        continue;
      }
      if (each == '"' || each == '\\') text_ += '\\';
      // Names of threads may contain any byte; the format is UTF-8.
      text_ += each >= ' ' && each <= '~' ? each : '?';
    }
  }
  std::string text_;
  std::string_view name_;
};

/// Calls `add(number, row)` with the number as the value of a label.
template <class Row, class Add>
void for_each_row(const std::vector<Row>& in, Add add) {
  for (const Row& each : in) add(std::to_string(each.number), each);
}

void add_pools(const std::vector<pool_metrics>& pools, metric_writer& to) {
  if (pools.empty()) return;
  to.gauge("coracle_pool_workers", "Threads of a static_thread_pool by what they do.");
  for_each_row(pools, [&](const std::string& number, const pool_metrics& each) {
    const std::size_t idle = std::min(each.searching + each.parked, each.workers.size());
    to.sample({{"pool", number}, {"state", "running"}}, each.workers.size() - idle);
    to.sample({{"pool", number}, {"state", "searching"}}, each.searching);
    to.sample({{"pool", number}, {"state", "parked"}}, each.parked);
  });
  to.gauge("coracle_pool_posted", "Coroutines posted to a pool from outside that no worker has taken.");
  for_each_row(pools, [&](const std::string& number, const pool_metrics& each) {
    to.sample({{"pool", number}, {"priority", "high"}}, each.high);
    to.sample({{"pool", number}, {"priority", "normal"}}, each.normal);
    to.sample({{"pool", number}, {"priority", "low"}}, each.low);
  });
  to.gauge("coracle_pool_worker_entries", "Coroutines in the queues of a worker.");
  for_each_row(pools, [&](const std::string& number, const pool_metrics& each) {
    for (std::size_t i = 0; i != each.workers.size(); ++i) {
      const std::string worker = std::to_string(i);
      to.sample({{"pool", number}, {"worker", worker}, {"queue", "forked"}}, each.workers[i].forked);
      to.sample({{"pool", number}, {"worker", worker}, {"queue", "queued"}}, each.workers[i].queued);
    }
  });
}

void add_pending(const io_service_metrics& of, const std::string& number, metric_writer& to) {
  std::map<std::string_view, std::size_t> counts;
  for (const pending_operation& each : of.pending) ++counts[each.operation];
  for (const auto& [operation, count] : counts)
    to.sample({{"io_service", number}, {"operation", operation}}, count);
}
void add_io_services(const std::vector<io_service_metrics>& services, metric_writer& to) {
  if (services.empty()) return;
  const auto add = [&](std::string_view name, std::string_view help, auto value) {
    to.gauge(name, help);
    for_each_row(services, [&](const std::string& number, const io_service_metrics& each) {
      to.sample({{"io_service", number}}, value(each));
    });
  };
  to.gauge("coracle_io_service_info", "The engine of an io_service.");
  for_each_row(services, [&](const std::string& number, const io_service_metrics& each) {
    to.sample({{"io_service", number}, {"engine", each.engine}}, std::size_t{1});
  });
  to.gauge("coracle_io_service_threads", "Threads that process the events of an io_service.");
  for_each_row(services, [&](const std::string& number, const io_service_metrics& each) {
    const std::size_t sleeping = std::min(each.sleeping, each.threads.size());
    to.sample({{"io_service", number}, {"state", "running"}}, each.threads.size() - sleeping);
    to.sample({{"io_service", number}, {"state", "sleeping"}}, sleeping);
  });
  add("coracle_io_service_ready", "Coroutines to be resumed and events to be delivered.",
      [](const io_service_metrics& each) { return each.ready; });
  add("coracle_io_service_descriptors", "Open files and sockets of an io_service.",
      [](const io_service_metrics& each) { return each.descriptors; });
  add("coracle_io_service_file_operations", "Operations on files that have not completed.",
      [](const io_service_metrics& each) { return each.file_operations; });
  to.gauge("coracle_io_service_pending_operations", "Operations that wait for a descriptor.");
  for_each_row(services, [&](const std::string& number, const io_service_metrics& each) {
    add_pending(each, number, to);
  });
}

/// Those of each io_service, and with an empty label those of the timer thread.
void add_timers(const runtime_metrics& of, metric_writer& to) {
  to.gauge("coracle_timers", "Timers that have not expired.");
  to.sample({{"io_service", ""}}, of.timers.waiting);
  for_each_row(of.io_services, [&](const std::string& number, const io_service_metrics& each) {
    to.sample({{"io_service", number}}, each.timers.waiting);
  });
  to.gauge("coracle_timer_next_seconds", "Time until the first timer is due, or less.");
  const auto add = [&](const std::string& number, const timer_metrics& each) {
    if (each.waiting != 0) to.sample({{"io_service", number}}, seconds_of(each.next));
  };
  add("", of.timers);
  for_each_row(of.io_services,
               [&](const std::string& number, const io_service_metrics& each) { add(number, each.timers); });
}

void add_threads(const runtime_metrics& of, metric_writer& to) {
  std::map<int, std::string> scheduler_of;
  for_each_row(of.pools, [&](const std::string& number, const pool_metrics& each) {
    for (const pool_metrics::worker& its : each.workers) scheduler_of[its.thread.id] = "pool " + number;
  });
  for_each_row(of.io_services, [&](const std::string& number, const io_service_metrics& each) {
    for (const thread_metrics& its : each.threads) scheduler_of[its.id] = "io_service " + number;
  });
  to.family("coracle_thread_cpu_seconds_total", "counter", "Processor time of each thread of the process.");
  for (const process_thread& each : list_threads())
    to.sample(
        {{"thread", std::to_string(each.id)}, {"name", each.name}, {"scheduler", scheduler_of[each.id]}},
        seconds_of(each.processor_time));
}

void add_descriptors(metric_writer& to) {
  std::map<std::string, std::size_t> counts;
  for (const auto& [number, target] : list_descriptors()) ++counts[kind_of_descriptor(target)];
  to.gauge("coracle_open_descriptors", "Open descriptors of the process.");
  for (const auto& [kind, count] : counts) to.sample({{"kind", kind}}, count);
}
void add_free_frames(const free_frame_counts& of, metric_writer& to) {
  const auto add = [&](std::string_view name, std::string_view help, auto value) {
    to.gauge(name, help);
    for (const auto& [size, counts] : of.sizes) {
      to.sample({{"size", std::to_string(size)}, {"free_for", "its_thread"}}, value(size, counts.in_threads));
      to.sample({{"size", std::to_string(size)}, {"free_for", "any_thread"}}, value(size, counts.for_any));
    }
  };
  add("coracle_free_frames", "Free frames that are kept for later.",
      [](std::size_t, std::size_t count) { return count; });
  add("coracle_free_frame_bytes", "Memory of free frames that are kept for later.",
      [](std::size_t size, std::size_t count) { return size * count; });
}
void add_live_frames(const std::map<std::size_t, std::size_t>& counts, metric_writer& to) {
  to.gauge("coracle_live_frames", "Frames of coroutines that have not ended.");
  for (const auto& [size, count] : counts) to.sample({{"size", std::to_string(size)}}, count);
  to.gauge("coracle_live_frame_bytes", "Memory of frames of coroutines that have not ended.");
  for (const auto& [size, count] : counts) to.sample({{"size", std::to_string(size)}}, size * count);
}
}  // namespace

std::string metrics_text(const runtime_metrics& of, const free_frame_counts& free) {
  metric_writer to;
  add_pools(of.pools, to);
  add_io_services(of.io_services, to);
  add_timers(of, to);
  to.gauge("coracle_shared_frame_bytes", "Free frames that any thread may take.");
  to.sample({}, of.shared_frame_bytes);
  add_free_frames(free, to);
  add_threads(of, to);
  add_descriptors(to);
  return to.take();
}

std::string metrics_text(const coroutine_search& found, std::chrono::nanoseconds processor_time) {
  metric_writer to;
  struct total {
    std::size_t count = 0, bytes = 0;
  };
  std::map<std::string, total> functions;
  for (const live_coroutine& each : found.all()) {
    total& its = functions[found.name_of(each)];
    ++its.count;
    its.bytes += found.bytes_of(each);
  }
  to.gauge("coracle_coroutines", "Coroutines that have not ended.");
  for (const auto& [name, its] : functions) to.sample({{"function", name}}, its.count);
  to.gauge("coracle_coroutine_frame_bytes", "Memory of their frames.");
  for (const auto& [name, its] : functions) to.sample({{"function", name}}, its.bytes);
  add_live_frames(found.counts_by_size(), to);
  to.gauge("coracle_coroutine_search_seconds", "Processor time of the search for them.");
  to.sample({}, seconds_of(processor_time));
  if (!found.is_linked()) return to.take();
  std::map<std::string, std::size_t> waits;
  for (const live_coroutine& each : found.all()) {
    if (each.waits) ++waits[text_of_operation(each.waits->operation)];
  }
  to.gauge("coracle_coroutines_waiting", "Coroutines by what they wait for.");
  for (const auto& [kind, count] : waits) to.sample({{"wait", kind}}, count);
  const endless_lock_waits endless = find_endless_lock_waits(found);
  to.gauge("coracle_deadlocks", "Circles of coroutines that wait for each other's locks.");
  to.sample({}, endless.deadlocks.size());
  to.gauge("coracle_coroutines_stuck", "Coroutines in deadlocks, or behind one.");
  to.sample({}, endless.stuck.size());
  return to.take();
}
}  // namespace coracle::detail
