// tests/support/is_free.hpp -- whether a mutex of coracle's could be locked now.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle_test {
template <class Mutex>
bool is_free(Mutex& mutex) {
  const bool taken = mutex.try_lock();
  if (taken) mutex.unlock();
  return taken;
}
}  // namespace coracle_test
