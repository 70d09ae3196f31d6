// SPDX-License-Identifier: MIT
#include "backend.hpp"

#include <cerrno>
#include <coracle/inspect/live_coroutines.hpp>
#include <coracle/testing/allocations.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <cstdio>

#include "../../io/io_loop.hpp"
#include "../../io/opcode_name.hpp"
#include "../../io/system_call.hpp"

namespace coracle::detail::simulated {
using testing::host_operation;

namespace {
host_operation operation_of(io_opcode code) noexcept {
  switch (code) {
    case io_opcode::receive:
    case io_opcode::receive_from:
    case io_opcode::receive_message:
    case io_opcode::receive_parts:
    case io_opcode::receive_batch:
      return host_operation::receive;
    case io_opcode::send:
    case io_opcode::send_to:
    case io_opcode::send_message:
    case io_opcode::send_parts:
    case io_opcode::send_batch:
    case io_opcode::send_file:
    case io_opcode::write:
    case io_opcode::wait_writable:
      return host_operation::send;
    case io_opcode::accept:
      return host_operation::accept;
    case io_opcode::connect:
      return host_operation::connect;
    case io_opcode::read:  // of a watcher: there are no pipes
    case io_opcode::wait_readable:
      return host_operation::read_changes;
    case io_opcode::read_at:
    case io_opcode::read_parts_at:
      return host_operation::read;
    case io_opcode::write_at:
    case io_opcode::write_parts_at:
      return host_operation::write;
    case io_opcode::sync:
      return host_operation::sync;
    case io_opcode::open:
      return host_operation::open;
    case io_opcode::status:
      return host_operation::status;
    case io_opcode::rename:
      return host_operation::rename;
    case io_opcode::link:
    case io_opcode::symlink:
      return host_operation::link;
    case io_opcode::make_folder:
      return host_operation::create_directory;
    case io_opcode::remove:
      break;
  }
  return host_operation::remove;
}
}  // namespace

simulated_backend::simulated_backend(io_loop& loop, host& its_host)
    : io_backend(its_host, {"simulated", "a simulated_host was given"}), loop_(loop), host_(its_host) {
  loop.count_external_driver();
}

simulated_backend::~simulated_backend() {
  *alive_ = false;
  host_.sim().timers()->remove(alarm_);
  host_.sim().withdraw(turn_);
}

// ---- descriptors ---------------------------------------------------------------------------------------

io_record& simulated_backend::attach(int fd, io_descriptor_kind kind) {
  const std::shared_ptr<descriptor> what = host_.at(fd);
  record& its = records_.emplace_back();
  its.place = std::prev(records_.end());
  its.backend = its.its_backend = this;
  its.fd = fd;
  its.what = what;
  its.is_file = kind != io_descriptor_kind::pollable;
  what->watch(&its);
  return its;
}

void simulated_backend::detach(io_record& attached) noexcept {
  const testing::allocations_aside of_the_system;
  auto& its = static_cast<record&>(attached);
  CORACLE_REQUIRE(its.reading.empty() && its.writing.empty() && its.with_device == 0, closed_too_early);
  its.what->watch(nullptr);
  host_.close(its.fd);
  records_.erase(its.place);
}

// ---- requests ------------------------------------------------------------------------------------------

intrusive_list<io_event>& simulated_backend::queue_of(const io_request& request) noexcept {
  record& its = record_of(request);
  return waits_to_read(request.opcode) ? its.reading : its.writing;
}

std::int64_t simulated_backend::try_now(io_request& request) {
  return unless_lost(request, [&request] { return record_of(request).what->try_now(request); });
}

bool simulated_backend::submit(io_request& request) noexcept {
  const testing::allocations_aside of_the_system;
  record& its = record_of(request);
  if (host_.sim().fails(name_of(request.opcode))) {
    request.result = unless_lost(request, [&] { return its.what->fault(request); });
    note(request);
    return false;
  }
  const int failure = host_.failure_of(operation_of(request.opcode));
  if (its.is_file) return submit_file(request, failure);
  if (failure != 0) {
    request.result = unless_lost(request, [failure] { return std::int64_t{failure}; });
    note(request);
    return false;
  }
  intrusive_list<io_event>& queue = queue_of(request);
  if (queue.empty()) {
    request.result = try_now(request);
    if (request.result != not_ready) {
      note(request);
      return false;
    }
  }
  request.progress = io_event::state::queued;
  queue.push(request);
  return true;
}

/// By chance, cached data is read at once; everything else takes time. Until the device ends, the result of
/// the request is `failure`: the error that the test wants, or 0.
bool simulated_backend::submit_file(io_request& request, int failure) {
  record& its = record_of(request);
  request.result = failure;
  auto& file = static_cast<on_disk&>(*its.what);
  file.begin(request);
  const bool reads = request.opcode == io_opcode::read_at || request.opcode == io_opcode::read_parts_at;
  if (reads && file.its_disk().chance(2)) {
    carry_out(request);
    note(request);
    return false;
  }
  request.progress = io_event::state::queued;
  ++its.with_device;
  const std::uint64_t number = next_with_device_++;
  with_device_.emplace(number, &request);
  host_.sim().at(host_.sim().now() + file.its_disk().latency(), [this, number, alive = alive_] {
    if (*alive) device_ends(number);
  });
  return true;
}

void simulated_backend::carry_out(io_request& request) {
  if (request.result == 0) request.result = record_of(request).what->try_now(request);
}

void simulated_backend::device_ends(std::uint64_t number) {
  const auto found = with_device_.find(number);
  if (found == with_device_.end()) return;
  io_request& request = *found->second;
  with_device_.erase(found);
  --record_of(request).with_device;
  carry_out(request);
  finish(request);
}

/// Notes the descriptor, the operation and its result in the trace.
void simulated_backend::note(const io_request& request) noexcept {
  const bool is_descriptor =
      (request.opcode == io_opcode::accept || request.opcode == io_opcode::open) && request.result >= 0;
  const std::int64_t result = is_descriptor ? request.result - first_descriptor : request.result;
  char line[64];
  const int size = std::snprintf(line, sizeof line, "io: %d %s: %lld", request.record->fd - first_descriptor,
                                 name_of(request.opcode), static_cast<long long>(result));
  host_.sim().note({line, static_cast<std::size_t>(size)});
}

void simulated_backend::finish(io_request& request) noexcept {
  note(request);
  request.progress = io_event::state::finished;
  loop_.finish(request);
}
void simulated_backend::deliver(io_request& request) noexcept { loop_.finish_behind_others(request); }

void simulated_backend::ready(intrusive_list<io_event>& queue) {
  while (!queue.empty()) {
    auto& request = static_cast<io_request&>(*queue.front());
    request.result = try_now(request);
    if (request.result == not_ready) return;
    queue.remove(request);
    finish(request);
  }
}

/// Returns false if it is not there.
bool simulated_backend::take_from_device(const io_request& request) noexcept {
  const auto erased = std::erase_if(with_device_, [&](const auto& each) { return each.second == &request; });
  if (erased == 0) return false;
  --record_of(request).with_device;
  return true;
}

void simulated_backend::cancel(io_request& request) noexcept {
  const testing::allocations_aside of_the_system;
  if (request.progress != io_event::state::queued) return;
  if (!record_of(request).is_file) {
    queue_of(request).remove(request);
  } else if (host_.sim().random().one_in(2) || !take_from_device(request)) {
    return;  // a thread has begun it
  }
  request.result = -ECANCELED;
  finish(request);
}

bool simulated_backend::withdraw(io_request& request) noexcept {
  const testing::allocations_aside of_the_system;
  if (request.progress != io_event::state::queued) return loop_.unlist(request);
  if (!record_of(request).is_file) {
    queue_of(request).remove(request);
    return true;
  }
  take_from_device(request);
  if (host_.sim().random().one_in(2)) {  // a thread has begun it
    carry_out(request);
  } else {
    request.result = -ECANCELED;
  }
  return true;
}

// ---- turns ---------------------------------------------------------------------------------------------

/// To wait is to run the rest of the simulation.
io_backend::signals simulated_backend::poll(bool wait, completions&) noexcept {
  const executor_scope outside{nullptr};
  while (wait && !seen_.woken && !seen_.timer) {
    if (!host_.sim().step()) {
      fail((host_.sim().report("deadlock in an io_service: nothing is runnable and no timer is armed") +
            live_coroutines())
               .c_str());
    }
  }
  return std::exchange(seen_, {});
}

void simulated_backend::wake() noexcept {
  seen_.woken = true;
  post_turn();
}

void simulated_backend::post_turn() noexcept {
  if (std::exchange(turn_.is_posted, true)) return;
  host_.sim().post(turn_);
}

void simulated_backend::turn::run(callback_frame* self) {
  auto& mine = *static_cast<turn*>(self);
  mine.is_posted = false;
  if (mine.owner.loop_.run({.wait = false, .only_one = true}) != 0) mine.owner.post_turn();
}

void simulated_backend::set_timer(std::uint64_t time) noexcept {
  timer_service& timers = *host_.sim().timers();
  timers.remove(alarm_);
  alarm_.progress = timer::state::idle;
  timers.add(alarm_, timer_service::time_point{std::chrono::nanoseconds{static_cast<std::int64_t>(time)}});
}

void simulated_backend::alarm::rings(timer& self) noexcept {
  simulated_backend& owner = static_cast<alarm&>(self).owner;
  owner.seen_.timer = true;
  owner.post_turn();
}
}  // namespace coracle::detail::simulated
