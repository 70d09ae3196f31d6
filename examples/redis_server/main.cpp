// examples/redis_server/main.cpp -- a server for redis-cli and other Redis clients: strings, expiry, lists,
// pub/sub.
// SPDX-License-Identifier: MIT
#include <signal.h>

#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "append_only_file.hpp"

namespace redis {
using coracle::task;
using coracle::net::socket;
using namespace std::chrono_literals;

constexpr std::size_t most_unsent = 1 << 20;   // from here on, no more commands are read
constexpr std::size_t most_unread = 32 << 20;  // a subscriber that is so far behind is disconnected
constexpr std::size_t received_at_once = 64 << 10;

std::int64_t now_in_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

/// What a client has not been sent yet: replies, and messages that others have published.
class client {
 public:
  explicit client(socket connection) : connection_(std::move(connection)) {}

  void send(std::string_view text) {
    unsent_ += text;
    news_.set();
    if (unsent_.size() > most_unread) is_behind_.set();
  }
  /// Ends with an error if messages come faster than the client takes them.
  task<> watch_backlog() {
    co_await is_behind_;
    throw std::system_error(std::make_error_code(std::errc::no_buffer_space), "a subscriber is too slow");
  }
  /// No more will be sent.
  void close() {
    is_closed_ = true;
    news_.set();
  }
  task<> wait_for_room() {
    while (unsent_.size() > most_unsent) co_await room_;
  }
  task<> send_all() {
    std::string batch;
    while (!is_closed_ || !unsent_.empty()) {
      batch.clear();
      batch.swap(unsent_);
      if (batch.empty()) {
        co_await news_;
      } else {
        co_await connection_.send_all(batch);
        room_.set();
      }
    }
  }
  /// Appends to `text` what has come. Returns false at the end of the stream.
  task<bool> receive(std::string& text) {
    const std::size_t before = text.size();
    text.resize(before + received_at_once);
    const std::size_t got = co_await connection_.recv(text.data() + before, received_at_once);
    text.resize(before + got);
    co_return got != 0;
  }

  std::set<std::string> subscriptions;

 private:
  socket connection_;
  std::string unsent_;
  coracle::async_auto_reset_event news_, room_;
  coracle::async_manual_reset_event is_behind_;
  bool is_closed_ = false;
};

/// All of it runs on the thread of the io_service, so nothing is locked.
class server {
 public:
  server(database data, append_only_file* log) : data_(std::move(data)), log_(log) {}

  task<> handle(socket connection) {
    client self{std::move(connection)};
    const auto unsubscribed_at_end = coracle::on_scope_exit([&] { unsubscribe_all(self); });
    co_await coracle::when_any(coracle::when_all(answer(self), self.send_all()), self.watch_backlog());
  }
  /// Rewrites the log when it has grown, or a client asks for it.
  task<> compact_log() {
    while (log_) {
      co_await is_to_compact_;
      co_await log_->compact(data_);
    }
  }
  /// Removes expired keys even if no command refers to them.
  task<> expire_keys() {
    for (;;) {
      co_await coracle::sleep_for(100ms);
      std::string log;
      data_.expire(now_in_ms(), log);
      if (!log.empty()) co_await keep(log);
    }
  }

 private:
  /// Completes when the commands in `log` have been written, and those that other clients have executed
  /// before: what is answered next may contain their effect.
  task<> keep(std::string& log) {
    if (log_) {
      const bool grows = !log.empty();
      log_->add(log);
      log.clear();
      co_await log_->commit();
      if (grows && log_->is_worth_compacting()) is_to_compact_.set();
    }
    log.clear();
  }
  /// Executes all commands that have come, then keeps them, then answers them: pipelining costs one write.
  task<> answer(client& self) {
    const auto closed_at_end = coracle::on_scope_exit([&] { self.close(); });
    std::string text;
    for (bool goes_on = true; goes_on;) {
      co_await self.wait_for_room();
      const bool more = co_await self.receive(text);
      if (!more) break;
      goes_on = co_await answer_all(self, text);
    }
  }
  /// Returns false if the client wants to leave, or sends what is no command.
  task<bool> answer_all(client& self, std::string& text) {
    command_reader commands{text};
    command words;
    std::string replies, log;
    bool leaves = false;
    while (!leaves) {
      try {
        if (!commands.next(words)) break;
      } catch (const protocol_error& error) {
        put_error(replies, std::string("ERR Protocol error: ") + error.what());
        leaves = true;
        break;
      }
      if (words.empty()) continue;
      const std::string name = in_capitals(words.front());
      leaves = name == "QUIT";
      if (leaves) {
        put_status(replies, "OK");
      } else if (name == "BGREWRITEAOF") {
        is_to_compact_.set();
        put_status(replies, "Background append only file rewriting started");
      } else if (name == "SUBSCRIBE" || name == "UNSUBSCRIBE" || name == "PUBLISH") {
        // Its messages follow the replies to earlier commands.
        co_await keep(log);
        self.send(replies);
        replies.clear();
        pass_on(self, name, words);
      } else {
        data_.execute(words, now_in_ms(), replies, log);
      }
    }
    text.erase(0, commands.taken());
    co_await keep(log);
    self.send(replies);
    co_return !leaves;
  }

