// bench/scenario/lookup_tables.hpp -- the tables of bench_cache_misses, each with a plain lookup, a state
// machine and a coroutine.
// SPDX-License-Identifier: MIT
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <coracle/compose/interleave.hpp>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace cache_misses {
using coracle::interleaved;
using coracle::prefetch;
using number = std::uint64_t;

inline number mix(number x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/// Owns zeroed memory, in huge pages if the system provides them.
template <class T>
class big_array {
 public:
  explicit big_array(std::size_t count) : bytes_((count * sizeof(T) + huge - 1) / huge * huge) {
    void* const mapped =
        ::mmap(nullptr, bytes_ + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc{};
    const auto at = (reinterpret_cast<std::uintptr_t>(mapped) + huge - 1) / huge * huge;
    mapped_ = mapped;
    first_ = reinterpret_cast<T*>(at);
    ::madvise(first_, bytes_, MADV_HUGEPAGE);
  }
  big_array(const big_array&) = delete;
  big_array& operator=(const big_array&) = delete;
  ~big_array() { ::munmap(mapped_, bytes_ + huge); }
  T& operator[](std::size_t i) const noexcept { return first_[i]; }
  [[nodiscard]] T* data() const noexcept { return first_; }

 private:
  static constexpr std::size_t huge = std::size_t{1} << 21;
  std::size_t bytes_;
  void* mapped_;
  T* first_;
};

/// A query and its result.
struct query {
  number key = 0;
  number found = 0;
};

/// As prefetch() does.
inline void fetch(const void* address) { __builtin_prefetch(address, 0, 2); }

// ---- a hash table with chains --------------------------------------------------------------------------

class hash_table {
 public:
  static constexpr const char* name = "hash probe";
  struct node {
    number key, value;
    node* next;
    number unused;
  };
  explicit hash_table(std::size_t bytes) : count_(fitting(bytes)), buckets(count_), nodes_(count_) {
    for (std::size_t i = 0; i != count_; ++i) {
      node& each = nodes_[(i * 0x9E3779B1U) & (count_ - 1)];
      node*& bucket = *bucket_of(i);
      each = {i, i * 3, bucket, 0};
      bucket = &each;
    }
  }
  [[nodiscard]] node** bucket_of(number key) const noexcept { return &buckets[mix(key) & (count_ - 1)]; }
  [[nodiscard]] number key(number i) const noexcept { return mix(i + 7) & (count_ - 1); }
  void find(query& each) const noexcept {
    const node* at = *bucket_of(each.key);
    while (at && at->key != each.key) at = at->next;
    each.found = at ? at->value : 0;
  }
  struct state {
    void begin(const hash_table& in, query& what) {
      asked = &what;
      key = what.key;
      bucket = in.bucket_of(key);
      fetch(bucket);
    }
    bool step(const hash_table&) {
      if (bucket) {
        at = *std::exchange(bucket, nullptr);
      } else if (at->key == key) {
        asked->found = at->value;
        return true;
      } else {
        at = at->next;
      }
      if (!at) {
        asked->found = 0;
        return true;
      }
      fetch(at);
      return false;
    }
    query* asked = nullptr;
    number key = 0;
    node** bucket = nullptr;
    const node* at = nullptr;
  };
  template <class Elements>
  static interleaved find_all(Elements& elements, const hash_table& in) {
    while (query* each = elements.next()) {
      const number key = each->key;
      const node* at = *co_await prefetch(in.bucket_of(key));
      for (; at; at = at->next) {
        at = co_await prefetch(at);
        if (at->key == key) break;
      }
      each->found = at ? at->value : 0;
    }
  }

 private:
  static std::size_t fitting(std::size_t bytes) {
    std::size_t count = 1;
    while (2 * count * (sizeof(node) + sizeof(node*)) <= bytes) count *= 2;
    return count;
  }
  std::size_t count_;
  big_array<node*> buckets;
  big_array<node> nodes_;
};

// ---- binary search in a sorted array -------------------------------------------------------------------

class sorted_array {
 public:
  static constexpr const char* name = "binary search";
  explicit sorted_array(std::size_t bytes) : count_(bytes / sizeof(number)), all_(count_) {
    for (std::size_t i = 0; i != count_; ++i) all_[i] = 2 * i + 1;
  }
  [[nodiscard]] number key(number i) const noexcept { return mix(i + 1) % (2 * count_ - 2) + 1; }
  void find(query& each) const noexcept {
    const number* base = all_.data();
    for (std::size_t left = count_; left > 1;) {
      const std::size_t half = left / 2;
      base = base[half] <= each.key ? base + half : base;
      left -= half;
    }
    each.found = static_cast<number>(base - all_.data());
  }
  struct state {
    void begin(const sorted_array& in, query& what) {
      asked = &what;
      key = what.key;
      base = in.all_.data();
      left = in.count_;
      fetch(base + left / 2);
    }
    bool step(const sorted_array& in) {
      const std::size_t half = left / 2;
      base = base[half] <= key ? base + half : base;
      left -= half;
      if (left <= 1) {
        asked->found = static_cast<number>(base - in.all_.data());
        return true;
      }
      fetch(base + left / 2);
      return false;
    }
    query* asked = nullptr;
    number key = 0;
    const number* base = nullptr;
    std::size_t left = 0;
  };
  template <class Elements>
  static interleaved find_all(Elements& elements, const sorted_array& in) {
    while (query* each = elements.next()) {
      const number key = each->key;
      const number* base = in.all_.data();
      for (std::size_t left = in.count_; left > 1;) {
        co_await prefetch(base + left / 2);
        base = base[left / 2] <= key ? base + left / 2 : base;
        left -= left / 2;
      }
      each->found = static_cast<number>(base - in.all_.data());
    }
  }

 private:
  std::size_t count_;
  big_array<number> all_;
};

// ---- sixteen hops along a list -------------------------------------------------------------------------

class linked_list {
 public:
  static constexpr const char* name = "list of 16 hops";
  explicit linked_list(std::size_t bytes) : count_(fitting(bytes)), all_(count_) {
    for (std::size_t i = 0; i != count_; ++i) {
      const number next = i * 6364136223846793005ULL + 1442695040888963407ULL;
      all_[i] = {&all_[(next * 0x9E3779B1U) & (count_ - 1)], i};
    }
  }
  [[nodiscard]] number key(number i) const noexcept { return mix(i + 3) & (count_ - 1); }
  void find(query& each) const noexcept {
    const node* at = &all_[each.key];
    number sum = 0;
    for (int hop = 0; hop != hops; ++hop, at = at->next) sum += at->value;
    each.found = sum;
  }

 private:
  static constexpr int hops = 16;
  struct alignas(64) node {
    const node* next;
    number value;
  };

 public:
  struct state {
    void begin(const linked_list& in, query& what) {
      asked = &what;
      at = &in.all_[what.key];
      sum = 0;
      hop = 0;
      fetch(at);
    }
    bool step(const linked_list&) {
      sum += at->value;
      at = at->next;
      if (++hop == hops) {
        asked->found = sum;
        return true;
      }
      fetch(at);
      return false;
    }
    query* asked = nullptr;
    const node* at = nullptr;
    number sum = 0;
    int hop = 0;
  };
  template <class Elements>
  static interleaved find_all(Elements& elements, const linked_list& in) {
    while (query* each = elements.next()) {
      const node* at = &in.all_[each->key];
      number sum = 0;
      for (int hop = 0; hop != hops; ++hop, at = at->next) {
        at = co_await prefetch(at);
        sum += at->value;
      }
      each->found = sum;
    }
  }

 private:
  static std::size_t fitting(std::size_t bytes) {
    std::size_t count = 1;
    while (2 * count * sizeof(node) <= bytes) count *= 2;
    return count;
  }
  std::size_t count_;
  big_array<node> all_;
};

// ---- a B+-tree over the rows of a table ----------------------------------------------------------------

/// Nodes of one cache line. The children of a node are contiguous, so that none needs a pointer.
class indexed_rows {
 public:
  static constexpr const char* name = "B+-tree and row";

 private:
  using small = std::uint32_t;
  static constexpr std::size_t width = 16;
  struct row {
    number key, value;
    number unused[6];
  };
  struct alignas(64) node {
    small first[width];  // the smallest key below each child
    /// Requires: no key below exceeds the largest `small`. A key smaller than all is searched for in the
    /// first child.
    [[nodiscard]] std::size_t slot_of(number key) const noexcept {
      std::size_t slot = 0;
      for (std::size_t i = 1; i != width; ++i) slot += first[i] <= key ? 1 : 0;
      return slot;
    }
  };

 public:
  explicit indexed_rows(std::size_t bytes)
      : count_(bytes / (sizeof(row) + sizeof(small) + 1)), rows_(count_) {
    for (std::size_t i = 0; i != count_; ++i) rows_[i] = {2 * i + 1, i * 3, {}};
    std::size_t below = count_;
    do {
      const std::size_t nodes = (below + width - 1) / width;
      node* const level = nodes_.emplace_back(std::make_unique<big_array<node>>(nodes))->data();
      for (std::size_t i = 0; i != nodes * width; ++i) {
        small& first = level[i / width].first[i % width];
        if (i >= below) {
          first = ~small{0};
        } else {
          first = levels_.empty() ? static_cast<small>(rows_[i].key) : levels_.back()[i].first[0];
        }
      }
      levels_.push_back(level);
      below = nodes;
    } while (below > 1);
    std::reverse(levels_.begin(), levels_.end());
  }
  /// Every other key is present.
  [[nodiscard]] number key(number i) const noexcept { return mix(i + 5) % (2 * count_) + 1; }
  void find(query& each) const noexcept {
    std::size_t at = 0;
    for (const node* level : levels_) at = at * width + level[at].slot_of(each.key);
    each.found = rows_[at].key == each.key ? rows_[at].value : 0;
  }
  struct state {
    void begin(const indexed_rows& in, query& what) {
      asked = &what;
      key = what.key;
      at = 0;
      level = in.levels_.data();
      here = *level;
      found = nullptr;
      fetch(here);
    }
    bool step(const indexed_rows& in) {
      if (found) {
        asked->found = found->key == key ? found->value : 0;
        return true;
      }
      at = at * width + here->slot_of(key);
      if (++level != in.levels_.data() + in.levels_.size()) {
        here = *level + at;
        fetch(here);
      } else {
        found = &in.rows_[at];
        fetch(found);
      }
      return false;
    }
    query* asked = nullptr;
    number key = 0;
    std::size_t at = 0;
    const node* const* level = nullptr;
    const node* here = nullptr;
    const row* found = nullptr;
  };
  template <class Elements>
  static interleaved find_all(Elements& elements, const indexed_rows& in) {
    while (query* each = elements.next()) {
      const number key = each->key;
      std::size_t at = 0;
      for (const node* level : in.levels_) {
        const node* const here = co_await prefetch(level + at);
        at = at * width + here->slot_of(key);
      }
      const row* const found = co_await prefetch(&in.rows_[at]);
      each->found = found->key == key ? found->value : 0;
    }
  }

 private:
  std::size_t count_;
  big_array<row> rows_;
  std::vector<std::unique_ptr<big_array<node>>> nodes_;
  std::vector<const node*> levels_;  // the root's level first
};

}  // namespace cache_misses
