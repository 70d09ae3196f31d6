#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <cstdio>

coracle::task<int> answer() { co_return 42; }

int main() { std::printf("%d\n", coracle::sync_wait(answer())); }
