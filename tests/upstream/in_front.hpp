// tests/upstream/in_front.hpp -- included in front of cppcoro's own test files, which stay as they are.
// SPDX-License-Identifier: MIT
#pragma once
#include <doctest/doctest.h>  // its include guard keeps out the copy that stands beside the tests

#include <coroutine>
#include <cstring>  // file_tests.cpp uses it without including it
#include <filesystem>

#if defined(CORACLE_UPSTREAM_USES_TS)
// What the technical specifications for coroutines and file systems declared here.
namespace std::experimental {
using std::coroutine_handle;
namespace filesystem = std::filesystem;
}  // namespace std::experimental
#endif
