// coracle/base/config.hpp -- the one place that asks which compiler this is.
// SPDX-License-Identifier: MIT
#pragma once

// What cannot be compiled is refused here, by one line. It is the name of a file that does not exist, because compilation goes
// on after an #error, and ends where an include fails.
#if !defined(__linux__)
#include <coracle needs Linux>
#elif !defined(__GNUC__)
#include <coracle needs g++ 12 or clang 19, or later>
#elif defined(__clang__) && __clang_major__ < 19
#include <coracle needs clang 19 or later, or g++ 12 or later>
#elif !defined(__clang__) && __GNUC__ < 12
#include <coracle needs g++ 12 or later, or clang 19 or later>
#elif __cplusplus < 202002L
#include <coracle needs C++20: compile with -std=c++20 or later>
#elif !defined(__LP64__)
#include <coracle needs a 64-bit target: compile without -m32>
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#include <coracle needs a little-endian target>
#endif

// 1 where a coroutine that returns a handle from await_suspend is continued by a tail call. g++ makes no
// such call at -O0 nor under ASan and TSan; there core/transfer.hpp goes through the thread's drain loop.
// g++ -O1 and -Og look like -O2 to the preprocessor: they need -foptimize-sibling-calls, which
// core/transfer.hpp verifies at start.
#if defined(__clang__)
#define CORACLE_TAIL_TRANSFER() 1
#elif defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CORACLE_TAIL_TRANSFER() 1
#else
#define CORACLE_TAIL_TRANSFER() 0
#endif

// Before a return of a call: it uses no stack. g++ makes tail calls where CORACLE_TAIL_TRANSFER() is 1.
#if defined(__clang__)
#define CORACLE_MUST_TAIL() [[clang::musttail]]
#else
#define CORACLE_MUST_TAIL()
#endif

// A function that calls what was compiled from no C++ function, so that no pointer has its type.
#if defined(__clang__)
#define CORACLE_CALLS_WITHOUT_TYPE() [[clang::no_sanitize("function")]]
#else
#define CORACLE_CALLS_WITHOUT_TYPE()
#endif

// 1 where only a flag decides whether tail calls are made, and no macro tells.
#if CORACLE_TAIL_TRANSFER() && !defined(__clang__)
#define CORACLE_TAIL_CALLS_BY_FLAG() 1
#else
#define CORACLE_TAIL_CALLS_BY_FLAG() 0
#endif

// 1 where another unit of this compiler may have the other value of CORACLE_TAIL_TRANSFER().
#if defined(__clang__)
#define CORACLE_MIXED_TRANSFER() 0
#else
#define CORACLE_MIXED_TRANSFER() 1
#endif

// Functions whose body depends on CORACLE_TAIL_TRANSFER() carry this, so that the linker never merges the
// version of an -O0 unit with that of an -O2 unit.
#if CORACLE_TAIL_TRANSFER()
#define CORACLE_TRANSFER_ABI()
#else
#define CORACLE_TRANSFER_ABI() [[gnu::abi_tag("drain")]]
#endif

// The same for a function that gives what a coroutine transfers to: one that is always inlined, and one that rarely runs.
#define CORACLE_INLINE_TRANSFER() CORACLE_TRANSFER_ABI() CORACLE_ALWAYS_INLINE()
#define CORACLE_RARE_TRANSFER() CORACLE_TRANSFER_ABI() CORACLE_COLD()

// 1: broken preconditions end the program with one line. Follows NDEBUG unless CORACLE_ENABLE_CHECKS says.
#if defined(CORACLE_ENABLE_CHECKS)
#define CORACLE_CHECKS() CORACLE_ENABLE_CHECKS
#elif defined(NDEBUG)
#define CORACLE_CHECKS() 0
#else
#define CORACLE_CHECKS() 1
#endif

#if defined(__cpp_exceptions)
#define CORACLE_EXCEPTIONS() 1
#else
#define CORACLE_EXCEPTIONS() 0
#endif

#if defined(__has_feature)
#define CORACLE_HAS_FEATURE(name) __has_feature(name)
#else
#define CORACLE_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || CORACLE_HAS_FEATURE(address_sanitizer)
#define CORACLE_ADDRESS_SANITIZER() 1
#else
#define CORACLE_ADDRESS_SANITIZER() 0
#endif

// 1 where the heap's addresses have 48 bits, nothing puts marks of its own into the others, and no leak checker, which looks
// for addresses as they are, has to find them. The heap of AArch64 may mark them, if only the environment asks for that.
#if defined(__x86_64__) && defined(__LP64__) && !CORACLE_ADDRESS_SANITIZER() &&      \
    !defined(__SANITIZE_HWADDRESS__) && !CORACLE_HAS_FEATURE(hwaddress_sanitizer) && \
    !CORACLE_HAS_FEATURE(leak_sanitizer)
#define CORACLE_ADDRESSES_LEAVE_BITS() 1
#else
#define CORACLE_ADDRESSES_LEAVE_BITS() 0
#endif

#define CORACLE_ALWAYS_INLINE() [[gnu::always_inline]] inline
#define CORACLE_NOINLINE() [[gnu::noinline]]
#define CORACLE_COLD() [[gnu::noinline, gnu::cold]]
#define CORACLE_VISIBLE() [[gnu::visibility("default")]]

