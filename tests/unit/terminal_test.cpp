// tests/unit/terminal_test.cpp -- terminals: lines, raw mode and size, on a pseudoterminal.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <coracle/io/terminal.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

namespace {
using coracle::io_service;
using coracle::raw_mode;
using coracle::stream_descriptor;
using coracle::task;

constexpr char ctrl_c = 3, ctrl_d = 4;

/// A terminal, and who sits at it.
struct pseudoterminal {
  explicit pseudoterminal(io_service& io) {
    int ends[2];
    if (::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) != 0) std::abort();
    user = std::make_unique<stream_descriptor>(io, ends[0]);
    terminal = std::make_unique<stream_descriptor>(io, ends[1]);
  }
  [[nodiscard]] bool gives_lines() const {
    termios mode{};
    ::tcgetattr(terminal->native_handle(), &mode);
    return (mode.c_lflag & ICANON) != 0 && (mode.c_lflag & ECHO) != 0;
  }
  std::unique_ptr<stream_descriptor> user, terminal;
};
task<std::string> some_of(stream_descriptor& from) {
  std::string text(64, '?');
  text.resize(co_await from.read_some(text));
  co_return text;
}

TEST_CASE("terminal: gives whole lines, as the user has edited them, up to Ctrl-D") {
  io_service io;
  pseudoterminal its{io};
  coracle::buffered_reader reader{*its.terminal};
  const auto read = [&]() -> task<std::string> {
    const auto line = co_await reader.read_line();
    co_return line ? std::string{*line} : "the end";
  };
  io.run(its.user->write_all("wrong\025hello\nnext\n"));  // Ctrl-U deletes the line
  CHECK(io.run(read()) == "hello");
  CHECK(io.run(read()) == "next");
  io.run(its.user->write_all(std::string_view{&ctrl_d, 1}));
  CHECK(io.run(read()) == "the end");
}

TEST_CASE("raw_mode: each key is read at once, Ctrl-C is one of them, and none is shown") {
  io_service io;
  pseudoterminal its{io};
  {
    const raw_mode raw{*its.terminal};
    CHECK_FALSE(its.gives_lines());
    {
      const raw_mode again{*its.terminal};
    }
    CHECK_FALSE(its.gives_lines());
    io.run(its.user->write_all("k"));
    CHECK(io.run(some_of(*its.terminal)) == "k");
    io.run(its.user->write_all(std::string_view{&ctrl_c, 1}));
    CHECK(io.run(some_of(*its.terminal)) == std::string_view{&ctrl_c, 1});
    io.run(its.terminal->write_all("shown\n"));
    CHECK(io.run(some_of(*its.user)) == "shown\n");  // and no echo before it
  }
  CHECK(its.gives_lines());
}

/// Ends a forked child after std::exit() has restored the terminal. A leak check would count as leaked what
/// only threads of the parent refer to.
struct end_of_child {
  ~end_of_child() {
    if (is_child) std::_Exit(status);
  }
  bool is_child = false;
  int status = 0;
};
end_of_child at_exit;  // older than the handler of raw_mode, so it runs after that

TEST_CASE("raw_mode: ends also with the program, and where the stream was closed before") {
  io_service io;
  pseudoterminal its{io};
  const pid_t child = ::fork();
  if (child == 0) {
    static const auto* const raw = new raw_mode{*its.terminal};  // which nobody destroys
    const bool was_raw = raw && !its.gives_lines();
    at_exit.is_child = true;
    at_exit.status = was_raw ? 0 : 1;
    std::exit(at_exit.status);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(its.gives_lines());

  stream_descriptor copy{io, ::dup(its.terminal->native_handle())};
  {
    const raw_mode raw{copy};
    copy.close();
    CHECK_FALSE(its.gives_lines());
  }
  CHECK(its.gives_lines());
}

TEST_CASE("terminal: has a size, if somebody has set one; a pipe is no terminal") {
  io_service io;
  pseudoterminal its{io};
  CHECK_FALSE(coracle::size_of_terminal(*its.terminal));
  const winsize size{24, 80, 0, 0};
  REQUIRE(::ioctl(its.user->native_handle(), TIOCSWINSZ, &size) == 0);
  CHECK(coracle::size_of_terminal(*its.terminal) == coracle::terminal_size{80, 24});
  CHECK(coracle::is_terminal(*its.terminal));
  auto pipe = coracle::make_pipe(io);
  CHECK_FALSE(coracle::is_terminal(pipe.read_end));
  CHECK_FALSE(coracle::size_of_terminal(pipe.read_end));
  CHECK_THROWS_AS(raw_mode{pipe.read_end}, std::system_error);
}
}  // namespace
