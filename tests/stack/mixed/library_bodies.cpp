// SPDX-License-Identifier: MIT
#include "library_bodies.hpp"

coracle::detail::library_task<int> half_body(int n) {
  if (n % 2 != 0) throw odd_number();
  co_return n / 2;
}
coracle::detail::library_task<int> wait_below_body(int levels,
                                                   const coracle::async_manual_reset_event& event) {
  const local_of_wait local;
  if (levels != 0) co_return co_await wait_below(levels - 1, event) + 1;
  co_await event;
  co_return 0;
}
