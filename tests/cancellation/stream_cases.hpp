// tests/cancellation/stream_cases.hpp -- pipelines with various sources and stages.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/generators/async_generator.hpp>
#include <coracle/streams/buffered.hpp>
#include <coracle/streams/ends.hpp>
#include <coracle/streams/merge.hpp>
#include <coracle/streams/stages.hpp>
#include <coracle/streams/time.hpp>

#include "cancellation_case.hpp"

namespace coracle_test {
namespace streams = coracle::streams;

/// `Pipeline` makes of a channel a pipeline that takes one element and counts it. Where nothing runs ahead,
/// an element is given to the pipeline's end or stays in the channel; also if stop is requested before the
/// pipeline ends.
template <class Pipeline, bool RunsAhead = false>
class stream_case final : public cancellation_case {
  coracle::task<> operation() override { co_await Pipeline::make(numbers_, seen_); }
  void complete() override { static_cast<void>(numbers_.try_send(7)); }
  bool intact(bool carried_out, bool completed) override {
    if (carried_out && seen_ != 7) return false;
    const int left = numbers_.try_recv().value_or(0);
    const int sent = completed ? 7 : 0;
    return seen_ + left == sent || (RunsAhead && seen_ + left == 0);
  }

  coracle::channel<int> numbers_{1};
  int seen_ = 0;
};

struct adds {
  explicit adds(int& sum) noexcept : sum_(&sum) {}
  void operator()(int number) const { *sum_ += number; }

 private:
  int* sum_;
};
struct gives_a_task {
  coracle::task<int> operator()(int number) const { co_return number; }
};

struct plain_pipeline {
  static auto make(coracle::channel<int>& from, int& seen) {
    return from | streams::take(1) | streams::for_each(adds(seen));
  }
};
struct staged_pipeline {
  static auto make(coracle::channel<int>& from, int& seen) {
    return from | streams::map([](int n) { return n; }) | streams::filter([](int n) { return n == 7; }) |
           streams::chunk(1) | streams::map([](const std::vector<int>& one) { return one.front(); }) |
           streams::take(1) | streams::for_each(adds(seen));
  }
};
struct throttled_pipeline {
  static auto make(coracle::channel<int>& from, int& seen) {
    return from | streams::throttle(std::chrono::hours{1}) | streams::take(1) | streams::for_each(adds(seen));
  }
};
struct limited_pipeline {
  static auto make(coracle::channel<int>& from, int& seen) {
    return from | streams::timeout_each(std::chrono::hours{1}) | streams::take(1) |
           streams::for_each(adds(seen));
  }
};
struct buffered_pipeline {
  static auto make(coracle::channel<int>& from, int& seen) {
    return from | streams::buffered(2) | streams::take(1) | streams::for_each(adds(seen));
  }
};
struct pipeline_of_tasks {
  static auto make(coracle::channel<int>& from, int& seen) {
    return from | streams::map(gives_a_task()) | streams::buffered(2) | streams::take(1) |
           streams::for_each(adds(seen));
  }
};
struct merged_pipeline {
  static auto make(coracle::channel<int>& from, int& seen) {
    return streams::merge(from, from) | streams::take(1) | streams::for_each(adds(seen));
  }
};
struct zipped_pipeline {
  static coracle::async_generator<int> sevens() {
    for (int seven = 7;;) co_yield seven;
  }
  static auto make(coracle::channel<int>& from, int& seen) {
    return streams::zip(from, sevens()) | streams::map([](std::pair<int, int&> both) { return both.first; }) |
           streams::take(1) | streams::for_each(adds(seen));
  }
};

inline std::vector<cancellation_entry> stream_cases() {
  constexpr auto joins = when_stopped::joins_its_children;
  return {{"stream_source::poll_operation", &make_case<stream_case<plain_pipeline>>},
          {"changed_stream::poll_operation", &make_case<stream_case<staged_pipeline>>},
          {"zip()", &make_case<stream_case<zipped_pipeline>>},
          {"throttle()", &make_case<stream_case<throttled_pipeline>>},
          {"streams::timeout_each()", &make_case<stream_case<limited_pipeline>>, joins},
          {"buffered_stream::poll_operation", &make_case<stream_case<buffered_pipeline, true>>, joins},
          {"buffered()", &make_case<stream_case<pipeline_of_tasks, true>>, joins},
          {"merged_streams::poll_operation", &make_case<stream_case<merged_pipeline, true>>, joins}};
}
}  // namespace coracle_test
