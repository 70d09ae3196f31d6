// tests/model/signal_route.cpp -- handlers on any thread, while the pipe is closed and another opened under
// its number.
// SPDX-License-Identifier: MIT
#include "../../src/io/signal_route.hpp"

#include "framework/model_test.hpp"

namespace {
using coracle::detail::plain;
using coracle::detail::signal_route;
using namespace coracle_test;

/// Written by handlers, read and freed by its owner: like a descriptor that is closed, and used again.
struct pipe {
  plain<bool> is_open = true;
};

/// What a handler does; it only reads, since several may write to a pipe at once.
void handle(signal_route& route, pipe& its) {
  route.pass([&](int number) {
    model_expect(number == 7, "the pipe that was opened");
    model_expect(its.is_open, "not closed yet");
  });
}
void use(signal_route& route, pipe& its) {
  its.is_open = true;
  const bool opened = route.open(7);
  model_expect(opened, "nobody else has it");
  model_expect(!route.open(8), "it is taken");
  route.close();
  its.is_open = false;
}

void one_handler() {
  signal_route route;
  pipe its;
  model_thread handler{[&] { handle(route, its); }};
  use(route, its);
  handler.join();
}
void opened_again() {
  signal_route route;
  pipe its;
  model_thread handler{[&] {
    handle(route, its);
    handle(route, its);
  }};
  use(route, its);
  use(route, its);
  handler.join();
}
void two_handlers() {
  signal_route route;
  pipe its;
  model_thread first{[&] { handle(route, its); }}, second{[&] { handle(route, its); }};
  use(route, its);
  first.join();
  second.join();
}
/// Two threads open it concurrently: one of them succeeds.
void two_owners() {
  signal_route route;
  bool mine = false, others = false;
  model_thread other{[&] { others = route.open(8); }};
  mine = route.open(7);
  other.join();
  model_expect(mine != others, "one of them has it");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.check("signal_route: one handler", model_test::all, one_handler);
  run.check("signal_route: opened again", model_test::all, opened_again);
  run.check("signal_route: two handlers", model_test::all, two_handlers);
  run.check("signal_route: two owners", model_test::all, two_owners);
  return run.finish();
}
