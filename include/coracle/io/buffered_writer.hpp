// coracle/io/buffered_writer.hpp -- many small writes as few large ones.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/base/check.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/byte_stream.hpp>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle {
/// Collects what is written, and passes it on to a byte_sink when its buffer is full, or when it is told to.
///
///     coracle::buffered_writer writer{client};
///     co_await writer.write("HTTP/1.1 200 OK\r\n");
///     co_await writer.write("Content-Length: 0\r\n\r\n");
///     co_await writer.flush();  // what is not flushed when it is destroyed is lost
///
/// Resumes on    as the sink, if it had to pass something on.
/// Cancellation  as the sink. What the sink has taken is no longer in the buffer, so flush() goes on with the rest.
/// Exceptions    those of the sink.
/// Threads       one operation at a time. The sink outlives it.
/// Cost          one allocation, of the buffer; a frame for each operation. More than fits is copied through the buffer, so that
///               the sink gets pieces of the buffer's size: never more than that is waiting here.
template <byte_sink Sink>
class buffered_writer {
 public:
  static constexpr std::size_t default_size = 16 * 1024;

  /// `size` of the buffer, in bytes.
  explicit buffered_writer(Sink& sink, std::size_t size = default_size)
      : sink_(sink), buffer_(new char[size]), size_(size) {
    CORACLE_REQUIRE(size != 0, "a buffered_writer needs a buffer");
  }

  /// Awaitable of nothing: `text` is in the buffer, or has been passed on. Cancelled, or ended by an error, `*taken`, if given,
  /// says how many bytes are; called again with it, it goes on from there. Requires: `text` outlives the operation.
  task<> write(std::string_view text, stop_token token = {}, std::size_t* taken = nullptr);
  CORACLE_CORO_WRAPPER()
  task<> write(std::span<const std::byte> bytes, stop_token token = {}, std::size_t* taken = nullptr) {
    return write(std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                 std::move(token), taken);
  }
  /// Awaitable of nothing: the sink has taken all that was written.
  task<> flush(stop_token token = {});

  /// How many bytes wait to be passed on.
  [[nodiscard]] std::size_t buffered() const noexcept { return end_ - begin_; }

 private:
  Sink& sink_;
  const std::unique_ptr<char[]> buffer_;
  const std::size_t size_;
  std::size_t begin_ = 0, end_ = 0;  // of what is buffered
};

template <byte_sink Sink>
task<> buffered_writer<Sink>::flush(stop_token token) {
  while (begin_ != end_) {
    const std::span<const char> rest{buffer_.get() + begin_, end_ - begin_};
    const std::size_t more = co_await sink_.write_some(std::as_bytes(rest), token);
    begin_ += more;
  }
  begin_ = end_ = 0;
}

template <byte_sink Sink>
task<> buffered_writer<Sink>::write(std::string_view text, stop_token token, std::size_t* taken) {
  std::size_t its_own = 0;
  std::size_t& done = taken ? *taken : its_own;
  for (;;) {
    const std::string_view some = text.substr(done, size_ - end_);
    std::memcpy(buffer_.get() + end_, some.data(), some.size());
    end_ += some.size();
    done += some.size();
    if (done == text.size()) co_return;
    co_await flush(token);
  }
}
}  // namespace coracle
