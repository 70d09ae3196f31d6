// coracle/base/config.hpp -- the one place that asks which compiler this is.
// SPDX-License-Identifier: MIT
#pragma once

// Rejects an unsupported compiler, language level or target with one line. The line includes a file that does
// not exist, because compilation continues after an #error but stops at a failed #include.
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

// What depends on the compiler alone.
//   CORACLE_GCC()                 1 if g++ compiles; some code is then written differently
//   CORACLE_MUST_TAIL()           in front of `return f();`: forces a tail call. g++ emits tail calls where
//                                 CORACLE_TAIL_TRANSFER() is 1
//   CORACLE_CALLS_WITHOUT_TYPE()  for a function that calls code which is no C++ function, so that no pointer
//                                 type matches it
//   CORACLE_HIDES_RESUMED(p)      for a function or frame that plain code makes and a coroutine handle
//                                 resumes, or the reverse. clang gives the two kinds of function different
//                                 calling conventions in its intermediate code. The machine code is the same,
//                                 but if clang sees the callee of such a call, it treats the call as
//                                 unreachable and deletes it
//   CORACLE_HIDES_ORIGIN(p)       hides the origin of the pointer from the compiler. Emits no instruction
#define CORACLE_HIDES_ORIGIN(pointer) __asm__("" : "+r"(pointer))
#if defined(__clang__)
#define CORACLE_GCC() 0
#define CORACLE_MUST_TAIL() [[clang::musttail]]
#define CORACLE_CALLS_WITHOUT_TYPE() [[clang::no_sanitize("function")]]
#define CORACLE_HIDES_RESUMED(pointer) CORACLE_HIDES_ORIGIN(pointer)
#else
#define CORACLE_GCC() 1
#define CORACLE_MUST_TAIL()
#define CORACLE_CALLS_WITHOUT_TYPE()
#define CORACLE_HIDES_RESUMED(pointer) static_cast<void>(0)
#endif

// 1 if co_await copies the awaiter that await_transform returns by reference, even an rvalue: the frame then
// holds it twice, and the copy reads what has only just been written (8 ns per mutex lock).
#define CORACLE_COPIES_AWAITERS() CORACLE_GCC()

// 1 if a frame whose body has begun belongs to the object that get_return_object() returned, also where an
// exception leaves the call, as CWG 2935 requires: g++ from 15 on. Other compilers destroy such a frame
// themselves.
#if CORACLE_GCC() && __GNUC__ >= 15
#define CORACLE_KEEPS_FRAME_AFTER_EXCEPTION() 1
#else
#define CORACLE_KEEPS_FRAME_AFTER_EXCEPTION() 0
#endif

// 1 if await_suspend's handle is loaded from the frame: it is then better to fetch what it refers to
// beforehand.
#define CORACLE_LOADS_OWN_HANDLE() CORACLE_GCC()

// 1 if the handle that await_suspend returns is resumed by a tail call. g++ emits no tail call at -O0 or
// under ASan and TSan; there core/transfer.hpp goes through the thread's drain loop. g++ -O1 and -Og look
// like -O2 to the preprocessor: they need -foptimize-sibling-calls, which core/transfer.hpp verifies at
// start-up.
#if !CORACLE_GCC() || \
    (defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__))
#define CORACLE_TAIL_TRANSFER() 1
#else
#define CORACLE_TAIL_TRANSFER() 0
#endif

// 1 if only a compiler flag decides whether tail calls are emitted, and no macro reveals it.
#define CORACLE_TAIL_CALLS_BY_FLAG() (CORACLE_TAIL_TRANSFER() && CORACLE_GCC())

// 1 if another translation unit of this compiler may have the other value of CORACLE_TAIL_TRANSFER().
#define CORACLE_MIXED_TRANSFER() CORACLE_GCC()

// Tags functions whose body depends on CORACLE_TAIL_TRANSFER(), so that the linker never merges the version
// of an -O0 unit with that of an -O2 unit.
#if CORACLE_TAIL_TRANSFER()
#define CORACLE_TRANSFER_ABI()
#else
#define CORACLE_TRANSFER_ABI() [[gnu::abi_tag("drain")]]
#endif

