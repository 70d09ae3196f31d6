// tour/options.hpp -- what the command line asks for.
// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tour {
struct options {
  std::optional<std::string> only;
  std::optional<std::filesystem::path> json;
  std::optional<std::filesystem::path> html;
  std::optional<std::filesystem::path> tree;
  bool help = false;
};

/// what(): one line for the user.
class bad_arguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws bad_arguments. The stations and paths that it returns exist, and the files can be written.
options parse_options(const std::vector<std::string_view>& arguments);
std::string help_text();
}  // namespace tour
