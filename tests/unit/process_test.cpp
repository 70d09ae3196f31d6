// tests/unit/process_test.cpp -- child processes: what they inherit, how they end, and what is left of them.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/with_environment.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/process.hpp>
#include <coracle/io/run_command.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/descriptor_limit.hpp"

namespace {
using namespace std::chrono_literals;
using coracle::command;
using coracle::command_result;
using coracle::exit_status;
using coracle::io_service;
using coracle::process;
using coracle::redirection;
using coracle::run_command;
using coracle::task;

command shell(const char* script) { return command{"/bin/sh", "-c", script}; }
command_result run(command what, std::string input = {}) {
  io_service io;
  return io.run(run_command(io, std::move(what), std::move(input)));
}
std::string output_of(command what, std::string input = {}) {
  return run(std::move(what), std::move(input)).output;
}
template <class Body>
std::error_code thrown(Body body) {
  try {
    body();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}
int open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<int>(std::distance(begin(all), end(all)));
}
bool exists(int id) { return ::kill(id, 0) == 0; }
task<std::string> next_line(coracle::stream_descriptor& from) {
  coracle::buffered_reader reader{from};
  const auto line = co_await reader.read_line();
  co_return std::string(line.value_or("?"));
}
struct scratch {
  scratch() {
    char name[] = "/tmp/coracle_process_XXXXXX";
    if (::mkdtemp(name) == nullptr) std::abort();
    path = name;
  }
  ~scratch() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
  std::filesystem::path path;
};
std::string content(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream{path}.rdbuf();
  return all.str();
}

TEST_CASE("process: exits with a code, or is killed by a signal") {
  CHECK(run(shell("exit 0")).status.is_success());
  const exit_status three = run(shell("exit 3")).status;
  CHECK(three == exit_status::exited_with(3));
  CHECK_FALSE(three.is_success());
  CHECK(three.to_string() == "exited with 3");
  const exit_status killed = run(shell("kill -9 $$")).status;
  CHECK(killed == exit_status::killed_by(SIGKILL));
  CHECK(killed.code() == -1);
  CHECK(killed.to_string() == "killed by signal 9 (Killed)");
}

TEST_CASE("process: what cannot be run is an error of the constructor, and leaves nothing behind") {
  io_service io;
  const scratch folder;
  std::ofstream{folder.file("text")} << "no program";
  static_cast<void>(coracle::make_pipe(io));  // the io_service now has the descriptors that it needs itself
  const int before = open_descriptors();
  const auto start = [&](command what) {
    return thrown([&] { process{io, what.input(redirection::pipe()).output(redirection::pipe())}; });
  };
  CHECK(start(command{"/does/not/exist"}) == std::errc::no_such_file_or_directory);
  CHECK(start(command{"coracle-has-no-such-program"}) == std::errc::no_such_file_or_directory);
  CHECK(start(command{""}) == std::errc::no_such_file_or_directory);
  CHECK(start(command{folder.file("text")}) == std::errc::permission_denied);
  ::chmod(folder.file("text").c_str(), 0755);
  CHECK(start(command{folder.file("text")}) == std::errc::executable_format_error);
  CHECK(start(shell(":").folder("/does/not/exist")) == std::errc::no_such_file_or_directory);
  CHECK(start(shell(":").error(redirection::from_file("/does/not/exist"))) ==
        std::errc::no_such_file_or_directory);
  CHECK(start(shell(":").descriptor(5, redirection::copy_of(900))) == std::errc::bad_file_descriptor);
  CHECK(start(shell(":").limit(9999, 1)) == std::errc::invalid_argument);
  CHECK(open_descriptors() == before);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("process: without memory to start it, nothing stays open" *
          doctest::skip(!coracle::testing::allocations_are_counted)) {
  io_service io;
  const command what = command{"true"}.input(redirection::null()).output(redirection::null());
  const auto run = [&]() -> task<> {
    process child{io, what};
    co_await child.wait();
  };
  io.run(run());  // what is made once
  const int before = open_descriptors();
  const int failed = coracle::testing::fail_each_allocation([&] {
    try {
      io.run(run());
    } catch (const std::bad_alloc&) {
    }
  });
  CHECK(failed >= 10);
  CHECK(open_descriptors() == before);
}

TEST_CASE("process: the error names the program, and the file or folder that it could not have") {
  io_service io;
  static_cast<void>(coracle::make_pipe(io));
  const auto message = [&](const command& what) {
    std::string text = "none";
    try {
      process{io, what};
    } catch (const std::system_error& error) {
      text = error.what();
    }
    return text;
  };
  const std::string missing = ": No such file or directory", exhausted = ": Too many open files";
  CHECK(message(command{"/no/program"}) == "cannot run /no/program" + missing);
  CHECK(message(command{""}) == "cannot run \"\"" + missing);
  CHECK(message(shell(":").folder("/no/folder")) == "cannot enter /no/folder for /bin/sh" + missing);
  CHECK(message(shell(":").input(redirection::from_file("/no/file"))) ==
        "cannot open /no/file for /bin/sh" + missing);
  const coracle_test::descriptor_limit none{0};
  CHECK(message(shell(":").input(redirection::null())) == "cannot open /dev/null for /bin/sh" + exhausted);
  CHECK(message(shell(":").output(redirection::pipe())) == "cannot create a pipe for /bin/sh" + exhausted);
  CHECK(message(shell(":")) == "cannot start a process for /bin/sh" + exhausted);
}

TEST_CASE("process: a text with a NUL in it is refused, rather than cut there") {
  using namespace std::string_literals;
  const auto message = [](const command& what) {
    io_service io;
    std::string text;
    try {
      process{io, what};
    } catch (const std::system_error& error) {
      text = error.what();
    }
    return text;
  };
  const std::string cut = "/bin/sh\0x"s,
                    refused = "cannot run /bin/sh, a text with a NUL in it: Invalid argument";
  CHECK(message(command{cut}) == refused);
  CHECK(message(command{"/bin/sh", cut}) == refused);
  CHECK(message(shell(":").environment("A", cut)) == refused);
  CHECK(message(shell(":").folder("/\0x"s)) == refused);
  CHECK(message(shell(":").output(redirection::to_file("/dev/null\0x"s))) == refused);
}

TEST_CASE("process: a name without a slash is looked up in PATH, past what may not be executed") {
  const scratch folder;
  std::filesystem::create_directory(folder.path / "echo");
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (folder.path.string() + ":/does/not/exist:" + before).c_str(), 1);
  CHECK(output_of(command{"echo", "found"}) == "found\n");
  ::setenv("PATH", before.c_str(), 1);
}

TEST_CASE("run_command: collects standard output and standard error, apart or together") {
  const command_result apart = run(shell("echo out; echo err >&2"));
  CHECK(apart.output == "out\n");
  CHECK(apart.error == "err\n");
  const command_result together = run(shell("echo out; echo err >&2; echo more").error_to_output());
  CHECK(together.output == "out\nerr\nmore\n");
  CHECK(together.error.empty());
  command piped = shell("echo out; echo err >&2");
  const command_result both = run(piped.output(redirection::pipe()).error(redirection::pipe()));
  CHECK(both.output + both.error == "out\nerr\n");
}

TEST_CASE("run_command: much input, output and errors at the same time are no deadlock") {
  const std::string much(1'000'000, 'm');
  const command_result result = run(shell("tee /dev/stderr"), much);
  CHECK(result.status.is_success());
  CHECK(result.output == much);
  CHECK(result.error == much);
}

TEST_CASE("run_command: input that nobody reads is no error, and raises no SIGPIPE") {
  const command_result result = run(command{"true"}, std::string(1'000'000, 'i'));
  CHECK(result.status.is_success());
  CHECK(output_of(command{"cat"}).empty());  // without input there is none
  CHECK(output_of(command{"cat"}.input(redirection::pipe()), "text") == "text");
}

TEST_CASE("run_command: more output than is allowed is an error, and ends the program") {
  io_service io;
  std::string text;
  try {
    io.run(run_command(io, command{"yes"}, {}, 1000));
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::message_size);
    text = error.what();
  }
  CHECK(text == "yes has written more than 1000 bytes: Message too long");
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
}

