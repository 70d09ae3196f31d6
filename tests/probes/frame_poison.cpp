// tests/probes/frame_poison.cpp -- does code touch a coroutine's frame after await_suspend has given it away?
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <coracle/compose/when_all.hpp>
#include <coracle/core/schedule.hpp>
#include <coracle/core/task.hpp>
#include <coracle/sync/async_auto_reset_event.hpp>
#include <coracle/sync/async_manual_reset_event.hpp>
#include <coracle/sync/async_mutex.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

// Each frame lives alone on pages of its own, which nobody may touch any more once it is freed. So any access
// after that ends the child process that the shape runs in.
namespace {

void* take_pages(std::size_t size) {
  void* const pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  return pages;
}
void poison_pages(void* pages, std::size_t size) noexcept {
  if (::mprotect(pages, size, PROT_NONE) != 0) std::abort();
}

/// Promise part: frames on pages of their own.
struct poisoned_frames {
  static void* operator new(std::size_t size) { return take_pages(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { poison_pages(frame, size); }
};
/// The same for a task, as its allocator.
template <class T>
struct page_allocator {
  using value_type = T;
  page_allocator() noexcept = default;
  template <class U>
  explicit page_allocator(const page_allocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return static_cast<T*>(take_pages(n * sizeof(T))); }
  void deallocate(T* memory, std::size_t n) noexcept { poison_pages(memory, n * sizeof(T)); }
};

/// Runs at once and frees itself at its end.
struct poisoned {
  struct promise_type : coracle::part::starts_eagerly,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything,
                        poisoned_frames {
    poisoned get_return_object() const noexcept { return {}; }
  };
};

int after_end = 0;          ///< 1: an await_suspend went on after its frame had ended
std::atomic<int> ended{0};  ///< frames that were freed while their await_suspend was running

/// Makes the compiler believe that `value` is used.
void use(const void* value) { asm volatile("" : : "r"(value) : "memory"); }
/// A value that the compiler does not know.
[[gnu::noinline]] int opaque(int value) {
  use(&value);
  return value;
}
struct counted {
  explicit counted(int value) { std::memset(bytes, value, sizeof bytes); }
  ~counted() { ++ended; }
  char bytes[256];
};

// ---- awaiters that give the frame away ------------------------------------------------------------------

void destroy(std::coroutine_handle<> h) { h.destroy(); }
void resume_here(std::coroutine_handle<> h) { h.resume(); }
void resume_elsewhere(std::coroutine_handle<> h) {
  std::thread([h] { h.resume(); }).join();
}
void destroy_elsewhere(std::coroutine_handle<> h) {
  std::thread([h] { h.destroy(); }).join();
}

/// Suspends in the way of `Returned`, and meanwhile does `give_away` to the coroutine.
template <class Returned>
class give_away_awaiter {
 public:
  give_away_awaiter(void (*give_away)(std::coroutine_handle<>), int* reached) noexcept
      : give_away_(give_away), reached_(reached) {}
  bool await_ready() const noexcept { return false; }
  Returned await_suspend(std::coroutine_handle<> suspended) noexcept {
    int* const reached = reached_;
    give_away_(suspended);  // *this is gone now
    *reached = 1;           // a local of await_suspend, but it came from the frame
    if constexpr (std::is_same_v<Returned, bool>) return true;
    if constexpr (std::is_same_v<Returned, std::coroutine_handle<>>) return std::noop_coroutine();
  }
  int await_resume() const noexcept { return 1; }

 private:
  void (*give_away_)(std::coroutine_handle<>);
  int* reached_;
  [[maybe_unused]] long size_[4] = {};
};

/// Destroys the coroutine without a call that the compiler could not look into.
template <class Returned>
class destroy_awaiter {
 public:
  explicit destroy_awaiter(int* reached) noexcept : reached_(reached) {}
  bool await_ready() const noexcept { return false; }
  Returned await_suspend(std::coroutine_handle<> suspended) noexcept {
    int* const reached = reached_;
    suspended.destroy();
    *reached = 1;
    if constexpr (std::is_same_v<Returned, bool>) return true;
    if constexpr (std::is_same_v<Returned, std::coroutine_handle<>>) return std::noop_coroutine();
  }
  int await_resume() const noexcept { return 1; }

 private:
  int* reached_;
  [[maybe_unused]] long size_[4] = {};
};

using way = void (*)(std::coroutine_handle<>);

template <class Returned>
poisoned plain(way give_away, int* reached) {
  const counted end(1);
  const int one = co_await give_away_awaiter<Returned>(give_away, reached);
  use(&one);
}
template <class Returned>
poisoned named_awaiter(way give_away, int* reached) {
  const counted end(2);
  give_away_awaiter<Returned> awaiter(give_away, reached);
  const int one = co_await awaiter;
  use(&one);
}
template <class Returned>
poisoned last_of_loop(way give_away, int* reached) {
  const counted end(3);
  for (int i = 0; i != 4; ++i) {
    // Before the last turn it goes on by itself, from inside await_suspend.
    const int one = co_await give_away_awaiter<Returned>(i == 3 ? give_away : &resume_here, reached);
    use(&one);
    use(&end.bytes[i]);
  }
}
template <class Returned>
poisoned in_try(way give_away, int* reached) {
  try {
    const counted end(4);
    const std::string text(100, 'x');
    const int index = opaque(3);  // needed again afterwards, so it is kept in the frame
    const int one = co_await give_away_awaiter<Returned>(give_away, reached);
    use(&end.bytes[opaque(one + index)]);
    use(text.data());
  } catch (...) {
    use(&give_away);
  }
}
/// The same, with nothing that hides the end of the frame from the compiler.
template <class Returned>
poisoned in_try_destroyed_inline(int* reached) {
  try {
    const counted end(4);
    const int index = opaque(3);
    const int one = co_await destroy_awaiter<Returned>(reached);
    use(&end.bytes[opaque(one + index)]);
  } catch (...) {
    opaque(2);
  }
}
template <class Returned>
poisoned in_loop_destroyed_inline(int* reached) {
  const counted end(4);
  for (int i = 0; i != 4; ++i) {
    const int index = opaque(i);
    const int one = co_await destroy_awaiter<Returned>(reached);
    use(&end.bytes[opaque(one + index)]);
  }
}
template <class Returned>
poisoned with_temporaries(way give_away, int* reached) {
  const counted end(5);
  const std::size_t size =
      std::string(100, 'y').size() +
      static_cast<std::size_t>(co_await give_away_awaiter<Returned>(give_away, reached)) +
      std::string(50, 'z').size();
  use(&size);
}

// ---- coracle's own awaiters -----------------------------------------------------------------------------

/// Breaks the rule of post(): resumes at once, so that the coroutine ends inside its own await_suspend.
struct at_once final : coracle::executor {
  void post(coracle::resumption& item) noexcept override { coracle::resume(item.handle); }
};

at_once place;
poisoned hop() {
  const counted end(6);
  co_await coracle::scheduler_ref(&place).schedule();
  use(&end);
}

coracle::task<int> child(std::allocator_arg_t, page_allocator<int>) {
  const counted end(7);
  co_return 1;
}
poisoned await_child() {
  const counted end(8);
  const int one = co_await child(std::allocator_arg, page_allocator<int>{});
  use(&one);
}
coracle::task<int> suspended_child(std::allocator_arg_t, page_allocator<int>, way give_away) {
  const counted end(9);
  co_await give_away_awaiter<void>(give_away, &after_end);
  co_return 1;
}
poisoned await_suspended_child(way give_away) {
  const counted end(10);
  const int one = co_await suspended_child(std::allocator_arg, page_allocator<int>{}, give_away);
  use(&one);
}
poisoned await_children() {
  const counted end(11);
  auto a = child(std::allocator_arg, page_allocator<int>{});
  auto b = suspended_child(std::allocator_arg, page_allocator<int>{}, &resume_elsewhere);
  co_await coracle::when_all(std::move(a), std::move(b));
}

/// Transfers to a coroutine that destroys the one that transferred.
struct destroyer {
  struct promise_type : coracle::part::starts_lazily,
                        coracle::part::returns<void, coracle::part::terminates_on_error>,
                        coracle::part::frees_itself,
                        coracle::part::awaits_anything,
                        poisoned_frames {
    destroyer get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
  };
  std::coroutine_handle<> handle;
};
destroyer destroy_it(const std::coroutine_handle<>& victim) {
  victim.destroy();
  co_return;
}
std::coroutine_handle<> transferring;
class transfer_and_die {
 public:
  transfer_and_die() noexcept {}
  bool await_ready() const noexcept { return false; }
  CORACLE_TRANSFER_ABI()
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> suspended) noexcept {
    transferring = suspended;
    return coracle::transfer_to(destroy_it(transferring).handle);
  }
  void await_resume() const noexcept {}
};
poisoned transfer() {
  const counted end(12);
  co_await transfer_and_die{};
}

/// Another thread waits for the coroutine in the queue and ends it, at best while its await_suspend runs.
template <class Await, class Wake>
void race(Await await, Wake wake) {
  constexpr int rounds = 2000;
  std::atomic<int> started{0};
  std::thread waker([&] {
    for (int i = 0; i != rounds; ++i) {
      while (started.load(std::memory_order_acquire) <= i) {
      }
      wake(i);
    }
  });
  for (int i = 0; i != rounds; ++i) {
    started.store(i + 1, std::memory_order_release);
    await(i);
  }
  waker.join();
  ended = ended == rounds ? 1 : -1;
}
template <class Awaitable>
poisoned await_racing(Awaitable& awaitable) {
  const counted end(13);
  co_await awaitable;
}
poisoned lock_racing(coracle::async_mutex& mutex) {
  const counted end(14);
  co_await mutex.lock_async();
  mutex.unlock();
}
void race_for_manual_reset_event() {
  static coracle::async_manual_reset_event events[2000];
  race([](int i) { await_racing(events[i]); }, [](int i) { events[i].set(); });
}
void race_for_auto_reset_event() {
  static coracle::async_auto_reset_event events[2000];
  race([](int i) { await_racing(events[i]); }, [](int i) { events[i].set(); });
}
void race_for_mutex() {
  static coracle::async_mutex mutexes[2000];
  for (coracle::async_mutex& each : mutexes) static_cast<void>(each.try_lock());
  race([](int i) { lock_racing(mutexes[i]); }, [](int i) { mutexes[i].unlock(); });
}

// ---- shapes ---------------------------------------------------------------------------------------------

int shapes = 0, failures = 0;

/// Runs `shape` in a child process. Gives the signal that ended it; -1: not as many frames ended as wanted.
template <class Shape>
int signal_of(Shape shape, int wanted) {
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGSEGV, SIG_DFL);  // sanitizers have their own
    ended = 0;
    shape();
    ::_exit(ended == wanted ? 0 : 1);
  }
  int status = -1;
  if (process > 0) ::waitpid(process, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : status == 0 ? 0 : -1;
}
/// `wanted`: how many frames must have ended.
template <class Shape>
void run(const std::string& name, Shape shape, int wanted = 1) {
  ++shapes;
  const int signal = signal_of(shape, wanted);
  if (signal == 0) return;
  ++failures;
  std::printf("FAILED: %s: %s\n", name.c_str(),
              signal > 0 ? ("signal " + std::to_string(signal)).c_str() : "a frame did not end as it should");
}

template <class Returned>
void run_forms(const std::string& form) {
  constexpr struct {
    const char* name;
    way give_away;
  } ways[] = {{"destroyed", &destroy},
              {"resumed to its end", &resume_here},
              {"destroyed by another thread", &destroy_elsewhere},
              {"resumed to its end by another thread", &resume_elsewhere}};
  for (const auto& each : ways) {
    const std::string name = form + " await_suspend, " + each.name + ", ";
    const way w = each.give_away;
    run(name + "plain", [w] { plain<Returned>(w, &after_end); });
    run(name + "named awaiter", [w] { named_awaiter<Returned>(w, &after_end); });
    run(name + "loop", [w] { last_of_loop<Returned>(w, &after_end); });
    run(name + "try", [w] { in_try<Returned>(w, &after_end); });
    run(name + "temporaries", [w] { with_temporaries<Returned>(w, &after_end); });
  }
  run(form + " await_suspend, destroyed inline, try", [] { in_try_destroyed_inline<Returned>(&after_end); });
  run(form + " await_suspend, destroyed inline, loop",
      [] { in_loop_destroyed_inline<Returned>(&after_end); });
}

/// As give_away_awaiter, but wrong: touches itself afterwards.
class careless_awaiter {
 public:
  careless_awaiter() noexcept {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    suspended.destroy();
    use(&touched_);
    touched_ = true;
    use(&touched_);
  }
  void await_resume() const noexcept {}

 private:
  bool touched_ = false;
};
poisoned touch_after_the_end() {
  const counted end(15);
  co_await careless_awaiter{};
}
}  // namespace

int main() {
  if (signal_of(&touch_after_the_end, 1) != SIGSEGV) {
    std::puts("FAILED: a frame can be touched after its end, so this program proves nothing");
    return 1;
  }
  run_forms<void>("void");
  run_forms<bool>("bool");
  run_forms<std::coroutine_handle<>>("handle");
  run("return to an executor that resumes at once", &hop);
  run("task that ends at once", &await_child, 2);
  run("task that another thread ends", [] { await_suspended_child(&resume_elsewhere); }, 2);
  run("task that ends inside its child's await_suspend", [] { await_suspended_child(&resume_here); }, 2);
  run("when_all whose last child ends on another thread", &await_children, 3);
  run("transfer to a coroutine that destroys the first", &transfer);
  run("manual-reset event set by another thread", &race_for_manual_reset_event);
  run("auto-reset event set by another thread", &race_for_auto_reset_event);
  run("mutex unlocked by another thread", &race_for_mutex);
  std::printf("%d shapes, %d failures\n", shapes, failures);
  return failures == 0 ? 0 : 1;
}
