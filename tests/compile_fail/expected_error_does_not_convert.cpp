// expect: the error of the awaited expected does not convert to the error type of this coroutine
#include <coracle/utility/expected_coroutine.hpp>

struct other_error {};

coracle::expected<int, char> sum(coracle::expected<int, char> a,
                                 [[maybe_unused]] coracle::expected<int, other_error> b) {
  const int value = co_await a;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const int other = co_await b;
#else
  const int other = 0;
#endif
  co_return value + other;
}
