// tour/run_program.hpp -- runs a program that was built with the tour, and reads what it prints.
// SPDX-License-Identifier: MIT
#pragma once
#include <string>

namespace tour {
/// The standard output of the program `name`, from the folder of the tour's own program. Throws
/// std::system_error if it cannot be run, std::runtime_error if it fails.
std::string output_of(const std::string& name);
}  // namespace tour
