// tests/unit/buffered_reader_test.cpp -- lines, records and counts from a stream that arrives in pieces.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/testing/poll.hpp>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../support/abort_message.hpp"
#include "byte_pieces.hpp"

namespace {
using coracle::buffered_reader;
using coracle::sync_wait;
using coracle_test::pieces_to_read;
using coracle_test::waiting_stream;

static_assert(coracle::byte_source<buffered_reader<pieces_to_read>>);

std::vector<std::string> lines_of(pieces_to_read source, std::size_t size = 64) {
  buffered_reader reader{source, size};
  std::vector<std::string> lines;
  while (const auto line = sync_wait(reader.read_line())) lines.emplace_back(*line);
  return lines;
}
using lines = std::vector<std::string>;

TEST_CASE("buffered_reader: lines end with \\n or \\r\\n, and the last one needs neither") {
  CHECK(lines_of({{"one\ntwo\r\n\n\r\nthree"}}) == lines{"one", "two", "", "", "three"});
  CHECK(lines_of({{"one\n"}}) == lines{"one"});
  CHECK(lines_of({{"a\rb\n"}}) == lines{"a\rb"});
  CHECK(lines_of({}) == lines{});
}

TEST_CASE("buffered_reader: lines are the same, wherever the stream is cut") {
  const std::string text = "first\r\nsecond\n\nlast\r\n";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    for (std::size_t j = i; j <= text.size(); ++j) {
      pieces_to_read source;
      for (const std::string& each : {text.substr(0, i), text.substr(i, j - i), text.substr(j)}) {
        if (!each.empty()) source.left.push_back(each);
      }
      CHECK(lines_of(source, 8) == lines{"first", "second", "", "last"});
    }
  }
}

TEST_CASE("buffered_reader: a delimiter may be cut anywhere") {
  for (std::size_t cut = 1; cut != 9; ++cut) {
    const std::string text = "ab--a-b-\n";
    pieces_to_read source{{text.substr(0, cut), text.substr(cut)}};
    buffered_reader reader{source, 16};
    CHECK(sync_wait(reader.read_until("--")) == "ab--");
    CHECK(sync_wait(reader.read_until("-\n")) == "a-b-\n");
    CHECK(sync_wait(reader.read_until("-\n")) == std::nullopt);
  }
}

/// Gives as much of `text` as fits, and counts how often it is asked.
struct counted_reads {
  std::string text;
  unsigned reads = 0;
  coracle::task<std::size_t> read_some(std::span<std::byte> to, coracle::stop_token) {
    ++reads;
    const std::size_t count = std::min(to.size(), text.size());
    std::memcpy(to.data(), text.data(), count);
    text.erase(0, count);
    co_return count;
  }
};
TEST_CASE("buffered_reader: an empty buffer is filled from its beginning") {
  counted_reads source{"one\ntwo\nthree\nfour\n"};
  buffered_reader reader{source, 8};
  CHECK(sync_wait(reader.read_line()) == "one");
  CHECK(sync_wait(reader.read_line()) == "two");
  CHECK(source.reads == 1);
  source.text = "ab\n";
  CHECK(sync_wait(reader.read_line()) == "ab");
  source.text = "1234567\n";
  CHECK(sync_wait(reader.read_line()) == "1234567");
  CHECK(source.reads == 3);
}

template <class Task>
std::errc error_of(Task work) {
  try {
    sync_wait(std::move(work));
  } catch (const std::system_error& e) {
    return static_cast<std::errc>(e.code().value());
  }
  return {};
}

TEST_CASE(
    "buffered_reader: a line that is longer than the buffer, and a record that is cut off, are errors") {
  pieces_to_read too_long{{"12345678", "\n"}};
  buffered_reader reader{too_long, 8};
  CHECK(error_of(reader.read_line()) == std::errc::message_size);
  CHECK(reader.buffered() == "12345678");

  pieces_to_read fits{{"1234567", "\n", "next\n"}};
  buffered_reader other{fits, 8};
  CHECK(sync_wait(other.read_line()) == "1234567");
  CHECK(sync_wait(other.read_line()) == "next");

  pieces_to_read cut{{"abc"}};
  buffered_reader third{cut, 8};
  CHECK(error_of(third.read_until(";")) == static_cast<std::errc>(ENODATA));
  CHECK(third.buffered() == "abc");
}

TEST_CASE("buffered_reader: what is buffered comes first, and more is read past the buffer") {
  pieces_to_read source{{"head\nbody", "-and-more-than-fits"}};
  buffered_reader reader{source, 10};
  CHECK(sync_wait(reader.read_line()) == "head");
  CHECK(reader.buffered() == "body");
  std::string body(23, '?');
  CHECK(sync_wait(reader.read_exactly(body)) == 23);
  CHECK(body == "body-and-more-than-fits");
  CHECK(sync_wait(reader.read_exactly(body)) == 0);
  CHECK(sync_wait(reader.read_some(body)) == 0);
}

