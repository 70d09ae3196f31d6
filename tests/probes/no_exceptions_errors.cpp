// tests/probes/no_exceptions_errors.cpp -- compiled with -fno-exceptions: an error ends the tasks up to where
// it is taken.
// SPDX-License-Identifier: MIT
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <coracle/coracle.hpp>
#include <coracle/io.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support/abort_message.hpp"
#include "../support/expect.hpp"

namespace {
using coracle::as_io_result;
using coracle::as_outcome;
using coracle::async_scope;
using coracle::buffered_reader;
using coracle::buffered_writer;
using coracle::error_code_of;
using coracle::io_service;
using coracle::outcome;
using coracle::sleep_for;
using coracle::task;
using coracle_test::expect;
using connection = coracle::net::socket;
using namespace std::chrono_literals;

constexpr char missing[] = "/no/such/file";
constexpr std::errc is_missing = std::errc::no_such_file_or_directory;

// ---- what has been destroyed, and in which order

int destroyed = 0;
class counts_its_end {
 public:
  explicit counts_its_end(int expected) noexcept : expected_(expected) {}
  counts_its_end(const counts_its_end&) = delete;
  ~counts_its_end() {
    expect(destroyed == expected_, "the innermost task is destroyed first");
    ++destroyed;
  }

 private:
  const int expected_;
};

// ---- connections

connection listening(io_service& io) {
  connection listener = connection::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 0});
  listener.listen();
  return listener;
}
struct pair {
  connection ours, theirs;
};
task<pair> connected(io_service& io) {
  connection listener = listening(io);
  connection client = connection::create_tcpv4(io);
  auto [accepted, done] =
      co_await coracle::when_all(listener.accept(), client.connect(listener.local_endpoint()));
  co_return pair{std::move(accepted), std::move(client)};
}
/// Closes it so that the other end fails with ECONNRESET.
void reset(connection gone) {
  const ::linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(gone.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

// ---- a chain of tasks

constexpr int depth = 1000;
template <class Failing>
task<int> fail_below(Failing& failing, int left) {
  const counts_its_end local(left);
  if (left != 0) {
    co_await fail_below(failing, left - 1);
  } else {
    static_cast<void>(co_await failing());
  }
  expect(false, "a task goes on after an error");
  co_return 1;
}
/// Ends a chain of tasks of which the last awaits `failing()`.
template <class Failing>
task<> expect_chain_to_fail(const char* what, std::errc code, Failing failing) {
  destroyed = 0;
  const outcome<int> end = co_await as_outcome(fail_below(failing, depth));
  expect(end.has_error() && error_code_of(end.error()) == code && destroyed == depth + 1, what);
}

task<> chains(io_service& io) {
  co_await expect_chain_to_fail("an operation that fails", is_missing,
                                [&] { return coracle::filesystem::open_read_only(io, missing); });
  co_await expect_chain_to_fail("an error that the library finds", std::errc::is_a_directory,
                                [&] { return coracle::filesystem::open_read_only(io, "/"); });
  co_await expect_chain_to_fail("a task of the library that fails", is_missing,
                                [&] { return coracle::filesystem::read_file(io, missing); });
  pair ends = co_await connected(io);
  std::array<char, 8> room;
  const auto receive = [&] { return ends.ours.recv(room.data(), room.size()); };
  const auto hang_up = [&]() -> task<> {
    co_await sleep_for(1ms);
    reset(std::move(ends.theirs));
  };
  co_await coracle::when_all(
      expect_chain_to_fail("an operation that waits and fails", std::errc::connection_reset, receive),
      hang_up());
}

// ---- combinators

coracle::async_generator<int> numbers() {
  for (int n = 0;; ++n) co_yield n;
}
/// Awaits `work()` in a task, which its error is to end.
template <class Work>
task<> expect_missing(const char* what, Work work) {
  const auto plain = [&]() -> task<> {
    static_cast<void>(co_await work());
    expect(false, what);
  };
  const outcome<void> end = co_await as_outcome(plain());
  expect(end.has_error() && error_code_of(end.error()) == is_missing, what);
}
task<> combinators(io_service& io) {
  const auto fails = [&io]() -> task<> {
    static_cast<void>(co_await coracle::filesystem::read_file(io, missing));
    expect(false, "a task goes on after an error");
  };
  const auto waits = []() -> task<> { co_await sleep_for(1h); };
  const auto gives = [](int n) -> task<int> { co_return n; };
  const auto fails_for = [&](int) { return fails(); };
  const std::vector<int> three{1, 2, 3};
  coracle::static_thread_pool pool(1);
  const auto in_scope = [&](async_scope& scope) -> task<> {
    scope.spawn(fails());
    co_await waits();
  };
  const auto by_future = [&](async_scope& scope) -> task<> {
    auto future = scope.spawn_future(fails());
    co_await std::move(future);
    expect(false, "a task goes on after the error of a future");
  };
  const auto by_body = [&](async_scope&) -> task<> { co_await fails(); };
  const auto joins = [&]() -> task<> {
    async_scope scope;
    scope.spawn(fails());
    co_await scope.join();
  };
  co_await expect_missing("when_all()", [&] { return coracle::when_all(fails(), waits()); });
  co_await expect_missing("when_any()", [&] { return coracle::when_any(fails(), waits()); });
  co_await expect_missing("fork_join()", [&] { return coracle::fork_join(fails(), gives(1)); });
  co_await expect_missing("as_optional()", [&] { return coracle::as_optional(fails()); });
  co_await expect_missing("throwing()", [&] { return coracle::throwing(fails()); });
  co_await expect_missing("fmap()", [&] { return coracle::fmap(fails(), [] { return 1; }); });
  co_await expect_missing("timeout()", [&] { return coracle::timeout(fails(), 1h); });
  co_await expect_missing("with_scope()", [&] { return coracle::with_scope(in_scope); });
  co_await expect_missing("the body of with_scope()", [&] { return coracle::with_scope(by_body); });
  co_await expect_missing("a scope_future", [&] { return coracle::with_scope(by_future); });
  co_await expect_missing("join()", joins);
  co_await expect_missing("via()", [&] { return coracle::via(fails(), pool); });
  co_await io.schedule();  // the pool must not be destroyed on its own thread
  co_await expect_missing("resume_on()", [&] { return coracle::resume_on(fails(), pool); });
  co_await io.schedule();
  co_await expect_missing("for_each_concurrent()",
                          [&] { return coracle::for_each_concurrent(three, 2, fails_for); });
  co_await expect_missing("retry()", [&] {
    return coracle::retry({.max_attempts = 2, .first_delay = 1us, .max_delay = 1us}, fails);
  });
  co_await expect_missing("hedge()", [&] { return coracle::hedge(1h, fails); });
}

namespace streams = coracle::streams;
task<> streams_that_fail(io_service& io) {
  const auto fails_at_two = [&io](int n) -> task<int> {
    if (n == 2) static_cast<void>(co_await coracle::filesystem::read_file(io, missing));
    co_return n;
  };
  const auto ignore = [](const auto&) {};
  const auto ahead = [&] { return numbers() | streams::map(fails_at_two) | streams::buffered(2); };
  co_await expect_missing("for_each()", [&] {
    const auto await_it = [&](int n) -> task<> { static_cast<void>(co_await fails_at_two(n)); };
    return numbers() | streams::for_each(await_it);
  });
  co_await expect_missing("buffered()", [&] { return ahead() | streams::for_each(ignore); });
  co_await expect_missing("buffered() of buffered()",
                          [&] { return ahead() | streams::buffered(2) | streams::for_each(ignore); });
  co_await expect_missing("chunk()", [&] { return ahead() | streams::chunk(4) | streams::for_each(ignore); });
  co_await expect_missing("merge()", [&] {
    return streams::merge(ahead(), numbers() | streams::take(1)) | streams::for_each(ignore);
  });
  co_await expect_missing("zip()",
                          [&] { return streams::zip(ahead(), numbers()) | streams::for_each(ignore); });
  co_await expect_missing("throttle()",
                          [&] { return ahead() | streams::throttle(1us) | streams::for_each(ignore); });
  co_await expect_missing("timeout_each()",
                          [&] { return ahead() | streams::timeout_each(1h) | streams::for_each(ignore); });
  const auto walk = [&] { return coracle::filesystem::walk_directory(io, missing); };
  co_await expect_missing("a directory that is walked", [&] { return walk() | streams::for_each(ignore); });
  co_await expect_missing("two of them",
                          [&] { return streams::merge(walk(), walk()) | streams::for_each(ignore); });
  const std::vector<int> first_two = co_await (ahead() | streams::take(2) | streams::collect());
  expect(first_two == std::vector<int>{0, 1}, "elements before the error are passed on");

  const auto waits = [](int) -> task<> { co_await coracle::stop_after(sleep_for(1h), 1us); };
  const outcome<void> stopped =
      co_await as_outcome(numbers() | streams::map(waits) | streams::buffered(2) | streams::for_each(ignore));
  expect(stopped.reason() == coracle::stop_reason::timed_out, "an element that was stopped ends a stream");
}

/// Tasks that were awaited by when_ready(), so that they have ended when their results are taken.
task<> tasks_that_have_ended(io_service& io) {
  const auto fails = [&io]() -> task<int> {
    const std::string text = co_await coracle::filesystem::read_file(io, missing);
    co_return static_cast<int>(text.size());
  };
  const auto await_again = [&]() -> task<> {
    task<int> failed = fails();
    co_await failed.when_ready();
    co_await failed.when_ready();
    static_cast<void>(co_await std::move(failed));
    expect(false, "a task goes on after a failed one");
  };
  co_await expect_missing("a task that has failed", await_again);
  const auto await_around = [&]() -> task<> {
    task<int> failed = fails();
    co_await failed.when_ready();
    static_cast<void>(co_await coracle::fmap(std::move(failed), [](int n) { return n; }));
    expect(false, "a task goes on after a failed one");
  };
  co_await expect_missing("fmap() of a task that has failed", await_around);
  const auto await_together = [&]() -> task<> {
    task<int> failed = fails();
    co_await failed.when_ready();
    co_await coracle::when_all(std::move(failed), sleep_for(1h));
    expect(false, "a task goes on after a failed one");
  };
  co_await expect_missing("when_all() of a task that has failed", await_together);
  const auto await_stopped = [&]() -> task<> {
    const auto waits = []() -> task<int> {
      co_await sleep_for(1h);
      co_return 1;
    };
    task<int> stopped = waits();
    co_await coracle::stop_after(stopped.when_ready(), 1ms);
    static_cast<void>(co_await std::move(stopped));
    expect(false, "a task goes on after one that was stopped");
  };
  const outcome<void> end = co_await as_outcome(await_stopped());
  expect(end.reason() == coracle::stop_reason::timed_out,
         "a task that was stopped ends the one that awaits it");
}

task<> an_error_that_is_taken(io_service& io) {
  const auto takes_it = [&](async_scope& scope) -> task<> {
    auto future = scope.spawn_future(coracle::filesystem::read_file(io, missing));
    const auto end = co_await as_outcome(std::move(future));
    expect(error_code_of(end.error()) == is_missing, "a scope_future has the error of its task");
  };
  const outcome<void> scope = co_await as_outcome(coracle::with_scope(takes_it));
  expect(scope.has_value(), "an error that was taken from a scope_future does not end the scope");
}

// ---- clean-up and retries

task<> attempts_and_clean_up(io_service& io) {
  const auto fails = [&io]() -> task<> {
    static_cast<void>(co_await coracle::filesystem::read_file(io, missing));
  };
  int attempts = 0, cleaned = 0;
  const auto third_time = [&]() -> task<int> {
    if (++attempts != 3) co_await fails();
    co_return attempts;
  };
  const int made = co_await coracle::retry({.first_delay = 1us, .max_delay = 1us}, third_time);
  expect(made == 3 && attempts == 3, "retry() succeeds with the third attempt");

  const auto clean = [&]() -> task<> {
    ++cleaned;
    co_return;
  };
  const auto failed = co_await as_io_result(coracle::async_finally(fails(), clean, 1h));
  expect(failed.error() == is_missing && cleaned == 1, "async_finally() cleans up after an error");
  const auto unclean = co_await as_io_result(coracle::async_finally(clean(), fails, 1h));
  expect(unclean.error() == is_missing && cleaned == 2, "an error of the clean-up counts");
  const auto forever = []() -> task<> { co_await sleep_for(1h); };
  const auto stopped =
      co_await as_outcome(coracle::stop_after(coracle::async_finally(forever(), clean, 1h), 1ms));
  expect(stopped.reason() == coracle::stop_reason::timed_out && cleaned == 3,
         "async_finally() cleans up after a stop request");
}

// ---- buffered streams, and a server

task<> buffered_streams(io_service& io) {
  pair ends = co_await connected(io);
  buffered_reader reader{ends.ours};
  co_await ends.theirs.send_all("one\ntwo\nthr");
  const auto first = co_await as_io_result(reader.read_line());
  expect(first && *first == "one", "a line is read");
  const auto second = co_await as_io_result(reader.read_until("\n"));
  expect(second && *second == "two\n", "so is the next");
  reset(std::move(ends.theirs));
  const auto third = co_await as_io_result(reader.read_line());
  expect(third.error() == std::errc::connection_reset, "as_io_result() has the error of a buffered_reader");

  pair others = co_await connected(io);
  buffered_writer writer{others.ours, 4};
  reset(std::move(others.theirs));
  const auto write = [&]() -> task<> {
    for (;;) co_await writer.write("many letters");
  };
  const auto written = co_await as_io_result(write());
  expect(written.error() == std::errc::connection_reset || written.error() == std::errc::broken_pipe,
         "and that of a buffered_writer");

  pair short_ones = co_await connected(io);
  buffered_reader small{short_ones.ours, 4};
  co_await short_ones.theirs.send_all("no line");
  const auto too_long = co_await as_io_result(small.read_until("\n"));
  expect(too_long.error() == std::errc::message_size, "a line that is too long is an error");
  short_ones.theirs.close_send();
  std::array<char, 100> room;
  const auto too_short = co_await as_io_result(small.read_exactly(room.data(), room.size()));
  expect(too_short.error() == std::errc{ENODATA}, "so is a stream that is too short");
}

task<> serve_clients(io_service& io) {
  connection listener = listening(io);
  const auto where = listener.local_endpoint();
  int failed = 0, ended = 0;
  const auto echo_lines = [&](connection client) -> task<> {
    buffered_reader lines{client};
    while (const auto line = co_await lines.read_line()) {
      co_await client.send_all(*line);
      co_await client.send_all("\n");
    }
    ++ended;
  };
  const auto on_error = [&](const std::exception_ptr& error) {
    if (error_code_of(error) == std::errc::connection_reset) ++failed;
  };
  const auto ask = [&](bool resets) -> task<> {
    connection mine = connection::create_tcpv4(io);
    co_await mine.connect(where);
    co_await mine.send_all("question\n");
    std::array<char, 9> answer;
    co_await mine.recv_exactly(answer.data(), answer.size());
    expect(std::string_view(answer.data(), answer.size()) == "question\n", "the server answers");
    if (resets) reset(std::move(mine));
  };
  const auto all = [&]() -> task<> {
    co_await ask(true);
    co_await ask(false);
    while (failed + ended != 2) co_await sleep_for(1ms);
  };
  const auto first =
      co_await coracle::when_any(all(), coracle::net::serve(listener, echo_lines, {}, on_error));
  expect(first.index() == 0 && failed == 1 && ended == 1, "a server outlives a client that fails");

  connection deaf = connection::create_tcpv4(io);
  const auto served = co_await as_io_result(coracle::net::serve(deaf, echo_lines));
  expect(served.error() == std::errc::invalid_argument, "serve() fails with its listener");
  const auto accepted = co_await as_io_result(coracle::net::accept_with_backoff(deaf));
  expect(accepted.error() == std::errc::invalid_argument, "so does accept_with_backoff()");
}

// ---- channels, and operations of a callback API

task<> send_into_a_closed_channel() {
  coracle::channel<int> closed{1};
  closed.close();
  co_await closed.send(1);
  expect(false, "a task goes on after it sent into a closed channel");
}
task<> send_until_a_channel_is_closed() {
  coracle::channel<int> full{1};
  co_await full.send(1);
  const auto send_more = [&]() -> task<> { co_await full.send(2); };
  const auto close_it = [&]() -> task<> {
    full.close();
    co_return;
  };
  co_await coracle::when_all(send_more(), close_it());
}
task<> receive_what_was_overwritten() {
  coracle::broadcast<int> numbers{2};
  auto slow = numbers.subscribe();
  const auto receive = [&]() -> task<int> {
    const auto number = co_await slow.recv();
    co_return number.value_or(0);
  };
  for (int n = 1; n <= 5; ++n) numbers.send(n);
  const auto lost = co_await as_outcome(receive());
  const auto fourth = co_await as_outcome(receive());
  expect(lost.has_error() && fourth.has_value(), "a subscriber continues with the oldest value that is left");
  for (int n = 6; n <= 9; ++n) numbers.send(n);
  static_cast<void>(co_await slow.recv());
}
task<> receive_what_nobody_sends() {
  auto [sender, receiver] = coracle::oneshot<int>();
  static_cast<void>(coracle::oneshot_sender<int>{std::move(sender)});
  static_cast<void>(co_await receiver.recv());
}
task<> await_a_dropped_completion() {
  static_cast<void>(co_await coracle::from_callback<int>([](coracle::completion<int>) {}));
}
task<> await_an_error_that_is_null() {
  static_cast<void>(co_await coracle::from_callback<int>(
      [](coracle::completion<int> done) { done.fail(std::make_exception_ptr(1)); }));
}

/// In one task, `work()` is to end with an error; in another program, with that in its last words.
template <task<> (*work)()>
void expect_error(const char* text) {
  expect(coracle::sync_wait(as_outcome(work())).has_error(), text);
  const std::string last_words = coracle_test::abort_message([] { coracle::sync_wait(work()); });
  expect(last_words.find(text) != std::string::npos, text);
}
void channels_and_callbacks() {
  expect_error<send_into_a_closed_channel>("a value was sent into a closed channel");
  expect_error<send_until_a_channel_is_closed>("a value was sent into a closed channel");
  expect_error<receive_what_was_overwritten>("a subscriber of a broadcast was too slow");
  expect_error<receive_what_nobody_sends>("a oneshot has no value");
  expect_error<await_a_dropped_completion>("an operation of from_callback dropped its completion");
  expect_error<await_an_error_that_is_null>(
      "its error is a null exception_ptr: let the result be an expected");
}
task<> failing_callbacks(io_service& io) {
  const outcome<std::string> missing_file = co_await as_outcome(coracle::filesystem::read_file(io, missing));
  const auto fails = [&](coracle::completion<int> done) { done.fail(missing_file.error()); };
  const auto failed = co_await as_io_result(coracle::from_callback<int>(fails));
  expect(failed.error() == is_missing, "an operation of a callback API fails");
}

// ---- stop requests, and errors that nobody takes

task<> stop_requests() {
  coracle::stop_source source;
  source.request_stop(coracle::stop_reason::shutting_down);
  const auto computes = []() -> task<> {
    co_await coracle::this_task::throw_if_stopped();
    expect(false, "a task goes on after a stop request");
  };
  const auto end = co_await as_outcome(coracle::with_stop(computes(), source.get_token()));
  expect(end.reason() == coracle::stop_reason::shutting_down, "throw_if_stopped() ends a task");

  coracle::static_thread_pool pool(1);
  const auto never = []() -> task<> {
    expect(false, "work is started after a stop request");
    co_return;
  };
  const auto spawns = [&](async_scope& scope) -> task<> {
    scope.request_stop(coracle::stop_reason::shutting_down);
    scope.spawn(pool, never());
    co_return;
  };
  const auto scope = co_await as_outcome(coracle::with_scope(spawns));
  expect(scope.has_value(), "work that was to be spawned on a pool is stopped");
  coracle::rate_limiter limiter{1, 1h};
  const auto acquires = [&]() -> task<> {
    co_await limiter.acquire();
    expect(false, "a task goes on after a stop request");
  };
  const auto limited = co_await as_outcome(coracle::with_stop(acquires(), source.get_token()));
  expect(limited.reason() == coracle::stop_reason::shutting_down, "acquire() ends a task");
}
task<> a_stop_request_before_a_turn() {
  coracle::round_robin_scheduler<2> ring;
  coracle::stop_source source;
  const auto takes_a_turn = [&]() -> task<> {
    co_await ring.schedule();
    expect(false, "a task goes on after a stop request");
  };
  const auto in_scope = [&](async_scope& scope) -> task<> {
    scope.spawn(coracle::with_stop(takes_a_turn(), source.get_token()));
    source.request_stop();
    ring.drain();
    co_return;
  };
  const auto end = co_await as_outcome(coracle::with_scope(in_scope));
  expect(end.has_value(), "the wait for a turn ends a task");
}
void an_operation_whose_error_nobody_takes() {
  const std::string last_words = coracle_test::abort_message([] {
    io_service io;
    const auto open = [&]() -> task<> {
      static_cast<void>(co_await coracle::filesystem::open_read_only(io, missing));
    };
    io.run(open());
  });
  expect(
      last_words.find("(cannot open /no/such/file: No such file or directory): put as_outcome() around it") !=
          std::string::npos,
      "the program's last words have the error");
}

// ---- every operation of the library knows its error

template <class... Operations>
bool know_their_errors() {
  return ((&coracle::detail::io_failure_of<Operations> != nullptr) && ...);
}
bool all_operations_know_their_errors() {
  namespace net = coracle::net;
  namespace fs = coracle::filesystem;
  return know_their_errors<
      coracle::file_read_operation, coracle::file_write_operation, coracle::file_sync_operation,
      coracle::stream_read_operation, coracle::stream_write_operation, coracle::stream_wait_operation,
      coracle::signal_wait_operation, coracle::process_wait_operation, fs::change_operation,
      fs::status_operation, fs::exists_operation, fs::open_operation<coracle::read_only_file>,
      fs::open_operation<coracle::write_only_file>, fs::open_operation<coracle::read_write_file>,
      fs::open_operation<coracle::directory>, net::socket_connect_operation, net::socket_accept_new_operation,
      net::socket_accept_on_operation, net::socket_accept_operation, net::socket_send_operation,
      net::socket_send_to_operation, net::socket_recv_operation, net::socket_recv_from_operation,
      net::unix_connect_operation, net::unix_accept_operation, net::unix_send_message_operation,
      net::unix_recv_message_operation, net::recv_batch_operation, net::send_batch_operation,
      net::recv_segments_operation, net::send_segments_operation, net::detail::send_file_operation>();
}
}  // namespace

int main() {
  expect(!CORACLE_EXCEPTIONS(), "the program is compiled with -fno-exceptions");
  expect(all_operations_know_their_errors(), "operations know their errors");
  {
    io_service io;
    io.run(chains(io));
    io.run(combinators(io));
    io.run(streams_that_fail(io));
    io.run(tasks_that_have_ended(io));
    io.run(an_error_that_is_taken(io));
    io.run(attempts_and_clean_up(io));
    io.run(buffered_streams(io));
    io.run(serve_clients(io));
    io.run(failing_callbacks(io));
  }
  channels_and_callbacks();
  coracle::sync_wait(stop_requests());
  coracle::sync_wait(a_stop_request_before_a_turn());
  an_operation_whose_error_nobody_takes();
  return coracle_test::exit_status("an error ends the tasks up to where it is taken");
}
