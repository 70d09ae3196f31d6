// tour/tasks_station.cpp -- nested resume, atomic flag and symmetric transfer, side by side.
// SPDX-License-Identifier: MIT
#include <coracle/core/task.hpp>

#include "await_loop.hpp"
#include "flag_task.hpp"
#include "format.hpp"
#include "hop_race.hpp"
#include "naive_task.hpp"
#include "stations.hpp"

namespace tour {
namespace {
constexpr std::size_t stack_size = 8 * 1024 * 1024;
constexpr std::size_t kept_free = 64 * 1024;  // so that what the deepest child calls has room
constexpr std::size_t constant_stack = 1024;  // what no growth may reach in ten million awaits
constexpr std::uint64_t awaits = 10'000'000, hops = 4000;

struct three_loops {
  loop_result naive, flag, transfer;
};

template <class Task>
loop_result measure_loop() {
  loop_result result;
  run_on_guarded_stack(
      stack_size, [&result](stack_bounds bounds) { result = run_loop_of<Task>(awaits, bounds, kept_free); });
  return result;
}

double stack_per_await(const loop_result& loop) {
  return static_cast<double>(loop.stack_spread) / static_cast<double>(loop.iterations - 1);
}
/// Where the rest of the stack would have been used up as well.
std::uint64_t last_await(const loop_result& loop) {
  return loop.iterations +
         static_cast<std::uint64_t>(static_cast<double>(loop.stack_left) / stack_per_await(loop));
}

std::vector<std::string> row_of(const std::string& name, const loop_result& loop) {
  const std::string end = loop.stack_ended ? "no stack left" : "finished";
  return {name,
          grouped(loop.iterations),
          byte_size(static_cast<double>(loop.stack_spread)),
          fixed(stack_per_await(loop), 1) + " bytes",
          fixed(loop.nanoseconds, 1) + " ns",
          end};
}

void show_table(section& page, const three_loops& loops) {
  page.add(table{"",
                 {"task", "awaits", "stack, max - min", "stack an await", "time an await", "then"},
                 {row_of("nested resume()", loops.naive), row_of("atomic flag", loops.flag),
                  row_of("coracle::task", loops.transfer)}});
}

void show_stack(section& page, const three_loops& loops) {
  curve_chart chart{"Stack in use, in bytes more than at the first await",
                    "awaits so far",
                    {},
                    stack_size,
                    "the whole stack, " + byte_size(stack_size)};
  chart.curves.push_back(
      {"nested resume()", loops.naive.samples, loops.naive.stack_ended ? "no stack left" : ""});
  chart.curves.push_back({"atomic flag", loops.flag.samples, ""});
  chart.curves.push_back({"coracle::task", loops.transfer.samples, ""});
  page.add(std::move(chart));
  if (!loops.naive.stack_ended) return;
  page.say("Nested resume() stopped itself at await " + grouped(loops.naive.iterations) + ", with " +
           byte_size(static_cast<double>(loops.naive.stack_left)) + " of the 8 MiB left; at " +
           fixed(stack_per_await(loops.naive), 1) + " bytes each, await " + grouped(last_await(loops.naive)) +
           " would have ended the program.");
}

void show_times(section& page, const three_loops& loops) {
  page.add(bar_chart{
      "Time of one await of a child that completes at once",
      "ns",
      {{"nested resume(), as far as it came", loops.naive.nanoseconds,
        fixed(loops.naive.nanoseconds, 1) + " ns"},
       {"atomic flag", loops.flag.nanoseconds, fixed(loops.flag.nanoseconds, 1) + " ns"},
       {"coracle::task", loops.transfer.nanoseconds, fixed(loops.transfer.nanoseconds, 1) + " ns"}}});
  const double ratio = loops.flag.nanoseconds / loops.transfer.nanoseconds;
  page.say(
      "The flag costs " + times(ratio) +
      " what coracle's transfer does: two atomic exchanges an await, which no other thread ever looks at. "
      "Nested resume() writes to stack that was never used before: each new page is a fault.");
}

void check_loops(section& page, const three_loops& loops) {
  page.check(loops.transfer.sum_is_right && loops.transfer.iterations == awaits &&
                 loops.transfer.stack_spread <= constant_stack,
             "coracle::task: " + grouped(loops.transfer.iterations) + " awaits, the stack moved by " +
                 byte_size(static_cast<double>(loops.transfer.stack_spread)) + ".");
}

void show_hops(section& page) {
  constexpr double longest_linger = 20'000;
  const hop_counts flag = race_hops<flag_task<std::uint64_t>>(hops, longest_linger);
  const hop_counts transfer = race_hops<coracle::task<std::uint64_t>>(hops, longest_linger);
  const auto row = [](const char* name, const hop_counts& counts) {
    return std::vector<std::string>{name, grouped(counts.on_the_childs_thread),
                                    grouped(counts.on_the_old_thread)};
  };
  page.say(
      "Now each child hops to another thread and ends there, while the thread that it left takes up to " +
      duration(longest_linger) +
      " to return, a different time at each hop. On which thread does the parent continue? Counted are " +
      grouped(hops) + " hops, or as many as this machine makes in " + fixed(longest_race, 2) + " s:");
  page.add(table{"",
                 {"task", "on the child's thread", "on the thread it came from"},
                 {row("atomic flag", flag), row("coracle::task", transfer)}});
  const bool both = flag.on_the_childs_thread && flag.on_the_old_thread;
  page.say(std::string(both ? "With the flag a race decides on which thread your next line runs."
                            : "With the flag a race decides; in this run one side won it every time.") +
           " A transfer has no race to lose: whoever ends the child continues the parent.");
  page.check(transfer.on_the_old_thread == 0 && transfer.all() != 0,
             "coracle::task: in " + grouped(transfer.on_the_childs_thread) + " of the " +
                 plural(transfer.all(), "hop") + " the parent continued where its child ended.");
  page.measured("flag.continued_on_old_thread", static_cast<double>(flag.on_the_old_thread), "hops");
  page.measured("flag.continued_on_childs_thread", static_cast<double>(flag.on_the_childs_thread), "hops");
  page.measured("transfer.continued_on_old_thread", static_cast<double>(transfer.on_the_old_thread), "hops");
  page.measured("transfer.continued_on_childs_thread", static_cast<double>(transfer.on_the_childs_thread),
                "hops");
}

void keep_figures(section& page, const std::string& name, const loop_result& loop) {
  page.measured(name + ".awaits", static_cast<double>(loop.iterations), "awaits");
  page.measured(name + ".stack_spread", static_cast<double>(loop.stack_spread), "bytes");
  page.measured(name + ".stack_per_await", stack_per_await(loop), "bytes");
  page.measured(name + ".await", loop.nanoseconds, "ns");
}
}  // namespace

void show_tasks(section& page, const settings&) {
  page.say(
      "One loop, \"for (10 million times) sum += co_await child();\", where each child completes at once, "
      "with "
      "three kinds of task that differ only in how they resume. Each runs on a thread with an 8 MiB stack "
      "and a "
      "guard page below it.");
  page.add(
      table{"",
            {"task", "to await the child", "at the child's end"},
            {{"nested resume()", "child.resume()", "parent.resume()"},
             {"atomic flag", "child.resume(); go on if it ended meanwhile", "parent.resume() if it sleeps"},
             {"coracle::task", "suspend, continue the child", "suspend, continue the parent"}}});
  three_loops loops;
  loops.naive = measure_loop<naive_task<std::uint64_t>>();
  loops.flag = measure_loop<flag_task<std::uint64_t>>();
  loops.transfer = measure_loop<coracle::task<std::uint64_t>>();
  keep_figures(page, "naive", loops.naive);
  if (loops.naive.stack_ended) {
    page.measured("naive.last_await", static_cast<double>(last_await(loops.naive)), "awaits");
  }
  keep_figures(page, "flag", loops.flag);
  keep_figures(page, "transfer", loops.transfer);
  show_table(page, loops);
  show_stack(page, loops);
  show_times(page, loops);
  check_loops(page, loops);
  show_hops(page);
}
}  // namespace tour
