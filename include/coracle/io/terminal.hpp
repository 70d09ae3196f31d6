// coracle/io/terminal.hpp -- the size of a terminal, and its raw mode.
// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>

namespace coracle {
class stream_descriptor;

/// In characters.
struct terminal_size {
  int columns, rows;
  friend bool operator==(const terminal_size&, const terminal_size&) noexcept = default;
};
/// Returns nothing if `terminal` is not a terminal, or does not report its size. A resize raises SIGWINCH:
/// see signal_set.
[[nodiscard]] std::optional<terminal_size> size_of_terminal(const stream_descriptor& terminal) noexcept;
/// Returns true if `stream` is a terminal rather than, for example, a file or a pipe.
[[nodiscard]] bool is_terminal(const stream_descriptor& stream) noexcept;

/// Puts a terminal into raw mode while it exists: each key is read at once and not echoed, and Ctrl-C is an
/// ordinary byte.
///
///     auto input = coracle::stream_descriptor::standard_input(io);
///     const coracle::raw_mode raw{input};
///     while (co_await input.read_some({&key, 1}) == 1 && key != escape) handle(key);
///
/// In normal mode a terminal delivers whole lines, after line editing: read them with a buffered_reader.
/// Ctrl-D ends the input like the end of a file.
///
/// Lifetime      the terminal is restored when this is destroyed, and at std::exit(). A program that is ended
///               by a signal leaves it raw, so wait for SIGTERM with a signal_set.
/// Exceptions    the constructor: std::system_error, std::errc::inappropriate_io_control_operation if
///               `terminal` is not a terminal; std::bad_alloc.
/// Threads       not thread-safe. Several on one terminal must be destroyed in reverse order of creation.
class raw_mode {
 public:
  explicit raw_mode(const stream_descriptor& terminal);
  raw_mode(const raw_mode&) = delete;
  raw_mode& operator=(const raw_mode&) = delete;
  ~raw_mode();

 private:
  struct saved;
  std::unique_ptr<saved> before_;
};
}  // namespace coracle
