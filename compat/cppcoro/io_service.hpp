// cppcoro/io_service.hpp -- coracle::io_service and its io_work_scope under their old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/io/io_service.hpp>
#include <cppcoro/cancellation_registration.hpp>
#include <cppcoro/cancellation_token.hpp>
#include <cppcoro/config.hpp>

namespace cppcoro {
using coracle::io_service;
using coracle::io_work_scope;
}  // namespace cppcoro
