// tests/stack/mixed/takes_expected.cpp -- its main.
// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>

#include "expected.hpp"

int main() {
  const auto later = coracle::sync_wait(give_later());
  return give().value() == 7 && !later && later.error() == 8 ? 0 : 1;
}
