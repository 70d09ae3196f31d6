// tests/probes/system_errors.cpp -- every operation, with every error that the manual page of its system
// call lists, on both engines: it ends with this error, nothing is lost or left open, and the next attempt
// succeeds. Then every transfer, a byte at a time.
// SPDX-License-Identifier: MIT
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/buffered_writer.hpp>
#include <coracle/io/whole_file.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "../support/expect.hpp"
#include "../support/system_error_table.hpp"
#include "../support/system_faults.hpp"

namespace {
using namespace coracle_test::system_errors;
namespace faults = coracle_test::system_faults;
using coracle::net::socket;  // not socket(2)
using coracle_test::expect;

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, {});
}

/// The files of a place.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "coracle_errors.XXXXXX").string();
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
    reset();
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }
  void reset() {
    for (const auto& each : std::filesystem::directory_iterator{path_}) std::filesystem::remove_all(each);
    const int fd = ::open((path_ / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (::write(fd, "text", 4) != 4) std::abort();
    ::close(fd);
    std::filesystem::create_directories(path_ / "full/below");
    std::filesystem::create_symlink("file", path_ / "link");
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

// ---- running them --------------------------------------------------------------------------------------

unsigned trials = 0;

void explain(const operation& what, const char* engine, int error) {
  std::printf("%s, %s, %s\n", what.name, engine, ::strerrorname_np(error));
}

/// Returns the one of its calls that was made and failed, or null.
const std::string_view* fails_once(const operation& what, folder& files, const char* engine, company with,
                                   int error, bool survives) {
  const int failures_before = coracle_test::failures;
  const std::ptrdiff_t open_before = open_descriptors();
  bool has_failed = false;
  {
    files.reset();
    io_service io;
    const place p{io, files.path()};
    const attempt work = what.prepare(p);
    faults::failing = what.calls;
    faults::error = error;
    faults::failed = nullptr;
    faults::polls = 0;
    faults::is_armed = true;
    const std::error_code end = end_of(p, work, with);
    has_failed = !faults::is_armed.exchange(false);
    constexpr unsigned most_polls = 100;
    expect(faults::polls < most_polls, "the loop does not spin");
    const std::error_code expected{has_failed && !survives ? error : 0, std::system_category()};
    expect(end == expected, "the operation ends with the error");
    if (end) expect(!end_of(p, work, with), "the next attempt succeeds");
    io.process_pending_events();
    expect(io.process_pending_events() == 0, "the loop is idle afterwards");
  }
  expect(open_descriptors() == open_before, "no descriptor is left open");
  trials += has_failed ? 1 : 0;
  if (coracle_test::failures != failures_before) explain(what, engine, error);
  return faults::failed;
}

void fails_with_each_error(const operation& what, folder& files) {
  std::set<const std::string_view*> failed;
  for (const char* const engine : {"epoll", "io_uring"}) {
    ::setenv("CORACLE_IO", engine, 1);
    for (const company with : {company::alone, company::beside_another}) {
      for (const int each : what.errors) failed.insert(fails_once(what, files, engine, with, each, false));
      for (const int each : what.survived) failed.insert(fails_once(what, files, engine, with, each, true));
    }
  }
  for (const std::string_view& each : what.calls) {
    if (failed.contains(&each)) continue;
    expect(false, "the operation makes this call");
    std::printf("%s: %s\n", what.name, each.data());
  }
}

// ---- a byte at a time ----------------------------------------------------------------------------------

std::string some_text() {
  std::string text;
  for (int i = 0; i != 40; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

task<std::string> received(socket& from, std::size_t size) {
  std::string text(size, ' ');
  co_await from.recv_exactly(text.data(), size);
  co_return text;
}
task<> sends(const place& p, const std::string& text) {
  connection both{p.io};
  const coracle::const_buffer pieces[] = {{text.data(), 100}, {text.data() + 100, text.size() - 100}};
  const auto send = [&]() -> task<> {
    co_await both.far.send_all(text);
    std::vector<coracle::const_buffer> rest(std::begin(pieces), std::end(pieces));
    co_await both.far.send_all(rest);
    const auto file = co_await fs::open_read_only(p.io, p.files / "text");
    const std::uint64_t sent = co_await coracle::net::send_file(both.far, file, 0, text.size());
    expect(sent == text.size(), "send_file() sends all");
  };
  const auto receive = [&]() -> task<> {
    for (int i = 0; i != 3; ++i) {
      const std::string got = co_await received(both.near, text.size());
      expect(got == text, "what is sent arrives");
    }
  };
  co_await coracle::when_all(send(), receive());
}
task<> reads_lines(const place& p, const std::string& text) {
  connection both{p.io};
  const auto send = [&]() -> task<> {
    coracle::buffered_writer writer{both.far};
    co_await writer.write(text);
    co_await writer.flush();
  };
  const auto receive = [&]() -> task<> {
    coracle::buffered_reader reader{both.near};
    std::string all;
    while (all.size() != text.size()) {
      const auto line = co_await reader.read_line();
      all.append(line.value()).append("\n");
    }
    expect(all == text, "the lines arrive");
  };
  co_await coracle::when_all(send(), receive());
}
task<> pipes(const place& p, const std::string& text) {
  coracle::pipe_ends ends = coracle::make_pipe(p.io);
  const auto write = [&]() -> task<> { co_await ends.write_end.write_all(text); };
  const auto read = [&]() -> task<> {
    std::string all;
    char room[64];
    while (all.size() != text.size()) {
      const std::size_t got = co_await ends.read_end.read_some(room, sizeof room);
      all.append(room, got);
    }
    expect(all == text, "what is written to a pipe is read");
  };
  co_await coracle::when_all(write(), read());
}
task<> files(const place& p, const std::string& text) {
  for (const auto mode : {file_buffering_mode::default_, file_buffering_mode::write_through}) {
    auto file = co_await fs::open_read_write(p.io, p.files / "other", file_open_mode::create_always, mode);
    co_await file.write_all(0, text.data(), text.size());
    std::string read(text.size(), ' ');
    co_await file.read_exactly(0, read.data(), read.size());
    expect(read == text, "what is written to a file is read");
  }
  co_await fs::copy_file(p.io, p.files / "other", p.io, p.files / "copy");
  co_await fs::write_atomically(p.io, p.files / "whole", text);
  for (const char* const name : {"copy", "whole"}) {
    const std::string read = co_await fs::read_file(p.io, p.files / name);
    expect(read == text, "copies are complete");
  }
}

void moves_a_byte_at_a_time(folder& where) {
  const std::string text = some_text();
  struct transfer {
    const char* name;
    task<> (*make)(const place&, const std::string&);
  };
  constexpr transfer transfers[] = {
      {"sends", &sends}, {"reads_lines", &reads_lines}, {"pipes", &pipes}, {"files", &files}};
  for (const char* const engine : {"epoll", "io_uring"}) {
    ::setenv("CORACLE_IO", engine, 1);
    for (const company with : {company::alone, company::beside_another}) {
      for (const transfer& each : transfers) {
        const int failures_before = coracle_test::failures;
        const std::ptrdiff_t open_before = open_descriptors();
        {
          where.reset();
          io_service io;
          const place p{io, where.path()};
          io.run(fs::write_file(io, p.files / "text", text));
          faults::limited = 0;
          faults::most_bytes = 1;
          const std::error_code end = end_of(p, [&] { return each.make(p, text); }, with);
          faults::most_bytes = faults::no_limit;
          expect(!end, "transfers of one byte are enough");
          expect(faults::limited >= text.size() - 8, "transfers move one byte");
        }
        expect(open_descriptors() == open_before, "a transfer leaves no descriptor open");
        if (coracle_test::failures != failures_before) std::printf("%s, %s\n", each.name, engine);
      }
    }
  }
}
}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  ::alarm(240);  // an operation that hangs ends the program
  folder where;
  faults::refuses_cached_reads = true;
  for (const operation& each : all_operations()) fails_with_each_error(each, where);
  std::printf("%u calls have failed\n", trials);
  for (const bool cached : {true, false}) {
    faults::refuses_cached_reads = !cached;
    moves_a_byte_at_a_time(where);
  }
  return coracle_test::exit_status("each error is reported, and nothing is lost");
}
