// SPDX-License-Identifier: MIT
// The thread of an inspector, and its connections.
#pragma once
#include <coracle/base/thread.hpp>
#include <list>
#include <memory>
#include <string>

#include "../symbols.hpp"
#include "as_json.hpp"
#include "endpoint.hpp"

namespace coracle::detail {
/// The page, which is compiled in.
extern const char inspector_page[];

class inspector_server {
 public:
  explicit inspector_server(const std::string& where);
  inspector_server(const inspector_server&) = delete;
  inspector_server& operator=(const inspector_server&) = delete;
  ~inspector_server();

  [[nodiscard]] const std::string& url() const noexcept { return endpoint_.url(); }

 private:
  struct connection {
    inspector_descriptor socket;
    std::string received{};
    std::string to_send{};
    std::size_t sent = 0;
    steady_time ends{};        ///< closed then, unless something changes
    bool is_answered = false;  ///< its request was understood, and had the token
    bool listens = false;      ///< to events
    bool has_ended = false;    ///< sends no more
    bool is_closed = false;
    bool wants_all = true;  ///< has not got the newest snapshot
    bool records = false;   ///< waits for the trace that is being recorded
    bool as_text = false;   ///< of which it gets the table
  };
  static void* run(void* self);
  void serve();
  void wait_and_handle();
  [[nodiscard]] int milliseconds_to_next(steady_time now) const noexcept;
  void accept_all(steady_time now);
  void handle(connection& its, short events, steady_time now);
  void receive(connection& its, steady_time now);
  void respond(connection& its, steady_time now);
  void reply(connection& its, std::string text, steady_time now);
  static void send_more(connection& its) noexcept;
  void send_events(steady_time now);
  [[nodiscard]] std::string take_snapshot();
  [[nodiscard]] std::string take_memory();
  [[nodiscard]] const std::string& count_coroutines(steady_time now);
  [[nodiscard]] symbols& names();
  /// Returns `use(search, whether of a copy)`.
  template <class Use>
  [[nodiscard]] auto search(Use use);
  void begin_trace(connection& its, std::string_view query, bool as_text, steady_time now);
  void end_trace(steady_time now);
  [[nodiscard]] std::string take_long_turns(steady_time now);
  void watch_long_turns(bool wanted) noexcept;

  inspector_endpoint endpoint_;
  inspector_descriptor ending_;  ///< readable once the thread is to end
  pid_t process_;
  std::list<connection> connections_;  // the oldest first
  steady_time accepts_from_{};         ///< later than now if the process has no free descriptor
  steady_time next_event_{};
  std::string newest_;
  frame_memory memory_;  ///< the frames that live are those of the last search
  steady_time next_count_{};
  std::string newest_count_;
  bool is_recording_ = false;
  steady_time trace_ends_{};
  bool watches_turns_ = false;
  steady_time turns_until_{};
  std::unique_ptr<symbols> names_;  // 40 KiB
  std::uint64_t loads_before_ = 0;  ///< of files, before names_ was made
  suspension_lines lines_;
  thread_handle thread_{};
};
}  // namespace coracle::detail
