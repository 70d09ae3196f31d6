// SPDX-License-Identifier: MIT
#include "lock_waits.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

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

/// Those that go on by themselves, as after a sleep or an I/O operation, and what awaits these. Of several
/// awaits in a coroutine, one is enough.
std::unordered_set<coroutine> going_on(const coroutine_search& in) {
  std::unordered_set<coroutine> found;
  for (const live_coroutine& each : in.all()) {
    const bool waits_for_object = !each.children.empty() || (each.waits && each.waits->object != 0);
    if (waits_for_object && each.other_waits.empty()) continue;
    for (coroutine at = &each; at && found.insert(at).second;) at = in.parent_of(*at);
  }
  return found;
}

/// timeout() and async_finally() stop in time what they await.
bool has_deadline(coroutine each, const coroutine_search& in) {
  const char* const name = in.function_of(*each).name;
  return name &&
         (std::strstr(name, "7coracle6detail5limitI") || std::strstr(name, "7coracle6detail11run_finallyI"));
}

bool is_race(const char* through) { return through && std::string_view(through) == "when_any()"; }

/// Returns true if a time limit ends the wait: that of a timeout(), or another branch of a when_any().
bool ends_in_time(coroutine waiting, const std::unordered_set<coroutine>& going_on,
                  const coroutine_search& in) {
  for (coroutine each = waiting, above = in.parent_of(*each); above;
       each = above, above = in.parent_of(*above)) {
    if (has_deadline(above, in)) return true;
    if (!is_race(in.through(*each))) continue;
    if (!above->other_waits.empty()) return true;
    for (const coroutine branch : above->children) {
      if (branch != each && going_on.contains(branch)) return true;
    }
  }
  return false;
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
    if (is_race(in.through(*each)) && ++blocked_branches[parent] != parent->children.size()) continue;
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
  const std::unordered_set<coroutine> others = going_on(in);
  for (const live_coroutine& each : in.all()) {
    if (!waits_for_lock(each) || in.referring(each.waits->object).empty()) continue;
    if (!ends_in_time(&each, others, in)) stuck.push_back(&each);
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
