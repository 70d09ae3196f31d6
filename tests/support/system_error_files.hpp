// tests/support/system_error_files.hpp -- operations of files, pipes and paths that may fail.
// SPDX-License-Identifier: MIT
#pragma once
#include <cerrno>
#include <coracle/io/filesystem.hpp>
#include <coracle/io/read_only_file.hpp>
#include <coracle/io/read_write_file.hpp>
#include <coracle/io/stream_descriptor.hpp>
#include <filesystem>
#include <vector>

#include "expect.hpp"
#include "system_error_operation.hpp"

namespace coracle_test::system_errors {
namespace fs = coracle::filesystem;
using coracle::file_buffering_mode;
using coracle::file_open_mode;

inline std::vector<operation> file_operations() {
  const auto reading = [](const place& p) {
    return shared(coracle::read_only_file::open(p.io, p.files / "file"));
  };
  const auto writing = [](const place& p, file_buffering_mode mode = {}) {
    return shared(coracle::read_write_file::open(p.io, p.files / "file", file_open_mode::open_existing,
                                                 coracle::file_share_mode::none, mode));
  };
  const auto writes = [writing](file_buffering_mode mode) {
    return [writing, mode](const place& p) -> attempt {
      const auto file = writing(p, mode);
      return [file]() -> task<> {
        const std::size_t written = co_await file->write(4, "more", 4);
        expect(written == 4 && file->size() == 8, "write() writes the bytes");
      };
    };
  };
  const auto writes_pieces = [writing](file_buffering_mode mode) {
    return [writing, mode](const place& p) -> attempt {
      const auto file = writing(p, mode);
      return [file]() -> task<> {
        const coracle::const_buffer pieces[] = {{"mo", 2}, {"re", 2}};
        const std::size_t written = co_await file->write(4, pieces);
        expect(written == 4 && file->size() == 8, "write() writes the pieces");
      };
    };
  };
  return {
      {"read",
       {"pread", "ring READ"},
       of_reading,
       [reading](const place& p) -> attempt {
         const auto file = reading(p);
         return [file]() -> task<> {
           char text[4];
           const std::size_t got = co_await file->read(0, text, sizeof text);
           expect(got == 4 && text[0] == 't', "read() reads the bytes");
         };
       }},
      {"read into pieces",
       {"preadv", "ring READV"},
       of_reading,
       [reading](const place& p) -> attempt {
         const auto file = reading(p);
         return [file]() -> task<> {
           char first[2], second[2];
           const coracle::mutable_buffer room[] = {{first, 2}, {second, 2}};
           const std::size_t got = co_await file->read(0, room);
           expect(got == 4 && second[1] == 't', "read() fills the pieces");
         };
       }},
      {"write", {"pwrite"}, of_writing, writes(file_buffering_mode::default_)},
      {"write through", {"pwrite", "ring WRITE"}, of_writing, writes(file_buffering_mode::write_through)},
      {"write of pieces", {"pwritev"}, of_writing, writes_pieces(file_buffering_mode::default_)},
      {"write through, of pieces",
       {"pwritev", "ring WRITEV"},
       of_writing,
       writes_pieces(file_buffering_mode::write_through)},
      {"sync",
       {"fsync", "ring FSYNC"},
       of_syncing,
       [writing](const place& p) -> attempt {
         const auto file = writing(p);
         return [file]() -> task<> { co_await file->sync(); };
       }},
      {"read of a pipe",
       {"read"},
       of_reading,
       [](const place& p) -> attempt {
         const auto ends = shared(coracle::make_pipe(p.io));
         p.io.run(ends->write_end.write_some("x", 1));
         return [ends]() -> task<> {
           char byte = 0;
           const std::size_t got = co_await ends->read_end.read_some(&byte, 1);
           expect(got == 1 && byte == 'x', "read_some() gets the byte");
         };
       }},
      {"write to a pipe",
       {"write"},
       of_writing,
       [](const place& p) -> attempt {
         const auto ends = shared(coracle::make_pipe(p.io));
         return [ends]() -> task<> {
           const std::size_t written = co_await ends->write_end.write_some("x", 1);
           expect(written == 1, "write_some() writes the byte");
         };
       }},
  };
}

inline std::vector<operation> path_operations() {
  // Each is awaited with paths that are there.
  const auto on_paths = [](auto work) {
    return [work](const place& p) -> attempt { return [&p, work]() -> task<> { return work(p); }; };
  };
  return {
      {"open", {"openat", "ring OPENAT"}, of_opening, on_paths([](const place& p) -> task<> {
         const auto file = co_await fs::open_read_only(p.io, p.files / "file");
         expect(file.size() == 4, "the file is open");
       })},
      {"status",
       {"statx", "ring STATX"},
       {EACCES, EBADF, EFAULT, EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR},
       on_paths([](const place& p) -> task<> {
         const auto found = co_await fs::status(p.io, p.files / "file");
         expect(found.size == 4, "the status is that of the file");
       })},
      {"exists",
       {"statx", "ring STATX"},
       {EACCES, EBADF, EFAULT, EINVAL, ELOOP, ENAMETOOLONG, ENOMEM},
       on_paths([](const place& p) -> task<> {
         const bool found = co_await fs::exists(p.io, p.files / "file");
         expect(found, "the file exists");
       })},
      {"rename", {"renameat2", "ring RENAMEAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::rename(p.io, p.files / "file", p.files / "other");
       })},
      {"hard link", {"linkat", "ring LINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::create_hard_link(p.io, p.files / "file", p.files / "other");
       })},
      {"symbolic link", {"symlinkat", "ring SYMLINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::create_symlink(p.io, "file", p.files / "other");
       })},
      {"create a directory", {"mkdirat", "ring MKDIRAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::create_directory(p.io, p.files / "other");
       })},
      {"remove", {"unlinkat", "ring UNLINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::remove(p.io, p.files / "file");
       })},
      {"remove a directory", {"unlinkat", "ring UNLINKAT"}, of_paths, on_paths([](const place& p) -> task<> {
         co_await fs::remove_directory(p.io, p.files / "full/below");
       })},
      {"read a symbolic link",
       {"readlinkat"},
       {EACCES, EBADF, EFAULT, EINVAL, EIO, ELOOP, ENAMETOOLONG, ENOENT, ENOMEM, ENOTDIR},
       on_paths([](const place& p) -> task<> {
         const std::filesystem::path target = co_await fs::read_symlink(p.io, p.files / "link");
         expect(target == "file", "the link leads to the file");
       })},
  };
}
}  // namespace coracle_test::system_errors
