// tests/model/lock_bias.cpp -- what locks guard, used by their owner without them and by others with them.
// SPDX-License-Identifier: MIT
#include "../../src/io/lock_bias.hpp"

#include "framework/model_test.hpp"

namespace {
using coracle::detail::biased_lock;
using coracle::detail::lock_bias;
using coracle::detail::small_mutex;
using coracle::detail::small_mutex_lock;
using namespace coracle_test;
namespace orders = coracle::detail;

/// Two numbers with a lock each, as two descriptors have.
struct guarded {
  lock_bias bias;
  small_mutex mutex[2];
  orders::plain<int> number[2] = {0, 0};

  /// Returns true if no lock was needed.
  bool add(int which, bool calls_system = false) {
    const lock_bias::use mine{bias, calls_system};
    const biased_lock lock{mutex[which], mine};
    number[which] = number[which] + 1;
    return mine.is_alone();
  }
  int sum() {
    const lock_bias::use mine{bias};
    int all = 0;
    for (int i = 0; i != 2; ++i) {
      const biased_lock lock{mutex[i], mine};
      all += number[i];
    }
    return all;
  }
};

/// The owner does what the loop does: it claims the bias after each poll.
template <unsigned Others>
void owner_against_others() {
  guarded its;
  int alone = 0;
  together(1 + Others, [&](unsigned i) {
    if (i != 0) {
      model_expect(!its.add(0), "another thread needs the lock");
      return;
    }
    for (int poll = 0; poll != 2; ++poll) {
      its.bias.claim();
      alone += its.add(0);
    }
  });
  model_expect(its.sum() == 2 + static_cast<int>(Others), "each was added");
  its.bias.claim();
  model_expect(its.add(1), "the owner is alone again");
  if constexpr (Others == 1)
    coracle::testing::model_record(alone == 2 ? "alone" : alone == 1 ? "once" : "never");
}
/// Another thread uses it twice, also while the owner claims it again in between.
void used_twice() {
  guarded its;
  its.bias.claim();
  model_thread other{[&] {
    its.add(0);
    its.add(1);
  }};
  its.add(0);
  its.bias.claim();
  its.add(1);
  its.add(0, true);
  other.join();
  model_expect(its.sum() == 5, "each was added");
}
/// Two threads run the loop one after the other, and one uses it after that.
void next_owner() {
  guarded its;
  small_mutex loop;
  const auto run = [&] {
    const small_mutex_lock is_only_one{loop};
    its.bias.claim();
    its.add(0);
    its.bias.release();
  };
  const auto run_and_use = [&] {
    run();
    model_expect(!its.add(0), "a thread that has left the loop takes the lock");
  };
  together(2, [&](unsigned i) { i == 0 ? run() : run_and_use(); });
  its.bias.claim();
  model_expect(its.add(1), "the next owner is alone");
  model_expect(its.sum() == 4, "each was added");
}
/// A second thread runs the loop while the first is the owner, and a third uses it.
template <bool IsReleased>
void shared_while_owned() {
  guarded its;
  its.bias.claim();
  together(3, [&](unsigned i) {
    if (i == 1) its.bias.share();
    its.add(0);
    if (i == 0 && IsReleased) its.bias.release();
  });
  its.bias.claim();
  model_expect(!its.add(1), "nobody claims it any more");
  model_expect(its.sum() == 4, "each was added");
}
}  // namespace

int main(int argc, char** argv) {
  model_test run(argc, argv);
  run.outcomes("lock_bias: owner against another thread", {"alone", "once", "never"},
               owner_against_others<1>);
  run.check("lock_bias: owner against two other threads", 3, owner_against_others<2>);
  run.check("lock_bias: another thread uses it twice", model_test::all, used_twice);
  run.check("lock_bias: one owner after the other", 3, next_owner);
  run.check("lock_bias: shared while a thread owns it", 3, shared_while_owned<false>);
  run.check("lock_bias: shared while a thread owns it and leaves", 3, shared_while_owned<true>);
  return run.finish();
}
