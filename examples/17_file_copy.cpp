// examples/17_file_copy.cpp -- copies a file with a progress bar, cancellably.
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;
using progress = std::function<void(std::uint64_t done, std::uint64_t size)>;

/// Throws coracle::operation_cancelled after a stop request, and removes the partial copy.
coracle::task<> copy(coracle::io_service& io, fs::path from, fs::path to, progress report,
                     coracle::stop_token stop) {
  const auto in = coracle::read_only_file::open(io, from);
  auto out = coracle::write_only_file::open(io, to, coracle::file_open_mode::create_always);
  const auto undo = coracle::on_scope_failure([&] {  // a catch block does not run in every stopped task
    std::error_code ignored;
    fs::remove(to, ignored);
  });
  const std::uint64_t size = in.size();
  std::vector<char> buffer(64 * 1024);
  for (std::uint64_t done = 0; done < size; report(done, size)) {
    const std::size_t got = co_await in.read(done, buffer.data(), buffer.size(), stop);
    if (got == 0) break;  // the file was truncated in the meantime
    co_await out.write_all(done, buffer.data(), got, stop);
    done += got;
  }
}

/// Draws a line for each completed quarter.
class progress_bar {
 public:
  void operator()(std::uint64_t done, std::uint64_t size) {
    for (; quarters_ < 4 * done / size; ++quarters_) {
      const std::string bar(5 * (quarters_ + 1), '#');
      std::printf("  [%-20s] %3u %%\n", bar.c_str(), 25 * (quarters_ + 1));
    }
  }

 private:
  unsigned quarters_ = 0;
};

/// Copies a file that it creates, twice; the second copy is cancelled halfway.
coracle::task<> demonstrate(coracle::io_service& io, fs::path folder) {
  const fs::path original = folder / "original", copied = folder / "copied", cancelled = folder / "cancelled";
  std::ofstream(original) << std::string(1 << 20, 'x');
  coracle::stop_source cancel;
  std::puts("copying");
  co_await copy(io, original, copied, progress_bar{}, cancel.get_token());
  std::printf("copied %ju bytes\n", fs::file_size(copied));

  std::puts("copying once more");
  const auto until_half = [&, bar = progress_bar{}](std::uint64_t done, std::uint64_t size) mutable {
    bar(done, size);
    if (2 * done >= size) cancel.request_stop();
  };
  try {
    co_await copy(io, original, cancelled, until_half, cancel.get_token());
  } catch (const coracle::operation_cancelled&) {
    std::printf("cancelled, %s\n", fs::exists(cancelled) ? "half a copy is left" : "nothing is left behind");
  }
}

coracle::task<> run(coracle::io_service& io, int argc, char** argv) {
  if (argc == 3) {
    co_await copy(io, argv[1], argv[2], progress_bar{}, {});
  } else {
    const fs::path folder = fs::temp_directory_path() / ("coracle_file_copy." + std::to_string(::getpid()));
    fs::create_directory(folder);
    const auto removed_at_end = coracle::on_scope_exit([&] { fs::remove_all(folder); });
    co_await demonstrate(io, folder);
  }
}

/// 17_file_copy FROM TO copies that file.
int main(int argc, char** argv) {
  coracle::io_service io;
  io.run(run(io, argc, argv));
}

// Output:
//   copying
//     [#####               ]  25 %
//     [##########          ]  50 %
//     [###############     ]  75 %
//     [####################] 100 %
//   copied 1048576 bytes
//   copying once more
//     [#####               ]  25 %
//     [##########          ]  50 %
//   cancelled, nothing is left behind
