// coracle/io/file_open_mode.hpp -- whether opening a file may create or truncate it.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle {
/// What to do if the file exists, and if it does not.
enum class file_open_mode {
  open_existing,      ///< open the file; an error if it does not exist
  create_always,      ///< create the file; truncate it if it exists
  create_new,         ///< create the file; an error if it exists
  create_or_open,     ///< open the file; create it if it does not exist
  truncate_existing,  ///< open and truncate the file; an error if it does not exist
  append              ///< as create_or_open; every write goes to the end, whatever its offset (O_APPEND)
};
}  // namespace coracle
