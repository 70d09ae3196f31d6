// coracle/base/view_interface.hpp -- std::ranges::view_interface, the range concepts and std::default_sentinel_t.
// SPDX-License-Identifier: MIT
#pragma once
#include <span>

// <ranges> triples the cost of generators/generator.hpp. libstdc++ keeps what that needs in small headers of its own,
// the last of which needs the others before it. A version that is not known yet may differ.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15 && __has_include(<bits/ranges_util.h>)
#include <bits/invoke.h>
#include <bits/ranges_util.h>
#else
#include <iterator>
#include <ranges>
#endif
