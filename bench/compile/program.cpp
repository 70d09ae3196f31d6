// bench/compile/program.cpp -- a program of some 300 lines, whose compile time measure.py compares.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cppcoro/async_auto_reset_event.hpp>
#include <cppcoro/async_generator.hpp>
#include <cppcoro/async_latch.hpp>
#include <cppcoro/async_manual_reset_event.hpp>
#include <cppcoro/async_mutex.hpp>
#include <cppcoro/async_scope.hpp>
#include <cppcoro/cancellation_source.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/generator.hpp>
#include <cppcoro/io_service.hpp>
#include <cppcoro/net/ip_endpoint.hpp>
#include <cppcoro/net/ipv4_address.hpp>
#include <cppcoro/net/ipv4_endpoint.hpp>
#include <cppcoro/net/socket.hpp>
#include <cppcoro/on_scope_exit.hpp>
#include <cppcoro/operation_cancelled.hpp>
#include <cppcoro/recursive_generator.hpp>
#include <cppcoro/shared_task.hpp>
#include <cppcoro/single_consumer_event.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>
#include <cppcoro/when_all_ready.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace co = cppcoro;

namespace {

// ---- text

co::generator<std::string_view> words(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    std::string_view word = text.substr(0, end);
    if (!word.empty()) co_yield word;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

co::generator<int> numbers(int from, int to) {
  for (int each = from; each < to; ++each) co_yield each;
}

std::string first_word(std::string_view line) {
  for (const std::string_view word : words(line)) return std::string(word);
  return "(empty)";
}

// ---- a tree of groups, walked depth first

struct group {
  std::string name;
  std::size_t lines = 0;
  std::vector<std::unique_ptr<group>> below;
};

co::recursive_generator<const group> walk(const group& from) {
  co_yield from;
  for (const auto& each : from.below) co_yield walk(*each);
}

// ---- the table: shared by all connections

class table {
 public:
  co::task<> add(std::string line) {
    auto lock = co_await mutex_.scoped_lock_async();
    ++counts_[first_word(line)];
    ++lines_;
    changed_.set();
  }

  co::task<std::size_t> lines() {
    auto lock = co_await mutex_.scoped_lock_async();
    co_return lines_;
  }

  co::task<std::unique_ptr<group>> report() {
    auto lock = co_await mutex_.scoped_lock_async();
    auto root = std::make_unique<group>();
    root->name = "all";
    root->lines = lines_;
    for (const auto& [name, count] : counts_) {
      auto child = std::make_unique<group>();
      child->name = name;
      child->lines = count;
      root->below.push_back(std::move(child));
    }
    co_return root;
  }

  co::task<> wait_for(std::size_t wanted) {
    while (true) {
      const std::size_t now = co_await lines();
      if (now >= wanted) break;
      co_await changed_;
    }
  }

 private:
  co::async_mutex mutex_;
  co::async_auto_reset_event changed_;
  std::map<std::string, std::size_t> counts_;
  std::size_t lines_ = 0;
};

// ---- settings: read once, awaited by many

struct settings {
  std::string greeting;
  int clients = 0;
  int lines = 0;
};

co::shared_task<settings> load_settings(co::static_thread_pool& pool) {
  co_await pool.schedule();
  co_return settings{"hello", 4, 25};
}

// ---- slow work, on the pool

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t value = 14695981039346656037u;
  for (const char each : text) value = (value ^ static_cast<unsigned char>(each)) * 1099511628211u;
  return value;
}

co::task<std::uint64_t> hash_on(co::static_thread_pool& pool, std::string text) {
  co_await pool.schedule();
  co_return hash_of(text);
}

co::task<std::uint64_t> hash_all(co::static_thread_pool& pool, const std::vector<std::string>& texts) {
  std::vector<co::task<std::uint64_t>> parts;
  for (const std::string& text : texts) parts.push_back(hash_on(pool, text));
  const auto hashes = co_await co::when_all(std::move(parts));
  std::uint64_t all = 0;
  for (const std::uint64_t each : hashes) all ^= each;
  co_return all;
}

// ---- the connection: bytes in, lines out

co::task<> send_all(co::net::socket& to, std::string_view text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const std::size_t count = co_await to.send(text.data() + sent, text.size() - sent);
    sent += count;
  }
}

co::async_generator<std::string> lines_of(co::net::socket& from, co::cancellation_token token) {
  std::string kept;
  char buffer[512];
  for (;;) {
    const std::size_t count = co_await from.recv(buffer, sizeof buffer, token);
    if (count == 0) break;
    kept.append(buffer, count);
    std::size_t end = kept.find('\n');
    while (end != std::string::npos) {
      std::string line = kept.substr(0, end);
      kept.erase(0, end + 1);
      co_yield line;
      end = kept.find('\n');
    }
  }
  if (!kept.empty()) co_yield kept;
}

