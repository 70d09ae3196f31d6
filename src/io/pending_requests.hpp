// src/io/pending_requests.hpp -- the requests that wait on a descriptor, for metrics.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/small_mutex.hpp>
#include <coracle/inspect/runtime_metrics.hpp>
#include <coracle/io/detail/io_request.hpp>

#include "opcode_name.hpp"

namespace coracle::detail {
/// Adds the requests of a queue that the lock guards, at most 16: nearly always there is one.
template <class Queue>
void add_requests(const Queue& queue, small_mutex& lock, io_service_metrics& to) {
  constexpr std::size_t most = 16;
  pending_operation found[most];
  std::size_t count = 0;
  {
    const small_mutex_lock held{lock};
    for (const resumption* each = queue.front(); each && count != most; each = each->next) {
      const auto& request = static_cast<const io_request&>(static_cast<const io_event&>(*each));
      found[count++] = {request.record->fd, name_of(request.opcode), request.handle.address()};
    }
  }
  to.pending.insert(to.pending.end(), found, found + count);
}
}  // namespace coracle::detail
