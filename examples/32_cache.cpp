// examples/32_cache.cpp -- a cache that loads each page once, however many request it, over a connection that
// is opened on first use.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using page = std::shared_ptr<const std::string>;  // shared, not copied

struct connection {
  coracle::task<page> load(std::string name) {
    std::printf("  loads %s\n", name.c_str());
    co_await coracle::sleep_for(20ms);
    if (name == "nowhere") throw std::runtime_error("no such page");
    co_return std::make_shared<const std::string>("the page " + name);
  }
};
coracle::shared_task<connection> open_connection() {
  std::puts("  opens the connection");
  co_await coracle::sleep_for(30ms);
  co_return connection{};
}

class page_cache {
 public:
  coracle::task<page> get(std::string name) {
    const auto kept = kept_.find(name);
    if (kept != kept_.end()) co_return kept->second;
    // Concurrent callers wait for the same load. It continues when one of them is stopped, and is stopped
    // with the last; so it refers to nothing that belongs to the first caller.
    const auto load = [this, name] { return fetch(name); };
    page loaded = co_await loads_.run(name, load);
    co_return loaded;
  }

 private:
  coracle::task<page> fetch(std::string name) {
    connection& server = co_await server_;  // the first caller opens it, the others wait
    page loaded = co_await server.load(name);
    // Here and not in get(): the callers resume after the load has ended, and a call in between would load
    // the page again.
    kept_.insert_or_assign(std::move(name), loaded);
    co_return loaded;
  }

  coracle::shared_task<connection> server_ = open_connection();
  coracle::single_flight<std::string, page> loads_;
  std::map<std::string, page> kept_;
};

coracle::task<> show(page_cache& pages, const char* who, std::string name,
                     std::chrono::milliseconds patience) {
  try {
    const page found = co_await coracle::timeout(pages.get(std::move(name)), patience);
    std::printf("%s: %s\n", who, found->c_str());
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", who, error.what());
  }
}

coracle::task<> readers() {
  page_cache pages;
  std::puts("three at once:");
  co_await coracle::when_all(show(pages, "Ada", "home", 10ms), show(pages, "Barbara", "home", 1s),
                             show(pages, "Edsger", "news", 1s));
  std::puts("later:");
  co_await show(pages, "Ada", "home", 10ms);
  co_await show(pages, "Grace", "nowhere", 1s);
}

int main() {
  coracle::testing::virtual_time_loop loop;
  loop.run(readers());
}

// Output:
//   three at once:
//     opens the connection
//   Ada: timed out
//     loads home
//     loads news
//   Barbara: the page home
//   Edsger: the page news
//   later:
//   Ada: the page home
//     loads nowhere
//   Grace: no such page
