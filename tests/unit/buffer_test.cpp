// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/uio.h>

#include <array>
#include <coracle/io/buffer.hpp>
#include <cstring>
#include <string>
#include <string_view>

namespace {
using coracle::const_buffer;
using coracle::mutable_buffer;
using coracle::without_first;

std::string text_of(std::span<const const_buffer> parts) {
  std::string text;
  for (const const_buffer& each : parts) text.append(static_cast<const char*>(each.data()), each.size());
  return text;
}

TEST_CASE("buffer: text, bytes, or a pointer and a size") {
  std::string text = "text";
  const const_buffer of_text = text, of_literal = "text", of_bytes = std::as_bytes(std::span{text});
  for (const const_buffer& each : {of_text, of_literal, of_bytes}) {
    CHECK(std::string_view(static_cast<const char*>(each.data()), each.size()) == "text");
  }
  const mutable_buffer room = std::as_writable_bytes(std::span{text});
  CHECK(room.data() == text.data());
  CHECK(room.size() == 4);
  CHECK(const_buffer().size() == 0);
  CHECK(mutable_buffer().data() == nullptr);
}

TEST_CASE("buffer: has the layout of an iovec") {
  char bytes[3] = {};
  const const_buffer to_write{bytes, 3};
  const mutable_buffer to_read{bytes, 3};
  iovec seen;
  static_assert(sizeof seen == sizeof to_write && sizeof seen == sizeof to_read);
  std::memcpy(&seen, &to_write, sizeof seen);
  CHECK((seen.iov_base == bytes && seen.iov_len == 3));
  std::memcpy(&seen, &to_read, sizeof seen);
  CHECK((seen.iov_base == bytes && seen.iov_len == 3));
}

TEST_CASE("buffer: without_first() removes any number of bytes") {
  const std::string whole = "onethree";
  for (std::size_t count = 0; count <= whole.size(); ++count) {
    std::array<const_buffer, 5> parts{const_buffer{}, const_buffer{"one"}, const_buffer{},
                                      const_buffer{"three"}, const_buffer{}};
    const std::span<const_buffer> left = without_first(parts, count);
    CHECK(text_of(left) == whole.substr(count));
    CHECK(text_of(parts) == whole.substr(count));
    CHECK(left.empty() == (count == whole.size()));
    if (!left.empty()) CHECK(left.front().size() != 0);
  }
}
}  // namespace
