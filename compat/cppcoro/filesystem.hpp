// cppcoro/filesystem.hpp -- the namespace that the fork of cppcoro for C++20 gives a name.
// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>

namespace cppcoro {
namespace filesystem = std::filesystem;
}  // namespace cppcoro
