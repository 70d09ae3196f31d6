// tests/cancellation/table.cpp -- assembles the table of all operations.
// SPDX-License-Identifier: MIT
#include "broadcast_cases.hpp"
#include "cancellation_case.hpp"
#include "channel_cases.hpp"
#include "combinator_cases.hpp"
#include "core_cases.hpp"
#include "descriptor_cases.hpp"
#include "event_cases.hpp"
#include "file_cases.hpp"
#include "lock_cases.hpp"
#include "schedule_cases.hpp"
#include "sequencer_cases.hpp"
#include "socket_cases.hpp"
#include "stream_cases.hpp"
#include "structure_cases.hpp"
#include "time_cases.hpp"
#if defined(CORACLE_TEST_TLS)
#include "tls_cases.hpp"
#endif

namespace coracle_test {
const std::vector<cancellation_entry>& cancellation_table() {
  static const std::vector<cancellation_entry> table = [] {
    std::vector<cancellation_entry> all;
    for (const auto& part :
         {core_cases(), event_cases(), lock_cases(), sequencer_cases(), time_cases(), schedule_cases(),
          structure_cases(), channel_cases(), broadcast_cases(), stream_cases(), combinator_cases(),
          socket_cases(), descriptor_cases(), file_cases()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
#if defined(CORACLE_TEST_TLS)
    for (const auto& each : tls_cases()) all.push_back(each);
#endif
    return all;
  }();
  return table;
}
}  // namespace coracle_test
