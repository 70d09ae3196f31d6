// examples/27_interleave.cpp -- hash-table lookups that overlap their cache misses.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstddef>
#include <cstdio>
#include <vector>

struct node {
  unsigned key = 0, value = 0;
  const node* next = nullptr;
};

class table {
 public:
  explicit table(unsigned count) : buckets_(count), nodes_(count) {
    for (unsigned key = 0; key != count; ++key) {
      node*& bucket = buckets_[hash(key)];
      nodes_[key] = {key, 3 * key, bucket};
      bucket = &nodes_[key];
    }
  }
  node* const* bucket_of(unsigned key) const { return &buckets_[hash(key)]; }

 private:
  std::size_t hash(unsigned key) const { return key * 2654435761U % buckets_.size(); }
  std::vector<node*> buckets_;
  std::vector<node> nodes_;
};

struct query {
  unsigned key = 0, found = 0;
};

// One of the coroutines that take turns. It processes queries until none are left.
coracle::interleaved find_all(auto& queries, const table& in) {
  while (query* each = queries.next()) {
    const node* at = *co_await coracle::prefetch(in.bucket_of(each->key));
    while (at) {
      co_await coracle::prefetch(at);
      if (at->key == each->key) break;
      at = at->next;
    }
    each->found = at ? at->value : 0;
  }
}

int main() {
  const table numbers{100'000};
  std::vector<query> queries(50'000);
  for (unsigned i = 0; i != queries.size(); ++i) queries[i].key = i * 7919 % 100'000;

  const auto make = [&](auto& next) { return find_all(next, numbers); };
  coracle::interleave(48, queries, make);  // groups of 48; without a number it finds one itself

  std::size_t right = 0;
  for (const query& each : queries) right += each.found == 3 * each.key ? 1 : 0;
  std::printf("%zu of %zu found\n", right, queries.size());
}

// Output:
//   50000 of 50000 found
