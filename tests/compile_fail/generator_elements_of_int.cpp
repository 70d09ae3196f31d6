// expect: elements_of needs a generator or an input range whose elements this one can yield
#include <coracle/generators/generator.hpp>

coracle::generator<int> numbers() {
  co_yield 1;
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_yield coracle::elements_of(2);
#endif
}
