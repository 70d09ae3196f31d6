// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <coracle/compose/as_expected.hpp>
#include <coracle/compose/as_outcome.hpp>
#include <coracle/compose/fork_join.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/shared_task.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/inspect/async_stacktrace.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/poll.hpp>
#include <coracle/time/timeout.hpp>
#include <string>
#include <vector>

#include "../../src/inspect/awaits.hpp"
#include "../../src/inspect/symbol_names.hpp"

using namespace coracle;

namespace {
/// The names in a trace, without the namespaces of this file, and what stands in between.
std::vector<std::string> names_in(const async_stacktrace& trace) {
  std::vector<std::string> names;
  const std::string text = trace.to_string();
  for (std::size_t at = 0; at < text.size();) {
    std::string line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    line.erase(0, line.find_first_not_of(' '));
    line.resize(std::min(line.find("  ("), line.size()));
    if (const std::size_t qualified = line.rfind("::"); qualified != std::string::npos && line[0] == '#')
      line.erase(4, qualified + 2 - 4);
    names.push_back(line);
  }
  return names;
}
std::string text_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += each + "; ";
  return text;
}

task<async_stacktrace> take_trace() { co_return co_await this_task::stacktrace(); }
task<async_stacktrace> in_the_middle(std::string kept) {
  async_stacktrace found = co_await take_trace();
  if (kept.empty()) found = {};
  co_return found;
}
task<async_stacktrace> one_of_two() {
  auto [first, second] = co_await when_all(in_the_middle("here"), take_trace());
  co_return first;
}
shared_task<async_stacktrace> in_a_shared_task() { co_return co_await take_trace(); }
task<async_stacktrace> await_shared_task() { co_return co_await in_a_shared_task(); }
task<int> count_down(int depth, async_stacktrace& found) {
  if (depth == 0) {
    found = co_await this_task::stacktrace();
    co_return 0;
  }
  const int below = co_await count_down(depth - 1, found);
  co_return below + 1;
}
struct handle_of_caller {
  std::coroutine_handle<>& to;

  explicit handle_of_caller(std::coroutine_handle<>& into) noexcept : to(into) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> self) const noexcept {
    to = self;
    return false;
  }
  void await_resume() const noexcept {}
};
task<> wait_for(async_manual_reset_event& event, std::coroutine_handle<>& self) {
  co_await handle_of_caller(self);
  co_await event;
}
task<> wait_below(async_manual_reset_event& event, std::coroutine_handle<>& self) {
  co_await wait_for(event, self);
}
template <class Wrap>
task<> wait_wrapped(Wrap wrap, async_manual_reset_event& event, std::coroutine_handle<>& self) {
  co_await wrap(wait_for(event, self));
}
/// The trace of a coroutine that waits, and whose caller awaits it through `wrap`.
std::string trace_through(auto wrap) {
  async_manual_reset_event event;
  std::coroutine_handle<> innermost;
  auto waiting = testing::poll(wait_wrapped(wrap, event, innermost));
  const std::string found = text_of(names_in(async_stacktrace::of(innermost)));
  event.set();
  CHECK(waiting.run());
  return found;
}
std::string short_form(const char* symbol) {
  detail::short_name found;
  detail::append_short_name(symbol, found);
  return found.c_str();
}
}  // namespace

