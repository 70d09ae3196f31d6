// examples/redis_server/database.hpp -- the keys and what they hold; knows nothing of files and sockets.
// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include "protocol.hpp"

namespace redis {
/// A mistake of the client's: the reply to one command.
class command_error : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

inline std::string in_capitals(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return word;
}

/// Executes commands. For each command that changes data, it returns the commands that repeat the change
/// later: the same, with absolute times instead of times relative to now.
class database {
 public:
  /// Appends the reply to `reply`, and to `log` the commands that repeat its effect. `now` is in milliseconds
  /// since 1970; 0 while a log is read, when nothing expires.
  void execute(const command& words, std::int64_t now, std::string& reply, std::string& log) {
    expire(now, log);
    const std::size_t reply_before = reply.size(), log_before = log.size();
    try {
      const auto found = handlers().find(in_capitals(words.front()));
      if (found == handlers().end()) throw command_error("ERR unknown command '" + words.front() + "'");
      if (words.size() < found->second.least || words.size() > found->second.most)
        throw command_error("ERR wrong number of arguments for '" + words.front() + "' command");
      call here{words, now, reply, log};
      (this->*found->second.function)(here);
      if (found->second.changes && log.size() == log_before && !here.changed_nothing) put_command(log, words);
    } catch (const command_error& error) {
      reply.resize(reply_before);
      log.resize(log_before);
      put_error(reply, error.what());
    }
  }
  /// Removes the keys that have expired.
  void expire(std::int64_t now, std::string& log) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const std::string key = deadlines_.begin()->second;
      put_command(log, {"DEL", key});
      erase(key);
    }
  }
  /// The commands that make an empty database equal to this one.
  [[nodiscard]] std::string as_commands() const {
    constexpr std::ptrdiff_t items_at_once = 1000;
    std::string text;
    for (const auto& [key, its] : entries_) {
      if (const auto* const value = std::get_if<std::string>(&its.value))
        put_command(text, {"SET", key, *value});
      if (const auto* const items = std::get_if<list>(&its.value)) {
        for (auto at = items->begin(); at != items->end();) {
          const auto end = at + std::min(items_at_once, items->end() - at);
          command push{"RPUSH", key};
          push.insert(push.end(), at, end);
          put_command(text, push);
          at = end;
        }
      }
      if (its.deadline != 0) put_command(text, {"PEXPIREAT", key, std::to_string(its.deadline)});
    }
    return text;
  }

 private:
  using list = std::deque<std::string>;
  struct entry {
    std::variant<std::string, list> value;
    std::int64_t deadline = 0;  // 0: none
  };
  struct call {
    const command& words;
    std::int64_t now;
    std::string &reply, &log;
    bool changed_nothing = false;
  };
  struct handler {
    void (database::*function)(call&);
    std::size_t least, most;  // words
    bool changes;
  };
  static const std::unordered_map<std::string, handler>& handlers();

  // ---- entries ----

  entry* find(const std::string& key) {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  template <class T>
  T* find(const std::string& key) {
    entry* const found = find(key);
    if (!found) return nullptr;
    T* const value = std::get_if<T>(&found->value);
    if (!value) throw command_error("WRONGTYPE Operation against a key holding the wrong kind of value");
    return value;
  }
  template <class T>
  T& find_or_make(const std::string& key) {
    T* const found = find<T>(key);
    return found ? *found : std::get<T>(entries_.insert_or_assign(key, entry{T{}, 0}).first->second.value);
  }
  bool erase(const std::string& key) {
    set_deadline(key, 0);
    return entries_.erase(key) != 0;
  }
  void set_deadline(const std::string& key, std::int64_t deadline) {
    entry* const found = find(key);
    if (!found) return;
    if (found->deadline != 0) deadlines_.erase({found->deadline, key});
    found->deadline = deadline;
    if (deadline != 0) deadlines_.emplace(deadline, key);
  }
  static std::int64_t number_in(const std::string& text) {
    std::int64_t number = 0;
    if (!to_number(text, number)) throw command_error("ERR value is not an integer or out of range");
    return number;
  }
  static std::int64_t sum_of(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) throw command_error("ERR increment or decrement would overflow");
    return sum;
  }
  static std::int64_t deadline_of(std::int64_t amount, std::int64_t unit, std::int64_t now) {
    std::int64_t span = 0, deadline = 0;
    if (__builtin_mul_overflow(amount, unit, &span) || __builtin_add_overflow(span, now, &deadline))
      throw command_error("ERR invalid expire time");
    return deadline;
  }

  // ---- commands ----

  void ping(call& c) { c.words.size() == 2 ? put_text(c.reply, c.words[1]) : put_status(c.reply, "PONG"); }
  void echo(call& c) { put_text(c.reply, c.words[1]); }
  void ok(call& c) { put_status(c.reply, "OK"); }
  void no_elements(call& c) { put_array(c.reply, 0); }
  void size(call& c) { put_integer(c.reply, static_cast<std::int64_t>(entries_.size())); }
  void clear(call& c) {
    entries_.clear();
    deadlines_.clear();
    ok(c);
  }
  void remove(call& c) {
    std::int64_t count = 0;
    for (std::size_t i = 1; i != c.words.size(); ++i) count += erase(c.words[i]) ? 1 : 0;
    c.changed_nothing = count == 0;
    put_integer(c.reply, count);
  }
  void exists(call& c) {
    std::int64_t count = 0;
    for (std::size_t i = 1; i != c.words.size(); ++i) count += find(c.words[i]) ? 1 : 0;
    put_integer(c.reply, count);
  }
  void type(call& c) {
    const entry* const found = find(c.words[1]);
    put_status(c.reply, !found ? "none" : found->value.index() == 0 ? "string" : "list");
  }

  void get(call& c) { put_found(c.reply, find<std::string>(c.words[1])); }
  static void put_found(std::string& reply, const std::string* found) {
    found ? put_text(reply, *found) : put_nothing(reply);
  }
  void set(call& c) {
    const std::string &key = c.words[1], &value = c.words[2];
    bool only_new = false, only_old = false, keeps_deadline = false;
    std::int64_t deadline = 0;
    for (std::size_t i = 3; i < c.words.size(); ++i) {
      const std::string option = in_capitals(c.words[i]);
      const bool is_time = option == "EX" || option == "PX" || option == "EXAT" || option == "PXAT";
      if (option == "NX") {
        only_new = true;
      } else if (option == "XX") {
        only_old = true;
      } else if (option == "KEEPTTL") {
        keeps_deadline = true;
      } else if (is_time && i + 1 != c.words.size()) {
        const std::int64_t amount = number_in(c.words[++i]);
        if (amount <= 0) throw command_error("ERR invalid expire time in 'set' command");
        deadline = deadline_of(amount, option[0] == 'E' ? 1000 : 1, option.ends_with("AT") ? 0 : c.now);
      } else {
        throw command_error("ERR syntax error");
      }
    }
    const entry* const before = find(key);
    if ((only_new && before) || (only_old && !before)) {
      c.changed_nothing = true;
      return put_nothing(c.reply);
    }
    if (keeps_deadline && before) deadline = before->deadline;
    erase(key);
    entries_[key].value = value;
    set_deadline(key, deadline);
    command logged{"SET", key, value};
    if (deadline != 0) logged.insert(logged.end(), {"PXAT", std::to_string(deadline)});
    put_command(c.log, logged);
    ok(c);
  }
  void get_many(call& c) {
    put_array(c.reply, c.words.size() - 1);
    for (std::size_t i = 1; i != c.words.size(); ++i) {
      const entry* const found = find(c.words[i]);
      put_found(c.reply, found ? std::get_if<std::string>(&found->value) : nullptr);
    }
  }
  void set_many(call& c) {
    if (c.words.size() % 2 == 0) throw command_error("ERR wrong number of arguments for 'mset' command");
    for (std::size_t i = 1; i != c.words.size(); i += 2) {
      erase(c.words[i]);
      entries_[c.words[i]].value = c.words[i + 1];
    }
    ok(c);
  }
  void append(call& c) {
    std::string& value = find_or_make<std::string>(c.words[1]);
    value += c.words[2];
    put_integer(c.reply, static_cast<std::int64_t>(value.size()));
  }
  void length(call& c) {
    const std::string* const value = find<std::string>(c.words[1]);
    put_integer(c.reply, value ? static_cast<std::int64_t>(value->size()) : 0);
  }
  void add(call& c, std::int64_t amount) {
    const std::string* const before = find<std::string>(c.words[1]);
    const std::int64_t sum = sum_of(before ? number_in(*before) : 0, amount);
    find_or_make<std::string>(c.words[1]) = std::to_string(sum);
    put_integer(c.reply, sum);
  }
  void increment(call& c) { add(c, 1); }
  void decrement(call& c) { add(c, -1); }
  void increment_by(call& c) { add(c, number_in(c.words[2])); }

  void expire_at(call& c, std::int64_t deadline) {
    const std::string& key = c.words[1];
    c.changed_nothing = !find(key);
    put_integer(c.reply, c.changed_nothing ? 0 : 1);
    if (c.changed_nothing) return;
    set_deadline(key, std::max<std::int64_t>(deadline, 1));
    put_command(c.log, {"PEXPIREAT", key, std::to_string(deadline)});
  }
  void expire_seconds(call& c) { expire_at(c, deadline_of(number_in(c.words[2]), 1000, c.now)); }
  void expire_milliseconds(call& c) { expire_at(c, deadline_of(number_in(c.words[2]), 1, c.now)); }
  void expire_at_milliseconds(call& c) { expire_at(c, number_in(c.words[2])); }
  void put_time_left(call& c, std::int64_t unit) {
    const entry* const found = find(c.words[1]);
    if (!found) return put_integer(c.reply, -2);
    if (found->deadline == 0) return put_integer(c.reply, -1);
    put_integer(c.reply, (found->deadline - c.now + unit / 2) / unit);
  }
  void seconds_left(call& c) { put_time_left(c, 1000); }
  void milliseconds_left(call& c) { put_time_left(c, 1); }
  void persist(call& c) {
    const entry* const found = find(c.words[1]);
    c.changed_nothing = !found || found->deadline == 0;
    set_deadline(c.words[1], 0);
    put_integer(c.reply, c.changed_nothing ? 0 : 1);
  }

  void push_front(call& c) {
    list& its = find_or_make<list>(c.words[1]);
    its.insert(its.begin(), c.words.rbegin(), c.words.rend() - 2);
    put_integer(c.reply, static_cast<std::int64_t>(its.size()));
  }
  void push_back(call& c) {
    list& its = find_or_make<list>(c.words[1]);
    its.insert(its.end(), c.words.begin() + 2, c.words.end());
    put_integer(c.reply, static_cast<std::int64_t>(its.size()));
  }
  void pop(call& c, bool at_front) {
    list* const its = find<list>(c.words[1]);
    c.changed_nothing = !its;
    if (!its) return put_nothing(c.reply);
    put_text(c.reply, at_front ? its->front() : its->back());
    at_front ? its->pop_front() : its->pop_back();
    if (its->empty()) erase(c.words[1]);
  }
  void pop_front(call& c) { pop(c, true); }
  void pop_back(call& c) { pop(c, false); }
  void list_length(call& c) {
    const list* const its = find<list>(c.words[1]);
    put_integer(c.reply, its ? static_cast<std::int64_t>(its->size()) : 0);
  }
  void range(call& c) {
    const list* const its = find<list>(c.words[1]);
    const std::int64_t size = its ? static_cast<std::int64_t>(its->size()) : 0;
    std::int64_t first = number_in(c.words[2]), last = number_in(c.words[3]);
    if (first < 0) first = std::max<std::int64_t>(first + size, 0);
    if (last < 0) last += size;
    last = std::min(last, size - 1);
    if (!its || first > last) return put_array(c.reply, 0);
    put_array(c.reply, static_cast<std::size_t>(last - first + 1));
    for (; first <= last; ++first) put_text(c.reply, (*its)[static_cast<std::size_t>(first)]);
  }

  std::unordered_map<std::string, entry> entries_;
  std::set<std::pair<std::int64_t, std::string>> deadlines_;
};

