// tests/unit/buffered_writer_test.cpp -- small writes that are passed to the sink together.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/core/stop.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/io/buffered_writer.hpp>
#include <string>
#include <system_error>

#include "byte_pieces.hpp"

namespace {
using coracle::buffered_writer;
using coracle::sync_wait;
using coracle_test::pieces_written;

TEST_CASE(
    "buffered_writer: the sink gets nothing before the buffer is full or flushed, and then all at once") {
  pieces_written sink;
  buffered_writer writer{sink, 8};
  sync_wait(writer.write("abc"));
  sync_wait(writer.write("defgh"));
  CHECK(sink.pieces.empty());
  CHECK(writer.buffered() == 8);
  sync_wait(writer.write("i"));
  CHECK(sink.pieces == std::vector<std::string>{"abcdefgh"});
  CHECK(writer.buffered() == 1);
  sync_wait(writer.flush());
  CHECK(sink.all() == "abcdefghi");
  sync_wait(writer.flush());
  CHECK(sink.pieces.size() == 2);
}

TEST_CASE("buffered_writer: what is longer than the buffer passes through it") {
  pieces_written sink{.most = 5};
  buffered_writer writer{sink, 8};
  const std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";
  sync_wait(writer.write(text));
  sync_wait(writer.write(std::as_bytes(std::span{text})));
  sync_wait(writer.write(text.data(), text.size()));
  sync_wait(writer.flush());
  CHECK(sink.all() == text + text + text);
}

TEST_CASE("buffered_writer: it goes on after an error of the sink, and no byte is lost or doubled") {
  const std::string text = "0123456789abcdefghij";
  for (int k = 0; k != 7; ++k) {
    pieces_written sink{.most = 3};
    sink.fails_at = k;
    buffered_writer writer{sink, 8};
    std::size_t taken = 0;
    for (bool again = true; again;) {
      try {
        again = false;
        sync_wait(writer.write(text, {}, &taken));
        sync_wait(writer.flush());
      } catch (const std::system_error&) {
        again = true;
      }
    }
    CHECK(taken == text.size());
    CHECK(sink.all() == text);
  }
}

TEST_CASE("buffered_writer: a stop leaves what the sink has not taken in the buffer") {
  pieces_written sink;
  buffered_writer writer{sink, 8};
  coracle::stop_source stop;
  stop.request_stop();
  sync_wait(writer.write("abc", stop.get_token()));  // needs no sink
  CHECK_THROWS_AS(sync_wait(writer.flush(stop.get_token())), coracle::operation_cancelled);
  CHECK(writer.buffered() == 3);
  sync_wait(writer.flush());
  CHECK(sink.all() == "abc");
}
}  // namespace
