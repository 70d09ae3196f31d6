// SPDX-License-Identifier: MIT
#include "whole_transfers.hpp"

#include <cerrno>
#include <coracle/io/detail/transfer_count.hpp>
#include <coracle/net/detail/socket_operations.hpp>

#include "../io/parts_left.hpp"
#include "../io/system_error.hpp"
#include "delimiter_search.hpp"

namespace coracle::net {
using coracle::detail::throw_error;

coracle::detail::library_task<> detail::send_all(const io_descriptor& to, std::span<const std::byte> bytes,
                                                 stop_token token, std::size_t* sent) {
  std::size_t local = 0;
  std::size_t& done = coracle::detail::transfer_count(sent, local, bytes.size());
  while (done != bytes.size()) {
    const std::size_t more = co_await socket_send_operation{to, &bytes[done], bytes.size() - done, token};
    done += more;
  }
}

coracle::detail::library_task<> detail::send_all(const io_descriptor& to, std::span<const const_buffer> parts,
                                                 stop_token token, std::size_t* sent) {
  std::size_t local = 0;
  std::size_t& done = sent ? *sent : local;
  for (coracle::detail::parts_left left{parts, done}; !left.empty();) {
    const std::size_t more = co_await socket_send_operation{to, left.next(), token};
    left.remove(more);
    done += more;
  }
}

coracle::detail::library_task<std::size_t> detail::recv_exactly(const io_descriptor& from,
                                                                std::span<std::byte> to, stop_token token,
                                                                std::size_t* received) {
  std::size_t local = 0;
  std::size_t& done = coracle::detail::transfer_count(received, local, to.size());
  while (done != to.size()) {
    const std::size_t more = co_await socket_recv_operation{from, &to[done], to.size() - done, 0, token};
    if (more == 0 && done == 0) co_return more;
    if (more == 0) throw_error(ENODATA, "the stream ended before all bytes were received");
    done += more;
  }
  co_return to.size();
}

coracle::detail::library_task<std::size_t> detail::recv_until(const io_descriptor& from,
                                                              std::string& received,
                                                              std::string_view delimiter, std::size_t limit,
                                                              stop_token token) {
  CORACLE_REQUIRE(!delimiter.empty(), "recv_until() needs a delimiter");
  constexpr std::size_t max_at_once = 4096;
  struct text {  // the received data; the string may be longer, to provide room for more
    std::string& all;
    std::size_t size = all.size();
    ~text() { all.resize(size); }
  };
  delimiter_search<char> search{delimiter.data(), delimiter.size()};
  for (std::size_t searched = 0;;) {
    const std::size_t unsearched = (received.size() < limit ? received.size() : limit) - searched;
    const std::size_t found = search.find_end_in(received.data() + searched, unsearched);
    if (found != search.not_found) co_return searched + found;
    searched += unsearched;
    if (searched == limit) throw_error(EMSGSIZE, "delimiter not found within the limit");
    text data{received};
    const std::size_t room = limit - data.size;
    received.resize(data.size + (room < max_at_once ? room : max_at_once));
    const std::size_t more = co_await socket_recv_operation{from, received.data() + data.size,
                                                            received.size() - data.size, 0, token};
    if (more == 0) co_return more;
    data.size += more;
  }
}
}  // namespace coracle::net
