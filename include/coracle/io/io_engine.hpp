// coracle/io/io_engine.hpp -- what carries out the operations of an io_service.
// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace coracle {
/// What carries out the operations of an io_service, and why it was chosen.
///
///     // epoll: io_uring_setup: Operation not permitted
///     std::cerr << io.engine().name << ": " << io.engine().reason << '\n';
///
/// The environment variable CORACLE_IO selects an engine by its name. Without it, io_uring is used if the
/// system supports it (since Linux 5.19; containers often forbid it), and epoll otherwise. Both behave alike.
struct io_engine {
  std::string_view name;    ///< "io_uring", "epoll" or "simulated"
  std::string_view reason;  ///< why it was chosen, in English
};
}  // namespace coracle
