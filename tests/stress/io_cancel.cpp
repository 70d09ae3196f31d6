// tests/stress/io_cancel.cpp -- stop requests race with the completion of operations: no result is lost.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/io/io_service.hpp>
#include <thread>
#include <vector>

#include "../support/socket_pair.hpp"
#include "../support/stress.hpp"

namespace {
using coracle::io_service;
using coracle::operation_cancelled;
using coracle::stop_source;
using coracle::task;
using coracle_test::hold_up;
using coracle_test::io_descriptor;
using coracle_test::io_descriptor_kind;
using coracle_test::io_opcode;
using coracle_test::raw_operation;
using coracle_test::socket_pair;

struct tally {
  std::atomic<long long> completed{0};
  std::atomic<long long> cancelled{0};
  std::atomic<long long> wrong{0};

  [[nodiscard]] long long ended() const { return completed + cancelled; }
};

/// Possibly moves to the other thread, waits for a time that changes from round to round, and requests stop.
task<> stop_after(io_service& io, stop_source& source, int round) {
  for (int hops = round % 7; hops >= 0; --hops) co_await io.schedule();
  hold_up(round % 61 * 8);
  source.request_stop();
}

/// Runs `lane(io, number)` three times at once on two threads, for their races with each other's stops.
template <class Lane>
void on_two_threads(Lane lane) {
  io_service io;
  std::thread threads[2];
  for (std::thread& each : threads) {
    each = std::thread{[&] { io.process_events(); }};
  }
  const auto start = [&](int number) -> task<> {
    co_await io.schedule();
    co_await lane(io, number);
  };
  coracle::sync_wait(coracle::when_all(start(0), start(1), start(2)));
  io.stop();
  for (std::thread& each : threads) each.join();
}

/// Sends a byte and requests stop while a coroutine begins to wait for the byte, or waits.
void race_receive(int rounds, tally& seen) {
  on_two_threads([&](io_service& io, int) -> task<> {
    const socket_pair pair{io};
    for (int i = 0; i != rounds; ++i) {
      stop_source source;
      char byte = 0;
      bool received = false;
      const auto feed = [&]() -> task<> {
        const char sent = static_cast<char>(i);
        co_await io.schedule();
        hold_up(i % 53 * 8);
        co_await coracle_test::send(pair.first, &sent, 1);
      };
      const auto wait = [&]() -> task<> {
        try {
          if (i % 2) co_await io.schedule();
          received = co_await coracle_test::receive(pair.second, &byte, 1, source.get_token()) == 1;
        } catch (const operation_cancelled&) {
        }
      };
      if (i & 2) {
        co_await coracle::when_all(stop_after(io, source, i), feed(), wait());
      } else {
        co_await coracle::when_all(feed(), stop_after(io, source, i), wait());
      }
      ++(received ? seen.completed : seen.cancelled);
      if (!received) co_await coracle_test::receive(pair.second, &byte, 1);  // it has been sent: it is there
      if (byte != static_cast<char>(i)) ++seen.wrong;
    }
  });
}

/// Stops timers while they are set and while they fire.
void race_timer(int rounds, tally& seen) {
  on_two_threads([&](io_service& io, int lane) -> task<> {
    for (int i = 0; i != rounds; ++i) {
      stop_source source;
      const auto delay = [&](int longer) { return std::chrono::nanoseconds((i + lane) % 40 * 100 + longer); };
      const auto stop = [&]() -> task<> {
        if (i % 4) co_await io.schedule_after(delay(i % 31 * 20 - 300));
        co_await stop_after(io, source, 0);
      };
      const auto sleep = [&]() -> task<> {
        try {
          if (i % 8 == 0) co_await io.schedule();
          co_await io.schedule_after(delay(0), source.get_token());
          ++seen.completed;
        } catch (const operation_cancelled&) {
          ++seen.cancelled;
        }
        if (coracle::current_executor() != &io) ++seen.wrong;
      };
      co_await coracle::when_all(stop(), sleep());
    }
  });
}

/// Stops a write to a file before, while or after a thread takes it. The write takes effect exactly if it
/// succeeds.
void race_file(int rounds, tally& seen) {
  const int memory = ::memfd_create("coracle", MFD_CLOEXEC);
  if (memory < 0 || ::ftruncate(memory, 3 * rounds) != 0) ++seen.wrong;
  on_two_threads([&](io_service& io, int lane) -> task<> {
    const io_descriptor file{io, ::dup(memory), io_descriptor_kind::write_through_file};
    for (int i = 0; i != rounds; ++i) {
      stop_source source;
      bool written = false;
      const auto offset = static_cast<std::uint64_t>(lane * rounds + i);
      const auto write = [&]() -> task<> {
        try {
          co_await raw_operation(file, io_opcode::write_at, "x", 1, source.get_token(), offset);
          written = true;
        } catch (const operation_cancelled&) {
        }
      };
      co_await coracle::when_all(write(), stop_after(io, source, i));
      ++(written ? seen.completed : seen.cancelled);
      char found = 0;
      if (::pread(memory, &found, 1, static_cast<off_t>(offset)) != 1 || (found == 'x') != written)
        ++seen.wrong;
    }
  });
  ::close(memory);
}

/// A plain thread stops an operation that another awaits outside any executor: the callback runs during its
/// registration, during its deregistration and in between.
void race_plain_threads(int most, tally& seen) {
  io_service io;
  const socket_pair pair{io};
  std::vector<stop_source> sources(static_cast<std::size_t>(most));
  std::thread loop{[&] { io.process_events(); }};
  const auto wait = [&](std::size_t i) -> task<> {
    char byte = 0;
    try {
      co_await coracle_test::receive(pair.second, &byte, 1, sources[i].get_token());
      ++seen.wrong;
    } catch (const operation_cancelled&) {
      ++seen.cancelled;
    }
  };
  const int rounds = coracle_test::side_by_side(
      most, [&](int i) { coracle::sync_wait(wait(static_cast<std::size_t>(i))); },
      [&](int i) { sources[static_cast<std::size_t>(i)].request_stop(); });
  io.stop();
  loop.join();
  if (seen.cancelled != rounds) ++seen.wrong;
}
}  // namespace

int main(int argc, char** argv) {
  coracle_test::stress run("io_cancel", argc, argv, 50'000);
  const int count = run.int_count();
  tally receive, timer, file, plain;
  race_receive(count, receive);
  run.expect("receives", receive.ended(), 3LL * count);
  run.expect("bytes wrong", receive.wrong.load(), 0);
  race_timer(count, timer);
  run.expect("timers", timer.ended(), 3LL * count);
  run.expect("resumed elsewhere", timer.wrong.load(), 0);
  race_file(count / 4, file);
  run.expect("file writes", file.ended(), 3LL * (count / 4));
  run.expect("wrong", file.wrong.load(), 0);
  race_plain_threads(count, plain);
  run.expect("wrong between plain threads", plain.wrong.load(), 0);
  std::printf("cancelled: %lld receives, %lld timers, %lld file writes, %lld from plain threads\n",
              receive.cancelled.load(), timer.cancelled.load(), file.cancelled.load(),
              plain.cancelled.load());
  return run.finish();
}
