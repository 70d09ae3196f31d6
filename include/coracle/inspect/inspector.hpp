// coracle/inspect/inspector.hpp -- a page, and JSON, that show the coroutines of the running program.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace coracle {
namespace detail {
class inspector_server;
}

/// Serves a page that shows every coroutine of the program, what each waits for, and deadlocks of locks.
///
///     coracle::inspector here;
///     std::puts(here.url().c_str());  // http://127.0.0.1:40123/?token=3f...
///
/// Link coracle::inspect. Such a program can also be started with CORACLE_INSPECT=127.0.0.1:0 in its
/// environment, which constructs an inspector before main() and prints the URL to stderr. The page is for a
/// browser; `/coroutines` is JSON, and `/events` sends it again each second (docs/debugging.md).
///
/// A request without the token of the URL is refused. A socket in the file system needs no token, because no
/// other user may connect to it. The answers contain names of functions and addresses of memory.
/// Threads     has one of its own, on which nothing of the program runs, so that it answers while every
///             scheduler is blocked. That thread handles no signal, and a forked child does not have it.
/// Cost        none until a request. Then the memory of the program is copied, page by page as the program
///             writes to it, and the copy is searched on the inspector's thread (ADR 43).
class inspector {
 public:
  /// Listens at `where`: `unix:PATH`, or a numeric address as `127.0.0.1:PORT` or `[::1]:PORT`. Port 0 takes
  /// a free one.
  /// Exceptions  std::system_error if it cannot listen there, std::invalid_argument if that is no address.
  explicit inspector(const std::string& where = "127.0.0.1:0");
  inspector(const inspector&) = delete;
  inspector& operator=(const inspector&) = delete;
  /// Closes all connections and joins the thread, which completes a search that has begun.
  ~inspector();

  /// Returns the URL of the page with its token, or `unix:PATH`.
  [[nodiscard]] const std::string& url() const noexcept;

 private:
  detail::inspector_server* server_;  // its own
};
}  // namespace coracle
