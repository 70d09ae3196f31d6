// expect: select needs awaitables: operations such as channel.recv(), calls that return tasks, or std::move of tasks that have a name
// tests/compile_fail/select_int.cpp -- something that nobody can await among the branches.
// SPDX-License-Identifier: MIT
#include <coracle/channels/channel.hpp>
#include <coracle/compose/select.hpp>
#include <coracle/core/task.hpp>

#ifndef CORACLE_COMPILE_FAIL_CONTROL
coracle::task<> wrong(coracle::channel<int>& ch) { co_await coracle::select(ch.recv(), 42); }
#endif
