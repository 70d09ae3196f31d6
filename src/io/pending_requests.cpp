// SPDX-License-Identifier: MIT
#include "pending_requests.hpp"

namespace coracle::detail {
const char* name_of(io_opcode opcode) noexcept {
  switch (opcode) {
    case io_opcode::read:
      return "read";
    case io_opcode::receive:
    case io_opcode::receive_parts:
      return "receive";
    case io_opcode::receive_from:
    case io_opcode::receive_batch:
      return "receive datagrams";
    case io_opcode::receive_message:
      return "receive descriptors";
    case io_opcode::accept:
      return "accept";
    case io_opcode::wait_readable:
      return "wait until readable";
    case io_opcode::write:
      return "write";
    case io_opcode::send:
    case io_opcode::send_parts:
      return "send";
    case io_opcode::send_to:
    case io_opcode::send_batch:
      return "send datagrams";
    case io_opcode::send_message:
      return "send descriptors";
    case io_opcode::send_file:
      return "send a file";
    case io_opcode::connect:
      return "connect";
    case io_opcode::wait_writable:
      return "wait until writable";
    default:
      return "use a file";
  }
}
}  // namespace coracle::detail
