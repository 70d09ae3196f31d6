// SPDX-License-Identifier: MIT
// The memory of a process, its own or another's, and what is mapped where. All of it is async-signal-safe.
#pragma once
#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coracle::detail {
/// Pages that were read. Each is as it was when it was read first. All zero: no page was.
struct known_pages {
  static constexpr std::size_t bytes_in_page = 4096;
  struct page {
    std::uintptr_t address;
    std::size_t size;
    unsigned char bytes[bytes_in_page];
  };
  page pages[256];
};

/// Reads any address, and fails where there is no memory: the kernel copies the bytes.
class process_memory {
 public:
  explicit process_memory(pid_t process, known_pages* cache = nullptr) noexcept
      : process_(process), cache_(cache) {}
  [[nodiscard]] pid_t process() const noexcept { return process_; }
  [[nodiscard]] const known_pages* cache() const noexcept { return cache_; }

  /// Returns the number of bytes copied, starting at `address`.
  [[nodiscard]] std::size_t read(std::uintptr_t address, void* to, std::size_t size) const noexcept {
    if (!cache_ || size > known_pages::bytes_in_page) return copy(address, to, size);
    for (std::size_t done = 0; done != size;) {
      const known_pages::page& page = page_with(address + done);
      const std::size_t at = address + done - page.address;
      if (at >= page.size) return done;
      const std::size_t part = size - done < page.size - at ? size - done : page.size - at;
      std::memcpy(static_cast<char*>(to) + done, page.bytes + at, part);
      done += part;
    }
    return size;
  }
  /// Returns 0 if there is no memory.
  [[nodiscard]] std::uintptr_t word(std::uintptr_t address) const noexcept {
    std::uintptr_t found = 0;
    return read(address, &found, sizeof found) == sizeof found ? found : 0;
  }

 private:
  [[nodiscard]] const known_pages::page& page_with(std::uintptr_t address) const noexcept {
    const std::uintptr_t number = address / known_pages::bytes_in_page;
    known_pages::page& page = cache_->pages[number % (sizeof cache_->pages / sizeof *cache_->pages)];
    const std::uintptr_t begin = number * known_pages::bytes_in_page;
    if (page.address != begin) page.size = copy(begin, page.bytes, sizeof page.bytes);
    page.address = begin;
    return page;
  }
  [[nodiscard]] std::size_t copy(std::uintptr_t address, void* to, std::size_t size) const noexcept {
    const iovec here{to, size};
    const iovec there{reinterpret_cast<void*>(address), size};
    const ssize_t copied = ::process_vm_readv(process_, &here, 1, &there, 1, 0);
    return copied < 0 ? 0 : static_cast<std::size_t>(copied);
  }

  pid_t process_;
  known_pages* cache_;
};

/// A line of /proc/PID/maps.
struct mapping {
  std::uintptr_t begin = 0, end = 0, offset = 0;
  bool is_writable = false, is_executable = false;
  const char* path = "";  ///< as `[stack]` if it is not a file; empty if it has no name
};

/// Text of fixed capacity; longer text is truncated.
template <std::size_t Size>
class fixed_text {
 public:
  fixed_text& add(const char* text) noexcept { return add(text, std::strlen(text)); }
  fixed_text& add(const char* text, std::size_t size) noexcept {
    const std::size_t fits = size < Size - 1 - size_ ? size : Size - 1 - size_;
    std::memcpy(text_ + size_, text, fits);
    size_ += fits;
    text_[size_] = '\0';
    return *this;
  }
  fixed_text& add_number(std::uintptr_t number, unsigned base = 10) noexcept {
    char digits[24];
    std::size_t at = sizeof digits;
    do digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    return add(digits + at, sizeof digits - at);
  }
  fixed_text& add_address(std::uintptr_t address) noexcept { return add("0x").add_number(address, 16); }
  /// Appends spaces up to that length, at least one.
  fixed_text& pad(std::size_t to) noexcept {
    do add(" ");
    while (size_ < to && size_ + 1 < Size);
    return *this;
  }
  void clear() noexcept { text_[size_ = 0] = '\0'; }
  [[nodiscard]] const char* c_str() const noexcept { return text_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Writes the text to a file descriptor, and clears it.
  void write_to(int descriptor) noexcept {
    for (std::size_t written = 0; written < size_;) {
      const ssize_t count = ::write(descriptor, text_ + written, size_ - written);
      if (count <= 0) break;
      written += static_cast<std::size_t>(count);
    }
    clear();
  }

 private:
  char text_[Size] = {};
  std::size_t size_ = 0;
};

inline std::uintptr_t hexadecimal(const char*& at) noexcept {
  std::uintptr_t number = 0;
  for (;; ++at) {
    const unsigned digit = *at >= '0' && *at <= '9'   ? static_cast<unsigned>(*at - '0')
                           : *at >= 'a' && *at <= 'f' ? static_cast<unsigned>(*at - 'a') + 10
                                                      : 16;
    if (digit == 16) return number;
    number = number * 16 + digit;
  }
}
/// Parses a line such as `55e0-66f0 rw-p 0000 08:01 123    /bin/cat`, without copying it.
inline mapping mapping_of_line(const char* line) noexcept {
  mapping found;
  found.begin = hexadecimal(line);
  found.end = hexadecimal(*line ? ++line : line);
  if (std::strlen(line) < 6) return {};
  found.is_writable = line[2] == 'w' && line[1] == 'r';
  found.is_executable = line[3] == 'x';
  line += 6;
  found.offset = hexadecimal(line);
  for (int fields = 0; *line && fields != 2;) {  // the device and the inode
    while (*line == ' ') ++line;
    while (*line && *line != ' ') ++line;
    ++fields;
  }
  while (*line == ' ') ++line;
  found.path = line;
  return found;
}
/// Calls `visit(const mapping&)` for each mapping, in the order of their addresses.
template <class Visit>
void for_each_mapping(pid_t process, Visit visit) {
  fixed_text<64> name;
  name.add("/proc/").add_number(static_cast<std::uintptr_t>(process)).add("/maps");
  struct opened {
    ~opened() {  // visit() may throw
      if (file >= 0) ::close(file);
    }
    const int file;
  };
  const opened maps{::open(name.c_str(), O_RDONLY | O_CLOEXEC)};
  if (maps.file < 0) return;
  char lines[4096 + 512];
  std::size_t filled = 0;
  for (ssize_t got; (got = ::read(maps.file, lines + filled, sizeof lines - 1 - filled)) > 0;) {
    filled += static_cast<std::size_t>(got);
    lines[filled] = '\0';
    char* line = lines;
    while (char* const end = std::strchr(line, '\n')) {
      *end = '\0';
      visit(mapping_of_line(line));
      line = end + 1;
    }
    filled = static_cast<std::size_t>(lines + filled - line);
    if (filled == sizeof lines - 1) filled = 0;  // a path too long to be of use
    std::memmove(lines, line, filled);
  }
}
}  // namespace coracle::detail