TEST_CASE("run_command: a stop request from before does not start the program") {
  io_service io;
  coracle::stop_source stop;
  stop.request_stop();
  const auto run = [&]() -> task<> { co_await run_command(io, command{"/no/such/program"}); };
  CHECK_THROWS_AS(io.run(coracle::with_stop(run(), stop.get_token())), coracle::operation_cancelled);
}

TEST_CASE("run_command: in time, or killed together with what it has started") {
  io_service io;
  const auto run_long = [&]() -> task<bool> {
    try {
      co_await coracle::timeout(run_command(io, shell("sleep 1000 & sleep 1000").new_group()), 1ms);
    } catch (const coracle::timed_out&) {
      co_return true;
    }
    co_return false;
  };
  CHECK(io.run(run_long()));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("process: is given an environment and a folder") {
  ::setenv("CORACLE_TEST_KEPT", "kept", 1);
  ::setenv("CORACLE_TEST_GONE", "gone", 1);
  command what = shell("echo $CORACLE_TEST_KEPT-$CORACLE_TEST_GONE-$CORACLE_TEST_NEW; pwd");
  what.environment("CORACLE_TEST_NEW", "old").environment("CORACLE_TEST_NEW", "new=1");
  what.without_environment("CORACLE_TEST_GONE").folder("/");
  CHECK(output_of(std::move(what)) == "kept--new=1\n/\n");
  CHECK(output_of(command{"/usr/bin/env"}.empty_environment().environment("A", "b")) == "A=b\n");
}

TEST_CASE("process: its input and output are files, /dev/null, or any descriptor of this process") {
  const scratch folder;
  const std::string path = folder.file("out");
  CHECK(run(shell("echo one").output(redirection::to_file(path))).output.empty());
  run(shell("echo two").output(redirection::append_to(path)));
  CHECK(content(path) == "one\ntwo\n");
  CHECK(output_of(command{"cat"}.input(redirection::from_file(path))) == "one\ntwo\n");
  CHECK(output_of(shell("echo lost; echo x >&2").output(redirection::null())).empty());

  io_service io;
  auto pipe = coracle::make_pipe(io);
  const int write_end = pipe.write_end.native_handle();
  process child{io, shell("echo seven >&7").descriptor(7, redirection::copy_of(write_end))};
  CHECK(io.run(next_line(pipe.read_end)) == "seven");
  CHECK(io.run(child.wait()).is_success());
}

TEST_CASE("process: descriptors that change places do not overwrite each other") {
  io_service io;
  auto a = coracle::make_pipe(io), b = coracle::make_pipe(io);
  const int first = a.write_end.native_handle(), second = b.write_end.native_handle();
  const std::string script =
      "echo first >&" + std::to_string(second) + "; echo second >&" + std::to_string(first);
  command what{"/bin/bash", "-c", script};  // sh accepts only numbers of one digit
  what.descriptor(first, redirection::copy_of(second)).descriptor(second, redirection::copy_of(first));
  process child{io, what};
  CHECK(io.run(next_line(a.read_end)) == "first");
  CHECK(io.run(next_line(b.read_end)) == "second");
  CHECK(io.run(child.wait()).is_success());
}

TEST_CASE("process: a number that is free here is as good as any other") {
  io_service io;
  auto pipe = coracle::make_pipe(io);
  const int next_free = ::dup(STDERR_FILENO);
  ::close(next_free);
  const int write_end = pipe.write_end.native_handle();
  for (int number = next_free; number != next_free + 6; ++number) {
    const std::string script = "echo here >&" + std::to_string(number);
    command what{"/bin/bash", "-c", script};  // sh accepts only numbers of one digit
    process child{io, what.descriptor(number, redirection::copy_of(write_end))};
    CHECK(io.run(next_line(pipe.read_end)) == "here");
    CHECK(io.run(child.wait()).is_success());
  }
}

TEST_CASE("process: inherits no descriptor but its own, not even one that stays open at exec") {
  const int open_at_exec = ::open("/dev/null", O_RDONLY);
  io_service io;
  auto pipe = coracle::make_pipe(io);
  CHECK(output_of(command{"ls", "/proc/self/fd"}) == "0\n1\n2\n3\n");  // 3: the folder itself
  ::close(open_at_exec);
}

TEST_CASE("process: begins with no signal blocked or ignored, whatever its parent does") {
  sigset_t user, before;
  ::sigemptyset(&user);
  ::sigaddset(&user, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &user, &before);
  const auto action = ::signal(SIGUSR2, SIG_IGN);
  CHECK(run(shell("kill -USR1 $$")).status == exit_status::killed_by(SIGUSR1));
  CHECK(run(shell("kill -USR2 $$")).status == exit_status::killed_by(SIGUSR2));
  ::signal(SIGUSR2, action);
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, &before, &now);
  CHECK(::sigismember(&now, SIGUSR1) == 1);  // as it was
}

