// SPDX-License-Identifier: MIT
#include "as_json.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>

#include "../symbol_names.hpp"
#include "lock_waits.hpp"
#include "process_state.hpp"

namespace coracle::detail {
namespace {
constexpr int schema = 1, schema_of_memory = 1;
constexpr std::size_t most_descriptors = 1000;  // that are listed

/// Appends to one text. Commas are written before what is not the first after a bracket.
class json_writer {
 public:
  json_writer& open(char bracket) {
    separate();
    text_ += bracket;
    return *this;
  }
  json_writer& close(char bracket) {
    text_ += bracket;
    return *this;
  }
  json_writer& key(std::string_view name) {
    string(name);
    text_ += ':';
    return *this;
  }
  json_writer& string(std::string_view value) {
    separate();
    text_ += '"';
    for (const char each : value) {
      if (each == '"' || each == '\\') text_ += '\\';
      // Symbols and file names may contain any byte; JSON may not.
      text_ += each >= ' ' && each <= '~' ? each : '?';
    }
    text_ += '"';
    return *this;
  }
  json_writer& known(std::string_view value) { return value.empty() ? null() : string(value); }
  json_writer& address(std::uintptr_t value) {
    if (value == 0) return null();
    return string(fixed_text<32>().add_address(value).c_str());
  }
  template <class Integer>
  json_writer& number(Integer value) {
    return literal(std::to_string(value));
  }
  /// In nanoseconds.
  json_writer& time(std::chrono::nanoseconds value) { return number(value.count()); }
  json_writer& boolean(bool value) { return literal(value ? "true" : "false"); }
  json_writer& null() { return literal("null"); }
  json_writer& frames(const coroutine_search::coroutines& of) {
    open('[');
    for (const live_coroutine* each : of) address(each->frame);
    return close(']');
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  json_writer& literal(std::string_view value) {
    separate();
    text_ += value;
    return *this;
  }
  void separate() {
    const char last = text_.empty() ? '[' : text_.back();
    if (last != '[' && last != '{' && last != ':') text_ += ',';
  }
  std::string text_;
};

/// A scope is called as the debugger calls it.
const char* kind_of_through(const char* through) {
  return through && std::string_view(through) == "spawned into an async_scope" ? "async_scope" : through;
}

std::string text_of_awaits(const live_coroutine& each, const coroutine_search& in) {
  constexpr std::size_t most_named = 8;
  std::map<std::string, std::size_t> called;
  std::string through;
  for (const live_coroutine* child : each.children) {
    if (const char* const its = in.through(*child); its && through.empty())
      through = std::string(its) + " of ";
    if (called.size() <= most_named) ++called[in.name_of(*child)];
  }
  std::string text = "awaits " + through;
  std::size_t named = 0;
  for (const auto& [name, count] : called) {
    if (named++ == most_named) return text + ", and others";
    text += (named == 1 ? "" : ", ") + name;
    if (count != 1) text += " (" + std::to_string(count) + ")";
  }
  return text;
}
std::string text_of_state(const live_coroutine& each, const coroutine_search& in) {
  if (!each.children.empty()) return text_of_awaits(each, in);
  return each.waits ? in.text_of(*each.waits) : in.text_of_others(each);
}

void add_coroutine(const live_coroutine& each, const coroutine_search& in, suspension_lines& lines,
                   json_writer& to) {
  const suspension_lines::place place = lines.of(each, in);
  const live_coroutine* const parent = in.parent_of(each);
  const char* const through = kind_of_through(in.through(each));
  to.open('{').key("frame").address(each.frame).key("function").known(in.name_of(each));
  to.key("location").known(in.location_of(each)).key("file").known(place.file).key("line");
  place.file.empty() ? to.null() : to.number(place.line);
  to.key("does").known(text_of_state(each, in)).key("thread").null();
  to.key("awaited_by").address(parent ? parent->frame : 0).key("through").known(through ? through : "");
  to.key("spawned_at").null().key("waits_for").address(each.waits ? each.waits->object : 0);
  to.key("executor").null().close('}');
}

void add_objects(const coroutine_search& in, json_writer& to) {
  std::map<std::uintptr_t, coroutine_search::coroutines> waiters;
  for (const live_coroutine& each : in.all()) {
    if (each.waits && each.waits->object != 0) waiters[each.waits->object].push_back(&each);
  }
  for (const auto& [object, its] : waiters) {
    const coroutine_wait& wait = *its.front()->waits;
    const std::optional<channel_fill> fill = in.fill_of(wait);
    to.open('{').key("address").address(object).key("type").known(coroutine_search::type_of_object(wait));
    to.key("name").known(in.name_of_object(object)).key("elements");
    (fill ? to.number(fill->elements) : to.null()).key("capacity");
    (fill ? to.number(fill->capacity) : to.null()).key("waiters").frames(its).key("held_by").null();
    to.key("address_in").frames(in.referring(object)).key("member_in").null().close('}');
  }
}

template <class Count>
Count count_of(const std::map<std::size_t, Count>& in, std::size_t size) {
  const auto found = in.find(size);
  return found != in.end() ? found->second : Count{};
}

void add_timers(const timer_metrics& of, json_writer& to) {
  to.open('{').key("waiting").number(of.waiting).key("next");
  (of.waiting != 0 ? to.time(of.next) : to.null()).close('}');
}
void add_pool(const pool_metrics& of, json_writer& to) {
  to.open('{').key("number").number(of.number).key("searching").number(of.searching);
  to.key("parked").number(of.parked).key("high").number(of.high).key("normal").number(of.normal);
  to.key("low").number(of.low).key("workers").open('[');
  for (const pool_metrics::worker& each : of.workers) {
    to.open('{').key("thread").number(each.thread.id).key("forked").number(each.forked);
    to.key("queued").number(each.queued).close('}');
  }
  to.close(']').close('}');
}
void add_io_service(const io_service_metrics& of, json_writer& to) {
  to.open('{').key("number").number(of.number).key("engine").string(of.engine).key("threads").open('[');
  for (const thread_metrics& each : of.threads) to.number(each.id);
  to.close(']').key("sleeping").number(of.sleeping).key("ready").number(of.ready);
  to.key("descriptors").number(of.descriptors).key("file_operations").number(of.file_operations);
  to.key("timers");
  add_timers(of.timers, to);
  to.key("pending_count").number(of.pending.size()).key("pending").open('[');
  for (std::size_t i = 0; i != std::min(of.pending.size(), most_descriptors); ++i) {
    const pending_operation& each = of.pending[i];
    to.open('{').key("descriptor").number(each.descriptor).key("operation").string(each.operation);
    to.key("frame").address(reinterpret_cast<std::uintptr_t>(each.coroutine)).close('}');
  }
  to.close(']').close('}');
}

void add_memory(const frame_memory& of, json_writer& to) {
  std::set<std::size_t> sizes;
  if (of.live)
    for (const auto& [size, count] : *of.live) sizes.insert(size);
  for (const auto& [size, counts] : of.free.sizes) sizes.insert(size);
  to.open('{').key("schema").number(schema_of_memory);
  to.key("threads_not_read").number(of.free.threads_not_read);
  to.key("sizes").open('[');
  for (const std::size_t size : sizes) {
    to.open('{').key("size").number(size).key("live");
    of.live ? to.number(count_of(*of.live, size)) : to.null();
    const auto free = count_of(of.free.sizes, size);
    to.key("free_in_threads").number(free.in_threads).key("free_for_all").number(free.for_any).close('}');
  }
  to.close(']').close('}');
}

void begin(json_writer& to) {
  const char* const name = ::program_invocation_short_name;
  to.open('{').key("schema").number(schema).key("program").known(name);
  to.key("process").number(static_cast<std::size_t>(::getpid()));
}
}  // namespace

std::string json_of(const coroutine_search& found, bool is_from_copy, suspension_lines& lines) {
  json_writer to;
  begin(to);
  to.key("refused").null().key("is_consistent").boolean(is_from_copy).key("coroutines");
  if (!found.is_linked()) {
    to.null().key("counts").open('[');
    for (const auto& [name, count] : found.counts_by_function())
      to.open('{').key("function").known(name).key("count").number(count).close('}');
    to.close(']').key("objects").open('[').close(']').key("deadlocks").open('[').close(']');
    return to.key("stuck").open('[').close(']').close('}').take();
  }
  to.open('[');
  for (const live_coroutine& each : found.all()) add_coroutine(each, found, lines, to);
  to.close(']').key("counts").null().key("objects").open('[');
  add_objects(found, to);
  const endless_lock_waits endless = find_endless_lock_waits(found);
  to.close(']').key("deadlocks").open('[');
  for (const auto& circle : endless.deadlocks) to.frames(circle);
  return to.close(']').key("stuck").frames(endless.stuck).close('}').take();
}

std::string json_of(const std::vector<observed_turn>& long_turns, symbols& names) {
  const std::int64_t now = nanoseconds_now();
  json_writer to;
  to.open('[');
  for (const observed_turn& each : long_turns) {
    const std::int64_t lasted = (each.ended == 0 ? now : each.ended) - each.began;
    to.open('{').key("thread").number(static_cast<std::size_t>(each.thread));
    to.key("lasted_us").number(static_cast<std::size_t>(lasted / 1000));
    to.key("is_over").boolean(each.ended != 0).key("awaits").open('[');
    for (std::size_t i = 0; i != each.awaits.size; ++i) {
      const function_symbol function = names.at(each.awaits.functions[i]);
      short_name name;
      if (function.name) append_short_name(function.name, name);
      to.known(name.c_str());
    }
    to.close(']').close('}');
  }
  return to.close(']').take();
}

std::string json_of_refusal(const char* reason) {
  json_writer to;
  begin(to);
  to.key("refused").string(reason).key("is_consistent").boolean(false).key("coroutines").open('[').close(']');
  to.key("counts").null().key("objects").open('[').close(']').key("deadlocks").open('[').close(']');
  return to.key("stuck").open('[').close(']').close('}').take();
}

std::string json_of(const frame_memory& of) {
  json_writer to;
  add_memory(of, to);
  return to.take();
}

std::string json_of(const runtime_metrics& of, const frame_memory& memory, std::chrono::nanoseconds now) {
  json_writer to;
  to.open('{').key("time").time(now).key("memory");
  add_memory(memory, to);
  to.key("timers");
  add_timers(of.timers, to);
  to.key("pools").open('[');
  for (const pool_metrics& each : of.pools) add_pool(each, to);
  to.close(']').key("io_services").open('[');
  for (const io_service_metrics& each : of.io_services) add_io_service(each, to);
  to.close(']').key("threads").open('[');
  for (const process_thread& each : list_threads())
    to.open('{')
        .key("id")
        .number(each.id)
        .key("name")
        .string(each.name)
        .key("used")
        .time(each.processor_time)
        .close('}');
  to.close(']').key("descriptors").open('[');
  const std::map<int, std::string> descriptors = list_descriptors();
  std::size_t count = 0;
  for (const auto& [number, target] : descriptors) {
    if (count++ == most_descriptors) break;
    to.open('{')
        .key("number")
        .number(number)
        .key("kind")
        .string(kind_of_descriptor(target))
        .key("target")
        .string(target)
        .close('}');
  }
  return to.close(']').key("descriptor_count").number(descriptors.size()).close('}').take();
}
}  // namespace coracle::detail
