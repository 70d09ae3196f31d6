// expect: a tls::stream owns a byte_stream, such as a net::socket
// tests/compile_fail/tls_stream_of_file.cpp -- TLS over what is read at offsets.
// SPDX-License-Identifier: MIT
#include <coracle/io/read_write_file.hpp>
#include <coracle/tls/stream.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
using wrong = coracle::tls::stream<coracle::read_write_file>;
#else
using wrong = coracle::tls::stream<coracle::net::socket>;
#endif
static_assert(sizeof(wrong) != 0);
