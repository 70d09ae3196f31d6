// tests/simulation/faults.cpp -- every cancellation, every failing operation, every failing allocation of a
// few programs: the error surfaces, nothing hangs, nothing is left behind.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/compose/with_scope.hpp>
#include <coracle/generators/async_generator.hpp>
#include <coracle/io/buffered_reader.hpp>
#include <coracle/io/write_only_file.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/streams/stream.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_semaphore.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulated_host.hpp>
#include <coracle/time/async_finally.hpp>
#include <coracle/time/hedge.hpp>
#include <coracle/time/rate_limiter.hpp>
#include <coracle/time/retry.hpp>
#include <coracle/time/timeout.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "world.hpp"

CORACLE_COUNT_ALLOCATIONS();

namespace {
using namespace std::chrono_literals;
using coracle_test::scenario_error;
using coracle_test::task;
using coracle_test::world;
namespace streams = coracle::streams;

/// A request to a remote service. It may fail.
task<int> ask(world& w, int question) {
  co_await coracle::sleep_for(w.a_while());
  if (w.sim.fails("ask")) throw scenario_error(question);
  co_return 2 * question;
}

/// Workers take jobs from a channel, send each as a request with a timeout and retries, and send the results
/// to a coroutine that adds them up.
void crawler(coracle_test::simulation& sim) {
  world w{sim};
  coracle::channel<int> jobs{2}, results{0};
  int sum = 0, working = 3;
  const auto work = [&]() -> task<> {
    for (bool more = true; more;) {
      const auto job = co_await jobs.recv();
      more = job.has_value();
      if (!more) break;
      const auto attempt = [&] { return coracle::timeout(ask(w, *job), 5us); };
      const coracle::retry_policy policy{
          .max_attempts = 20, .first_delay = 1us, .max_delay = 4us, .seed = sim.seed()};
      const int answer = co_await coracle::retry(policy, attempt);
      co_await results.send(answer);
    }
    if (--working == 0) results.close();
  };
  const auto add_up = [&]() -> task<> {
    for (bool more = true; more;) {
      const auto result = co_await results.recv();
      more = result.has_value();
      if (more) sum += *result;
    }
  };
  const auto body = [&](coracle::async_scope& scope) -> task<> {
    for (int i = 0; i != 3; ++i) scope.spawn(w.place(), work());
    scope.spawn(w.place(), add_up());
    for (int job = 1; job <= 6; ++job) co_await jobs.send(job);
    jobs.close();
  };
  sim.run(coracle::with_scope(body));
  sim.expect(sum == 42, "each job is done once");
}

/// Many coroutines request the same key, limited by a lock, a semaphore and a rate; slow requests are hedged.
void shared_requests(coracle_test::simulation& sim) {
  world w{sim};
  coracle::single_flight<int, int> flights;
  coracle::rate_limiter limiter{1, 2us, 2};
  coracle::async_semaphore permits{2};
  coracle::async_mutex mutex;
  int answered = 0;
  const auto one = [&](int question) -> task<> {
    co_await limiter.acquire();
    const auto permit = co_await permits.scoped_acquire();
    const auto attempt = [&w, question] { return ask(w, question); };
    const auto hedged = [attempt] { return coracle::hedge(3us, attempt); };
    const int answer = co_await flights.run(question, hedged);
    const auto lock = co_await mutex.scoped_lock_async();
    co_await w.pause();
    answered += answer == 2 * question ? 1 : 0;
  };
  const auto all = [&]() -> task<> {
    co_await coracle::when_all(coracle::schedule_on(one(1), w.place()),
                               coracle::schedule_on(one(1), w.place()),
                               coracle::schedule_on(one(2), w.place()));
  };
  sim.run(all());
  sim.expect(answered == 3, "all are answered");
}

coracle::async_generator<int> questions(world& w) {
  for (int i = 1; i != 6; ++i) {
    co_await w.pause();
    co_yield i;
  }
}
/// A pipeline that requests ahead, raced against a timeout that never expires.
void pipeline(coracle_test::simulation& sim) {
  world w{sim};
  int sum = 0;
  const auto question = [&](int number) { return ask(w, number); };
  const auto add = [&](int answer) { sum += answer; };
  const auto all = [&]() -> task<> {
    auto pipe = questions(w) | streams::map(question) | streams::buffered(2) | streams::for_each(add);
    const auto first = co_await coracle::when_any(std::move(pipe), coracle::sleep_for(1s));
    sim.expect(first.index() == 0, "it ends in time");
  };
  sim.run(all());
  sim.expect(sum == 30, "each question is answered");
}

/// A request, its reply, and a write to a file: any error surfaces.
task<> exchange(coracle::io_service& io, bool& answered) {
  coracle::net::socket listener = coracle::net::socket::create_tcpv4(io);
  listener.bind(coracle::net::ipv4_endpoint{coracle::net::ipv4_address::loopback(), 7});
  listener.listen();
  const coracle::net::ip_endpoint address = listener.local_endpoint();
  const auto serve = [&]() -> task<> {
    coracle::net::socket client = co_await listener.accept();
    char byte = 0;
    co_await client.recv(&byte, 1);
    co_await client.send(&byte, 1);
  };
  const auto ask = [&]() -> task<> {
    coracle::net::socket connection = coracle::net::socket::create_tcpv4(io);
    co_await connection.connect(address);
    co_await connection.send("x", 1);
    char byte = 0;
    co_await connection.recv(&byte, 1);
    auto file = coracle::write_only_file::open(io, "answer");
    co_await file.write(0, &byte, 1);
    co_await file.sync();
    answered = byte == 'x';
  };
  co_await coracle::when_all(serve(), ask());
}
void network_and_file(coracle_test::simulation& sim) {
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host host{network, "10.0.0.1"};
  bool answered = false;
  std::exception_ptr error;
  try {
    sim.run(exchange(host.io(), answered));
  } catch (...) {
    error = std::current_exception();
  }
  sim.expect(host.open_descriptors() == 0, "whatever fails, everything is closed");
  if (error) std::rethrow_exception(error);
  sim.expect(answered && host.disk().contents("answer") == "x", "where nothing failed, all is done");
}

task<> answer_lines(coracle::net::socket client) {
  coracle::buffered_reader lines{client, 64};
  for (;;) {
    const auto line = co_await coracle::timeout(lines.read_line(), 10s);
    if (!line) break;
    const std::string answer = "you said " + std::string(*line) + "\n";
    co_await client.send_all(answer);
  }
}
task<std::string> ask_line(coracle::io_service& io, coracle::net::ip_endpoint server) {
  const std::vector<coracle::net::ip_endpoint> both{server, server};
  coracle::net::socket connection = co_await coracle::net::connect(io, both);
  co_await connection.send_all("hello\n");
  coracle::buffered_reader lines{connection, 64};
  const auto line = co_await lines.read_line();
  if (!line) throw scenario_error(0);
  co_return std::string(*line);
}
/// A server whose clients try again until they have an answer: after one failure it must serve the others.
void server(coracle_test::simulation& sim) {
  coracle::testing::simulated_network network{sim};
  coracle::testing::simulated_host here{network, "10.0.0.1"}, there{network, "10.0.0.2"};
  int answered = 0;
  const auto all = [&]() -> task<> {
    coracle::net::socket listener = coracle::net::socket::create_tcpv4(here.io());
    listener.bind(coracle::net::ip_endpoint{here.address(), 80});
    listener.listen();
    const auto client = [&]() -> task<> {
      const auto attempt = [&] {
        return coracle::timeout(ask_line(there.io(), listener.local_endpoint()), 5s);
      };
      const coracle::retry_policy policy{.max_attempts = 5, .first_delay = 1ms, .seed = sim.seed()};
      const std::string answer = co_await coracle::retry(policy, attempt);
      answered += answer == "you said hello" ? 1 : 0;
    };
    const auto clients = [&]() -> task<> { co_await coracle::when_all(client, client); };
    const coracle::net::serve_limits limits{.connections = 2, .drain = 1s};
    co_await coracle::when_any(coracle::net::serve(listener, answer_lines, limits), clients);
  };
  std::exception_ptr error;
  try {
    sim.run(all());
  } catch (...) {
    error = std::current_exception();
  }
  sim.expect(here.open_descriptors() + there.open_descriptors() == 0, "whatever fails, everything is closed");
  if (error) std::rethrow_exception(error);
  sim.expect(answered == 2, "all are answered");
}

/// Work below scopes and a race, followed by a clean-up. Once begun, the clean-up completes whatever fails;
/// and if nothing fails, all spawned work has ended.
void clean_up(coracle_test::simulation& sim) {
  world w{sim};
  const auto start = sim.now();
  bool began = false, cleaned = false;
  const auto clean = [&]() -> task<> {
    began = true;
    coracle::trim_frame_memory();  // where some is left nothing fails
    co_await coracle::sleep_for(w.a_while());
    co_await sim.schedule();
    cleaned = true;
  };
  const auto body = [&](coracle::async_scope& scope) -> task<> {
    scope.spawn(coracle::sleep_for(9us));
    scope.spawn(coracle::sleep_for(w.a_while()));
    co_await coracle::shielded(w.pause());
  };
  const auto both = [&]() -> task<> {
    co_await coracle::async_finally(coracle::with_scope(body), clean, 1s);
  };
  std::exception_ptr error;
  try {
    sim.run(coracle::when_all(both(), ask(w, 1)));
  } catch (...) {
    error = std::current_exception();
  }
  sim.expect(began == cleaned, "a clean-up that has begun is not cut short");
  if (error) std::rethrow_exception(error);
  sim.expect(cleaned && sim.now() - start >= 9us, "without an error all has ended");
}

struct scenario {
  const char* name;
  void (*run)(coracle_test::simulation&);
};
constexpr scenario scenarios[] = {{"crawler", crawler},   {"shared requests", shared_requests},
                                  {"pipeline", pipeline}, {"network and file", network_and_file},
                                  {"server", server},     {"clean-up", clean_up}};
}  // namespace

