// tour/echo.hpp -- messages to an echo server and back, over loopback: with coroutines, and with threads.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tour {
struct echo_run {
  std::vector<double> nanoseconds;  ///< of each round trip, sorted
  double seconds = 0;
  std::uint64_t wrong = 0;         ///< answers that differ from what was sent
  std::uint64_t switches = 0;      ///< by which the system took the process's threads off a processor
  std::size_t most_connected = 0;  ///< connections that the server served at a time

  [[nodiscard]] double percentile(double percent) const;
};

/// A server and `clients` clients as coroutines, all on the calling thread; `messages` round trips each.
echo_run echo_with_coroutines(std::size_t clients, std::size_t messages);
/// One client and one server that block, on a thread each.
echo_run echo_with_threads(std::size_t messages);
}  // namespace tour
