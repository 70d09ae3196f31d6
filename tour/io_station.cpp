// tour/io_station.cpp -- the engine in use, an echo over loopback, many connections, and a file read.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>
#include <coracle/io/io_engine.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/io/read_only_file.hpp>
#include <cstdint>
#include <fstream>
#include <vector>

#include "clock.hpp"
#include "echo.hpp"
#include "format.hpp"
#include "stations.hpp"

namespace tour {
namespace {
constexpr std::size_t messages = 4000, many_clients = 200, messages_of_many = 20;
constexpr std::size_t block = 64 * 1024;
constexpr const char* own_program = "/proc/self/exe";

/// FNV-1a, to compare what two readers have read.
class checksum {
 public:
  void add(const char* bytes, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
      state_ = (state_ ^ static_cast<unsigned char>(bytes[i])) * 1099511628211U;
    }
  }
  friend bool operator==(const checksum&, const checksum&) = default;

 private:
  std::uint64_t state_ = 14695981039346656037U;
};

struct contents {
  checksum sum;
  std::uint64_t bytes = 0, reads = 0;
  double nanoseconds = 0;  ///< in all the reads
};

coracle::task<contents> read_file(coracle::io_service& io, const char* name) {
  contents all;
  const auto file = coracle::read_only_file::open(io, name);
  std::vector<char> buffer(block);
  for (;;) {
    const stopwatch watch;
    const std::size_t got = co_await file.read(all.bytes, buffer.data(), buffer.size());
    all.nanoseconds += watch.nanoseconds();
    if (got == 0) break;
    all.sum.add(buffer.data(), got);
    all.bytes += got;
    ++all.reads;
  }
  co_return all;
}
contents read_plainly(const char* name) {
  contents all;
  std::ifstream file(name, std::ios::binary);
  std::vector<char> buffer(block);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() != 0) {
    const auto got = static_cast<std::size_t>(file.gcount());
    all.sum.add(buffer.data(), got);
    all.bytes += got;
  }
  return all;
}

std::vector<std::string> row_of(const char* name, const echo_run& run) {
  return {name, duration(run.percentile(50)), duration(run.percentile(99)), grouped(run.switches)};
}

void show_engine(section& page) {
  const coracle::io_service io;
  page.say("What carries out the operations of an io_service is " + std::string(io.engine().name) +
           " here: " + std::string(io.engine().reason) +
           ". The environment variable CORACLE_IO chooses another.");
  page.check(io.engine().name == "io_uring" || io.engine().name == "epoll",
             "The engine is the system's: " + std::string(io.engine().name) + ".");
}

void show_echo(section& page) {
  const echo_run threads = echo_with_threads(messages);
  const echo_run coroutines = echo_with_coroutines(1, messages);
  page.say(
      "An echo server and its client, " + grouped(messages) +
      " messages of 64 bytes there and back over loopback TCP. With blocking calls each side needs a thread "
      "of its own, and each message two switches between them; the coroutines take turns on one thread:");
  page.add(table{"",
                 {"", "median round trip", "99 of 100 within", "context switches"},
                 {row_of("two threads that block", threads), row_of("two coroutines", coroutines)}});
  page.check(coroutines.wrong == 0 && coroutines.nanoseconds.size() == messages,
             "All " + grouped(coroutines.nanoseconds.size()) + " answers were what had been sent.");
  page.measured("echo.median", coroutines.percentile(50), "ns");
  page.measured("echo.percentile_99", coroutines.percentile(99), "ns");
  page.measured("echo.context_switches", static_cast<double>(coroutines.switches), "switches");
  page.measured("echo.threads.median", threads.percentile(50), "ns");
  page.measured("echo.threads.context_switches", static_cast<double>(threads.switches), "switches");

  const echo_run many = echo_with_coroutines(many_clients, messages_of_many);
  page.check(many.wrong == 0 && many.nanoseconds.size() == many_clients * messages_of_many,
             grouped(many_clients) + " clients at a time, on the same thread, with " +
                 grouped(messages_of_many) + " messages each: all answers were right after " +
                 duration(many.seconds * 1e9) + ", with up to " + grouped(many.most_connected) +
                 " connections open.");
  page.measured("many.seconds", many.seconds, "s");
  page.measured("many.most_connected", static_cast<double>(many.most_connected), "connections");
}

void show_file(section& page) {
  coracle::io_service io;
  const contents read = io.run(read_file(io, own_program));
  const contents expected = read_plainly(own_program);
  page.say("A file, read by a coroutine of that thread in pieces of " + byte_size(block) +
           ": the tour's own program. It took " + plural(read.reads, "read") + " of " +
           duration(read.nanoseconds / static_cast<double>(read.reads)) +
           " each. What is in the page cache is read on the thread itself.");
  page.check(read.sum == expected.sum && read.bytes == expected.bytes && read.bytes != 0,
             "The " + byte_size(static_cast<double>(read.bytes)) + " are what std::ifstream reads.");
  page.measured("file.bytes", static_cast<double>(read.bytes), "bytes");
  page.measured("file.reads", static_cast<double>(read.reads), "reads");
  page.measured("file.read", read.nanoseconds / static_cast<double>(read.reads), "ns");
}
}  // namespace

void show_io(section& page, const settings&) {
  show_engine(page);
  show_echo(page);
  show_file(page);
}
}  // namespace tour
