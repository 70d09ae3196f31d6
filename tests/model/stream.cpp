// tests/model/stream.cpp -- what runs inside a pipeline, and ends while the pipeline is stopped.
// SPDX-License-Identifier: MIT
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>

#include "model_executor.hpp"
#include "model_waits.hpp"

namespace {
using coracle::task;
namespace streams = coracle::streams;
using namespace coracle_test;

coracle::async_generator<int> numbers(int to) {
  for (int i = 0; i != to; ++i) co_yield i;
}

/// Awaits the pipeline, stopped by `place`; then `at_end(how it ended)`.
template <class Pipeline, class Then>
detached_in_place run(const stoppable_place&, Pipeline all, Then at_end) {
  wait_end how = wait_end::carried_out;
  try {
    co_await std::move(all);
  } catch (const coracle::operation_cancelled&) {
    how = wait_end::cancelled;
  }
  at_end(how);
}
/// The same on an executor.
template <class Pipeline, class Then>
detached_in_place run(const stoppable_place&, model_executor& on, Pipeline all, Then at_end) {
  co_await on.schedule();
  try {
    co_await std::move(all);
  } catch (const coracle::operation_cancelled&) {
  }
  at_end();
}

/// The work on an element ends on this thread while another thread stops the pipeline, which joins the work
/// on every path.
void stop_against_end_of_work() {
  stoppable_place place;
  std::coroutine_handle<> handle;
  plain_int written = 0, taken = 0;
  wait_end end = wait_end::waits;
  const auto work = [&](int n) -> task<int> {
    co_await hand_out{handle};
    written = 7;
    co_return n;
  };
  const auto take = [&](int) { taken += 1; };
  run(place, numbers(1) | streams::map(work) | streams::buffered(2) | streams::for_each(take),
      [&](wait_end how) {
        model_expect(written == 7, "the work has ended, and what it did is seen");
        end = how;
      });
  model_thread stopper{[&] { place.request_stop(); }};
  coracle::resume(handle);
  stopper.join();
  model_expect(end != wait_end::waits, "the pipeline has ended");
  if (end == wait_end::carried_out) model_expect(taken == 1, "with the element");
}
/// The same where the pipeline belongs to an executor, and the work ends elsewhere.
void stop_against_end_elsewhere() {
  stoppable_place place;
  model_executor loop;
  std::coroutine_handle<> handle;
  plain_int written = 0;
  bool is_over = false, is_home = false;
  const auto work = [&](int n) -> task<int> {
    co_await hand_out{handle};
    written = 7;
    co_return n;
  };
  run(place, loop, numbers(1) | streams::map(work) | streams::buffered(2) | streams::for_each([](int) {}),
      [&] {
        model_expect(written == 7, "the work has ended, and what it did is seen");
        is_home = coracle::current_executor() == &loop;
        is_over = true;
      });
  loop.run_posted();
  model_thread stopper{[&] { place.request_stop(); }};
  coracle::resume(handle);
  stopper.join();
  while (!is_over) loop.run(1);
  model_expect(is_home, "it goes on where it suspended");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("stream: stop against the end of the work on an element", model_test::all,
            stop_against_end_of_work);
  run.check("stream: the same, from another executor", 3, stop_against_end_elsewhere);
  return run.finish();
}
