// tour/interleavings/ring.cpp -- checks a ring for one sender and one receiver in every interleaving: as it
// is, and with each of its memory orders weakened. The tour runs this program and reads what it prints.
// SPDX-License-Identifier: MIT
#include <coracle/testing/model/atomic.hpp>
#include <coracle/testing/model/model_check.hpp>
#include <cstdio>
#include <optional>

namespace {
using coracle::testing::model_expect;
using std::memory_order_acquire, std::memory_order_relaxed, std::memory_order_release;

struct orders {
  std::memory_order sees_free = memory_order_acquire, sent = memory_order_release;
  std::memory_order sees_sent = memory_order_acquire, freed = memory_order_release;
};

class ring {
 public:
  explicit ring(const orders& used) : used_(used) {}
  bool send(int element) {
    const unsigned tail = tail_.load(memory_order_relaxed);
    if (tail - head_.load(used_.sees_free) == places) return false;
    slots_[tail % places] = element;
    tail_.store(tail + 1, used_.sent);
    return true;
  }
  std::optional<int> receive() {
    const unsigned head = head_.load(memory_order_relaxed);
    if (head == tail_.load(used_.sees_sent)) return std::nullopt;
    const int element = slots_[head % places];
    head_.store(head + 1, used_.freed);
    return element;
  }

 private:
  static constexpr unsigned places = 2;
  orders used_;
  coracle::testing::plain<int> slots_[places];
  coracle::testing::atomic<unsigned> head_{0}, tail_{0};
};

/// Three sends into two places, against three receives.
void send_against_receive(const orders& used) {
  ring shared(used);
  int received = 0;
  const auto receive_one = [&] {
    const std::optional<int> element = shared.receive();
    if (!element) return false;
    model_expect(*element == ++received, "the elements arrive in order");
    return true;
  };
  coracle::testing::model_thread receiver{[&] {
    for (int i = 1; i <= 3; ++i) receive_one();
  }};
  int sent = 0;
  for (int i = 1; i <= 3; ++i) sent += shared.send(sent + 1);
  receiver.join();
  while (receive_one()) {
  }
  model_expect(received == sent, "no element is lost");
}

/// A line of fields, then the schedule, each of its lines after a bar.
void check(const char* name, const orders& used) {
  const auto result = coracle::testing::model_check([&] { send_against_receive(used); });
  std::printf("check\t%s\t%d\t%d\t%llu\t%s\n", name, result.passed, result.complete,
              static_cast<unsigned long long>(result.executions), result.failure.c_str());
  bool starts = true;
  for (const char c : result.schedule) {
    if (starts) std::putchar('|');
    std::putchar(c);
    starts = c == '\n';
  }
  if (!starts) std::putchar('\n');
}
}  // namespace

int main() {
  check("as it is", {});
  check("send(): load of head_", {.sees_free = memory_order_relaxed});
  check("send(): store to tail_", {.sent = memory_order_relaxed});
  check("receive(): load of tail_", {.sees_sent = memory_order_relaxed});
  check("receive(): store to head_", {.freed = memory_order_relaxed});
  return std::fflush(stdout) == 0 ? 0 : 1;
}