TEST_CASE("process: is given limits, a group or a session of its own") {
  CHECK(output_of(shell("ulimit -n").limit(RLIMIT_NOFILE, 17)) == "17\n");
  const auto places = [](command what) {  // its id, that of its group, and of its session
    std::istringstream fields{output_of(std::move(what))};
    std::string name, state;
    int id = 0, parent = 0, group = 0, session = 0;
    fields >> id >> name >> state >> parent >> group >> session;
    return std::array<int, 3>{id, group, session};
  };
  const auto inherited = places(command{"cat", "/proc/self/stat"});
  CHECK(inherited[1] == ::getpgrp());
  const auto group = places(command{"cat", "/proc/self/stat"}.new_group());
  CHECK(group[1] == group[0]);
  CHECK(group[2] == ::getsid(0));
  const auto session = places(command{"cat", "/proc/self/stat"}.new_session());
  CHECK(session[1] == session[0]);
  CHECK(session[2] == session[0]);
}

TEST_CASE("process: is killed and reaped when it is destroyed, and not before") {
  io_service io;
  int id = 0;
  {
    process child{io, command{"sleep", "1000"}};
    id = child.id();
    process moved{std::move(child)};
    CHECK(child.id() == 0);
    CHECK(moved.id() == id);
    CHECK(exists(id));
  }
  CHECK_FALSE(exists(id));
  {
    process child{io, command{"true"}};
    id = child.id();
    CHECK(io.run(child.wait()).is_success());
    CHECK(io.run(child.wait()).is_success());  // it says so again
    CHECK(exists(id));                         // nobody else is given its id
    CHECK_NOTHROW(child.signal(SIGTERM));
    child = process{io, command{"sleep", "1000"}};
    CHECK_FALSE(exists(id));
    id = child.id();
  }
  CHECK_FALSE(exists(id));
}

