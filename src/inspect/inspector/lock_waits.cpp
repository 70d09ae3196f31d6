// SPDX-License-Identifier: MIT
#include "lock_waits.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace coracle::detail {
namespace {
using coroutine = const live_coroutine*;

/// Those that can go on only if a wait ends, each with the coroutine that waits.
using blocked_coroutines = std::unordered_map<coroutine, coroutine>;

bool waits_for_lock(const live_coroutine& each) {
  if (!each.waits || each.waits->object == 0) return false;
  const std::string type = coroutine_search::type_of_object(*each.waits);
  return type == "async_mutex" || type == "async_shared_mutex";
}

/// A coroutine is blocked if one that it awaits is; with when_any(), if all are.
blocked_coroutines blocked_by(const coroutine_search::coroutines& waits, const coroutine_search& in) {
  blocked_coroutines blocked;
  std::unordered_map<coroutine, std::size_t> blocked_branches;
  std::vector<std::pair<coroutine, coroutine>> pending;
  for (const coroutine each : waits) pending.emplace_back(each, each);
  while (!pending.empty()) {
    const auto [each, cause] = pending.back();
    pending.pop_back();
    if (!blocked.emplace(each, cause).second) continue;
    const coroutine parent = in.parent_of(*each);
    if (!parent) continue;
    const char* const through = in.through(*each);
    const bool is_race = through && std::string_view(through) == "when_any()";
    if (is_race && ++blocked_branches[parent] != parent->children.size()) continue;
    pending.emplace_back(parent, cause);
  }
  return blocked;
}

bool awaits(coroutine above, coroutine below, const coroutine_search& in) {
  while (below && below != above) below = in.parent_of(*below);
  return below == above;
}

/// Returns the wait that keeps the lock from being released. A coroutine that awaits the waiting one may only
/// have passed the lock to it, so others come first.
coroutine next_in_circle(coroutine waiting, const blocked_coroutines& blocked, const coroutine_search& in) {
  const auto& all = in.referring(waiting->waits->object);
  const auto other =
      std::find_if(all.begin(), all.end(), [&](coroutine each) { return !awaits(each, waiting, in); });
  return other == all.end() ? waiting : blocked.at(*other);
}

std::vector<coroutine_search::coroutines> circles_of(const coroutine_search::coroutines& stuck,
                                                     const blocked_coroutines& blocked,
                                                     const coroutine_search& in) {
  std::vector<coroutine_search::coroutines> circles;
  std::unordered_map<coroutine, coroutine> walk_of;  // the start of the walk that came by first
  for (const coroutine start : stuck) {
    coroutine each = start;
    while (walk_of.emplace(each, start).second) each = next_in_circle(each, blocked, in);
    if (walk_of.at(each) != start) continue;
    coroutine_search::coroutines circle;
    for (coroutine at = each; circle.empty() || at != each; at = next_in_circle(at, blocked, in))
      circle.push_back(at);
    circles.push_back(std::move(circle));
  }
  return circles;
}
}  // namespace

endless_lock_waits find_endless_lock_waits(const coroutine_search& in) {
  coroutine_search::coroutines stuck;
  for (const live_coroutine& each : in.all()) {
    if (waits_for_lock(each) && !in.referring(each.waits->object).empty()) stuck.push_back(&each);
  }
  for (;;) {
    const blocked_coroutines blocked = blocked_by(stuck, in);
    const auto can_end = [&](coroutine each) {
      const auto& all = in.referring(each->waits->object);
      return std::any_of(all.begin(), all.end(), [&](coroutine other) { return !blocked.contains(other); });
    };
    const auto ends = std::remove_if(stuck.begin(), stuck.end(), can_end);
    if (ends == stuck.end()) return {circles_of(stuck, blocked, in), stuck};
    stuck.erase(ends, stuck.end());
  }
}
}  // namespace coracle::detail
