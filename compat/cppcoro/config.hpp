// cppcoro/config.hpp -- the macros that cppcoro's users test, for the compilers that coracle supports.
// SPDX-License-Identifier: MIT
#pragma once

#define CPPCORO_COMPILER_MSVC 0
#if defined(__clang__)
#define CPPCORO_COMPILER_CLANG (__clang_major__ * 10000 + __clang_minor__ * 100 + __clang_patchlevel__)
#else
#define CPPCORO_COMPILER_CLANG 0
#endif
#define CPPCORO_COMPILER_GCC (__GNUC__ * 10000 + __GNUC_MINOR__ * 100 + __GNUC_PATCHLEVEL__)

// coracle bounds the stack in every build, also where the compiler makes no tail call.
#define CPPCORO_COMPILER_SUPPORTS_SYMMETRIC_TRANSFER 1

#define CPPCORO_ASSUME(condition)
#define CPPCORO_NOINLINE __attribute__((noinline))
#if defined(__clang__)
#define CPPCORO_FORCE_INLINE __attribute__((always_inline))
#else
#define CPPCORO_FORCE_INLINE inline
#endif

#define CPPCORO_OS_WINNT 0
#if defined(__linux__)
#define CPPCORO_OS_LINUX 1
#else
#define CPPCORO_OS_LINUX 0
#endif

#if defined(__i386__)
#define CPPCORO_CPU_X86 1
#else
#define CPPCORO_CPU_X86 0
#endif
#if defined(__x86_64__)
#define CPPCORO_CPU_X64 1
#else
#define CPPCORO_CPU_X64 0
#endif
#if __SIZEOF_POINTER__ == 4
#define CPPCORO_CPU_32BIT 1
#define CPPCORO_CPU_64BIT 0
#else
#define CPPCORO_CPU_32BIT 0
#define CPPCORO_CPU_64BIT 1
#endif
#define CPPCORO_CPU_CACHE_LINE 64
