// coracle/io/file_open_mode.hpp -- whether opening a file may create or truncate it.
// SPDX-License-Identifier: MIT
#pragma once

namespace coracle {
/// What to do where the file exists, and where it does not.
enum class file_open_mode {
  open_existing,      ///< open it; an error if there is none
  create_always,      ///< a new, empty one; one that exists is emptied
  create_new,         ///< a new one; an error if it exists
  create_or_open,     ///< open it; if there is none, a new one
  truncate_existing,  ///< open and empty it; an error if there is none
  append              ///< as create_or_open; each write goes to the end, whatever its offset: O_APPEND
};
}  // namespace coracle
