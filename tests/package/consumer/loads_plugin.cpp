#include <dlfcn.h>

#include <coracle/compose/via.hpp>
#include <coracle/core/sync_wait.hpp>
#include <coracle/core/task.hpp>
#include <coracle/exec/static_thread_pool.hpp>
#include <cstdio>

int main(int, char** arguments) {
  void* const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return std::puts(dlerror()), 1;
  const auto make_task = reinterpret_cast<void (*)(coracle::task<int>&)>(dlsym(plugin, "make_task"));
  {
    // Ends before dlclose(): a thread of it may still return from the plugin's code when the task has ended.
    coracle::static_thread_pool pool{2};
    coracle::task<int> work;
    make_task(work);
    std::printf("%d\n", coracle::sync_wait(coracle::schedule_on(std::move(work), pool)));
  }
  dlclose(plugin);
}