TEST_CASE("process: its group ends with it, also what it has left running") {
  io_service io;
  auto pipe = coracle::make_pipe(io);
  const int write_end = pipe.write_end.native_handle();
  {
    command what = shell("sleep 1000 & echo begun");
    process child{io, what.new_group().output(redirection::copy_of(write_end))};
    pipe.write_end.close();
    CHECK(io.run(next_line(pipe.read_end)) == "begun");
    CHECK(io.run(child.wait()).is_success());
  }
  CHECK(io.run(next_line(pipe.read_end)) == "?");  // nobody has the pipe any more
}

TEST_CASE("process: a wait that is stopped leaves it running") {
  io_service io;
  process child{io, command{"cat"}.input(redirection::pipe()).output(redirection::pipe())};
  const auto wait = [&]() -> task<bool> {
    try {
      co_await coracle::timeout(child.wait(), 1ms);
    } catch (const coracle::timed_out&) {
      co_return true;
    }
    co_return false;
  };
  CHECK(io.run(wait()));
  io.run(child.input().write_all("still there\n"));
  CHECK(io.run(next_line(child.output())) == "still there");
  child.signal(SIGTERM);
  CHECK(io.run(child.wait()) == exit_status::killed_by(SIGTERM));
}

TEST_CASE("process: several coroutines wait for its end, also on two threads, and each gets the status") {
  io_service io;
  process child{io, command{"cat"}.input(redirection::pipe())};
  const auto wait = [&]() -> task<int> {
    const exit_status its = co_await child.wait();
    co_return its.signal();
  };
  const auto end = [&]() -> task<> {
    child.signal(SIGKILL);
    co_return;
  };
  coracle::static_thread_pool pool{1};
  const auto [here, there, none] =
      io.run(coracle::when_all(wait(), coracle::schedule_on(wait(), pool), end()));
  CHECK(here == SIGKILL);
  CHECK(there == SIGKILL);
}

