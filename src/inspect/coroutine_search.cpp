// SPDX-License-Identifier: MIT
#include "coroutine_search.hpp"

#include <algorithm>
#include <coracle/base/config.hpp>
#include <coracle/core/detail/frame_cache.hpp>
#include <cstring>
#include <string_view>
#include <utility>

#include "mapped_object.hpp"
#include "symbol_names.hpp"

namespace coracle::detail {
namespace {
struct words_read {
  std::uintptr_t words[std::size_t{1} << 16];
};
/// In bytes of one mapping: a larger one is a reservation.
constexpr std::uintptr_t most_searched = std::uintptr_t{8} << 30;
/// Unreadable pages in a row. A stack has a few at its end as a guard; a mapping with more is of a device.
constexpr std::size_t most_skipped = 4096;

// A waiter in a queue: base/intrusive_queue.hpp and core/detail/queued_waiter.hpp. If these change,
// tests/unit/live_coroutines_test.cpp fails.
constexpr std::uintptr_t stop_in_waiter = 24;
constexpr std::uintptr_t link_in_waiter = 56;
constexpr std::uintptr_t link_tags = 3;
constexpr std::uintptr_t link_of_arriving = 1, link_of_served = 2;
// An I/O operation: io/detail/io_operation.hpp and io/detail/io_request.hpp. If these change,
// tests/probes/inspector.cpp fails.
constexpr std::uintptr_t stop_in_io = 120;
constexpr std::uintptr_t progress_in_io = 32;  // one byte
constexpr std::uintptr_t queued_io = 2, cancelling_io = 4;
constexpr std::uintptr_t suspended_in_io = 168;  // its second byte
constexpr std::uintptr_t record_in_io = 48;
constexpr std::uintptr_t descriptor_in_record = 8;
// A timer of an io_service: io/io_service.hpp. If these change, tests/probes/inspector.cpp fails.
constexpr std::uintptr_t stop_in_timer = 88;
constexpr std::uintptr_t progress_in_timer = 80;  // one byte
constexpr std::uintptr_t waiting_timer = 1;
constexpr std::uintptr_t suspended_in_timer = 136;  // its second byte
// A blocking call: exec/blocking.hpp. If this changes, tests/probes/inspector.cpp fails.
constexpr std::uintptr_t call_in_blocking = 72;  // null once it has returned
// A from_callback(): compose/completion.hpp. If this changes, tests/unit/live_coroutines_test.cpp fails.
constexpr std::uintptr_t state_in_callback = 56;
constexpr std::uintptr_t suspended_callback = 1, flags_of_callback = 3;
struct kind_of_waiter {
  std::string_view name;
  std::uintptr_t size;  // with what other base classes have; the address of the object follows
  std::uintptr_t coroutine;
};
constexpr kind_of_waiter kinds_of_waiters[] = {{"queued_waiter", 64, 0},
                                               {"contender<async_mutex>", 104, 80},
                                               {"contender<async_semaphore>", 104, 80},
                                               {"async_shared_mutex::request", 112, 80},
                                               {"async_condition_variable::sleeper", 112, 0},
                                               {"sequence_waiter", 104, 0}};

// The awaiter of a shared_task, and where the body keeps its queue: core/shared_task.hpp. If these change,
// tests/unit/live_coroutines_test.cpp fails.
constexpr std::string_view awaiter_of_shared = ">::awaiter_base";
constexpr std::uintptr_t shared_in_awaiter = 64;
constexpr std::uintptr_t end_of_queue_in_shared = promise_in_frame + 24;

// What the callers of a single_flight wait for: compose/single_flight.hpp. If this changes,
// tests/unit/live_coroutines_test.cpp fails.
constexpr std::string_view flight = "single_flight";
constexpr std::uintptr_t ended_in_flight = 32;

// A channel<T>: channels/detail/guarded_buffer.hpp and channels/detail/channel_buffer.hpp. If these change,
// tests/probes/inspector.cpp fails.
constexpr std::uintptr_t capacity_in_channel = 16;
constexpr std::uintptr_t size_in_channel = 40;

/// The operations that refer to their object there.
constexpr std::string_view with_object[] = {
    "event", "mutex", "semaphore", "channel", "condition_variable", "barrier", "sequence"};

struct action {
  std::string_view operation;
  const char* text;
};
constexpr action actions[] = {{"lock", "waits to lock "},
                              {"enter", "waits to lock "},
                              {"acquire", "waits to acquire "},
                              {"scoped_acquire", "waits to acquire "},
                              {"wait", "waits for "},
                              {"wait_until", "waits for "},
                              {"recv", "waits to receive from "},
                              {"send", "waits to send to "},
                              {"send_copy", "waits to send to "},
                              {"changed", "waits for a change of "},
                              {"tick", "waits for a tick of "},
                              {"arrive", "waits for the others at "},
                              {"number", "waits for a number of "},
                              {"claim", "waits for a free slot of "},
                              {"claim_one", "waits for a free slot of "},
                              {"awaiter_base", "waits for the end of "}};

/// The arguments of the first `name<...>` in a demangled name.
std::vector<std::string_view> template_arguments(std::string_view of, std::string_view name) {
  std::vector<std::string_view> found;
  const std::size_t begin = of.find(std::string(name) + '<');
  if (begin == std::string_view::npos) return found;
  std::size_t start = begin + name.size() + 1;
  std::size_t depth = 0;
  for (std::size_t i = start; i != of.size(); ++i) {
    const char letter = of[i];
    if (letter == '<' || letter == '(') {
      ++depth;
    } else if (depth != 0 && (letter == '>' || letter == ')')) {
      --depth;
    } else if (depth == 0 && (letter == ',' || letter == '>')) {
      const bool is_nested = of[i - 1] == ' ';  // `a<b<c> >`
      found.push_back(of.substr(start, i - start - is_nested));
      if (letter == '>') break;
      start = i + 1 + (of.substr(i + 1, 1) == " ");
    }
  }
  return found;
}

bool has_ring_buffer(const std::vector<std::string_view>& arguments_of_channel) {
  return arguments_of_channel.size() > 1 && arguments_of_channel[1].starts_with("ring_buffer<");
}
/// `async_mutex` of `async_mutex::lock_operation`, and `channel<int>` of a channel's.
std::string primitive_of(std::string_view operation) {
  const std::string_view whole = operation.substr(0, operation.rfind("::"));
  if (whole == "async_barrier<nothing_to_complete>") return "async_barrier<>";
  const auto arguments = template_arguments(whole, "basic_channel");
  if (arguments.size() < 2) return std::string(whole);
  return (has_ring_buffer(arguments) ? "channel<" : "unbounded_channel<") + std::string(arguments[0]) + ">";
}
/// `async_shared_mutex::enter_operation` of one with template arguments.
std::string without_arguments(std::string_view operation) {
  constexpr std::string_view number = "sequence_wait<", sequencer = "multi_producer_sequencer";
  if (operation.starts_with(number)) {
    operation.remove_prefix(number.size());
    return std::string(operation.substr(0, operation.find('<'))) + "::number_operation";
  }
  if (operation.starts_with(sequencer))
    return std::string(sequencer) + std::string(operation.substr(operation.rfind("::")));
  constexpr std::string_view end = "_operation<";
  const std::size_t at = operation.find(end);
  return std::string(operation.ends_with('>') && at != operation.npos
                         ? operation.substr(0, at + end.size() - 1)
                         : operation);
}
}  // namespace

std::string operation_of(const char* symbol) {
  const std::string name = demangled(symbol);
  const auto arguments = template_arguments(name, "stoppable_wait");
  return arguments.size() == 2 ? without_arguments(arguments[0]) : std::string();
}
std::string text_of_operation(std::string_view operation) {
  if (operation == "sleep_operation") return "sleeps";
  if (operation == "blocking_call") return "waits for a blocking call";
  if (operation == "wait_for_more") return "waits for the next value of a broadcast or watched_value";
  const std::size_t colons = operation.rfind("::");
  std::string_view last = operation.substr(colons == std::string_view::npos ? 0 : colons + 2);
  last = last.substr(0, last.rfind("_operation"));
  std::string text = "waits: ";
  for (const action& each : actions) {
    if (each.operation == last) text = each.text;
  }
  return text + primitive_of(operation);
}

coroutine_search::coroutine_search(symbols& names, const process_memory& memory, std::size_t most_linked,
                                   const void* stack)
    : names_(names),
      memory_(memory),
      reader_(memory, names),
      stack_(reinterpret_cast<std::uintptr_t>(stack)) {
  find_frames();
  if (found_.size() > most_linked) return;
  is_linked_ = true;
  for (live_coroutine& each : found_) link(each);
  cut_circles();
  for (live_coroutine& each : found_) {
    if (live_coroutine* const parent = find(each.next.parent)) parent->children.push_back(&each);
  }
  find_referring();
}

const char* coroutine_search::refusal(const symbols& names) noexcept {
#if CORACLE_ADDRESS_SANITIZER() || CORACLE_THREAD_SANITIZER()
  (void)names;
  return "coroutines are not listed under a sanitizer";
#else
  return names.has_any() ? nullptr : "the program has no symbol table, so its coroutines are not known";
#endif
}

/// Calls `visit(address, word)` for each word in use whose value is in the range.
template <class Visit>
void coroutine_search::for_each_word(std::uintptr_t lowest, std::uintptr_t highest, Visit visit) const {
  const mapped_object<words_read> words;
  for_each_mapping(memory_.process(), [&](const mapping& each) {
    if (!each.is_writable || each.end - each.begin > most_searched) return;
    const bool is_stack = each.begin <= stack_ && stack_ < each.end;
    std::size_t skipped = 0;
    for (std::uintptr_t from = is_stack ? stack_ : each.begin; from < each.end;) {
      const std::size_t wanted = std::min<std::uintptr_t>(each.end - from, sizeof(words_read));
      const std::size_t got = memory_.read(from, words.get(), wanted);
      for (std::size_t i = 0; i != got / sizeof(std::uintptr_t); ++i) {
        const std::uintptr_t at = from + i * sizeof(std::uintptr_t);
        const std::uintptr_t word = words.get()->words[i];
        if (word < lowest || word > highest) continue;
        if (contains(words.get(), at) || contains(memory_.cache(), at)) continue;
        visit(at, word);
      }
      from += got;
      if (got != 0) skipped = 0;
      if (got == wanted) continue;
      if (++skipped > most_skipped) break;
      from = (from / known_pages::bytes_in_page + 1) * known_pages::bytes_in_page;
    }
  });
}

void coroutine_search::find_frames() {
  struct waiter {
    std::uintptr_t node;
    std::string_view symbol;
  };
  std::vector<waiter> waiters;
  std::vector<std::uintptr_t> operations, timers, callbacks;
  std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
  for (const module& each : names_) {
    if (!each.table) continue;
    lowest = std::min(lowest, each.begin);
    highest = std::max(highest, each.end);
  }
  for_each_word(lowest, highest, [&](std::uintptr_t at, std::uintptr_t word) {
    const role is = names_.role_at(word);
    if (is == role::resume && reader_.resume_function(at) != 0)
      found_.push_back({.frame = at, .function = word});
    if (is == role::stop) waiters.push_back({at - stop_in_waiter, names_.at(word).name});
    if (is == role::stop_io) operations.push_back(at - stop_in_io);
    if (is == role::stop_timer) timers.push_back(at - stop_in_timer);
    if (is == role::stop_callback) callbacks.push_back(at - stop_in_waiter);
  });
  for (const waiter& each : waiters) add_wait(each.node, each.symbol.data());
  for (const std::uintptr_t each : operations) add_io(each);
  for (const std::uintptr_t each : timers) add_timer(each);
  for (const std::uintptr_t each : callbacks) add_callback(each);
}

void coroutine_search::add_wait(std::uintptr_t node, const char* symbol) {
  const std::string name = demangled(symbol);
  const auto arguments = template_arguments(name, "stoppable_wait");
  if (arguments.size() != 2) return;
  const auto* const kind =
      std::find_if(std::begin(kinds_of_waiters), std::end(kinds_of_waiters),
                   [&](const kind_of_waiter& each) { return each.name == arguments[1]; });
  if (kind == std::end(kinds_of_waiters)) return;
  live_coroutine* waiting = find(memory_.word(node));
  if (!waiting) waiting = find(memory_.word(node + kind->coroutine));
  const bool has_object =
      std::any_of(std::begin(with_object), std::end(with_object),
                  [&](std::string_view each) { return arguments[0].find(each) != std::string_view::npos; });
  const std::uintptr_t object = has_object ? memory_.word(node + kind->size) : 0;
  // A frame also has what is left of earlier waits.
  const std::uintptr_t link = memory_.word(node + link_in_waiter);
  if (arguments[0] == "blocking_call" && link == link_of_served &&
      memory_.word(node + call_in_blocking) != 0) {
    add_other_wait(node, memory_.word(node), "waits for its blocking call to return");
    return;
  }
  if ((link & link_tags) > link_of_arriving) return;
  if (link > link_of_arriving && memory_.word(link) != node) return;
  if (link > link_of_arriving && arguments[0].ends_with(awaiter_of_shared) && add_await_of_shared(node, link))
    return;
  if (link == 0 && object != 0 && memory_.word(object) != node && (memory_.word(object) & 4) == 0) return;
  coroutine_wait wait{without_arguments(arguments[0]), object};
  if (waiting) {
    waiting->waits = std::make_unique<coroutine_wait>(std::move(wait));
  } else {
    add_other_wait(node, memory_.word(node), text_of_operation(wait.operation), object);
  }
}

/// Of the waiters for a shared_task, the first is taken for what awaits it: a coroutine has one parent.
/// Returns false if it is another one.
bool coroutine_search::add_await_of_shared(std::uintptr_t node, std::uintptr_t link) {
  const std::uintptr_t body = memory_.word(node + shared_in_awaiter);
  if (link < body || link - body >= end_of_queue_in_shared || !find(body)) return false;
  const std::uintptr_t waiting = memory_.word(node);
  const live_coroutine* const parent = find(waiting) ? find(waiting) : owner_of(waiting);
  continuation next{.parent = parent ? parent->frame : 0};
  if (names_.role_at(memory_.word(waiting)) == role::callback) {
    next.through = reader_.function_of(waiting);
    next.at = waiting;
  }
  if (next.parent != 0 || next.through != 0) after_shared_[body] = next;
  return next.parent != 0 || next.through != 0;
}

void coroutine_search::add_io(std::uintptr_t operation) {
  // A frame also has what is left of operations that have completed.
  const std::uintptr_t progress = memory_.word(operation + progress_in_io) & 0xff;
  const std::uintptr_t suspended = memory_.word(operation + suspended_in_io) >> 8 & 0xff;
  if (progress < queued_io || progress > cancelling_io || suspended != 1) return;
  const std::uintptr_t record = memory_.word(operation + record_in_io);
  const auto descriptor = static_cast<std::uint32_t>(memory_.word(record + descriptor_in_record));
  add_other_wait(operation, memory_.word(operation),
                 "waits for I/O on descriptor " + std::to_string(static_cast<std::int32_t>(descriptor)));
}

void coroutine_search::add_timer(std::uintptr_t operation) {
  // A frame also has what is left of timers that are over.
  const std::uintptr_t progress = memory_.word(operation + progress_in_timer) & 0xff;
  const std::uintptr_t suspended = memory_.word(operation + suspended_in_timer) >> 8 & 0xff;
  if (progress != waiting_timer || suspended != 1) return;
  add_other_wait(operation, memory_.word(operation), "waits for a timer");
}

void coroutine_search::add_callback(std::uintptr_t meeting) {
  // A frame also has what is left of operations that have completed.
  if ((memory_.word(meeting + state_in_callback) & flags_of_callback) != suspended_callback) return;
  add_other_wait(meeting, memory_.word(meeting), "waits for an operation of from_callback()");
}

/// `waiting` is the coroutine, or a frame inside its frame: a callback frame of an operation that is no
/// coroutine, or one that clang has put there.
void coroutine_search::add_other_wait(std::uintptr_t awaiter, std::uintptr_t waiting, std::string text,
                                      std::uintptr_t object) {
  live_coroutine* coroutine = find(waiting);
  const char* through = nullptr;
  if (!coroutine) {
    coroutine = const_cast<live_coroutine*>(owner_of(awaiter));
    if (!coroutine || owner_of(waiting) != coroutine) return;
    if (names_.role_at(memory_.word(waiting)) == role::callback)
      through = kind_of_continuation(names_.at(reader_.function_of(waiting)).name).text;
  }
  coroutine->other_waits.push_back({through, std::move(text), object});
}

void coroutine_search::link(live_coroutine& each) {
  const auto shared = after_shared_.find(each.frame);
  each.next = shared != after_shared_.end() ? shared->second : reader_.continuation_of(each.frame);
  if (const char* const by = each.next.parent == 0 ? through(each) : nullptr; by && by == flight)
    each.next.parent = waiting_for(each.next.at + ended_in_flight);
}

/// Returns the frame of a coroutine that waits for the object; 0 if none does.
std::uintptr_t coroutine_search::waiting_for(std::uintptr_t object) const {
  const auto waits = [object](const auto& one) { return one.object == object; };
  for (const live_coroutine& each : found_) {
    if ((each.waits && waits(*each.waits)) || std::ranges::any_of(each.other_waits, waits)) return each.frame;
  }
  return 0;
}

/// No coroutine awaits itself: of the links in a circle one is wrong, and those of tasks are the surest.
void coroutine_search::cut_circles() {
  std::vector<const live_coroutine*> reached_from(found_.size());
  const auto origin = [&](const live_coroutine* of) -> const live_coroutine*& {
    return reached_from[static_cast<std::size_t>(of - found_.data())];
  };
  for (live_coroutine& start : found_) {
    live_coroutine* at = &start;
    for (; at && !origin(at); at = find(at->next.parent)) origin(at) = &start;
    if (!at || origin(at) != &start) continue;
    const live_coroutine* const first = at;
    while (reader_.is_like_task(at->frame) || after_shared_.contains(at->frame)) {
      at = find(at->next.parent);
      if (at == first) break;
    }
    at->next = {};
  }
}

/// Finds the frames that contain the address of an object for which a coroutine waits.
void coroutine_search::find_referring() {
  std::uintptr_t lowest = ~std::uintptr_t{0}, highest = 0;
  const auto add = [&](std::uintptr_t object) {
    if (object == 0) return;
    lowest = std::min(lowest, object);
    highest = std::max(highest, object);
    objects_[object];
  };
  for (const live_coroutine& each : found_) {
    if (each.waits) add(each.waits->object);
    for (const other_wait& one : each.other_waits) add(one.object);
  }
  for_each_word(lowest, highest, [&](std::uintptr_t at, std::uintptr_t word) {
    const auto object = objects_.find(word);
    if (object == objects_.end()) return;
    const live_coroutine* const owner = owner_of(at);
    if (!owner || (owner->waits && owner->waits->object == word)) return;
    coroutines& all = object->second.referring;
    if (all.empty() || all.back() != owner) all.push_back(owner);  // memory is searched in order
  });
  for (auto& [object, known] : objects_) known.name = find_name_of_object(object);
}

live_coroutine* coroutine_search::find(std::uintptr_t frame) {
  return const_cast<live_coroutine*>(std::as_const(*this).find(frame));
}
const live_coroutine* coroutine_search::find(std::uintptr_t frame) const {
  const auto at =
      std::lower_bound(found_.begin(), found_.end(), frame,
                       [](const live_coroutine& each, std::uintptr_t value) { return each.frame < value; });
  return at != found_.end() && at->frame == frame ? &*at : nullptr;
}
/// Returns the coroutine whose block of the heap contains the address.
const live_coroutine* coroutine_search::owner_of(std::uintptr_t part) const {
  const auto after =
      std::upper_bound(found_.begin(), found_.end(), part,
                       [](std::uintptr_t value, const live_coroutine& each) { return value < each.frame; });
  if (after == found_.begin()) return nullptr;
  const live_coroutine& owner = *std::prev(after);
  return part < owner.frame + size_of_block(owner.frame) ? &owner : nullptr;
}
/// glibc keeps the size of a block in front of it; in front of a large frame is the address of its block.
coroutine_search::block coroutine_search::block_with(std::uintptr_t frame) const {
  for (const std::uintptr_t begin : {frame, memory_.word(frame - sizeof(std::uintptr_t))}) {
    if (begin > frame || frame - begin > 64) continue;
    const std::uintptr_t size = memory_.word(begin - sizeof(std::uintptr_t)) & ~std::uintptr_t{7};
    if (size >= 32 && size <= std::uintptr_t{1} << 20 && size % 16 == 0)
      return {begin, begin + size - sizeof(std::uintptr_t)};
  }
  return {frame, frame + 512};
}
std::uintptr_t coroutine_search::size_of_block(std::uintptr_t frame) const {
  return block_with(frame).end - frame;
}
std::size_t coroutine_search::bytes_of(const live_coroutine& each) const {
  const auto [begin, end] = block_with(each.frame);
  return rounded_size(end - begin - (begin == each.frame ? 0 : cache_line));
}

std::string coroutine_search::find_name_of_object(std::uintptr_t object) const {
  const function_symbol variable = names_.variable_at(object);
  if (variable.name) {
    short_name name;
    append_short_name(variable.name, name);
    return name.c_str();
  }
  const live_coroutine* const owner = owner_of(object);
  return owner ? "in the frame of " + name_of(*owner) : std::string{};
}

// ---- what the views ask for ----

std::string coroutine_search::name_of(const live_coroutine& each) const {
  const function_symbol function = names_.at(each.function);
  short_name name;
  if (function.name) append_short_name(function.name, name);
  return name.c_str();
}
std::uintptr_t coroutine_search::number_in(const live_coroutine& each, std::size_t place,
                                           std::size_t size) const noexcept {
  std::uintptr_t number = 0;
  return memory_.read(each.frame + place, &number, size) == size ? number : 0;
}
std::string coroutine_search::location_of(const live_coroutine& each) const {
  const function_symbol function = function_of(each);
  if (!function.in) return {};
  const char* const path = function.in->path.c_str();
  const char* const slash = std::strrchr(path, '/');
  fixed_text<320> text;
  text.add(slash ? slash + 1 : path).add("+").add_address(function.begin - function.in->bias);
  return text.c_str();
}
std::map<std::string, std::size_t> coroutine_search::counts_by_function() const {
  std::map<std::string, std::size_t> counts;
  for (const live_coroutine& each : found_) ++counts[name_of(each)];
  return counts;
}
std::map<std::size_t, std::size_t> coroutine_search::counts_by_size() const {
  std::map<std::size_t, std::size_t> counts;
  for (const live_coroutine& each : found_) ++counts[bytes_of(each)];
  return counts;
}
const char* coroutine_search::through(const live_coroutine& each) const {
  if (each.next.through == 0) return nullptr;
  const function_symbol function = names_.at(each.next.through);
  const char* const known = function.name ? kind_of_continuation(function.name).text : nullptr;
  if (known && *known == '\0') return nullptr;
  return known ? known : "plain code";
}

std::string coroutine_search::type_of_object(const coroutine_wait& wait) {
  return primitive_of(wait.operation);
}
std::optional<channel_fill> coroutine_search::fill_of(const coroutine_wait& wait) const {
  if (wait.object == 0 || !has_ring_buffer(template_arguments(wait.operation, "basic_channel")))
    return std::nullopt;
  return channel_fill{.elements = memory_.word(wait.object + size_in_channel),
                      .capacity = memory_.word(wait.object + capacity_in_channel)};
}
const std::string& coroutine_search::name_of_object(std::uintptr_t object) const {
  return objects_.at(object).name;
}
const coroutine_search::coroutines& coroutine_search::referring(std::uintptr_t object) const {
  return objects_.at(object).referring;
}
std::string coroutine_search::text_of_others(const live_coroutine& each) const {
  std::string text;
  for (const other_wait& one : each.other_waits) {
    if (text.empty() && one.through && *one.through) text = "in " + std::string(one.through) + ": ";
    text += (&one == &each.other_waits.front() ? "" : ", ") + with_name_of_object(one.text, one.object);
  }
  return text;
}
std::string coroutine_search::text_of(const coroutine_wait& wait) const {
  if (wait.operation == "blocking_call") return "waits for a thread to make its blocking call";
  return with_name_of_object(text_of_operation(wait.operation), wait.object);
}
std::string coroutine_search::with_name_of_object(std::string text, std::uintptr_t object) const {
  if (object != 0 && !name_of_object(object).empty()) text += ' ' + name_of_object(object);
  return text;
}
}  // namespace coracle::detail
