// examples/33_blocking_library.cpp -- a blocking library, called from coroutines: at most two concurrent
// calls, each with a deadline.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

/// A database client without coroutines. It has no deadlines, but polls whether it should give up.
namespace old_client {
struct interrupted : std::runtime_error {
  interrupted() : runtime_error("interrupted") {}
};
int count_rows(const std::string& table, const std::function<bool()>& give_up) {
  const auto end = std::chrono::steady_clock::now() + (table == "archive" ? 1h : 5ms);
  while (std::chrono::steady_clock::now() < end) {
    if (give_up()) throw interrupted{};
    std::this_thread::sleep_for(1ms);
  }
  if (table == "typo") throw std::runtime_error("no such table");
  return static_cast<int>(table.size());
}
}  // namespace old_client

class database {
 public:
  coracle::task<int> count_rows(std::string table) {
    const auto call = [&](coracle::stop_token stop) {
      try {
        return old_client::count_rows(table, [&] { return stop.stop_requested(); });
      } catch (const old_client::interrupted&) {
        throw coracle::operation_cancelled{
            stop.reason()};  // as asked: the timeout around it makes this timed_out
      }
    };
    co_return co_await coracle::blocking(threads_, call);
  }

 private:
  coracle::blocking_pool threads_{2};  // further calls wait, cancellably, for a thread
};

coracle::task<std::string> describe(database& from, std::string table) {
  try {
    const int rows = co_await coracle::timeout(from.count_rows(table), 1s);
    co_return table + ": " + std::to_string(rows) + " rows";
  } catch (const std::exception& error) {
    co_return table + ": " + error.what();
  }
}

int main() {
  database mine;
  // All at the same time. The call for "archive" occupies one of the threads until its deadline.
  const auto [users, archive, typo, orders] = coracle::sync_wait(coracle::when_all(
      describe(mine, "users"), describe(mine, "archive"), describe(mine, "typo"), describe(mine, "orders")));
  for (const std::string* line : {&users, &archive, &typo, &orders}) std::puts(line->c_str());
}

// Output:
//   users: 5 rows
//   archive: timed out
//   typo: no such table
//   orders: 6 rows
