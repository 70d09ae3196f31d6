// expect: not an expected, whose error would be lost
// tests/compile_fail/stream_of_expected.cpp -- a source whose errors a pipeline would take for its end.
// SPDX-License-Identifier: MIT
#include <coracle/streams/ends.hpp>
#include <coracle/utility/expected.hpp>
#include <optional>

template <class Found>
struct source {
  coracle::task<Found> next();
};
coracle::task<> wrong() {
  co_await (source<std::optional<int>>{} | coracle::streams::collect());
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  co_await (source<coracle::expected<int, int>>{} | coracle::streams::collect());
#endif
}
