// examples/09_environment.cpp -- what every await passes down: stop token, deadline, task-local values.
// SPDX-License-Identifier: MIT
#include <coracle/coracle.hpp>
#include <cstdio>
#include <string>

const coracle::task_local<std::string> user{"nobody"};

coracle::task<> log(const char* what) {
  const std::string& who = co_await user.value();
  std::printf("%s: %s\n", who.c_str(), what);
}

coracle::task<> handle() {
  const coracle::stop_token token = co_await coracle::this_task::stop_token();
  co_await log(token.stop_requested() ? "stopped" : "at work");
}

coracle::task<> serve() {
  coracle::stop_source source;
  co_await log("hello");
  co_await coracle::with_value(handle(), user, "ada");
  source.request_stop();
  co_await coracle::stop_when(handle(), source.get_token());
}

int main() { coracle::sync_wait(serve()); }

// Output:
//   nobody: hello
//   ada: at work
//   nobody: stopped
