#!/usr/bin/env python3
"""Mutants that only a compiler can make: steps of a protocol in another order, or left out.

    tools/source_mutants.py [--jobs N] LIBRARY... | --texts

Each row of MUTANTS changes one text of a file, which must be there once, in a copy; then the named program of tests/model is
compiled against the copy and the libraries (libmodel_framework.a, libcoracle-model.a), and must fail; the first changes
nothing, and must not. Those of one access tools/mutants.py makes. `--texts` only looks whether each text is there, as a change
of the code may forget.
"""
import argparse
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILE = ["clang++-22", "-std=c++20", "-O1", "-DCORACLE_MODEL", "-DCORACLE_ENABLE_CHECKS=1", "-pthread", "-w"]
SECONDS = 300

# header below include/coracle, or source that the program includes; program; what is wrong then; text; text instead
MUTANTS = [
    ("src/core/shared_task.cpp", "shared_task", "nothing", "  if (starts) add_handle();\n", "  if (starts) add_handle();\n"),
    ("core/detail/stoppable_wait.hpp", "events", "the end of a wait does not wait for its stop listener",
     "      return stop_reason::none;\n    node_.remove();\n", "      return stop_reason::none;\n"),
    ("core/detail/queued_waiter.hpp", "semaphore", "a wait that was stopped on the way into the queue is queued",
     "    if (progress() == cancelled) return false;\n    const bool lost", "    const bool lost"),
    ("core/detail/queued_waiter.hpp", "semaphore", "a stop request withdraws who has been served",
     "    if (before == served || before == cancelled) return false;\n", "    if (before == cancelled) return false;\n"),
    ("core/detail/wait_queue.hpp", "mutex", "a waiter is served although another branch has been",
     "    while (each && !each->claim()) each = after(*each);\n", ""),
    ("core/detail/wait_queue.hpp", "semaphore", "who is withdrawn stays in the queue",
     "    if (waiting.progress() == queued_waiter::queued) waiters_.remove(waiting);\n", ""),
    ("core/detail/choice.hpp", "when_any", "each branch writes what stops them all",
     "    if (stops_ != &inherited) stops_", "    stops_"),
    ("sync/async_condition_variable.hpp", "condition_variable", "a choice is left while the stop listener may look",
     "  const std::uint32_t seen = state_.lock();\n  self.leave_choice();\n  state_.unlock(seen);\n",
     "  self.leave_choice();\n"),
    ("sync/async_condition_variable.hpp", "condition_variable", "the reason of a stop is read outside the lock",
     "  static_cast<void>(state_.lock());\n  why = self.why();\n", "  why = self.why();\n  static_cast<void>(state_.lock());\n"),
    ("sync/async_condition_variable.hpp", "condition_variable", "a notified branch that has lost keeps the notification",
     "      this->lose();\n      this->pass_on();\n", "      this->lose();\n"),
    ("compose/detail/scope_state.hpp", "scope", "that a child was cancelled is noted after the lock is released",
     "    if (was_cancelled) any_cancelled_ = true;\n    leave(seen);\n",
     "    leave(seen);\n    if (was_cancelled) any_cancelled_ = true;\n"),
    ("src/core/stopped_tasks.cpp", "stopped", "a frame keeps an answer given before its children were stopped",
     "    all_stopped = all_stopped && stopped;\n", ""),
    ("core/detail/stoppable_wait.hpp", "stopped", "a wait that was stopped on the way into the queue throws",
     "    return Ends && node_.progress() == queued_waiter::cancelled &&\n           end_refused(node_, resumed_at_end<Ends>(), CORACLE_EXCEPTIONS());\n",
     "    return false;\n"),
    ("compose/single_flight.hpp", "stopped_shared", "the work of a flight is stopped before it is known for whom",
     "    awaited_by_ = last_caller;\n    source.request_stop(why);\n",
     "    source.request_stop(why);\n    awaited_by_ = last_caller;\n"),
    ("src/io/io_service.cpp", "io_timers", "a timer is cancelled before it is known why",
     "  mine.note_stop(mine, &is_over);\n  detail::io_loop& loop = *mine.service_.loop_;\n"
     "  if (loop.remove(mine)) loop.finish(mine);\n",
     "  detail::io_loop& loop = *mine.service_.loop_;\n  if (loop.remove(mine)) loop.finish(mine);\n"
     "  mine.note_stop(mine, &is_over);\n"),
    ("src/core/stop_state.cpp", "stop", "remove() does not wait for the callback that runs",
     "  if (waits) remover_ = &returned;\n  unlock();\n  if (waits) returned.wait();\n",
     "  static_cast<void>(waits);\n  unlock();\n"),
    ("src/core/stop_state.cpp", "stop", "a callback that removes itself waits for itself",
     "running_ == &listener && requester_ != &this_thread()", "running_ == &listener"),
    ("core/detail/stop_state.hpp", "stopped", "the end of a stopped task does not wait for the request that woke it",
     "    if (requester_ != &this_thread()) remove(listener);\n", ""),
    ("src/core/stop_state.cpp", "stop", "callbacks run before the reason is there",
     "  reason_.store(why, memory_order_release); /*R2*/\n  requester_ = &this_thread();\n"
     "  while (!listeners_.empty()) run_next();\n",
     "  requester_ = &this_thread();\n  while (!listeners_.empty()) run_next();\n"
     "  reason_.store(why, memory_order_release); /*R2*/\n"),
    ("src/core/shared_task.cpp", "shared_task", "the body has no handle of its own",
     "  if (starts) add_handle();\n", ""),
    ("sync/detail/contended_lock.hpp", "mutex_woken", "the next holder is woken before the lock of the queue is released",
     "    self().state_.unlock(first ? Lock::waited_for(state) : state);\n    woken.wake();\n",
     "    woken.wake();\n    self().state_.unlock(first ? Lock::waited_for(state) : state);\n"),
    ("src/sync/async_mutex.cpp", "mutex_woken", "a waiter that was stopped on the way holds it",
     "state_.unlock(state_.queue.serve_at_once(arriving) ? taken(seen) : seen);",
     "static_cast<void>(state_.queue.serve_at_once(arriving));\n  state_.unlock(taken(seen));"),
    ("sync/detail/contended_lock.hpp", "mutex_woken", "a woken waiter that runs in vain does not wait again",
     "      self().queue().put_in_front(woken);\n", ""),
    ("sync/detail/contended_lock.hpp", "contended_lock", "a woken waiter that runs in vain counts as on its way",
     "      self().state_.unlock(Lock::waited_for(inside));\n", "      self().state_.unlock(seen);\n"),
    ("sync/detail/contended_lock.hpp", "mutex_woken", "a woken waiter that is cancelled does not let the next in",
     "    let_in(!is_cancelled && woken.leave() ? Lock::with(inside, woken) : inside);\n",
     "    if (!is_cancelled && woken.leave()) {\n      let_in(Lock::with(inside, woken));\n    } else {\n"
     "      self().state_.unlock(inside);\n    }\n"),
    ("sync/detail/contended_lock.hpp", "mutex_woken", "a woken waiter that is cancelled is posted twice",
     "return waited && !is_woken;", "return waited;"),
    ("sync/detail/contended_lock.hpp", "mutex_woken", "a woken waiter does not claim its choice",
     "!is_cancelled && woken.leave() ?", "!is_cancelled && (woken.set_progress(queued_waiter::served), true) ?"),
    ("src/sync/async_mutex.cpp", "mutex_woken", "two waiters are woken",
     "  if ((seen & waiter_woken) != 0) return state_.unlock(seen - is_held);\n", ""),
    ("sync/async_semaphore.hpp", "contended_lock", "a permit that a waiter is coming for is handed to the next",
     "    return seen >= ((seen & waiter_woken) == 0 ? one_permit : 2 * one_permit);\n", "    return seen >= one_permit;\n"),
    ("sync/async_shared_mutex.hpp", "contended_lock", "a waiter is let in while another is on its way",
     "return (seen & waiter_woken) == 0 && is_free_for", "return is_free_for"),
    ("sync/detail/contended_lock.hpp", "mutex_woken", "a woken waiter is overtaken without end",
     "(word & count) < limit", "word != 0"),
    ("sync/detail/contended_lock.hpp", "contended_lock", "the overtakings of a woken waiter are not counted on",
     "      woken.overtaken = (seen & overtaking::count) + overtaking::per_failed_try;\n", ""),
    ("sync/detail/contended_lock.hpp", "mutex_woken", "a woken waiter stays in the queue", "        queue.detach(*first);\n", ""),
    ("src/sync/event_state.cpp", "events", "a waiter that was stopped on the way uses the event up",
     "  const bool passes = word_.queue.serve_at_once(arriving);\n"
     "  word_.unlock(passes && auto_reset ? word_.not_set : word_.is_set_now);\n",
     "  static_cast<void>(word_.queue.serve_at_once(arriving));\n"
     "  word_.unlock(auto_reset ? word_.not_set : word_.is_set_now);\n"),
    ("core/detail/waited_word.hpp", "events", "a stop request withdraws one that was served while it waited alone",
     "const bool is_served = !is_alone && waiting.is_queued_alone();", "const bool is_served = false;"),
    ("sync/sequence_barrier.hpp", "sequencers", "the look for waiters comes before the number",
     "    last_published_.value.store(sequence, detail::memory_order_seq_cst); /*N3*/\n"
     "    if (waiters_.value.any())",
     "    const bool any = waiters_.value.any();\n"
     "    last_published_.value.store(sequence, detail::memory_order_seq_cst); /*N3*/\n    if (any)"),
    ("sync/sequence_barrier.hpp", "sequencers", "who has locked to wait does not look again",
     "waits = has_rival(arriving) || !try_serve(arriving);", "waits = true;"),
    ("sync/multi_producer_sequencer.hpp", "sequencers", "the first number of a range is published before the rest",
     "    for (const Sequence each : sequences.skip(1)) slot(each).store(each, detail::memory_order_relaxed); /*P5*/\n"
     "    publish(sequences.front());\n",
     "    publish(sequences.front());\n"
     "    for (const Sequence each : sequences.skip(1)) slot(each).store(each, detail::memory_order_relaxed); /*P5*/\n"),
    ("core/detail/fork_queue.hpp", "fork_queue", "a thief that has taken the filler out passes no fence",
     "      ++top;\n    }\n    fence_.heavy();\n", "      ++top;\n    } else {\n      fence_.heavy();\n    }\n"),
    ("core/detail/fork_queue.hpp", "fork_queue", "a thief takes an entry that the owner has taken back meanwhile",
     "    if (is_above(top, bottom_.load(memory_order_acquire))) return nullptr;", "    if (top == bottom) return nullptr;"),
    ("time/timeout.hpp", "timeout", "the end does not wait for a deadline that is about to request the stop",
     "!timers_->remove(*this)) over_.wait();", "!timers_->remove(*this)) return;"),
    ("time/timeout.hpp", "timeout", "the end leaves its timer behind", "  ~subtree_until() { disarm(); }\n", ""),
    ("time/sleep.hpp", "timeout", "a sleep that is stopped goes on although its time has come",
     "return waited;", "return true;"),
    ("src/io/io_loop.cpp", "io_loop", "the thread that takes one of two events wakes no thread for the other",
     "  wake_sleeper_if_needed();\n  return found;\n", "  return found;\n"),
    ("src/io/io_loop.cpp", "io_loop", "a wake-up that has arrived counts as under way forever",
     "  if (seen.woken) waking_ = false;\n", ""),
    ("src/io/io_loop.cpp", "io_loop", "a run() that has completed does not count as one that must leave",
     "  if (caller.asleep) ++runs_over_;\n", ""),
    ("src/io/io_loop.cpp", "io_loop", "a poll sleeps although events are ready",
     "here.polled.empty() && !has_ready();", "here.polled.empty();"),
    ("src/io/io_loop.cpp", "io_loop", "a submission on another thread wakes no thread",
     "  flushes_ = true;\n  changed();\n", "  flushes_ = true;\n"),
    ("src/io/io_loop.cpp", "io_loop", "the thread that takes the wake-up of a submission wakes no thread for it",
     "has_work())) return;", "has_ready())) return;"),
]


