// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/uio.h>

#include <array>
#include <coracle/io/buffer.hpp>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../../src/io/parts_left.hpp"

namespace {
using coracle::const_buffer;
using coracle::const_buffers;
using coracle::mutable_buffer;
using coracle::mutable_buffers;
using coracle::detail::parts_left;

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
  const mutable_buffer room = text;
  CHECK(room.data() == text.data());
  CHECK(room.size() == 4);
  CHECK(const_buffer().size() == 0);
  CHECK(mutable_buffer().data() == nullptr);
}

TEST_CASE("buffer: any contiguous range of bytes or characters, and an array of characters up to its NUL") {
  const std::vector<unsigned char> vector = {'a', 0, 'b'};
  const std::array<char, 3> array = {'a', 0, 'b'};
  const std::span<const char> span = array;
  for (const const_buffer& each : {const_buffer(vector), const_buffer(array), const_buffer(span)}) {
    CHECK(std::string_view(static_cast<const char*>(each.data()), each.size()) ==
          std::string_view("a\0b", 3));
    CHECK(each.bytes().size() == 3);
  }
  const char text[8] = "text";
  CHECK(const_buffer(text).size() == 4);
  static_assert(!std::is_convertible_v<std::vector<int>, const_buffer> &&
                !std::is_convertible_v<const_buffer(&)[2], const_buffer> &&
                !std::is_convertible_v<mutable_buffer, const_buffer> &&
                !std::is_convertible_v<int, const_buffer>);
  // A program may have buffers of its own.
  struct own_buffer {
    operator const_buffer() const { return "own"; }
  };
  CHECK(const_buffer(own_buffer{}).size() == 3);
}

TEST_CASE("buffer: several, in an array, a vector or a span") {
  const const_buffer array[] = {"one", "two"};
  const std::vector<const_buffer> vector(std::begin(array), std::end(array));
  const std::array<const_buffer, 2> standard_array = {"one", "two"};
  const std::span<const const_buffer> span = array;
  const const_buffers copy = array;
  for (const const_buffers& each :
       {const_buffers(array), const_buffers(vector), const_buffers(standard_array), const_buffers(span),
        const_buffers(copy)}) {
    CHECK(each.size() == 2);
    CHECK(text_of(each) == "onetwo");
  }
  std::string text = "text";
  const mutable_buffer room[] = {text};
  CHECK(mutable_buffers(room).data() == room);
  static_assert(!std::is_convertible_v<const_buffer, const_buffers> &&
                !std::is_convertible_v<std::string, const_buffers> &&
                !std::is_convertible_v<std::vector<int>, const_buffers> &&
                !std::is_convertible_v<mutable_buffer(&)[2], const_buffers> &&
                !std::is_convertible_v<const_buffer(&)[2], mutable_buffers>);
  // Objects of a derived class are further apart than buffers are.
  struct with_number : const_buffer {
    int number = 0;
  };
  static_assert(!std::is_convertible_v<with_number(&)[2], const_buffers>);
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

TEST_CASE("buffer: what is left of several pieces, from any byte and in steps of any size") {
  const std::string whole = "onethree";
  const const_buffer parts[] = {{}, "one", {}, "three", {}};
  for (std::size_t begin = 0; begin <= whole.size(); ++begin) {
    for (std::size_t step = 1; step <= whole.size(); ++step) {
      parts_left left{parts, begin};
      std::string written;
      while (!left.empty()) {
        const std::string next = text_of(left.next()).substr(0, step);
        REQUIRE(!next.empty());
        written += next;
        left.remove(next.size());
      }
      CHECK(written == whole.substr(begin));
    }
  }
}

TEST_CASE("buffer: of the pieces that are left, at most as many are next as the system takes") {
  const std::vector<const_buffer> parts(1500, const_buffer{"ab"});
  parts_left left{parts, 0};
  CHECK(left.next().size() == 1024);
  left.remove(3);
  CHECK(text_of(left.next()) == "b");
  left.remove(1);
  CHECK(left.next().size() == 1024);
  left.remove(2048);
  CHECK(left.next().size() == 474);
}
}  // namespace
