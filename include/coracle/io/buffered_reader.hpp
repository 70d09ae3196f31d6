// coracle/io/buffered_reader.hpp -- lines and records from a stream of bytes.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/base/check.hpp>
#include <coracle/core/detail/ends_as_failed.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/io/detail/one_operation.hpp>
#include <coracle/io/detail/transfer_count.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

namespace coracle {
/// Reads from a byte_source in large pieces, and returns lines, records or a given number of bytes.
///
///     coracle::buffered_reader reader{client};
///     while (const auto line = co_await reader.read_line()) handle(*line);
///
///     std::uint32_t length = 0;
///     co_await reader.read_exactly(&length, sizeof length);
///
/// Lines and records are views of its buffer, valid until the next operation. The reader is a byte_source
/// itself; a file, which is read at offsets, is not: docs/recipes.md has a source for one.
///
/// Resumes on    as the source.
/// Cancellation  as the source. What has been read stays in the buffer for the next call.
/// Exceptions    those of the source, and std::system_error: with std::errc::message_size if the buffer is
///               full and does not contain the delimiter, with ENODATA if the source ends before the
///               delimiter, or before all requested bytes.
/// Threads       one operation at a time; a checked build ends at the second. The source must outlive the
///               reader.
/// Cost          one allocation, for the buffer, and a frame for each operation. Each byte is searched once,
///               with memchr() for a delimiter of one character.
template <class Source>
class buffered_reader {
  static_assert(
      detail::is_byte_source<Source>,
      "a buffered_reader needs a byte_source, such as a socket: an object whose read_some(span, stop_token) "
      "is an awaitable of a std::size_t. A file is read at offsets: docs/recipes.md has a source for one, "
      "under \"Lines of a file\"");

 public:
  static constexpr std::size_t default_size = 16 * 1024;

  /// `size` is that of the buffer, in bytes: no line or record can be longer.
  explicit buffered_reader(Source& source, std::size_t size = default_size)
      : source_(source), buffer_(new char[size]), size_(size) {
    CORACLE_REQUIRE(size != 0, "a buffered_reader needs a buffer");
  }
  explicit buffered_reader(Source&&, std::size_t = 0)  // it refers to the source: give the source a name
    requires(!std::is_reference_v<Source>)
  = delete;

  /// Awaitable of the next line without its "\n" or "\r\n", or of std::nullopt at the end of the source. The
  /// last line may lack the "\n".
  task<std::optional<std::string_view>> read_line(stop_token token = {});
  /// Awaitable of the text up to and including the next `delimiter`, or of std::nullopt at the end of the
  /// source. Requires: `delimiter` is not empty, and outlives the operation.
  task<std::optional<std::string_view>> read_until(std::string_view delimiter, stop_token token = {});
  /// Awaitable of to.size() once `to` has been filled, or of 0 if the source ended before the first byte.
  /// After a cancellation or an error, `*got`, if given, is the number of bytes in `to`; pass it again to
  /// continue from there.
  task<std::size_t> read_exactly(mutable_buffer to, stop_token token = {}, std::size_t* got = nullptr);
  CORACLE_CORO_WRAPPER()
  task<std::size_t> read_exactly(void* buffer, byte_count size, stop_token token = {},
                                 std::size_t* got = nullptr) {
    return read_exactly(mutable_buffer{buffer, size}, std::move(token), got);
  }
  /// Awaitable of the number of bytes stored in `to`: buffered ones if there are any, otherwise at least one
  /// from the source; 0 at the end of the source. Requires: `to` is not empty.
  task<std::size_t> read_some(mutable_buffer to, stop_token token = {});
  CORACLE_CORO_WRAPPER()
  task<std::size_t> read_some(void* buffer, byte_count size, stop_token token = {}) {
    return read_some(mutable_buffer{buffer, size}, std::move(token));
  }
  /// Awaitable of the buffered bytes, of which it waits for at least one; they stay buffered. An empty view
  /// is the end of the source. So the wait for a request can have a time limit of its own, or a look at the
  /// first byte can say which protocol a client speaks.
  task<std::string_view> peek(stop_token token = {});

  /// The bytes that have been read from the source but not yet returned.
  [[nodiscard]] std::string_view buffered() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }

 private:
  /// Awaitable of the length up to and including the next `delimiter`, or of 0 if the source ended without
  /// one.
  task<std::size_t> find(std::string_view delimiter, const stop_token& token);
  /// Awaitable of the number of bytes appended to the buffer. Requires: the buffer is not full.
  task<std::size_t> fill(const stop_token& token);
  std::string_view take(std::size_t count) noexcept {
    const std::string_view taken = buffered().substr(0, count);
    begin_ += taken.size();
    return taken;
  }
  static constexpr char two_at_once[] =
      "two operations of a buffered_reader overlap: await one before you start the next";
  // std::errc::no_message_available is deprecated since C++23.
  static constexpr std::errc ended_early{ENODATA};

  Source& source_;
  const std::unique_ptr<char[]> buffer_;
  const std::size_t size_;
  std::size_t begin_ = 0, end_ = 0;  // the buffered bytes
  bool is_used_ = false;             // by an operation; only in checked builds
};

template <class Source>
task<std::size_t> buffered_reader<Source>::fill(const stop_token& token) {
  if (begin_ == end_ || end_ == size_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const mutable_buffer room{buffer_.get() + end_, size_ - end_};
  const std::size_t more = co_await source_.read_some(room.bytes(), token);
  end_ += more;
  co_return more;
}

template <class Source>
task<std::size_t> buffered_reader<Source>::find(std::string_view delimiter, const stop_token& token) {
  for (std::size_t searched = 0;;) {
    const std::string_view text = buffered();
    const std::size_t overlap = delimiter.size() - 1;  // a delimiter may begin in the part already searched
    const std::size_t at = text.find(delimiter, searched < overlap ? 0 : searched - overlap);
    if (at != text.npos) co_return at + delimiter.size();
    searched = text.size();
    if (searched == size_) {
      CORACLE_END_AS_FAILED(
          detail::stream_error(std::errc::message_size, "delimiter not found within the buffer's size"));
    }
    const std::size_t more = co_await fill(token);
    if (more == 0) co_return more;
  }
}

template <class Source>
task<std::optional<std::string_view>> buffered_reader<Source>::read_until(std::string_view delimiter,
                                                                          stop_token token) {
  CORACLE_CHECK_ONE_OPERATION(is_used_, two_at_once);
  CORACLE_REQUIRE(!delimiter.empty(), "read_until() needs a delimiter");
  const std::size_t reach = co_await find(delimiter, token);
  if (reach != 0) co_return take(reach);
  if (!buffered().empty())
    CORACLE_END_AS_FAILED(detail::stream_error(ended_early, "the stream ended before the delimiter"));
  co_return std::nullopt;
}

template <class Source>
task<std::optional<std::string_view>> buffered_reader<Source>::read_line(stop_token token) {
  CORACLE_CHECK_ONE_OPERATION(is_used_, two_at_once);
  const std::size_t reach = co_await find("\n", token);
  if (reach == 0 && buffered().empty()) co_return std::nullopt;
  std::string_view line = take(reach == 0 ? buffered().size() : reach);
  if (line.ends_with('\n')) line.remove_suffix(line.ends_with("\r\n") ? 2 : 1);
  co_return line;
}

template <class Source>
task<std::size_t> buffered_reader<Source>::read_some(mutable_buffer to, stop_token token) {
  CORACLE_CHECK(to.size() != 0, detail::reads_nothing);
  CORACLE_CHECK_ONE_OPERATION(is_used_, two_at_once);
  if (buffered().empty() && to.size() >= size_) {
    const std::size_t direct = co_await source_.read_some(to.bytes(), token);
    co_return direct;
  }
  if (buffered().empty()) {
    const std::size_t more = co_await fill(token);
    if (more == 0) co_return more;
  }
  const std::string_view some = take(to.size());
  if (!some.empty()) std::memcpy(to.data(), some.data(), some.size());
  co_return some.size();
}

template <class Source>
task<std::string_view> buffered_reader<Source>::peek(stop_token token) {
  CORACLE_CHECK_ONE_OPERATION(is_used_, two_at_once);
  if (buffered().empty()) co_await fill(token);
  co_return buffered();
}

template <class Source>
task<std::size_t> buffered_reader<Source>::read_exactly(mutable_buffer to, stop_token token,
                                                        std::size_t* got) {
  std::size_t local = 0;
  std::size_t& done = detail::transfer_count(got, local, to.size());
  while (done != to.size()) {
    const std::size_t more = co_await read_some(to.bytes().subspan(done), token);
    if (more == 0 && done == 0) co_return more;
    if (more == 0)
      CORACLE_END_AS_FAILED(detail::stream_error(ended_early, "the stream ended before all bytes were read"));
    done += more;
  }
  co_return done;
}
}  // namespace coracle
