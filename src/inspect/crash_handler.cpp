// SPDX-License-Identifier: MIT
#include <cxxabi.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unwind.h>

#include <coracle/base/atomic.hpp>
#include <coracle/base/check.hpp>
#include <coracle/inspect/crash_handler.hpp>
#include <coracle/inspect/exception_trace.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <typeinfo>

#include "awaits.hpp"
#include "symbol_names.hpp"

namespace coracle {
namespace detail {
namespace {
constexpr int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr std::size_t most_frames = 64;
constexpr std::size_t most_on_stack = 16 << 10;  // the part of one function's stack that is searched
constexpr std::size_t stack_for_signals = 64 << 10;

using line = fixed_text<512>;

#if defined(__x86_64__)
constexpr int kept_registers[] = {3, 6, 12, 13, 14, 15};  // callee-saved registers, by their DWARF numbers
std::uintptr_t counter_of(const ucontext_t& at) noexcept {
  return static_cast<std::uintptr_t>(at.uc_mcontext.gregs[REG_RIP]);
}
#elif defined(__aarch64__)
constexpr int kept_registers[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
std::uintptr_t counter_of(const ucontext_t& at) noexcept { return at.uc_mcontext.pc; }
#else
constexpr int kept_registers[] = {};
std::uintptr_t counter_of(const ucontext_t&) noexcept { return 0; }
#endif

/// A function on the machine's stack.
struct machine_frame {
  std::uintptr_t counter = 0;
  std::uintptr_t stack_pointer = 0;
  std::uintptr_t registers[std::size(kept_registers) + 1] = {};
};
struct machine_stack {
  machine_frame frames[most_frames];
  std::size_t count = 0;
  std::uintptr_t from =
      0;  ///< frames above the one with this counter are the handler's; 0: every frame counts
  bool has_begun = false;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* stack) {
  auto& to = *static_cast<machine_stack*>(stack);
  int is_before_instruction = 0;
  const std::uintptr_t counter = _Unwind_GetIPInfo(context, &is_before_instruction);
  if (counter == to.from || to.from == 0) to.has_begun = true;
  if (!to.has_begun) return _URC_NO_REASON;
  if (to.count == most_frames || counter == 0) return _URC_END_OF_STACK;
  machine_frame& added = to.frames[to.count++];
  added.counter = is_before_instruction ? counter : counter - 1;  // inside the call, not after it
  added.stack_pointer = _Unwind_GetCFA(context);
  std::size_t i = 0;
  for (const int number : kept_registers) added.registers[i++] = _Unwind_GetGR(context, number);
  return _URC_NO_REASON;
}

/// Reports what is known about a crash. Exists once per process: its buffers are static, since a signal stack
/// is small.
class crash_report {
 public:
  crash_report(symbols& names, const process_memory& memory, machine_stack& stack) noexcept
      : names_(names), memory_(memory), reader_(memory, names), stack_(stack) {}

  void write() noexcept {
    bool any = false;
    for (std::size_t i = 0; i != stack_.count; ++i) {
      const std::uintptr_t frame = coroutine_run_by(i);
      if (frame == 0 || frame == last_) continue;
      if (!any) text_.add("coroutines, innermost first:\n").write_to(STDERR_FILENO);
      any = true;
      write_awaits(frame, stack_.frames[i].counter);
    }
    if (!any) {
      text_.add(names_.has_any() ? "no coroutine runs on this thread\n"
                                 : "the program has no symbol table, so its coroutines are not known\n");
      text_.write_to(STDERR_FILENO);
    }
    text_.add("machine's stack:\n").write_to(STDERR_FILENO);
    for (std::size_t i = 0; i != stack_.count; ++i) write_line(i, stack_.frames[i].counter);
  }

 private:
  /// Returns the frame of the coroutine whose body is the function on the stack, or 0. The function stores
  /// its address in a register or on its stack.
  std::uintptr_t coroutine_run_by(std::size_t index) noexcept {
    const machine_frame& at = stack_.frames[index];
    const function_symbol function = names_.at(at.counter);
    if (!function.name || !is_body(function.name)) return 0;
    for (const std::uintptr_t kept : at.registers) {
      if (is_frame_of(kept, function)) return kept;
    }
    std::uintptr_t words[512];
    std::uintptr_t end = at.stack_pointer + most_on_stack;
    if (index + 1 != stack_.count && stack_.frames[index + 1].stack_pointer < end)
      end = stack_.frames[index + 1].stack_pointer;
    for (std::uintptr_t from = at.stack_pointer; from < end; from += sizeof words) {
      const std::size_t wanted = end - from < sizeof words ? end - from : sizeof words;
      const std::size_t got = memory_.read(from, words, wanted);
      for (std::size_t i = 0; i != got / sizeof(std::uintptr_t); ++i) {
        if (is_frame_of(words[i], function)) return words[i];
      }
    }
    return 0;
  }
  static bool is_body(const char* name) noexcept {
    return role_of(name) == role::resume || std::strstr(name, ".resume.cold") ||
           std::strstr(name, ".actor.cold");
  }
  bool is_frame_of(std::uintptr_t address, const function_symbol& function) noexcept {
    if (address < 4096 || address % sizeof(void*) != 0) return false;
    const std::uintptr_t resumes = memory_.word(address);
    if (resumes == function.begin) return reader_.resume_function(address) != 0;
    // The cold part of a function has a symbol of its own.
    const char* const cold = std::strstr(function.name, ".cold");
    if (!cold || names_.role_at(resumes) != role::resume) return false;
    const char* const name = names_.at(resumes).name;
    const auto length = static_cast<std::size_t>(cold - function.name);
    return std::strlen(name) == length && std::memcmp(name, function.name, length) == 0;
  }

  void write_awaits(std::uintptr_t frame, std::uintptr_t counter) noexcept {
    for (std::size_t number = 0; frame != 0 && number != most_frames; ++number) {
      write_line(number, number == 0 ? counter : memory_.word(frame));
      const continuation next = reader_.continuation_of(frame);
      if (next.through != 0) {
        const char* const symbol = names_.at(next.through).name;
        const char* const known = kind_of_continuation(symbol).text;
        if (!known || *known) {
          text_.add(next.parent ? "    through " : "    ").add(known ? known : symbol).add("\n");
          text_.write_to(STDERR_FILENO);
        }
      }
      last_ = frame;
      frame = next.parent;
    }
  }
  void write_line(std::size_t number, std::uintptr_t counter) noexcept {
    const function_symbol found = names_.at(counter);
    short_name name;
    found.name ? append_short_name(found.name, name) : void(name.add("?"));
    text_.add("#").add_number(number).pad(4).add(name.c_str()).add("  (");
    if (found.in) {
      const char* const path = found.in->path.c_str();
      const char* const slash = std::strrchr(path, '/');
      text_.add(slash ? slash + 1 : path).add("+").add_address(counter - found.in->bias);
    } else {
      text_.add_address(counter);
    }
    text_.add(")\n").write_to(STDERR_FILENO);
  }

  symbols& names_;
  const process_memory& memory_;
  await_reader reader_;
  machine_stack& stack_;
  std::uintptr_t last_ = 0;
  line text_;
};

// The reporting thread; 0: none has crashed yet.
//   [C1] 0 -> thread  relaxed  only that thread uses the data below; the others wait for the end
constinit atomic<int> crashed_thread{0};
alignas(symbols) constinit unsigned char room_for_symbols[sizeof(symbols)] = {};
constinit machine_stack stack_of_crash{};

/// Returns false if this thread crashed while it was reporting. Threads that crash later do not return.
bool begin_report() noexcept {
  const int self = static_cast<int>(::syscall(SYS_gettid));
  int none = 0;
  const bool is_first = crashed_thread.compare_exchange_strong(none, self, memory_order_relaxed, /*C1*/
                                                               memory_order_relaxed);
  if (is_first) return true;
  while (none != self) ::pause();
  return false;
}

void report(std::uintptr_t counter) noexcept {
  stack_of_crash.from = counter;
  _Unwind_Backtrace(&add_frame, &stack_of_crash);
  if (!stack_of_crash.has_begun) {  // a jump to an address without code, as through a null function pointer
    stack_of_crash.from = 0;
    _Unwind_Backtrace(&add_frame, &stack_of_crash);
  }
  symbols& names = *::new (static_cast<void*>(room_for_symbols)) symbols(::getpid());
  const process_memory memory(::getpid());
  crash_report(names, memory, stack_of_crash).write();
}

const char* name_of(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGILL:
      return "SIGILL";
    case SIGFPE:
      return "SIGFPE";
    default:
      return "SIGABRT";
  }
}

void on_signal(int signal, siginfo_t* info, void* context) {
  if (begin_report()) {
    line text;
    text.add("coracle: ").add(name_of(signal));
    if (signal != SIGABRT) text.add(" at ").add_address(reinterpret_cast<std::uintptr_t>(info->si_addr));
    text.add(", thread ").add_number(static_cast<std::uintptr_t>(::syscall(SYS_gettid))).add("\n");
    text.write_to(STDERR_FILENO);
    report(counter_of(*static_cast<const ucontext_t*>(context)));
  }
  // SA_RESETHAND has restored the default action. A fault recurs on return; a sent signal does not.
  if (signal == SIGABRT || info->si_code <= 0) ::raise(signal);
}

/// Prints what trace_exceptions() has recorded of the uncaught exception. The program is not in a signal
/// handler here, but another thread may hold any lock.
void write_awaits_of_exception() noexcept {
  const async_stacktrace trace = trace_of(std::current_exception());
  if (trace.empty()) return;
  line text;
  text.add("it came through these awaits, innermost first:\n").write_to(STDERR_FILENO);
  CORACLE_TRY() { std::fputs(trace.to_string().c_str(), stderr); }
  CORACLE_CATCH_ALL() {}  // without memory they are not printed
}

[[noreturn]] void on_terminate() {
  if (begin_report()) {
    line text;
    text.add("coracle: std::terminate()");
    if (const std::type_info* const type = abi::__cxa_current_exception_type()) {
      text.add(", uncaught exception ").add(type->name());
#if defined(__cpp_exceptions)
      try {
        std::rethrow_exception(std::current_exception());
      } catch (const std::exception& error) {
        text.add(": ").add(error.what());
      } catch (...) {  // NOLINT: it has no text
      }
#endif
    }
    text.add("\n").write_to(STDERR_FILENO);
    write_awaits_of_exception();
    report(0);
  }
  ::signal(SIGABRT, SIG_DFL);
  ::abort();
}

/// Never freed: a thread may crash at any time.
void give_stack_for_signals() noexcept {
  stack_t now;
  if (::sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
  void* const memory = ::mmap(nullptr, stack_for_signals, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t own{};
  own.ss_sp = memory;
  own.ss_size = stack_for_signals;
  ::sigaltstack(&own, nullptr);
}
_Unwind_Reason_Code visit_nothing(_Unwind_Context*, void*) { return _URC_END_OF_STACK; }
}  // namespace
}  // namespace detail

void install_crash_handler() noexcept {
  detail::give_stack_for_signals();
  _Unwind_Backtrace(&detail::visit_nothing,
                    nullptr);  // what it loads the first time, it does not load in a crash
  struct sigaction action{};
  action.sa_sigaction = &detail::on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : detail::signals) ::sigaction(signal, &action, nullptr);
  std::set_terminate(&detail::on_terminate);
}
}  // namespace coracle
