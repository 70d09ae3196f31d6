// coracle/io/detail/path_operation.hpp -- the common base of awaiters of operations on paths.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/io/detail/io_operation.hpp>
#include <filesystem>

namespace coracle::detail {
/// Flag of io_opcode::remove: AT_REMOVEDIR.
inline constexpr int removes_directory = 0x200;

/// The starting point of relative paths, as an operation stores it: an open directory, or the current one of
/// the process.
class path_base {
 public:
  explicit path_base(io_service& service) noexcept : service_(&service) {}
  /// Both outlive it.
  path_base(const io_descriptor& opened, const std::filesystem::path& its_path) noexcept
      : service_(opened.service()), opened_(&opened), opened_path_(&its_path) {}

  [[nodiscard]] io_service* service() const noexcept { return service_; }
  /// Returns null for the current directory of the process.
  [[nodiscard]] const io_descriptor* opened() const noexcept { return opened_; }
  /// Returns `path` as error messages name it: behind the path of the open directory, if it begins there.
  [[nodiscard]] std::filesystem::path in_full(std::filesystem::path path) const;

 private:
  io_service* service_;
  const io_descriptor* opened_ = nullptr;
  const std::filesystem::path* opened_path_ = nullptr;
};

/// The operands of a path_operation. A base class of its own, in front of io_operation, because it must
/// outlive the request.
class path_arguments {
 protected:
  /// Throws as the constructor of io_descriptor.
  path_arguments(const path_base& base, std::filesystem::path path, std::filesystem::path other);
  [[nodiscard]] const io_descriptor& descriptor() const noexcept {
    return base_.opened() ? *base_.opened() : current_;
  }

  path_base base_;
  io_descriptor current_;  // stands for the current directory, unless `base_` is an open one
  std::filesystem::path path_, other_path_;
};

/// Base of an awaiter that carries out one system call on one or two paths, which it owns.
///
/// Resumes on    as io_operation.
/// Cancellation  takes effect while it waits for a thread or is not submitted yet: nothing was then done.
///               With io_uring, the kernel is requested to cancel it. An operation that the system has begun
///               is completed, and succeeds.
/// Exceptions    the constructor: std::bad_alloc; std::system_error if the io_service cannot create its
///               descriptors. The await: operation_cancelled; std::system_error with the operation and the
///               paths. A path that contains a NUL gives std::errc::invalid_argument.
/// Cost          no allocation, except for long paths.
class path_operation : protected path_arguments, public io_operation {
 public:
  path_operation(path_operation&&) = default;

  bool await_ready() const noexcept { return result == refused && !buffer; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    refer_to_paths();
    return io_operation::await_suspend(self);
  }

 protected:
  path_operation(const path_base& base, io_opcode code, std::filesystem::path path,
                 std::filesystem::path other, std::size_t bytes, int call_flags, stop_token token);
  ~path_operation() = default;

  /// As take_result(), with the paths in the message.
  std::int64_t take_path_result();
  [[noreturn]] void fail(int error) const;

 private:
  // The result if a path has a NUL in it, where it would end for the system. Such a request never gets a
  // buffer; the system's own EINVAL leaves one.
  static constexpr std::int64_t refused = -EINVAL;
  void refer_to_paths() noexcept;
};
}  // namespace coracle::detail