TEST_CASE("buffered_reader: peek() waits for bytes and leaves them there") {
  pieces_to_read source{{"half a ", "line\n", "12345678"}};
  source.fails_at = 2;
  buffered_reader reader{source, 16};
  CHECK(sync_wait(reader.peek()) == "half a ");
  CHECK(sync_wait(reader.peek()) == "half a ");
  CHECK(source.reads == 1);
  CHECK(sync_wait(reader.read_line()) == "half a line");
  CHECK(error_of(reader.peek()) == std::errc::connection_reset);
  CHECK(sync_wait(reader.peek()) == "12345678");
  char half[4] = {};
  CHECK(sync_wait(reader.read_exactly(half)) == 4);
  CHECK(sync_wait(reader.peek()) == "5678");
  CHECK(sync_wait(reader.read_exactly(half)) == 4);
  CHECK(sync_wait(reader.peek()) == "");
  CHECK(sync_wait(reader.peek()) == "");
}

TEST_CASE("buffered_reader: peek() is stopped while it waits, but not where bytes are there") {
  pieces_to_read source{{"a\nb"}};
  buffered_reader reader{source};
  coracle::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(sync_wait(reader.peek(stop.get_token())), coracle::operation_cancelled);
  CHECK(sync_wait(reader.read_line()) == "a");
  CHECK(sync_wait(reader.peek(stop.get_token())) == "b");
}

TEST_CASE("buffered_reader: a pointer and a size say where to read to, as a span does") {
  pieces_to_read source{{"four", "more, and the rest"}};
  buffered_reader reader{source, 10};
  char word[4] = {};
  CHECK(sync_wait(reader.read_exactly(word, sizeof word)) == 4);
  CHECK(std::string_view(word, 4) == "four");
  CHECK(sync_wait(reader.read_some(word, 2)) == 2);
  CHECK(std::string_view(word, 4) == "mour");
  std::size_t got = 2;
  CHECK(sync_wait(reader.read_exactly(word, sizeof word, {}, &got)) == 4);
  CHECK(std::string_view(word, 4) == "more");
}

TEST_CASE("buffered_reader: read_exactly() that is cut off says how far it came") {
  pieces_to_read source{{"abc"}};
  buffered_reader reader{source, 10};
  std::string all(5, '?');
  std::size_t got = 0;
  CHECK(error_of(reader.read_exactly(all, {}, &got)) == static_cast<std::errc>(ENODATA));
  CHECK(got == 3);
  CHECK(all == "abc??");
}

TEST_CASE("buffered_reader: after an error of the source, or a stop, it goes on with what it has") {
  pieces_to_read source{{"half a ", "line\n"}};
  source.fails_at = 1;
  buffered_reader reader{source};
  CHECK(error_of(reader.read_line()) == std::errc::connection_reset);
  CHECK(reader.buffered() == "half a ");
  coracle::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(sync_wait(reader.read_line(stop.get_token())), coracle::operation_cancelled);
  CHECK(sync_wait(reader.read_line()) == "half a line");
}

TEST_CASE("buffered_reader: read_some() into 0 bytes ends a checked program, buffered or not" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string message =
      "coracle: read_some() into 0 bytes, whose result would look like the end of the stream: pass a buffer "
      "that has room\n";
  CHECK(coracle_test::abort_message([] {
          pieces_to_read source{{"text"}};
          buffered_reader reader{source};
          static_cast<void>(sync_wait(reader.read_some(coracle::mutable_buffer{})));
        }) == message);
  CHECK(coracle_test::abort_message([] {
          pieces_to_read source{{"line\ntext"}};
          buffered_reader reader{source};
          static_cast<void>(sync_wait(reader.read_line()));
          static_cast<void>(sync_wait(reader.read_some(nullptr, 0)));
        }) == message);
}

constexpr auto reads_line = [](auto& from) { return from.read_line(); };
constexpr auto reads_until = [](auto& from) { return from.read_until("--"); };
constexpr auto reads_some = [](auto& from) { return from.read_some(&from, 1); };
constexpr auto peeks = [](auto& from) { return from.peek(); };
constexpr auto reads_exactly = [](auto& from) { return from.read_exactly(&from, 1); };
template <auto First, auto Second>
std::string message_of_overlap() {
  return coracle_test::abort_message([] {
    waiting_stream source;
    buffered_reader reader{source};
    auto waits = coracle::testing::poll(First(reader));
    auto overlaps = coracle::testing::poll(Second(reader));
  });
}
TEST_CASE("buffered_reader: two operations at the same time end the program, which says so" *
          doctest::skip(!CORACLE_CHECKS())) {
  const std::string message =
      "coracle: two operations of a buffered_reader overlap: await one before you start the next\n";
  CHECK(message_of_overlap<reads_line, reads_line>() == message);
  CHECK(message_of_overlap<reads_until, reads_some>() == message);
  CHECK(message_of_overlap<reads_some, reads_exactly>() == message);
  CHECK(message_of_overlap<reads_exactly, reads_until>() == message);
  CHECK(message_of_overlap<peeks, reads_line>() == message);
  CHECK(message_of_overlap<reads_line, peeks>() == message);
}
TEST_CASE("buffered_reader: an operation may begin when the one before was ended where it waited") {
  waiting_stream source;
  buffered_reader reader{source};
  auto waits = coracle::testing::poll(coracle::as_outcome(reader.read_line()));
  waits.request_stop();
  REQUIRE(waits.run());
  CHECK(waits.get().is_cancelled());
  source.moves.set();
  CHECK(sync_wait(reader.read_line()) == std::nullopt);
}
}  // namespace