// The same for a function that returns the transfer target: one that is always inlined, and one that rarely
// runs.
#define CORACLE_INLINE_TRANSFER() CORACLE_TRANSFER_ABI() CORACLE_ALWAYS_INLINE()
#define CORACLE_RARE_TRANSFER() CORACLE_TRANSFER_ABI() CORACLE_COLD()

#if defined(__cpp_exceptions)
#define CORACLE_EXCEPTIONS() 1
#else
#define CORACLE_EXCEPTIONS() 0
#endif

// Tags an inline function or a type that is different where exceptions are disabled, so that the linker never
// gives such a unit the other kind, which the libraries use, or the libraries this kind. A declaration can
// have only one list of tags, so CORACLE_ABI_TAGS(), for further ones, includes it.
#if CORACLE_EXCEPTIONS()
#define CORACLE_THROWS_ABI()
#define CORACLE_ABI_TAGS(...) [[gnu::abi_tag(__VA_ARGS__)]]
#else
#define CORACLE_THROWS_ABI() [[gnu::abi_tag("without_exceptions")]]
#define CORACLE_ABI_TAGS(...) [[gnu::abi_tag("without_exceptions", __VA_ARGS__)]]
#endif

// 1 in checked builds: violated preconditions end the program with one line. Follows NDEBUG unless
// CORACLE_ENABLE_CHECKS is defined.
#if defined(CORACLE_ENABLE_CHECKS)
#define CORACLE_CHECKS() CORACLE_ENABLE_CHECKS
#elif defined(NDEBUG)
#define CORACLE_CHECKS() 0
#else
#define CORACLE_CHECKS() 1
#endif

// Tags types whose layout or marks depend on CORACLE_CHECKS(), so that the linker never gives a unit the
// functions for those of the other kind.
#if CORACLE_CHECKS()
#define CORACLE_CHECKED_ABI() CORACLE_ABI_TAGS("checked")
#else
#define CORACLE_CHECKED_ABI() CORACLE_THROWS_ABI()
#endif

// 0 if coroutine frames must not come from the heap: CORACLE_ENABLE_HEAP_FRAMES=0, docs/without-a-heap.md.
#if defined(CORACLE_ENABLE_HEAP_FRAMES)
#define CORACLE_HEAP_FRAMES() CORACLE_ENABLE_HEAP_FRAMES
#else
#define CORACLE_HEAP_FRAMES() 1
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

#if defined(__SANITIZE_THREAD__) || CORACLE_HAS_FEATURE(thread_sanitizer)
#define CORACLE_THREAD_SANITIZER() 1
#else
#define CORACLE_THREAD_SANITIZER() 0
#endif

// 1 if heap addresses have 48 bits, nothing else uses the remaining bits, and no leak checker, which searches
// for unmodified addresses, has to find them. On AArch64 an environment variable can make the heap tag
// addresses. CORACLE_FRAME_LINKS() is the namespace of what depends on it: translation units with and without
// AddressSanitizer use separate lists of free frames, even within one program.
#if defined(__x86_64__) && !CORACLE_ADDRESS_SANITIZER() && !defined(__SANITIZE_HWADDRESS__) && \
    !CORACLE_HAS_FEATURE(hwaddress_sanitizer) && !CORACLE_HAS_FEATURE(leak_sanitizer)
#define CORACLE_ADDRESSES_LEAVE_BITS() 1
#define CORACLE_FRAME_LINKS() links_of_one_word
#else
#define CORACLE_ADDRESSES_LEAVE_BITS() 0
#define CORACLE_FRAME_LINKS() links_of_two_words
#endif

#define CORACLE_ALWAYS_INLINE() [[gnu::always_inline]] inline
#define CORACLE_NOINLINE() [[gnu::noinline]]
#define CORACLE_COLD() [[gnu::noinline, gnu::cold]]
#define CORACLE_VISIBLE() [[gnu::visibility("default")]]
// A function that reads memory near an object, which may belong to something else.
#define CORACLE_READS_NEAR_OBJECTS() __attribute__((no_sanitize("address", "thread"), noinline))
// A function that only throws, or ends the program.
#define CORACLE_FAILS() [[noreturn, gnu::noinline, gnu::cold]]