def path_of(header):
    return header if header.startswith("src/") else f"include/coracle/{header}"


def complaint(mutant):
    """Returns what is wrong with the row, or None."""
    header, _, what, old, _ = mutant
    times = (ROOT / path_of(header)).read_text().count(old)
    return f"{header}: {what}: the text is there {times} times: bring the row up to date" if times != 1 else None


def run(mutant, libraries, folder):
    """Returns None if the mutant is killed, otherwise why it is not."""
    if wrong := complaint(mutant):
        return wrong
    header, program, _, old, new = mutant
    path = path_of(header)
    text = (ROOT / path).read_text()
    copy = folder / f"{MUTANTS.index(mutant)}"
    for part in ("include", "src", "tests/model", "tests/support"):
        shutil.copytree(ROOT / part, copy / part)
    (copy / path).write_text(text.replace(old, new))
    # What the program compiles itself the linker does not take from the library, where nothing is changed.
    (copy / "core.cpp").write_text("".join(f'#include "{source}"\n' for folder in ("core", "sync", "channels", "compose")
                                           for source in sorted((copy / "src" / folder).glob("*.cpp"))))
    command = [*COMPILE, f"-I{copy}/include", f"{copy}/tests/model/{program}.cpp", f"{copy}/core.cpp", *libraries,
               "-o", f"{copy}/program"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        return f"does not compile:\n{built.stderr[:2000]}"
    return "survives" if passes(copy / "program") else None


def passes(program):
    """Runs the program until its first failing case. A mutant that hangs fails too."""
    ran = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    limit = threading.Timer(SECONDS, ran.kill)
    limit.start()
    for line in ran.stdout:
        if "FAILED" in line:
            ran.kill()
    limit.cancel()
    return ran.wait() == 0


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--texts", action="store_true")
    options.add_argument("libraries", nargs="*")
    arguments = options.parse_args()
    if arguments.texts:
        complaints = list(filter(None, map(complaint, MUTANTS)))
        print("\n".join(complaints) or f"the texts of {len(MUTANTS)} mutants are there")
        return 1 if complaints else 0
    if not arguments.libraries:
        options.error("no LIBRARY given")
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda each: run(each, arguments.libraries, pathlib.Path(name)), MUTANTS))
    for (header, program, what, *_), result in zip(MUTANTS, results):
        print(f"{'killed' if result is None else result:9} {header}: {what} (model.{program})", flush=True)
    wrong = results[1:]
    print(f"{wrong.count(None)} of {len(wrong)} changes of a protocol killed")
    return 0 if results[0] == "survives" and wrong.count(None) == len(wrong) else 1


if __name__ == "__main__":
    sys.exit(main())
