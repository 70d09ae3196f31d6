// expect: docs/recipes.md has a source for one
// tests/compile_fail/buffered_reader_of_file.cpp -- a file, where a reader needs a stream of bytes.
// SPDX-License-Identifier: MIT
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/stream_descriptor.hpp>

coracle::task<> wrong(coracle::stream_descriptor& input, coracle::read_only_file& file) {
  coracle::buffered_reader lines{input};
  co_await lines.read_line();
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::buffered_reader wrong_lines{file};
  co_await wrong_lines.read_line();
#else
  static_cast<void>(file);
#endif
}