TEST_CASE("async_stacktrace: names the coroutines that await one another, innermost first") {
  CHECK(text_of(names_in(sync_wait(in_the_middle("here")))) ==
        "#0  take_trace; #1  in_the_middle; sync_wait(); ");
}
TEST_CASE("async_stacktrace: goes on through when_all()") {
  CHECK(text_of(names_in(sync_wait(one_of_two()))) ==
        "#0  take_trace; #1  in_the_middle; through when_all(); #2  one_of_two; sync_wait(); ");
}
TEST_CASE("async_stacktrace: goes on through what changes how work ends, and names it") {
  const auto text = [](const char* through) {
    return "#0  wait_for; through " + std::string(through) + "; #1  wait_wrapped; testing::poll(); ";
  };
  CHECK(trace_through([](task<> work) { return as_outcome(std::move(work)); }) == text("as_outcome()"));
  CHECK(trace_through([](task<> work) { return as_optional(std::move(work)); }) == text("as_optional()"));
  CHECK(trace_through([](task<> work) { return as_expected(std::move(work)); }) == text("as_expected()"));
  CHECK(trace_through([](task<> work) { return throwing(std::move(work)); }) == text("throwing()"));
  CHECK(trace_through([](task<> work) { return fork_join(std::move(work), take_trace()); }) ==
        text("fork_join()"));
  CHECK(trace_through([](task<> work) { return as_outcome(throwing(std::move(work))); }) ==
        text("throwing()"));  // the innermost is named
  CHECK(trace_through([](task<> work) { return timeout(std::move(work), std::chrono::hours(1)); }) ==
        "#0  wait_for; #1  limit; #2  wait_wrapped; testing::poll(); ");
}
TEST_CASE(
    "async_stacktrace: goes on from a task to the shared_task that awaits it, with nothing in between") {
  // What awaits the shared_task is found in its frame or not, as the compiler lays it out.
  CHECK(text_of(names_in(sync_wait(await_shared_task())))
            .starts_with("#0  take_trace; #1  in_a_shared_task; "));
}

