// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <coracle/base/check.hpp>
#include <coracle/io/command.hpp>
#include <coracle/io/exit_status.hpp>
#include <cstring>

namespace coracle {
namespace {
std::string_view name_in(std::string_view variable) { return variable.substr(0, variable.find('=')); }
}  // namespace

std::string exit_status::to_string() const {
  if (signal_ == 0) return "exited with " + std::to_string(code_);
  const char* const text = ::sigdescr_np(signal_);
  return "killed by signal " + std::to_string(signal_) + (text ? " (" + std::string{text} + ")" : "");
}

command& command::environment(std::string name, std::string value) {
  CORACLE_REQUIRE(!name.empty() && name.find('=') == name.npos,
                  "the name of an environment variable is empty or contains `=`: pass the value separately");
  changes_.emplace_back(std::move(name), std::move(value));
  return *this;
}
command& command::without_environment(std::string name) {
  changes_.emplace_back(std::move(name), std::nullopt);
  return *this;
}

command& command::descriptor(int number, redirection what) {
  CORACLE_REQUIRE(number >= 0, "a descriptor of a command has a negative number");
  CORACLE_REQUIRE(number <= 2 || what.what() != redirection::kind::pipe,
                  "only input, output and error can be a pipe(): pass an end of make_pipe() by copy_of()");
  const auto at = std::lower_bound(descriptors_.begin(), descriptors_.end(), number,
                                   [](const auto& each, int wanted) { return each.first < wanted; });
  if (at != descriptors_.end() && at->first == number) {
    at->second = std::move(what);
  } else {
    descriptors_.emplace(at, number, std::move(what));
  }
  return *this;
}

std::vector<std::string> command::its_environment() const {
  std::vector<std::string> all;
  if (keeps_environment_) {
    for (char* const* each = environ; each && *each; ++each) all.emplace_back(*each);
  }
  for (const auto& [name, value] : changes_) {
    std::erase_if(all, [&](const std::string& each) { return name_in(each) == name; });
    if (value) all.push_back(name + "=" + *value);
  }
  return all;
}
}  // namespace coracle
