// tour/traced.hpp -- a coroutine type that says where its frame is, made from coracle's promise parts.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/core/promise_parts.hpp>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "stack.hpp"

namespace tour {
/// What is known of the frame of the one traced coroutine.
struct frame_record {
  void* address = nullptr;
  std::size_t size = 0;
  void* freed_address = nullptr;
  std::size_t freed_size = 0;
  std::uintptr_t started_at = 0;  ///< the stack position of the call that made it
};
inline frame_record traced_frame;

/// Promise part: notes each frame that it allocates and frees.
struct recorded_frames {
  static void* operator new(std::size_t size) {
    traced_frame = {::operator new(size), size};
    return traced_frame.address;
  }
  static void operator delete(void* frame, std::size_t size) noexcept {
    traced_frame.freed_address = frame;
    traced_frame.freed_size = size;
    ::operator delete(frame);
  }
};

/// Starts at once, gives an int, stays at its end until it is destroyed.
class [[nodiscard]] traced {
 public:
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<int>,
                        coracle::part::stays_at_end,
                        coracle::part::awaits_anything,
                        recorded_frames {
    [[gnu::always_inline]] inline traced get_return_object() {
      traced_frame.started_at = frame_position();
      return traced(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  explicit traced(std::coroutine_handle<promise_type> body) : body_(body) {}
  traced(traced&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  traced& operator=(traced&&) = delete;
  ~traced() { destroy(); }

  [[nodiscard]] std::coroutine_handle<promise_type> body() const { return body_; }
  int result() { return body_.promise().take(); }
  void destroy() {
    if (body_) std::exchange(body_, nullptr).destroy();
  }

 private:
  std::coroutine_handle<promise_type> body_;
};
}  // namespace tour
