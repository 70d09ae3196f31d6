// examples/41_follow_files.cpp -- tail -f of many files: prints what is appended to any of them.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fs = coracle::filesystem;
using coracle::task;
using std::filesystem::path;
using printer = std::function<void(const path& file, std::string_view text)>;

/// A file, and how far it has been printed.
class followed_file {
 public:
  explicit followed_file(coracle::read_only_file file, path name)
      : file_(std::move(file)), name_(std::move(name)), position_(file_.size()) {}

  task<> print_news(const printer& print) {
    if (file_.size() < position_) position_ = 0;  // it was truncated, and begins again
    char text[4096];
    while (const std::size_t got = co_await file_.read(position_, text, sizeof text)) {
      position_ += got;
      print(name_, {text, got});
    }
  }

 private:
  coracle::read_only_file file_;
  path name_;
  std::uint64_t position_;
};

/// Runs until it is stopped. Calls `ready` once it has found the end of each file.
task<> follow(coracle::io_service& io, std::vector<path> names, printer print, std::function<void()> ready) {
  coracle::file_watcher watcher{io};
  std::map<coracle::file_watch, followed_file> files;
  for (const path& name : names) {
    coracle::read_only_file file = co_await fs::open_read_only(io, name);
    const coracle::file_watch watch = watcher.add(name, coracle::file_change::modified);
    files.try_emplace(watch, std::move(file), name);
  }
  ready();
  for (;;) {
    const coracle::file_event event = co_await watcher.next();
    if (event.is(coracle::file_change::overflow)) {  // events were lost: any file may have grown
      for (auto& [watch, file] : files) co_await file.print_news(print);
    } else if (const auto found = files.find(event.watch); found != files.end()) {
      co_await found->second.print_news(print);
    }
  }
}

/// Without arguments: creates two files, follows them, and appends one line after another.
task<> demonstrate(coracle::io_service& io, path folder) {
  const path oars = folder / "oars.log", sails = folder / "sails.log";
  co_await fs::write_file(io, oars, "an old line\n");
  co_await fs::write_file(io, sails, "");
  coracle::async_auto_reset_event printed;
  const auto print = [&](const path& file, std::string_view text) {
    std::printf("%s: %.*s", file.filename().c_str(), static_cast<int>(text.size()), text.data());
    printed.set();
  };
  const auto append = [&]() -> task<> {
    co_await printed;  // by ready
    for (const char* line : {"dip\n", "pull\n"}) {
      co_await fs::append_to_file(io, oars, line);
      co_await printed;
      co_await fs::append_to_file(io, sails, "set\n");
      co_await printed;
    }
    co_await fs::write_file(io, oars, "a new log\n");  // truncates it
    co_await printed;
  };
  const std::vector<path> both{oars, sails};
  co_await coracle::when_any(follow(io, both, print, [&] { printed.set(); }), append());
}

/// 41_follow_files FILE... prints what is appended to these files, until Ctrl-C.
int main(int argc, char** argv) try {
  coracle::io_service io;
  if (argc > 1) {
    const auto print = [](const path& file, std::string_view text) {
      std::printf("%s: %.*s", file.c_str(), static_cast<int>(text.size()), text.data());
      std::fflush(stdout);
    };
    io.run(follow(io, {argv + 1, argv + argc}, print, [] {}));
  } else {
    const path folder =
        std::filesystem::temp_directory_path() / ("coracle_follow." + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const auto removed_at_end = coracle::on_scope_exit([&] { std::filesystem::remove_all(folder); });
    io.run(demonstrate(io, folder));
  }
} catch (const std::system_error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// Output:
//   oars.log: dip
//   sails.log: set
//   oars.log: pull
//   sails.log: set
//   oars.log: a new log
