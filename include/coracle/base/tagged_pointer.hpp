// coracle/base/tagged_pointer.hpp -- a pointer and a small tag in one word.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/config.hpp>
#include <cstdint>
#include <type_traits>

namespace coracle::detail {
/// Returns the address as a number, for comparing and combining.
CORACLE_ALWAYS_INLINE() std::uintptr_t address_of(const void* object) noexcept {
  return reinterpret_cast<std::uintptr_t>(object);
}
/// The reverse: returns the object whose address_of() the number is.
template <class T>
CORACLE_ALWAYS_INLINE()
T* object_at(std::uintptr_t address) noexcept {
  return reinterpret_cast<T*>(address);
}

/// For a word that is a pointer or a number below every address.
enum class no_tag : std::uintptr_t { none = 0, mask = 0 };

/// The address of a `T` and, in the bits that its alignment leaves 0, a `Tag`: an enumeration whose
/// enumerator `mask` has all these bits. A tag marks a pointer or, without a pointer, is a value of its own.
/// So a word can be a pointer or one of a few states, and no other code turns addresses into numbers.
template <class T, class Tag>
class tagged_pointer {
  static_assert(std::is_enum_v<Tag> && std::is_same_v<std::underlying_type_t<Tag>, std::uintptr_t>,
                "a tag is an enumeration over std::uintptr_t");

 public:
  static constexpr std::uintptr_t mask = static_cast<std::uintptr_t>(Tag::mask);

  /// Uninitialised: assign before reading.
  tagged_pointer() noexcept = default;
  /// A tag alone.
  constexpr tagged_pointer(Tag tag) noexcept : bits_(static_cast<std::uintptr_t>(tag)) {}  // NOLINT
  explicit tagged_pointer(T* pointer) noexcept : bits_(address_of(pointer)) {}
  tagged_pointer(T* pointer, Tag tag) noexcept
      : bits_(address_of(pointer) | static_cast<std::uintptr_t>(tag)) {}
  /// For a word stored as a number, as in a locked_word.
  [[nodiscard]] static constexpr tagged_pointer from_bits(std::uintptr_t bits) noexcept {
    return tagged_pointer(static_cast<Tag>(bits));
  }
  [[nodiscard]] constexpr std::uintptr_t bits() const noexcept { return bits_; }

  /// Returns null for a tag alone.
  [[nodiscard]] T* pointer() const noexcept { return object_at<T>(bits_ & ~mask); }
  /// The same if the tag is known: no masking.
  [[nodiscard]] T* pointer_tagged(Tag tag) const noexcept {
    return object_at<T>(bits_ - static_cast<std::uintptr_t>(tag));
  }
  /// Returns null for a number of at most `greatest`, which is below every address.
  [[nodiscard]] T* pointer_above(std::uintptr_t greatest) const noexcept {
    return bits_ > greatest ? object_at<T>(bits_) : nullptr;
  }
  /// Returns false for a tag alone.
  [[nodiscard]] constexpr bool has_pointer() const noexcept { return bits_ > mask; }
  [[nodiscard]] constexpr Tag tag() const noexcept { return static_cast<Tag>(bits_ & mask); }
  /// Returns true if any bit of `mark` is set.
  [[nodiscard]] constexpr bool has(Tag mark) const noexcept {
    return (bits_ & static_cast<std::uintptr_t>(mark)) != 0;
  }
  void add(Tag mark) noexcept { bits_ |= static_cast<std::uintptr_t>(mark); }
  void remove(Tag mark) noexcept { bits_ &= ~static_cast<std::uintptr_t>(mark); }
  void drop_pointer() noexcept { bits_ &= mask; }

  friend constexpr bool operator==(tagged_pointer, tagged_pointer) noexcept = default;

 private:
  std::uintptr_t bits_;
};
}  // namespace coracle::detail
