// SPDX-License-Identifier: MIT
#include "server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <coracle/inspect/trace.hpp>
#include <cstdio>
#include <ctime>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>

#include "../mapped_object.hpp"
#include "../own_symbols.hpp"
#include "../turn_recorder.hpp"
#include "as_json.hpp"
#include "as_metrics.hpp"
#include "paused_copy.hpp"
#include "request.hpp"

namespace coracle::detail {
namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t most_connections = 16;
constexpr std::size_t most_linked = 100'000;  // of more only the functions are told
constexpr seconds for_request{5};
constexpr seconds for_answer{60};
constexpr seconds between_events{1};
constexpr unsigned most_recorded = 60;  // seconds
constexpr seconds between_questions{10};
constexpr milliseconds long_turn{10};
constexpr int share_of_processor = 10;  // searches for events take at most one part in so many of the time
constexpr seconds without_descriptors{1};
constexpr std::size_t most_copied = std::size_t{256} << 20;  // a larger program is searched as it runs

/// Returns the time that this thread has run, which does not depend on the load of the machine.
std::chrono::nanoseconds processor_time() noexcept {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}
std::size_t resident_memory() noexcept {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  std::size_t all = 0, resident = 0;
  const int read = std::fscanf(file, "%zu %zu", &all, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}
}  // namespace

inspector_server::inspector_server(const std::string& where)
    : endpoint_(where), ending_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), process_(::getpid()) {
  int error = ending_.get() < 0 ? errno : 0;
  if (error == 0) error = start_quiet_thread(thread_, &run, this);
  if (error == 0) return;
  endpoint_.remove_file();
  throw std::system_error(error, std::system_category(), "coracle::inspector cannot start");
}

inspector_server::~inspector_server() {
  if (::getpid() != process_) return;  // a forked child, which has no such thread
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(ending_.get(), &one, sizeof one);
  join_thread(thread_);
  if (is_recording_) static_cast<void>(stop_trace());
  watch_long_turns(false);
  endpoint_.remove_file();
}

void* inspector_server::run(void* self) {
  static_cast<inspector_server*>(self)->serve();
  return nullptr;
}
void inspector_server::serve() {
  name_this_thread("coracle-inspect");
  for (;;) {
    pollfd end{ending_.get(), POLLIN, 0};
    if (::poll(&end, 1, 0) == 1) return;
    try {
      wait_and_handle();
    } catch (const std::exception&) {  // as std::bad_alloc
      connections_.clear();            // with what they hold
    }
  }
}

void inspector_server::wait_and_handle() {
  steady_time now = real_now();
  pollfd awaited[2 + most_connections] = {{ending_.get(), POLLIN, 0},
                                          {accepts_from_ <= now ? endpoint_.socket() : -1, POLLIN, 0}};
  nfds_t count = 2;
  for (const connection& each : connections_) {
    const bool has_more = each.sent != each.to_send.size();
    const int events = (each.has_ended ? 0 : POLLIN) | (has_more ? POLLOUT : 0);
    awaited[count++] = {each.socket.get(), static_cast<short>(events), 0};
  }
  if (::poll(awaited, count, milliseconds_to_next(now)) < 0) return;
  now = real_now();
  const pollfd* polled = awaited + 2;
  for (connection& each : connections_) handle(each, (polled++)->revents, now);
  send_events(now);
  end_trace(now);
  if (turns_until_ <= now) watch_long_turns(false);
  connections_.remove_if([&](const connection& each) { return each.is_closed || each.ends <= now; });
  if (awaited[1].revents != 0) accept_all(now);
}

int inspector_server::milliseconds_to_next(steady_time now) const noexcept {
  steady_time next = accepts_from_ > now ? accepts_from_ : now + for_answer;
  for (const connection& each : connections_) {
    next = std::min(next, each.ends);
    if (each.listens) next = std::min(next, next_event_);
  }
  if (is_recording_) next = std::min(next, trace_ends_);
  if (watches_turns_) next = std::min(next, turns_until_);
  const auto left = std::chrono::ceil<milliseconds>(next - now).count();
  return static_cast<int>(std::max<decltype(left)>(left, 0));
}