inline const std::unordered_map<std::string, database::handler>& database::handlers() {
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  using self = database;
  static const std::unordered_map<std::string, handler> all{
      {"PING", {&self::ping, 1, 2, false}},
      {"ECHO", {&self::echo, 2, 2, false}},
      {"SELECT", {&self::ok, 2, 2, false}},
      {"CLIENT", {&self::ok, 2, any, false}},
      {"COMMAND", {&self::no_elements, 1, any, false}},
      {"CONFIG", {&self::no_elements, 2, any, false}},
      {"DBSIZE", {&self::size, 1, 1, false}},
      {"FLUSHALL", {&self::clear, 1, 2, true}},
      {"FLUSHDB", {&self::clear, 1, 2, true}},
      {"DEL", {&self::remove, 2, any, true}},
      {"EXISTS", {&self::exists, 2, any, false}},
      {"TYPE", {&self::type, 2, 2, false}},
      {"GET", {&self::get, 2, 2, false}},
      {"SET", {&self::set, 3, any, true}},
      {"MGET", {&self::get_many, 2, any, false}},
      {"MSET", {&self::set_many, 3, any, true}},
      {"APPEND", {&self::append, 3, 3, true}},
      {"STRLEN", {&self::length, 2, 2, false}},
      {"INCR", {&self::increment, 2, 2, true}},
      {"DECR", {&self::decrement, 2, 2, true}},
      {"INCRBY", {&self::increment_by, 3, 3, true}},
      {"EXPIRE", {&self::expire_seconds, 3, 3, true}},
      {"PEXPIRE", {&self::expire_milliseconds, 3, 3, true}},
      {"PEXPIREAT", {&self::expire_at_milliseconds, 3, 3, true}},
      {"TTL", {&self::seconds_left, 2, 2, false}},
      {"PTTL", {&self::milliseconds_left, 2, 2, false}},
      {"PERSIST", {&self::persist, 2, 2, true}},
      {"LPUSH", {&self::push_front, 3, any, true}},
      {"RPUSH", {&self::push_back, 3, any, true}},
      {"LPOP", {&self::pop_front, 2, 2, true}},
      {"RPOP", {&self::pop_back, 2, 2, true}},
      {"LLEN", {&self::list_length, 2, 2, false}},
      {"LRANGE", {&self::range, 4, 4, false}},
  };
  return all;
}
}  // namespace redis
