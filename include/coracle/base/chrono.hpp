// coracle/base/chrono.hpp -- clocks, durations and their literals, without calendars and streams.
// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

// Everything that waits includes this. <chrono> is five times as long as the part that libstdc++ keeps in a
// header of its own. Unknown versions may have it elsewhere.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE <= 15 && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
