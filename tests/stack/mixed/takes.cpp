// SPDX-License-Identifier: MIT
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>

coracle::task<int> give();

int main() { return coracle::sync_wait(give()) == 42 ? 0 : 1; }
