// expect: A file is written at offsets
// tests/compile_fail/buffered_writer_of_file.cpp -- a file, where a writer needs a stream of bytes.
// SPDX-License-Identifier: MIT
#include <coracle/io/buffered_writer.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/write_only_file.hpp>

coracle::task<> wrong(coracle::stream_descriptor& output, coracle::write_only_file& file) {
  coracle::buffered_writer lines{output};
  co_await lines.write("right");
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  coracle::buffered_writer wrong_lines{file};
  co_await wrong_lines.write("wrong");
#else
  static_cast<void>(file);
#endif
}
