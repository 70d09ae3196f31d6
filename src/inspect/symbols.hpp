// SPDX-License-Identifier: MIT
// The functions of a process by their addresses, from the symbol tables of its files.
#pragma once
#include <elf.h>

#include <type_traits>

#include "process_memory.hpp"

namespace coracle::detail {
/// The role of a function in coroutines, by its name. A word: symbols keeps it in front of an address, and
/// what padding would contain there, with that address, may look like a frame.
enum class role : std::uintptr_t {
  none,
  resume,        ///< of a coroutine: `.resume` with clang, `.actor` with g++
  destroy,       ///< of a coroutine: `.destroy` or `.cleanup`
  callback,      ///< called when a callback frame is resumed
  stop,          ///< called when a coroutine that waits in a queue is to stop
  stop_io,       ///< called when a coroutine that waits for an I/O operation is to stop
  stop_timer,    ///< called when a coroutine that waits for a timer of an io_service is to stop
  stop_callback  ///< called when a coroutine that waits for an operation of from_callback() is to stop
};
[[nodiscard]] role role_of(const char* symbol) noexcept;

/// A file that is mapped into the process and contains code.
struct module {
  std::uintptr_t begin = 0, end = 0;  ///< of the code
  std::uintptr_t bias = 0;            ///< added to an address in the file
  const Elf64_Sym* table = nullptr;
  std::size_t count = 0;
  const char* names = nullptr;
  std::size_t size_of_names = 0;
  std::uint32_t* functions = nullptr;  ///< indices into the table, by address; null until one is looked up
  std::size_t count_of_functions = 0;
  void* file = nullptr;
  std::size_t size_of_file = 0;
  fixed_text<256> path;

  [[nodiscard]] const char* name_of(const Elf64_Sym& symbol) const noexcept {
    return symbol.st_name < size_of_names ? names + symbol.st_name : "";
  }
  [[nodiscard]] static bool is_function(const Elf64_Sym& symbol) noexcept {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
  }
};

/// Returns it as hexadecimal digits, as debuggers do; empty if the file has none.
[[nodiscard]] fixed_text<65> build_id_of(const module& of) noexcept;

/// A function, or a variable.
struct function_symbol {
  const char* name = nullptr;  ///< the linker's name; null if unknown
  std::uintptr_t begin = 0;
  const module* in = nullptr;  ///< null if no file is mapped there
};

/// Keeps the files mapped while it exists. Takes its memory from mmap(), takes no lock, and is
/// async-signal-safe. Not thread-safe.
class symbols {
 public:
  explicit symbols(pid_t process) noexcept;
  symbols(const symbols&) = delete;
  symbols& operator=(const symbols&) = delete;
  ~symbols();

  /// Returns the function that contains the address.
  [[nodiscard]] function_symbol at(std::uintptr_t address) noexcept;
  /// Returns the variable of the program that contains the address.
  [[nodiscard]] function_symbol variable_at(std::uintptr_t address) const noexcept;
  /// Returns the role of the function that begins at the address.
  [[nodiscard]] role role_at(std::uintptr_t address) noexcept;
  /// Returns false if no file has a symbol table: coroutines cannot then be distinguished from other memory.
  [[nodiscard]] bool has_any() const noexcept;

  [[nodiscard]] const module* begin() const noexcept { return modules_; }
  [[nodiscard]] const module* end() const noexcept { return modules_ + count_; }

 private:
  static constexpr std::size_t most = 64;
  struct known {
    std::uintptr_t address = 0;
    function_symbol symbol;
    role is = role::none;
  };
  static_assert(std::has_unique_object_representations_v<known>, "without padding, which would be searched");
  [[nodiscard]] module* containing(std::uintptr_t address) noexcept;
  [[nodiscard]] const known& look_up(std::uintptr_t address, module& in) noexcept;

  module modules_[most];
  std::size_t count_ = 0;
  known recent_[512];
};
}  // namespace coracle::detail
