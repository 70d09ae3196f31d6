// coracle/coracle.hpp -- everything.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/compose/fmap.hpp>
#include <coracle/compose/via.hpp>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/awaitable.hpp>
#include <coracle/core/environment.hpp>
#include <coracle/core/executor.hpp>
#include <coracle/core/expected.hpp>
#include <coracle/core/expected_coroutine.hpp>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/generator.hpp>
#include <coracle/core/meeting_promise.hpp>
#include <coracle/core/optional_coroutine.hpp>
#include <coracle/core/promise_parts.hpp>
#include <coracle/core/result.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/core/transfer.hpp>
#include <coracle/exec/inline_scheduler.hpp>
#include <coracle/exec/run_loop.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
