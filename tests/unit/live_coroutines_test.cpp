// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <coracle/channels/channel.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/from_callback.hpp>
#include <coracle/compose/single_flight.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/compose/when_any.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/yield.hpp>
#include <coracle/inspect/async_stacktrace.hpp>
#include <coracle/inspect/live_coroutines.hpp>
#include <coracle/io/io_service.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/sync/async_barrier.hpp>
#include <coracle/sync/async_condition_variable.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <coracle/sync/async_shared_mutex.hpp>
#include <coracle/sync/multi_producer_sequencer.hpp>
#include <coracle/sync/sequence_barrier.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/testing/simulation/simulation.hpp>
#include <coracle/testing/virtual_time_loop.hpp>
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../../src/inspect/own_symbols.hpp"
#include "../../src/inspect/symbols.hpp"
#include "../support/abort_message.hpp"

using namespace coracle;

namespace {
/// Without the namespace that this file has when several are compiled as one.
std::string without_namespace(std::string text) {
  const std::string name = "live_coroutines_test::";
  for (std::size_t at; (at = text.find(name)) != std::string::npos;) text.erase(at, name.size());
  return text;
}
/// Returns true if the lines contain the parts, one after the other, each deeper than the one before.
bool has_tree(const std::string& text, std::initializer_list<const char*> parts) {
  std::size_t at = 0;
  std::size_t depth = 0;
  for (const char* part : parts) {
    at = text.find(part, at);
    if (at == std::string::npos) return false;
    const std::size_t line = text.rfind('\n', at) + 1;
    const std::size_t found = text.find_first_not_of(' ', line) - line;
    if (found <= depth) return false;
    depth = found;
  }
  return true;
}

async_mutex kitchen;
async_mutex bathroom;

task<> clean(async_mutex& first, async_mutex& second) {
  const auto one = co_await first.scoped_lock_async();
  co_await this_task::yield();
  const auto other = co_await second.scoped_lock_async();
}
task<> housework() { co_await when_all(clean(kitchen, bathroom), clean(bathroom, kitchen)); }

task<> await_forever(async_manual_reset_event& event) { co_await event; }
task<> await_below(async_manual_reset_event& event) { co_await await_forever(event); }
task<> await_byte(net::unix_socket& from) {
  char byte = 0;
  co_await from.recv(&byte, 1);
}
task<> await_hour(io_service& io) { co_await io.schedule_after(std::chrono::hours{1}); }

task<> await_any_of_three(async_manual_reset_event& event) {
  co_await when_any(await_forever(event), await_below(event), await_forever(event));
}
task<> await_all_of_two(async_manual_reset_event& event) { co_await when_all(event, await_forever(event)); }
task<> await_any_of_two(async_manual_reset_event& event) { co_await when_any(event, await_forever(event)); }
task<> ask_once(single_flight<int, void>& questions, async_manual_reset_event& event) {
  const auto work = [&event] { return await_forever(event); };
  co_await questions.run(1, work);
}
async_manual_reset_event front_door;
channel<int> letters(1);
task<> await_visitor() { co_await as_outcome(when_any(front_door, letters.recv())); }
std::vector<task<>> two_that_wait(async_manual_reset_event& event) {
  std::vector<task<>> two;
  two.push_back(await_forever(event));
  two.push_back(await_forever(event));
  return two;
}
shared_task<> share(async_manual_reset_event& event) { co_await event; }
task<> await_one(shared_task<> shared) { co_await shared; }
task<> await_shared(async_manual_reset_event& event) {
  const shared_task<> one = share(event);
  co_await when_all(await_one(one), one, await_one(one), share(event));
}
task<> await_all_in_vector(async_manual_reset_event& event) { co_await when_all(two_that_wait(event)); }
task<> await_any_in_vector(async_manual_reset_event& event) { co_await when_any(two_that_wait(event)); }
/// The names that are listed below `root` while `work` waits, each with its depth.
std::string listed_below(const std::string& root, task<> work, async_manual_reset_event& event) {
  auto polled = testing::poll(std::move(work));
  REQUIRE(!polled.run());
  const std::string all = without_namespace(live_coroutines());
  event.set();
  CHECK(polled.run());
  event.reset();
  const std::string first = "\n  " + root + "  (";
  REQUIRE(all.find(first) != std::string::npos);
  std::istringstream lines(all.substr(all.find(first) + first.size()));
  std::vector<std::string> shown;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("    ")) {
    const std::size_t depth = line.find_first_not_of(' ');
    shown.push_back(std::to_string(depth / 2 - 1) + " " +
                    line.substr(depth, line.find("  (", depth) - depth));
  }
  std::sort(shown.begin(), shown.end());  // siblings are listed by their addresses
  std::string text;
  for (const std::string& each : shown) text += each + "; ";
  return text;
}

