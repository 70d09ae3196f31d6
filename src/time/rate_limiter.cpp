// SPDX-License-Identifier: MIT
#include <coracle/time/rate_limiter.hpp>
#include <new>

namespace coracle {
detail::library_task<> rate_limiter::acquire_operation::wait() {
  CORACLE_TRY() {
    const counted_waiter here{limiter_};
    const async_mutex_lock first = co_await limiter_.turn_.scoped_lock_async();
    for (;;) {
      const time_point now = steady_now();
      const duration delay = take(now);
      if (delay == duration::zero()) co_return;
      co_await sleep_until(now + delay);
    }
  }
  CORACLE_CATCH(const std::bad_alloc&, error) { fail(); }
}
}  // namespace coracle
