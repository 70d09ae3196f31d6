// SPDX-License-Identifier: MIT
#include "library_bodies.hpp"

coracle::detail::library_task<int> half_body(int n) {
  if (n % 2 != 0) throw odd_number();
  co_return n / 2;
}
