// coracle/io/command.hpp -- a program to run: its arguments, its environment and its descriptors.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {
/// The target of one of a program's descriptors.
class redirection {
 public:
  enum class kind : std::uint8_t { inherit, null, pipe, read_file, write_file, append_file, copy };

  /// The descriptor of this process with the same number; closed if that is closed here.
  [[nodiscard]] static redirection inherit() noexcept { return redirection{kind::inherit}; }
  /// /dev/null.
  [[nodiscard]] static redirection null() noexcept { return redirection{kind::null}; }
  /// A pipe whose other end belongs to the `process`.
  [[nodiscard]] static redirection pipe() noexcept { return redirection{kind::pipe}; }
  [[nodiscard]] static redirection from_file(std::string path) { return {kind::read_file, std::move(path)}; }
  /// Truncated, or created with mode 0666 less the umask.
  [[nodiscard]] static redirection to_file(std::string path) { return {kind::write_file, std::move(path)}; }
  [[nodiscard]] static redirection append_to(std::string path) {
    return {kind::append_file, std::move(path)};
  }
  /// A descriptor of this process, by its number here. Requires: open when the process is started.
  [[nodiscard]] static redirection copy_of(int descriptor) noexcept {
    return redirection{kind::copy, descriptor};
  }

  [[nodiscard]] kind what() const noexcept { return kind_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  explicit redirection(kind what, int descriptor = -1) noexcept : kind_(what), descriptor_(descriptor) {}
  redirection(kind what, std::string path) : kind_(what), path_(std::move(path)) {}

  kind kind_;
  int descriptor_ = -1;
  std::string path_;
};

/// A program to run, and how: its arguments, environment, working directory, descriptors and limits.
///
///     coracle::command sort{"sort", "-n"};
///     sort.environment("LC_ALL", "C").folder("/tmp").input(coracle::redirection::from_file("numbers"));
///     coracle::process child{io, sort};
///
/// A name without a slash is looked up in this process's PATH. No shell is involved, and nothing is expanded;
/// for a shell: `command{"/bin/sh", "-c", script}`.
///
/// Inherited     standard input, output and error, the environment and the working directory, unless
///               overridden. No other descriptor, whether close-on-exec or not; no signal is blocked or
///               ignored. A program that was started without standard descriptors, as some daemons are,
///               should open /dev/null for them first: otherwise a socket or pipe that it opens gets such a
///               number, and the child inherits it.
/// Threads       as any value. The environment is read when a process is started: do not call setenv()
///               concurrently.
class command {
 public:
  template <class... Arguments>
  explicit command(std::string program, Arguments&&... arguments) {
    arguments_.reserve(1 + sizeof...(Arguments));
    arguments_.push_back(std::move(program));
    constexpr bool are_text = (std::is_constructible_v<std::string, Arguments> && ...);
    static_assert(are_text, "an argument of a command is text: convert a number by std::to_string()");
    if constexpr (are_text) (arguments_.emplace_back(static_cast<Arguments&&>(arguments)), ...);
  }
  /// Appends an argument.
  command& argument(std::string text) {
    arguments_.push_back(std::move(text));
    return *this;
  }

  /// Sets the working directory. A relative program is then looked up from there; the files of redirections
  /// are opened from the working directory of this process.
  command& folder(std::string path) {
    folder_ = std::move(path);
    return *this;
  }
  /// Sets a variable. Requires: `name` is not empty and contains no `=`.
  command& environment(std::string name, std::string value);
  /// Removes a variable.
  command& without_environment(std::string name);
  /// Removes all variables except those set here.
  command& empty_environment() {
    keeps_environment_ = false;
    return *this;
  }

  command& input(redirection from) { return descriptor(0, std::move(from)); }
  command& output(redirection to) { return descriptor(1, std::move(to)); }
  command& error(redirection to) { return descriptor(2, std::move(to)); }
  /// Redirects standard error to standard output: `2>&1`.
  command& error_to_output() {
    error_to_output_ = true;
    return *this;
  }
  /// Redirects any descriptor. For 3 and above: not pipe().
  command& descriptor(int number, redirection what);

  /// Sets a resource limit, as setrlimit(2): RLIMIT_CPU, RLIMIT_NOFILE ... `most` is both the soft and the
  /// hard limit.
  command& limit(int resource, std::uint64_t most) {
    limits_.emplace_back(resource, most);
    return *this;
  }
  /// Runs it in a process group of its own: Ctrl-C at the terminal does not reach it, and signals can be sent
  /// to it together with the processes that it starts.
  command& new_group() {
    group_ = group::own;
    return *this;
  }
  /// Runs it in a session of its own, without a terminal, and therefore in a process group of its own, too.
  command& new_session() {
    group_ = group::session;
    return *this;
  }

  // For the code that starts it.
  enum class group : std::uint8_t { inherited, own, session };
  [[nodiscard]] const std::vector<std::string>& arguments() const noexcept { return arguments_; }
  /// Each as "NAME=value".
  [[nodiscard]] std::vector<std::string> its_environment() const;
  [[nodiscard]] const std::string& its_folder() const noexcept { return folder_; }
  [[nodiscard]] const std::vector<std::pair<int, redirection>>& descriptors() const noexcept {
    return descriptors_;
  }
  [[nodiscard]] bool has_error_to_output() const noexcept { return error_to_output_; }
  [[nodiscard]] const std::vector<std::pair<int, std::uint64_t>>& limits() const noexcept { return limits_; }
  [[nodiscard]] group its_group() const noexcept { return group_; }

 private:
  std::vector<std::string> arguments_;
  std::string folder_;
  std::vector<std::pair<std::string, std::optional<std::string>>> changes_;  // of variables; nullopt: removed
  // By number, in ascending order.
  std::vector<std::pair<int, redirection>> descriptors_{
      {0, redirection::inherit()}, {1, redirection::inherit()}, {2, redirection::inherit()}};
  std::vector<std::pair<int, std::uint64_t>> limits_;
  group group_ = group::inherited;
  bool keeps_environment_ = true, error_to_output_ = false;
};
}  // namespace coracle
