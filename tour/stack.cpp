// tour/stack.cpp -- where the stack is now, and a thread with a stack of known bounds.
// SPDX-License-Identifier: MIT
#include "stack.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <system_error>

namespace tour {
namespace {
void require(int error, const char* what) {
  if (error) throw std::system_error(error, std::generic_category(), what);
}

/// Mapped memory with its lowest page made inaccessible.
class guarded_memory {
 public:
  explicit guarded_memory(std::size_t size)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))), size_(size + page_) {
    memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory_ == MAP_FAILED) require(errno, "mmap of a stack");
    ::mprotect(memory_, page_, PROT_NONE);
  }
  guarded_memory(const guarded_memory&) = delete;
  guarded_memory& operator=(const guarded_memory&) = delete;
  ~guarded_memory() { ::munmap(memory_, size_); }

  [[nodiscard]] char* usable() const { return static_cast<char*>(memory_) + page_; }
  [[nodiscard]] std::size_t usable_size() const { return size_ - page_; }

 private:
  std::size_t page_;
  std::size_t size_;
  void* memory_;
};

struct assignment {
  const std::function<void(stack_bounds)>& work;
  stack_bounds bounds;
};
void* carry_out(void* given) {
  const auto* const job = static_cast<const assignment*>(given);
  job->work(job->bounds);
  return nullptr;
}
}  // namespace

std::uintptr_t position_below() { return frame_position(); }

stack_bounds this_stack() {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0;
  require(::pthread_getattr_np(::pthread_self(), &attributes), "pthread_getattr_np");
  ::pthread_attr_getstack(&attributes, &lowest, &size);
  ::pthread_attr_destroy(&attributes);
  const auto at = reinterpret_cast<std::uintptr_t>(lowest);
  return {at, at + size};
}

void run_on_guarded_stack(std::size_t size, const std::function<void(stack_bounds)>& work) {
  const guarded_memory stack(size);
  const auto lowest = reinterpret_cast<std::uintptr_t>(stack.usable());
  assignment job{work, {lowest, lowest + size}};
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  require(::pthread_attr_setstack(&attributes, stack.usable(), stack.usable_size()), "pthread_attr_setstack");
  pthread_t thread{};
  const int error = ::pthread_create(&thread, &attributes, &carry_out, &job);
  ::pthread_attr_destroy(&attributes);
  require(error, "pthread_create");
  ::pthread_join(thread, nullptr);
}
}  // namespace tour
