// expect: this coroutine returns a reference, and this is a temporary or a local
// tests/compile_fail/co_return_temporary_by_reference.cpp -- a reference that would refer to a conversion's
// result.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <functional>
#include <string>

struct base {};
struct derived : base {};
const std::string text = "long-lived";
const derived object;
coracle::task<const std::string&> right() { co_return text; }
coracle::task<const base&> right_base() { co_return object; }
coracle::task<const std::string&> right_wrapped() { co_return std::cref(text); }
coracle::task<std::string&&> right_moved(std::string& from) { co_return std::move(from); }
#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<const std::string&> wrong() { co_return "short-lived"; }
#endif
