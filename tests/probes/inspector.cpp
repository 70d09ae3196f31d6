// tests/probes/inspector.cpp -- an inspector, and clients of every kind.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <coracle/channels/broadcast.hpp>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/async_scope.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/blocking.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/inspect/inspector.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/sleep.hpp>
#include <coracle/time/timeout.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "../support/expect.hpp"
#include "../support/metrics_format.hpp"
#include "../support/raw_client.hpp"

namespace {
using namespace coracle;
using coracle_test::answer_to, coracle_test::get, coracle_test::tcp_client, coracle_test::unix_client;
using coracle_test::error_in_metrics, coracle_test::expect;

// ---- what is inspected ----

async_mutex savings, checking, balances, journal, ledger, interest, fees, taxes;
async_manual_reset_event both_hold_one, opened;

task<> transfer(async_mutex& from, async_mutex& to) {
  const auto debit = co_await from.scoped_lock_async();
  co_await both_hold_one;
  const auto credit = co_await to.scoped_lock_async();
}
task<> save_up() { co_await transfer(checking, savings); }
task<> pay_rent() { co_await transfer(savings, checking); }
task<> add(async_mutex& lock) { const auto held = co_await lock.scoped_lock_async(); }
task<> add_interest(async_mutex& lock) {
  const auto held = co_await lock.scoped_lock_async();
  co_await add(lock);
}
/// The holder of the lock waits for an event, which may still be set: the waiter for the lock is not stuck.
task<> write(async_mutex& lock) {
  const auto held = co_await lock.scoped_lock_async();
  co_await opened;
}
task<> wait_until_opened() { co_await opened; }
/// So does one of two branches; the other is stuck.
task<> write_or_add(async_mutex& lock) {
  const auto held = co_await lock.scoped_lock_async();
  co_await when_any(wait_until_opened(), add(balances));
}
/// What would be a deadlock ends in time.
task<> nap() { co_await sleep_for(std::chrono::hours(24)); }
task<> add_or_sleep(async_mutex& lock) {
  const auto held = co_await lock.scoped_lock_async();
  co_await when_any(sleep_for(std::chrono::hours(24)), add(lock));
}
task<> add_or_nap(async_mutex& lock) {
  const auto held = co_await lock.scoped_lock_async();
  co_await when_any(nap(), add(lock));
}
task<> add_in_time(async_mutex& lock) {
  const auto held = co_await lock.scoped_lock_async();
  co_await timeout(add(lock), std::chrono::hours(24));
}
task<> read(async_mutex& lock) { const auto held = co_await lock.scoped_lock_async(); }
channel<int> orders{4};
channel<int> results{1};
task<> take_order() { (void)co_await orders.recv(); }
task<> send_two_results() {
  co_await results.send(1);
  co_await results.send(2);
}
broadcast<int> rates{4};
task<> show_rates() {
  auto mine = rates.subscribe();
  (void)co_await mine.recv();
}
task<> rates_or_opening() {
  auto mine = rates.subscribe();
  co_await when_any(mine.recv(), opened);
}
task<> wait_for_order() { (void)co_await as_outcome(take_order()); }
task<> read_answer(net::unix_socket& from) {
  char answer[8];
  (void)co_await from.recv(answer, sizeof answer);
}
task<> read_answer_or_open(net::unix_socket& from) {
  char answer[8];
  co_await when_any(from.recv(answer, sizeof answer), opened);
}
task<> wait_for_time(io_service& io) { co_await io.schedule_after(std::chrono::hours(24)); }
/// Of three calls by one thread, one has returned, one runs, and one has not begun.
std::binary_semaphore call_runs{0}, never{0};
task<> call_and_wait(blocking_pool& one_thread) {
  const auto nothing = [] {};
  co_await blocking(one_thread, nothing);
  co_await opened;
}
task<> call_forever(blocking_pool& one_thread) {
  const auto block = [] {
    call_runs.release();
    never.acquire();
  };
  co_await blocking(one_thread, block);
}
task<> bank(io_service& io, net::unix_pair& ends) {
  co_await when_all(save_up(), pay_rent(), add_interest(balances), write(journal), read(journal),
                    write_or_add(ledger), read(ledger), wait_for_order(), send_two_results(), show_rates(),
                    rates_or_opening(), read_answer(ends.first), read_answer_or_open(ends.second),
                    wait_for_time(io), add_or_sleep(interest), add_or_nap(fees), add_in_time(taxes));
}

// ---- answers ----

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
unsigned short port_of(const inspector& of) {
  return static_cast<unsigned short>(std::atoi(of.url().c_str() + std::strlen("http://127.0.0.1:")));
}
std::string query_of(const inspector& of) { return of.url().substr(of.url().find('?')); }

/// Returns the text between the parts.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return {};
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}
std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

