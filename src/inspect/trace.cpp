// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <coracle/base/check.hpp>
#include <coracle/inspect/trace.hpp>
#include <cstdio>
#include <cstring>
#include <map>
#include <system_error>
#include <utility>

#include "own_symbols.hpp"
#include "trace_analysis.hpp"

namespace coracle {
namespace detail {
namespace {
using doing = trace_analysis::doing;

/// As `1 turn`, `2 turns`.
std::string text_of_count(std::size_t count, const char* of) {
  return std::to_string(count) + ' ' + of + (count == 1 ? "" : "s");
}

/// As `3.20 s`, `12.3 ms`, `41 us`.
std::string text_of_time(std::int64_t nanoseconds) {
  char text[32];
  const auto value = static_cast<double>(nanoseconds);
  if (nanoseconds >= 1'000'000'000) {
    std::snprintf(text, sizeof text, "%.2f s", value / 1e9);
  } else if (nanoseconds >= 1'000'000) {
    std::snprintf(text, sizeof text, "%.1f ms", value / 1e6);
  } else {
    std::snprintf(text, sizeof text, "%.0f us", value / 1e3);
  }
  return text;
}

/// The tasks of one function.
struct total {
  std::size_t count = 0;
  std::int64_t runs = 0, queued = 0, waits = 0;
  std::map<std::string, std::int64_t> by_reason;

  void add(const trace_analysis::task& each) {
    ++count;
    for (const trace_analysis::span& span : each.spans) {
      const std::int64_t lasted = span.end - span.begin;
      if (span.what == doing::runs) runs += lasted;
      if (span.what == doing::queued) queued += lasted;
      if (span.what != doing::waits) continue;
      waits += lasted;
      by_reason[span.why.empty() ? "waits for something else" : span.why] += lasted;
    }
  }
  [[nodiscard]] std::int64_t all() const noexcept { return runs + queued + waits; }
  /// The reasons that take the most time.
  [[nodiscard]] std::string reasons() const {
    std::vector<std::pair<std::int64_t, std::string>> sorted;
    for (const auto& [why, lasted] : by_reason) sorted.emplace_back(lasted, why);
    std::sort(sorted.rbegin(), sorted.rend());
    constexpr std::size_t most = 3;
    std::string text;
    for (std::size_t i = 0; i != std::min(most, sorted.size()); ++i)
      text += (i == 0 ? "" : ", ") + sorted[i].second + ' ' + text_of_time(sorted[i].first);
    return text;
  }
};

void append_row(std::string& to, const std::string& name, const std::string& count, const std::string& all,
                const std::string& runs, const std::string& queued, const std::string& waits,
                const std::string& reasons) {
  char row[160];
  std::snprintf(row, sizeof row, "%-24s %7s %10s %10s %10s %10s", name.substr(0, 40).c_str(), count.c_str(),
                all.c_str(), runs.c_str(), queued.c_str(), waits.c_str());
  to += row;
  to += (reasons.empty() ? "" : "  ") + reasons + '\n';
}

/// Appends the events of a trace to one text: "Trace Event Format", as Chrome defines it.
class event_writer {
 public:
  explicit event_writer(std::int64_t begin) noexcept : begin_(begin) {}

