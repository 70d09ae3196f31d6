// tests/probes/io_uring_refused.cpp -- an io_service where a seccomp filter refuses io_uring_setup(2), as
// most containers do.
// SPDX-License-Identifier: MIT
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_engine.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/net/socket.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include "../support/abort_message.hpp"
#include "../support/expect.hpp"

// Each scenario runs in a process of its own, which has not asked the system for an io_uring before.
namespace {
using coracle::io_service;
using coracle::task;
using coracle::net::socket;
using coracle_test::expect;

/// Ends this process if the system lets no process filter its own calls.
template <int Error>
void refuse_io_uring() {
  sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | Error),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(sizeof steps / sizeof *steps), steps};
  const bool is_set = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
  if (!is_set) std::_Exit(77);
}
int exit_status_of(void (*body)()) {
  coracle_test::child_process child{body};
  return child.wait() >> 8;
}

task<> answer(socket& listener) {
  socket client = co_await listener.accept();
  char byte = 0;
  co_await client.recv(&byte, 1);
  co_await client.send_all(&byte, 1);
}
task<char> ask(io_service& io, coracle::net::ip_endpoint server) {
  socket one = socket::create_tcpv4(io);
  co_await one.connect(server);
  co_await one.send_all("x", 1);
  char byte = 0;
  co_await one.recv_exactly(&byte, 1);
  co_return byte;
}
bool works(io_service& io) {
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  auto asked = ask(io, listener.local_endpoint());
  const auto results = io.run(coracle::when_all(std::move(asked), answer(listener)));
  return std::get<0>(results) == 'x';
}

template <int Error>
void falls_back() {
  ::unsetenv("CORACLE_IO");
  refuse_io_uring<Error>();
  io_service io;
  if (io.engine().name != "epoll") std::_Exit(1);
  if (io.engine().reason.find("io_uring_setup: ") != 0) std::_Exit(2);
  std::_Exit(works(io) ? 0 : 3);
}
/// A program that requests io_uring gets the error.
void is_asked_for() {
  ::setenv("CORACLE_IO", "io_uring", 1);
  refuse_io_uring<EPERM>();
  try {
    io_service io;
    std::_Exit(1);
  } catch (const std::system_error& e) {
    const bool is_right =
        e.code().value() == EPERM && std::string(e.what()).find("CORACLE_IO requests io_uring") == 0;
    std::_Exit(is_right ? 0 : 2);
  }
}
/// That may pass: it is an error of whoever needs the ring, and no reason to go without for ever.
template <int Error>
void is_out_of_something() {
  ::unsetenv("CORACLE_IO");
  refuse_io_uring<Error>();
  io_service io;
  if (io.engine().name != "io_uring") std::_Exit(1);
  try {
    const socket none = socket::create_tcpv4(io);
    std::_Exit(2);
  } catch (const std::system_error& e) {
    std::_Exit(e.code().value() == Error ? 0 : 3);
  }
}
}  // namespace

int main() {
  if (exit_status_of([] { refuse_io_uring<EPERM>(); }) == 77) {
    std::puts("left out: the system lets no process filter its own calls");
    return 0;
  }
  expect(exit_status_of(falls_back<ENOSYS>) == 0, "a kernel without io_uring");
  expect(exit_status_of(falls_back<EPERM>) == 0, "a filter, or a system administrator, forbids io_uring");
  expect(exit_status_of(falls_back<EINVAL>) == 0, "a kernel whose io_uring is too old");
  expect(exit_status_of(is_asked_for) == 0, "io_uring is asked for, and refused");
  expect(exit_status_of(is_out_of_something<ENOMEM>) == 0, "no memory for an io_uring");
  expect(exit_status_of(is_out_of_something<EMFILE>) == 0, "no descriptor for an io_uring");
  return coracle_test::exit_status("an io_service works where io_uring is refused");
}
