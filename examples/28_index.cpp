// examples/28_index.cpp -- a B+-tree over the rows of a table: each level, and the row, is one step for all
// lookups.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <coracle/coracle.hpp>
#include <cstddef>
#include <cstdio>
#include <vector>

struct row {
  unsigned id = 0, price = 0;
};

// Every level is an array of nodes of one cache line. The children of node n are those from n * width on, so
// that a node needs no pointers.
class price_index {
 public:
  explicit price_index(const std::vector<row>& sorted) : rows_(sorted) {
    std::vector<unsigned> ids;  // the smallest id below each child
    for (const row& each : rows_) ids.push_back(each.id);
    do {
      std::vector<node> level((ids.size() + width - 1) / width);
      for (std::size_t i = 0; i != ids.size(); ++i) level[i / width].smallest[i % width] = ids[i];
      ids.clear();
      for (const node& each : level) ids.push_back(each.smallest[0]);
      levels_.insert(levels_.begin(), std::move(level));
    } while (levels_.front().size() > 1);
  }

  struct query {
    unsigned id = 0, price = 0;
  };
  coracle::interleaved find_all(auto& queries) const {
    while (query* each = queries.next()) {
      std::size_t at = 0;
      for (const auto& level : levels_) {
        const node* here = co_await coracle::prefetch(&level[at]);
        at = at * width + here->child(each->id);
      }
      const row* found = co_await coracle::prefetch(&rows_[at]);
      each->price = found->id == each->id ? found->price : 0;
    }
  }

 private:
  static constexpr std::size_t width = 16;
  struct alignas(64) node {
    unsigned smallest[width];
    node() { std::fill_n(smallest, width, ~0U); }
    std::size_t child(unsigned id) const {
      return static_cast<std::size_t>(
          std::count_if(smallest + 1, smallest + width, [id](unsigned each) { return each <= id; }));
    }
  };
  const std::vector<row>& rows_;
  std::vector<std::vector<node>> levels_;
};

int main() {
  std::vector<row> rows(100'000);
  for (unsigned i = 0; i != rows.size(); ++i) rows[i] = {.id = 2 * i + 1, .price = 10 * i + 10};
  const price_index prices{rows};

  std::vector<price_index::query> queries(50'000);  // every second id does not exist
  for (unsigned i = 0; i != queries.size(); ++i) queries[i].id = 1 + i * 7919 % 200'000;
  coracle::interleave(64, queries, [&prices](auto& next) { return prices.find_all(next); });

  std::size_t found = 0, right = 0;
  for (const auto& each : queries) {
    const unsigned wanted = each.id % 2 == 1 ? (each.id + 1) / 2 * 10 : 0;
    found += each.price != 0 ? 1 : 0;
    right += each.price == wanted ? 1 : 0;
  }
  std::printf("%zu of %zu found, %zu right\n", found, queries.size(), right);
}

// Output:
//   25000 of 50000 found, 50000 right
