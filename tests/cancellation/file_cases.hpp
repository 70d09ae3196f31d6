// tests/cancellation/file_cases.hpp -- files and paths.
// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/write_only_file.hpp>
#include <filesystem>
#include <string>

#include "../support/socket_pair.hpp"
#include "../support/test_coroutine.hpp"
#include "io_case.hpp"

namespace coracle_test {
/// All file threads are blocked in reads from empty pipes until complete().
class file_case : public io_case {
 protected:
  ~file_case() override {
    if (!completed_) let_go();
    for (held_thread& each : held_) {
      while (!each.reading.done()) io_.process_one_event();
    }
  }
  void complete() override {
    completed_ = true;
    let_go();
  }

 private:
  struct held_thread {
    explicit held_thread(coracle::io_service& io)
        : ends(io, io_descriptor_kind::file),
          reading(started(raw_operation(ends.read, io_opcode::read, &byte, 1))) {}
    pipe_ends ends;
    char byte = 0;
    test_coroutine reading;
  };
  void let_go() {
    for (held_thread& each : held_) static_cast<void>(!::write(each.ends.write.native_handle(), "x", 1));
  }
  std::array<held_thread, 4> held_{held_thread{io_}, held_thread{io_}, held_thread{io_}, held_thread{io_}};
};
/// A file whose contents the system generates is never in the page cache, so reading it takes a thread.
template <bool Whole>
class read_at_case final : public file_case {
  coracle::task<> operation() override {
    if constexpr (Whole) {
      co_await to_its_end(version().read_exactly(0, &byte_, 1));
    } else {
      co_await to_its_end(version().read(0, &byte_, 1));
    }
  }
  bool intact(bool carried_out, bool) override { return (byte_ == 'L') == carried_out; }
  coracle::read_only_file& version() {
    static auto file = coracle::read_only_file::open(io_, "/proc/version");
    return file;
  }
};
/// A file whose writes wait for the device, and so take a thread.
inline coracle::write_only_file temporary_file(coracle::io_service& io) {
  const auto path = std::filesystem::temp_directory_path() / ("coracle_case_" + std::to_string(::getpid()));
  auto file = coracle::write_only_file::open(io, path, coracle::file_open_mode::create_always,
                                             coracle::file_share_mode::none,
                                             coracle::file_buffering_mode::write_through);
  std::filesystem::remove(path);
  return file;
}
template <bool Whole>
class write_at_case final : public file_case {
  coracle::task<> operation() override {
    if constexpr (Whole) {
      co_await to_its_end(file_.write_all(0, &byte_, 1));
    } else {
      co_await to_its_end(file_.write(0, &byte_, 1));
    }
  }
  bool intact(bool carried_out, bool) override { return file_.size() == (carried_out ? 1u : 0u); }
  coracle::write_only_file file_ = temporary_file(io_);
};
class sync_case final : public file_case {
  coracle::task<> operation() override {
    co_await to_its_end(file_.sync());
    synced_ = true;
  }
  bool intact(bool carried_out, bool) override { return synced_ == carried_out; }
  coracle::write_only_file file_ = temporary_file(io_);
  bool synced_ = false;
};

/// Operations on paths take a thread each, or a round trip through the ring.
class path_case : public file_case {
 protected:
  path_case() { ::close(::creat(before_.c_str(), 0600)); }
  ~path_case() override {
    ::unlink(before_.c_str());
    ::unlink(after_.c_str());
  }
  bool intact(bool carried_out, bool) override { return done_ == carried_out; }

  const std::string before_ =
      std::filesystem::temp_directory_path() / ("coracle_a" + std::to_string(::getpid()));
  const std::string after_ = before_ + "_renamed";
  bool done_ = false;
};
class rename_case final : public path_case {
  coracle::task<> operation() override {
    co_await to_its_end(coracle::filesystem::rename(io_, before_, after_));
    done_ = true;
  }
  bool intact(bool carried_out, bool completed) override {
    return path_case::intact(carried_out, completed) && (::access(after_.c_str(), F_OK) == 0) == carried_out;
  }
};
class status_case final : public path_case {
  coracle::task<> operation() override {
    const auto about = co_await to_its_end(coracle::filesystem::status(io_, before_));
    done_ = about.is_regular_file();
  }
};
class exists_case final : public path_case {
  coracle::task<> operation() override {
    done_ = co_await to_its_end(coracle::filesystem::exists(io_, before_));
  }
};
class open_case final : public path_case {
  coracle::task<> operation() override {
    const auto file = co_await to_its_end(coracle::filesystem::open_read_only(io_, before_));
    done_ = file.native_handle() >= 0;
  }
};

inline std::vector<cancellation_entry> file_cases() {
  return io_entries({{"file_read_operation", &make_case<read_at_case<false>>},
                     {"file_write_operation", &make_case<write_at_case<false>>},
                     {"read_exactly()", &make_case<read_at_case<true>>},
                     {"write_all()", &make_case<write_at_case<true>>},
                     {"file_sync_operation", &make_case<sync_case>},
                     {"change_operation", &make_case<rename_case>},
                     {"status_operation", &make_case<status_case>},
                     {"exists_operation", &make_case<exists_case>},
                     {"open_operation", &make_case<open_case>}});
}
}  // namespace coracle_test
