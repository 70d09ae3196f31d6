// tour/count.hpp -- counts the lines, words and names of a text that comes in pieces.
// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tour {
/// How often each name occurs: open addressing, the names side by side in memory that is never moved.
class name_table {
 public:
  name_table() : slots_(1024) {}

  void add(std::string_view name, std::uint32_t hash, std::uint64_t times = 1) {
    slot* found = &place_of(name, hash);
    if (!found->text) {
      if (2 * ++used_ > slots_.size()) {
        grow();
        found = &place_of(name, hash);
      }
      auto* const copy = static_cast<char*>(texts_.allocate(name.size(), 1));
      std::memcpy(copy, name.data(), name.size());
      *found = {copy, static_cast<std::uint32_t>(name.size()), hash, 0};
    }
    found->times += times;
  }
  void add(const name_table& other) {
    for (const slot& each : other.slots_) {
      if (each.text) add(each.name(), each.hash, each.times);
    }
  }
  /// The names with their counts, in no order. The views last as long as the table.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> entries() const {
    std::vector<std::pair<std::string_view, std::uint64_t>> all;
    all.reserve(used_);
    for (const slot& each : slots_) {
      if (each.text) all.emplace_back(each.name(), each.times);
    }
    return all;
  }

 private:
  struct slot {
    const char* text = nullptr;  // null: free
    std::uint32_t size = 0, hash = 0;
    std::uint64_t times = 0;
    [[nodiscard]] std::string_view name() const { return {text, size}; }
  };

  slot& place_of(std::string_view name, std::uint32_t hash) {
    for (std::size_t i = hash;; ++i) {
      slot& here = slots_[i & (slots_.size() - 1)];
      if (!here.text || (here.hash == hash && here.name() == name)) return here;
    }
  }
  void grow() {
    std::vector<slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const slot& each : old) {
      if (each.text) place_of(each.name(), each.hash) = each;
    }
  }

  std::vector<slot> slots_;  // a power of two of them, at most half used
  std::size_t used_ = 0;
  std::pmr::monotonic_buffer_resource texts_;
};

struct text_counts {
  std::uint64_t bytes = 0, lines = 0, words = 0;
  bool operator==(const text_counts&) const = default;
};

/// Counts one text, given in pieces that may be cut anywhere.
///
/// Lines and words are those of `LC_ALL=C wc` (coreutils 9.1): a line is a newline; a word is what stands
/// between white space and has at least one visible ASCII character. Other bytes neither make nor end a word.
///
/// The table gets the names: runs of ASCII letters, digits and underscores, as long as they go, that do not
/// begin with a digit. Case matters. A run of more than longest_name bytes is data, not a name.
class text_counter {
 public:
  static constexpr std::size_t longest_name = 255;

  explicit text_counter(name_table& names) : names_(names) {}

  void add(std::string_view piece) {
    const char* at = piece.data();
    const char* const end = at + piece.size();
    counts_.bytes += piece.size();
    if (!cut_run_.empty()) {
      const char* const run = at;
      while (at != end && is(*at, name_part)) ++at;
      extend_cut_run(run, at);
      if (at == end) return;
      finish_cut_run();
    }
    while (at != end) {
      if (is(*at, name_part)) {
        const char* const run = at;
        std::uint32_t hash = first_hash;
        do {
          hash = next_hash(hash, *at);
        } while (++at != end && is(*at, name_part));
        in_word_ = true;
        if (at == end) {
          extend_cut_run(run, at);
        } else {
          add_run({run, at}, hash);
        }
      } else {
        const bool space = is(*at, white_space);
        counts_.lines += *at == '\n';
        counts_.words += space && in_word_;
        in_word_ = !space && (in_word_ || is(*at, visible));
        ++at;
      }
    }
  }
  /// Call once, after the last piece.
  text_counts finish() {
    finish_cut_run();
    counts_.words += std::exchange(in_word_, false);
    return counts_;
  }

 private:
  enum : std::uint8_t { white_space = 1, visible = 2, name_part = 4 };
  static constexpr std::array<std::uint8_t, 256> kinds = [] {
    std::array<std::uint8_t, 256> kind{};
    for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) {
      kind[static_cast<unsigned char>(c)] = white_space;
    }
    for (std::size_t c = '!'; c <= '~'; ++c) {
      const bool in_name =
          (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
      kind[c] = in_name ? visible | name_part : visible;
    }
    return kind;
  }();
  static bool is(char c, std::uint8_t kind) { return (kinds[static_cast<unsigned char>(c)] & kind) != 0; }

  // FNV-1a: computed on the way through the run.
  static constexpr std::uint32_t first_hash = 2166136261U;
  static std::uint32_t next_hash(std::uint32_t hash, char c) {
    return (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }

  void add_run(std::string_view run, std::uint32_t hash) {
    if (run.size() > longest_name || (run[0] >= '0' && run[0] <= '9')) return;
    names_.add(run, hash);
  }
  // One byte more than a name can have says all about a longer run.
  void extend_cut_run(const char* from, const char* to) {
    const auto size = static_cast<std::size_t>(to - from), room = longest_name + 1 - cut_run_.size();
    cut_run_.append(from, size < room ? size : room);
  }
  void finish_cut_run() {
    if (cut_run_.empty()) return;
    std::uint32_t hash = first_hash;
    for (const char c : cut_run_) hash = next_hash(hash, c);
    add_run(cut_run_, hash);
    cut_run_.clear();
  }

  name_table& names_;
  text_counts counts_;
  bool in_word_ = false;
  std::string cut_run_;  // the run of name characters at the end of the last piece: it may go on in the next
};
}  // namespace tour
