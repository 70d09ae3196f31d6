// tests/debugger/frames.cpp -- hangs with frames in use, and with free ones: small ones, and many large ones.
// SPDX-License-Identifier: MIT
#include <sys/prctl.h>

#include <coracle/coracle.hpp>
#include <cstdio>

namespace {
using namespace coracle;
async_manual_reset_event closed;

struct page {
  char bytes[2000];
};
task<> print_later(page of) {
  std::snprintf(of.bytes, sizeof of.bytes, "not yet");
  co_await closed;
  std::puts(of.bytes);
}
task<> wait_until_closed() { co_await closed; }
task<> tell_that_it_hangs() {
  std::puts("hangs");
  std::fflush(stdout);
  co_return;
}
void keep_frames_of_pages() {
  task<> made[300];
  for (task<>& each : made) each = print_later({});
}
void keep_small_frames() {
  task<> made[40];
  for (task<>& each : made) each = wait_until_closed();
}
}  // namespace

int main() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger of this user may attach
  keep_frames_of_pages();
  keep_small_frames();
  sync_wait(when_all(print_later({}), wait_until_closed(), wait_until_closed(), tell_that_it_hangs()));
}