  void name_process(int process, const char* name) {
    open("process_name", "M", process, 0);
    text_ += ",\"args\":{\"name\":\"";
    text_ += name;
    text_ += "\"}}";
  }
  void name_track(int process, std::size_t track, std::string_view name) {
    open("thread_name", "M", process, track);
    text_ += ",\"args\":{\"name\":";
    add_string(name);
    text_ += "}}";
  }
  /// Follow it by add() and close().
  void open_slice(std::string_view name, int process, std::size_t track, std::int64_t begin,
                  std::int64_t end) {
    open(name, "X", process, track);
    text_ +=
        ",\"ts\":" + microseconds(begin - begin_) + ",\"dur\":" + microseconds(end - begin) + ",\"args\":{";
    is_first_ = true;
  }
  void add(const char* key, std::string_view value) {
    add_key(key);
    add_string(value);
  }
  void add_microseconds(const char* key, std::int64_t nanoseconds) {
    add_key(key);
    text_ += microseconds(nanoseconds);
  }
  void close() { text_ += "}}"; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void open(std::string_view name, const char* phase, int process, std::size_t track) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += "{\"name\":";
    add_string(name);
    text_ += ",\"ph\":\"" + std::string(phase) + "\",\"pid\":" + std::to_string(process) +
             ",\"tid\":" + std::to_string(track);
  }
  void add_key(const char* key) {
    text_ += is_first_ ? "\"" : ",\"";
    text_ += key;
    text_ += "\":";
    is_first_ = false;
  }
  void add_string(std::string_view value) {
    text_ += '"';
    for (const char each : value) {
      if (each == '"' || each == '\\') text_ += '\\';
      text_ += each >= ' ' && each <= '~' ? each : '?';
    }
    text_ += '"';
  }
  static std::string microseconds(std::int64_t nanoseconds) {
    char text[40];
    const auto count = static_cast<long long>(nanoseconds < 0 ? -nanoseconds : nanoseconds);
    std::snprintf(text, sizeof text, "%s%lld.%03lld", nanoseconds < 0 ? "-" : "", count / 1000, count % 1000);
    return text;
  }

  std::string text_;
  const std::int64_t begin_;
  bool is_first_ = true;
};

constexpr int threads_process = 1, tasks_process = 2;

void add_turns(event_writer& to, const trace_data& data, const trace_analysis& in) {
  to.name_process(threads_process, "threads");
  for (const thread_events& each : data.threads)
    to.name_track(threads_process, static_cast<std::size_t>(each.thread),
                  std::string(each.name) + ' ' + std::to_string(each.thread));
  for (const trace_analysis::turn& each : in.turns()) {
    const auto thread = static_cast<std::size_t>(data.threads[each.thread].thread);
    to.open_slice(in.name_of(each.function), threads_process, thread, each.begin, each.end);
    to.add("frame", fixed_text<32>().add_address(each.frame).c_str());
    if (each.task != trace_analysis::none) to.add("task", in.name_of(in.tasks()[each.task].function));
    if (!each.waited.empty()) to.add("before", each.waited);
    if (each.queued >= 0) to.add_microseconds("queued_us", each.queued);
    to.close();
  }
}
/// Tasks of one function that do not overlap share a track.
void add_tasks(event_writer& to, const trace_analysis& in) {
  to.name_process(tasks_process, "tasks");
  struct track {
    std::size_t number;
    std::int64_t free_from;
  };
  std::map<std::string, std::vector<track>> tracks;
  std::size_t count = 0;
  std::vector<const trace_analysis::task*> sorted;
  for (const trace_analysis::task& each : in.tasks()) {
    if (!each.spans.empty()) sorted.push_back(&each);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->spans.front().begin < b->spans.front().begin; });
  for (const trace_analysis::task* each : sorted) {
    const std::string name = in.name_of(each->function);
    std::vector<track>& all = tracks[name];
    auto place = std::find_if(all.begin(), all.end(), [&](const track& which) {
      return which.free_from <= each->spans.front().begin;
    });
    if (place == all.end()) {
      place = all.insert(all.end(), {++count, 0});
      to.name_track(tasks_process, place->number, name);
    }
    place->free_from = each->spans.back().end;
    for (const trace_analysis::span& span : each->spans) {
      const std::string what = span.what == doing::runs     ? name
                               : span.what == doing::queued ? "queued"
                               : span.why.empty()           ? "waits"
                                                            : span.why;
      to.open_slice(what, tasks_process, place->number, span.begin, span.end);
      to.add("task", name);
      to.add("frame", fixed_text<32>().add_address(each->frame).c_str());
      to.close();
    }
  }
}

/// Calls `use(const trace_analysis&)`.
template <class Use>
auto analysed(const trace_data& data, Use use) {
  return own_symbols::with([&](symbols& names) { return use(trace_analysis(data, names)); });
}
std::uint64_t lost_of(const trace_data& data) noexcept {
  std::uint64_t lost = 0;
  for (const thread_events& each : data.threads) lost += each.lost;
  return lost;
}
}  // namespace
}  // namespace detail

