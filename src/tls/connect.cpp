// SPDX-License-Identifier: MIT
#include <coracle/base/check.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/tls/connect.hpp>

namespace coracle::tls {
detail::library_task<stream<net::socket>> detail::connect_body(io_service& service, std::string host,
                                                               std::string port, const context& common) {
  CORACLE_REQUIRE(common.is_client(), "tls::connect() with the context of a server: pass context::client()");
  net::socket connection = co_await net::connect(service, host, std::move(port));
  stream<net::socket> secure{std::move(connection), common, host};
  co_await secure.handshake();
  co_return secure;
}
}  // namespace coracle::tls
