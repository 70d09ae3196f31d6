// tests/cancellation/trial.hpp -- one run of one operation against a stop request.
// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <coracle/core/operation_cancelled.hpp>
#include <coracle/core/stop.hpp>
#include <coracle/core/with_environment.hpp>
#include <memory>
#include <utility>

#include "../support/detached.hpp"
#include "cancellation_case.hpp"

namespace coracle_test {
enum class ending { none, carried_out, cancelled, failed };

class trial {
 public:
  explicit trial(const cancellation_entry& entry) : subject_(entry.make()) {}

  void start() { run_detached(watch()); }
  void complete() {
    completed_ = true;
    subject_->complete();
  }
  void stop() { stop_.request_stop(coracle::stop_reason::shutting_down); }
  void settle() { subject_->settle(); }
  /// Stop has not been requested.
  [[nodiscard]] bool may_be_completed() { return subject_->may_be_completed(); }

  [[nodiscard]] ending ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// The reason in operation_cancelled.
  [[nodiscard]] coracle::stop_reason reason() const noexcept { return reason_; }
  [[nodiscard]] bool intact() { return subject_->intact(ended() == ending::carried_out, completed_); }

 private:
  coracle::task<> watch() {
    ending how = ending::failed;
    try {
      co_await coracle::with_stop(subject_->operation(), stop_.get_token());
      how = ending::carried_out;
    } catch (const coracle::operation_cancelled& cancelled) {
      reason_ = cancelled.reason();
      how = ending::cancelled;
    } catch (...) {  // stays `failed`
    }
    ended_.store(how, std::memory_order_release);
  }

  std::unique_ptr<cancellation_case> subject_;
  coracle::stop_source stop_;
  bool completed_ = false;
  coracle::stop_reason reason_ = coracle::stop_reason::none;
  std::atomic<ending> ended_{ending::none};
};
}  // namespace coracle_test
