// tests/simulation/io_log.cpp -- a write-ahead log on a disk that fails, and a host that loses power at any
// moment: every record that append() has confirmed is there afterwards. Logs that omit the sync, or do not
// wait for it, are detected.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/error_group.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "world.hpp"

namespace {
using coracle::read_write_file;
using coracle::testing::disk_faults;
using coracle::testing::simulated_host;
using coracle::testing::simulated_network;
using coracle::testing::simulation;
using coracle_test::task;
using coracle_test::world;

enum class durability { sync_after_write, none, sync_at_once };

// ---- the log -------------------------------------------------------------------------------------------

task<std::string> read_all(read_write_file& file) {
  std::string text;
  std::array<char, 700> buffer;
  for (;;) {
    const std::size_t size = co_await file.read(text.size(), buffer.data(), buffer.size());
    if (size == 0) break;
    text.append(buffer.data(), size);
  }
  co_return text;
}

/// Each record: its size and a checksum, four bytes each, and its text.
class write_ahead_log {
 public:
  explicit write_ahead_log(coracle::io_service& io, durability how)
      : file_(read_write_file::open(io, "log")), how_(how) {}

  /// Returns the complete records.
  task<std::vector<std::string>> recover() {
    const std::string text = co_await read_all(file_);
    std::vector<std::string> records;
    while (const std::size_t size = whole_record(text, end_)) {
      records.push_back(text.substr(end_ + header, size - header));
      end_ += size;
    }
    co_return records;
  }
  /// Once it has returned, the record survives everything. If it throws, the next record takes its place.
  task<> append(const std::string& record) {
    const std::string bytes = framed(record);
    if (how_ == durability::sync_at_once) {
      co_await coracle::when_all(file_.write_all(end_, bytes.data(), bytes.size()), file_.sync());
    } else {
      co_await file_.write_all(end_, bytes.data(), bytes.size());
      if (how_ == durability::sync_after_write) co_await file_.sync();
    }
    end_ += bytes.size();
  }

 private:
  static constexpr std::size_t header = 8;
  static std::uint32_t checksum(std::string_view text) noexcept {  // FNV-1a
    std::uint32_t hash = 2166136261;
    for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 16777619;
    return hash;
  }
  static std::string framed(const std::string& record) {
    const std::array<std::uint32_t, 2> head{static_cast<std::uint32_t>(record.size()), checksum(record)};
    std::string bytes(header, '\0');
    std::memcpy(bytes.data(), head.data(), header);
    return bytes + record;
  }
  /// With its header; 0: there is none.
  static std::size_t whole_record(const std::string& text, std::size_t from) {
    std::array<std::uint32_t, 2> head{};
    if (text.size() < from + header) return 0;
    std::memcpy(head.data(), text.data() + from, header);
    if (head[0] == 0 || text.size() - from - header < head[0]) return 0;
    const std::string_view record = std::string_view(text).substr(from + header, head[0]);
    return checksum(record) == head[1] ? header + head[0] : 0;
  }

