// tests/unit/buffered_writer_test.cpp -- small writes that are passed to the sink together.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/io/buffered_writer.hpp>
#include <coracle/testing/poll.hpp>
#include <string>
#include <system_error>

#include "../support/abort_message.hpp"
#include "byte_pieces.hpp"

namespace {
using coracle::buffered_writer;
using coracle::sync_wait;
using coracle_test::pieces_written;
using coracle_test::waiting_stream;

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

TEST_CASE("buffered_writer: nothing may be written, also if it is nowhere") {
  pieces_written sink;
  buffered_writer writer{sink, 8};
  sync_wait(writer.write(std::string_view{}));  // UBSan reports a null pointer that is passed to memcpy()
  sync_wait(writer.write("abc"));
  sync_wait(writer.write(coracle::const_buffer{}));
  sync_wait(writer.flush());
  CHECK(sink.all() == "abc");
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

constexpr auto flushes = [](auto& into) { return into.flush(); };
constexpr auto fits = [](auto& into) { return into.write("a"); };
constexpr auto is_too_long = [](auto& into) { return into.write("123456789"); };
template <auto First, auto Second>
std::string message_of_overlap() {
  return coracle_test::abort_message([] {
    waiting_stream sink;
    buffered_writer writer{sink, 8};
    sync_wait(writer.write("abc"));
    auto waits = coracle::testing::poll(First(writer));
    auto overlaps = coracle::testing::poll(Second(writer));
  });
}
TEST_CASE("buffered_writer: two operations at the same time end the program, which says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string message =
      "coracle: two operations of a buffered_writer overlap: await one before you start the next\n";
  CHECK(message_of_overlap<flushes, flushes>() == message);
  CHECK(message_of_overlap<flushes, fits>() == message);
  CHECK(message_of_overlap<is_too_long, fits>() == message);
  CHECK(message_of_overlap<is_too_long, flushes>() == message);
}
template <std::size_t Result>
struct miscounting_sink {
  coracle::task<std::size_t> write_some(std::span<const std::byte>, coracle::stop_token) { co_return Result; }
};
template <std::size_t Result>
std::string message_of_miscounting() {
  return coracle_test::abort_message([] {
    constexpr unsigned seconds_until_it_hangs = 10;
    ::alarm(seconds_until_it_hangs);
    miscounting_sink<Result> sink;
    buffered_writer writer{sink, 8};
    sync_wait(writer.write("abc"));
    sync_wait(writer.flush());
  });
}
TEST_CASE("buffered_writer: a sink that takes nothing, or too much, ends the program, which says so") {
  const std::string message =
      "coracle: write_some() of a byte_sink took no bytes, or more than it was given: let it wait until it "
      "has taken at least one, or throw\n";
  CHECK(message_of_miscounting<0>() == message);
  CHECK(message_of_miscounting<4>() == message);
}
TEST_CASE("buffered_writer: an operation may begin when the one before was ended where it waited") {
  waiting_stream sink;
  buffered_writer writer{sink, 8};
  sync_wait(writer.write("abc"));
  auto waits = coracle::testing::poll(coracle::as_outcome(writer.flush()));
  waits.request_stop();
  REQUIRE(waits.run());
  CHECK(waits.get().is_cancelled());
  sink.moves.set();
  sync_wait(writer.flush());
  CHECK(writer.buffered() == 0);
}
}  // namespace
