// bench/scenario/cache_misses.cpp -- lookups in more memory than the caches hold: one after the other, by hand-written
// state machines that take turns (AMAC), and by interleave().
// SPDX-License-Identifier: MIT
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <coracle/compose/interleave.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace {
using coracle::lookup;
using coracle::prefetch;
using number = std::uint64_t;

constexpr std::size_t groups[] = {8, 16, 32, 48, 64, 96};
constexpr std::size_t largest_group = 96;

number mix(number x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/// Zeroed memory of its own, in huge pages where the system gives them.
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

/// What is looked up, and what was found.
struct query {
  number key = 0;
  number found = 0;
};

/// State machines of the type `State` take turns: begin(query), then step() until that gives true.
template <class Table, class State>
[[gnu::noinline]] void by_hand(const Table& table, std::span<query> all, std::size_t group) {
  State states[largest_group];
  std::size_t next = 0, running = 0;
  for (; running != group && next != all.size(); ++running, ++next) states[running].begin(table, all[next]);
  for (std::size_t i = 0; next != all.size(); i = i + 1 == running ? 0 : i + 1) {
    if (states[i].step()) states[i].begin(table, all[next++]);
  }
  while (running != 0) {
    for (std::size_t i = 0; i != running;) {
      if (states[i].step()) {
        states[i] = states[--running];
      } else {
        ++i;
      }
    }
  }
}
void fetch(const void* address) { __builtin_prefetch(address, 0, 3); }

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
      bucket = in.bucket_of(what.key);
      at = nullptr;
      fetch(bucket);
    }
    bool step() {
      if (bucket) {
        at = *std::exchange(bucket, nullptr);
      } else if (at->key == asked->key) {
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
    node** bucket = nullptr;
    const node* at = nullptr;
  };
  template <class Elements>
  static lookup find_all(Elements& elements, const hash_table& in) {
    while (query* each = elements.next()) {
      node** const bucket = in.bucket_of(each->key);
      co_await prefetch{bucket};
      const node* at = *bucket;
      number found = 0;
      while (at) {
        co_await prefetch{at};
        if (at->key == each->key) {
          found = at->value;
          break;
        }
        at = at->next;
      }
      each->found = found;
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
      first = base = in.all_.data();
      left = in.count_;
      fetch(base + left / 2);
    }
    bool step() {
      const std::size_t half = left / 2;
      base = base[half] <= asked->key ? base + half : base;
      left -= half;
      if (left <= 1) {
        asked->found = static_cast<number>(base - first);
        return true;
      }
      fetch(base + left / 2);
      return false;
    }
    query* asked = nullptr;
    const number* first = nullptr;
    const number* base = nullptr;
    std::size_t left = 0;
  };
  template <class Elements>
  static lookup find_all(Elements& elements, const sorted_array& in) {
    while (query* each = elements.next()) {
      const number key = each->key;
      const number* base = in.all_.data();
      for (std::size_t left = in.count_; left > 1;) {
        const std::size_t half = left / 2;
        co_await prefetch{base + half};
        base = base[half] <= key ? base + half : base;
        left -= half;
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
    bool step() {
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
  static lookup find_all(Elements& elements, const linked_list& in) {
    while (query* each = elements.next()) {
      const node* at = &in.all_[each->key];
      number sum = 0;
      for (int hop = 0; hop != hops; ++hop, at = at->next) {
        co_await prefetch{at};
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

// ---- the table of results ------------------------------------------------------------------------------

/// Nanoseconds a query: the median of five.
template <class Work>
double time_of(std::size_t queries, Work work) {
  double times[5];
  for (double& each : times) {
    const auto start = std::chrono::steady_clock::now();
    work();
    each = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
           static_cast<double>(queries);
  }
  std::sort(std::begin(times), std::end(times));
  return times[2];
}

template <class Table>
void run(std::size_t bytes, std::size_t queries) {
  const Table table{bytes};
  std::vector<query> all(queries);
  for (std::size_t i = 0; i != queries; ++i) all[i].key = table.key(i);
  const double naive = time_of(queries, [&] {
    for (query& each : all) table.find(each);
  });
  const std::vector<query> wanted = all;
  const auto check = [&] {
    for (std::size_t i = 0; i != queries; ++i) {
      if (std::exchange(all[i].found, ~number{0}) == wanted[i].found) continue;
      std::fprintf(stderr, "%s: query %zu found something else\n", Table::name, i);
      std::exit(1);
    }
  };
  check();
  const auto make = [&table](auto& elements) { return Table::find_all(elements, table); };
  std::printf("%-16s one by one %8.1f ns\n", Table::name, naive);
  const auto line = [naive](const char* group, double hand, double ours) {
    std::printf("%-16s group %-4s by hand %8.1f ns x%.2f   interleave %8.1f ns x%.2f   ratio %.2f\n", "",
                group, hand, naive / hand, ours, naive / ours, hand / ours);
  };
  double best_hand = naive, best_ours = naive;
  for (const std::size_t group : groups) {
    const double hand = time_of(queries, [&] { by_hand<Table, typename Table::state>(table, all, group); });
    check();
    const double ours = time_of(queries, [&] { coracle::interleave(group, all, make); });
    check();
    line(std::to_string(group).c_str(), hand, ours);
    best_hand = std::min(best_hand, hand);
    best_ours = std::min(best_ours, ours);
  }
  const double tuned = time_of(queries, [&] { coracle::interleave(all, make); });
  check();
  line("best", best_hand, best_ours);
  line("auto", best_hand, tuned);
}
}  // namespace

/// bench_cache_misses [MiB, 1024 by default]
int main(int argc, char** argv) {
  const std::size_t bytes = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1024) << 20;
  if (bytes == 0) {
    std::fputs("usage: bench_cache_misses [MiB, at least 1]\n", stderr);
    return 2;
  }
  run<hash_table>(bytes, std::size_t{1} << 19);
  run<sorted_array>(bytes, std::size_t{1} << 19);
  run<linked_list>(bytes, std::size_t{1} << 17);
}
