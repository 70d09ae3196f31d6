// tour/options.cpp -- what the command line asks for.
// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "format.hpp"
#include "stations.hpp"

namespace tour {
namespace {
namespace fs = std::filesystem;

std::string in_quotes(std::string_view foreign) { return "'" + printable(foreign) + "'"; }

std::string station_names() {
  std::string names;
  for (const station& each : stations) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

/// Walks over the arguments; an option's value is in the same one behind '=' or in the next.
class reader {
 public:
  explicit reader(const std::vector<std::string_view>& arguments) : arguments_(arguments) {}

  options read() {
    bool options_ended = false;
    while (next_ != arguments_.size()) {
      const std::string_view argument = arguments_[next_++];
      if (options_ended || argument.size() < 2 || argument.front() != '-') {
        take_tree(argument);
      } else if (argument == "--") {
        options_ended = true;
      } else {
        take_option(argument);
      }
    }
    return std::move(result_);
  }

 private:
  void take_option(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const bool has_value = equals != std::string_view::npos;
    if (name == "--help" || name == "-h") {
      if (has_value) throw bad_arguments(std::string(name) + " takes no value");
      result_.help = true;
    } else if (name == "--only") {
      set(result_.only, name, value_of(argument, equals));
    } else if (name == "--json") {
      set(result_.json, name, value_of(argument, equals));
    } else if (name == "--html") {
      set(result_.html, name, value_of(argument, equals));
    } else {
      throw bad_arguments("unknown option " + in_quotes(name) + "; --help lists them all");
    }
  }
  std::string_view value_of(std::string_view argument, std::size_t equals) {
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (next_ != arguments_.size() && !arguments_[next_].starts_with("--")) {
      value = arguments_[next_++];
    }
    if (value.empty()) throw bad_arguments(std::string(argument.substr(0, equals)) + " needs a value");
    return value;
  }
  template <class T>
  void set(std::optional<T>& place, std::string_view name, std::string_view value) {
    if (place) throw bad_arguments(std::string(name) + " is given twice");
    place.emplace(value);
  }
  void take_tree(std::string_view path) {
    if (result_.tree) throw bad_arguments("one PATH at most, and here is a second: " + in_quotes(path));
    if (path.empty()) throw bad_arguments("PATH is empty");
    result_.tree.emplace(path);
  }

  const std::vector<std::string_view>& arguments_;
  std::size_t next_ = 0;
  options result_;
};

void check_station(const std::string& name) {
  const auto named = [&name](const station& each) { return each.name == name; };
  if (std::none_of(stations.begin(), stations.end(), named)) {
    throw bad_arguments("no station " + in_quotes(name) + "; there are " + station_names());
  }
}
void check_tree(const fs::path& tree) {
  std::error_code error;
  const fs::file_status status = fs::status(tree, error);
  if (!fs::exists(status)) throw bad_arguments("no such directory: " + in_quotes(tree.string()));
  if (!fs::is_directory(status)) throw bad_arguments("not a directory: " + in_quotes(tree.string()));
  const fs::directory_iterator readable(tree, error);
  if (error) throw bad_arguments("cannot read " + in_quotes(tree.string()) + ": " + error.message());
}
// Opens for appending, so that a file that is there keeps its contents if the tour ends early.
void check_output(const fs::path& file) {
  errno = 0;
  if (!std::ofstream(file, std::ios::app)) {
    throw bad_arguments("cannot write " + in_quotes(file.string()) + ": " + std::strerror(errno));
  }
}
}  // namespace

options parse_options(const std::vector<std::string_view>& arguments) {
  options result = reader(arguments).read();
  if (result.help) return result;
  if (result.only) check_station(*result.only);
  if (result.tree) check_tree(*result.tree);
  if (result.json && result.html && *result.json == *result.html) {
    throw bad_arguments("--json and --html name the same file");
  }
  if (result.json) check_output(*result.json);
  if (result.html) check_output(*result.html);
  return result;
}

std::string help_text() {
  std::string text =
      "usage: coracle-tour [--only NAME] [--json FILE] [--html FILE] [--help] [PATH]\n"
      "Shows every mechanism of C++ coroutines at work, measured while you watch.\n\n"
      "  --only NAME   one station only\n"
      "  --json FILE   also write every measured figure to FILE\n"
      "  --html FILE   also write one self-contained page to FILE\n"
      "  --help        this text\n"
      "  PATH          the directory that the last station reads (" +
      settings().tree.string() + ")\n\nStations:\n";
  for (const station& each : stations) text += "  " + fitted(each.name, 15) + std::string(each.title) + "\n";
  text +=
      "\nExit code: 0; 1 if a claim of the tour did not hold in this run or a file could\n"
      "not be written; 2 if the arguments are wrong.\n";
  return text;
}
}  // namespace tour
