// expect: a coroutine that returns expected can co_await only an expected or an unexpected
#include <coracle/utility/expected_coroutine.hpp>
#include <optional>

coracle::expected<int, char> sum(coracle::expected<int, char> a, [[maybe_unused]] std::optional<int> b) {
  const int value = co_await a;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const int other = co_await b;
#else
  const int other = 0;
#endif
  co_return value + other;
}