bool start_trace(std::size_t events_per_thread) noexcept {
  return detail::turn_recorder::start_trace(events_per_thread);
}
recorded_trace stop_trace() { return recorded_trace(detail::turn_recorder::stop_trace()); }

recorded_trace::recorded_trace() noexcept = default;
recorded_trace::recorded_trace(std::unique_ptr<detail::trace_data> recorded) noexcept
    : data_(std::move(recorded)) {}
recorded_trace::recorded_trace(recorded_trace&& other) noexcept = default;
recorded_trace& recorded_trace::operator=(recorded_trace&& other) noexcept = default;
recorded_trace::~recorded_trace() = default;

std::size_t recorded_trace::turns() const noexcept {
  std::size_t count = 0;
  if (!data_) return count;
  for (const detail::thread_events& each : data_->threads) {
    count += static_cast<std::size_t>(std::count_if(
        each.events.begin(), each.events.end(),
        [](const detail::turn_event& event) { return event.what == detail::turn_event::kind::end; }));
  }
  return count;
}
std::uint64_t recorded_trace::lost() const noexcept { return data_ ? detail::lost_of(*data_) : 0; }

std::string recorded_trace::to_text() const {
  if (!data_) return "no trace was recorded\n";
  return detail::analysed(*data_, [&](const detail::trace_analysis& found) {
    std::string text = "trace of " + detail::text_of_time(data_->ended - data_->began) + ": " +
                       detail::text_of_count(data_->threads.size(), "thread") + ", " +
                       detail::text_of_count(found.turns().size(), "turn") + "\n";
    if (const std::uint64_t lost = detail::lost_of(*data_); lost != 0)
      text += std::to_string(lost) + " events were lost: the first " +
              detail::text_of_time(found.begin() - data_->began) + " are missing\n";
    std::map<std::string, detail::total> totals;
    for (const detail::trace_analysis::task& each : found.tasks()) {
      if (!each.spans.empty()) totals[found.name_of(each.function)].add(each);
    }
    std::vector<std::pair<const std::string, detail::total>*> sorted;
    for (auto& each : totals) sorted.push_back(&each);
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
      return std::pair(-a->second.all(), a->first) < std::pair(-b->second.all(), b->first);
    });
    detail::append_row(text, "task", "count", "total", "running", "queued", "waiting", "");
    for (const auto* each : sorted) {
      const detail::total& sum = each->second;
      detail::append_row(text, each->first, std::to_string(sum.count), detail::text_of_time(sum.all()),
                         detail::text_of_time(sum.runs), detail::text_of_time(sum.queued),
                         detail::text_of_time(sum.waits), sum.reasons());
    }
    return text;
  });
}

std::string recorded_trace::to_json() const {
  if (!data_) return "{\"traceEvents\":[]}\n";
  return detail::analysed(*data_, [&](const detail::trace_analysis& found) {
    detail::event_writer to(data_->began);
    detail::add_turns(to, *data_, found);
    detail::add_tasks(to, found);
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"lost\":" + std::to_string(detail::lost_of(*data_)) +
           "},\"traceEvents\":[" + to.take() + "\n]}\n";
  });
}

void recorded_trace::write(const std::string& path) const {
  const std::string text = to_json();
  std::FILE* const file = std::fopen(path.c_str(), "we");
  bool is_written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int error = errno;
  if (file && std::fclose(file) != 0) {
    error = is_written ? errno : error;
    is_written = false;
  }
  if (!is_written)
    CORACLE_THROW(std::system_error(error, std::generic_category(), "coracle: cannot write a trace"),
                  "a trace cannot be written to that file");
}
}  // namespace coracle