// ---- what is expected ----

void check_coroutines(const std::string& answer) {
  expect(has(answer, "HTTP/1.1 200 OK\r\nContent-Type: application/json"), "the answer is JSON");
  expect(has(answer, R"({"schema":1,"program":"probe_inspector")"), "it has a schema and the program");
  expect(has(answer, R"("is_consistent":true)"), "the search was of a copy");
  expect(count(answer, "::transfer\"") == 2 || count(answer, "\"transfer\"") == 2,
         "both transfers are found");
  expect(has(answer, R"("does":"waits to lock async_mutex savings")"), "what one waits for");
  expect(has(answer, R"("does":"waits to lock async_mutex checking")"), "what the other waits for");
  expect(has(answer, R"("does":"waits for async_manual_reset_event opened")"), "an event has its name");
  expect(has(answer, R"("type":"async_mutex","name":"journal","elements":null)"),
         "an object has type and name");
  expect(has(answer, R"("name":"orders","elements":0,"capacity":4)"), "an empty channel");
  expect(has(answer, R"("name":"results","elements":1,"capacity":1)"), "a full channel");
  expect(has(answer, R"("does":"waits for the next value of a broadcast or watched_value")"), "a subscriber");
  expect(has(answer, R"("does":"waits for I/O on descriptor )"), "a receiver");
  expect(has(answer, R"("does":"waits for a timer")"), "a schedule_after()");
  expect(count(answer, R"("does":"waits for its blocking call to return")") == 1, "a call that runs");
  expect(count(answer, R"("does":"waits for a thread to make its blocking call")") == 1, "one that does not");
  expect(count(answer, R"x("does":"in when_any(): waits for )x") == 2, "waits inside another");
  expect(has(answer, R"x("through":"when_all()")x"), "what is in between is named");
  expect(has(answer, R"x("through":"as_outcome()")x"), "and what changes how work ends");
  const std::string circles = between(answer, R"("deadlocks":[)", R"(],"stuck")");
  expect(count(circles, "[") == 2 && count(circles, "0x") == 3, "a deadlock of two, and one of one");
  expect(count(between(answer, R"("stuck":[)", "]"), "0x") == 4,
         "both transfers and both additions are stuck");
}

void answers_who_has_the_token() {
  const inspector here;
  const unsigned short port = port_of(here);
  check_coroutines(answer_to<tcp_client>(port, get("/coroutines" + query_of(here))));
  expect(has(answer_to<tcp_client>(port, get("/" + query_of(here))), "<!doctype html>"), "the page");
  expect(has(answer_to<tcp_client>(port, get("/no" + query_of(here))), " 404 "), "no such path");
  expect(has(answer_to<tcp_client>(port, "POST /" + query_of(here) + " HTTP/1.1\r\n\r\n"), " 405 "),
         "GET only");
}

void others_learn_nothing() {
  const inspector here;
  const unsigned short port = port_of(here);
  const std::string wrong = "?token=" + std::string(32, '0');
  for (const std::string& query : {std::string(), wrong, std::string("?token="), query_of(here) + "0"}) {
    for (const char* path : {"/", "/coroutines", "/events", "/no"}) {
      const std::string answer = answer_to<tcp_client>(port, get(path + query));
      expect(has(answer, "HTTP/1.1 403 Forbidden"), "no answer without the token");
    }
  }
  for (const std::string& garbage :
       {std::string("\r\n\r\n"), std::string(100, '\xff') + "\r\n\r\n",
        "GET " + std::string(100, ' ') + "\r\n\r\n", std::string("GET /\r\n\r\n")}) {
    expect(has(answer_to<tcp_client>(port, garbage), "HTTP/1.1 400 "), "garbage is no request");
  }
  const std::string too_long =
      "GET /" + query_of(here) + " HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n";
  expect(answer_to<tcp_client>(port, too_long).empty(), "a request too long gets no answer");
  check_coroutines(answer_to<tcp_client>(port, get("/coroutines" + query_of(here))));
}

/// Those that send nothing, or do not read, keep nobody out.
void many_and_slow_ones_keep_nobody_out() {
  const inspector here;
  const unsigned short port = port_of(here);
  std::vector<std::unique_ptr<tcp_client>> slow;
  for (int i = 0; i != 60; ++i) {
    slow.push_back(std::make_unique<tcp_client>(port));
    if (i % 2 == 0) slow.back()->send("GET /");
    if (i % 3 == 0) slow.back()->send(get("/"));
  }
  check_coroutines(answer_to<tcp_client>(port, get("/coroutines" + query_of(here))));
}

void events_are_pushed() {
  const inspector here;
  tcp_client listens(port_of(here));
  listens.send(get("/events" + query_of(here)));
  std::string first = listens.read("\n\n");
  expect(has(first, "Content-Type: text/event-stream"), "a stream of events");
  if (!has(first, "\n\n")) first += listens.read("\n\n");
  expect(has(first, "\r\n\r\ndata: {\"schema\":1"), "the first event is a snapshot");
  std::string next = listens.read("event: same\ndata:\n\nevent: runtime\ndata: ");
  next += listens.read("\n\n");
  expect(count(first + next, R"(data: {"schema":1)") == 1, "nothing has changed since");
  expect(has(next, R"(event: runtime
data: {"time":)"),
         "the schedulers");
  expect(has(next, R"({"id":)" + std::to_string(::gettid()) + R"(,"name":"probe_inspector","used":)"),
         "this thread");
  expect(has(next, R"("memory":{"schema":1,"threads_not_read":0,"sizes":[{"size":)"), "the memory of frames");
  expect(has(next, R"("kind":"socket","target":"socket:[)"), "descriptors");
}

// ---- metrics ----

/// Returns the value of the sample.
double value_of(const std::string& metrics, const std::string& sample) {
  const std::string line = between(metrics, "\n" + sample + " ", "\n");
  expect(!line.empty(), sample.c_str());
  return std::atof(line.c_str());
}

void metrics_are_for_prometheus() {
  const inspector here;
  const static_thread_pool pool{2};
  std::thread named([&] {
    ::pthread_setname_np(::pthread_self(), "a\"b\\c\nd\xff");
    const std::string answer = answer_to<tcp_client>(port_of(here), get("/metrics" + query_of(here)));
    expect(has(answer, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
           "the type of the format");
    const std::string metrics = answer.substr(answer.find("\r\n\r\n") + 4);
    const std::string wrong = error_in_metrics(metrics);
    expect(wrong.empty(), wrong.c_str());
    expect(has(metrics, R"(,name="a\"b\\c\nd?",scheduler=""} )"), "names are escaped");
    const std::string number = between(metrics, "coracle_pool_workers{pool=\"", "\"");
    const std::string workers = "coracle_pool_workers{pool=\"" + number + "\",state=";
    const double all = value_of(metrics, workers + "\"running\"}") +
                       value_of(metrics, workers + "\"searching\"}") +
                       value_of(metrics, workers + "\"parked\"}");
    expect(all == 2, "each worker has a state");
    expect(count(metrics, "scheduler=\"pool " + number + "\"") == 2, "two threads belong to the pool");
    expect(value_of(metrics, R"(coracle_coroutines_waiting{wait="waits to lock async_mutex"})") == 9,
           "nine wait for locks");
    expect(value_of(metrics, "coracle_deadlocks") == 2, "two deadlocks");
    expect(value_of(metrics, "coracle_coroutines_stuck") == 4, "all four are stuck");
    expect(value_of(metrics, R"(coracle_open_descriptors{kind="socket"})") >= 3, "the sockets of this test");
    expect(value_of(metrics, R"(coracle_timers{io_service=""})") == 3, "the sleeps and the timeout");
    expect(value_of(metrics, "coracle_shared_frame_bytes") == 0, "no thread has left frames to others");
    const std::string function = between(metrics, "coracle_coroutines{function=\"", "\"");
    const double bytes = value_of(metrics, "coracle_coroutine_frame_bytes{function=\"" + function + "\"}");
    expect(bytes >= 100 && bytes <= 10'000, "the size of a frame or some");
    expect(value_of(metrics, "coracle_coroutines{function=\"" + function + "\"}") >= 1, "coroutines");
  });
  named.join();
}

/// The memory of frames: of this thread, and of one that keeps five of a size that no coroutine here has.
void memory_of_frames() {
  const inspector here;
  const unsigned short port = port_of(here);
  constexpr std::size_t size = 1000;
  std::thread keeps([&] {
    reserve_frame_memory(size, 5);
    const std::string memory = answer_to<tcp_client>(port, get("/memory" + query_of(here)));
    expect(has(memory, R"({"schema":1,"threads_not_read":0,"sizes":[{"size":)"), "the keys of coracle-ps");
    expect(has(memory, R"({"size":1000,"live":0,"free_in_threads":5,"free_for_all":0})"),
           "another thread's frames");
    std::size_t live = 0;
    for (std::size_t at = 0; (at = memory.find("\"live\":", at)) != std::string::npos; ++at)
      live += static_cast<std::size_t>(std::atoi(memory.c_str() + at + std::strlen("\"live\":")));
    const std::string coroutines = answer_to<tcp_client>(port, get("/coroutines" + query_of(here)));
    expect(live == count(coroutines, "{\"frame\":\"0x"), "each coroutine has a frame");
    const std::string metrics = answer_to<tcp_client>(port, get("/metrics" + query_of(here)));
    const std::string labels = "{size=\"1000\",free_for=\"its_thread\"}";
    expect(value_of(metrics, "coracle_free_frames" + labels) == 5, "their number");
    expect(value_of(metrics, "coracle_free_frame_bytes" + labels) == 5 * size, "their bytes");
    const std::string used = "{size=\"" + between(metrics, "\ncoracle_live_frames{size=\"", "\"") + "\"}";
    expect(value_of(metrics, "coracle_live_frames" + used) >= 1, "frames in use");
    expect(value_of(metrics, "coracle_live_frame_bytes" + used) ==
               value_of(metrics, "coracle_live_frames" + used) *
                   std::atof(used.c_str() + std::strlen("{size=\"")),
           "and their bytes");
  });
  keeps.join();
  expect(!has(answer_to<tcp_client>(port, get("/memory" + query_of(here))), R"({"size":1000,)"),
         "a thread that has ended keeps nothing");
}

void a_trace_is_recorded() {
  const inspector here;
  const unsigned short port = port_of(here);
  for (const char* wrong : {"", "&seconds=0", "&seconds=61", "&seconds=1s", "&second=1"}) {
    const std::string path = std::string("/trace") + query_of(here) + wrong;
    expect(has(answer_to<tcp_client>(port, get(path)), " 400 "), "a trace has a length");
  }
  auto first = std::make_unique<tcp_client>(port);
  first->send(get("/trace" + query_of(here) + "&seconds=60"));
  // The older connection is served first.
  std::string second = answer_to<tcp_client>(port, get("/times" + query_of(here) + "&seconds=1"));
  expect(has(second, " 409 "), "one trace at a time");
  first.reset();
  do second = answer_to<tcp_client>(port, get("/times" + query_of(here) + "&seconds=1"));
  while (has(second, " 409 "));  // until the inspector has seen that the client is gone
  expect(has(second, "\r\n\r\ntrace of "), "a table");
  second = answer_to<tcp_client>(port, get("/trace" + query_of(here) + "&seconds=1"));
  expect(has(second, "\"traceEvents\":["), "a trace");
  tcp_client goes_on(port);
  goes_on.send(get("/times" + query_of(here) + "&seconds=1"));
  (void)answer_to<tcp_client>(port, get("/memory" + query_of(here)));  // after the older one
  goes_on.send("\r\n");
  expect(has(goes_on.read("task"), "\r\n\r\ntrace of "), "what comes after a request is ignored");
  expect(has(answer_to<tcp_client>(port, get("/long-turns" + query_of(here))), "\r\n\r\n[]\n"),
         "nothing has taken long");
}

std::string temporary_path() { return "/tmp/coracle_inspector_" + std::to_string(::getpid()); }

void at_a_path_this_user_needs_no_token() {
  const std::string path = temporary_path();
  {
    const inspector here("unix:" + path);
    expect(here.url() == "unix:" + path, "the path is the URL");
    struct stat file{};
    expect(::stat(path.c_str(), &file) == 0 && (file.st_mode & 0777) == 0600, "no other user may connect");
    check_coroutines(answer_to<unix_client>(path, get("/coroutines")));
    try {
      const inspector second("unix:" + path);
      expect(false, "the path is in use");
    } catch (const std::system_error& error) {
      expect(error.code() == std::errc::address_in_use && has(error.what(), path), "it says which path");
    }
    check_coroutines(answer_to<unix_client>(path, get("/coroutines")));
  }
  expect(::access(path.c_str(), F_OK) != 0, "the file is removed at the end");
  const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);  // by a program that was killed
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  expect(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
  ::close(left);
  const inspector here("unix:" + path);
  check_coroutines(answer_to<unix_client>(path, get("/coroutines")));
}

void places_where_it_cannot_listen() {
  const inspector here;
  const std::string taken = "127.0.0.1:" + std::to_string(port_of(here));
  try {
    const inspector second(taken);
    expect(false, "the port is in use");
  } catch (const std::system_error& error) {
    expect(error.code() == std::errc::address_in_use && has(error.what(), taken), "it says which port");
  }
  for (const char* wrong :
       {"", "here", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "localhost:1", "unix:", "[::1:1"}) {
    try {
      const inspector nowhere(wrong);
      expect(false, wrong);
    } catch (const std::invalid_argument& error) {
      expect(has(error.what(), "unix:PATH"), "it says what there is");
    }
  }
}

/// Its copies of the process are not seen by the program, and a child of the program ends by itself.
void children_are_left_alone() {
  const inspector here;
  check_coroutines(answer_to<tcp_client>(port_of(here), get("/coroutines" + query_of(here))));
  expect(::waitpid(-1, nullptr, __WALL | WNOHANG) == -1 && errno == ECHILD, "no child is left");
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    here.~inspector();
    ::_exit(0);
  }
  int status = -1;
  expect(::waitpid(child, &status, 0) == child && status == 0, "a forked child has no thread to join");
  check_coroutines(answer_to<tcp_client>(port_of(here), get("/coroutines" + query_of(here))));
}
}  // namespace

int main() {
  io_service io;
  auto ends = net::make_unix_pair(io);
  blocking_pool one_thread(1);
  async_scope calls;
  calls.spawn(call_and_wait(one_thread));
  calls.spawn(call_forever(one_thread));
  calls.spawn(call_forever(one_thread));
  auto polled = testing::poll(bank(io, ends));
  expect(!polled.run(), "it waits");
  call_runs.acquire();
  both_hold_one.set();
  expect(!polled.run(), "it is stuck");
  answers_who_has_the_token();
  others_learn_nothing();
  many_and_slow_ones_keep_nobody_out();
  events_are_pushed();
  metrics_are_for_prometheus();
  memory_of_frames();
  a_trace_is_recorded();
  at_a_path_this_user_needs_no_token();
  places_where_it_cannot_listen();
  children_are_left_alone();
  const int status = coracle_test::exit_status("inspector: everything as expected");
  std::fflush(stdout);
  ::_exit(status);  // the coroutines stay stuck
}
