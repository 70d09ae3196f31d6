// expect: collect() of elements that can be neither copied nor moved
// tests/compile_fail/stream_collect_pinned.cpp -- elements that stay in place are collected.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>

struct pinned {
  explicit pinned(int n) noexcept : number(n) {}
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  int number;
};
coracle::async_generator<pinned> all();
coracle::task<> wrong() {
  co_await (all() | coracle::streams::map(&pinned::number) | coracle::streams::collect());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (all() | coracle::streams::collect());
#endif
}
