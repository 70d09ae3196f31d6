// tests/probes/inspector_memory.cpp -- an inspector that runs out of memory while it answers.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <coracle/core/frame_memory.hpp>
#include <coracle/core/task.hpp>
#include <coracle/inspect/inspector.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/testing/poll.hpp>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "../support/expect.hpp"
#include "../support/raw_client.hpp"

namespace {
/// Which of the next allocations of the inspector's thread fails, counted from 1; 0 if none does.
std::atomic<int> until_failure{0};

bool is_thread_of_inspector() noexcept {
  char name[16];
  return ::prctl(PR_GET_NAME, name) == 0 && std::strcmp(name, "coracle-inspect") == 0;
}
}  // namespace

void* operator new(std::size_t size) {
  const bool fails = until_failure != 0 && is_thread_of_inspector() && until_failure.fetch_sub(1) == 1;
  void* const block = fails ? nullptr : std::malloc(size);
  if (!block) throw std::bad_alloc();
  return block;
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace {
using coracle::inspector;
using coracle_test::answer_to, coracle_test::expect, coracle_test::get, coracle_test::tcp_client;

coracle::task<> wait_for(const coracle::async_manual_reset_event& event) { co_await event; }

std::string answer_of(const inspector& here, const std::string& path) {
  const std::string url = here.url();
  const auto port = static_cast<unsigned short>(std::atoi(url.c_str() + std::strlen("http://127.0.0.1:")));
  return answer_to<tcp_client>(port, get(path + url.substr(url.find('?'))));
}

int count_descriptors() {
  int found = 0;
  for (int each = 0; each != 1024; ++each) found += ::fcntl(each, F_GETFD) >= 0;
  return found;
}

/// Returns false if the first request makes fewer allocations.
bool survives_failure_of(int allocation, const std::string& path, const std::string& whole) {
  const inspector here;
  until_failure = allocation;
  const std::string answer = answer_of(here, path);
  const bool has_failed = until_failure.exchange(0) == 0;
  expect(answer.empty() || answer == whole, "the whole answer, or none");
  expect(has_failed || answer == whole, "the whole answer, as nothing has failed");
  expect(answer_of(here, path) == whole, "the next request is answered as ever");
  return has_failed;
}

/// The system has no memory for the stack of the thread: it is larger than the address space.
void refuses_to_begin_without_a_thread() {
  pthread_attr_t before, larger;
  ::pthread_getattr_default_np(&before);
  ::pthread_getattr_default_np(&larger);
  ::pthread_attr_setstacksize(&larger, std::size_t{1} << 47);
  expect(::pthread_setattr_default_np(&larger) == 0, "stacks of threads are large");
  const std::string path = "/tmp/coracle_inspector_" + std::to_string(::getpid());
  std::string said;
  try {
    const inspector never("unix:" + path);
  } catch (const std::system_error& failure) {
    said = failure.what();
  }
  expect(said == "coracle::inspector cannot start: Resource temporarily unavailable", "it says why");
  expect(::access(path.c_str(), F_OK) != 0, "its file is removed");
  ::pthread_setattr_default_np(&before);
  ::pthread_attr_destroy(&larger);
  ::pthread_attr_destroy(&before);
}
}  // namespace

int main() {
  coracle::async_manual_reset_event event;
  auto waits = coracle::testing::poll(wait_for(event));
  coracle::reserve_frame_memory(1000, 5);
  const std::string memory = answer_of(inspector(), "/memory");
  expect(memory.find(R"({"size":1000,"live":0,"free_in_threads":5,)") != memory.npos, "the free frames");
  expect(memory.find("\"live\":1,") != memory.npos, "the frame in use");
  const int descriptors = count_descriptors();
  for (const char* path : {"/memory", "/coroutines"}) {
    const std::string whole = answer_of(inspector(), path);
    int allocation = 1;
    while (survives_failure_of(allocation, path, whole)) ++allocation;
    expect(allocation > 20, "more than these allocations have failed");
  }
  expect(::waitpid(-1, nullptr, WNOHANG | __WALL) < 0 && errno == ECHILD,
         "no copy of the process is left behind");
  refuses_to_begin_without_a_thread();
  expect(count_descriptors() == descriptors, "and no descriptor left open");
  event.set();
  expect(waits.run(), "the coroutine goes on");
  return coracle_test::exit_status("inspector_memory: everything as expected");
}
