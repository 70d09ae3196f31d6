// coracle/io/buffered_writer.hpp -- combines many small writes into few large ones.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/buffer.hpp>
#include <coracle/io/byte_stream.hpp>
#include <coracle/io/detail/one_operation.hpp>
#include <coracle/io/detail/transfer_count.hpp>
#include <cstring>
#include <memory>
#include <utility>

namespace coracle {
/// Collects what is written, and passes it to a byte_sink when its buffer is full, or by flush().
///
///     coracle::buffered_writer writer{client};
///     co_await writer.write("HTTP/1.1 200 OK\r\n");
///     co_await writer.write("Content-Length: 0\r\n\r\n");
///     co_await writer.flush();  // the destructor discards what has not been flushed
///
/// Resumes on    as the sink, if the buffer had to be flushed.
/// Cancellation  as the sink. What the sink has taken is no longer in the buffer; flush() continues with the
///               rest.
/// Exceptions    those of the sink.
/// Threads       one operation at a time; a checked build ends at the second. The sink must outlive the
///               writer.
/// Cost          one allocation, for the buffer, and a frame for each operation. Text that does not fit is
///               copied through the buffer in pieces of its size, so the writer never holds more than that.
template <class Sink>
class buffered_writer {
  static_assert(detail::is_byte_sink<Sink>,
                "a buffered_writer needs a byte_sink, such as a socket: an object whose write_some(span, "
                "stop_token) is an awaitable of a std::size_t. A file is written at offsets");

 public:
  static constexpr std::size_t default_size = 16 * 1024;

  /// `size` is that of the buffer, in bytes.
  explicit buffered_writer(Sink& sink, std::size_t size = default_size)
      : sink_(sink), buffer_(new char[size]), size_(size) {
    CORACLE_REQUIRE(size != 0, "a buffered_writer needs a buffer");
  }
  explicit buffered_writer(Sink&&, std::size_t = 0)  // it refers to the sink: give the sink a name
    requires(!std::is_reference_v<Sink>)
  = delete;

  /// Awaitable of nothing, which completes when all of `bytes` are in the buffer or have been passed on.
  /// After a cancellation or an error, `*taken`, if given, is the number of bytes that are; pass it again to
  /// continue from there. Requires: `bytes` outlive the operation.
  task<> write(const_buffer bytes, stop_token token = {}, std::size_t* taken = nullptr);
  CORACLE_CORO_WRAPPER()
  task<> write(const void* buffer, byte_count size, stop_token token = {}, std::size_t* taken = nullptr) {
    return write(const_buffer{buffer, size}, std::move(token), taken);
  }
  /// Awaitable of nothing, which completes when the sink has taken everything that was written.
  task<> flush(stop_token token = {});

  /// The number of bytes that have not been passed on yet.
  [[nodiscard]] std::size_t buffered() const noexcept { return end_ - begin_; }

 private:
  static constexpr char two_at_once[] =
      "two operations of a buffered_writer overlap: await one before you start the next";

  Sink& sink_;
  const std::unique_ptr<char[]> buffer_;
  const std::size_t size_;
  std::size_t begin_ = 0, end_ = 0;  // the buffered bytes
  bool is_used_ = false;             // by flush(), the only one that waits; only in checked builds
};

template <class Sink>
task<> buffered_writer<Sink>::flush(stop_token token) {
  CORACLE_CHECK_ONE_OPERATION(is_used_, two_at_once);
  while (begin_ != end_) {
    const const_buffer rest{buffer_.get() + begin_, end_ - begin_};
    const std::size_t more = co_await sink_.write_some(rest.bytes(), token);
    CORACLE_REQUIRE(more != 0 && more <= rest.size(), detail::takes_a_wrong_number);
    begin_ += more;
  }
  begin_ = end_ = 0;
}

template <class Sink>
task<> buffered_writer<Sink>::write(const_buffer bytes, stop_token token, std::size_t* taken) {
  CORACLE_CHECK(!is_used_, two_at_once);
  std::size_t local = 0;
  std::size_t& done = detail::transfer_count(taken, local, bytes.size());
  for (;;) {
    const std::size_t left = bytes.size() - done, room = size_ - end_;
    const std::size_t some = left < room ? left : room;
    // Neither argument of memcpy() may be null.
    if (some != 0) std::memcpy(buffer_.get() + end_, static_cast<const char*>(bytes.data()) + done, some);
    end_ += some;
    done += some;
    if (done == bytes.size()) co_return;
    co_await flush(token);
  }
}
}  // namespace coracle
