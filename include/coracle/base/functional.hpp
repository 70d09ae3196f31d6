// coracle/base/functional.hpp -- std::function and std::reference_wrapper without all of <functional>.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

// The rest of <functional> includes <unordered_map>, <vector>, <array> and the algorithms: seven times as
// many lines. Unknown versions may have these two elsewhere.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15 && __has_include(<bits/std_function.h>)
#include <bits/std_function.h>
#else
#include <functional>
#endif
