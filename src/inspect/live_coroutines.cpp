// SPDX-License-Identifier: MIT
#include <coracle/base/check.hpp>
#include <coracle/inspect/live_coroutines.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coroutine_search.hpp"
#include "own_symbols.hpp"

namespace coracle {
namespace detail {
namespace {
/// A search's result as text.
class coroutine_listing {
 public:
  explicit coroutine_listing(const coroutine_search& of) : of_(of) {}

  [[nodiscard]] std::string text() const {
    const std::size_t count = of_.all().size();
    std::string text = std::to_string(count) + (count == 1 ? " coroutine:\n" : " coroutines:\n");
    if (!of_.is_linked()) {
      for (const auto& [name, its] : of_.counts_by_function())
        text += "  " + std::to_string(its) + " of " + name + "\n";
      return text;
    }
    std::map<std::string, std::string> by_root;
    std::size_t shown = 0;
    for (const live_coroutine& each : of_.all()) {
      if (of_.parent_of(each)) continue;
      const char* const through = of_.through(each);
      add_tree(each, by_root[through ? through : "awaited by nothing that is known"], shown);
    }
    for (const auto& [root, trees] : by_root) text += root + "\n" + trees;
    if (shown > most_shown) text += "  (" + std::to_string(shown - most_shown) + " more)\n";
    return text;
  }

 private:
  static constexpr std::size_t most_shown = 200;

  void add_tree(const live_coroutine& root, std::string& to, std::size_t& shown) const {
    std::vector<std::pair<const live_coroutine*, std::size_t>> pending{{&root, 1}};
    while (!pending.empty()) {
      const auto [each, depth] = pending.back();
      pending.pop_back();
      if (++shown > most_shown) continue;
      to += std::string(2 * depth, ' ') + of_.name_of(*each);
      if (const std::string location = of_.location_of(*each); !location.empty())
        to += "  (" + location + ")";
      const std::string wait = each->waits ? wait_text(*each->waits) : of_.text_of_others(*each);
      if (!wait.empty()) to += "  " + wait;
      to += '\n';
      for (auto child = each->children.rbegin(); child != each->children.rend(); ++child)
        pending.emplace_back(*child, depth + 1);
    }
  }
  [[nodiscard]] std::string wait_text(const coroutine_wait& wait) const {
    return wait.object == 0 ? of_.text_of(wait) : of_.text_of(wait) + referring_text(wait.object);
  }
  [[nodiscard]] std::string referring_text(std::uintptr_t object) const {
    std::map<std::string, int> by_name;
    for (const live_coroutine* each : of_.referring(object)) ++by_name[of_.name_of(*each)];
    if (by_name.empty()) return "; no other coroutine has its address";
    std::string text;
    for (const auto& [name, count] : by_name) {
      text += (text.empty() ? "; " : ", ") + name;
      if (count != 1) text += " (" + std::to_string(count) + " of them)";
    }
    const bool is_one = by_name.size() == 1 && by_name.begin()->second == 1;
    return text + (is_one ? " has its address" : " have its address");
  }

  const coroutine_search& of_;
};

struct listing {
  std::string text;  ///< the coroutines, or why they are not known
  bool has_any = false;
};
/// `stack`: the frame of the caller, below which the stack has nothing but this search.
listing list_live_coroutines(const void* stack = __builtin_frame_address(0)) {
  return own_symbols::with([stack](symbols& names) -> listing {
    if (const char* const refusal = coroutine_search::refusal(names)) return {refusal + std::string("\n")};
    constexpr std::size_t most_linked = 10'000;  // finding who awaits one takes some system calls
    const process_memory memory(::getpid());
    const coroutine_search found(names, memory, most_linked, stack);
    if (found.all().empty()) return {"0 coroutines\n"};
    return {coroutine_listing(found).text(), true};
  });
}
}  // namespace

void print_live_coroutines() noexcept {
  CORACLE_TRY() { std::fputs(list_live_coroutines().text.c_str(), stderr); }
  CORACLE_CATCH_ALL() {}  // without memory there is no report
}
}  // namespace detail

std::string live_coroutines() { return detail::list_live_coroutines().text; }

void report_live_coroutines_at_exit() noexcept {
  [[maybe_unused]] static const bool is_registered =
      std::atexit([] {
        CORACLE_TRY() {
          const detail::listing found = detail::list_live_coroutines();
          if (found.has_any)
            std::fputs(("coracle: the program ends, and nobody will resume\n" + found.text).c_str(), stderr);
        }
        CORACLE_CATCH_ALL() {}  // without memory there is no report
      }) == 0;
}
}  // namespace coracle
