// SPDX-License-Identifier: MIT
// Who awaits a coroutine, found by reading its frame (ADR 36, ADR 39). Async-signal-safe.
#pragma once
#include <string>

#include "symbols.hpp"

namespace coracle::detail {
/// Both compilers place the promise after the resume and the destroy function.
inline constexpr std::uintptr_t promise_in_frame = 2 * sizeof(void*);

/// What a coroutine continues at its end.
struct continuation {
  std::uintptr_t parent = 0;   ///< the frame that awaits it; 0 if that is unknown, or plain code
  std::uintptr_t through = 0;  ///< the function of the callback frame in between; 0 if there is none
  std::uintptr_t at = 0;       ///< that callback frame
};

/// Appends `parse  (server+0x3a10)`.
void append_function(symbols& names, std::uintptr_t function, std::string& to);

class await_reader {
 public:
  await_reader(const process_memory& memory, symbols& names) noexcept : memory_(memory), names_(names) {}

  /// Returns the resume function of the frame, or 0 if there is no frame of a coroutine that has not ended.
  [[nodiscard]] std::uintptr_t resume_function(std::uintptr_t frame) noexcept;
  [[nodiscard]] continuation continuation_of(std::uintptr_t frame) noexcept;
  /// Returns what names the owner of a callback frame: kind_of_continuation().
  [[nodiscard]] std::uintptr_t function_of(std::uintptr_t callback) noexcept;
  /// Returns true if the frame keeps what it continues where a task does: core/detail/task_frame.hpp.
  [[nodiscard]] bool is_like_task(std::uintptr_t frame) noexcept { return first_link(frame, 0).at == 1; }

 private:
  /// A word of a frame that may refer to its parent.
  struct link {
    continuation to;
    std::size_t at = 0;  ///< counted in words from the promise; `most_words` if there is none
  };
  struct frame_found {
    std::uintptr_t frame = 0;  ///< 0 if none is near
    bool is_certain = false;   ///< the awaiter has its address
  };
  static constexpr std::size_t most_words = 512;  // a large result lies in front of the parent

  [[nodiscard]] link first_link(std::uintptr_t frame, std::size_t from) noexcept;
  [[nodiscard]] bool follow(std::uintptr_t frame, std::uintptr_t word, continuation& to) noexcept;
  [[nodiscard]] bool refers_to(std::uintptr_t from, std::uintptr_t size, std::uintptr_t frame,
                               bool ends_at_frame = false) noexcept;
  [[nodiscard]] frame_found frame_around(std::uintptr_t awaiter) noexcept;
  [[nodiscard]] std::uintptr_t shared_frame_of(std::uintptr_t callback) noexcept;
  [[nodiscard]] std::uintptr_t outermost_operation(std::uintptr_t operation) noexcept;

  const process_memory& memory_;
  symbols& names_;
};

/// The owner of a callback frame.
struct continuation_kind {
  /// As `when_all()`; null if it has no name of its own, empty if it is part of something else.
  const char* text = nullptr;
  bool is_in_awaiter =
      true;  ///< true: part of the frame of the awaiting coroutine; otherwise plain code or a scope waits
};
/// `symbol` is the callback function.
[[nodiscard]] continuation_kind kind_of_continuation(const char* symbol) noexcept;
}  // namespace coracle::detail