void inspector_server::accept_all(steady_time now) {
  for (std::size_t i = 0; i != most_connections; ++i) {
    inspector_descriptor accepted(
        ::accept4(endpoint_.socket(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted.get() < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        accepts_from_ = now + without_descriptors;
      return;
    }
    if (connections_.size() == most_connections) {
      // Whoever has the token is not kept out by others.
      const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                       [](const connection& each) { return !each.is_answered; });
      if (oldest == connections_.end()) continue;
      connections_.erase(oldest);
    }
    connections_.push_back({.socket = std::move(accepted), .ends = now + for_request});
  }
}

void inspector_server::handle(connection& its, short events, steady_time now) {
  if (events & (POLLIN | POLLHUP | POLLERR)) receive(its, now);
  if (events & POLLOUT) send_more(its);
}

void inspector_server::receive(connection& its, steady_time now) {
  char bytes[4096];
  const ssize_t count = ::recv(its.socket.get(), bytes, sizeof bytes, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto size = count < 0 ? std::size_t{0} : static_cast<std::size_t>(count);
  if (count == 0 && its.sent != its.to_send.size() && !its.listens && !its.has_ended) {
    its.has_ended = true;  // it still reads
    return;
  }
  // What comes after the request is no part of it: a line break, while a trace is being recorded.
  if (size != 0 && its.records) return;
  if (size == 0 || !its.to_send.empty() || its.received.size() + size > most_in_request) {
    its.is_closed = true;
    return;
  }
  its.received.append(bytes, size);
  if (its.received.find("\r\n\r\n") != std::string::npos) respond(its, now);
}

void inspector_server::respond(connection& its, steady_time now) {
  const inspector_request request = parse_request(its.received);
  if (request.method.empty()) return reply(its, answer("400 Bad Request", "text/plain", "no request\n"), now);
  if (!endpoint_.token().empty() && !has_token(request.query, endpoint_.token())) {
    constexpr std::string_view body = "The URL that the program printed has a token, which this one lacks.\n";
    return reply(its, answer("403 Forbidden", "text/plain", body), now);
  }
  its.is_answered = true;
  if (request.method != "GET")
    return reply(its, answer("405 Method Not Allowed", "text/plain", "GET only\n"), now);
  if (request.path == "/") return reply(its, answer("200 OK", "text/html", inspector_page), now);
  if (request.path == "/coroutines")
    return reply(its, answer("200 OK", "application/json", take_snapshot() + '\n'), now);
  if (request.path == "/memory") return reply(its, answer("200 OK", "application/json", take_memory()), now);
  if (request.path == "/metrics")
    return reply(its,
                 answer("200 OK", metrics_type,
                        metrics_text(read_runtime_metrics(), count_free_frames()) + count_coroutines(now)),
                 now);
  if (request.path == "/trace") return begin_trace(its, request.query, false, now);
  if (request.path == "/times") return begin_trace(its, request.query, true, now);
  if (request.path == "/long-turns")
    return reply(its, answer("200 OK", "application/json", take_long_turns(now)), now);
  if (request.path != "/events") {
    constexpr std::string_view body =
        "there are /, /coroutines, /events, /memory, /metrics, /trace, /times and /long-turns\n";
    return reply(its, answer("404 Not Found", "text/plain", body), now);
  }
  its.listens = true;
  // If others listen, the last snapshot is not old, and the next one may take a while.
  its.wants_all = next_event_ <= now;
  const std::string first = its.wants_all ? std::string() : "data: " + newest_ + "\n\n";
  reply(its, answer("200 OK", "text/event-stream", first), now);
  its.ends = std::max(now, next_event_) + for_answer;
}

void inspector_server::reply(connection& its, std::string text, steady_time now) {
  its.to_send = std::move(text);
  its.ends = now + for_answer;
  send_more(its);
}

void inspector_server::send_more(connection& its) noexcept {
  while (its.sent != its.to_send.size()) {
    const ssize_t count =
        ::send(its.socket.get(), its.to_send.data() + its.sent, its.to_send.size() - its.sent, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EAGAIN && errno != EINTR) its.is_closed = true;
      return;
    }
    its.sent += static_cast<std::size_t>(count);
  }
  if (!its.listens) its.is_closed = true;
}

/// Sends the newest snapshot to each that listens and has taken the one before; `same` if both are equal.
void inspector_server::send_events(steady_time now) {
  const bool has_listener = std::any_of(connections_.begin(), connections_.end(), [](const connection& each) {
    return each.listens && !each.is_closed;
  });
  if (!has_listener || now < next_event_) return;
  const std::chrono::nanoseconds before = processor_time();
  std::string found = take_snapshot();
  const bool has_changed = found != newest_;
  memory_.free = count_free_frames();
  const std::string runtime =
      "event: runtime\ndata: " + json_of(read_runtime_metrics(), memory_, now.time_since_epoch()) + "\n\n";
  newest_ = std::move(found);
  next_event_ = std::max(now + between_events, now + share_of_processor * (processor_time() - before));
  for (connection& each : connections_) {
    if (!each.listens) continue;
    each.wants_all = each.wants_all || has_changed;
    if (each.sent != each.to_send.size()) continue;
    each.to_send = (each.wants_all ? "data: " + newest_ + "\n\n" : "event: same\ndata:\n\n") + runtime;
    each.sent = 0;
    each.wants_all = false;
    each.ends = next_event_ + for_answer;
    send_more(each);
  }
}

void inspector_server::begin_trace(connection& its, std::string_view query, bool as_text, steady_time now) {
  const unsigned length = number_in(query, "seconds");
  if (length == 0 || length > most_recorded) {
    constexpr std::string_view body = "say how long: seconds=1 to seconds=60\n";
    return reply(its, answer("400 Bad Request", "text/plain", body), now);
  }
  if (!start_trace())
    return reply(its, answer("409 Conflict", "text/plain", "a trace is being recorded already\n"), now);
  is_recording_ = its.records = true;
  its.as_text = as_text;
  trace_ends_ = now + seconds(length);
  its.ends = trace_ends_ + for_answer;
}
void inspector_server::end_trace(steady_time now) {
  if (!is_recording_) return;
  const auto its = std::find_if(connections_.begin(), connections_.end(),
                                [](const connection& each) { return each.records && !each.is_closed; });
  if (its != connections_.end() && now < trace_ends_) return;
  is_recording_ = false;
  const recorded_trace trace = stop_trace();
  if (its == connections_.end()) return;  // nobody waits for it
  its->records = false;
  reply(*its,
        its->as_text ? answer("200 OK", "text/plain", trace.to_text())
                     : answer("200 OK", "application/json", trace.to_json()),
        now);
}

/// Watches for as long as somebody asks again.
std::string inspector_server::take_long_turns(steady_time now) {
  watch_long_turns(true);
  turns_until_ = now + between_questions;
  return json_of(turn_recorder::long_turns(), names()) + '\n';
}
void inspector_server::watch_long_turns(bool wanted) noexcept {
  if (std::exchange(watches_turns_, wanted) == wanted) return;
  const std::chrono::nanoseconds limit = wanted ? long_turn : milliseconds::zero();
  turn_recorder::keep_long_turns(turn_recorder::watcher::page, limit.count());
}

template <class Use>
auto inspector_server::search(Use use) {
  std::optional<paused_copy> copy;
  if (resident_memory() <= most_copied) copy.emplace();
  const bool is_consistent = copy && copy->exists();
  const mapped_object<known_pages> cache;
  const process_memory memory(is_consistent ? copy->process() : process_, cache.get());
  return use(coroutine_search(names(), memory, most_linked, __builtin_frame_address(0)), is_consistent);
}

std::string inspector_server::take_snapshot() {
  if (const char* const refusal = coroutine_search::refusal(names())) return json_of_refusal(refusal);
  return search([this](const coroutine_search& found, bool is_from_copy) {
    memory_.live = found.counts_by_size();
    lines_.forget_missing();
    return json_of(found, is_from_copy, lines_);
  });
}
std::string inspector_server::take_memory() {
  frame_memory taken{.live = std::nullopt, .free = count_free_frames()};
  if (!coroutine_search::refusal(names()))
    taken.live = search([](const coroutine_search& found, bool) { return found.counts_by_size(); });
  return json_of(taken) + '\n';
}

/// Returns the metrics of the coroutines. Like those for events, searches take a limited share of the time.
const std::string& inspector_server::count_coroutines(steady_time now) {
  if (now < next_count_ || coroutine_search::refusal(names())) return newest_count_;
  const std::chrono::nanoseconds before = processor_time();
  newest_count_ = search([before](const coroutine_search& found, bool) {
    return metrics_text(found, processor_time() - before);
  });
  next_count_ = now + share_of_processor * (processor_time() - before);
  return newest_count_;
}

symbols& inspector_server::names() {
  const std::uint64_t loads = own_symbols::count_loads();
  if (names_ && loads == loads_before_) return *names_;
  lines_ = suspension_lines();  // by the files that are mapped
  names_ = std::make_unique<symbols>(process_);
  loads_before_ = loads;
  return *names_;
}
}  // namespace coracle::detail
