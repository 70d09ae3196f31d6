// bench/scenario/version_asio.cpp -- the version of Boost.Asio.
// SPDX-License-Identifier: MIT
#include <boost/version.hpp>

#include "scenario.hpp"

namespace {
const coracle_bench::registered_version version{"asio", BOOST_LIB_VERSION};
}
