#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// A test forks a child to check the message with which it ends; that child may start threads of its own.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
