// coracle/io/io_engine.hpp -- what carries out the operations of an io_service.
// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace coracle {
/// What carries out the operations of an io_service, and why it was chosen.
///
///     std::cerr << io.engine().name << ": " << io.engine().reason << '\n';  // epoll: io_uring_setup: Operation not permitted
///
/// The environment variable CORACLE_IO asks for one by its name; without it, io_uring is used where the system offers it
/// (Linux 5.19, and not forbidden: containers often do), else epoll. Both do the same.
struct io_engine {
  std::string_view name;    ///< "io_uring", "epoll" or "simulated"
  std::string_view reason;  ///< in English
};
}  // namespace coracle
