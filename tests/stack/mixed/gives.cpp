// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

coracle::task<int> give() { co_return 42; }
