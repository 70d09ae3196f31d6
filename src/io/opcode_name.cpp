// SPDX-License-Identifier: MIT
#include "opcode_name.hpp"

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
    case io_opcode::read_at:
    case io_opcode::read_parts_at:
      return "read from a file";
    case io_opcode::write_at:
    case io_opcode::write_parts_at:
      return "write to a file";
    case io_opcode::sync:
      return "sync a file";
    case io_opcode::open:
      return "open a file";
    case io_opcode::status:
      return "ask for a status";
    case io_opcode::rename:
      return "rename a file";
    case io_opcode::link:
    case io_opcode::symlink:
      return "create a link";
    case io_opcode::make_folder:
      return "create a directory";
    case io_opcode::remove:
      return "remove a file";
  }
  return "unknown operation";
}
}  // namespace coracle::detail
