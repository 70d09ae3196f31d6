// expect: what stands behind std::allocator_arg does not convert to the allocator of this coroutine
#include <coracle/generators/generator.hpp>
#include <memory>

coracle::generator<int, void, std::allocator<char>> numbers(std::allocator_arg_t, std::allocator<int>) {
  co_yield 1;
}
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::generator<int, void, std::allocator<char>> others(std::allocator_arg_t, int) { co_yield 1; }
#endif