  read_write_file file_;
  durability how_;
  std::uint64_t end_ = 0;
};

// ---- the scenarios -------------------------------------------------------------------------------------

struct history {
  std::vector<std::string> promised;
  std::vector<std::string> tried;  // after the last that was promised
};

task<> live(world& w, simulated_host& host, durability how, history& h) {
  co_await host.io().schedule();
  write_ahead_log log{host.io(), how};
  try {
    co_await log.recover();
  } catch (const std::system_error&) {
    co_return;
  }
  for (int i = 0; i != 20; ++i) {
    const std::string record(1 + w.below(w.one_in(4) ? 3000 : 60), static_cast<char>('a' + w.below(26)));
    h.tried.push_back(record);
    try {
      co_await log.append(record);
      h.promised.push_back(record);
      h.tried.clear();
    } catch (const std::system_error&) {
      if (w.one_in(2)) co_return;
    } catch (const coracle::error_group&) {  // of the write and the sync
      co_return;
    }
  }
}

/// After the crash the log has every record that append() confirmed, and at most one that it was still
/// writing.
bool is_kept(const history& h, const std::vector<std::string>& found) {
  const std::size_t promised = h.promised.size();
  if (found.size() < promised || found.size() > promised + 1) return false;
  if (!std::equal(h.promised.begin(), h.promised.end(), found.begin())) return false;
  return found.size() == promised || std::ranges::count(h.tried, found.back()) != 0;
}

/// Recovers the records of a restarted program.
task<std::vector<std::string>> recovered(simulated_host& host) {
  co_await host.io().schedule();
  write_ahead_log log{host.io(), durability::none};
  co_return co_await log.recover();
}

/// Returns true if a program that crashes at any moment has lost no confirmed record.
bool survives(world& w, simulated_host& host, durability how, history& h) {
  const auto crash = w.sim.now() + std::chrono::milliseconds{w.below(1000)} + w.a_while();
  const auto is_over = std::make_shared<bool>(false);
  w.sim.at(crash, [&host, is_over] {
    if (!*is_over) host.crash();
  });
  w.sim.run(live(w, host, how, h));
  *is_over = true;
  host.crash();
  host.disk().set_faults({});
  std::vector<std::string> found = w.sim.run(recovered(host));
  const bool kept = is_kept(h, found);
  h = {std::move(found), {}};
  return kept;
}

void log_survives(simulation& sim) {
  world w{sim};
  simulated_network network{sim};
  simulated_host host{network, "10.0.0.1"};
  history h;
  for (int life = 0; life != 3; ++life) {
    host.disk().set_faults(w.one_in(2) ? disk_faults::harsh() : disk_faults{});
    w.expect(survives(w, host, durability::sync_after_write, h), "what was promised is there after a crash");
  }
  w.expect(host.open_descriptors() == 0, "no file is left open");
}

/// On a disk without other faults, a wrong log is detected within a few crashes.
void is_caught(simulation& sim, durability how) {
  world w{sim};
  simulated_network network{sim};
  simulated_host host{network, "10.0.0.1"};
  history h;
  int crashes = 1;
  while (crashes != 50 && survives(w, host, how, h)) ++crashes;
  w.expect(crashes != 50, "a log that promises too much is caught");
}
void without_sync(simulation& sim) { is_caught(sim, durability::none); }
void sync_that_does_not_wait(simulation& sim) { is_caught(sim, durability::sync_at_once); }

void full_disk(simulation& sim) {
  world w{sim};
  simulated_network network{sim};
  simulated_host host{network, "10.0.0.1"};
  disk_faults faults;
  faults.capacity = w.below(5000);
  faults.short_transfers = 2;
  host.disk().set_faults(faults);
  history h;
  const auto fill = [&]() -> task<> {
    co_await host.io().schedule();
    write_ahead_log log{host.io(), durability::sync_after_write};
    std::error_code error;
    while (!error) {
      const std::string record(1 + w.below(1000), 'x');
      h.tried = {record};
      try {
        co_await log.append(record);
        h.promised.push_back(record);
      } catch (const std::system_error& failure) {
        error = failure.code();
      }
    }
    w.expect(error == std::errc::no_space_on_device, "a full disk is an error that says so");
  };
  sim.run(fill());
  w.expect(host.disk().contents("log").value().size() <= faults.capacity,
           "the disk holds no more than it can");
  w.expect(is_kept(h, sim.run(recovered(host))), "what was promised is there although the disk is full");
}
}  // namespace

int main(int argc, char** argv) {
  return coracle::testing::simulate_main(argc, argv,
                                         {{"log survives", log_survives},
                                          {"without sync", without_sync},
                                          {"sync that does not wait", sync_that_does_not_wait},
                                          {"full disk", full_disk}});
}
