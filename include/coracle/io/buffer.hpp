// coracle/io/buffer.hpp -- pieces of memory that one operation writes or reads together.
// SPDX-License-Identifier: MIT
#pragma once
#include <concepts>
#include <coracle/base/config.hpp>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace coracle {
namespace detail {
// Without the concepts of ranges: to check those took a twentieth of the compile time of a program that uses
// sockets.
template <class T>
concept byte_like = std::same_as<T, std::byte> || std::same_as<T, char> || std::same_as<T, unsigned char>;
/// An object with `data()` and `size()`, or an array, of bytes or characters.
template <class T>
concept contiguous_bytes = requires(T& bytes) {
  requires byte_like<std::remove_cvref_t<decltype(*std::data(bytes))>>;
  { std::size(bytes) } -> std::convertible_to<std::size_t>;
};
/// The same, writable; an rvalue only if it merely refers to its elements.
template <class T>
concept writable_bytes =
    (std::is_lvalue_reference_v<T> || std::ranges::enable_borrowed_range<std::remove_cvref_t<T>>) &&
    contiguous_bytes<T> && requires(T& bytes) { static_cast<void*>(std::data(bytes)); };
/// An object that is neither bytes nor an array of pieces of memory, and that has no conversion.
template <class T, class Buffer>
concept not_a_buffer = !std::same_as<T, Buffer> && !contiguous_bytes<const T> && !requires(const T& pieces) {
  static_cast<const Buffer*>(std::data(pieces));
} && !requires(const T& other) { other.operator Buffer(); };
/// An array of buffers, or an object that refers to one.
template <class T, class Buffer>
concept pieces_of = requires(const T& pieces) {
  requires std::same_as<std::remove_const_t<std::remove_pointer_t<decltype(std::data(pieces))>>, Buffer>;
  { std::size(pieces) } -> std::convertible_to<std::size_t>;
};
/// Bytes that are read-only, or that end with the expression.
template <class T>
concept unwritable_bytes = contiguous_bytes<std::remove_reference_t<T>> && !writable_bytes<T>;
}  // namespace detail

/// The size of the memory that a pointer before it refers to. Not constructed from `{}`: that is the stop
/// token in `write_all("text", {}, &written)`, which writes the text, not the first 0 bytes of it.
class byte_count {
 public:
  constexpr byte_count(std::size_t number) noexcept : number_(number) {}
  constexpr operator std::size_t() const noexcept { return number_; }

 private:
  std::size_t number_;
};

/// Memory to write from: text, or a range of bytes or characters, such as a vector, array or span. An array
/// of these is what a vectored operation writes. Refers to the memory, and does not own it. A `char[]` is
/// text, which ends at its first NUL.
///
///     const coracle::const_buffer parts[] = {header, body};
///     co_await client.send(parts);
class const_buffer {
 public:
  constexpr const_buffer() noexcept = default;
  constexpr const_buffer(const void* data, std::size_t size) noexcept : data_(data), size_(size) {}
  constexpr const_buffer(std::string_view text) noexcept : const_buffer(text.data(), text.size()) {}
  template <std::convertible_to<std::string_view> Text>
  constexpr const_buffer(const Text& text) noexcept : const_buffer(std::string_view(text)) {}
  template <detail::contiguous_bytes Bytes>
    requires(!std::convertible_to<const Bytes&, std::string_view>)
  constexpr const_buffer(const Bytes& bytes) noexcept : const_buffer(std::data(bytes), std::size(bytes)) {}
  template <detail::not_a_buffer<const_buffer> Other>
    requires(!std::convertible_to<const Other&, std::string_view>)
  const_buffer(const Other&) = delete;  // neither bytes nor text: pass a pointer and a number of bytes

  [[nodiscard]] constexpr const void* data() const noexcept { return data_; }
  // A template: the constraints of std::span are checked only where it is called.
  template <class Byte = const std::byte>
  [[nodiscard]] std::span<Byte> bytes() const noexcept {
    return {static_cast<Byte*>(data_), size_};
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  // As in an iovec of the system.
  const void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Memory to read into: a writable range of bytes or characters, such as an array, vector, string or span. An
/// array of these is the room of a vectored operation. Refers to the memory, and does not own it.
///
///     char line[512];
///     const std::size_t size = co_await client.recv(line);
///     const coracle::mutable_buffer parts[] = {{&header, sizeof header}, body};
///     const std::size_t got = co_await file.read(0, parts);
class mutable_buffer {
 public:
  constexpr mutable_buffer() noexcept = default;
  constexpr mutable_buffer(void* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <detail::writable_bytes Bytes>
  constexpr mutable_buffer(Bytes&& bytes) noexcept : mutable_buffer(std::data(bytes), std::size(bytes)) {}
  template <detail::unwritable_bytes Bytes>
  mutable_buffer(Bytes&&) = delete;  // read-only or a temporary: pass a variable that can be written to
  template <detail::not_a_buffer<mutable_buffer> Other>
  mutable_buffer(const Other&) = delete;  // no range of bytes: pass a pointer and a number of bytes

  [[nodiscard]] constexpr void* data() const noexcept { return data_; }
  template <class Byte = std::byte>
  [[nodiscard]] std::span<Byte> bytes() const noexcept {
    return {static_cast<Byte*>(data_), size_};
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

 private:
  // As in an iovec of the system.
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The pieces of memory of a vectored operation: an array, vector or span of `Buffer`. Refers to it, and does
/// not own it.
template <class Buffer>
class buffers {
 public:
  template <detail::pieces_of<Buffer> Pieces>
  constexpr buffers(const Pieces& pieces) noexcept : data_(std::data(pieces)), size_(std::size(pieces)) {}

  [[nodiscard]] constexpr const Buffer* data() const noexcept { return data_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr const Buffer* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr const Buffer* end() const noexcept { return data_ + size_; }

 private:
  const Buffer* data_;
  std::size_t size_;
};
using const_buffers = buffers<const_buffer>;
using mutable_buffers = buffers<mutable_buffer>;
}  // namespace coracle