/// A coroutine whose frame the test can read.
struct held {
  struct promise_type {
    held get_return_object() noexcept {
      return held{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
  };
  std::coroutine_handle<promise_type> handle;
};
[[gnu::noinline]] held hold_once() {
  co_return;
}  // inlined, as the linker may do, it has its frame on the stack

/// A coroutine in memory that the test provides.
struct placed {
  struct promise_type {
    static void* operator new(std::size_t, void* room) { return room; }
    static void operator delete(void*) noexcept {}
    placed get_return_object() noexcept {
      return placed{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
  };
  std::coroutine_handle<promise_type> handle;
};
[[gnu::noinline]] placed lie_there(void*) { co_return; }

/// A coroutine that has the handles of two others.
struct acquainted {
  struct promise_type {
    acquainted get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
    std::coroutine_handle<> known[2];
  };
  void knows(const acquainted& one, const acquainted& other) const {
    self.promise().known[0] = one.self;
    self.promise().known[1] = other.self;
  }
  std::coroutine_handle<promise_type> self;
};
acquainted meet() { co_return; }
std::size_t count_of(const std::string& text, const char* part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

/// What a frame begins with, many times, where the next calls have their locals.
[[gnu::noinline]] void leave_on_stack(std::coroutine_handle<> of) {
  const auto* const words = static_cast<void* const*>(of.address());
  void* room[4096];
  for (int i = 0; i != 4096; ++i) room[i] = words[i % 2];
  asm volatile("" : : "r"(room) : "memory");
}

bool knows_file(const char* name) {
  return detail::own_symbols::with([name](const detail::symbols& names) {
    return std::any_of(names.begin(), names.end(), [name](const detail::module& each) {
      return std::strstr(each.path.c_str(), name) != nullptr;
    });
  });
}
/// Returns how often the whole file of the program is mapped, for its symbols.
int mappings_of_symbols() {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const auto size = std::filesystem::file_size(program);
  const auto page = static_cast<std::uintmax_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    const detail::mapping each = detail::mapping_of_line(line.c_str());
    count += each.path == program && each.end - each.begin == (size + page - 1) / page * page;
  }
  return count;
}

/// Constructed before main(), so destroyed after what is constructed later.
struct end_of_child {
  end_of_child() = default;
  end_of_child(const end_of_child&) = delete;
  end_of_child& operator=(const end_of_child&) = delete;
  ~end_of_child() {
    if (!is_child) return;
    std::fputs(live_coroutines().c_str(), stderr);
    ::_exit(0);
  }
  bool is_child = false;
};
end_of_child at_end;

task<> read_shared(async_shared_mutex& mutex) { const auto lock = co_await mutex.scoped_lock_shared_async(); }
sequence_barrier<> progress;
task<> await_progress() { co_await progress.wait_until_published(3); }
task<> claim_two(multi_producer_sequencer<>& slots) {
  co_await slots.claim_one();
  co_await slots.claim_one();
}
task<> await_call(std::vector<completion<void>>& calls) {
  const auto start = [&calls](completion<void> done) { calls.push_back(std::move(done)); };
  auto operation = from_callback(start);
  co_await std::move(operation);
}
task<> meet(async_barrier<>& barrier) { co_await barrier.arrive_and_wait(); }
task<> await_change(async_mutex& mutex, async_condition_variable& changed) {
  auto lock = co_await mutex.scoped_lock_async();
  co_await changed.wait(lock);
}
task<> await_condition(async_mutex& mutex, async_condition_variable& changed, const bool& holds) {
  auto lock = co_await mutex.scoped_lock_async();
  co_await changed.wait(lock, [&holds] { return holds; });
}

constexpr bool is_searched = !CORACLE_ADDRESS_SANITIZER() && !CORACLE_THREAD_SANITIZER();
}  // namespace

TEST_CASE("live_coroutines: a tree of awaits, and what its last one waits for" *
          doctest::skip(!is_searched)) {
  static async_manual_reset_event door;
  {
    auto polled = testing::poll(await_below(door));
    REQUIRE(!polled.run());
    const std::string text = without_namespace(live_coroutines());
    CAPTURE(text);
    CHECK(has_tree(text, {"await_below  (", "await_forever  ("}));
    CHECK(text.find("waits for async_manual_reset_event ") != std::string::npos);
    CHECK(text.find("await_below has its address") != std::string::npos);
    CHECK(text.find("testing::poll()\n") != std::string::npos);
    door.set();
    CHECK(polled.run());
  }
  CHECK(live_coroutines().find("await_forever") == std::string::npos);
}

TEST_CASE("live_coroutines: what earlier calls have left on the stack is no coroutine" *
          doctest::skip(!is_searched)) {
  const held one = hold_once();
  leave_on_stack(one.handle);
  const std::string text = live_coroutines();
  one.handle.destroy();
  CAPTURE(text);
  const std::size_t first = text.find("hold_once");
  CHECK(first != std::string::npos);
  CHECK(text.find("hold_once", first + 1) == std::string::npos);
}

TEST_CASE("live_coroutines: what lies behind a guard page of the same mapping is found" *
          doctest::skip(!is_searched)) {
  constexpr int install_guard = 102;  // MADV_GUARD_INSTALL, of Linux 6.13
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const all = ::mmap(nullptr, 5 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(all != MAP_FAILED);
  const auto at = [&](std::size_t number) { return static_cast<std::byte*>(all) + number * page; };
  if (::madvise(at(0), page, install_guard) == 0 && ::madvise(at(2), 2 * page, install_guard) == 0) {
    const placed first = lie_there(at(1));
    const placed second = lie_there(at(4));
    CHECK(count_of(live_coroutines(), "lie_there") == 2);
    second.handle.destroy();
    first.handle.destroy();
  } else {
    MESSAGE("skipped: the kernel has no guard pages inside a mapping");
  }
  ::munmap(all, 5 * page);
}

TEST_CASE("live_coroutines: the probe of core/transfer.hpp, which ends before main(), is no coroutine") {
  using detail::role;
  CHECK(detail::role_of("_ZN7coracle6detail12_GLOBAL__N_116probe_tail_callsERmS2_.actor") == role::none);
  CHECK(detail::role_of("_ZN3app16probe_everythingERmS2_.actor") == role::resume);
}

TEST_CASE("live_coroutines: a wait for I/O, and one for a timer of an io_service" *
          doctest::skip(!is_searched)) {
  io_service io;
  auto ends = net::make_unix_pair(io);
  std::string text;
  const auto look = [&]() -> task<> {
    text = without_namespace(live_coroutines());
    co_return;
  };
  io.run(when_any(await_byte(ends.first), await_hour(io), look()));
  CAPTURE(text);
  const std::string descriptor = std::to_string(ends.first.native_handle());
  const std::size_t byte = text.find("await_byte  ("), hour = text.find("await_hour  (");
  REQUIRE(byte != std::string::npos);
  REQUIRE(hour != std::string::npos);
  const auto line = [&](std::size_t at) { return text.substr(at, text.find('\n', at) - at); };
  CHECK(line(byte).ends_with(")  waits for I/O on descriptor " + descriptor));
  CHECK(line(hour).ends_with(")  waits for a timer"));
}

TEST_CASE("live_coroutines: what waits for a shared mutex, a barrier or a condition" *
          doctest::skip(!is_searched)) {
  async_shared_mutex shared;
  async_barrier<> both{2};
  async_mutex mutex;
  async_condition_variable changed;
  bool holds = false;
  REQUIRE(shared.try_lock());
  auto reader = testing::poll(read_shared(shared));
  auto first = testing::poll(meet(both));
  auto unconditional = testing::poll(await_change(mutex, changed));
  auto conditional = testing::poll(await_condition(mutex, changed, holds));
  for (auto* each : {&reader, &first, &unconditional, &conditional}) REQUIRE(!each->run());
  const std::string text = without_namespace(live_coroutines());
  CAPTURE(text);
  const auto line = [&](const char* name) {
    const std::size_t at = text.find(std::string(name) + "  (");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(line("read_shared").find(")  waits to lock async_shared_mutex") != std::string::npos);
  CHECK(line("meet").find(")  waits for the others at async_barrier<>") != std::string::npos);
  CHECK(line("await_change").find(")  waits for async_condition_variable") != std::string::npos);
  CHECK(line("await_condition").find(")  waits for async_condition_variable") != std::string::npos);
  shared.unlock();
  auto second = testing::poll(meet(both));
  CHECK(second.run());
  holds = true;
  changed.notify_all();
  for (auto* each : {&reader, &first, &unconditional, &conditional}) CHECK(each->run());
}

TEST_CASE("live_coroutines: what waits for a number, for a slot or for a callback" *
          doctest::skip(!is_searched)) {
  sequence_barrier<> consumed;
  multi_producer_sequencer<> slots{consumed, 1};
  std::vector<completion<void>> calls;
  auto follower = testing::poll(await_progress());
  auto producer = testing::poll(claim_two(slots));
  auto caller = testing::poll(await_call(calls));
  for (auto* each : {&follower, &producer, &caller}) REQUIRE(!each->run());
  const auto text = [] { return without_namespace(live_coroutines()); };
  CHECK(text().find(")  waits for a number of sequence_barrier progress; ") != std::string::npos);
  CHECK(text().find(")  waits for a free slot of multi_producer_sequencer; ") != std::string::npos);
  CHECK(text().find(")  waits for an operation of from_callback()\n") != std::string::npos);
  calls.front()();
  CHECK(caller.run());
  CHECK(text().find("from_callback") == std::string::npos);
  progress.publish(3);
  CHECK(follower.run());
  consumed.publish(0);
  CHECK(producer.run());
}

TEST_CASE("live_coroutines: the branches of a combinator are below the coroutine that awaits it" *
          doctest::skip(!is_searched)) {
  async_manual_reset_event door;
  CHECK(listed_below("await_any_of_three", await_any_of_three(door), door) ==
        "1 await_below; 1 await_forever; 1 await_forever; 2 await_forever; ");
  CHECK(listed_below("await_all_in_vector", await_all_in_vector(door), door) ==
        "1 await_forever; 1 await_forever; ");
  CHECK(listed_below("await_any_in_vector", await_any_in_vector(door), door) ==
        "1 await_forever; 1 await_forever; ");
}

TEST_CASE("live_coroutines: a shared_task is below what awaited it first" * doctest::skip(!is_searched)) {
  async_manual_reset_event door;
  CHECK(listed_below("await_shared", await_shared(door), door) ==
        "1 await_one; 1 await_one; 1 share; 2 share; ");
}

TEST_CASE("live_coroutines: the work of a single_flight is below one of its callers" *
          doctest::skip(!is_searched)) {
  async_manual_reset_event door;
  single_flight<int, void> questions;
  auto first = testing::poll(ask_once(questions, door));
  REQUIRE(!first.run());
  auto second = testing::poll(ask_once(questions, door));
  REQUIRE(!second.run());
  first.request_stop();
  CHECK(first.run());
  const std::string text = without_namespace(live_coroutines());
  CAPTURE(text);
  CHECK(has_tree(text, {"ask_once  (", "single_flight::run_shared  (", "single_flight::carry_out  (",
                        "await_forever  ("}));
  door.set();
  while (first.step()) continue;  // the work is resumed there
  CHECK(second.run());
}

TEST_CASE("live_coroutines: what is no coroutine waits in the combinator that awaits it" *
          doctest::skip(!is_searched)) {
  async_manual_reset_event door;
  auto all = testing::poll(await_all_of_two(door));
  auto any = testing::poll(await_any_of_two(door));
  REQUIRE(!all.run());
  REQUIRE(!any.run());
  const std::string text = without_namespace(live_coroutines());
  CAPTURE(text);
  for (const char* name : {"all", "any"}) {
    const std::size_t at = text.find("await_" + std::string(name) + "_of_two  (");
    REQUIRE(at != std::string::npos);
    const std::string line = text.substr(at, text.find('\n', at) - at);
    CHECK(line.find(")  in when_" + std::string(name) + "(): waits for async_manual_reset_event") !=
          std::string::npos);
  }
  door.set();
  CHECK(all.run());
  CHECK(any.run());
}

TEST_CASE("live_coroutines: what branches of a combinator wait for is named" * doctest::skip(!is_searched)) {
  auto visitor = testing::poll(await_visitor());
  REQUIRE(!visitor.run());
  const std::string text = without_namespace(live_coroutines());
  CAPTURE(text);
  const std::size_t at = text.find("await_visitor  (");
  REQUIRE(at != std::string::npos);
  const std::string line = text.substr(at, text.find('\n', at) - at);
  CHECK(line.find(")  in when_any(): waits ") != std::string::npos);
  CHECK(line.find("waits for async_manual_reset_event front_door") != std::string::npos);
  CHECK(line.find("waits to receive from channel<int> letters") != std::string::npos);
  front_door.set();
  CHECK(visitor.run());
}

TEST_CASE("live_coroutines: too many for trees are counted" * doctest::skip(!is_searched)) {
  static async_manual_reset_event door;
  std::vector<task<>> many;
  for (int i = 0; i != 10'001; ++i) many.push_back(await_forever(door));  // none of them has started
  const std::string text = without_namespace(live_coroutines());
  CHECK(text.find("  10001 of await_forever\n") != std::string::npos);
}

TEST_CASE("live_coroutines: a deadlock in a virtual_time_loop is shown" * doctest::skip(!is_searched)) {
  const std::string message = without_namespace(coracle_test::abort_message([] {
    testing::virtual_time_loop loop;
    loop.run(housework());
  }));
  CAPTURE(message);
  CHECK(message.starts_with("coracle: deadlock in virtual_time_loop::run(): nothing is runnable"));
  CHECK(has_tree(message, {"housework  (", "clean  ("}));
  CHECK(message.find("waits to lock async_mutex bathroom; clean has its address") != std::string::npos);
  CHECK(message.find("waits to lock async_mutex kitchen; clean has its address") != std::string::npos);
}

TEST_CASE("live_coroutines: a deadlock in a simulation is shown" * doctest::skip(!is_searched)) {
  testing::simulation sim{3};
  static async_manual_reset_event door;
  std::string message;
  try {
    sim.run(await_below(door));
  } catch (const testing::simulation_failure& failure) {
    message = failure.what();
  }
  CAPTURE(message);
  CHECK(has_tree(message, {"await_below  (", "await_forever  ("}));
}

TEST_CASE("live_coroutines: those that are left at the end of the program are reported" *
          doctest::skip(!is_searched)) {
  const std::string message = coracle_test::abort_message([] {
    static async_manual_reset_event door;
    static auto polled = testing::poll(await_below(door));
    polled.run();
    report_live_coroutines_at_exit();  // before `polled` is destroyed
    std::exit(0);
  });
  CAPTURE(message);
  CHECK(message.starts_with("coracle: the program ends, and nobody will resume\n"));
  CHECK(has_tree(message, {"await_below  (", "await_forever  ("}));
}

TEST_CASE("live_coroutines: listed in a destructor at the end of the program" * doctest::skip(!is_searched)) {
  coracle_test::child_process child{[] {
    at_end.is_child = true;
    CHECK(!live_coroutines().empty());
    std::exit(0);
  }};
  CHECK(child.read_until('\0').find(" coroutine") != std::string::npos);
  CHECK(child.wait() == 0);
}

TEST_CASE("live_coroutines: coroutines that know one another seem to await in a circle, which is cut" *
          doctest::skip(!is_searched)) {
  const acquainted first = meet(), second = meet(), third = meet();
  first.knows(second, third);
  second.knows(third, first);
  third.knows(first, second);
  CHECK(count_of(live_coroutines(), "meet  (") == 3);
  CHECK(async_stacktrace::of(first.self).size() <= 3);
  for (const acquainted& each : {first, second, third}) each.self.destroy();
}

TEST_CASE("live_coroutines: the program's file is mapped once for its symbols") {
  static_cast<void>(live_coroutines());
  const int before = mappings_of_symbols();
  const held one = hold_once();
  static_cast<void>(async_stacktrace::of(one.handle).to_string());
  one.handle.destroy();
  detail::own_symbols::load();
  CHECK(mappings_of_symbols() == before);
}

TEST_CASE("live_coroutines: a library that is loaded later is searched, too") {
  const char* const name = "libutil.so.1";  // of glibc
  REQUIRE(!knows_file(name));
  void* const library = ::dlopen(name, RTLD_NOW);
  REQUIRE(library);
  CHECK(knows_file(name));
  ::dlclose(library);
  CHECK(!knows_file(name));
}