/// program [SEEDS [FIRST]]: runs one in 20 of the seeds, since each stands for some hundred runs.
int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) / 20 + 1 : 20;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::uint64_t runs = 0;
  try {
    for (const scenario& each : scenarios) {
      coracle::testing::fault_counts all;
      for (std::uint64_t seed = first; seed != first + seeds; ++seed) {
        const auto counts = coracle::testing::for_every_fault(seed, each.run);
        all.cancellations += counts.cancellations;
        all.operations += counts.operations;
        all.allocations += counts.allocations;
        all.hash = coracle::testing::random_source::mix(all.hash + counts.hash);
      }
      std::printf(
          "%s: %llu seeds, %llu cancellations, %llu failing operations, %llu failing allocations, hash "
          "%016llx\n",
          each.name, static_cast<unsigned long long>(seeds),
          static_cast<unsigned long long>(all.cancellations), static_cast<unsigned long long>(all.operations),
          static_cast<unsigned long long>(all.allocations), static_cast<unsigned long long>(all.hash));
      runs += seeds + all.cancellations + all.operations + all.allocations;
      if (all.cancellations == 0 || all.operations == 0) return EXIT_FAILURE;
    }
  } catch (const coracle::testing::simulation_failure& failure) {
    std::fprintf(stderr, "FAILED: %s", failure.what());
    return EXIT_FAILURE;
  }
  std::printf("in all %llu runs with one fault or none\n", static_cast<unsigned long long>(runs));
}
