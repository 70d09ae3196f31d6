// tests/unit/simulated_host_errors_test.cpp -- every operation on a simulated host, with every error that the
// manual page of its system call lists, as probes/system_errors.cpp tests them on Linux.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/write_only_file.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/time/sleep.hpp>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "../support/expect.hpp"
#include "../support/system_error_table.hpp"

namespace {
using namespace coracle_test::system_errors;
using coracle::testing::host_operation;
using coracle::testing::simulated_host;
using coracle::testing::simulated_network;
using coracle::testing::simulation;

struct machine {
  machine() {
    host.disk().put("/files/file", "text");
    host.disk().create_directories("/files/full/below");
    host.io().run(fs::create_symlink(host.io(), "file", "/files/link"));
  }
  simulation sim{1};
  simulated_network network{sim};
  simulated_host host{network, "10.0.0.1"};
  place where{host.io(), "/files"};
};

struct simulated_call {
  host_operation what;
  std::size_t after = 0;
};
/// By the first system call of an operation. Without those of what is not simulated.
const std::map<std::string_view, simulated_call> simulated{
    {"recv", {host_operation::receive}},
    {"recvmsg", {host_operation::receive}},
    {"recvfrom", {host_operation::receive}},
    {"recvmmsg", {host_operation::receive}},
    {"send", {host_operation::send}},
    {"ring SEND", {host_operation::send, 1}},  // the second of two
    {"sendmsg", {host_operation::send}},
    {"sendto", {host_operation::send}},
    {"sendmmsg", {host_operation::send}},
    {"sendfile", {host_operation::send}},
    {"accept4", {host_operation::accept}},
    {"connect", {host_operation::connect}},
    {"socket", {host_operation::open_socket}},
    {"bind", {host_operation::bind}},
    {"listen", {host_operation::listen}},
    {"shutdown", {host_operation::shut_down}},
    {"open", {host_operation::open}},
    {"openat", {host_operation::open}},
    {"openat2", {host_operation::open, 1}},  // of a directory below the one where the walk begins
    {"pread", {host_operation::read}},
    {"preadv", {host_operation::read}},
    {"pwrite", {host_operation::write}},
    {"pwritev", {host_operation::write}},
    {"fsync", {host_operation::sync}},
    {"ftruncate", {host_operation::set_size}},
    {"fcntl", {host_operation::lock}},
    {"copy_file_range", {host_operation::copy_range}},
    {"statx", {host_operation::status}},
    {"fstat", {host_operation::status}},
    {"renameat2", {host_operation::rename}},
    {"linkat", {host_operation::link}},
    {"symlinkat", {host_operation::link}},
    {"readlinkat", {host_operation::read_link}},
    {"mkdirat", {host_operation::create_directory}},
    {"unlinkat", {host_operation::remove}},
    {"getdents64", {host_operation::list_directory}},
    {"inotify_init1", {host_operation::open_watcher}},
    {"inotify_add_watch", {host_operation::watch}},
};

void fails_once(const operation& what, const simulated_call& call, company with, int error, bool survives) {
  CAPTURE(what.name);
  const std::string name_of_error = ::strerrorname_np(error);
  CAPTURE(name_of_error);
  machine m;
  const std::size_t open_before = m.host.open_descriptors();
  {
    const attempt work = what.prepare(m.where);
    m.host.fail_next(call.what, error, call.after);
    const std::error_code end = end_of(m.where, work, with);
    CHECK(m.host.faults_left() == 0);
    CHECK(end == std::error_code{survives ? 0 : error, std::system_category()});
    if (end) CHECK(!end_of(m.where, work, with));
  }
  CHECK(m.host.open_descriptors() == open_before);
}

TEST_CASE("simulated host: every operation ends with each error of its system call, and then succeeds") {
  const int failures_before = coracle_test::failures;
  std::vector<std::string> not_simulated;
  for (const operation& each : all_operations()) {
    const auto call = simulated.find(each.calls.front());
    if (call == simulated.end()) {
      not_simulated.emplace_back(each.calls.front());
      continue;
    }
    for (const company with : {company::alone, company::beside_another}) {
      for (const int error : each.errors) fails_once(each, call->second, with, error, false);
      for (const int error : each.survived) fails_once(each, call->second, with, error, true);
    }
  }
  CHECK(coracle_test::failures == failures_before);
  CHECK(not_simulated == std::vector<std::string>{"read", "write", "ioctl", "pipe2", "epoll_create1", "mmap",
                                                  "io_uring_setup", "eventfd", "timerfd_create",
                                                  "epoll_ctl"});
}

TEST_CASE("simulated host: fail_next() counts the calls of its operation, each fault by itself") {
  machine m;
  m.host.fail_next(host_operation::write, ENOSPC, 2);
  m.host.fail_next(host_operation::write, EIO);
  m.host.fail_next(host_operation::sync, EDQUOT);
  CHECK(m.host.faults_left() == 3);
  std::vector<int> errors;
  const auto attempts = [&]() -> task<> {
    coracle::write_only_file file = co_await fs::open_write_only(m.host.io(), "/files/file");
    for (int i = 0; i != 4; ++i) {
      errors.push_back(0);
      try {
        co_await file.write(0, "x", 1);
      } catch (const std::system_error& failure) {
        errors.back() = failure.code().value();
      }
    }
  };
  m.host.io().run(attempts());
  CHECK(errors == std::vector<int>{EIO, 0, ENOSPC, 0});
  CHECK(m.host.faults_left() == 1);
}

TEST_CASE("simulated host: a call that fail_next() makes fail has no other effect") {
  machine m;
  m.host.fail_next(host_operation::remove, EBUSY);
  m.host.fail_next(host_operation::write, EIO);
  const auto attempts = [&]() -> task<> {
    coracle::write_only_file file = co_await fs::open_write_only(m.host.io(), "/files/file");
    CHECK_THROWS_AS(co_await file.write(0, "x", 1), std::system_error);
    CHECK_THROWS_AS(co_await fs::remove(m.host.io(), "/files/file"), std::system_error);
  };
  m.host.io().run(attempts());
  CHECK(m.host.disk().contents("/files/file") == "text");
}

TEST_CASE("simulated host: a file operation that shall fail takes the time of the device") {
  machine m;
  m.host.fail_next(host_operation::sync, EIO);
  const auto before = m.sim.now();
  const auto attempts = [&]() -> task<> {
    coracle::write_only_file file = co_await fs::open_write_only(m.host.io(), "/files/file");
    const auto opened = m.sim.now();
    CHECK(opened > before);
    CHECK_THROWS_AS(co_await file.sync(), std::system_error);
    CHECK(m.sim.now() > opened);
  };
  m.host.io().run(attempts());
}

TEST_CASE("simulated host: a call that waits already does not meet a fault that is added later") {
  machine m;
  two_udp_sockets both{m.host.io()};
  const auto receive = [&]() -> task<> {
    char text[4];
    for (const std::size_t expected : {4U, 1U}) {
      const std::size_t got = co_await both.to.recv(text, sizeof text);
      CHECK(got == expected);
    }
    CHECK_THROWS_AS(co_await both.to.recv(text, sizeof text), std::system_error);
  };
  const auto send = [&]() -> task<> {
    co_await coracle::sleep_for(std::chrono::seconds{1});  // the second recv() waits by then
    m.host.fail_next(host_operation::receive, ECONNRESET);
    co_await both.from.send_to(both.to.local_endpoint(), "x", 1);
  };
  m.host.io().run(coracle::when_all(receive(), send()));
  CHECK(m.host.faults_left() == 0);
}
}  // namespace
