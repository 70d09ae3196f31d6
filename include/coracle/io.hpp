// coracle/io.hpp -- all of I/O: the event loop, files, sockets, internet addresses, processes and signals.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/buffered_writer.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/io/command.hpp>
#include <coracle/io/exit_status.hpp>
#include <coracle/io/io_engine.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <coracle/io/process.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/io/run_command.hpp>
#include <coracle/io/signal_set.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/terminal.hpp>
#include <coracle/io/write_only_file.hpp>
#include <coracle/net/accept_with_backoff.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/ip_address.hpp>
#include <coracle/net/ip_endpoint.hpp>
#include <coracle/net/resolve.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_address.hpp>
#include <coracle/net/unix_socket.hpp>