// clang before 19 touches the frame after await_suspend has published it, and keeps the address of a
// thread-local across a suspension. Keeping both out of line cures it.
#if defined(__clang__) && __clang_major__ < 19
#define CORACLE_NOINLINE_SUSPEND() [[gnu::noinline]]
#define CORACLE_THREAD_LOCAL_ACCESS() [[gnu::noinline]]
#else
#define CORACLE_NOINLINE_SUSPEND()
#define CORACLE_THREAD_LOCAL_ACCESS() [[gnu::always_inline]]
#endif

// A slow path that saves every register itself, so that the fast path around its call saves none. It must
// not throw, because an unwinder restores only the usual registers, and is hidden, because lazy binding
// does not keep them all. Its name is its own, so that the linker never takes g++'s version, which saves the usual ones only.
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define CORACLE_SAVES_REGISTERS() \
  [[gnu::noinline, gnu::cold, gnu::visibility("hidden"), gnu::abi_tag("registers"), clang::preserve_most]]
#else
#define CORACLE_SAVES_REGISTERS() [[gnu::noinline, gnu::cold]]
#endif

// 1 where a co_await copies the awaiter that await_transform returns by reference, an rvalue too: it then
// stands in the frame twice, and the copy reads what was only just written (8 ns a mutex lock).
#if defined(__GNUC__) && !defined(__clang__)
#define CORACLE_COPIES_AWAITERS() 1
#else
#define CORACLE_COPIES_AWAITERS() 0
#endif

// 1 where await_suspend's handle is loaded from the frame: what it leads to is then better known before.
#if !defined(__clang__) && defined(__GNUC__)
#define CORACLE_LOADS_OWN_HANDLE() 1
#else
#define CORACLE_LOADS_OWN_HANDLE() 0
#endif

// From here on the compiler does not know where the pointer came from. No instruction.
#define CORACLE_HIDES_ORIGIN(pointer) __asm__("" : "+r"(pointer))

// For a function, or a frame, that a coroutine handle resumes and plain code made, or the other way round. clang gives the two
// kinds of function different calling conventions in its intermediate code. The machine code is the same, but where clang
// sees the callee of such a call, it treats the call as unreachable and deletes it.
#if defined(__clang__)
#define CORACLE_HIDES_RESUMED(pointer) CORACLE_HIDES_ORIGIN(pointer)
#else
#define CORACLE_HIDES_RESUMED(pointer) static_cast<void>(0)
#endif

// 1 where the compiler folds a coroutine that it sees into the one that awaits it (core/detail/folded_body.hpp). g++ never
// does. CORACLE_ENABLE_BODY_FOLDING=0, for the whole program, switches it off.
#if defined(__clang__) && (!defined(CORACLE_ENABLE_BODY_FOLDING) || CORACLE_ENABLE_BODY_FOLDING)
#define CORACLE_FOLDS_BODIES() 1
#else
#define CORACLE_FOLDS_BODIES() 0
#endif

// A class of one pointer with a destructor is passed and returned as the pointer is, where else its address is: a coroutine
// then gives its task to its awaiter in a register, not through memory. g++ cannot, so the two compilers' functions that
// pass one differ, and so do their names: a program that mixes them does not link, and the linker's message says which
// compiler the caller is of: undefined reference to `give[abi:compiled_by_clang]()'. The same goes for a program of which
// only a part folds bodies.
#if !defined(__clang__)
#define CORACLE_IN_A_REGISTER() [[gnu::abi_tag("compiled_by_gcc")]]
#define CORACLE_FOLDING_ABI()
#elif CORACLE_FOLDS_BODIES()
#define CORACLE_IN_A_REGISTER() [[clang::trivial_abi, gnu::abi_tag("compiled_by_clang")]]
#define CORACLE_FOLDING_ABI()
#else
#define CORACLE_IN_A_REGISTER() [[clang::trivial_abi, gnu::abi_tag("compiled_by_clang", "without_folding")]]
#define CORACLE_FOLDING_ABI() [[gnu::abi_tag("without_folding")]]
#endif

// 1 where g++ makes the coroutines, which then are written for it.
#if !defined(__clang__) && defined(__GNUC__)
#define CORACLE_GCC() 1
#else
#define CORACLE_GCC() 0
#endif

// With CORACLE_ENABLE_LIFETIME_CHECKS clang warns where a task outlives an argument that it refers to. Off by
// default: clang then also refuses each plain function that returns a task and does not carry
// CORACLE_CORO_WRAPPER(), and so std::function, std::invoke and std::exchange.
#if defined(CORACLE_ENABLE_LIFETIME_CHECKS) && defined(__clang__)
#define CORACLE_CORO_RETURN_TYPE() [[clang::coro_return_type, clang::coro_lifetimebound]]
#define CORACLE_CORO_WRAPPER() [[clang::coro_wrapper]]
#else
#define CORACLE_CORO_RETURN_TYPE()
#define CORACLE_CORO_WRAPPER()
#endif

// 1 where clang can also be told that an object keeps a parameter, which has to be passed by value for that.
#if defined(CORACLE_ENABLE_LIFETIME_CHECKS) && defined(__clang__) && \
    __has_cpp_attribute(clang::lifetime_capture_by)
#define CORACLE_CHECKS_CAPTURES() 1
#define CORACLE_KEPT_BY_THIS() [[clang::lifetime_capture_by(this)]]
#else
#define CORACLE_CHECKS_CAPTURES() 0
#define CORACLE_KEPT_BY_THIS()
#endif
