// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/inspect/async_stacktrace.hpp>

#include "awaits.hpp"
#include "own_symbols.hpp"
#include "symbol_names.hpp"

namespace coracle {
namespace detail {
namespace {
std::uintptr_t address_of_code(const void* code) noexcept { return reinterpret_cast<std::uintptr_t>(code); }
const void* pointer_to(std::uintptr_t address) noexcept { return reinterpret_cast<const void*>(address); }

const char* file_name(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}
/// Returns an empty text for what is part of something else.
std::string text_of_continuation(symbols& names, std::uintptr_t function) {
  const function_symbol found = names.at(function);
  const char* const known = found.name ? kind_of_continuation(found.name).text : nullptr;
  return known ? known : found.name ? demangled(found.name) : "plain code";
}
}  // namespace

void append_function(symbols& names, std::uintptr_t function, std::string& to) {
  const function_symbol found = names.at(function);
  short_name name;
  found.name ? append_short_name(found.name, name) : void(name.add_address(function));
  if (found.in)
    name.add("  (")
        .add(file_name(found.in->path.c_str()))
        .add("+")
        .add_address(function - found.in->bias)
        .add(")");
  to += name.c_str();
}
}  // namespace detail

async_stacktrace async_stacktrace::of(std::coroutine_handle<> coroutine) noexcept {
  async_stacktrace found;
  if (!coroutine) return found;
  detail::own_symbols::with([&](detail::symbols& names) noexcept {
    const detail::process_memory memory(::getpid());
    detail::await_reader reader(memory, names);
    std::uintptr_t frame = detail::address_of_code(coroutine.address());
    while (frame != 0) {
      if (found.size_ == max_depth) {
        found.is_cut_off_ = true;
        break;
      }
      const detail::continuation next = reader.continuation_of(frame);
      // With g++ a frame has no resume function any more while an exception leaves its body.
      const std::uintptr_t resumes = memory.word(frame);
      const std::uintptr_t function = resumes ? resumes : memory.word(frame + sizeof(void*));
      found.entries_[found.size_++] = {detail::pointer_to(function), detail::pointer_to(frame),
                                       detail::pointer_to(next.through)};
      frame = next.parent;
      // No coroutine awaits itself: of the links in a circle one is wrong, and those of tasks are the surest.
      const auto is_frame = [&](const entry& each) { return each.frame == detail::pointer_to(frame); };
      const auto first = std::find_if(found.entries_, found.entries_ + found.size_, is_frame);
      if (first == found.end()) continue;
      const auto wrong = std::find_if(first, found.entries_ + found.size_ - 1, [&](const entry& each) {
        return !reader.is_like_task(detail::address_of_code(each.frame));
      });
      wrong->through = nullptr;
      found.size_ = static_cast<std::size_t>(wrong - found.entries_) + 1;
      break;
    }
  });
  return found;
}

std::string async_stacktrace::to_string() const {
  std::string text;
  detail::own_symbols::with([&](detail::symbols& names) {
    for (const entry& each : *this) {
      const auto number = static_cast<std::size_t>(&each - entries_);
      const std::string label = '#' + std::to_string(number);
      text += label + std::string(label.size() < 3 ? 4 - label.size() : 1, ' ');
      detail::append_function(names, detail::address_of_code(each.function), text);
      text += '\n';
      if (!each.through) continue;
      const std::string through = detail::text_of_continuation(names, detail::address_of_code(each.through));
      if (!through.empty()) text += (number + 1 == size_ ? "    " : "    through ") + through + '\n';
    }
  });
  if (is_cut_off_) text += "    (and more)\n";
  return text;
}
}  // namespace coracle