co::task<> serve(co::net::socket client, table& counts, co::cancellation_token token,
                 co::async_latch& ended) {
  const auto leave = co::on_scope_exit([&ended] { ended.count_down(); });
  auto lines = lines_of(client, token);
  auto each = co_await lines.begin();
  const auto end = lines.end();
  while (each != end) {
    co_await counts.add(std::move(*each));
    co_await ++each;
  }
  co_await send_all(client, "goodbye\n");
  client.close_send();
}

// ---- the server

class server {
 public:
  server(co::io_service& io, table& counts, std::ptrdiff_t clients)
      : io_(io), counts_(counts), listening_(co::net::socket::create_tcpv4(io)), ended_(clients) {
    listening_.bind(co::net::ipv4_endpoint{co::net::ipv4_address::loopback(), 0});
    listening_.listen(16);
    ready_.set();
  }

  co::task<> run(co::cancellation_token token) {
    co::async_scope connections;
    try {
      for (;;) {
        auto client = co::net::socket::create_tcpv4(io_);
        co_await listening_.accept(client, token);
        connections.spawn(serve(std::move(client), counts_, token, ended_));
      }
    } catch (const co::operation_cancelled&) {
      std::puts("no more connections");
    }
    co_await connections.join();
  }

  co::task<> all_ended() { co_await ended_; }
  co::async_manual_reset_event& ready() { return ready_; }
  [[nodiscard]] co::net::ip_endpoint where() const { return listening_.local_endpoint(); }

 private:
  co::io_service& io_;
  table& counts_;
  co::net::socket listening_;
  co::async_manual_reset_event ready_;
  co::async_latch ended_;
};

// ---- the clients

co::task<int> talk(co::io_service& io, server& to, co::shared_task<settings> shared, int number) {
  const settings& mine = co_await shared;
  co_await to.ready();
  auto socket = co::net::socket::create_tcpv4(io);
  socket.bind(co::net::ipv4_endpoint{});
  co_await socket.connect(to.where());
  for (const int each : numbers(0, mine.lines)) {
    std::string line = mine.greeting + std::to_string(each % 3) + " from " + std::to_string(number) + "\n";
    co_await send_all(socket, line);
    if (each % 10 == 0) co_await io.schedule_after(std::chrono::milliseconds(1));
  }
  socket.close_send();
  char answer[64];
  int received = 0;
  for (;;) {
    const std::size_t count = co_await socket.recv(answer, sizeof answer);
    if (count == 0) break;
    received += static_cast<int>(count);
  }
  co_await socket.disconnect();
  co_return received;
}

co::task<> talk_all(co::io_service& io, server& to, co::shared_task<settings> shared, int clients) {
  std::vector<co::task<int>> each;
  for (const int number : numbers(0, clients)) each.push_back(talk(io, to, shared, number));
  int bytes = 0;
  for (const int received : co_await co::when_all(std::move(each))) bytes += received;
  std::printf("%d clients, %d bytes of answers\n", clients, bytes);
}

// ---- all together

co::task<> print_report(table& counts, co::static_thread_pool& pool, co::single_consumer_event& printed) {
  const auto root = co_await counts.report();
  std::vector<std::string> names;
  for (const group& each : walk(*root)) {
    std::printf("%6zu %s\n", each.lines, each.name.c_str());
    names.push_back(each.name);
  }
  const std::uint64_t hash = co_await hash_all(pool, names);
  std::printf("hash %016llx\n", static_cast<unsigned long long>(hash));
  printed.set();
}

co::task<> run(co::io_service& io, co::static_thread_pool& pool) {
  const auto leave = co::on_scope_exit([&io] { io.stop(); });
  table counts;
  co::single_consumer_event printed;
  co::cancellation_source stop;
  const auto shared = load_settings(pool);
  const settings mine = co_await shared;
  co_await io.schedule();
  server service(io, counts, mine.clients);
  const auto wanted = static_cast<std::size_t>(mine.clients * mine.lines);
  auto finish = [&]() -> co::task<> {
    co_await counts.wait_for(wanted);
    co_await service.all_ended();
    stop.request_cancellation();
    co_await print_report(counts, pool, printed);
  };
  co_await co::when_all_ready(service.run(stop.token()), talk_all(io, service, shared, mine.clients),
                              finish());
  co_await printed;
}

co::task<> process(co::io_service& io) {
  io.process_events();
  co_return;
}

}  // namespace

int main() {
  co::io_service io;
  co::static_thread_pool pool(2);
  co::sync_wait(co::when_all(run(io, pool), process(io)));
  return 0;
}
