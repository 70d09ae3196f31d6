// tests/support/system_error_sockets.hpp -- operations of sockets that may fail.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/io/read_only_file.hpp>
#include <coracle/net/datagram_batch.hpp>
#include <coracle/net/datagram_segments.hpp>
#include <coracle/net/send_file.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "expect.hpp"
#include "system_error_operation.hpp"

namespace coracle_test::system_errors {
inline std::vector<operation> socket_operations() {
  return {
      {"recv",
       {"recv", "ring RECV"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         p.io.run(both->far.send("x", 1));
         return [both]() -> task<> {
           char byte = 0;
           const std::size_t got = co_await both->near.recv(&byte, 1);
           expect(got == 1 && byte == 'x', "recv() gets the byte");
         };
       }},
      {"recv into pieces",
       {"recvmsg"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         p.io.run(both->far.send("xy", 2));
         return [both]() -> task<> {
           char first = 0, second = 0;
           const coracle::mutable_buffer room[] = {{&first, 1}, {&second, 1}};
           const std::size_t got = co_await both->near.recv(room);
           expect(got == 2 && first == 'x' && second == 'y', "recv() fills the pieces");
         };
       }},
      {"send",
       {"send"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           const std::size_t sent = co_await both->near.send("x", 1);
           expect(sent == 1, "send() sends the byte");
         };
       }},
      {"second send",
       {"ring SEND"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           for (socket* const from : {&both->far, &both->near}) {
             const std::size_t sent = co_await from->send("x", 1);
             expect(sent == 1, "send() sends the byte");
           }
         };
       }},
      {"send of pieces",
       {"sendmsg"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         return [both]() -> task<> {
           const coracle::const_buffer pieces[] = {{"x", 1}, {"y", 1}};
           const std::size_t sent = co_await both->near.send(pieces);
           expect(sent == 2, "send() sends the pieces");
         };
       }},
      {"send_file",
       {"sendfile"},
       {EBADF, EFAULT, EINVAL, EIO, ENOMEM, EOVERFLOW, ESPIPE, EPIPE, ECONNRESET},
       [](const place& p) -> attempt {
         const auto both = std::make_shared<connection>(p.io);
         const auto file = shared(coracle::read_only_file::open(p.io, p.files / "file"));
         return [both, file]() -> task<> {
           const std::uint64_t sent = co_await coracle::net::send_file(both->near, *file, 0, 4);
           expect(sent == 4, "send_file() sends the file");
         };
       }},
      {"accept",
       {"accept4", "ring ACCEPT"},
       {EBADF, EFAULT, EINVAL, EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOTSOCK, EOPNOTSUPP, EPERM, ENETDOWN,
        EHOSTDOWN},
       [](const place& p) -> attempt {
         const auto listener = shared(listening(p.io));
         const auto client = shared(socket::create_tcpv4(p.io));
         p.io.run(client->connect(listener->local_endpoint()));
         return [listener, client]() -> task<> {
           const socket accepted = co_await listener->accept();
           expect(accepted.remote_endpoint() == client->local_endpoint(), "accept() gets the connection");
         };
       },
       {EINTR, ECONNABORTED, EPROTO}},
      {"connect",
       {"connect"},
       // Not EINTR and EALREADY: the attempt is in progress then.
       {EACCES, EPERM, EADDRINUSE, EADDRNOTAVAIL, EAFNOSUPPORT, EBADF, ECONNREFUSED, EFAULT, EISCONN,
        ENETUNREACH, ENOTSOCK, EPROTOTYPE, ETIMEDOUT},
       [](const place& p) -> attempt {
         const auto listener = shared(listening(p.io));
         const auto client = shared(socket::create_tcpv4(p.io));
         return [listener, client]() -> task<> { co_await client->connect(listener->local_endpoint()); };
       },
       {}},
      {"recv_from",
       {"recvfrom"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           char text[4];
           const auto got = co_await both->to.recv_from(text, sizeof text);
           expect(std::get<0>(got) == 4, "recv_from() gets the datagram");
         };
       }},
      {"send_to",
       {"sendto"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           const std::size_t sent = co_await both->from.send_to(both->to.local_endpoint(), "x", 1);
           expect(sent == 1, "send_to() sends the datagram");
         };
       }},
      {"recv_batch",
       {"recvmmsg"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           coracle::net::datagram_batch batch{2, 16};
           const std::size_t got = co_await coracle::net::recv_batch(both->to, batch);
           expect(got == 1 && batch.bytes(0).size() == 4, "recv_batch() gets the datagram");
         };
       }},
      {"send_batch",
       {"sendmmsg"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           coracle::net::datagram_batch batch{2, 16};
           batch.add(both->to.local_endpoint(), std::as_bytes(std::span{"text", 4}));
           const std::size_t sent = co_await coracle::net::send_batch(both->from, batch);
           expect(sent == 1, "send_batch() sends the datagram");
         };
       }},
      {"recv_segments",
       {"recvmsg"},
       of_receiving,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           std::byte text[4];
           const auto got = co_await coracle::net::recv_segments(both->to, text);
           expect(got.size == 4 && got.segment_size == 4, "recv_segments() gets the datagram");
         };
       }},
      {"send_segments",
       {"sendmsg"},
       of_sending,
       [](const place& p) -> attempt {
         const auto both = std::make_shared<two_udp_sockets>(p.io);
         return [both]() -> task<> {
           const auto bytes = std::as_bytes(std::span{"text", 4});
           const std::size_t sent =
               co_await coracle::net::send_segments(both->from, both->to.local_endpoint(), bytes, 2);
           expect(sent == 4, "send_segments() sends the datagrams");
         };
       }},
  };
}
}  // namespace coracle_test::system_errors