// A slow path that saves every register itself, so that the fast path around the call saves none. It must not
// throw, because an unwinder restores only the usual registers; it is hidden, because lazy binding does not
// preserve them all. The name is tagged, so that the linker never picks g++'s version, which saves only the
// usual ones.
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define CORACLE_SAVES_REGISTERS() \
  [[gnu::noinline, gnu::cold, gnu::visibility("hidden"), gnu::abi_tag("registers"), clang::preserve_most]]
#else
#define CORACLE_SAVES_REGISTERS() [[gnu::noinline, gnu::cold]]
#endif

// 1 if a comparison with a word in memory takes one instruction only by assembly: g++ 12 first loads an
// atomic word into a register.
#if CORACLE_GCC() && defined(__x86_64__)
#define CORACLE_COMPARES_BY_ASM() 1
#else
#define CORACLE_COMPARES_BY_ASM() 0
#endif

// 1 if the compiler folds visible coroutines into the coroutines that await them
// (core/detail/folded_body.hpp). g++ never does. CORACLE_ENABLE_BODY_FOLDING=0, for the whole program,
// disables it.
#if defined(__clang__) && (!defined(CORACLE_ENABLE_BODY_FOLDING) || CORACLE_ENABLE_BODY_FOLDING)
#define CORACLE_FOLDS_BODIES() 1
#else
#define CORACLE_FOLDS_BODIES() 0
#endif

// Passes and returns a class of one pointer with a destructor like the pointer itself, instead of by address:
// a coroutine then hands its task to its awaiter in a register, not through memory. g++ cannot, so functions
// of the two compilers that pass one differ, and so do their names: a program that mixes them does not link,
// and the linker's message names the caller's compiler: undefined reference to
// `give[abi:compiled_by_clang]()'. The same holds for a program that folds bodies, or disables exceptions,
// only in part.
#if !defined(__clang__)
#define CORACLE_IN_A_REGISTER() CORACLE_ABI_TAGS("compiled_by_gcc")
#define CORACLE_FOLDING_ABI() CORACLE_THROWS_ABI()
#elif CORACLE_FOLDS_BODIES()
#define CORACLE_IN_A_REGISTER() [[clang::trivial_abi]] CORACLE_ABI_TAGS("compiled_by_clang")
#define CORACLE_FOLDING_ABI() CORACLE_THROWS_ABI()
#else
#define CORACLE_IN_A_REGISTER() \
  [[clang::trivial_abi]] CORACLE_ABI_TAGS("compiled_by_clang", "without_folding")
#define CORACLE_FOLDING_ABI() CORACLE_ABI_TAGS("without_folding")
#endif

// With CORACLE_ENABLE_LIFETIME_CHECKS clang warns about a task that outlives an argument to which it refers.
// Off by default: clang then also rejects every plain function that returns a task without
// CORACLE_CORO_WRAPPER(), and so std::function, std::invoke and std::exchange.
#if defined(CORACLE_ENABLE_LIFETIME_CHECKS) && defined(__clang__)
#define CORACLE_CORO_RETURN_TYPE() [[clang::coro_return_type, clang::coro_lifetimebound]]
#define CORACLE_CORO_WRAPPER() [[clang::coro_wrapper]]
// A wrapper whose task does not refer to the arguments.
#define CORACLE_CORO_UNBOUND() [[clang::coro_wrapper, clang::coro_disable_lifetimebound]]
#else
#define CORACLE_CORO_RETURN_TYPE()
#define CORACLE_CORO_WRAPPER()
#define CORACLE_CORO_UNBOUND()
#endif

// 1 if clang can also be told that an object keeps a parameter, which must then be passed by value.
#if defined(CORACLE_ENABLE_LIFETIME_CHECKS) && defined(__clang__) && \
    __has_cpp_attribute(clang::lifetime_capture_by)
#define CORACLE_CHECKS_CAPTURES() 1
#define CORACLE_KEPT_BY_THIS() [[clang::lifetime_capture_by(this)]]
#else
#define CORACLE_CHECKS_CAPTURES() 0
#define CORACLE_KEPT_BY_THIS()
#endif
