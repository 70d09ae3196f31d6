// SPDX-License-Identifier: MIT
#include <coracle/base/check.hpp>
#include <coracle/testing/model/detail/sync.hpp>
#include <coracle/testing/model/model_check.hpp>

#include "engine.hpp"

namespace coracle::testing {
model_result model_check(const model_limits& limits, std::function<void()> body) {
  return model::model_engine(limits, std::move(body)).check();
}
model_result model::check_with(reduction reduces, const model_limits& limits, std::function<void()> body) {
  return model::model_engine(limits, std::move(body), reduces).check();
}
model_result model_replay(const std::string& replay, std::function<void()> body, const model_limits& limits) {
  return model::model_engine(limits, std::move(body)).replay(replay);
}

namespace {
model::model_engine& engine() {
  model::model_engine* const here = model::model_engine::current();
  if (!here || !here->is_in_thread()) coracle::detail::fail("this belongs inside a model_check()");
  return *here;
}
/// Returns null outside an execution.
model::model_engine* engine_or_null() noexcept {
  model::model_engine* const here = model::model_engine::current();
  return here && here->is_in_thread() ? here : nullptr;
}
}  // namespace

void model_expect(bool condition, const char* what, std::source_location where) {
  if (!condition) engine().fail(std::string("expected: ") + what, where);
}
void model_record(std::string outcome) { engine().record(std::move(outcome)); }
model_thread::model_thread(std::function<void()> body) : index_(engine().start_thread(std::move(body))) {}
void model_thread::join() {
  if (!std::exchange(joined_, true)) engine().join_thread(index_);
}
void model_yield() { engine().yield(); }

namespace model {
// Outside an execution the newest store is the only one.
namespace {
std::uint64_t& last_value(model_location& at) {
  if (at.count == 0) {
    at.count = 1;
    at.stores[0].value = 0;
  }
  return at.stores[(at.count - 1) % model_history].value;
}
}  // namespace

std::uint64_t model_load(model_location& at, std::memory_order order, const site& where) {
  model_engine* const here = engine_or_null();
  return here ? here->load(at, order, where) : last_value(at);
}
void model_store_to(model_location& at, std::uint64_t value, std::memory_order order, const site& where) {
  if (model_engine* const here = engine_or_null()) return here->store(at, value, order, where);
  last_value(at) = value;
}
std::uint64_t model_rmw_read(model_location& at, const model_order& order) {
  model_engine* const here = engine_or_null();
  return here ? here->rmw_read(at, order) : last_value(at);
}
std::uint64_t model_rmw_read(model_location& at, std::uint64_t expected, const model_order& success,
                             const model_order& failure) {
  model_engine* const here = engine_or_null();
  return here ? here->rmw_read(at, expected, success, failure) : last_value(at);
}
void model_rmw_write(model_location& at, std::uint64_t value, std::memory_order order, const site& where) {
  if (model_engine* const here = engine_or_null()) return here->rmw_write(at, value, order, where);
  last_value(at) = value;
}
void model_rmw_fail(model_location& at, std::memory_order order, const site& where) {
  if (model_engine* const here = engine_or_null()) here->rmw_fail(at, order, where);
}
bool model_fails_spuriously() {
  model_engine* const here = engine_or_null();
  return here && here->fails_spuriously();
}
void model_init(model_location& at, std::uint64_t value) {
  if (model_engine* const here = engine_or_null()) return here->init(at, value);
  at.life.begin(model_life::kind::atomic);
  at.execution = 0;
  last_value(at) = value;
}
void model_end(model_location& at) {
  if (model_engine* const here = engine_or_null()) return here->end(at);
  at.life.end(model_life::kind::atomic);
}
void model_fence(std::memory_order order, const site& where) {
  if (model_engine* const here = engine_or_null()) here->fence(order, where);
}
void model_fence_everywhere(const site& where) {
  if (model_engine* const here = engine_or_null()) here->fence_everywhere(where);
}
void model_pause() {
  if (model_engine* const here = engine_or_null()) here->yield();
}
unsigned model_choose(unsigned count) { return engine().choose(count); }
unsigned model_start_thread(void* (*body)(void*), void* argument) {
  return engine().start_thread([=] { body(argument); });
}
void model_join_thread(unsigned index) { engine().join_thread(index); }
unsigned model_this_thread() { return engine().this_thread_index(); }
std::int64_t model_now() {
  model_engine* const here = engine_or_null();
  return here ? here->now() : 0;
}
void model_set_deadline(std::int64_t nanoseconds) { engine().set_deadline(nanoseconds); }
void model_set_timeout(std::int64_t nanoseconds) { engine().set_deadline(model_now() + nanoseconds); }
bool model_park_at(model_location& at, std::uint64_t expected, bool has_timeout, const site& where) {
  return engine().park(at, expected, has_timeout, where);
}
void model_unpark_at(const model_location* at, unsigned count, const site& where) {
  if (model_engine* const here = engine_or_null()) here->unpark(at, count, where);
}
void model_make(model_cell& at, const site& where) {
  if (model_engine* const here = engine_or_null()) return here->make(at, where);
  at.life.begin(model_life::kind::plain);
  at.execution = 0;
  at.made = where;
}
void model_end(model_cell& at) {
  if (model_engine* const here = engine_or_null()) return here->end(at);
  at.life.end(model_life::kind::plain);
}
void model_read(model_cell& at) {
  if (model_engine* const here = engine_or_null()) here->read(at);
}
void model_write(model_cell& at) {
  if (model_engine* const here = engine_or_null()) here->write(at);
}
}  // namespace model
}  // namespace coracle::testing

namespace coracle::detail {
thread_state& this_thread() noexcept {
  static thread_state outside;
  testing::model::model_engine* const here = testing::engine_or_null();
  return here ? here->state_of_thread() : outside;
}
void fail_in_model(const char* message) noexcept {
  if (testing::model::model_engine* const here = testing::engine_or_null()) {
    here->fail(message);
  }
}
}  // namespace coracle::detail

namespace coracle {
detail::frame_cache& detail::this_thread_frames() noexcept {
  static frame_cache outside;
  testing::model::model_engine* const here = testing::engine_or_null();
  return here ? here->frames_of_thread() : outside;
}
detail::frame_keeping& detail::this_thread_keeping() noexcept {
  static frame_keeping outside;
  testing::model::model_engine* const here = testing::engine_or_null();
  return here ? here->keeping_of_thread() : outside;
}
}  // namespace coracle
