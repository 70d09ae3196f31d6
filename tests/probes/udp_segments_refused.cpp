// tests/probes/udp_segments_refused.cpp -- on a kernel that can neither cut nor join datagrams there is one
// error, nothing is sent, and single datagrams still are. It replaces functions of the C library.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/socket.hpp>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <system_error>

#include "../support/expect.hpp"

extern "C" int getsockopt(int fd, int level, int name, void* value, socklen_t* size) noexcept {
  using function = int(int, int, int, void*, socklen_t*);
  static auto* const real = reinterpret_cast<function*>(::dlsym(RTLD_NEXT, "getsockopt"));
  if (level != SOL_UDP) return real(fd, level, name, value, size);
  errno = ENOPROTOOPT;
  return -1;
}
extern "C" int setsockopt(int fd, int level, int name, const void* value, socklen_t size) noexcept {
  using function = int(int, int, int, const void*, socklen_t);
  static auto* const real = reinterpret_cast<function*>(::dlsym(RTLD_NEXT, "setsockopt"));
  if (level != SOL_UDP) return real(fd, level, name, value, size);
  errno = ENOPROTOOPT;
  return -1;
}

namespace {
using coracle::task;
using coracle::net::recv_segments;
using coracle::net::send_segments;
using coracle_test::expect;
using udp = coracle::net::socket;

udp bound(coracle::io_service& io) {
  udp one = udp::create_udpv4(io);
  one.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  return one;
}

template <class Call>
std::error_code error_of(Call call) {
  try {
    call();
  } catch (const std::system_error& failure) {
    return failure.code();
  }
  return {};
}

void test() {
  coracle::io_service io;
  udp from = bound(io), to = bound(io);
  const auto bytes = std::as_bytes(std::span{"text", 4});
  const auto refused = std::errc::operation_not_supported;
  expect(error_of([&] { coracle::net::join_datagrams(to); }) == refused, "joining is not supported");
  expect(error_of([&] { io.run(send_segments(from, to.local_endpoint(), bytes, 2)); }) == refused,
         "cutting is not supported");
  const std::size_t sent = io.run(send_segments(from, to.local_endpoint(), bytes, 4));
  expect(sent == 4, "one datagram is sent");
  std::byte room[16];
  const auto got = io.run(recv_segments(to, room));
  expect(got.size == 4 && got.segment_size == 4, "it is the first to arrive");
}
}  // namespace

int main() {
  for (const char* const engine : {"epoll", "io_uring"}) {
    ::setenv("CORACLE_IO", engine, 1);
    test();
  }
  return coracle_test::exit_status("what the kernel cannot do is one error");
}
