// expect: this coroutine cannot co_await: it produces its values for a caller that does not wait
#include <coracle/core/task.hpp>
#include <coracle/generators/generator.hpp>

coracle::task<int> answer() { co_return 42; }

coracle::generator<int> numbers() {
  co_yield 1;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_yield co_await answer();
#endif
}
