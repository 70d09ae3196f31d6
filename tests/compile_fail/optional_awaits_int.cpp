// expect: a coroutine that returns std::optional can co_await only a std::optional
#include <coracle/utility/optional_coroutine.hpp>

std::optional<int> twice(std::optional<int> number) {
  const int value = co_await number;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const int factor = co_await 2;
#else
  const int factor = 2;
#endif
  co_return factor* value;
}
