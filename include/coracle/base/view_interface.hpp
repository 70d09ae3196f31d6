// coracle/base/view_interface.hpp -- view_interface, range concepts and default_sentinel_t without <ranges>.
// SPDX-License-Identifier: MIT
#pragma once
#include <span>

// <ranges> triples the cost of generators/generator.hpp. libstdc++ keeps what that needs in small headers,
// the last of which requires the others before it. Unknown versions may differ.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15 && __has_include(<bits/ranges_util.h>)
#include <bits/invoke.h>
#include <bits/ranges_util.h>
#else
#include <iterator>
#include <ranges>
#endif
