// SPDX-License-Identifier: MIT
#include "send_all.hpp"

#include <coracle/io/detail/transfer_count.hpp>
#include <coracle/net/detail/socket_operations.hpp>

#include "../io/parts_left.hpp"

namespace coracle::net {
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
}  // namespace coracle::net