TEST_CASE("process: moved while a coroutine waits for its end, it ends the program and says so") {
  CHECK(coracle_test::abort_message([] {
          io_service io;
          process child{io, command{"cat"}.input(redirection::pipe())};
          const auto wait = [&]() -> task<> { co_await child.wait(); };
          auto waits = coracle::testing::poll(wait());
          process moved_to = std::move(child);
          moved_to.input().close();
          while (!waits.run()) io.process_one_event();
        }) ==
        "coracle: a process was moved, and then the end of a wait() for it came: keep it in its place until "
        "its waits have ended\n");
}

TEST_CASE("process: is terminated in peace, or killed if it takes no notice") {
  io_service io;
  const auto started = [&](const char* script) {
    process child{io, shell(script).input(redirection::pipe()).output(redirection::pipe()).new_group()};
    CHECK(io.run(next_line(child.output())) == "ready");
    return child;
  };
  process polite = started("trap 'exit 3' TERM; echo ready; while :; do sleep 1000 & wait; done");
  CHECK(io.run(polite.terminate(1h)) == exit_status::exited_with(3));
  process deaf = started("trap '' TERM; echo ready; while :; do sleep 1000 & wait; done");
  CHECK(io.run(deaf.terminate(1ms)) == exit_status::killed_by(SIGKILL));
  process gone = started("echo ready");
  CHECK(io.run(gone.wait()).is_success());
  CHECK(io.run(gone.terminate(1h)).is_success());
}

TEST_CASE("process: in a program that ignores SIGCHLD nobody knows how it has ended") {
  io_service io;
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  {
    process child{io, command{"true"}};
    CHECK(thrown([&] { io.run(child.wait()); }) == std::errc::no_child_process);
    process killed{io, command{"sleep", "1000"}};
  }
  ::signal(SIGCHLD, before);
}

TEST_CASE("process: several threads start some at a time, and each gets its own") {
  const int before = open_descriptors();
  std::array<int, 4> right{};
  std::vector<std::thread> threads;
  for (std::size_t mine = 0; mine != right.size(); ++mine) {
    threads.emplace_back([&right, mine] {
      io_service io;
      for (int i = 0; i != 10; ++i) {
        const std::string text = std::to_string(mine) + "-" + std::to_string(i);
        right[mine] += io.run(run_command(io, command{"cat"}, text)).output == text ? 1 : 0;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const int each : right) CHECK(each == 10);
  CHECK(open_descriptors() == before);
}
}  // namespace
