// tests/probes/threads_refused.cpp -- schedulers where the system starts no thread.
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <coracle/core/sync_wait.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/io_service_group.hpp>
#include <cstddef>
#include <string>
#include <system_error>

#include "../support/expect.hpp"

namespace {
using coracle_test::expect;

/// The system has no memory for the stack of a thread: it is larger than the address space.
void refuse_threads() {
  pthread_attr_t larger;
  ::pthread_getattr_default_np(&larger);
  ::pthread_attr_setstacksize(&larger, std::size_t{1} << 47);
  expect(::pthread_setattr_default_np(&larger) == 0, "stacks of threads are large");
}

template <class Scheduler>
void fails_and_says(const char* what) {
  std::string said;
  try {
    const Scheduler never{2};
  } catch (const std::system_error& failure) {
    expect(failure.code() == std::errc::resource_unavailable_try_again, "the error of the system");
    said = failure.what();
  }
  expect(said == std::string(what) + ": Resource temporarily unavailable", what);
}
}  // namespace

int main() {
  refuse_threads();
  fails_and_says<coracle::static_thread_pool>("cannot start a thread of a static_thread_pool");
  fails_and_says<coracle::io_service_group>("cannot start a thread of an io_service_group");
  coracle::blocking_pool pool{1};
  const auto call = [] { return 42; };
  expect(coracle::sync_wait(coracle::blocking(pool, call)) == 42, "the awaiting thread makes the call");
  return coracle_test::exit_status("threads refused: everything as expected");
}