TEST_CASE("async_stacktrace: is cut off at its maximum depth") {
  async_stacktrace found;
  CHECK(sync_wait(count_down(20, found)) == 20);
  CHECK(found.size() == 21);
  CHECK_FALSE(found.is_cut_off());
  CHECK(found[20].function == found[0].function);
  CHECK(found[20].through != nullptr);
  CHECK(sync_wait(count_down(200, found)) == 200);
  CHECK(found.size() == async_stacktrace::max_depth);
  CHECK(found.is_cut_off());
  CHECK(names_in(found).back() == "(and more)");
}
TEST_CASE("async_stacktrace: of a coroutine that is suspended") {
  async_manual_reset_event event;
  std::coroutine_handle<> innermost;
  auto waiting = testing::poll(wait_below(event, innermost));
  CHECK(text_of(names_in(async_stacktrace::of(innermost))) ==
        "#0  wait_for; #1  wait_below; testing::poll(); ");
  event.set();
  CHECK(waiting.run());
}
TEST_CASE("async_stacktrace: of no coroutine is empty") {
  CHECK(async_stacktrace::of({}).empty());
  CHECK(async_stacktrace().to_string().empty());
}
TEST_CASE(
    "short names: those of the linker without parameters, template arguments and anonymous namespaces") {
  CHECK(short_form("_Z5parsePKc.actor") == "parse");
  CHECK(short_form("_ZL5parsePKc.resume") == "parse");
  CHECK(short_form("_ZN12_GLOBAL__N_15parseEPKc.resume") == "parse");
  CHECK(short_form("_ZNK3app6server3runEv.resume") == "app::server::run");
  CHECK(short_form("_ZN3app3runIiEEN7coracle4taskIT_EEv.actor") == "app::run");
  CHECK(short_form("_ZN3app4poolILi30ELb1EN1a1bEE3runILS2_3EEEvv") == "app::pool::run");
  CHECK(short_form("_Z3runIJidNSt7__cxx1112basic_stringIcEEEEvDpT_") == "run");
  CHECK(short_form("_ZZ4mainENKUlvE_clEv.actor") == "lambda in main");
  CHECK(short_form("_ZZN3app5serveEvENK3$_0clEv.resume") == "lambda in app::serve");
  CHECK(short_form("_ZN3app3getB5cxx11Ev") == "app::get");
}
TEST_CASE("short names: functions directly in std") {
  CHECK(short_form("_ZSt9terminatev") == "std::terminate");
  CHECK(short_form("_ZSt13__invoke_implIvRZ4mainEUlvE_JEET_St14__invoke_otherOT0_DpOT1_") ==
        "std::__invoke_impl");
  CHECK(short_form("_ZZSt4sortIPiEvT_S1_ENKUlvE_clEv.actor") == "lambda in std::sort");
  CHECK(short_form("_ZNSt6thread4joinEv") == "std::thread::join");
}
TEST_CASE("short names: template arguments may be lambdas and other local types") {
  CHECK(
      short_form("_ZN3net10accept_allINS_6socketEZZ3allB17compiled_by_clangRNS_10io_serviceEENK3$_0clEvEUlS1_"
                 "E_EENS_4taskIvEERT_RT0_.resume") == "net::accept_all");
  for (const char* local :
       {"Z3runvEUlvE_", "Z3runvEUlvE12_", "Z3runvE5local", "Z3runvE5local_9", "Z3runvE5local__10_",
        "Z3runvEUt_", "Z3runvEUt3_", "ZN3appC1EvEUlNS_4nextEE_", "ZL3runvE3$_0",
        "ZN12_GLOBAL__N_1L3runEvEUlNS_4nextEE_", "ZZ4mainENKUlvE_clEvEUliE0_"})
    CHECK(short_form(("_ZN3net6handleI" + std::string(local) + "iEEvT_T0_").c_str()) == "net::handle");
}
TEST_CASE("short names: template arguments may have constraints, as clang writes them, and expressions") {
  CHECK(short_form(
            "_ZN3app9make_taskITkNS_9awaitableENS_4jobsIZ4mainE3$_1JEEEEENS_4taskB5clangIvEET_.resume") ==
        "app::make_task");
  CHECK(short_form(
            "_ZN3app5serveITkNS_8listenerENS_6socketETkNS_7handlerIDTcldtclsr3stdE7declvalIRNSt16remove_"
            "referenceIDTclsr3appE11get_awaiterclsr3stdE7declvalIDTcldtclsr3stdE7declvalIRT_EE6accepttlNS_"
            "4stopEEEEEEEEE4typeEEE12await_resumeEEEEZ4mainE3$_0EENS_4taskB5clangIvEES7_T0_.resume") ==
        "app::serve");
  CHECK(
      short_form(
          "_ZN3app4sendINS_6socketEQoosr3stdE7same_asIT_S1_Esr3stdE7same_asIS2_NS_4pipeEEEENS_4taskImEERS2_."
          "resume") == "app::send");
}
TEST_CASE("short names: a function object is called by operator()") {
  CHECK(short_form("_ZN3app7handlerclB5clangEi.resume") == "app::handler::operator()");
  CHECK(short_form("_ZN3app7handlerclINS_6socketEEEDaT_.actor") == "app::handler::operator()");
}
TEST_CASE("short names: what cannot be read stays as it is") {
  for (const char* symbol :
       {"main", "", "_Z", "_ZN", "_ZN3ap", "_Z99999999999x", "_ZN3appI", "_ZZ4mainEN1A1fEv", "_ZN3appIL"})
    CHECK(short_form(symbol) == symbol);
}
TEST_CASE("mappings: lines of the kernel's list") {
  const detail::mapping code =
      detail::mapping_of_line("55e0a000-55e0b000 r-xp 00002000 08:01 1234       /bin/a b");
  CHECK(code.begin == 0x55e0a000);
  CHECK(code.end == 0x55e0b000);
  CHECK(code.offset == 0x2000);
  CHECK(code.is_executable);
  CHECK_FALSE(code.is_writable);
  CHECK(std::string(code.path) == "/bin/a b");
  const detail::mapping memory = detail::mapping_of_line("7ffd0000-7ffd1000 rw-p 00000000 00:00 0 ");
  CHECK(memory.is_writable);
  CHECK_FALSE(memory.is_executable);
  CHECK(std::string(memory.path).empty());
  CHECK(detail::mapping_of_line("").end == 0);
  CHECK(detail::mapping_of_line("55e0").end == 0);
}
TEST_CASE("process_memory: an address without memory reads as nothing") {
  const detail::process_memory memory(getpid());
  const std::uintptr_t word = 0x1234567;
  CHECK(memory.word(reinterpret_cast<std::uintptr_t>(&word)) == word);
  CHECK(memory.word(8) == 0);
  CHECK(memory.word(~std::uintptr_t{7}) == 0);
}
