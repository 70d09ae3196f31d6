// examples/21_crawler.cpp -- a crawler: at most four concurrent requests, ten per second, each page once.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using links = std::vector<std::string>;

// A fake site. A request takes as long as the page's name, in hundredths of a second.
const std::map<std::string, links> site{
    {"/", {"/news", "/about", "/shop"}},
    {"/news", {"/", "/news/today", "/news/old"}},
    {"/about", {"/", "/about/people"}},
    {"/shop", {"/shop/boats", "/shop/paddles", "/news/today"}},
    {"/news/today", {"/shop/boats"}},
    {"/news/old", {"/news/older", "/gone"}},
    {"/about/people", {}},
    {"/shop/boats", {"/shop", "/shop/paddles"}},
    {"/shop/paddles", {}},
    {"/news/older", {}},
};
coracle::task<const links*> fetch(std::string path) {
  co_await coracle::sleep_for(10ms * path.size());
  const auto page = site.find(path);
  co_return page == site.end() ? nullptr : &page->second;
}

class crawler {
 public:
  coracle::task<> crawl(std::string start) {
    seen_.insert(start);
    for (links found{start}; !found.empty();) {
      const links round = std::exchange(found, {});
      const auto visit_one = [&](const std::string& path) { return visit(path, found); };
      co_await coracle::for_each_concurrent(round, 4, visit_one);
      const auto time = (coracle::steady_now() - begin_) / 1ms;
      std::printf("%zu pages after %d ms\n", pages_, static_cast<int>(time));
    }
  }

 private:
  coracle::task<> visit(const std::string& path, links& found) {
    co_await limiter_.acquire();
    const links* const page = co_await fetch(path);
    if (!page) {
      std::printf("  %s: no such page\n", path.c_str());
      co_return;
    }
    ++pages_;
    std::printf("  %s: %zu links\n", path.c_str(), page->size());
    for (const std::string& link : *page) {
      if (seen_.insert(link).second) found.push_back(link);
    }
  }

  coracle::rate_limiter limiter_{10, 1s, 1};
  std::set<std::string> seen_;
  std::size_t pages_ = 0;
  std::chrono::steady_clock::time_point begin_ = coracle::steady_now();
};

int main() {
  coracle::testing::virtual_time_loop loop;
  const auto run = []() -> coracle::task<> {
    crawler mine;
    co_await mine.crawl("/");
  };
  loop.run(run());
}

// Output:
//     /: 3 links
//   1 pages after 10 ms
//     /news: 3 links
//     /about: 2 links
//     /shop: 3 links
//   4 pages after 350 ms
//     /news/today: 1 links
//     /news/old: 2 links
//     /about/people: 0 links
//     /shop/boats: 2 links
//     /shop/paddles: 0 links
//   9 pages after 930 ms
//     /news/older: 0 links
//     /gone: no such page
//   10 pages after 1080 ms
