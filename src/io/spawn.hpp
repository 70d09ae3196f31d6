// src/io/spawn.hpp -- a child process, by clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD) and execve.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/command.hpp>
#include <coracle/io/owned_descriptor.hpp>
#include <cstdint>
#include <span>
#include <utility>

namespace coracle::detail {
/// The target of a descriptor of the child.
struct child_descriptor {
  int number;          ///< in the child
  int source;          ///< in this process
  bool may_be_closed;  ///< closed in the child if it is closed here
  int moved = -1;      ///< its temporary number in the child
};

/// Everything that a child needs between clone() and execve(). It shares this process's memory, and must not
/// allocate or take a lock, since another thread may hold that; so everything is prepared here.
struct child_plan {
  std::span<const char* const> programs;  ///< candidates, tried in order
  const char* const* arguments;           ///< ends in a null pointer, like the next
  const char* const* environment;
  const char* folder;                       ///< null: the folder of this process
  std::span<child_descriptor> descriptors;  ///< in ascending order of their numbers
  std::span<const std::pair<int, std::uint64_t>> limits;
  command::group group;

  // Written by a child that fails.
  const char* failed_step = nullptr;
  const char* failed_path = nullptr;  ///< if the step concerns one
  int error = 0;
};

struct spawned {
  owned_descriptor handle;  ///< a pidfd
  int id;
};
/// Returns once the program has begun. Throws std::system_error with the step that failed in the child.
[[nodiscard]] spawned spawn(child_plan& plan);
}  // namespace coracle::detail
