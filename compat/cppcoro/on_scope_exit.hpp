// cppcoro/on_scope_exit.hpp -- coracle's scope guards under their old names.
// SPDX-License-Identifier: MIT
#pragma once
#include <coracle/utility/on_scope_exit.hpp>

namespace cppcoro {
using coracle::on_scope_exit;
using coracle::on_scope_failure;
using coracle::on_scope_success;

template <class Function>
using scoped_lambda = coracle::detail::scope_guard<Function, coracle::detail::scope_end::any>;
template <class Function, bool OnFailure>
using conditional_scoped_lambda =
    coracle::detail::scope_guard<Function, OnFailure ? coracle::detail::scope_end::failure
                                                     : coracle::detail::scope_end::success>;
}  // namespace cppcoro
