// SPDX-License-Identifier: MIT
#include "timer_metrics.hpp"

#include "../inspect/metric_source.hpp"

namespace coracle::detail {
unsigned timer_wheel::count_slot(unsigned from, std::size_t most, std::size_t& count) const noexcept {
  for (unsigned which = from; which < all_slots; ++which) {
    const unsigned level = which / slots_per_level, index = which % slots_per_level;
    if ((used_slots_[level] >> index & 1) == 0) continue;
    const timer_link& ring = slots_[level][index].nodes;
    const timer_link* each = ring.next;
    for (std::size_t counted = 0; each != &ring && counted != most; ++counted, each = each->next) ++count;
    return which + 1;
  }
  return all_slots;
}

timer_metrics metrics_of(const timer_queue& timers, small_mutex& lock,
                         timer_service::time_point now) noexcept {
  timer_metrics found;
  for (unsigned slot = 0; slot != timer_wheel::all_slots;) {
    const small_mutex_lock held{lock};
    if (timers.empty()) break;
    if (slot == 0) found.next = timers.next() - now;
    slot = timers.wheel().count_slot(slot, most_counted, found.waiting);
  }
  return found;
}
}  // namespace coracle::detail