  // ---- pub/sub ----

  void pass_on(client& self, const std::string& name, const command& words) {
    std::string reply;
    if (words.size() < 2 && name != "UNSUBSCRIBE") {
      put_error(reply, "ERR wrong number of arguments for '" + words.front() + "' command");
      self.send(reply);
    } else if (name == "PUBLISH") {
      publish(self, words[1], words.size() > 2 ? words[2] : std::string());
    } else if (words.size() == 1) {
      const std::set<std::string> all = self.subscriptions;
      for (const std::string& channel : all) subscribe(self, channel, false);
    } else {
      for (std::size_t i = 1; i != words.size(); ++i) subscribe(self, words[i], name == "SUBSCRIBE");
    }
  }
  void subscribe(client& self, const std::string& channel, bool joins) {
    if (joins) {
      self.subscriptions.insert(channel);
      subscribers_[channel].insert(&self);
    } else {
      self.subscriptions.erase(channel);
      leave(self, channel);
    }
    std::string reply;
    put_array(reply, 3);
    put_text(reply, joins ? "subscribe" : "unsubscribe");
    put_text(reply, channel);
    put_integer(reply, static_cast<std::int64_t>(self.subscriptions.size()));
    self.send(reply);
  }
  void leave(client& self, const std::string& channel) {
    const auto found = subscribers_.find(channel);
    if (found == subscribers_.end()) return;
    found->second.erase(&self);
    if (found->second.empty()) subscribers_.erase(found);
  }
  void unsubscribe_all(client& self) {
    for (const std::string& channel : self.subscriptions) leave(self, channel);
  }
  void publish(client& self, const std::string& channel, const std::string& text) {
    std::string message, reply;
    put_array(message, 3);
    put_text(message, "message");
    put_text(message, channel);
    put_text(message, text);
    const auto found = subscribers_.find(channel);
    const std::size_t count = found == subscribers_.end() ? 0 : found->second.size();
    if (count != 0) {
      for (client* each : found->second) each->send(message);
    }
    put_integer(reply, static_cast<std::int64_t>(count));
    self.send(reply);
  }

  database data_;
  append_only_file* const log_;
  coracle::async_auto_reset_event is_to_compact_;
  std::map<std::string, std::set<client*>> subscribers_;
};

task<> serve(coracle::io_service& io, std::uint16_t port, database data, append_only_file* log) {
  server its{std::move(data), log};
  socket listener = socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), port});
  listener.listen();
  std::printf("port %u\n", static_cast<unsigned>(listener.local_endpoint().port()));
  std::fflush(stdout);
  const auto handle = [&](socket connection) { return its.handle(std::move(connection)); };
  co_await coracle::when_all(coracle::net::serve(listener, handle, {.connections = 10'000, .drain = 100ms}),
                             its.expire_keys(), its.compact_log());
}

task<> run(coracle::io_service& io, std::uint16_t port, std::string path, bool is_synced) {
  coracle::signal_set signals{io, {SIGINT, SIGTERM}};
  database data;
  if (path.empty()) {
    co_await coracle::when_any(signals.wait(), serve(io, port, std::move(data), nullptr));
    co_return;
  }
  const std::size_t cut = co_await replay(io, path, data);
  if (cut != 0)
    std::fprintf(stderr, "the last %zu bytes of %s were cut off: a write that is not complete\n", cut,
                 path.c_str());
  append_only_file log{io, path, co_await coracle::filesystem::open_write_only(io, path), is_synced};
  co_await coracle::when_any(signals.wait(), serve(io, port, std::move(data), &log));
}
}  // namespace redis

/// redis_server [PORT [FILE [sync]]]: listens on loopback; with PORT 0, on a free port. FILE keeps what
/// clients write; with `sync`, it survives a power failure too. Ends at Ctrl-C.
int main(int argc, char** argv) try {
  coracle::io_service io;
  const int port = argc > 1 ? std::atoi(argv[1]) : 6379;
  io.run(redis::run(io, static_cast<std::uint16_t>(port), argc > 2 ? argv[2] : "", argc > 3));
} catch (const std::exception& error) {
  std::fprintf(stderr, "redis_server: %s\n", error.what());
  return 1;
}
