// tests/compat/cppcoro_headers_test.cpp -- cppcoro's headers, names and macros are all there.
// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cppcoro/async_auto_reset_event.hpp>
#include <cppcoro/async_generator.hpp>
#include <cppcoro/async_latch.hpp>
#include <cppcoro/async_manual_reset_event.hpp>
#include <cppcoro/async_mutex.hpp>
#include <cppcoro/async_scope.hpp>
#include <cppcoro/awaitable_traits.hpp>
#include <cppcoro/broken_promise.hpp>
#include <cppcoro/cancellation_registration.hpp>
#include <cppcoro/cancellation_source.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/config.hpp>
#include <cppcoro/coroutine.hpp>
#include <cppcoro/file.hpp>
#include <cppcoro/file_buffering_mode.hpp>
#include <cppcoro/file_open_mode.hpp>
#include <cppcoro/file_read_operation.hpp>
#include <cppcoro/file_share_mode.hpp>
#include <cppcoro/file_write_operation.hpp>
#include <cppcoro/filesystem.hpp>
#include <cppcoro/fmap.hpp>
#include <cppcoro/generator.hpp>
#include <cppcoro/inline_scheduler.hpp>
#include <cppcoro/io_service.hpp>
#include <cppcoro/is_awaitable.hpp>
#include <cppcoro/multi_producer_sequencer.hpp>
#include <cppcoro/net/ip_address.hpp>
#include <cppcoro/net/ip_endpoint.hpp>
#include <cppcoro/net/ipv4_address.hpp>
#include <cppcoro/net/ipv4_endpoint.hpp>
#include <cppcoro/net/ipv6_address.hpp>
#include <cppcoro/net/ipv6_endpoint.hpp>
#include <cppcoro/net/socket.hpp>
#include <cppcoro/net/socket_accept_operation.hpp>
#include <cppcoro/net/socket_connect_operation.hpp>
#include <cppcoro/net/socket_disconnect_operation.hpp>
#include <cppcoro/net/socket_recv_from_operation.hpp>
#include <cppcoro/net/socket_recv_operation.hpp>
#include <cppcoro/net/socket_send_operation.hpp>
#include <cppcoro/net/socket_send_to_operation.hpp>
#include <cppcoro/on_scope_exit.hpp>
#include <cppcoro/operation_cancelled.hpp>
#include <cppcoro/read_only_file.hpp>
#include <cppcoro/read_write_file.hpp>
#include <cppcoro/readable_file.hpp>
#include <cppcoro/recursive_generator.hpp>
#include <cppcoro/resume_on.hpp>
#include <cppcoro/round_robin_scheduler.hpp>
#include <cppcoro/schedule_on.hpp>
#include <cppcoro/sequence_barrier.hpp>
#include <cppcoro/sequence_range.hpp>
#include <cppcoro/sequence_traits.hpp>
#include <cppcoro/shared_task.hpp>
#include <cppcoro/single_consumer_async_auto_reset_event.hpp>
#include <cppcoro/single_consumer_event.hpp>
#include <cppcoro/single_producer_sequencer.hpp>
#include <cppcoro/static_thread_pool.hpp>
#include <cppcoro/sync_wait.hpp>
#include <cppcoro/task.hpp>
#include <cppcoro/when_all.hpp>
#include <cppcoro/when_all_ready.hpp>
#include <cppcoro/writable_file.hpp>
#include <cppcoro/write_only_file.hpp>
#include <string>

namespace {
// A value of each macro that a program may test; a name that is missing would read as 0.
#if !defined(CPPCORO_OS_WINNT) || CPPCORO_OS_WINNT || CPPCORO_COMPILER_MSVC
#error "coracle does not run on Windows"
#endif
#if !CPPCORO_OS_LINUX || !CPPCORO_COMPILER_GCC || !CPPCORO_COMPILER_SUPPORTS_SYMMETRIC_TRANSFER
#error "a macro is missing"
#endif
static_assert(CPPCORO_CPU_32BIT + CPPCORO_CPU_64BIT == 1);
static_assert(CPPCORO_CPU_X86 + CPPCORO_CPU_X64 <= 1);
static_assert(CPPCORO_CPU_CACHE_LINE == 64);
CPPCORO_FORCE_INLINE int force_inlined() { return 1; }
CPPCORO_NOINLINE int not_inlined() {
  CPPCORO_ASSUME(true);
  return force_inlined();
}

using cppcoro::awaitable_traits;
using cppcoro::is_awaitable_v;
using cppcoro::task;
using std::is_same_v;

static_assert(is_awaitable_v<task<int>> && is_awaitable_v<task<int>&> && is_awaitable_v<const task<int>&>);
static_assert(!is_awaitable_v<int> && !is_awaitable_v<cppcoro::generator<int>>);
static_assert(is_same_v<awaitable_traits<task<std::string>&>::await_result_t, std::string&>);
static_assert(is_same_v<awaitable_traits<task<std::string>>::await_result_t, std::string&&>);
static_assert(is_same_v<awaitable_traits<task<int>>::await_result_t, int>);
static_assert(is_same_v<awaitable_traits<task<int*>>::await_result_t, int*>);
static_assert(is_same_v<awaitable_traits<task<int&>>::await_result_t, int&>);
static_assert(is_same_v<awaitable_traits<task<>&>::await_result_t, void>);
static_assert(is_same_v<awaitable_traits<cppcoro::shared_task<int>>::await_result_t, int&>);

static_assert(is_same_v<cppcoro::coroutine_handle<>, std::coroutine_handle<>>);
static_assert(is_same_v<cppcoro::filesystem::path, std::filesystem::path>);
static_assert(is_same_v<cppcoro::file_read_operation, cppcoro::file_read_operation_cancellable>);
static_assert(is_same_v<cppcoro::file_write_operation, cppcoro::file_write_operation_cancellable>);

// What an aggregate requires of a member that its braces leave out: `struct shared { event done; }` and
// `shared{}`.
template <class T>
void take(const T&);
template <class T>
concept member_that_braces_may_leave_out = requires { take<T>({}); };
static_assert(member_that_braces_may_leave_out<cppcoro::async_auto_reset_event>);
static_assert(member_that_braces_may_leave_out<cppcoro::async_manual_reset_event>);
static_assert(member_that_braces_may_leave_out<cppcoro::async_mutex>);
static_assert(member_that_braces_may_leave_out<cppcoro::async_scope>);
static_assert(member_that_braces_may_leave_out<cppcoro::cancellation_source>);
static_assert(member_that_braces_may_leave_out<cppcoro::io_service>);
static_assert(member_that_braces_may_leave_out<cppcoro::round_robin_scheduler<4>>);
static_assert(member_that_braces_may_leave_out<cppcoro::sequence_barrier<std::size_t>>);
static_assert(member_that_braces_may_leave_out<cppcoro::single_consumer_async_auto_reset_event>);
static_assert(member_that_braces_may_leave_out<cppcoro::single_consumer_event>);
static_assert(member_that_braces_may_leave_out<cppcoro::static_thread_pool>);

TEST_CASE("cppcoro: every header of its own can be included, and its macros have values") {
  CHECK(not_inlined() == 1);
}
}  // namespace
