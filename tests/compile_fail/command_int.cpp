// expect: an argument of a command is text: convert a number by std::to_string()
// tests/compile_fail/command_int.cpp -- a number among the arguments of a program.
// SPDX-License-Identifier: MIT
#include <coracle/io/command.hpp>

void wrong() {
  const coracle::command right{"sleep", "5", std::string("6"), std::string_view("7")};
#ifndef CORACLE_COMPILE_FAIL_CONTROL
  const coracle::command what{"sleep", 5};
#endif
}
