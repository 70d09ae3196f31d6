// expect: read_only_file::open(io, path)
// tests/compile_fail/file_not_opened.cpp -- a constructor in place of open().
// SPDX-License-Identifier: MIT
#include <coracle/io/read_only_file.hpp>

void wrong(coracle::io_service& io) {
  const auto right = coracle::read_only_file::open(io, "names.txt");
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::read_only_file file(io, "names.txt");
#endif
}
