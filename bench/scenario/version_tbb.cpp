// bench/scenario/version_tbb.cpp -- the version of oneTBB.
// SPDX-License-Identifier: MIT
#include <tbb/version.h>

#include "scenario.hpp"

namespace {
const coracle_bench::registered_version version{"tbb", TBB_VERSION_STRING};
}
