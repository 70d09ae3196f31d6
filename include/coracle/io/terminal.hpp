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
/// Returns nothing for what is no terminal, or does not know its size. A change of it raises SIGWINCH: see signal_set.
[[nodiscard]] std::optional<terminal_size> size_of_terminal(const stream_descriptor& terminal) noexcept;
/// Returns true if `stream` is a terminal, and not a file or a pipe, say.
[[nodiscard]] bool is_terminal(const stream_descriptor& stream) noexcept;

/// Puts a terminal into raw mode as long as it lives: each key is read at once, none is shown, and Ctrl-C is a byte as any
/// other.
///
///     auto input = coracle::stream_descriptor::standard_input(io);
///     const coracle::raw_mode raw{input};
///     while (co_await input.read_some({&key, 1}) == 1 && key != escape) handle(key);
///
/// Without it a terminal gives whole lines, which the user has edited: a buffered_reader reads them. The end, Ctrl-D, is that of
/// a file.
///
/// Its end       the terminal is as it was before: when this is destroyed, and at std::exit(). A program that a signal ends
///               leaves it raw, so wait for SIGTERM by a signal_set.
/// Exceptions    the constructor: std::system_error, std::errc::inappropriate_io_control_operation for what is no terminal;
///               std::bad_alloc.
/// Threads       as any object. Of several on one terminal, the last made is destroyed first.
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
